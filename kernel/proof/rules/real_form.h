// Linear forms with real coefficients that are known only to lie in intervals, and how they become planes. Private to kernel/proof/rules.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/proof/rules/relaxation.h"

namespace assay::kernel {

// sum over k of slope[k] x_k + constant, for some real numbers in these intervals.
struct RealForm {
  std::vector<Interval> slope;
  Interval constant;
  // += factor * other, for one real factor in the interval.
  void add(const Interval& factor, const RealForm& other);
};

// All values over the box.
[[nodiscard]] Interval range_over(const RealForm& form, std::span<const Interval> x);

// A part without slopes whose result element j has the terms terms[j].
[[nodiscard]] Relaxation::Part part_without_slopes(NodeId operand, const std::vector<std::vector<std::uint32_t>>& terms);
// The node's own box, and one such part: the terms of a result element are its group, for a result with one element per group or as
// many as the groups have. nullopt: so many terms that planes would cost more than they are worth.
[[nodiscard]] std::optional<Relaxation> without_slopes(NodeId operand, const std::vector<std::vector<std::uint32_t>>& groups,
                                                       const Box& result);

// The form is below (above) element j everywhere on the box x of its terms, part by part: takes its place in the relaxation if it is nearer
// to the element at the centre of the box. Slopes are rounded to doubles; what that changes over the box goes into the intercept.
void settle(const RealForm& form, std::span<const Interval> x, bool lower, std::size_t j, Relaxation& relaxation);

// A plane a x + b y + t below (above) factor x y on a box. t is not finite where there is none.
struct Corners {
  double a, b, t;
};
// The least (greatest) of factor x y - a x - b y: rounded outward, NaN if undefined.
[[nodiscard]] double corner(const Interval& x, const Interval& y, double a, double b, bool lower, double factor = 1);
// The slopes of rule product_plane for a mix of 0 to 1.
[[nodiscard]] Corners mccormick(const Interval& x, const Interval& y, double mix, bool lower, double factor = 1);

}  // namespace assay::kernel
