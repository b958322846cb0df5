// One meaning, many arithmetics: every op of the catalogue on the same random data over every scalar.
#include <cmath>
#include <set>

#include "kernel/gradients/numbers/modular.h"
#include "kernel/gradients/numbers/opaque.h"
#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

constexpr std::uint64_t kSeed = 2024;
constexpr int kRounds = 4;

// Calls check(case, graph, integer operands) a few times for every case.
template <class F>
void for_each_case(const F& check) {
  std::mt19937_64 random(kSeed);
  for (const OpCase& one : catalogue()) {
    const Graph graph = graph_of(one);
    REQUIRE(graph.outputs.size() == 1);
    for (int round = 0; round < kRounds; ++round) {
      CAPTURE(kSeed, one.name, round);
      check(one, graph, draw_operands(one, random));
    }
  }
}

bool leaves_the_rationals(const OpCase& one) {
  switch (one.op) {
    case Op::batch_norm:
    case Op::sqrt:
    case Op::sigmoid:
    case Op::tanh:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::softmax:
    case Op::power:
    case Op::normalise:
    case Op::local_response:
    case Op::masked_softmax:
    case Op::erf:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::softplus:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::log_softmax:
    case Op::log_sum_exp:
      return true;
    case Op::pow:
      return !std::get<PowAttributes>(one.attributes).exponent.is_integer();
    default:
      return false;
  }
}

bool is_algebraic(const OpCase& one) {  // + - * / alone
  const OpClass c = op_row(one.op).op_class;
  return !leaves_the_rationals(one) && (c == OpClass::layout || c == OpClass::linear || c == OpClass::bilinear || one.op == Op::pow ||
                                        one.op == Op::reciprocal || one.op == Op::reduce_prod || one.op == Op::cumprod);
}

template <class S>
Outcome<Array<S>> over(const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
  return denote_case(graph, arrays_of<S>(one, values));
}

template <class S>
void check_declined(const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
  const Outcome<Array<S>> result = over<S>(one, graph, values);
  REQUIRE_FALSE(result.ok());
  CHECK(result.rejection().code == "denote.scalar");
  CHECK(result.rejection().kind == Rejection::Kind::declined);
}

}  // namespace

TEST_CASE("the catalogue has every op", "[ops]") {
  std::set<Op> seen;
  for (const OpCase& one : catalogue()) seen.insert(one.op);
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    CAPTURE(op_row(op).name);
    CHECK((seen.count(op) == 1) == (op_row(op).op_class != OpClass::leaf));
  }
}

TEST_CASE("double and float are the rounded rational value on integers", "[ops]") {
  for_each_case([](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    if (leaves_the_rationals(one)) return check_declined<Rational>(one, graph, values);
    const Array<Rational> exact = over<Rational>(one, graph, values).value();
    const Array<double> d = over<double>(one, graph, values).value();
    const Array<float> f = over<float>(one, graph, values).value();
    REQUIRE(exact.shape == graph.nodes.back().shape);
    REQUIRE(exact.values.size() == element_count(exact.shape));
    REQUIRE(d.values.size() == exact.values.size());
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
      const Rational& e = exact.values[i];
      // All intermediate values are exact but for at most one quotient, so the result is a neighbour of the exact value.
      CHECK((d.values[i] == e.double_down() || d.values[i] == e.double_up()));
      if (e.is_double() && static_cast<double>(static_cast<float>(e.double_down())) == e.double_down()) {
        CHECK(f.values[i] == static_cast<float>(e.double_down()));
      } else {
        CHECK(std::fabs(static_cast<double>(f.values[i]) - d.values[i]) <= std::fabs(d.values[i]) * 0x1p-23);
      }
    }
  });
}

