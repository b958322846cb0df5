#include "semantics/outcome.h"

#include "tests/catch.h"

namespace assay::test {

TEST_CASE("outcome: a rejection's text has its parts in order and skips empty ones", "[outcome]") {
  const Rejection full{Rejection::Kind::rejected, "relu_line.S1", "step 3, node 7, element 2", "l <= z", "l = 1, z = 0",
                       "derive the box first"};
  CHECK(full.to_text() == "step 3, node 7, element 2: expected l <= z, found l = 1, z = 0; derive the box first [relu_line.S1]");
  CHECK(Rejection{Rejection::Kind::malformed, "onnx.length", "", "", "", ""}.to_text() == "[onnx.length]");
  CHECK(Rejection{Rejection::Kind::malformed, "a", "b", "", "c", ""}.to_text() == "b: found c [a]");
  CHECK(Rejection{Rejection::Kind::malformed, "a", "", "", "", "d"}.to_text() == "see d [a]");
}

TEST_CASE("outcome: holds a value or a rejection", "[outcome]") {
  const Outcome<int> value = 5;
  CHECK(value.ok());
  CHECK(value.value() == 5);
  const Outcome<int> none = Rejection{Rejection::Kind::declined, "x", "", "", "", ""};
  CHECK_FALSE(none.ok());
  CHECK(none.rejection().code == "x");
  CHECK(none.rejection().kind == Rejection::Kind::declined);
}

}  // namespace assay::test
