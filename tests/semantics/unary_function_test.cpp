// The record of functions of one variable: every op of the family has one, and what it says of each segment is so.
#include <cmath>
#include <random>

#include "semantics/functions/unary_function.h"
#include "semantics/graph/family.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"

namespace assay {
namespace {

// The alternative of this index, with its own defaults.
template <std::size_t I = 0>
Attributes attributes_of(std::size_t index) {
  if constexpr (I < std::variant_size_v<Attributes>)
    return I == index ? Attributes(std::in_place_index<I>) : attributes_of<I + 1>(index);
  else
    return NoAttributes{};
}

Node node_of(Op op, Attributes attributes) {
  Node node;
  node.op = op;
  node.operands = {0};
  node.attributes = std::move(attributes);
  node.dtype = DType::float64;
  node.shape = {1};
  return node;
}

// Every op of the family, with the attributes that change its shape.
std::vector<Node> nodes() {
  std::vector<Node> result;
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    if (family_of(op) == Family::function) result.push_back(node_of(op, attributes_of(op_row(op).attributes)));
  }
  for (const double slope : {-0.5, 3.0}) result.push_back(node_of(Op::leaky_relu, LeakyReluAttributes{slope}));
  result.push_back(node_of(Op::clip, ClipAttributes{-1, 2}));
  for (const Rational& r :
       {Rational(2), Rational(3), Rational(4), Rational(-1), Rational(-2), Rational(1, 2), Rational(3, 2), Rational(-1, 2)})
    result.push_back(node_of(Op::pow, PowAttributes{r}));
  for (const Op op : {Op::elu, Op::celu}) result.push_back(node_of(op, ActivationAttributes{-0.5, 0}));
  for (const double beta : {-2.0, 1.5}) result.push_back(node_of(Op::selu, ActivationAttributes{1.5, beta}));
  for (const double alpha : {0.2, -0.3}) result.push_back(node_of(Op::hard_sigmoid, ActivationAttributes{alpha, 0.25}));
  result.push_back(node_of(Op::shrink, ActivationAttributes{0.5, 0.25}));
  result.push_back(node_of(Op::thresholded_relu, ActivationAttributes{-2, 0}));
  Node square = node_of(Op::mul, NoAttributes{});
  square.operands = {0, 0};
  result.push_back(square);
  return result;
}

WideInterval value_at(const Node& node, double x) {
  const Array<WideInterval> operand{{1}, {WideInterval(x)}};
  const std::vector<const Array<WideInterval>*> operands(node.operands.size(), &operand);
  const auto y = denote<WideInterval>(node, operands);
  REQUIRE(y.ok());
  return y.value().values[0];
}

}  // namespace

TEST_CASE("every op of the family of functions has a record, and its segments are in order", "[functions]") {
  for (const Node& node : nodes()) {
    INFO(op_row(node.op).name);
    CHECK(UnaryFunction::is_one(node));
    const UnaryFunction f(node);
    const bool steps = node.op == Op::floor || node.op == Op::ceil || node.op == Op::round || node.op == Op::cast;
    const double from = node.op == Op::acosh ? 1.25 : 0.25;
    CHECK((steps || !f.segments().empty()));
    CHECK(!f.pieces(from, from + 0.5).empty());
    double end = -INFINITY;
    for (const Segment& s : f.segments()) {
      CHECK(s.from <= s.to);
      CHECK(s.from >= end);
      end = s.to;
    }
    const bool bends = node.op == Op::relu || node.op == Op::leaky_relu || node.op == Op::abs;
    CHECK(f.bends_at_zero_only() == bends);
  }
}

TEST_CASE("functions are convex, concave, linear and affine where their records say so", "[functions]") {
  std::mt19937_64 random(5);
  const auto unit = [&] { return static_cast<double>(random() >> 11) * 0x1p-53; };
  std::size_t decided = 0;
  for (const Node& node : nodes()) {
    const UnaryFunction f(node);
    for (const Segment& s : f.segments()) {
      const double least = std::max(s.from, -6.0), most = std::min(s.to, 6.0);
      if (s.curve == Curve::by_derivative || !(least < most)) continue;
      for (int trial = 0; trial < 60; ++trial) {
        const double a = least + unit() * (most - least), c = a + unit() * (most - a), b = a / 2 + c / 2;
        if (!(least < a && a < b && b < c && c < most)) continue;
        INFO(op_row(node.op).name << " at " << a << ", " << b << ", " << c);
        const WideInterval fa = value_at(node, a), fb = value_at(node, b), fc = value_at(node, c);
        // b is the middle of a and c but for its rounding, which the weights take up.
        const WideInterval share = (WideInterval(c) - WideInterval(b)) / (WideInterval(c) - WideInterval(a));
        const WideInterval chord = share * fa + (WideInterval(1.0) - share) * fc;
        if (s.curve == Curve::convex) CHECK_FALSE(certainly_less(chord, fb));
        if (s.curve == Curve::concave) CHECK_FALSE(certainly_less(fb, chord));
        if (s.curve == Curve::linear) CHECK_FALSE((certainly_less(chord, fb) || certainly_less(fb, chord)));
        if (s.curve == Curve::affine) {
          const WideInterval line = WideInterval(s.slope) * WideInterval(b) + WideInterval(s.constant.lo());
          CHECK_FALSE((certainly_less(line, fb) || certainly_less(fb, line)));
        }
        ++decided;
      }
    }
  }
  CHECK(decided > 2000);
}

