// Elementwise ops, one at a time: points give enclosures of a few ulp, boxes give the range and little more.
#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/ops/functions.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

// Step is a set at 0, not a number.
std::vector<FunctionCase> numbers() {
  std::vector<FunctionCase> all = functions();
  std::erase_if(all, [](const FunctionCase& one) { return one.op == Op::step; });
  return all;
}

Node node_of(const FunctionCase& one) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1}, "x");
  return graph.node(graph.append(one.op, {x}, one.attributes, one.name).value());
}

template <class S>
S at(const Node& node, const S& x) {
  const Array<S> operand{{1}, {x}};
  const Array<S>* operands[] = {&operand};
  return denote<S>(node, operands).value().values[0];
}

double ulps(const Interval& x) {
  double steps = 0;
  for (double from = x.lo(); from < x.hi() && steps < 1000; ++steps) from = std::nextafter(from, HUGE_VAL);
  return steps;
}

}  // namespace

TEST_CASE("elementwise ops: a point gives at most 4 ulp, and the formula in double arithmetic lies near", "[ops][sharpness]") {
  std::mt19937_64 random(7);
  for (const FunctionCase& one : numbers()) {
    const Node node = node_of(one);
    for (int i = 0; i < 60; ++i) {
      const double t = static_cast<double>(random() % 100001) / 100000;
      const double scale = i % 3 == 0 ? 0x1p-30 : 1;  // small arguments too
      const double x = std::clamp(scale * (one.least + t * (one.most - one.least)), one.least, one.most);
      CAPTURE(one.name, x);
      const Interval narrow = at<Interval>(node, x);
      const WideInterval wide = at<WideInterval>(node, x);
      REQUIRE_FALSE(narrow.is_undefined());
      CHECK(ulps(narrow) <= 4);
      CHECK(WideInterval(narrow).contains(wide));
      const double d = at<double>(node, x);  // the formula in double arithmetic
      CHECK(std::fabs(d - narrow.midpoint()) <= 1e-13 * std::max({std::fabs(x), std::fabs(d), 1e-9}));
    }
  }
}

TEST_CASE("elementwise ops: the image of a box is the sampled range, up to the sampling", "[ops][sharpness]") {
  std::mt19937_64 random(8);
  constexpr int kSamples = 200;
  for (const FunctionCase& one : numbers()) {
    const Node node = node_of(one);
    for (int i = 0; i < 6; ++i) {
      const double spread = i % 2 == 0 ? 1 : 0.06;  // around 0, where minima and kinks are
      const double a = static_cast<double>(random() % 1001) / 1000, b = static_cast<double>(random() % 1001) / 1000;
      const auto place = [&](double t) { return std::clamp(spread * (one.least + t * (one.most - one.least)), one.least, one.most); };
      const double lo = place(std::min(a, b)), hi = place(std::max(a, b));
      CAPTURE(one.name, lo, hi);
      const Interval image = at<Interval>(node, Interval(lo, hi));
      REQUIRE_FALSE(image.is_undefined());
      double least = HUGE_VAL, most = -HUGE_VAL, step = 0, before = 0;
      for (int k = 0; k <= kSamples; ++k) {
        const double x = k == kSamples ? hi : lo + (hi - lo) * k / kSamples;
        const Interval y = at<Interval>(node, x);
        CHECK(image.lo() <= y.lo());
        CHECK(image.hi() >= y.hi());
        least = std::min(least, y.hi());
        most = std::max(most, y.lo());
        if (k > 0) step = std::max(step, std::fabs(y.midpoint() - before));
        before = y.midpoint();
      }
      // Between two samples a function that is monotone but for its break points moves by at most one step.
      const double rounding = 0x1p-50 * std::max(std::fabs(least), std::fabs(most)) + 1e-300;
      CHECK(image.lo() >= least - step - rounding);
      CHECK(image.hi() <= most + step + rounding);
    }
  }
}

TEST_CASE("gelu, silu, mish: the minimum is found, and boxes that touch it know it", "[ops][sharpness]") {
  struct Valley {
    Op op;
    Attributes attributes;
    double at, value;  // from the literature, to ten digits
  };
  for (const Valley& one : {Valley{Op::silu, ActivationAttributes{1, 0}, -1.2784645428, -0.2784645428},
                            Valley{Op::gelu, GeluAttributes{false}, -0.7517915247, -0.1699712075},
                            Valley{Op::mish, NoAttributes{}, -1.1924364644, -0.3088434130}}) {
    const Node node = node_of({"valley", one.op, one.attributes});
    const Interval image = at<Interval>(node, Interval(one.at - 1, one.at + 1));
    CHECK(std::fabs(image.lo() - one.value) < 2e-9);
    CHECK(at<Interval>(node, Interval(-1e300, 1e300)).lo() == image.lo());
    CHECK(at<Interval>(node, Interval(-1e300, one.at - 1e-9)).lo() >= image.lo());
    CHECK(at<Interval>(node, Interval(one.at + 1, 3)).lo() > image.lo() + 1e-3);
    CHECK(at<Interval>(node, Interval(-30, -20)).lo() > -1e-7);
    CHECK(at<Interval>(node, Interval(-30, -20)).hi() < 0);
  }
}

