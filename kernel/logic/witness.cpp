// Rule satisfiable: accepts a rational point of one case's region.
//
// - S1: the case exists and the point has one value per input element.
// - S2: every value lies in the box, exactly, and is a value of its input's type: an integer for integer and
//   boolean inputs.
// - S3: every row holds at the exact outputs. Enclosures of rising precision decide it: double intervals, 256-bit
//   intervals, and fractions where the graph is algebraic. An undefined output decides nothing.
// - S4: in a floating semantics, every value is a number of its input's format, and every row holds for the outputs
//   of every execution that the model admits. It is shown by propagate_box, tighten and back-substitution on the
//   point's scope.

#include <algorithm>

#include "kernel/floats/theorems/execution.h"
#include "kernel/logic/state.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/exact_work.h"
#include "semantics/numbers/wide_interval.h"

namespace assay::logic {
namespace {

enum class Truth : std::uint8_t { holds, fails, open };

// The ends of a scalar as exact fractions; nullopt if an end is infinite or undefined.
using Ends = std::pair<std::optional<Rational>, std::optional<Rational>>;
Ends ends(const Interval& x) { return {Rational::from_double(x.lo()), Rational::from_double(x.hi())}; }
Ends ends(const WideInterval& x) { return {x.lo(), x.hi()}; }
Ends ends(const Rational& x) { return {x, x}; }

// By the values of all nodes. `row` receives the first row that is undecided or fails.
template <class S>
Truth decide(const Problem& problem, std::uint32_t case_index, const std::vector<Array<S>>& values, std::size_t& row) {
  const std::vector<statement::Row>& rows = problem.statement().property.cases[case_index].rows;
  for (row = 0; row < rows.size(); ++row) {
    Rational lower, upper;  // exact bounds of the row's sum
    for (const auto& [coefficient, variable] : rows[row].terms) {
      const auto [lo, hi] = ends(values[problem.node_of(variable)].values[variable.element]);
      if (!lo || !hi) return Truth::open;
      const bool positive = coefficient.sign() > 0;
      lower += coefficient * (positive ? *lo : *hi);
      upper += coefficient * (positive ? *hi : *lo);
    }
    const Rational& bound = rows[row].bound;
    const bool strict = rows[row].strict;
    if (strict ? lower >= bound : lower > bound) return Truth::fails;
    if (!(strict ? upper < bound : upper <= bound)) return Truth::open;
  }
  return Truth::holds;
}

template <class S>
Outcome<std::vector<Array<S>>> values_at(const Graph& graph, const std::vector<Rational>& point) {
  std::vector<Array<S>> inputs;
  std::size_t at = 0;
  for (const NodeId id : graph.inputs) {
    Array<S> input{graph.node(id).shape, {}};
    for (std::size_t i = 0; i < graph.size(id); ++i) input.values.push_back(S(point[at++]));
    inputs.push_back(std::move(input));
  }
  return evaluate<S>(graph, inputs);
}

// Exact numbers may double their length at each product. `work` bounds their cost; beyond it the answer is "open".
template <class S>
Truth attempt(const Problem& problem, const Witness& witness, double work, std::size_t& open_row) {
  Truth truth = Truth::open;
  const bool finished = within_exact_work(work, [&] {
    const auto values = values_at<S>(problem.graph(), witness.inputs);
    if (values) truth = decide(problem, witness.case_index, values.value(), open_row);
  });
  return finished ? truth : Truth::open;
}

// S3, over the reals: enclosures of the outputs at the point, if every row of the case holds there.
Outcome<std::vector<Interval>> outputs_at(const Problem& problem, const Witness& witness, double exact_work) {
  const auto coarse = values_at<Interval>(problem.graph(), witness.inputs);
  if (!coarse) return coarse.rejection();
  std::size_t row = 0;
  Truth truth = decide(problem, witness.case_index, coarse.value(), row);
  if (truth == Truth::open) truth = attempt<WideInterval>(problem, witness, exact_work, row);
  if (truth == Truth::open) truth = attempt<Rational>(problem, witness, exact_work, row);
  if (truth != Truth::holds) {
    const std::string place = statement::row_at(witness.case_index, row, witness.inputs);
    const statement::Row& first = problem.statement().property.cases[witness.case_index].rows[row];
    std::vector<double> middles;
    for (const auto& [_, v] : first.terms) middles.push_back(coarse.value()[problem.node_of(v)].values[v.element].midpoint());
    const std::string required = "a point at which " + statement::short_row_text(problem.graph(), first);
    const std::string found = statement::values_text(problem.graph(), first, middles);
    if (truth == Truth::fails) return reject("satisfiable.S3", place, required, found, statement::kOtherPoint);
    return declined("satisfiable.S3", place, required, found + ", which 256 bits and affordable fractions leave undecided",
                    statement::kFartherPoint);
  }
  std::vector<Interval> outputs;
  for (const NodeId id : problem.graph().outputs)
    outputs.insert(outputs.end(), coarse.value()[id].values.begin(), coarse.value()[id].values.end());
  return outputs;
}

}  // namespace

Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>& problem, const Witness& witness, double exact_work) try {
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const auto& cases = problem->statement().property.cases;
  const std::string place = "case " + std::to_string(witness.case_index);
  if (!(witness.case_index < cases.size())) return reject("satisfiable.S1", place, case_of("property", cases.size()), "no such case");
  // Its ends are values of the inputs' types.
  const statement::InputBox& box = problem->group_box(problem->group_of_case(witness.case_index));
  if (witness.inputs.size() != box.lo.size())
    return reject("satisfiable.S1", place, std::to_string(box.lo.size()) + " input values", std::to_string(witness.inputs.size()));
  std::size_t i = 0;
  for (const NodeId id : problem->graph().inputs) {
    const bool whole = !is_float(problem->graph().node(id).dtype);
    for (const std::size_t end = i + problem->graph().size(id); i < end; ++i) {
      const Rational& x = witness.inputs[i];
      const std::string element = place + ", input element " + std::to_string(i);
      if (problem->floating() && !whole && !floats::has_number(problem->statement().semantics, x, x))
        return reject("satisfiable.S4", element, "a number of the execution's format", x.to_string());
      if (!(box.lo[i] <= x && x <= box.hi[i] && (!whole || floor(x) == x)))
        return reject("satisfiable.S2", element,
                      (whole ? "an integer in [" : "in [") + box.lo[i].to_string() + ", " + box.hi[i].to_string() + "]", x.to_string());
    }
  }
  auto outputs = problem->floating() ? Scope::State::outputs_of_executions(problem, witness) : outputs_at(*problem, witness, exact_work);
  if (!outputs) return outputs.rejection();
  return Theorem(std::make_shared<Theorem::Content>(
      Theorem::Content{Theorem::Kind::satisfiable, false, problem, problem->assumptions(), witness, std::move(outputs).value()}));
} catch (const Stopped&) {
  return stopped("case " + std::to_string(witness.case_index));
}

}  // namespace assay::logic
