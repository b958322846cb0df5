// Sampled audits: what was not looked at is counted as such, and the sample is what it is said to be.
#include <random>

#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

constexpr audit::Sampling kSome{64, 5};

// A product of 100 terms per element, and a sum, which is never sampled.
Run long_sums() {
  Run run;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> a(30 * 100), b(100 * 40);
  for (float& value : a) value = normal(random);
  for (float& value : b) value = normal(random);
  const auto y = run.apply(Op::matmul, {run.given("a", {30, 100}, a), run.given("b", {100, 40}, b)});
  run.apply(Op::add, {y, y});
  return run;
}

}  // namespace

TEST_CASE("sampling: elements that nobody looked at are counted apart", "[audit][sampling]") {
  const Run run = long_sums();
  const auto product = audit::audit_region(run.trace, 0, kSome), sum = audit::audit_region(run.trace, 1, kSome);
  REQUIRE(product.ok());
  REQUIRE(sum.ok());
  const auto counts = product.value().total();
  CHECK(counts.passed >= 48);
  CHECK(counts.passed <= 64);
  CHECK(counts.passed + counts.unsampled == 1200);
  CHECK(counts.failed + counts.vacuous + counts.unsupported == 0);
  CHECK(sum.value().total().passed == 1200);
  CHECK(audit::audit_region(run.trace, 0).value().total().passed == 1200);
  CHECK(audit::audit_region(run.trace, 0, {2000, 5}).value().total().passed == 1200);
}

TEST_CASE("sampling: the ends are always judged, and a seed draws the same", "[audit][sampling]") {
  const Run run = long_sums();
  const TraceTensorId y = run.trace.regions[0].results[0];
  for (const std::size_t element : {0, 39, 1160, 1199}) {
    Trace wrong = run.trace;
    wrong.tensors[y].value = moved(wrong.tensors[y].value, element, 1 << 12);
    const auto audit = audit::audit_region(wrong, 0, kSome);
    REQUIRE(audit.ok());
    CHECK(audit.value().total().failed == 1);
    REQUIRE(audit.value().first);
    CHECK(audit.value().first->element == element);
  }
  std::size_t found = 0;
  for (std::size_t element = 0; element < 1200; ++element) {
    Trace wrong = run.trace;
    wrong.tensors[y].value = moved(wrong.tensors[y].value, element, 1 << 25);
    const std::size_t failed = audit::audit_region(wrong, 0, kSome).value().total().failed;
    CHECK(failed == audit::audit_region(wrong, 0, kSome).value().total().failed);
    found += failed;
  }
  CHECK(found == audit::audit_region(run.trace, 0, kSome).value().total().passed);
}
