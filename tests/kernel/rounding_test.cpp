// Rounding that the kernel must charge for. Each network here is made so that the plain double computation is wrong by far more
// than a few ulps, and each false statement is one that an uncharged rounding would prove.
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "semantics/numbers/directed.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

constexpr double kLarge = 0x1p53;  // adding 1 to it in double changes nothing
constexpr std::int64_t kTerms = 1000;

// y = 2^53 + sum x, x in {1}^1000: exactly 2^53 + 1000.
Graph large_bias() {
  Chain net(kTerms);
  net.gemm(1, std::vector<double>(kTerms, 1.0), {kLarge});
  return net.output();
}
std::vector<double> ones() { return std::vector<double>(kTerms, 1.0); }

}  // namespace

TEST_CASE("box: many small terms on a large bias are not lost", "[kernel][box]") {
  const auto problem = open(large_bias(), ones(), ones(), {at_least(output(0), exactly(kLarge + 1000))});
  const Scope scope = boxed_root(problem);
  const Box& y = scope.box(problem->graph().outputs[0]);
  CHECK(y.lo[0] <= kLarge + 1000);
  CHECK(y.hi[0] >= kLarge + 1000);
}

TEST_CASE("box: no false theorem from a large bias", "[kernel][box]") {
  const auto problem = open(large_bias(), ones(), ones(), {at_least(output(0), exactly(kLarge + 1000))});
  const NodeId y = problem->graph().outputs[0];
  CHECK(take(logic::satisfiable(problem, {0, rationals(ones())})).kind() == Theorem::Kind::satisfiable);
  const Scope scope = boxed_root(problem);
  const Scope right = assumed(scope, {y, 0, true, kLarge + 500});
  CHECK(code_of(right.empty()) == "empty.S1");
  CHECK(code_of(conclude(right)) == "conclude.S3");
}

namespace {

// y_i = w_i x for 1000 rows, w_0 = s and the others s 2^-54 (1 + tiny); all rows summed with the coefficient c.
// In double every small coefficient is lost against the first one when they are added up.
struct Tiny {
  double s, x, c;
  Graph graph() const {
    Chain net(1);
    std::vector<double> w(kTerms, s * (0x1p-53 * 0.99));
    w[0] = s;
    net.gemm(kTerms, w);
    return net.output();
  }
  Rational sum() const {  // of c w_i x, exactly
    return exactly(c) * exactly(x) * (exactly(s) + Rational(kTerms - 1) * exactly(s * (0x1p-53 * 0.99)));
  }
  Row claim(const Rational& bound) const {  // - sum c y_i <= - bound
    std::vector<Term> terms;
    for (std::int64_t i = 0; i < kTerms; ++i) terms.push_back({-exactly(c), output(static_cast<std::uint64_t>(i))});
    return row(std::move(terms), -bound);
  }
};

}  // namespace

TEST_CASE("back-substitution: errors that underflow are still spent", "[kernel][back_substitution]") {
  const auto [s, x, c] = GENERATE(Tiny{1, 1, 1}, Tiny{0x1p-600, 0x1p-600, 0x1p1000}, Tiny{0x1p-500, 0x1p-560, 0x1p900});
  const Tiny tiny{s, x, c};
  // The largest value is reached, so nothing excludes it.
  const auto problem = open(tiny.graph(), {0}, {x}, {tiny.claim(tiny.sum())});
  CHECK(take(logic::satisfiable(problem, {0, {exactly(x)}})).kind() == Theorem::Kind::satisfiable);
  CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
}

#if defined(__x86_64__)
TEST_CASE("the floating-point environment is checked at every entry", "[kernel][environment]") {
  Chain net(1);
  net.gemm(1, {2}, {1});
  net.then(Op::relu);
  const auto problem = open(net.output(), {0}, {1}, {at_least(output(0), Rational(4))});
  const Scope derived = boxed_root(problem);
  const NodeId y = problem->graph().outputs[0];
  const unsigned saved = _mm_getcsr();
  const unsigned mode = GENERATE(0x8000u, 0x0040u, 0x2000u, 0x4000u, 0x6000u);  // FTZ, DAZ, down, up, to zero
  Scope scope = derived;
  _mm_setcsr(saved | mode);
  const bool standard = floating_point_environment_is_standard();
  const auto opened = Problem::open(problem->statement());
  const auto rooted = Scope::root(problem, 0);
  const auto boxed = scope.propagate_box(y);
  const auto refined = inspect::tighten(scope, y, {Selection::Kind::all, {}}, {});
  const auto concluded = conclude(scope);
  const auto witnessed = logic::satisfiable(problem, {0, {Rational(1)}});
  _mm_setcsr(saved);
  CHECK_FALSE(standard);
  CHECK(code_of(opened) == "kernel.environment");
  CHECK(code_of(rooted) == "kernel.environment");
  CHECK(code_of(boxed) == "kernel.environment");
  CHECK(code_of(refined) == "kernel.environment");
  CHECK(code_of(concluded) == "kernel.environment");
  CHECK(code_of(witnessed) == "kernel.environment");
  CHECK(conclude(derived).ok());
}
#else
TEST_CASE("the floating-point environment is checked at every entry", "[kernel][environment]") {
  WARN("skipped: this processor's modes are not set here");
}
#endif

}  // namespace assay::test
