#include "app/queries/float_run.h"

#include <algorithm>

#include "app/queries/witness_point.h"

namespace assay::queries {
namespace {

// Compares the inputs that the network is run on with the witness.
void compare(const std::vector<Array<float>>& inputs, const logic::Witness& witness, const statement::InputBox& box, FloatRun& run) {
  std::size_t at = 0;
  run.inside = true;
  for (const Array<float>& input : inputs) {
    for (const float value : input.values) {
      const auto exact = Rational::from_double(value);
      run.rounded_inputs += exact && *exact == witness.inputs[at] ? 0 : 1;
      run.inside = run.inside && exact && box.lo[at] <= *exact && *exact <= box.hi[at];
      ++at;
    }
  }
}

}  // namespace

FloatRun run_in_float32(const logic::Theorem& satisfiable) {
  FloatRun run;
  const logic::Problem& problem = *satisfiable.problem();
  const Graph& graph = problem.graph();
  if (std::ranges::any_of(graph.nodes, [](const Node& node) { return node.dtype == DType::float64; })) {
    run.not_run = "the model computes in float64";
    return run;
  }
  const std::vector<statement::Case>& cases = problem.statement().property.cases;
  const logic::Witness& witness = satisfiable.witness();
  const std::vector<Array<float>> inputs = inputs_at<float>(graph, witness);
  compare(inputs, witness, *cases[witness.case_index].box, run);
  const auto values = evaluate<float>(graph, inputs);
  if (!values) {
    run.not_run = values.rejection().code + " at " + values.rejection().place;
    return run;
  }
  for (const NodeId id : graph.outputs)
    run.outputs.insert(run.outputs.end(), values.value()[id].values.begin(), values.value()[id].values.end());
  const auto value_of = [&](const statement::Variable& variable) {
    return static_cast<double>(values.value()[problem.node_of(variable)].values[variable.element]);
  };
  for (const std::uint32_t index : problem.group_cases(problem.group_of_case(witness.case_index))) {
    run.violates = std::ranges::all_of(cases[index].rows, [&](const statement::Row& row) { return holds(row, value_of); });
    run.case_index = index;
    if (run.violates) break;
  }
  return run;
}

std::string to_text(const FloatRun& run) {
  if (!run.not_run.empty()) return "not run in float32: " + run.not_run;
  std::string text = "one float32 execution (sums in order, no fused multiply-add) ";
  text += run.violates ? "violates there too: case " + std::to_string(run.case_index) : "does NOT violate there";
  if (run.rounded_inputs > 0) {
    text += "; " + std::to_string(run.rounded_inputs) + (run.rounded_inputs == 1 ? " input was" : " inputs were") +
            " rounded to float32, which " + (run.inside ? "stays in" : "leaves") + " the decimal box";
  }
  return text;
}

}  // namespace assay::queries
