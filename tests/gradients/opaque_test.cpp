#include "kernel/gradients/numbers/opaque.h"

#include <gmp.h>

#include <functional>
#include <string>

#include "semantics/numbers/selection.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

Opaque number(std::int64_t numerator, std::int64_t denominator = 1) { return Opaque(Rational(numerator, denominator)); }
Opaque at(double guide, std::uint64_t seed) { return Opaque::drawn(guide, seed); }
bool is_one(const Opaque& x) { return x == number(1); }

// Equal residues, and guides that may be the same number: an identity that is not one of real numbers fails the second.
bool holds(const Opaque& a, const Opaque& b) { return a == b && compare(a.guide(), b.guide()).may_be_equal; }

using Formula = std::function<Opaque(const Opaque&)>;
struct Tie {
  const char* name;
  Formula left, right;
};

// All ties of opaque.h, in one variable between 0 and 1 (and a second one, 5/7).
std::vector<Tie> ties() {
  const auto f = [](Function function) { return [function](const Opaque& x) { return apply(function, x); }; };
  const auto odd = [&](Function function, const char* name) {
    return Tie{name, [function](const Opaque& x) { return apply(function, -x); },
               [function](const Opaque& x) { return -apply(function, x); }};
  };
  const Opaque b = at(5.0 / 8, 99);
  return {
      {"exp of a sum", [b](const Opaque& x) { return exp(x + b); }, [b](const Opaque& x) { return exp(x) * exp(b); }},
      {"exp of a multiple", [](const Opaque& x) { return exp(number(-7, 3) * x); },
       [](const Opaque& x) { return pow(exp(x), Rational(-7, 3)); }},
      {"exp of a quotient", [b](const Opaque& x) { return exp(x / b); }, [b](const Opaque& x) { return exp(b * (x / square(b))); }},
      {"exp of a log", [](const Opaque& x) { return exp(log(x)); }, [](const Opaque& x) { return x; }},
      {"a power", [b](const Opaque& x) { return exp((b - number(1)) * log(x)); }, [b](const Opaque& x) { return exp(b * log(x)) / x; }},
      {"a root", [](const Opaque& x) { return square(sqrt(x)); }, [](const Opaque& x) { return x; }},
      {"roots of a product", [b](const Opaque& x) { return sqrt(x) * sqrt(b); }, [b](const Opaque& x) { return sqrt(x * b); }},
      {"powers", [](const Opaque& x) { return pow(x, Rational(5, 4)); }, [](const Opaque& x) { return x * sqrt(sqrt(x)); }},
      {"tanh", f(Function::tanh), [](const Opaque& x) { return (exp(x) - exp(-x)) / (exp(x) + exp(-x)); }},
      {"sigmoid", f(Function::sigmoid), [](const Opaque& x) { return number(1) / (number(1) + exp(-x)); }},
      {"sinh", f(Function::sinh), [](const Opaque& x) { return (exp(x) - exp(-x)) / number(2); }},
      {"cosh", f(Function::cosh), [](const Opaque& x) { return (exp(x) + exp(-x)) / number(2); }},
      {"expm1", f(Function::expm1), [](const Opaque& x) { return exp(x) - number(1); }},
      {"log1p", f(Function::log1p), [](const Opaque& x) { return log(number(1) + x); }},
      {"softplus", f(Function::softplus), [](const Opaque& x) { return log(number(1) + exp(x)); }},
      {"exp of softplus", [](const Opaque& x) { return exp(apply(Function::softplus, x)); },
       [](const Opaque& x) { return number(1) + exp(x); }},
      {"erfc", f(Function::erfc), [](const Opaque& x) { return number(1) - erf(x); }},
      {"sine and cosine", [](const Opaque& x) { return square(sin(x)) + square(cos(x)); }, [](const Opaque&) { return number(1); }},
      {"tan", f(Function::tan), [](const Opaque& x) { return sin(x) / cos(x); }},
      {"cosine is even", [](const Opaque& x) { return cos(-x); }, [](const Opaque& x) { return cos(x); }},
      {"asin and acos", [](const Opaque& x) { return apply(Function::asin, x) + apply(Function::acos, x); },
       [](const Opaque&) { return Opaque::pi() / number(2); }},
      {"acos, mirrored", [](const Opaque& x) { return apply(Function::acos, -x); },
       [](const Opaque& x) { return Opaque::pi() - apply(Function::acos, x); }},
      odd(Function::erf, "erf"),
      odd(Function::sin, "sin"),
      odd(Function::tan, "tan"),
      odd(Function::asin, "asin"),
      odd(Function::atan, "atan"),
      odd(Function::asinh, "asinh"),
      odd(Function::atanh, "atanh"),
      odd(Function::tanh, "tanh"),
      odd(Function::sinh, "sinh"),
  };
}

}  // namespace

