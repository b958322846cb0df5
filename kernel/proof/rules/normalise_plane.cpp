// Rule normalise_plane: every form of normalise.
//
// y_i = c_i r with c_i = x_i - mean (centered, deviation) or x_i, and r = phi(v) > 0, where v is the mean of c_j^2 (centered,
// deviation, root_mean), the sum of x_j^2 (l2) or the sum of |x_j| (l1). phi is convex and falling: (v + e)^(-1/2), 1 / (sqrt v + e) or
// 1 / (v + e). For x_j in [l_j, u_j] and v in [p, q]:
//   v <= chords: (x_j - k)^2 <= (l_j + u_j - 2 k)(x_j - k) - (l_j - k)(u_j - k), |x_j| by its chord    any k
//   v >= tangents: c_j^2 >= 2 s_j c_j - s_j^2, |x_j| >= s_j x_j with s_j in [-1, 1]                      any s_j
//   r >= phi(a) + phi'(a) (v - a)                                            any a > 0, with v above by chords
//   r <= t - g v   with t = the larger of phi(e) + g e over e = p, q         any g >= 0, with v below by tangents
//   c r >= a c + b r + t   with t = min over the corners of c r - a c - b r  any a, b; dually above
// and b r is bounded by the bound of r that b's sign asks for. The mean of (x_j - k)^2 is at least that around the mean.
// Reason: tangents and chords of convex functions; McCormick's corner argument (product_plane).
// Policy: k the mean of the box's centre, s_j and a in the middle, g the chord's slope, a and b of the last step the middles of r and c.
// Hints are not used.
// Rounding: coefficients are real numbers in intervals; see settle in real_form.h.
// Source: derived here; Shi et al. 2020, "Robustness verification for transformers", bounds the same composition in steps.

#include <algorithm>
#include <cmath>

#include "kernel/proof/rules/real_form.h"
#include "semantics/ops/element_lists.h"

namespace assay::kernel {
namespace {

using Form = NormaliseAttributes::Form;

class Group {
 public:
  Group(const NormaliseAttributes& attributes, std::vector<Interval> x) : attributes_(attributes), x_(std::move(x)) {
    const bool mean = attributes_.form != Form::l2 && attributes_.form != Form::l1;
    n_ = Interval(static_cast<double>(x_.size()));
    share_ = mean ? Interval(1.0) / n_ : Interval(1.0);
    set_sizes();
    set_reciprocals();
  }
  [[nodiscard]] std::span<const Interval> x() const { return x_; }

  // A form below (above) element i.
  [[nodiscard]] RealForm plane(std::size_t i, bool lower) const {
    const RealForm own = centre(i);
    const Interval c = range_over(own, x_), r = r_;
    const double a = r.midpoint(), b = c.midpoint();
    RealForm form{std::vector<Interval>(x_.size()), Interval(corner(c, r, a, b, lower))};
    form.add(Interval(a), own);
    form.add(Interval(b), (b >= 0) == lower ? r_below_ : r_above_);
    return form;
  }

 private:
  [[nodiscard]] bool is_centered() const { return attributes_.form == Form::centered || attributes_.form == Form::deviation; }
  // c_i
  [[nodiscard]] RealForm centre(std::size_t i) const {
    RealForm form{std::vector<Interval>(x_.size(), is_centered() ? -share_ : Interval(0.0)), Interval(0.0)};
    form.slope[i] += Interval(1.0);
    return form;
  }
  [[nodiscard]] Interval divisor(const Interval& v) const {
    const Interval epsilon(attributes_.epsilon);
    if (attributes_.form == Form::l1) return v + epsilon;
    return attributes_.form == Form::deviation ? sqrt(v) + epsilon : sqrt(v + epsilon);
  }
  // The derivative of 1 / divisor.
  [[nodiscard]] Interval slope_at(const Interval& v) const {
    const Interval d = divisor(v), two(2.0);
    if (attributes_.form == Form::l1) return Interval(-1.0) / (d * d);
    return Interval(-1.0) / (attributes_.form == Form::deviation ? two * sqrt(v) * d * d : two * d * d * d);
  }

