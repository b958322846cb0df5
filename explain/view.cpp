#include "explain/view.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "explain/text.h"

namespace assay::explain {

double View::allowance() const {
  if (!set().has_finite() || set().lo == set().hi || exact().is_undefined()) return 0;
  return std::fmax(set().hi - exact().hi(), exact().lo() - set().lo);
}

std::string View::place(NodeId id, std::size_t i) const {
  const auto& inputs = part.graph.inputs;
  const Shape index = part.index_of_node(id, i);
  if (!part.named.empty()) id = part.named[id].node;
  const auto k = static_cast<std::size_t>(std::ranges::find(inputs, id) - inputs.begin());
  const std::string name = k < inputs.size() ? part.graph.input_names[k] : std::string(op_row(part.graph.node(id).op).name);
  return k < inputs.size() || !index.empty() ? name + to_string(index) : name;
}

std::string View::number(double value) const { return decimal(value, format()); }

Outcome<View> view_of(const Trace& trace, std::size_t region, std::size_t result, std::size_t element) {
  View view;
  view.part = part_of(trace, region, result, element);
  const Part& part = view.part;
  std::vector<contracts::Recording> recordings;
  if (part.results.size() > 1) {
    for (std::size_t i = 0; i < part.results.size(); ++i) recordings.push_back({part.graph.outputs[i], part.results[i]});
  }
  auto sets = contracts::admissible(part.graph, part.model, part.operands, recordings);
  if (!sets) return sets.rejection();
  view.sets = std::move(sets.value()[part.result]);
  view.received = contracts::recorded_value(part.results[part.result], part.element).value_or(std::numeric_limits<double>::quiet_NaN());
  std::vector<Array<double>> operands;
  for (const Tensor& operand : part.operands) {
    if (operand.dtype() == DType::complex64) return view;
    operands.push_back({operand.shape(), {}});
    for (std::size_t i = 0; i < operand.size(); ++i)
      operands.back().values.push_back(contracts::recorded_value(operand, i).value_or(std::numeric_limits<double>::quiet_NaN()));
  }
  if (auto values = evaluate<double>(part.graph, operands)) view.values = std::move(values).value();
  return view;
}

}  // namespace assay::explain
