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

#include "kernel/logic/state.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/exact_work.h"
#include "semantics/numbers/wide_interval.h"

namespace assay::logic {
namespace {

enum class Truth : std::uint8_t { holds, fails, open };

// The ends of a scalar as exact fractions; nullopt if an end is infinite or undefined.
std::optional<Rational> low(const Interval& x) { return Rational::from_double(x.lo()); }
std::optional<Rational> high(const Interval& x) { return Rational::from_double(x.hi()); }
std::optional<Rational> low(const WideInterval& x) { return x.lo(); }
std::optional<Rational> high(const WideInterval& x) { return x.hi(); }
std::optional<Rational> low(const Rational& x) { return x; }
std::optional<Rational> high(const Rational& x) { return x; }

template <class S>
struct Run {
  std::vector<Array<S>> values;  // by node

  Truth decide(const Problem& problem, const statement::Row& row) const {
    Rational lower, upper;  // exact bounds of the row's sum
    for (const statement::Term& term : row.terms) {
      const S& value = values[problem.node_of(term.variable)].values[term.variable.element];
      const auto lo = low(value), hi = high(value);
      if (!lo || !hi) return Truth::open;
      const bool positive = term.coefficient.sign() > 0;
      lower += term.coefficient * (positive ? *lo : *hi);
      upper += term.coefficient * (positive ? *hi : *lo);
    }
    if (row.strict ? upper < row.bound : upper <= row.bound) return Truth::holds;
    if (row.strict ? lower >= row.bound : lower > row.bound) return Truth::fails;
    return Truth::open;
  }
  // `open_row` receives the first row that is undecided or fails.
  Truth decide(const Problem& problem, const std::vector<statement::Row>& rows, std::size_t& open_row) const {
    for (std::size_t r = 0; r < rows.size(); ++r) {
      open_row = r;
      const Truth truth = decide(problem, rows[r]);
      if (truth != Truth::holds) return truth;
    }
    return Truth::holds;
  }
};

template <class S>
Outcome<Run<S>> run(const Graph& graph, const std::vector<Rational>& point) {
  std::vector<Array<S>> inputs;
  std::size_t at = 0;
  for (const NodeId id : graph.inputs) {
    Array<S> input{graph.node(id).shape, {}};
    for (std::size_t i = 0; i < graph.size(id); ++i) input.values.push_back(S(point[at++]));
    inputs.push_back(std::move(input));
  }
  auto values = evaluate<S>(graph, inputs);
  if (!values) return values.rejection();
  return Run<S>{std::move(values).value()};
}

// Exact numbers may double their length at each product. `work` bounds their cost; beyond it the answer is "open".
template <class S>
Truth attempt(const Problem& problem, const Witness& witness, double work, std::size_t& open_row) {
  Truth truth = Truth::open;
  const bool finished = within_exact_work(work, [&] {
    const auto result = run<S>(problem.graph(), witness.inputs);
    if (result) truth = result.value().decide(problem, problem.statement().property.cases[witness.case_index].rows, open_row);
  });
  return finished ? truth : Truth::open;
}

}  // namespace

Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>& problem, const Witness& witness, double exact_work) try {
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  const auto& cases = problem->statement().property.cases;
  const std::string place = "case " + std::to_string(witness.case_index);
  if (!(witness.case_index < cases.size())) return reject("satisfiable.S1", place, "a case of the property", "no such case");
  // Its ends are values of the inputs' types.
  const statement::InputBox& box = problem->group_box(problem->group_of_case(witness.case_index));
  if (witness.inputs.size() != box.lo.size())
    return reject("satisfiable.S1", place, std::to_string(box.lo.size()) + " input values", std::to_string(witness.inputs.size()));
  std::size_t i = 0;
  for (const NodeId id : problem->graph().inputs) {
    const bool whole = !is_float(problem->graph().node(id).dtype);
    for (const std::size_t end = i + problem->graph().size(id); i < end; ++i) {
      const Rational& x = witness.inputs[i];
      if (problem->floating() && !whole && !problem->is_number(x))
        return reject("satisfiable.S4", place + ", input element " + std::to_string(i), "a number of the execution's format",
                      x.to_string());
      if (box.lo[i] <= x && x <= box.hi[i] && (!whole || floor(x) == x)) continue;
      return reject("satisfiable.S2", place + ", input element " + std::to_string(i),
                    (whole ? "an integer in [" : "in [") + box.lo[i].to_string() + ", " + box.hi[i].to_string() + "]", x.to_string());
    }
  }
  Theorem::Content theorem{Theorem::Kind::satisfiable, false, problem, problem->assumptions(), witness, {}};
  const auto holds = [&] { return Theorem(std::make_shared<Theorem::Content>(std::move(theorem))); };
  if (problem->floating()) {
    auto outputs = Scope::State::outputs_of_executions(problem, witness);
    if (!outputs) return outputs.rejection();
    theorem.outputs = std::move(outputs).value();
    return holds();
  }
  const auto coarse = run<Interval>(problem->graph(), witness.inputs);
  if (!coarse) return coarse.rejection();
  std::size_t row = 0;
  Truth truth = coarse.value().decide(*problem, cases[witness.case_index].rows, row);
  if (truth == Truth::open) truth = attempt<WideInterval>(*problem, witness, exact_work, row);
  if (truth == Truth::open) truth = attempt<Rational>(*problem, witness, exact_work, row);
  if (truth == Truth::fails)
    return reject("satisfiable.S3", place + ", row " + std::to_string(row), "every row of the case holds", "this one does not");
  if (truth == Truth::open)
    return declined("satisfiable.S3", place + ", row " + std::to_string(row), "a decided row",
                    "open at 256 bits, and in exact fractions of a length that the network's size allows");
  for (const NodeId id : problem->graph().outputs) {
    const auto& values = coarse.value().values[id].values;
    theorem.outputs.insert(theorem.outputs.end(), values.begin(), values.end());
  }
  return holds();
} catch (const Stopped&) {
  return stopped("case " + std::to_string(witness.case_index));
}

}  // namespace assay::logic