TEST_CASE("opaque: p and q are prime and p = 2q + 1", "[numbers]") {
  mpz_t n;
  mpz_init(n);
  for (const std::uint64_t prime : {Opaque::kPrime, Opaque::kTwinPrime}) {
    mpz_set_ui(n, prime);
    CHECK(mpz_probab_prime_p(n, 50) > 0);
  }
  for (const unsigned small : {2U, 3U, 5U, 7U, 11U, 13U}) {
    mpz_t p;
    mpz_init_set_ui(p, Opaque::kPrime);
    mpz_set_ui(n, small);
    CHECK(mpz_jacobi(n, p) == 1);
    mpz_clear(p);
  }
  mpz_clear(n);
  CHECK(Opaque::kPrime == 2 * Opaque::kTwinPrime + 1);
  CHECK(Opaque::kTwinPrime % 4 == 3);
}

TEST_CASE("opaque: every tie of the header holds in residues and for real numbers", "[numbers]") {
  for (const Tie& tie : ties()) {
    for (std::uint64_t seed = 1; seed < 40; ++seed) {
      const Opaque x = at(static_cast<double>(seed) / 64 + 1.0 / 256, seed);
      INFO(tie.name << ", seed " << seed);
      const Opaque left = tie.left(x), right = tie.right(x);
      if (left.has_residue() && right.has_residue()) CHECK(holds(left, right));
      CHECK(compare(left.guide(), right.guide()).may_be_equal);
    }
    INFO(tie.name);
    const Opaque x = at(0.25, 7);
    CHECK(tie.left(x).has_residue());
  }
}

TEST_CASE("opaque: what is no identity has different residues", "[numbers]") {
  const Opaque x = at(0.75, 3), y = at(0.5, 4);
  for (const auto& [a, b] :
       {std::pair(exp(x), exp(y)), std::pair(exp(x * y), exp(x) * exp(y)), std::pair(sqrt(x + y), sqrt(x) + sqrt(y)),
        std::pair(erf(x), tanh(x)), std::pair(sin(x), cos(x)), std::pair(log(x), log(y)), std::pair(pow(x, 3), pow(x, 2)),
        std::pair(apply(Function::asinh, x), apply(Function::atanh, x)), std::pair(sin(x + x), sin(x) * number(2)),
        std::pair(exp(number(1)), number(4)), std::pair(Opaque::pi(), number(22, 7))}) {
    CHECK_FALSE(a == b);
  }
}

TEST_CASE("opaque: exact at numbers that are known", "[numbers]") {
  const Opaque zero;
  for (const Function f : {Function::tanh, Function::erf, Function::sin, Function::tan, Function::asin, Function::atan, Function::sinh,
                           Function::asinh, Function::atanh, Function::expm1, Function::log1p}) {
    CHECK(apply(f, zero) == zero);
  }
  CHECK(is_one(exp(zero)));
  CHECK(is_one(cos(zero)));
  CHECK(is_one(apply(Function::erfc, zero)));
  CHECK(log(number(1)) == zero);
  CHECK(apply(Function::acosh, number(1)) == zero);
  CHECK(apply(Function::acos, number(-1)) == Opaque::pi());
  CHECK(apply(Function::acos, number(1)) == zero);
  CHECK(apply(Function::acos, zero) * number(2) == Opaque::pi());
  CHECK(sqrt(number(9, 4)) == number(3, 2));
  CHECK(number(5, 3) * number(3, 5) == number(1));
}

TEST_CASE("opaque: numbers drawn for roots have them", "[numbers]") {
  const Opaque one = number(1);
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    for (const double guide : {-0.5, 0.25}) {
      const Opaque x = Opaque::drawn(guide, seed, Opaque::Draw::sine);
      CHECK(sqrt(one - x * x).has_residue());
      CHECK(sqrt(guide > 0 ? x : -x).has_residue());
    }
    const Opaque above = Opaque::drawn(1.5, seed, Opaque::Draw::sine), below = Opaque::drawn(-1.5, seed, Opaque::Draw::sine);
    CHECK(sqrt(above).has_residue());
    CHECK(sqrt(-below).has_residue());
    for (const Opaque& root : {sqrt(above * above - one), sqrt(above - one), sqrt(above + one), sqrt(below * below - one)}) {
      CHECK(root.has_residue());
    }
    CHECK(sqrt(above - one) * sqrt(above + one) == sqrt(above * above - one));
    for (const double guide : {-3.0, 0.75}) {
      const Opaque x = Opaque::drawn(guide, seed, Opaque::Draw::sinh);
      CHECK(sqrt(one + x * x).has_residue());
      CHECK(sqrt(guide > 0 ? x : -x).has_residue());
    }
  }
}

TEST_CASE("opaque: 0 times a number without a residue is 0, times what is no number is not", "[numbers]") {
  Opaque none = sqrt(at(2, 1) - at(1, 2));
  for (std::uint64_t seed = 3; none.has_residue(); ++seed) none = sqrt(at(2, seed) - at(1, 2));
  CHECK(none * Opaque() == Opaque());
  CHECK(Opaque() * none == Opaque());
  CHECK_FALSE((none * at(1, 5)).has_residue());
  const Opaque x = at(0.7, 8), difference = x / number(3) * number(3) - x;  // 0, though its guide is no point
  CHECK(!difference.guide().is_point());
  CHECK(none * difference == Opaque());
  CHECK(difference * none == Opaque());
  CHECK((difference * none).guide().contains(0));
  CHECK_FALSE((none * (difference + number(1, 1000000007))).has_residue());
  const Opaque little = difference + number(1, 1000000000000000003);  // not 0, though its guide does not tell
  CHECK(little.guide().contains(0));
  CHECK_FALSE((none * little).has_residue());
  CHECK((difference * log(number(-1))).guide().is_undefined());
  CHECK((Opaque() * log(number(-1))).guide().is_undefined());
  CHECK((Opaque() * (number(1) / Opaque())).guide().is_undefined());
}

