#include "semantics/numbers/rational.h"

#include <gmp.h>
#include <mpfr.h>

#include <string>
#include <vector>

#include "semantics/numbers/exact_work.h"
#include "semantics/numbers/scalar_traits.h"
#include "tests/catch.h"
#include "tests/semantics/numbers/number_cases.h"

namespace assay::test {
namespace {

// A GMP fraction as the independent reference.
class Exact {
 public:
  explicit Exact(const std::string& text) {
    mpq_init(value_);
    mpq_set_str(value_, text.c_str(), 10);
    mpq_canonicalize(value_);
  }
  Exact(const Exact& other) {
    mpq_init(value_);
    mpq_set(value_, other.value_);
  }
  Exact& operator=(const Exact&) = delete;
  ~Exact() { mpq_clear(value_); }
  mpq_ptr get() { return value_; }
  mpq_srcptr get() const { return value_; }
  std::string text() const {
    std::string result(mpz_sizeinbase(mpq_numref(value_), 10) + mpz_sizeinbase(mpq_denref(value_), 10) + 3, '\0');
    mpq_get_str(result.data(), 10, value_);
    result.resize(result.find('\0'));
    return result;
  }

 private:
  mpq_t value_;
};

const std::vector<std::int64_t> kBorders = {INT64_MIN,  INT64_MIN + 1, -4611686018427387904, -3037000500,   -2,       -1, 0, 1, 2, 3, 6,
                                            3037000499, 3037000500,    4611686018427387904,  INT64_MAX - 1, INT64_MAX};

Rational random_rational(Operands& operands) {
  const auto part = [&]() -> std::int64_t {
    switch (operands.bits() % 4) {
      case 0:
        return kBorders[operands.bits() % kBorders.size()];
      case 1:
        return static_cast<std::int64_t>(operands.bits());
      default:
        return operands.integer(-1000, 1000);
    }
  };
  std::int64_t denominator = part();
  denominator = denominator == 0 ? 1 : denominator;
  Rational result(part(), denominator);
  switch (operands.bits() % 8) {
    case 0:
      return result * Rational(part(), denominator);
    case 1:
      return result + *Rational::from_double(operands.finite());
    default:
      return result;
  }
}

void compare(const Rational& a, const Rational& b, Mismatches& result) {
  const Exact x(a.to_string());
  const Exact y(b.to_string());
  const auto check = [&](const char* name, const Rational& got, void (*operation)(mpq_ptr, mpq_srcptr, mpq_srcptr)) {
    Exact want("0");
    operation(want.get(), x.get(), y.get());
    result.expect_lazily(got.to_string() == want.text(),
                         [&] { return a.to_string() + " " + name + " " + b.to_string() + " gave " + got.to_string(); });
    // Equal values are equal however they came about, also across the border of the two representations.
    result.expect_lazily(got == *Rational::parse(want.text()), [&] { return "not canonical: " + want.text(); });
  };
  check("+", a + b, mpq_add);
  check("-", a - b, mpq_sub);
  check("*", a * b, mpq_mul);
  if (b.sign() != 0) {
    check("/", a / b, mpq_div);
  }
  const int order = mpq_cmp(x.get(), y.get());
  result.expect_lazily((a <=> b) == (order <=> 0) && (a == b) == (order == 0), [&] { return a.to_string() + " <=> " + b.to_string(); });
}

}  // namespace

TEST_CASE("rational: arithmetic and order equal GMP's on the borders of int64", "[numbers]") {
  Mismatches result;
  for (const std::int64_t a : kBorders) {
    for (const std::int64_t b : kBorders) {
      compare(Rational(a), Rational(b), result);
      if (b != 0) {
        compare(Rational(a, b), Rational(b, 6), result);
        compare(Rational(1, b), Rational(a, 3), result);
      }
    }
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  CHECK(Rational(INT64_MIN, -1).to_string() == "9223372036854775808");
  CHECK(Rational(1, INT64_MIN).to_string() == "-1/9223372036854775808");
  CHECK(Rational(INT64_MIN, INT64_MIN) == Rational(1));
  CHECK((-Rational(INT64_MIN)).to_string() == "9223372036854775808");
  CHECK(-(-Rational(INT64_MIN)) == Rational(INT64_MIN));
}

TEST_CASE("rational: arithmetic and order equal GMP's on random fractions", "[numbers]") {
  Operands operands(21);
  Mismatches result;
  for (int i = 0; i < 20000; ++i) {
    compare(random_rational(operands), random_rational(operands), result);
  }
  INFO("seed 21: " << result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("rational: lowest terms, sign in the numerator", "[numbers]") {
  CHECK(Rational(6, -4).to_string() == "-3/2");
  CHECK(Rational(0, -7) == Rational(0));
  CHECK(Rational(-9, -3).to_string() == "3");
  CHECK(Rational(3, 7).sign() == 1);
  CHECK(Rational(-3, 7).sign() == -1);
  CHECK(Rational().sign() == 0);
  CHECK(Rational(4, 2).is_integer());
  CHECK_FALSE(Rational(1, 2).is_integer());
  CHECK(Rational(4, 2).to_int64() == 2);
  CHECK_FALSE(Rational(1, 2).to_int64().has_value());
  CHECK_FALSE((Rational(INT64_MAX) + Rational(1)).to_int64().has_value());
  CHECK((Rational(INT64_MAX) + Rational(1)).is_integer());
}

TEST_CASE("rational: copies, moves and assignment to itself keep the value", "[numbers]") {
  const Rational large = *Rational::parse("123456789012345678901234567890/7");
  Rational copy(large);
  CHECK(copy == large);
  Rational& alias = copy;
  copy = alias;
  CHECK(copy == large);
  Rational moved(std::move(copy));
  CHECK(moved == large);
  copy = Rational(5);
  CHECK(copy == Rational(5));
  moved += moved;
  CHECK(moved == large * Rational(2));
  const Rational& other = moved;
  moved -= other;
  CHECK(moved == Rational());
}

TEST_CASE("rational: doubles convert exactly both ways", "[numbers]") {
  Operands operands(22);
  Mismatches result;
  for (int i = 0; i < 60000; ++i) {
    const double x = i < static_cast<int>(kEdges.size()) ? kEdges[static_cast<std::size_t>(i)] : operands.finite();
    const auto exact = Rational::from_double(x);
    if (!std::isfinite(x)) {
      result.expect(!exact.has_value(), hex(x));
      continue;
    }
    result.expect_lazily(exact->double_down() == x && exact->double_up() == x && exact->is_double(), [&] { return hex(x); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  CHECK_FALSE(Rational::from_double(kNaN).has_value());
  CHECK(Rational::from_double(0.1)->to_string() == "3602879701896397/36028797018963968");
  CHECK(Rational::from_double(-0.0) == Rational(0));
}

TEST_CASE("rational: conversions to double are directed and tight everywhere", "[numbers]") {
  Operands operands(23);
  Mismatches result;
  for (int i = 0; i < 60000; ++i) {
    const Rational x = random_rational(operands);
    const double down = x.double_down();
    const double up = x.double_up();
    const bool encloses = (std::isinf(down) || *Rational::from_double(down) <= x) && (std::isinf(up) || x <= *Rational::from_double(up));
    const bool tight = x.is_double() ? down == up : std::nextafter(down, kInfinity) == up;
    result.expect_lazily(encloses && tight, [&] { return x.to_string(); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
  const auto parse = [](const char* text) { return *Rational::parse(text); };
  CHECK(parse("1e309").double_down() == DBL_MAX);
  CHECK(parse("1e309").double_up() == kInfinity);
  CHECK(parse("-1e309").double_down() == -kInfinity);
  CHECK(parse("-1e309").double_up() == -DBL_MAX);
  CHECK(parse("1e-9999").double_down() == 0);
  CHECK(parse("1e-9999").double_up() == kTiny);
  CHECK(parse("-1e-9999").double_down() == -kTiny);
  CHECK(parse("-1e-9999").double_up() == 0);
  CHECK(parse("3e-324").double_down() == 0);  // between 0 and the least subnormal
  CHECK(parse("6e-324").double_down() == kTiny);
  CHECK(parse("6e-324").double_up() == 2 * kTiny);
  CHECK_FALSE(parse("1e309").is_double());
}

TEST_CASE("rational: numbers that are read", "[numbers]") {
  const std::vector<std::pair<const char*, const char*>> cases = {{"0", "0"},
                                                                  {"-0", "0"},
                                                                  {"7", "7"},
                                                                  {"+7", "7"},
                                                                  {"-12.50e-3", "-1/80"},
                                                                  {"1/3", "1/3"},
                                                                  {"-6/4", "-3/2"},
                                                                  {"0.1", "1/10"},
                                                                  {"1.", "1"},
                                                                  {".5", "1/2"},
                                                                  {"1e3", "1000"},
                                                                  {"1E+03", "1000"},
                                                                  {"1e-0002", "1/100"},
                                                                  {"000123", "123"},
                                                                  {"0/5", "0"},
                                                                  {"9223372036854775807", "9223372036854775807"},
                                                                  {"9223372036854775808", "9223372036854775808"},
                                                                  {"-9223372036854775808", "-9223372036854775808"},
                                                                  {"123456789012345678.9", "1234567890123456789/10"},
                                                                  {"0.0000000000000000001", "1/10000000000000000000"},
                                                                  {"18446744073709551616/2", "9223372036854775808"}};
  for (const auto& [text, want] : cases) {
    const auto value = Rational::parse(text);
    INFO(text);
    REQUIRE(value.has_value());
    CHECK(value->to_string() == want);
  }
  CHECK(Rational::parse("1e10000").has_value());
  CHECK(Rational::parse("1e-10000").has_value());
}

TEST_CASE("rational: texts that are not one number are refused", "[numbers]") {
  const std::vector<std::string> cases = {"",
                                          " ",
                                          "-",
                                          "+",
                                          ".",
                                          "e5",
                                          "1e",
                                          "1e+",
                                          "1e5.0",
                                          "--1",
                                          "+-1",
                                          "1 ",
                                          " 1",
                                          "1,5",
                                          "0x10",
                                          "1/0",
                                          "1/",
                                          "/2",
                                          "1/-2",
                                          "1/2/3",
                                          "1.5/2",
                                          "1/2.5",
                                          "1/2e3",
                                          "nan",
                                          "inf",
                                          "-inf",
                                          "1e10001",
                                          "1e-10001",
                                          "1e99999999999999999999",
                                          "0e10001",
                                          "1.2.3",
                                          "1_000",
                                          "\xC3\xA9",
                                          std::string("1\0", 2),
                                          "1d5",
                                          std::string(20001, '1')};
  for (const std::string& text : cases) {
    INFO("\"" << text.substr(0, 40) << "\"");
    CHECK_FALSE(Rational::parse(text).has_value());
  }
  CHECK(Rational::parse(std::string(20000, '1')).has_value());
}

TEST_CASE("rational: decimal texts are exact where they are finite", "[numbers]") {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"1/8", "0.125"}, {"-1/80", "-0.0125"},       {"5", "5"},       {"0", "0"},    {"1/3", "1/3"},
      {"-7/6", "-7/6"}, {"123456/1000", "123.456"}, {"-1/2", "-0.5"}, {"100", "100"}};
  for (const auto& [text, want] : cases) {
    CHECK(Rational::parse(text)->to_decimal() == want);
  }
  Operands operands(24);
  Mismatches result;
  for (int i = 0; i < 3000; ++i) {
    const Rational x = *Rational::from_double(operands.finite());
    result.expect_lazily(Rational::parse(x.to_decimal()) == x && Rational::parse(x.to_string()) == x, [&] { return x.to_string(); });
  }
  INFO(result.first());
  CHECK(result.failed() == 0);
}

TEST_CASE("rational: functions", "[numbers]") {
  CHECK(square(Rational(-2, 3)) == Rational(4, 9));
  CHECK(abs(Rational(-2, 3)) == Rational(2, 3));
  CHECK(sign(Rational(-2, 3)) == Rational(-1));
  CHECK(floor(Rational(-1, 2)) == Rational(-1));
  CHECK(floor(Rational(7, 2)) == Rational(3));
  CHECK(floor(*Rational::parse("-123456789012345678901.5")).to_string() == "-123456789012345678902");
  CHECK(min(Rational(1, 3), Rational(1, 4)) == Rational(1, 4));
  CHECK(max(Rational(1, 3), Rational(1, 4)) == Rational(1, 3));
  CHECK(pow(Rational(-2, 3), 3) == Rational(-8, 27));
  CHECK(pow(Rational(-2, 3), -3) == Rational(-27, 8));
  CHECK(pow(Rational(0), 0) == Rational(1));
  CHECK(pow(Rational(0), 5) == Rational(0));
  CHECK(pow(Rational(10), 30).to_string() == "1000000000000000000000000000000");
  CHECK(pow(Rational(-1), INT64_MIN) == Rational(1));
  CHECK(pow(Rational(-1), INT64_MAX) == Rational(-1));
  CHECK(pow(Rational(1), INT64_MAX) == Rational(1));
  CHECK_FALSE(may_raise_exactly(Rational(0), -1));
  CHECK_FALSE(may_raise_exactly(Rational(2), INT64_MAX));
  CHECK_FALSE(may_raise_exactly(Rational(2), INT64_MIN));
  CHECK(may_raise_exactly(Rational(2), 300000));
}

TEST_CASE("exact work ends numbers that grow without end, and nothing else", "[rational]") {
  const auto squared = [](Rational x, int times) {
    for (int i = 0; i < times; ++i) x = x * x;
    return x;
  };
  const Rational third(1, 3);
  Rational few;
  CHECK(within_exact_work(1e6, [&] { few = squared(third, 8); }));
  CHECK(few == squared(third, 8));
  CHECK_FALSE(within_exact_work(1e8, [&] { (void)squared(third, 40); }));
  CHECK_FALSE(within_exact_work(1e4, [&] {  // copies are charged as well
    for (int i = 0; i < 1000; ++i) (void)Rational(few);
  }));
  CHECK(squared(third, 12) == squared(few, 4));  // no limit is left behind
}

}  // namespace assay::test
