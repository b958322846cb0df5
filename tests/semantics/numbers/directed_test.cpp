// Directed rounding against MPFR: 53 bits with MPFR's exponent range, rounded once more in the same direction to the
// double grid, which is the directed rounding of the exact value.
#include "semantics/numbers/directed.h"

#include <mpfr.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

using MpfrBinary = int (*)(mpfr_ptr, mpfr_srcptr, mpfr_srcptr, mpfr_rnd_t);

class Reference {
 public:
  Reference() { mpfr_inits2(53, x_, y_, z_, static_cast<mpfr_ptr>(nullptr)); }
  Reference(const Reference&) = delete;
  Reference& operator=(const Reference&) = delete;
  ~Reference() { mpfr_clears(x_, y_, z_, static_cast<mpfr_ptr>(nullptr)); }
  double binary(MpfrBinary operation, double a, double b, mpfr_rnd_t direction) {
    mpfr_set_d(x_, a, MPFR_RNDN);
    mpfr_set_d(y_, b, MPFR_RNDN);
    operation(z_, x_, y_, direction);
    return mpfr_get_d(z_, direction);
  }
  double root(double a, mpfr_rnd_t direction) {
    mpfr_set_d(x_, a, MPFR_RNDN);
    mpfr_sqrt(z_, x_, direction);
    return mpfr_get_d(z_, direction);
  }

 private:
  mpfr_t x_, y_, z_;
};

using Binary = double (*)(double, double);

struct Operation {
  const char* name;
  Binary down, up;
  MpfrBinary reference;
};

constexpr Operation kOperations[] = {{"add", add_down, add_up, mpfr_add},
                                     {"sub", sub_down, sub_up, mpfr_sub},
                                     {"mul", mul_down, mul_up, mpfr_mul},
                                     {"div", div_down, div_up, mpfr_div}};

bool outside_contract(const Operation& operation, double a, double b) {
  const bool zero_times_infinity = (a == 0 && std::isinf(b)) || (b == 0 && std::isinf(a));
  return (operation.down == mul_down && zero_times_infinity) || (operation.down == div_down && b == 0);
}

void compare(const Operation& operation, double a, double b, Reference& reference, Mismatches& result) {
  if (outside_contract(operation, a, b)) {
    return;
  }
  const double down = operation.down(a, b);
  const double up = operation.up(a, b);
  const bool holds = same(down, reference.binary(operation.reference, a, b, MPFR_RNDD)) &&
                     same(up, reference.binary(operation.reference, a, b, MPFR_RNDU));
  result.expect_lazily(holds,
                       [&] { return std::string(operation.name) + " " + hex(a) + " " + hex(b) + " gave " + hex(down) + " " + hex(up); });
}

// b such that a o b meets the case that is hard for the operation.
double hard_partner(double a, Operands& operands) {
  switch (operands.bits() % 4) {
    case 0:
      return operands.any();
    case 1:
      return std::ldexp(operands.with_exponent(0, 0), -1074 - std::ilogb(a) + static_cast<int>(operands.integer(-3, 120)));
    case 2:
      return std::ldexp(operands.with_exponent(0, 0), std::ilogb(a) + static_cast<int>(operands.integer(-110, 110)));
    default:
      return std::ldexp(operands.with_exponent(0, 0), 1023 - std::ilogb(a) + static_cast<int>(operands.integer(-2, 2)));
  }
}

}  // namespace

