// Rule composed_plane: ops that are short formulas in products and functions of one variable.
//
//   div               x (1 / y)
//   prelu             x + (y - 1) min(x, 0)
//   power             exp(y log x), or x^y where the exponent is one number
//   mod               x - q y with any number q between those that floor(x / y) (truncated: x / y rounded to 0) can be
//   local_response    x_i (bias + alpha/size sum of x_c^2)^-beta
//   reduce_prod, cumprod   x_1 x_2 ... x_n, from the left
//   batch_norm        (x - mean) (scale (var + epsilon)^(-1/2)) + bias
//
// Every step v of a formula has its range and, over the elements that it depends on, forms with below(v) <= v <= above(v) on the
// whole box. For real numbers a, b:
//   a v     >= a below(v) for a >= 0, a above(v) for a < 0
//   v w     >= a v + b w + t     any a, b; t from the corners of the two ranges, as in product_plane
//   f(v)    >= a v + t           any a; t from v's range, as in unary_line
// and dually above. So the result is bounded by forms over the operands' elements.
// Reason: each line is the rule that it names, on a range that contains v; sums of inequalities.
// Hint m in [0, 1]: the McCormick mix of every product. Policy: 1/2, and unary_line's own slopes.
// Floats only: between integers div rounds.
// Rounding: coefficients are real numbers in intervals; see settle in real_form.h.
// Source: McCormick 1976, composition of relaxations; the formulas are those of semantics/ops.

#include <algorithm>
#include <cmath>

#include "kernel/proof/rules/curves.h"
#include "kernel/proof/rules/real_form.h"
#include "semantics/ops/element_lists.h"
#include "semantics/ops/indexing.h"

namespace assay::kernel {
namespace {

struct Step {
  Interval range;
  RealForm below, above;
};

class Formula {
 public:
  // The mixes of the planes below and above.
  Formula(std::span<const Interval> x, double mix_below, double mix_above) : x_(x), mix_below_(mix_below), mix_above_(mix_above) {}

  [[nodiscard]] std::size_t size() const { return x_.size(); }
  [[nodiscard]] const Interval& range(std::size_t k) const { return x_[k]; }
  [[nodiscard]] Step constant(const Interval& c) const {
    const RealForm form{std::vector<Interval>(x_.size()), c};
    return {c, form, form};
  }
  [[nodiscard]] Step element(std::size_t k) const {
    Step v = constant(Interval(0.0));
    v.range = x_[k];
    v.below.slope[k] = v.above.slope[k] = Interval(1.0);
    return v;
  }
  // v + factor w, the factor of one sign or w an element; at every point some number in the interval.
  [[nodiscard]] Step sum(Step v, const Interval& factor, const Step& w) const {
    v.range += factor * w.range;
    add(factor, w, true, v.below);
    add(factor, w, false, v.above);
    return v;
  }
  [[nodiscard]] Step product(const Step& v, const Step& w) const {
    Step y = constant(v.range * w.range);
    for (const bool lower : {true, false}) {
      const Corners plane = mccormick(v.range, w.range, lower ? mix_below_ : mix_above_, lower);
      RealForm& form = lower ? y.below : y.above;
      form.constant = Interval(plane.t);
      add(Interval(plane.a), v, lower, form);
      add(Interval(plane.b), w, lower, form);
    }
    return y;
  }
  // f(v) for an op of one operand.
  [[nodiscard]] Step apply(Op op, const Attributes& attributes, const Step& v) const {
    Node f;
    f.op = op;
    f.operands = {0};
    f.attributes = attributes;
    Step y = constant(function(f, Dual<Interval>(v.range)).value());
    y.below.constant = Interval(y.range.lo());
    y.above.constant = Interval(y.range.hi());
    if (!std::isfinite(v.range.lo()) || !std::isfinite(v.range.hi())) return y;
    const std::vector<Piece> pieces = pieces_of(f, v.range.lo(), v.range.hi());
    for (const bool lower : {true, false}) {
      const UnaryLine line = line_over(f, pieces, lower);
      if (!std::isfinite(line.t)) continue;
      RealForm& form = lower ? y.below : y.above;
      form.constant = Interval(line.t);
      add(Interval(line.slope), v, lower, form);
    }
    return y;
  }
  [[nodiscard]] Step power(const Step& v, const Rational& exponent) const { return apply(Op::pow, PowAttributes{exponent}, v); }

