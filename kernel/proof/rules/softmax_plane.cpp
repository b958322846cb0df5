// Rule softmax_plane: softmax, masked_softmax with a decided mask, log_softmax and log_sum_exp.
//
// Over the elements x_1 .. x_n of one line, w = 1 + sum over j != i of exp(x_j - x_i), so softmax_i = 1 / w and log_softmax_i = -log w.
// All of these hold on the whole box x_j in [l_j, u_j], with w in [p, q]:
//   1 / w  >= 2 / c - w / c^2            any c > 0: the tangent of a convex function
//   1 / w  <= 1 / p + 1 / q - w / (p q)  its chord
//   -log w >= 1 - log c - w / c          any c > 0
//   exp(d) >= exp(c) (1 + d - c)         any c
//   exp(d) <= m d + t                    any m, with t = the larger of exp(e) - m e over the two ends e of d's range
//   log sum exp(x_j) >= sum pi_j x_j - sum pi_j log pi_j      any weights pi_j >= 0 that sum to 1
//   log sum exp(x_j) <= sum exp(x_j + h) - h - 1              any h: log v <= v - 1 at v = sum exp(x_j + h)
// Composed: softmax below = the first with the chord of each exp, above = the second with a tangent of each exp, or the chord of
// exp(log_softmax_i) with the weights' bound, whichever is lower at the box's centre. log_softmax below = the third with chords,
// above = x_i minus the weights' bound. log_sum_exp: the last two, with chords.
// Reason: tangents and chords of convex functions; the weights' bound is the concavity of log: log sum pi_j (exp(x_j) / pi_j).
// Policy: c the middle of w's range, tangents of exp and the weights at the box's centre. Hints are not used.
// A mask with open elements leaves its line at the node's own box; elements that it shuts drop out of the line.
// Rounding: coefficients are real numbers in intervals; see settle in real_form.h.
// Source: Wei et al. 2023, "Convex bounds on the softmax function with applications to robustness verification"

#include <algorithm>
#include <cmath>

#include "kernel/proof/rules/real_form.h"
#include "semantics/interrupt.h"
#include "semantics/ops/element_lists.h"

namespace assay::kernel {
namespace {

// slope d + constant
struct Line1 {
  Interval slope, constant;
};

// A chord above factor exp(d) for d between two real numbers `from` <= `to`, whose exponentials are given; factor > 0.
Line1 exp_above(const Interval& factor, const Interval& from, const Interval& to, const Interval& exp_from, const Interval& exp_to) {
  const Interval at_from = factor * exp_from, at_to = factor * exp_to;
  const double width = to.midpoint() - from.midpoint();
  const double chord = width > 0 ? (at_to.midpoint() - at_from.midpoint()) / width : 0;
  const Interval slope(std::isfinite(chord) ? chord : 0.0);
  return {slope, max(at_from - slope * from, at_to - slope * to)};
}

// The elements of one line, and the exponentials of those that take part, less a common m, which cancels; others have 0.
class Exponentials {
 public:
  Exponentials(const std::vector<std::uint32_t>& elements, const Box& box, const std::vector<bool>& shut) {
    double m = -INFINITY;
    for (const std::uint32_t e : elements) {
      x_.emplace_back(box.lo[e], box.hi[e]);
      if (!shut[e]) m = std::max(m, x_.back().midpoint());
    }
    if (!std::isfinite(m)) m = 0;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      if (!shut[elements[j]]) open_.push_back(j);
      const auto power = [&](double x) { return shut[elements[j]] ? Interval(0.0) : exp(Interval(x) - Interval(m)); };
      at_lo_.push_back(power(x_[j].lo()));
      at_hi_.push_back(power(x_[j].hi()));
      at_middle_.push_back(power(x_[j].midpoint()));
    }
    set_weights();
  }
  [[nodiscard]] const std::vector<std::size_t>& open() const { return open_; }
  [[nodiscard]] std::span<const Interval> x() const { return x_; }
  [[nodiscard]] RealForm zero() const { return {std::vector<Interval>(x_.size()), Interval(0.0)}; }
  // sum pi_j x_j - sum pi_j log pi_j <= log sum exp(x_j)
  [[nodiscard]] const RealForm& weights() const { return weights_; }

