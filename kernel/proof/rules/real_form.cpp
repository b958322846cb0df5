#include "kernel/proof/rules/real_form.h"

#include <cmath>

#include "semantics/interrupt.h"

namespace assay::kernel {

void RealForm::add(const Interval& factor, const RealForm& other) {
  poll(20 * slope.size());
  for (std::size_t k = 0; k < slope.size(); ++k) slope[k] += factor * other.slope[k];
  constant += factor * other.constant;
}

Interval range_over(const RealForm& form, std::span<const Interval> x) {
  Interval range = form.constant;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (!(form.slope[k] == Interval(0.0))) range += form.slope[k] * x[k];
  }
  return range;
}

Relaxation::Part part_without_slopes(NodeId operand, const std::vector<std::vector<std::uint32_t>>& terms) {
  Relaxation::Part part{operand, {}, {}, {}, {0}};
  for (const std::vector<std::uint32_t>& of_element : terms) {
    part.index.insert(part.index.end(), of_element.begin(), of_element.end());
    part.start.push_back(static_cast<std::uint32_t>(part.index.size()));
  }
  part.lower.assign(part.index.size(), 0.0);
  part.upper.assign(part.index.size(), 0.0);
  return part;
}

std::optional<Relaxation> without_slopes(NodeId operand, const std::vector<std::vector<std::uint32_t>>& groups, const Box& result) {
  if (groups.size() == result.lo.size()) return Relaxation{{part_without_slopes(operand, groups)}, result.lo, result.hi};
  std::size_t count = 0;
  for (const std::vector<std::uint32_t>& group : groups) count += group.size() * group.size();
  if (count > kMostTerms) return std::nullopt;
  std::vector<std::vector<std::uint32_t>> terms(result.lo.size());
  for (const std::vector<std::uint32_t>& group : groups) {
    for (const std::uint32_t i : group) terms[i] = group;
  }
  return Relaxation{{part_without_slopes(operand, terms)}, result.lo, result.hi};
}

void settle(const RealForm& form, std::span<const Interval> x, bool lower, std::size_t j, Relaxation& relaxation) {
  poll(50 * x.size());
  RealForm rest = form;
  std::vector<double> slopes;
  for (Interval& slope : rest.slope) {
    slopes.push_back(slope.midpoint());
    if (!std::isfinite(slopes.back())) return;
    slope -= Interval(slopes.back());
  }
  const Interval rounding = range_over(rest, x);
  double& intercept = (lower ? relaxation.lower_intercept : relaxation.upper_intercept)[j];
  const double t = lower ? rounding.lo() : rounding.hi();
  std::vector<double*> now;
  for (Relaxation::Part& part : relaxation.parts) {
    for (std::size_t k = part.first(j); k < part.last(j); ++k) now.push_back(&(lower ? part.lower : part.upper)[k]);
  }
  double gain = t - intercept;
  for (std::size_t k = 0; k < x.size(); ++k) {
    if (slopes[k] != *now[k]) gain += (slopes[k] - *now[k]) * x[k].midpoint();
    if (slopes[k] != 0 && !(std::isfinite(x[k].lo()) && std::isfinite(x[k].hi()))) return;
  }
  if (!std::isfinite(t) || !(lower ? gain > 0 : gain < 0)) return;
  intercept = t;
  for (std::size_t k = 0; k < x.size(); ++k) *now[k] = slopes[k];
}

}  // namespace assay::kernel
