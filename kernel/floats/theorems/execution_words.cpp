// The reason, in words, why a float step is declined: which operand, which op, which row of a table. Nothing is
// decided here.

#include <algorithm>
#include <cmath>

#include "kernel/floats/format.h"
#include "kernel/floats/rounding.h"
#include "kernel/floats/sums.h"
#include "kernel/floats/theorems/execution.h"
#include "semantics/printable.h"

namespace assay::floats {

namespace {

std::string number(double value) { return floats::shown(Interval(value)); }

// For a sum without a finite bound: the part that is too large.
std::string why_unbounded_sum(const logic::Problem& problem, const Node& node, const rows::AffineForm& form, const ReadOperands& operands) {
  const ExecutionModel& model = problem.statement().semantics;
  const floats::Format format = floats::format_of(node.dtype);
  const double most = floats::has_factors(node.op) ? floats::factor_rounding(model).most : floats::kInfinity;
  double most_terms = 1;
  for (const rows::AffineForm::Part& part : form.parts) most_terms += static_cast<double>(part.map->fan_in());
  std::vector<double> sums;
  for (const double bias : form.bias) sums.push_back(std::fabs(bias));
  for (std::size_t k = 0; k < operands.ids.size(); ++k) {
    std::vector<double> sizes;
    for (const Interval& value : operands.values[k].values) sizes.push_back(value.magnitude());
    const auto large = std::ranges::find_if(sizes, [most](double size) { return !(size < most); });
    if (large != sizes.end())
      return "a factor of up to " + number(*large) + ", where factors are rounded to a format that ends at " + number(most);
    if (k < form.parts.size()) form.parts[k].map->apply_magnitude(sizes.data(), sums.data());
  }
  const double size = *std::ranges::max_element(sums);
  const auto sum = floats::sum_form(node, problem.graph().node(node.operands[0]).shape, model, format);
  if (sum && !floats::sum_errors(model, format, most_terms, *sum))
    return "a sum of up to " + number(most_terms) + " terms, so many that its error in this order of summation is not small";
  return "a sum of up to " + number(most_terms) + " terms whose magnitudes add up to " + number(size) + ", where the format ends at " +
         number(floats::stored_precision(model).largest);
}

}  // namespace

std::string why_unbounded(const logic::Problem& problem, const Node& node, const rows::AffineForm* form, const ReadOperands& operands) {
  const ExecutionModel& model = problem.statement().semantics;
  std::vector<const Array<Interval>*> pointers;
  std::string text, names;
  for (std::size_t k = 0; k < operands.ids.size(); ++k) {
    Interval all = operands.values[k].values.empty() ? Interval() : operands.values[k].values[0];
    for (const Interval& value : operands.values[k].values) all = hull(all, value);
    names += (k == 0 ? "'" : ", '") + printable(problem.graph().node(operands.ids[k]).name) + "' in " + floats::shown(all);
    pointers.push_back(&operands.values[k]);
  }
  if (std::holds_alternative<WeightedGatherAttributes>(node.attributes) &&
      floats::roundings_of_factors(node, floats::format_of(node.dtype)) > 0)
    text = "weights that are no numbers of the format, which programs compute from coordinates in ways of their own";
  else
    text = form != nullptr ? why_unbounded_sum(problem, node, *form, operands) : floats::why_unbounded(node, model, pointers);
  return text + "; operands: " + names;
}

}  // namespace assay::floats
