// The shapes of elementwise functions, and their pieces.
//
// relu-like functions: linear between their break points.
// exp, softplus, cosh, even powers: convex. log, sqrt, acosh: concave.
// tanh, sigmoid, erf, atan, asinh, acos, softsign: convex left of 0, concave right of it (for softsign the second derivative is
//   -2 sign(x) / (1 + |x|)^3).
// sinh, tan (between its poles around 0), asin, atanh: concave left of 0, convex right of it.
// reciprocal: concave left of its pole, convex right of it. Powers x^r: by the sign of r (r - 1) and of x.
// elu, selu, celu: below 0 a multiple c exp(d x) plus a constant, curved by the sign of c d^2; above 0 linear.
// hard_swish: 0, then the parabola x (x + 3) / 6, then x.
// hard_sigmoid: linear but for its two bends, which need not be doubles: between the doubles around one its derivative is known.
// gelu, silu, mish, sin, cos: 16 pieces with the derivative's range on each.
// sign, step, thresholded_relu, shrink: linear between their jumps.
// floor, round, ceil, and cast to integers (ceil below 0, floor above it): constant up to the first jump h and from the last jump k on,
//   and between the two at most 1 apart: z - d <= f(z) <= z + 1 - d with d = 1, 1/2, 0. Ends are below 2^51, where halves are exact.

#include "semantics/functions/unary_function.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "semantics/demand.h"
#include "semantics/graph/family.h"
#include "semantics/interrupt.h"
#include "semantics/ops/denote.h"