TEST_CASE("opaque: what has no residue or no value", "[numbers]") {
  const Opaque x = at(0.75, 5), negative = at(-0.75, 6);
  CHECK_FALSE((x / Opaque()).has_residue());
  CHECK((x / Opaque()).guide().is_undefined());
  CHECK_FALSE(sqrt(negative).has_residue());
  CHECK(sqrt(negative).guide().is_undefined());
  CHECK(log(negative).guide().is_undefined());
  CHECK(sqrt(x).has_residue());  // positive numbers are drawn as squares
  CHECK_FALSE(sqrt(-x).has_residue());
  int roots = 0;
  for (std::uint64_t seed = 10; seed < 110; ++seed) roots += sqrt(x + at(0.5, seed)).has_residue() ? 1 : 0;
  CHECK((roots > 30 && roots < 70));  // half of all numbers are squares
  CHECK_FALSE((x / Opaque()) == (x / Opaque()));
}

TEST_CASE("opaque: an infinity gives what all numbers beside it give, a limit, or nothing", "[numbers]") {
  const Opaque above = Opaque::infinite(1), below = Opaque::infinite(-1), x = at(0.75, 5);
  CHECK_FALSE((below.has_residue() || below == below));
  CHECK((-below).infinity() == 1);
  CHECK((x - above).infinity() == -1);
  CHECK((below + below).infinity() == -1);
  CHECK((below * at(-2, 7)).infinity() == 1);
  CHECK((below / x).infinity() == -1);
  CHECK(exp(below) == Opaque());
  CHECK(x / above == Opaque());
  CHECK(sigmoid(above) == number(1));
  CHECK(tanh(below) == number(-1));
  CHECK(max(below, x) == x);
  CHECK(select(number(1), x, below) == x);
  CHECK(compare(below, below).may_be_equal);
  CHECK(compare(below, x).may_be_less);
  for (const Opaque& none :
       {log(below), sin(above), square(below), sqrt(above), below + Opaque::undefined(), below * Opaque::undefined(), above / Opaque()}) {
    CHECK_FALSE(none.has_residue());
    CHECK_FALSE((none.infinity() != 0 || none.is_nan()));
  }
  const Opaque nan = below - below;
  for (const Opaque& one : {nan, above + below, below * Opaque(), above / below, Opaque() / Opaque(), nan * Opaque(), x - nan, -nan,
                            exp(nan), max(nan, x), nan / above}) {
    CHECK(one.is_nan());
    CHECK_FALSE((one.has_residue() || one.infinity() != 0 || one == one));
    CHECK(one.guide().is_undefined());
  }
  CHECK_FALSE((x / Opaque()).is_nan());
  const Opaque other = at(0.7, 8);  // the guide does not show that the difference is 0
  CHECK_FALSE(((other / number(3) * number(3) - other) / Opaque()).is_nan());
  const Order unknown = compare(below, Opaque::undefined());
  CHECK_FALSE((unknown.may_be_less || unknown.may_be_equal || unknown.may_be_greater));
  using D = Dual<Opaque>;
  const D moving(x, at(0.25, 9));
  CHECK((exp((moving + D(below)) * moving).tangent() == Opaque()));  // 0 nearby, too
  CHECK((moving / D(above)).tangent() == Opaque());
}

TEST_CASE("opaque: guides decide, and sides at a tie", "[numbers]") {
  const Opaque x = at(0.75, 5), y = at(0.5, 6);
  CHECK(max(x, y) == x);
  CHECK(min(x, y) == y);
  CHECK(abs(-x) == x);
  CHECK(sign(y) == number(1));
  CHECK(floor(x) == number(0));
  CHECK(round(x) == number(1));
  const Opaque above(Rational(3), 1), below(Rational(3), -2), three(Rational(3));
  CHECK(compare(above, three).may_be_greater);
  CHECK(compare(below, three).may_be_less);
  CHECK(compare(three, three).may_be_equal);
  CHECK(floor(above) == number(3));
  CHECK(floor(below) == number(2));
  CHECK(compare(square(above), square(below)).may_be_greater);
  CHECK(compare(-above, -below).may_be_less);
  CHECK(compare(exp(above), exp(three)).may_be_greater);
  CHECK(compare(number(1) / above, number(1) / three).may_be_less);
  // The same guide, but not the same number: no answer.
  const Opaque other = at(0.75, 8);
  const Order none = compare(x, other);
  CHECK_FALSE((none.may_be_less || none.may_be_equal || none.may_be_greater));
  CHECK_FALSE(max(x, other).has_residue());
}

}  // namespace assay::test