TEST_CASE("intervals contain the rational value and stay points where it is a double", "[ops]") {
  for_each_case([](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    if (leaves_the_rationals(one)) return;
    const Array<Rational> exact = over<Rational>(one, graph, values).value();
    const Array<Interval> narrow = over<Interval>(one, graph, values).value();
    const Array<WideInterval> wide = over<WideInterval>(one, graph, values).value();
    for (std::size_t i = 0; i < exact.values.size(); ++i) {
      const Rational& e = exact.values[i];
      CHECK(narrow.values[i].contains(e));
      CHECK(wide.values[i].contains(e));
      if ((one.op == Op::step || one.op == Op::max_weight) && e.sign() > 0 && e < Rational(1)) {  // at a tie: the Clarke set
        CHECK((narrow.values[i].lo() == 0 && narrow.values[i].hi() == 1));
        continue;
      }
      CHECK(narrow.values[i].lo() == e.double_down());  // sharp: a point, or the two neighbours of a quotient
      CHECK(narrow.values[i].hi() == e.double_up());
    }
  });
}

TEST_CASE("intervals contain the wide enclosure of irrational functions and are sharp", "[ops]") {
  for_each_case([](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    if (!leaves_the_rationals(one)) return;
    const Array<WideInterval> wide = over<WideInterval>(one, graph, values).value();
    const Array<Interval> narrow = over<Interval>(one, graph, values).value();
    const Array<double> d = over<double>(one, graph, values).value();
    for (std::size_t i = 0; i < wide.values.size(); ++i) {
      const Interval tight = wide.values[i].to_interval();
      REQUIRE_FALSE(tight.is_undefined());
      CHECK(narrow.values[i].contains(tight));
      CHECK(narrow.values[i].width_up() <= 64 * 0x1p-53 * (narrow.values[i].magnitude() + 1));  // a few roundings wide
      CHECK(std::fabs(d.values[i] - tight.midpoint()) <= 64 * 0x1p-53 * (tight.magnitude() + 1));
    }
  });
}

TEST_CASE("Modular is the residue of the rational value for algebraic ops and declines the others", "[ops]") {
  for_each_case([](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    if (!is_algebraic(one)) return check_declined<Modular>(one, graph, values);
    const Array<Rational> exact = over<Rational>(one, graph, values).value();
    const Array<Modular> residue = over<Modular>(one, graph, values).value();
    REQUIRE(residue.values.size() == exact.values.size());
    for (std::size_t i = 0; i < exact.values.size(); ++i) CHECK(residue.values[i] == Modular::from_rational(exact.values[i]));
  });
}

TEST_CASE("Symbolic reads off the matrix of every linear and layout op", "[ops]") {
  for_each_case([](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    const OpClass c = op_row(one.op).op_class;
    if ((c != OpClass::layout && c != OpClass::linear) || one.op == Op::batch_norm) return;
    std::vector<Array<Symbolic>> operands = arrays_of<Symbolic>(one, values);
    const std::size_t variables = operands[0].values.size();
    for (std::size_t j = 0; j < variables; ++j) operands[0].values[j] = Symbolic::variable(static_cast<std::uint32_t>(j));
    const Array<Symbolic> forms = denote_case(graph, operands).value();
    const Array<Rational> exact = over<Rational>(one, graph, values).value();
    for (std::size_t i = 0; i < forms.values.size(); ++i) {
      const Symbolic& form = forms.values[i];
      REQUIRE(form.is_linear());
      Interval sum = form.constant();
      for (const auto& [index, coefficient] : form.terms()) {
        REQUIRE(index < variables);
        sum += coefficient * Interval(static_cast<double>(values[0][index]));
      }
      CHECK(sum.contains(exact.values[i]));
      CHECK(sum.width_up() <= 16 * 0x1p-53 * (sum.magnitude() + 1));
    }
  });
}

TEST_CASE("batch_norm is linear in x with enclosed coefficients", "[ops]") {
  const OpCase one{"batch_norm", Op::batch_norm, {{1, 2, 2}, {2}, {2}, {2}, {2}}, BatchNormAttributes{0.25}};
  std::vector<Array<Symbolic>> operands = arrays_of<Symbolic>(one, {{0, 0, 0, 0}, {3, 5}, {1, 2}, {4, 6}, {2, 6}});
  for (std::size_t j = 0; j < 4; ++j) operands[0].values[j] = Symbolic::variable(static_cast<std::uint32_t>(j));
  const Array<Symbolic> forms = denote_case(graph_of(one), operands).value();
  for (std::size_t j = 0; j < 4; ++j) {
    REQUIRE(forms.values[j].terms().size() == 1);
    CHECK(forms.values[j].terms()[0].first == j);
    const Interval& slope = forms.values[j].terms()[0].second;
    // slope = 3 / sqrt(2.25) = 2 or 5 / sqrt(6.25) = 2
    CHECK(slope.contains(2.0));
    CHECK(slope.width_up() <= 0x1p-50);
    CHECK(forms.values[j].constant().contains(j < 2 ? 1 - 4 * 2.0 : 2 - 6 * 2.0));
  }
}