TEST_CASE("values and derivatives in ordinary arithmetic are near the denotation's", "[functions]") {
  constexpr double kNear = 0x1p-50;  // of the size
  const std::vector<double> points{0x1p-1022, 0x1p-60, 0.001, 0.25, 1, 1.5, 3, 17.25, 36.5, 40, 700};
  std::size_t compared = 0;
  for (const Node& node : nodes()) {
    const UnaryFunction f(node);
    if (!f.has_exact_derivative()) continue;
    for (const double size : points) {
      for (const double p : {size, -size}) {
        if (p < f.segments().front().from) continue;
        const Dual<Interval> exact = f.on(Dual<Interval>(Interval(p), Interval(1.0)));
        INFO(op_row(node.op).name << " at " << p);
        const auto is_near = [&](const Interval& wanted, double found) {
          return std::fabs(found - wanted.midpoint()) <= wanted.width_up() + kNear * wanted.magnitude() + 0x1p-1060;
        };
        CHECK(is_near(exact.value(), f.value(p)));
        CHECK(is_near(exact.tangent(), f.derivative(p)));
        ++compared;
      }
    }
  }
  CHECK(compared >= 6 * points.size());
}

TEST_CASE("pieces cover their interval without a gap, or there are none", "[functions]") {
  const std::vector<double> ends{-7, -3, -2, -1, -0.5, -0x1p-1074, 0, 0x1p-1074, 0.25, 1, 2, 3, 5, 0x1p52};
  for (const Node& node : nodes()) {
    const UnaryFunction f(node);
    for (const double l : ends) {
      for (const double u : ends) {
        if (!(l <= u)) continue;
        const std::vector<Piece> pieces = f.pieces(l, u);
        if (pieces.empty()) continue;
        INFO(op_row(node.op).name << " over " << l << ", " << u);
        CHECK(pieces.front().b == l);
        CHECK(pieces.back().c == u);
        for (std::size_t k = 1; k < pieces.size(); ++k) CHECK(pieces[k].b == pieces[k - 1].c);
      }
    }
  }
  const Node logarithm = node_of(Op::log, NoAttributes{}), inverse = node_of(Op::reciprocal, NoAttributes{}),
             floor = node_of(Op::floor, NoAttributes{});
  CHECK(UnaryFunction(logarithm).pieces(0, 1).empty());
  CHECK(UnaryFunction(inverse).pieces(-1, 1).empty());
  CHECK(UnaryFunction(inverse).pieces(0, 1).empty());
  CHECK(UnaryFunction(floor).pieces(0, 0x1p51).empty());
}

// So a split at a jump tells its two sides apart: neither half has to reach the other side's limit.
TEST_CASE("at a jump that ends an interval a piece of one point has the function's value there", "[functions]") {
  const Node sign = node_of(Op::sign, NoAttributes{}), above = node_of(Op::thresholded_relu, ActivationAttributes{1, 0}),
             shrink = node_of(Op::shrink, ActivationAttributes{1, 0.25});
  struct {
    const Node* node;
    double l, u, jump, value;
  } const rows[] = {{&sign, 0, 2, 0, 0},   {&sign, -2, 0, 0, 0},     {&above, 1, 2, 1, 0}, {&above, -2, 1, 1, 0},
                    {&shrink, 1, 2, 1, 0}, {&shrink, -2, -1, -1, 0}, {&sign, 0, 0, 0, 0}};
  for (const auto& row : rows) {
    INFO(op_row(row.node->op).name << " over " << row.l << ", " << row.u);
    std::size_t points = 0;
    for (const Piece& piece : UnaryFunction(*row.node).pieces(row.l, row.u)) {
      if (piece.b != piece.c) continue;
      ++points;
      CHECK(piece.b == row.jump);
      CHECK(piece.at_middle.lo() == row.value);
      CHECK(piece.at_middle.hi() == row.value);
    }
    CHECK(points > 0);
  }
}

TEST_CASE("hard_sigmoid is linear but for a double's width at each of its bends", "[functions]") {
  for (const double alpha : {0.2, -0.3, 0x1p-2}) {
    const Node node = node_of(Op::hard_sigmoid, ActivationAttributes{alpha, 0.25});
    double width = 0;
    for (const Piece& piece : UnaryFunction(node).pieces(-6, 6)) {
      if (piece.curve != Curve::linear) width += piece.c - piece.b;
    }
    CHECK(width <= 0x1p-49);
  }
}

}  // namespace assay