 private:
  // form += factor v, bounded from below (above).
  static void add(const Interval& factor, const Step& v, bool lower, RealForm& form) {
    form.add(factor, (factor.lo() >= 0) == lower ? v.below : v.above);
  }
  std::span<const Interval> x_;
  double mix_below_, mix_above_;
};

Step remainder(const Formula& f, bool truncated) {
  const Interval exact = f.range(0) / f.range(1);
  const auto integer = [&](double q) { return truncated ? std::trunc(q) : std::floor(q); };
  const Interval q(integer(exact.lo()), integer(exact.hi()));
  return f.sum(f.element(0), -q, f.element(1));
}

Step general_power(const Formula& f) {
  if (f.range(1).is_point()) return f.power(f.element(0), Rational::from_double(f.range(1).lo()).value_or(Rational()));
  return f.apply(Op::exp, NoAttributes{}, f.product(f.element(1), f.apply(Op::log, NoAttributes{}, f.element(0))));
}

// `own` is the position of x_i.
Step response(const Formula& f, const LocalResponseAttributes& attributes, std::size_t own) {
  const Interval factor = Interval(attributes.alpha) / Interval(static_cast<double>(attributes.size));
  Step base = f.constant(Interval(attributes.bias));
  for (std::size_t k = 0; k < f.size(); ++k) base = f.sum(std::move(base), factor, f.apply(Op::mul, NoAttributes{}, f.element(k)));
  return f.product(f.element(own), f.power(base, -Rational::from_double(attributes.beta).value_or(Rational())));
}

Step product_of_all(const Formula& f) {
  Step y = f.constant(Interval(1.0));
  for (std::size_t k = 0; k < f.size(); ++k) y = k == 0 ? f.element(0) : f.product(y, f.element(k));
  return y;
}

// Elements x, scale, bias, mean, var.
Step normalised(const Formula& f, double epsilon) {
  const Step variance = f.sum(f.element(4), Interval(1.0), f.constant(Interval(epsilon)));
  const Step factor = f.product(f.element(1), f.power(variance, Rational(-1, 2)));
  return f.sum(f.product(f.sum(f.element(0), Interval(-1.0), f.element(3)), factor), Interval(1.0), f.element(2));
}

Step formula_of(const Node& node, const Formula& f, std::size_t own) {
  const Interval one(1.0);
  switch (node.op) {
    case Op::div:
      return f.product(f.element(0), f.apply(Op::reciprocal, NoAttributes{}, f.element(1)));
    case Op::prelu:
      return f.sum(f.element(0), one,
                   f.product(f.sum(f.element(1), one, f.constant(-one)), f.apply(Op::clip, ClipAttributes{-INFINITY, 0}, f.element(0))));
    case Op::power:
      return general_power(f);
    case Op::mod:
      return remainder(f, std::get<ModAttributes>(node.attributes).truncated);
    case Op::local_response:
      return response(f, std::get<LocalResponseAttributes>(node.attributes), own);
    case Op::batch_norm:
      return normalised(f, std::get<BatchNormAttributes>(node.attributes).epsilon);
    default:
      return product_of_all(f);
  }
}

using Lists = std::vector<std::vector<std::uint32_t>>;

// The neighbours of each element along the channels, and its place among them.
Lists neighbours(const Node& node, std::vector<std::size_t>& own) {
  const std::int64_t size = std::get<LocalResponseAttributes>(node.attributes).size, before = (size - 1) / 2, after = size - 1 - before;
  const std::int64_t channels = node.shape[1], stride = ops::row_major_strides(node.shape)[1];
  Lists terms(element_count(node.shape));
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const auto at = static_cast<std::int64_t>(i), c = at / stride % channels, first = std::max(c - before, std::int64_t{0});
    for (std::int64_t k = first; k <= std::min(c + after, channels - 1); ++k)
      terms[i].push_back(static_cast<std::uint32_t>(at + (k - c) * stride));
    own[i] = static_cast<std::size_t>(c - first);
  }
  return terms;
}

// The factors of each running product.
Lists running(const Node& node) {
  const auto& [axis, exclusive, reverse] = std::get<CumulativeAttributes>(node.attributes);
  Lists terms(element_count(node.shape));
  for (const std::vector<std::uint32_t>& line : ops::reduction_groups(node.shape, {axis})) {
    for (std::size_t p = 0; p < line.size(); ++p) {
      const auto from = line.begin() + static_cast<std::ptrdiff_t>(p), behind = from + 1;
      if (reverse)
        terms[line[p]].assign(exclusive ? behind : from, line.end());
      else
        terms[line[p]].assign(line.begin(), exclusive ? from : behind);
    }
  }
  return terms;
}

// Element i of the result, and the channel's element of a parameter [C].
std::vector<std::uint32_t> channel_of_elements(const Shape& shape) {
  Shape parameter(shape.size() - 1, 1);
  parameter[0] = shape[1];
  return ops::broadcast_elements(parameter, shape);
}

// The parts, without slopes; nullopt where forms would cost more than they are worth.
std::optional<Relaxation> parts_of(const Graph& graph, const Node& node, const Box& result, std::vector<std::size_t>& own) {
  const Shape& x = graph.node(node.operands[0]).shape;
  Relaxation r{{}, result.lo, result.hi};
  if (element_count(x) == 0) return std::nullopt;
  Lists lists;
  if (node.op == Op::local_response) lists = neighbours(node, own);
  if (node.op == Op::cumprod) lists = running(node);
  if (node.op == Op::reduce_prod) lists = ops::reduction_groups(x, std::get<ReduceAttributes>(node.attributes).axes);
  std::size_t work = 0;
  for (const std::vector<std::uint32_t>& list : lists) work += list.size() * list.size();
  if (work > kMostTerms) return std::nullopt;
  if (!lists.empty()) {
    r.parts.push_back(part_without_slopes(node.operands[0], lists));
    return r;
  }
  const std::vector<double> zeros(result.lo.size(), 0.0);
  for (std::size_t i = 0; i < node.operands.size(); ++i) {
    const bool channel = node.op == Op::batch_norm && i > 0;
    r.parts.push_back({node.operands[i],
                       channel ? channel_of_elements(x) : ops::broadcast_elements(graph.node(node.operands[i]).shape, node.shape), zeros,
                       zeros});
  }
  return r;
}

}  // namespace

std::optional<Relaxation> composed_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box,
                                         const SlopeHints& hints) {
  if (!is_float(node.dtype)) return std::nullopt;
  std::vector<std::size_t> own(result_box.lo.size(), 0);
  auto result = parts_of(graph, node, result_box, own);
  for (std::size_t j = 0; result && j < result_box.lo.size(); ++j) {
    std::vector<Interval> x;
    for (std::size_t p = 0; p < result->parts.size(); ++p) {
      const Relaxation::Part& part = result->parts[p];
      for (std::size_t k = part.first(j); k < part.last(j); ++k)
        x.emplace_back(boxes[p]->lo[part.element(k)], boxes[p]->hi[part.element(k)]);
    }
    const auto mix = [&](std::span<const float> hint) { return hint.empty() ? 0.5 : static_cast<double>(hint[j]); };
    const Step y = formula_of(node, Formula(x, mix(hints.lower), mix(hints.upper)), own[j]);
    settle(y.below, x, true, j, *result);
    settle(y.above, x, false, j, *result);
  }
  return result;
}

}  // namespace assay::kernel
