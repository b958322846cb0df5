// The time that an undecided search says is left.
#include "app/queries/verify.h"
#include "tests/catch.h"

namespace assay {

TEST_CASE("an estimate beyond ten times the time spent is none", "[queries]") {
  search::Unfinished left;
  left.closed_share = 0.5;
  left.seconds = 10;
  CHECK_FALSE(queries::seconds_left(left).has_value());  // nothing closes
  left.pace = 0.01;
  CHECK(queries::seconds_left(left) == 50.0);
  left.pace = 0.004;
  CHECK_FALSE(queries::seconds_left(left).has_value());
}

}  // namespace assay