  // w's range for element i.
  [[nodiscard]] Interval sum(std::size_t i) const {
    poll(50 * x_.size());
    Interval low(1.0), high(1.0);
    for (const std::size_t j : open_) {
      if (j == i) continue;
      low += at_lo_[j] / at_hi_[i];
      high += at_hi_[j] / at_lo_[i];
    }
    return low.is_undefined() || high.is_undefined() ? Interval::undefined() : Interval(low.lo(), high.hi());
  }
  // form -= factor (w - 1), by chords (tangents) of each exp; factor > 0.
  void subtract_sum(std::size_t i, const Interval& factor, bool chords, RealForm& form) const {
    for (const std::size_t j : open_) {
      if (j == i) continue;
      const Line1 line = chords ? chord(i, j, factor) : tangent(i, j, factor);
      form.slope[j] -= line.slope;
      form.slope[i] += line.slope;
      form.constant -= line.constant;
    }
  }
  // Above log sum exp.
  [[nodiscard]] RealForm logarithm_above() const {
    double low = 0, high = 0, m = -INFINITY;
    for (const Interval& x : x_) m = std::max(m, x.hi());
    for (const Interval& x : x_) {
      low += std::exp(x.lo() - m);
      high += std::exp(x.hi() - m);
    }
    const Interval h(-m - std::log(low / 2 + high / 2));
    RealForm form{{}, -h - Interval(1.0)};
    for (const Interval& x : x_) {
      const Interval from = Interval(x.lo()) + h, to = Interval(x.hi()) + h;
      const Line1 line = exp_above(Interval(1.0), from, to, exp(from), exp(to));
      form.slope.push_back(line.slope);
      form.constant += line.slope * h + line.constant;
    }
    return form;
  }

 private:
  void set_weights() {
    Interval total, entropy;
    for (const Interval& e : at_middle_) total += Interval(e.midpoint());
    for (const Interval& e : at_middle_) {
      const Interval weight = Interval(e.midpoint()) / total;
      weights_.slope.push_back(weight);
      if (e.midpoint() > 0) entropy -= weight * log(weight);
    }
    weights_.constant = entropy;
  }
  [[nodiscard]] Line1 chord(std::size_t i, std::size_t j, const Interval& factor) const {
    return exp_above(factor, Interval(x_[j].lo()) - Interval(x_[i].hi()), Interval(x_[j].hi()) - Interval(x_[i].lo()),
                     at_lo_[j] / at_hi_[i], at_hi_[j] / at_lo_[i]);
  }
  [[nodiscard]] Line1 tangent(std::size_t i, std::size_t j, const Interval& factor) const {
    const Interval at = Interval(x_[j].midpoint()) - Interval(x_[i].midpoint()), value = factor * (at_middle_[j] / at_middle_[i]);
    return {value, value * (Interval(1.0) - at)};
  }

