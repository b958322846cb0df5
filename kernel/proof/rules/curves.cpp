// The shapes of elementwise functions.
//
// relu-like functions: linear between their break points.
// exp, softplus, cosh, even powers: convex. log, sqrt, acosh: concave.
// tanh, sigmoid, erf, atan, asinh, acos, softsign: convex left of 0, concave right of it (for softsign the second derivative is
//   -2 sign(x) / (1 + |x|)^3).
// sinh, tan (between its poles around 0), asin, atanh: concave left of 0, convex right of it.
// reciprocal: concave left of its pole, convex right of it. Powers x^r: by the sign of r (r - 1) and of x.
// elu, selu, celu: below 0 a multiple c exp(d x) plus a constant, curved by the sign of c d^2; above 0 linear.
// hard_swish: 0, then the parabola x (x + 3) / 6, then x.
// hard_sigmoid: one bend on either side of a point where the line alpha x + beta is strictly between 0 and 1.
// gelu, silu, mish, sin, cos: 16 pieces with the derivative's range on each.
// sign, step, thresholded_relu, shrink: linear between their jumps.
// floor, round, ceil, and cast to integers (ceil below 0, floor above it): constant up to the first jump h and from the last jump k on,
//   and between the two at most 1 apart: z - d <= f(z) <= z + 1 - d with d = 1, 1/2, 0. Ends are below 2^51, where halves are exact.

#include "kernel/proof/rules/curves.h"

#include <algorithm>
#include <cmath>

#include "semantics/interrupt.h"
#include "semantics/ops/denote.h"