TEST_CASE("Dual values are the plain values, and tangents of quadratic ops are exact central differences", "[ops]") {
  std::mt19937_64 random(kSeed + 1);
  for_each_case([&random](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    if (leaves_the_rationals(one)) return check_declined<Dual<Rational>>(one, graph, values);
    std::vector<Array<Dual<Rational>>> operands = arrays_of<Dual<Rational>>(one, values);
    auto forth = values, back = values;
    for (std::size_t operand = 0; operand < values.size(); ++operand) {
      for (std::size_t i = 0; i < values[operand].size(); ++i) {
        const std::int64_t x_dot = draw(random, Draw::any);
        operands[operand].values[i] = Dual<Rational>(Rational(values[operand][i]), Rational(x_dot));
        forth[operand][i] += x_dot;
        back[operand][i] -= x_dot;
      }
    }
    const Array<Dual<Rational>> dual = denote_case(graph, operands).value();
    const Array<Rational> exact = over<Rational>(one, graph, values).value();
    for (std::size_t i = 0; i < exact.values.size(); ++i) CHECK(dual.values[i].value() == exact.values[i]);
    const OpClass c = op_row(one.op).op_class;
    // f(x + d) - f(x - d) = 2 J d for polynomials of degree <= 2
    if (one.op == Op::div || (c != OpClass::layout && c != OpClass::linear && c != OpClass::bilinear)) return;
    const Array<Rational> plus = over<Rational>(one, graph, forth).value(), minus = over<Rational>(one, graph, back).value();
    for (std::size_t i = 0; i < exact.values.size(); ++i)
      CHECK(dual.values[i].tangent() == (plus.values[i] - minus.values[i]) / Rational(2));
  });
}

TEST_CASE("Dual intervals contain the values of all ops", "[ops]") {
  for_each_case([](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    const Array<Dual<Interval>> dual = over<Dual<Interval>>(one, graph, values).value();
    const Array<Interval> plain = over<Interval>(one, graph, values).value();
    for (std::size_t i = 0; i < plain.values.size(); ++i) CHECK(dual.values[i].value() == plain.values[i]);
  });
}

TEST_CASE("the image of a box contains the image of its points, for every op", "[ops]") {
  std::mt19937_64 random(kSeed + 2);
  for_each_case([&random](const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values) {
    const std::vector<Array<Interval>> box = boxes_of(one, values, random);
    const Array<Interval> image = denote_case(graph, box).value();
    for (int sample = 0; sample < 6; ++sample) {
      std::vector<Array<WideInterval>> point = arrays_of<WideInterval>(one, values);
      for (std::size_t operand = 0; operand < box.size(); ++operand) {
        for (std::size_t i = 0; i < box[operand].values.size(); ++i) {
          const Interval& side = box[operand].values[i];
          const double t = sample < 2 ? sample : static_cast<double>(random() % 1025) / 1024;  // ends first; exact in double
          const double x = side.lo() + t * (side.hi() - side.lo());
          const bool is_whole = draw_of(one, operand) == Draw::whole || draw_of(one, operand) == Draw::truth;
          point[operand].values[i] = WideInterval(is_whole ? std::floor(x) : x);
        }
      }
      const Array<WideInterval> value = denote_case(graph, point).value();
      for (std::size_t i = 0; i < image.values.size(); ++i) {
        REQUIRE_FALSE(image.values[i].is_undefined());
        CHECK(WideInterval(image.values[i]).contains(value.values[i]));
      }
    }
  });
}