namespace assay {
namespace {

constexpr double kLeast = 0x1p-1074;                   // the least double above 0
constexpr double kBelowHalfPi = 0x1.921fb54442d18p+0;  // pi/2 is larger

// One element of an op that works element by element, on any scalar that it has.
template <class S>
S element(const Node& node, const S& x, const S& otherwise) {
  poll(300);
  const Array<S> operand{{1}, {x}};
  const std::vector<const Array<S>*> operands(node.operands.size(), &operand);
  const Outcome<Array<S>> y = denote<S>(node, operands);
  return y.ok() ? y.value().values[0] : otherwise;
}

// Ops that on() and about() spell out, which is faster than to ask their denotation.
bool is_direct(Op op) {
  constexpr std::array kDirect{Op::exp, Op::log, Op::sqrt, Op::sigmoid, Op::tanh, Op::sin, Op::cos, Op::mul};
  return std::ranges::find(kDirect, op) != kDirect.end();
}

// About f(p) and f'(p) of a direct op, by the C library.
struct About {
  double value, derivative;
};
About about(Op op, double p) {
  if (op == Op::mul) return {p * p, 2 * p};
  if (op == Op::sqrt) return {std::sqrt(p), 0.5 / std::sqrt(p)};
  if (op == Op::log) return {std::log(p), 1 / p};
  if (op == Op::sin) return {std::sin(p), std::cos(p)};
  if (op == Op::cos) return {std::cos(p), -std::sin(p)};
  const double e = std::exp(op == Op::exp ? p : op == Op::tanh ? -2 * std::fabs(p) : -std::fabs(p)), bell = e / ((1 + e) * (1 + e));
  if (op == Op::exp) return {e, e};
  return op == Op::tanh ? About{std::tanh(p), 4 * bell} : About{(p < 0 ? e : 1) / (1 + e), bell};
}

}  // namespace

bool UnaryFunction::is_one(const Node& node) {
  return family_of(node.op) == Family::function || (node.op == Op::mul && node.operands[0] == node.operands[1]);
}

UnaryFunction::UnaryFunction(const Node& node) : node_(node) { describe(node); }

void UnaryFunction::describe(const Node& node) {
  using enum Curve;
  const double everywhere = INFINITY;
  switch (node.op) {
    case Op::relu:
    case Op::leaky_relu:
    case Op::abs:
      return set({{-everywhere, 0, linear}, {0, everywhere, linear}});
    case Op::clip: {
      const auto& a = std::get<ClipAttributes>(node.attributes);
      return set({{-everywhere, a.lo, linear}, {a.lo, a.hi, linear}, {a.hi, everywhere, linear}});
    }
    case Op::exp:
    case Op::softplus:
    case Op::cosh:
    case Op::mul:
      return set({{-everywhere, everywhere, convex}});
    case Op::log:
      return set({{kLeast, everywhere, concave}});
    case Op::sqrt:
      return set({{0, everywhere, concave}});
    case Op::acosh:
      return set({{1, everywhere, concave}});
    case Op::sigmoid:
    case Op::tanh:
    case Op::erf:
    case Op::atan:
    case Op::asinh:
    case Op::softsign:
      return set({{-everywhere, 0, convex}, {0, everywhere, concave}});
    case Op::acos:
      return set({{-1, 0, convex}, {0, 1, concave}});
    case Op::sinh:
      return set({{-everywhere, 0, concave}, {0, everywhere, convex}});
    case Op::tan:
      return set({{-kBelowHalfPi, 0, concave}, {0, kBelowHalfPi, convex}});
    case Op::asin:
    case Op::atanh:
      return set({{-1, 0, concave}, {0, 1, convex}});
    case Op::reciprocal:
      return set({{-everywhere, -kLeast, concave}, {kLeast, everywhere, convex}});
    case Op::pow:
      return set_power(std::get<PowAttributes>(node.attributes).exponent);
    case Op::elu:  // below 0: elu alpha exp(x), selu beta alpha exp(x), celu alpha exp(x / alpha), each less a constant
    case Op::selu:
    case Op::celu: {
      const auto& [alpha, beta] = std::get<ActivationAttributes>(node.attributes);
      const bool below_is_convex = (alpha > 0) == (node.op != Op::selu || beta > 0);
      return set({{-everywhere, 0, below_is_convex ? convex : concave}, {0, everywhere, linear}});
    }
    case Op::hard_sigmoid:
      return set_hard_sigmoid();
    case Op::hard_swish:
      return set({{-everywhere, -3, linear}, {-3, 3, convex}, {3, everywhere, linear}});
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::sin:
    case Op::cos:
      return set({{-everywhere, everywhere, by_derivative}});
    case Op::sign:
      return set({{-everywhere, 0, affine, true, 0, -1.0}, {0, everywhere, affine, false, 0, 1.0}});
    case Op::step:
      return set({{-everywhere, 0, affine, true, 0, 0.0}, {0, everywhere, affine, false, 0, 1.0}});
    case Op::thresholded_relu: {
      const double alpha = std::get<ActivationAttributes>(node.attributes).alpha;
      return set({{-everywhere, alpha, affine, true, 0, 0.0}, {alpha, everywhere, affine, false, 1, 0.0}});
    }
    case Op::shrink: {
      const auto& [alpha, beta] = std::get<ActivationAttributes>(node.attributes);
      return set({{-everywhere, -alpha, affine, true, 1, beta},
                  {-alpha, alpha, affine, true, 0, 0.0},
                  {alpha, everywhere, affine, false, 1, -beta}});
    }
    case Op::floor:
      steps_ = Steps::floor;
      return;
    case Op::ceil:
      steps_ = Steps::ceil;
      return;
    case Op::round:
      steps_ = Steps::round;
      return;
    case Op::cast:
      if (is_float(node.dtype)) set({{-everywhere, everywhere, linear}});
      if (is_integer(node.dtype)) steps_ = Steps::truncate;
      return;
    default:
      demand(false, "UnaryFunction: no function of one variable");
  }
}

void UnaryFunction::set(std::initializer_list<Segment> segments) {
  count_ = segments.size();
  std::ranges::copy(segments, segments_.begin());
}

void UnaryFunction::set_power(const Rational& r) {
  const Curve positive = r * (r - Rational(1)) > Rational(0) ? Curve::convex : Curve::concave;  // of x^r on x > 0
  if (!r.is_integer()) return set({{0, INFINITY, positive}});
  if (r == Rational(1) || r == Rational(0)) return set({{-INFINITY, INFINITY, Curve::linear}});
  const bool even = (r / Rational(2)).is_integer();
  const bool pole = r.sign() < 0;  // at 0
  set({{-INFINITY, pole ? -kLeast : 0, even ? positive : Curve::concave}, {pole ? kLeast : 0, INFINITY, positive}});
}

// The line alpha x + beta meets 0 and 1 in these points; constant outside.
void UnaryFunction::set_hard_sigmoid() {
  const auto& [alpha, beta] = std::get<ActivationAttributes>(node_.attributes);
  if (alpha == 0) return;
  const Rational slope = *Rational::from_double(alpha);
  const Rational meets_0 = -*Rational::from_double(beta) / slope, meets_1 = meets_0 + Rational(1) / slope;
  const Rational &first = alpha > 0 ? meets_0 : meets_1, &last = alpha > 0 ? meets_1 : meets_0;
  const double a = first.double_down(), b = first.double_up(), c = last.double_down(), d = last.double_up();
  if (!(std::isfinite(a) && b <= c && std::isfinite(d))) return;
  using enum Curve;
  set({{-INFINITY, a, linear}, {a, b, by_derivative}, {b, c, linear}, {c, d, by_derivative}, {d, INFINITY, linear}});
}

bool UnaryFunction::bends_at_zero_only() const {
  return count_ == 2 && segments_[0].to == 0 && segments_[0].curve == Curve::linear && segments_[1].curve == Curve::linear;
}

Dual<Interval> UnaryFunction::on(const Dual<Interval>& x) const {
  switch (node_.op) {
    case Op::leaky_relu: {
      const Interval slope(std::get<LeakyReluAttributes>(node_.attributes).slope);
      return max(x, Dual<Interval>(Interval(0.0))) + Dual<Interval>(slope) * min(x, Dual<Interval>(Interval(0.0)));
    }
    case Op::clip: {
      const auto& a = std::get<ClipAttributes>(node_.attributes);
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
    case Op::sin:
      return sin(x);
    case Op::cos:
      return cos(x);
    case Op::mul:
      return square(x);
    default:
      return element(node_, x, Dual<Interval>(Interval::whole()));
  }
}

bool UnaryFunction::has_exact_derivative() const { return is_direct(node_.op); }

double UnaryFunction::value(double p) const { return is_direct(node_.op) ? about(node_.op, p).value : element(node_, p, std::nan("")); }

double UnaryFunction::derivative(double p) const {
  if (is_direct(node_.op)) return about(node_.op, p).derivative;
  const double h = 0x1p-20 * (1 + std::fabs(p));
  const double left = value(p - h), right = value(p + h), middle = value(p);
  if (std::isfinite(left) && std::isfinite(right)) return (right - left) / (2 * h);
  return std::isfinite(right) ? (right - middle) / h : (middle - left) / h;  // at an end of the domain
}

std::vector<Piece> UnaryFunction::pieces(double l, double u) const {
  std::vector<Piece> pieces;
  if (steps_ == Steps::none) {
    add_pieces(segments(), l, u, pieces);
  } else if (std::max(-l, u) < 0x1p51) {
    if (steps_ != Steps::truncate) return add_steps(steps_, l, u, pieces), pieces;
    if (l < 0) add_steps(Steps::ceil, l, std::min(u, 0.0), pieces);
    if (u > 0 || l >= 0) add_steps(Steps::floor, std::max(l, 0.0), u, pieces);
  }
  return pieces;
}

// A jump belongs to the segments on both sides; of other ends the first segment is enough. Where a jump is an end of [l, u], its other side
// is a piece of one point, at which f has its own value instead of the limit. (Of one point the derivative is 0: b/2 + c/2 may round to another.)
void UnaryFunction::add_pieces(std::span<const Segment> segments, double l, double u, std::vector<Piece>& pieces) const {
  const std::size_t before = pieces.size();
  double from = l;
  for (const Segment& s : segments) {
    if (s.to < from || (s.to == from && from < u && !s.jumps)) continue;
    if (!(s.from <= from)) break;  // f has no value between this segment and the one before
    const double to = std::min(s.to, u);
    if (s.curve == Curve::by_derivative) {
      add_parts(from, to, pieces);
    } else if (s.curve == Curve::affine) {
      const Interval slope(s.slope), middle(from / 2 + to / 2);
      if (from == to && steps_ == Steps::none)
        pieces.push_back({from, to, Curve::by_derivative, on(Dual<Interval>(Interval(from))).value(), 0.0});
      else
        pieces.push_back({from, to, Curve::by_derivative, slope * middle + s.constant, slope});
    } else {
      pieces.push_back({from, to, s.curve, {}, {}});
    }
    if (s.to > u || (s.to == u && !s.jumps)) return;
    from = to;
  }
  pieces.resize(before);
}

// The boxes of a tree ask for the parts of few ranges, again and again: the last ones are kept, of functions without attributes, which are
// what their op is.
void UnaryFunction::add_parts(double l, double u, std::vector<Piece>& pieces) const {
  constexpr int kParts = 16;
  thread_local std::map<std::pair<std::pair<Op, DType>, std::pair<std::uint64_t, std::uint64_t>>, std::vector<Piece>> kept;
  if (kept.size() >= 256) kept.clear();
  std::vector<Piece>& parts = kept[{{node_.op, node_.dtype}, {std::bit_cast<std::uint64_t>(l), std::bit_cast<std::uint64_t>(u)}}];
  if (parts.empty() || !std::holds_alternative<NoAttributes>(node_.attributes)) {
    std::vector<Piece> found;
    double from = l;
    for (int k = 1; k <= kParts; ++k) {
      const double to = k == kParts ? u : l + (u - l) * (static_cast<double>(k) / kParts);
      if (!(to > from || l == u) || !(to <= u)) continue;
      const Interval at_middle = on(Dual<Interval>(Interval(from / 2 + to / 2))).value();
      const Interval slope = on(Dual<Interval>(Interval(from, to), Interval(1.0))).tangent();
      if (at_middle.is_undefined() || slope.is_undefined()) return;
      found.push_back({std::exchange(from, to), to, Curve::by_derivative, at_middle, slope});
    }
    parts = std::move(found);
  }
  pieces.insert(pieces.end(), parts.begin(), parts.end());
}

// d as in the head; the first and the last segment have the values at l and u.
void UnaryFunction::add_steps(Steps steps, double l, double u, std::vector<Piece>& pieces) const {
  const auto f = [&](double z) { return steps == Steps::floor ? std::floor(z) : steps == Steps::ceil ? std::ceil(z) : std::nearbyint(z); };
  const double d = steps == Steps::floor ? 1 : steps == Steps::ceil ? 0 : 0.5, first = f(l), last = f(u);
  const Segment same{-INFINITY, INFINITY, Curve::affine, false, 0, first};
  if (first == last) return add_pieces({&same, 1}, l, u, pieces);
  const Segment before{-INFINITY, first + d, Curve::affine, true, 0, first};
  const Segment between{first + d, last - (1 - d), Curve::affine, true, 1, Interval(-d, 1 - d)};
  const Segment after{last - (1 - d), INFINITY, Curve::affine, false, 0, last};
  add_pieces(std::array{before, between, after}, l, u, pieces);
}

}  // namespace assay