  // Forms above and below v, and its range.
  void set_sizes() {
    double k = 0;
    for (const Interval& x : x_) k += is_centered() ? x.midpoint() / static_cast<double>(x_.size()) : 0.0;
    above_ = below_ = {std::vector<Interval>(x_.size()), Interval(0.0)};
    Interval squares;
    for (std::size_t j = 0; j < x_.size(); ++j) {
      const Interval l(x_[j].lo()), u(x_[j].hi()), one(1.0);
      if (attributes_.form == Form::l1) {
        const double chord = u.lo() > l.lo() ? (std::fabs(u.lo()) - std::fabs(l.lo())) / (u.lo() - l.lo()) : 0;
        const Interval slope(chord), tangent(std::clamp(chord, -1.0, 1.0));
        above_.slope[j] += slope;
        above_.constant += max(abs(l) - slope * l, abs(u) - slope * u);
        below_.slope[j] += tangent;
        squares += abs(x_[j]);
        continue;
      }
      const Interval from = l - Interval(k), to = u - Interval(k), sum = share_ * (from + to);
      above_.slope[j] += sum;
      above_.constant -= sum * Interval(k) + share_ * from * to;
      const RealForm own = centre(j);
      const Interval s(x_[j].midpoint() - k);
      below_.add(share_ * Interval(2.0) * s, own);
      below_.constant -= share_ * square(s);
      squares += share_ * square(range_over(own, x_));
    }
    const Interval most = range_over(above_, x_), least = range_over(below_, x_);
    v_ = Interval(std::max({0.0, least.lo(), squares.lo()}), std::min(most.hi(), squares.hi()));
  }

  // Forms below and above r, and its range.
  void set_reciprocals() {
    const Interval one(1.0), p(v_.lo()), q(v_.hi()), at_p = one / divisor(p), at_q = one / divisor(q), middle(v_.midpoint());
    r_ = Interval(at_q.lo(), at_p.hi());
    r_below_ = r_above_ = {std::vector<Interval>(x_.size()), Interval(0.0)};
    const Interval falling = slope_at(middle);
    r_below_.constant = one / divisor(middle) - falling * middle;
    r_below_.add(falling, above_);
    const double chord = q.lo() > p.lo() ? (at_p.midpoint() - at_q.midpoint()) / (q.lo() - p.lo()) : -falling.midpoint();
    const Interval g(std::max(chord, 0.0));
    r_above_.constant = max(at_p + g * p, at_q + g * q);
    r_above_.add(-g, below_);
  }

  const NormaliseAttributes& attributes_;
  std::vector<Interval> x_;
  Interval n_, share_, v_, r_;  // of the elements; 1 / n or 1; the ranges of v and r
  RealForm above_, below_;      // of v
  RealForm r_below_, r_above_;
};

}  // namespace

std::optional<Relaxation> normalise_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result_box) {
  const auto& attributes = std::get<NormaliseAttributes>(node.attributes);
  const auto groups = ops::reduction_groups(graph.node(node.operands[0]).shape, attributes.axes);
  auto result = without_slopes(node.operands[0], groups, result_box);
  if (!result) return result;
  for (const std::vector<std::uint32_t>& elements : groups) {
    std::vector<Interval> x;
    for (const std::uint32_t i : elements) x.emplace_back(boxes[0]->lo[i], boxes[0]->hi[i]);
    const Group group(attributes, std::move(x));
    for (std::size_t i = 0; i < elements.size(); ++i) {
      for (const bool lower : {true, false}) settle(group.plane(i, lower), group.x(), lower, elements[i], *result);
    }
  }
  return result;
}

}  // namespace assay::kernel
