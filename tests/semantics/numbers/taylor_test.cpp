// The Taylor polynomials against MPFR: the same bits, in a fraction of the time.
#include "semantics/numbers/taylor.h"

#include <cmath>
#include <ctime>
#include <random>

#include "semantics/graph/graph.h"
#include "semantics/numbers/wide_interval.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

constexpr int kFunctions = 20;

// Arguments that a function's domain, its kinks of accuracy and its overflow call for. Few enough places, asked often enough, that most
// answers come from polynomials.
double argument(std::mt19937_64& random) {
  std::uniform_real_distribution<double> unit(-1, 1);
  switch (random() % 6) {
    case 0:
      return unit(random);
    case 1:
      return unit(random) * 10;
    case 2:
      return unit(random) * 800;
    case 3:
      return std::ldexp(unit(random), static_cast<int>(random() % 200) - 150);
    case 4:
      return std::round(unit(random) * 64) / 8 + std::ldexp(unit(random), -static_cast<int>(random() % 40));
    default:
      return static_cast<double>(static_cast<float>(unit(random) * 4));
  }
}

// MPFR's, from 257 bits.
Interval exact(Function f, const Interval& x) { return apply(f, WideInterval(x)).to_interval(); }

Node activation(Activation f) {
  Node node;
  node.op = f == Activation::silu ? Op::silu : f == Activation::mish ? Op::mish : Op::gelu;
  if (f == Activation::silu) node.attributes = ActivationAttributes{1, 0};
  if (node.op == Op::gelu) node.attributes = GeluAttributes{f == Activation::gelu_tanh_form};
  node.shape = {1};
  node.operands = {0};
  return node;
}

template <class S>
S image(const Node& node, const S& x) {
  const Array<S> operand{{1}, {x}};
  const Array<S>* operands[] = {&operand};
  return denote<S>(node, operands).value().values[0];
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

TEST_CASE("taylor: the same intervals as MPFR's, at points and on sets", "[numbers]") {
  std::mt19937_64 random(11);
  for (int k = 0; k < kFunctions; ++k) {
    const auto f = static_cast<Function>(k);
    int wrong = 0, known = 0;
    for (int n = 0; n < 4000; ++n) {
      const double x = argument(random), width = std::fabs(argument(random)) * (n % 3 == 0 ? 0x1p-20 : 1);
      const Interval at = n % 2 == 0 ? Interval(x) : Interval(x, x + width), want = exact(f, at), got = apply(f, at);
      if (n % 2 == 0) known += tight(f, x).has_value() ? 1 : 0;
      if (want.is_undefined() ? !got.is_undefined() : !(got == want)) ++wrong;
    }
    INFO(k);
    CHECK(wrong == 0);
    CHECK(known > 100);
  }
}

TEST_CASE("taylor: hard arguments are left to MPFR or answered as it does", "[numbers]") {
  std::mt19937_64 random(13);
  for (int k = 0; k < kFunctions; ++k) {
    const auto f = static_cast<Function>(k);
    int wrong = 0;
    for (int n = 0; n < 2000; ++n) {  // the ends and the middles of cells, and their neighbours
      const double edge = static_cast<double>(static_cast<int>(random() % 512) - 256) / (random() % 2 == 0 ? 16 : 512);
      const double x = n % 3 == 0 ? edge : std::nextafter(edge, n % 3 == 1 ? HUGE_VAL : -HUGE_VAL);
      const Interval want = exact(f, Interval(x));
      for (int again = 0; again < 4; ++again) {
        const Interval got = apply(f, Interval(x));
        if (want.is_undefined() ? !got.is_undefined() : !(got == want)) ++wrong;
      }
    }
    INFO(k);
    CHECK(wrong == 0);
  }
}

TEST_CASE("taylor: gelu, silu and mish as at 257 bits, at points and on sets", "[numbers]") {
  std::mt19937_64 random(17);
  for (const Activation f : {Activation::gelu, Activation::gelu_tanh_form, Activation::silu, Activation::mish}) {
    const Node node = activation(f);
    int wrong = 0, known = 0;
    for (int n = 0; n < 3000; ++n) {
      const double x = argument(random), width = std::fabs(argument(random));
      const Interval at = n % 2 == 0 ? Interval(x) : Interval(x, x + width);
      known += tight(f, x).has_value() ? 1 : 0;
      if (!(image(node, at) == image(node, WideInterval(at)).to_interval())) ++wrong;
    }
    INFO(static_cast<int>(f));
    CHECK(wrong == 0);
    CHECK(known > 1000);
  }
}

TEST_CASE("taylor: the nearest double is that of 257 bits", "[numbers]") {
  std::mt19937_64 random(12);
  std::uniform_real_distribution<double> unit(-3, 3);
  for (int k = 0; k < kFunctions; ++k) {
    const auto f = static_cast<Function>(k);
    int known = 0, wrong = 0;
    for (int n = 0; n < 4000; ++n) {
      const double x = unit(random);
      const auto got = nearest_double(f, x);
      if (!got) continue;
      ++known;
      const WideInterval value = apply(f, WideInterval(x)), off = abs(value - WideInterval(*got));
      for (const double side : {-HUGE_VAL, HUGE_VAL}) {
        if (!certainly_less_equal(off, abs(value - WideInterval(std::nextafter(*got, side))))) ++wrong;
      }
    }
    INFO(k);
    CHECK(wrong == 0);
    CHECK(known > 400);
  }
}

TEST_CASE("taylor: a zero of the function is exact, and a value beside it narrow", "[numbers]") {
  for (const Function f : {Function::tanh, Function::erf, Function::sin, Function::tan, Function::asin, Function::atan, Function::sinh,
                           Function::asinh, Function::atanh, Function::expm1, Function::log1p}) {
    for (int again = 0; again < 5; ++again) {
      CHECK(apply(f, Interval(0)) == Interval(0));
      const Interval small = apply(f, Interval(0x1p-60));
      CHECK(small.lo() > 0);
      CHECK(small.width_up() < 0x1p-105);
    }
  }
  for (int again = 0; again < 5; ++again) CHECK(apply(Function::log, Interval(1)) == Interval(0));
}

TEST_CASE("taylor: outside of the domain there is no value", "[numbers]") {
  for (int again = 0; again < 5; ++again) {
    CHECK(apply(Function::log, Interval(-1)).is_undefined());
    CHECK(apply(Function::log, Interval(-1, 1)).is_undefined());
    CHECK(apply(Function::asin, Interval(1.5)).is_undefined());
    CHECK(apply(Function::tan, Interval(1, 2)).is_undefined());
    CHECK(apply(Function::exp, Interval::undefined()).is_undefined());
    CHECK(apply(Function::acosh, Interval(0.99)).is_undefined());
  }
}

// At 257 bits 20,000 images of gelu took between 4 s and minutes, most of them in the tails.
TEST_CASE("taylor: erf and gelu cost microseconds wherever they are asked", "[numbers][speed]") {
  std::mt19937_64 random(19);
  for (const double range : {2.0, 9.0, 45.0}) {
    std::uniform_real_distribution<double> unit(-range, range);
    const Node node = activation(Activation::gelu);
    const double begin = cpu_seconds();
    for (int n = 0; n < 5000; ++n) {
      const double a = unit(random), b = unit(random);
      (void)image(node, Interval(std::fmin(a, b), std::fmax(a, b)));
      (void)apply(Function::erf, Interval(a));
    }
    INFO(range);
    CHECK(cpu_seconds() - begin < 2);
  }
}

}  // namespace assay::test
