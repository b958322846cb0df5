#include "cli/assay/float_run.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"

namespace assay::cli {
namespace {

// sum of the terms against the bound, the sum taken exactly: only the network is run in float32.
bool holds(const kernel::Problem& problem, const kernel::Row& row, const std::vector<Array<float>>& values) {
  Rational sum;
  for (const kernel::Term& term : row.terms) {
    const auto value = Rational::from_double(values[problem.node_of(term.variable)].values[term.variable.element]);
    if (!value) return false;
    sum += term.coefficient * *value;
  }
  return row.strict ? sum < row.bound : sum <= row.bound;
}

// The witness as the graph's input arrays, each value rounded to the nearest float32.
std::vector<Array<float>> inputs_of(const Graph& graph, const kernel::Witness& witness, const kernel::InputBox& box, FloatRun& run) {
  std::vector<Array<float>> inputs;
  std::size_t at = 0;
  run.inside = true;
  for (const NodeId id : graph.inputs) {
    Array<float> input{graph.node(id).shape, {}};
    for (std::size_t i = 0; i < graph.size(id); ++i, ++at) {
      const float value = ScalarTraits<float>::from_rational(witness.inputs[at]);
      const auto exact = Rational::from_double(value);
      run.rounded_inputs += exact && *exact == witness.inputs[at] ? 0 : 1;
      run.inside = run.inside && exact && box.lo[at] <= *exact && *exact <= box.hi[at];
      input.values.push_back(value);
    }
    inputs.push_back(std::move(input));
  }
  return inputs;
}

}  // namespace

FloatRun run_in_float32(const kernel::Theorem& satisfiable) {
  FloatRun run;
  const kernel::Problem& problem = *satisfiable.problem();
  const Graph& graph = problem.graph();
  if (std::ranges::any_of(graph.nodes, [](const Node& node) { return node.dtype == DType::float64; })) {
    run.not_run = "the model computes in float64";
    return run;
  }
  const std::vector<kernel::Case>& cases = problem.statement().property.cases;
  const kernel::Witness& witness = satisfiable.witness();
  const auto values = evaluate<float>(graph, inputs_of(graph, witness, *cases[witness.case_index].box, run));
  if (!values) {
    run.not_run = values.rejection().code + " at " + values.rejection().place;
    return run;
  }
  for (const NodeId id : graph.outputs)
    run.outputs.insert(run.outputs.end(), values.value()[id].values.begin(), values.value()[id].values.end());
  for (const std::uint32_t index : problem.group_cases(problem.group_of_case(witness.case_index))) {
    run.violates = std::ranges::all_of(cases[index].rows, [&](const kernel::Row& row) { return holds(problem, row, values.value()); });
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

}  // namespace assay::cli