TEST_CASE("directed: the four operations equal MPFR's directed results on all pairs of edge values", "[numbers]") {
  Reference reference;
  Mismatches result;
  for (const Operation& operation : kOperations) {
    for (const double a : kEdges) {
      for (const double b : kEdges) {
        compare(operation, a, b, reference, result);
      }
    }
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  CHECK(result.checked() > 4000);
}

TEST_CASE("directed: the four operations equal MPFR's directed results on random pairs", "[numbers]") {
  Reference reference;
  Operands operands(20240601);
  for (const Operation& operation : kOperations) {
    Mismatches result;
    for (int i = 0; i < 700000; ++i) {
      const double a = operands.finite();
      const double b = a == 0 ? operands.any() : hard_partner(a, operands);
      compare(operation, a, b, reference, result);
    }
    INFO(operation.name << " seed 20240601: " << result.first());
    CHECK(result.failed() == 0);
    CHECK(result.checked() > 600000);
  }
}

TEST_CASE("directed: square roots equal MPFR's directed results", "[numbers]") {
  Reference reference;
  Operands operands(7);
  Mismatches result;
  const auto check = [&](double a) {
    const bool holds = same(sqrt_down(a), reference.root(a, MPFR_RNDD)) && same(sqrt_up(a), reference.root(a, MPFR_RNDU));
    result.expect_lazily(holds, [&] { return hex(a); });
  };
  for (const double a : kEdges) {
    check(std::fabs(a));
  }
  for (int i = 0; i < 1000000; ++i) {
    check(std::fabs(operands.any()));
  }
  for (int i = 0; i < 100000; ++i) {  // exact squares and their neighbours
    const auto root = static_cast<double>(operands.integer(1, 1 << 26));
    check(root * root);
    check(std::nextafter(root * root, 0));
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  CHECK(std::isnan(sqrt_down(-1.0)));
  CHECK(std::isnan(sqrt_up(-kTiny)));
}

TEST_CASE("directed: results that are exact are not stepped", "[numbers]") {
  CHECK(add_down(0.5, 0.25) == 0.75);
  CHECK(add_up(0.5, 0.25) == 0.75);
  CHECK(mul_down(3, 0.125) == mul_up(3, 0.125));
  CHECK(div_down(21, 7) == 3);
  CHECK(div_up(21, 7) == 3);
  CHECK(sqrt_down(2.25) == sqrt_up(2.25));
  CHECK(mul_down(0x1p-537, 0x1p-537) == kTiny);
  CHECK(mul_up(0x1p-537, 0x1p-537) == kTiny);
}

TEST_CASE("directed: inexact results differ by one step, also across the ends of the range", "[numbers]") {
  CHECK(mul_down(0x1p-600, 0x1p-600) == 0);
  CHECK(mul_up(0x1p-600, 0x1p-600) == kTiny);
  CHECK(mul_down(-0x1p-600, 0x1p-600) == -kTiny);
  CHECK(mul_up(-0x1p-600, 0x1p-600) == 0);
  CHECK(add_down(DBL_MAX, DBL_MAX) == DBL_MAX);
  CHECK(add_up(DBL_MAX, DBL_MAX) == kInfinity);
  CHECK(add_down(-DBL_MAX, -1) == -kInfinity);
  CHECK(add_up(-DBL_MAX, -1) == -DBL_MAX);
  CHECK(add_up(DBL_MAX, kTiny) == kInfinity);
  CHECK(add_down(1, -kTiny) == std::nextafter(1.0, 0.0));
  CHECK(div_up(1, 3) == std::nextafter(div_down(1, 3), 1.0));
}

TEST_CASE("directed: zero times infinity is 0 and NaN stays NaN", "[numbers]") {
  CHECK(mul_down(0, kInfinity) == 0);
  CHECK(mul_up(-kInfinity, -0.0) == 0);
  CHECK(std::isnan(mul_down(0, kNaN)));
  CHECK(std::isnan(mul_up(kNaN, kInfinity)));
  CHECK(std::isnan(add_down(kInfinity, -kInfinity)));
  CHECK(std::isnan(sub_up(1, kNaN)));
  CHECK(std::isnan(div_down(kInfinity, kInfinity)));
  CHECK(div_down(1, kInfinity) == 0);
}

TEST_CASE("directed: float conversions enclose and are tight", "[numbers]") {
  Operands operands(11);
  Mismatches result;
  for (int i = 0; i < 400000; ++i) {
    const double a = i < static_cast<int>(kEdges.size()) ? kEdges[static_cast<std::size_t>(i)] : operands.with_exponent(-160, 130);
    const float down = float_down(a);
    const float up = float_up(a);
    const bool encloses = static_cast<double>(down) <= a && a <= static_cast<double>(up);
    const bool tight = down == up || std::nextafterf(down, HUGE_VALF) == up;
    const bool exact = (static_cast<double>(static_cast<float>(a)) == a) == (down == up);
    result.expect_lazily(encloses && tight && exact, [&] { return hex(a); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  CHECK(float_down(1e300) == FLT_MAX);
  CHECK(float_up(1e300) == HUGE_VALF);
  CHECK(float_down(-1e300) == -HUGE_VALF);
  CHECK(float_up(-1e300) == -FLT_MAX);
  CHECK(std::isnan(float_down(kNaN)));
}

TEST_CASE("directed: the environment check accepts the default environment", "[numbers]") {
  CHECK(floating_point_environment_is_standard());
}

#if defined(__x86_64__)
namespace {
// Evaluates the check under changed control bits, and puts the old ones back before anything is reported.
bool standard_with(unsigned set_bits) {
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | set_bits);
  const bool standard = floating_point_environment_is_standard();
  _mm_setcsr(before);
  return standard;
}
}  // namespace

TEST_CASE("directed: the environment check detects flushing and other rounding modes", "[numbers]") {
  CHECK_FALSE(standard_with(0x8000));  // flush results to zero
  CHECK_FALSE(standard_with(0x0040));  // read subnormal operands as zero
  CHECK_FALSE(standard_with(0x2000));  // round down
  CHECK_FALSE(standard_with(0x4000));  // round up
  CHECK_FALSE(standard_with(0x6000));  // round towards zero
  CHECK(standard_with(0));
}
#endif

}  // namespace assay::test