  std::vector<Interval> x_, at_lo_, at_hi_, at_middle_;
  std::vector<std::size_t> open_;
  RealForm weights_;
};

// x_i minus the weights' bound: above log_softmax_i.
RealForm logarithm_of_share(const Exponentials& line, std::size_t i) {
  RealForm form = line.zero();
  form.slope[i] = Interval(1.0);
  form.add(Interval(-1.0), line.weights());
  return form;
}

RealForm softmax_below(const Exponentials& line, std::size_t i, const Interval& w) {
  const Interval c(w.midpoint()), factor = Interval(1.0) / (c * c);
  RealForm form = line.zero();
  form.constant = Interval(2.0) / c - factor;
  line.subtract_sum(i, factor, true, form);
  return form;
}

std::vector<RealForm> softmax_above(const Exponentials& line, std::size_t i, const Interval& w) {
  const Interval one(1.0), p(w.lo()), q(w.hi()), factor = one / (p * q);
  RealForm form = line.zero();
  form.constant = one / p + one / q - factor;
  line.subtract_sum(i, factor, false, form);
  const Interval from = -log(q), to = -log(p);
  const Line1 chord = exp_above(one, from, to, one / q, one / p);  // rising: slope >= 0
  if (!(chord.slope.lo() >= 0)) return {form};
  RealForm by_weights = line.zero();
  by_weights.constant = chord.constant;
  by_weights.add(chord.slope, logarithm_of_share(line, i));
  return {form, by_weights};
}

RealForm log_softmax_below(const Exponentials& line, std::size_t i, const Interval& w) {
  const Interval c(w.midpoint()), factor = Interval(1.0) / c;
  RealForm form = line.zero();
  form.constant = Interval(1.0) - log(c) - factor;
  line.subtract_sum(i, factor, true, form);
  return form;
}

// One line of softmax, masked_softmax or log_softmax.
void settle_line(Op op, const Exponentials& line, const std::vector<std::uint32_t>& elements, Relaxation& result) {
  for (const std::size_t i : line.open()) {
    const Interval w = line.sum(i);
    const auto below = op == Op::log_softmax ? log_softmax_below(line, i, w) : softmax_below(line, i, w);
    const auto above = op == Op::log_softmax ? std::vector<RealForm>{logarithm_of_share(line, i)} : softmax_above(line, i, w);
    settle(below, line.x(), true, elements[i], result);
    for (const RealForm& form : above) settle(form, line.x(), false, elements[i], result);
  }
}

// Which elements a mask shuts out, and which lines have an element that it may or may not.
struct Mask {
  std::vector<bool> shut, undecided;
};
Mask mask_of(const Graph& graph, const Node& node, std::span<const Box* const> boxes) {
  const std::size_t size = boxes[0]->lo.size();
  Mask mask{std::vector<bool>(size, false), std::vector<bool>(size, false)};
  if (node.op != Op::masked_softmax) return mask;
  const std::vector<std::uint32_t> at = ops::broadcast_elements(graph.node(node.operands[1]).shape, node.shape);
  for (std::size_t i = 0; i < size; ++i) {
    mask.shut[i] = boxes[1]->lo[at[i]] == 0 && boxes[1]->hi[at[i]] == 0;
    mask.undecided[i] = !mask.shut[i] && !(boxes[1]->lo[at[i]] > 0);
  }
  return mask;
}

}  // namespace

std::optional<Relaxation> softmax_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box) {
  std::vector<std::int64_t> axes;
  if (const auto* softmax = std::get_if<SoftmaxAttributes>(&node.attributes)) axes = {softmax->axis};
  if (const auto* masked = std::get_if<MaskedSoftmaxAttributes>(&node.attributes)) axes = {masked->axis};
  if (const auto* reduce = std::get_if<ReduceAttributes>(&node.attributes)) axes = reduce->axes;
  const auto groups = ops::reduction_groups(graph.node(node.operands[0]).shape, axes);
  auto result = without_slopes(node.operands[0], groups, result_box);
  if (!result) return result;
  const Mask mask = mask_of(graph, node, boxes);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    if (std::ranges::any_of(groups[g], [&](std::uint32_t i) { return mask.undecided[i]; })) continue;
    const Exponentials line(groups[g], *boxes[0], mask.shut);
    if (node.op != Op::log_sum_exp) {
      settle_line(node.op, line, groups[g], *result);
      continue;
    }
    settle(line.weights(), line.x(), true, g, *result);
    settle(line.logarithm_above(), line.x(), false, g, *result);
  }
  return result;
}

}  // namespace assay::kernel
