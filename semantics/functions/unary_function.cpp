// The shapes of elementwise functions, and their pieces. The segments are defined beside the formulas (segments_of in
// semantics/ops). Pieces of segments:
// - linear, convex, concave, affine: the part of the segment in [l, u].
// - by_derivative: 16 pieces with the derivative's range on each.
// - floor, round, ceil, and cast to integers (ceil below 0, floor above it): constant up to the first jump h and from
//   the last jump k on. Between the two they are at most 1 apart: z - d <= f(z) <= z + 1 - d with d = 1, 1/2, 0. Ends
//   are below 2^51, where halves are exact.

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
#include "semantics/ops/activation.h"
#include "semantics/ops/arithmetic.h"
#include "semantics/ops/choice.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/piecewise.h"
#include "semantics/ops/rounding.h"
#include "semantics/ops/selector.h"
#include "semantics/ops/transcendental.h"

namespace assay {
namespace {

using Staircase = Segments::Staircase;

// One element of an elementwise op, on any scalar that has it.
template <class S>
S element(const Node& node, const S& x, const S& otherwise) {
  poll(300);
  const Array<S> operand{{1}, {x}};
  const std::vector<const Array<S>*> operands(node.operands.size(), &operand);
  const Outcome<Array<S>> y = denote<S>(node, operands);
  return y.ok() ? y.value().values[0] : otherwise;
}

// Ops that on() and about() compute directly, which is faster than by their denotation.
bool is_direct(Op op) {
  constexpr std::array kDirect{Op::exp, Op::log, Op::sqrt, Op::sigmoid, Op::tanh, Op::sin, Op::cos, Op::mul};
  return std::ranges::find(kDirect, op) != kDirect.end();
}

// Approximate f(p) and f'(p) of a direct op, by the C library.
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

// By the op's family, which defines its segments.
Segments segments_of(const Node& node) {
  switch (kind_of(node.op)) {
    case OpKind::arithmetic:
      return ops::arithmetic::segments_of(node.op);
    case OpKind::piecewise:
      return ops::piecewise::segments_of(node);
    case OpKind::step:
      return ops::selector::segments_of_step();
    case OpKind::function:
    case OpKind::power:
      return ops::transcendental::segments_of(node);
    case OpKind::rounding:
      return ops::rounding::segments_of(node.op);
    case OpKind::activation:
      return ops::activation::segments_of(node);
    case OpKind::cast:
      return ops::choice::segments_of_cast(node);
    default:
      demand(false, "UnaryFunction: no function of one variable");
      return {};
  }
}

}  // namespace

bool UnaryFunction::is_one(const Node& node) {
  return family_of(node.op) == Family::function || (node.op == Op::mul && node.operands[0] == node.operands[1]);
}

UnaryFunction::UnaryFunction(const Node& node) : node_(node), segments_(segments_of(node)) {}

bool UnaryFunction::bends_at_zero_only() const {
  const auto list = segments();
  return list.size() == 2 && list[0].to == 0 && list[0].curve == Curve::linear && list[1].curve == Curve::linear;
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
  const Staircase steps = segments_.steps();
  if (steps == Staircase::none) {
    add_pieces(segments(), l, u, pieces);
  } else if (std::max(-l, u) < 0x1p51) {
    if (steps != Staircase::truncate) return add_steps(steps, l, u, pieces), pieces;
    if (l < 0) add_steps(Staircase::ceil, l, std::min(u, 0.0), pieces);
    if (u > 0 || l >= 0) add_steps(Staircase::floor, std::max(l, 0.0), u, pieces);
  }
  return pieces;
}

// A jump belongs to the segments on both sides; at other ends the first segment suffices. If a jump is an end of
// [l, u], its other side is a piece of one point, at which f has its own value instead of the limit. (For one point the
// derivative is 0, because b/2 + c/2 may round to another number.)
void UnaryFunction::add_pieces(std::span<const Segment> segments, double l, double u, std::vector<Piece>& pieces) const {
  const std::size_t before = pieces.size();
  double from = l;
  for (const Segment& s : segments) {
    if (s.to < from || (s.to == from && from < u && !s.jumps)) continue;
    if (!(s.from <= from)) break;  // f has no value between this segment and the previous one
    const double to = std::min(s.to, u);
    if (s.curve == Curve::by_derivative) {
      add_parts(from, to, pieces);
    } else if (s.curve == Curve::affine) {
      const Interval slope(s.slope), middle(from / 2 + to / 2);
      if (from == to && segments_.steps() == Staircase::none)
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

// The boxes of a search tree need the parts of few ranges repeatedly. So the last ones are kept, for functions without
// attributes, which the op alone determines.
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

// d is as in the head; the first and the last segment have the values at l and u.
void UnaryFunction::add_steps(Staircase steps, double l, double u, std::vector<Piece>& pieces) const {
  const auto f = [&](double z) {
    return steps == Staircase::floor ? std::floor(z) : steps == Staircase::ceil ? std::ceil(z) : std::nearbyint(z);
  };
  const double d = steps == Staircase::floor ? 1 : steps == Staircase::ceil ? 0 : 0.5, first = f(l), last = f(u);
  const Segment same{-INFINITY, INFINITY, Curve::affine, false, 0, first};
  if (first == last) return add_pieces({&same, 1}, l, u, pieces);
  const Segment before{-INFINITY, first + d, Curve::affine, true, 0, first};
  const Segment between{first + d, last - (1 - d), Curve::affine, true, 1, Interval(-d, 1 - d)};
  const Segment after{last - (1 - d), INFINITY, Curve::affine, false, 0, last};
  add_pieces(std::array{before, between, after}, l, u, pieces);
}

}  // namespace assay