namespace assay::kernel {
namespace {

// One element of an op that works element by element, on any scalar that it has.
template <class S>
S element(const Node& node, const S& x, const S& otherwise) {
  poll(300);
  const Array<S> operand{{1}, {x}};
  const std::vector<const Array<S>*> operands(node.operands.size(), &operand);
  const Outcome<Array<S>> y = denote<S>(node, operands);
  return y.ok() ? y.value().values[0] : otherwise;
}

using Pieces = std::vector<Piece>;

Pieces whole(double l, double u, Curve curve) { return {{l, u, curve, {}, {}}}; }

// Pieces of a piecewise linear function with the given break points.
Pieces linear_pieces(double l, double u, std::initializer_list<double> breaks) {
  Pieces pieces;
  double from = l;
  for (const double at : breaks) {
    if (!(at > from && at < u)) continue;
    pieces.push_back({from, at, Curve::linear, {}, {}});
    from = at;
  }
  pieces.push_back({from, u, Curve::linear, {}, {}});
  return pieces;
}

Pieces around(double at, double l, double u, Curve left, Curve right) {
  if (u <= at) return whole(l, u, left);
  if (l >= at) return whole(l, u, right);
  return {{l, at, left, {}, {}}, {at, u, right, {}, {}}};
}

Pieces power_pieces(const Rational& r, double l, double u) {
  const Curve positive = r * (r - Rational(1)) > Rational(0) ? Curve::convex : Curve::concave;  // of x^r on x > 0
  if (!r.is_integer()) return l >= 0 ? whole(l, u, positive) : Pieces{};
  const bool even = (r / Rational(2)).is_integer();
  if (r.sign() < 0 && l <= 0 && u >= 0) return {};  // a pole inside
  if (r == Rational(1) || r == Rational(0)) return whole(l, u, Curve::linear);
  return around(0, l, u, even ? positive : Curve::concave, positive);
}

// Below 0: elu alpha exp(x), selu beta alpha exp(x), celu alpha exp(x / alpha), each less a constant.
Pieces elu_pieces(const Node& node, double l, double u) {
  const auto& [alpha, beta] = std::get<ActivationAttributes>(node.attributes);
  const bool below_is_convex = (alpha > 0) == (node.op != Op::selu || beta > 0);
  return around(0, l, u, below_is_convex ? Curve::convex : Curve::concave, Curve::linear);
}

// The bend towards 0 is convex where the line rises to it, that towards 1 concave; the other way round on a falling line.
Pieces hard_sigmoid_pieces(const Node& node, double l, double u) {
  const auto& [alpha, beta] = std::get<ActivationAttributes>(node.attributes);
  const double middle = (0.5 - beta) / alpha;
  if (!std::isfinite(middle)) return {};
  const Rational line = *Rational::from_double(alpha) * *Rational::from_double(middle) + *Rational::from_double(beta);
  if (!(line > Rational(0) && line < Rational(1))) return {};
  return alpha > 0 ? around(middle, l, u, Curve::convex, Curve::concave) : around(middle, l, u, Curve::concave, Curve::convex);
}

Pieces hard_swish_pieces(double l, double u) {
  Pieces pieces = linear_pieces(l, u, {-3.0, 3.0});
  for (Piece& piece : pieces) {
    if (piece.b >= -3 && piece.c <= 3) piece.curve = Curve::convex;
  }
  return pieces;
}

Pieces pieces_by_derivative(const Node& node, double l, double u) {
  constexpr int kPieces = 16;
  Pieces pieces;
  double from = l;
  for (int k = 1; k <= kPieces; ++k) {
    const double to = k == kPieces ? u : l + (u - l) * (static_cast<double>(k) / kPieces);
    if (!(to > from || l == u) || !(to <= u)) continue;
    const Interval at_middle = function(node, Dual<Interval>(Interval(from / 2 + to / 2))).value();
    const Interval slope = function(node, Dual<Interval>(Interval(from, to), Interval(1.0))).tangent();
    if (at_middle.is_undefined() || slope.is_undefined()) return {};
    pieces.push_back({from, to, Curve::by_derivative, at_middle, slope});
    from = to;
  }
  return pieces;
}

// f(z) = slope z + constant up to `end`; there f may jump to the next one, by way of any value between the two.
struct Stretch {
  double end, slope;
  Interval constant;
};

Pieces stretches(double l, double u, std::initializer_list<Stretch> all) {
  Pieces pieces;
  double from = l;
  for (const Stretch& one : all) {
    if (one.end < l) continue;
    const double to = std::min(one.end, u);
    const Interval slope(one.slope), middle(from / 2 + to / 2);
    pieces.push_back({from, to, Curve::by_derivative, slope * middle + one.constant, slope});
    if (one.end > u) break;
    from = one.end;
  }
  return pieces;
}

// d as in the head; `first` and `last` are the values at l and u.
Pieces rounding_pieces(double l, double u, double d, double first, double last) {
  if (!(std::max(-l, u) < 0x1p51)) return {};
  if (first == last) return stretches(l, u, {{INFINITY, 0, first}});
  return stretches(l, u, {{first + d, 0, first}, {last - (1 - d), 1, Interval(-d, 1 - d)}, {INFINITY, 0, last}});
}

Pieces truncation_pieces(double l, double u) {
  if (l >= 0) return rounding_pieces(l, u, 1, std::floor(l), std::floor(u));
  if (u <= 0) return rounding_pieces(l, u, 0, std::ceil(l), std::ceil(u));
  Pieces pieces = truncation_pieces(l, 0);
  const Pieces right = truncation_pieces(0, u);
  if (pieces.empty() || right.empty()) return {};
  pieces.insert(pieces.end(), right.begin(), right.end());
  return pieces;
}

// Ops that function() spells out, which is faster than to ask their denotation.
bool is_direct(Op op) { return op == Op::exp || op == Op::log || op == Op::sqrt || op == Op::sigmoid || op == Op::tanh || op == Op::mul; }

}  // namespace

Dual<Interval> function(const Node& node, const Dual<Interval>& x) {
  switch (node.op) {
    case Op::leaky_relu: {
      const Interval slope(std::get<LeakyReluAttributes>(node.attributes).slope);
      return max(x, Dual<Interval>(Interval(0.0))) + Dual<Interval>(slope) * min(x, Dual<Interval>(Interval(0.0)));
    }
    case Op::clip: {
      const auto& a = std::get<ClipAttributes>(node.attributes);
      return min(max(x, Dual<Interval>(Interval(a.lo))), Dual<Interval>(Interval(a.hi)));
    }
    case Op::exp:
      return exp(x);
    case Op::log:
      return log(x);
    case Op::sqrt:
      return sqrt(x);
    case Op::sigmoid:
      return sigmoid(x);
    case Op::tanh:
      return tanh(x);
    case Op::mul:
      return square(x);  // only reached for mul(x, x)
    default:
      return element(node, x, Dual<Interval>(Interval::whole()));
  }
}

double value(const Node& node, double p) {
  return is_direct(node.op) ? function(node, Dual<Interval>(Interval(p))).value().midpoint() : element(node, p, std::nan(""));
}

double derivative(const Node& node, double p) {
  if (is_direct(node.op)) return function(node, Dual<Interval>(Interval(p), Interval(1.0))).tangent().midpoint();
  const double h = 0x1p-20 * (1 + std::fabs(p));
  const double left = value(node, p - h), right = value(node, p + h), middle = value(node, p);
  if (std::isfinite(left) && std::isfinite(right)) return (right - left) / (2 * h);
  return std::isfinite(right) ? (right - middle) / h : (middle - left) / h;  // at an end of the domain
}

Pieces pieces_of(const Node& node, double l, double u) {
  constexpr double kBelowHalfPi = 0x1.921fb54442d18p+0;  // pi/2 is larger
  switch (node.op) {
    case Op::leaky_relu:
    case Op::abs:
      return linear_pieces(l, u, {0.0});
    case Op::clip: {
      const auto& a = std::get<ClipAttributes>(node.attributes);
      return linear_pieces(l, u, {a.lo, a.hi});
    }
    case Op::exp:
    case Op::softplus:
    case Op::cosh:
    case Op::mul:
      return whole(l, u, Curve::convex);
    case Op::log:
      return l > 0 ? whole(l, u, Curve::concave) : Pieces{};
    case Op::sqrt:
      return l >= 0 ? whole(l, u, Curve::concave) : Pieces{};
    case Op::acosh:
      return l >= 1 ? whole(l, u, Curve::concave) : Pieces{};
    case Op::sigmoid:
    case Op::tanh:
    case Op::erf:
    case Op::atan:
    case Op::asinh:
    case Op::softsign:
      return around(0, l, u, Curve::convex, Curve::concave);
    case Op::acos:
      return l >= -1 && u <= 1 ? around(0, l, u, Curve::convex, Curve::concave) : Pieces{};
    case Op::sinh:
      return around(0, l, u, Curve::concave, Curve::convex);
    case Op::tan:
      return l >= -kBelowHalfPi && u <= kBelowHalfPi ? around(0, l, u, Curve::concave, Curve::convex) : Pieces{};
    case Op::asin:
    case Op::atanh:
      return l >= -1 && u <= 1 ? around(0, l, u, Curve::concave, Curve::convex) : Pieces{};
    case Op::reciprocal:
      return l > 0 ? whole(l, u, Curve::convex) : u < 0 ? whole(l, u, Curve::concave) : Pieces{};
    case Op::pow:
      return power_pieces(std::get<PowAttributes>(node.attributes).exponent, l, u);
    case Op::elu:
    case Op::selu:
    case Op::celu:
      return elu_pieces(node, l, u);
    case Op::hard_sigmoid:
      return hard_sigmoid_pieces(node, l, u);
    case Op::hard_swish:
      return hard_swish_pieces(l, u);
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::sin:
    case Op::cos:
      return pieces_by_derivative(node, l, u);
    case Op::sign:
      return stretches(l, u, {{0, 0, -1.0}, {INFINITY, 0, 1.0}});
    case Op::step:
      return stretches(l, u, {{0, 0, 0.0}, {INFINITY, 0, 1.0}});
    case Op::thresholded_relu:
      return stretches(l, u, {{std::get<ActivationAttributes>(node.attributes).alpha, 0, 0.0}, {INFINITY, 1, 0.0}});
    case Op::shrink: {
      const auto& [alpha, beta] = std::get<ActivationAttributes>(node.attributes);
      return stretches(l, u, {{-alpha, 1, beta}, {alpha, 0, 0.0}, {INFINITY, 1, -beta}});
    }
    case Op::floor:
      return rounding_pieces(l, u, 1, std::floor(l), std::floor(u));
    case Op::ceil:
      return rounding_pieces(l, u, 0, std::ceil(l), std::ceil(u));
    case Op::round:
      return rounding_pieces(l, u, 0.5, std::nearbyint(l), std::nearbyint(u));
    case Op::cast:
      return is_float(node.dtype) ? whole(l, u, Curve::linear) : is_integer(node.dtype) ? truncation_pieces(l, u) : Pieces{};
    default:
      return {};
  }
}

}  // namespace assay::kernel