TEST_CASE("unbounded boxes keep what is known", "[ops][sharpness]") {
  const double infinity = HUGE_VAL;
  const auto image = [](Op op, const Attributes& attributes, double lo, double hi) {
    return at<Interval>(node_of({"unbounded", op, attributes}), Interval(lo, hi));
  };
  CHECK(image(Op::softsign, NoAttributes{}, -infinity, infinity) == Interval(-1, 1));
  CHECK(image(Op::erf, NoAttributes{}, 0, infinity) == Interval(0, 1));
  CHECK(image(Op::softplus, NoAttributes{}, -infinity, 0).lo() == 0);
  CHECK(image(Op::elu, ActivationAttributes{2, 0}, -infinity, 1) == Interval(-2, 1));
  CHECK(image(Op::hard_swish, NoAttributes{}, -infinity, infinity) == Interval(-0.375, infinity));
  CHECK(image(Op::cosh, NoAttributes{}, -infinity, infinity) == Interval(1, infinity));
  CHECK(image(Op::silu, ActivationAttributes{1, 0}, 0, infinity) == Interval(0, infinity));
}

TEST_CASE("outside the domain there is no value", "[ops][sharpness]") {
  const auto undefined = [](Op op, double lo, double hi) { return at<Interval>(node_of({"domain", op}), Interval(lo, hi)).is_undefined(); };
  CHECK(undefined(Op::asin, 0, std::nextafter(1.0, 2.0)));
  CHECK(undefined(Op::acos, std::nextafter(-1.0, -2.0), 0));
  CHECK(undefined(Op::acosh, std::nextafter(1.0, 0.0), 2));
  CHECK(undefined(Op::atanh, 0, 1));
  CHECK(undefined(Op::atanh, -1, 0));
  CHECK(undefined(Op::tan, 1.5, 1.6));
  CHECK_FALSE(undefined(Op::tan, 1.5707963267948965, 1.5707963267948966));
  CHECK(undefined(Op::tan, 1.5707963267948966, 1.5707963267948968));
  CHECK(undefined(Op::tan, -1, 3));
  CHECK(undefined(Op::reciprocal, -1, 0));
}

TEST_CASE("rounding at ties, over every scalar", "[ops]") {
  const std::vector<std::pair<double, double>> ties = {{0.5, 0},
                                                       {1.5, 2},
                                                       {2.5, 2},
                                                       {-0.5, 0},
                                                       {-1.5, -2},
                                                       {-2.5, -2},
                                                       {0.49999999999999994, 0},
                                                       {4503599627370495.5, 4503599627370496.0},
                                                       {1e300, 1e300},
                                                       {2.25, 2},
                                                       {-2.75, -3}};
  const Node node = node_of({"round", Op::round});
  for (const auto& [x, nearest] : ties) {
    CAPTURE(x);
    CHECK(at<double>(node, x) == nearest);
    CHECK(at<Interval>(node, x) == Interval(nearest));
    CHECK(at<WideInterval>(node, x) == WideInterval(nearest));
    CHECK(at<Rational>(node, *Rational::from_double(x)) == *Rational::from_double(nearest));
  }
  CHECK(at<float>(node, 2.5F) == 2.0F);
  CHECK(at<Interval>(node, Interval(0.5, 1.5)) == Interval(0, 2));
  CHECK(at<Interval>(node_of({"ceil", Op::ceil}), Interval(0.5, 1.5)) == Interval(1, 2));
}

TEST_CASE("mod: signs, boxes inside one period, across a jump, and over many", "[ops]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1}, "x"), y = graph.append_input(DType::float64, {1}, "y");
  const Node floored = graph.node(graph.append(Op::mod, {x, y}, ModAttributes{false}).value());
  const Node truncated = graph.node(graph.append(Op::mod, {x, y}, ModAttributes{true}).value());
  const auto rest = [](const Node& node, const Interval& a, const Interval& b) {
    const Array<Interval> first{{1}, {a}}, second{{1}, {b}};
    const Array<Interval>* operands[] = {&first, &second};
    return denote<Interval>(node, operands).value().values[0];
  };
  CHECK(rest(floored, 5.3, 2.0) == Interval(5.3) - Interval(4.0));
  CHECK(rest(floored, -5.0, 3.0) == Interval(1.0));
  CHECK(rest(floored, 5.0, -3.0) == Interval(-1.0));
  CHECK(rest(truncated, -5.0, 3.0) == Interval(-2.0));
  CHECK(rest(truncated, 5.0, -3.0) == Interval(2.0));
  CHECK(rest(floored, Interval(4.5, 5.5), 2.0) == Interval(0.5, 1.5));
  CHECK(rest(floored, Interval(3.5, 4.5), 2.0) == Interval(0, 2));
  CHECK(rest(floored, Interval(3.5, 4.5), -2.0) == Interval(-2, 0));
  CHECK(rest(truncated, Interval(-1, 100), 7.0) == Interval(-1, 7));
  CHECK(rest(truncated, Interval(-100, -1), 7.0) == Interval(-7, 0));
  CHECK(rest(truncated, 1.0, Interval(-1, 1)).is_undefined());
}
TEST_CASE("a node times itself is its square over sets, times another node of the same range it is not", "[ops][sharpness]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1}, "x"), other = graph.append_input(DType::float64, {1}, "other");
  const Array<Interval> range{{1}, {Interval(-1, 2)}};
  const std::vector<const Array<Interval>*> operands{&range, &range};
  const Node square = graph.node(graph.append(Op::mul, {x, x}).value()), product = graph.node(graph.append(Op::mul, {x, other}).value());
  const Interval squared = denote<Interval>(square, operands).value().values[0],
                 multiplied = denote<Interval>(product, operands).value().values[0];
  CHECK(squared.lo() == 0);
  CHECK(squared.hi() == 4);
  CHECK(multiplied.lo() == -2);
  CHECK(multiplied.hi() == 4);
}
