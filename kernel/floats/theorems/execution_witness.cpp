// Rule satisfiable in a floating semantics, S4: the rows hold for the outputs of every execution at a point. The proof
// uses facts on the scope of that point alone.

#include <algorithm>
#include <cmath>

#include "kernel/logic/state.h"
#include "semantics/numbers/directed.h"

namespace assay::logic {

Outcome<std::unique_ptr<Scope::State>> Scope::State::at_point(const std::shared_ptr<const Problem>& problem, std::size_t group,
                                                              const std::vector<Rational>& inputs) {
  auto root = State::root(problem, group);
  if (!root) return root;
  State& scope = *root.value();
  std::size_t at = 0;
  for (const NodeId id : problem->graph().inputs) {
    relax::Box box;
    for (std::size_t i = 0; i < problem->graph().size(id); ++i, ++at) {
      box.lo.push_back(inputs[at].double_down());
      box.hi.push_back(inputs[at].double_up());
    }
    scope.boxes_[id] = std::make_shared<relax::Box>(std::move(box));
  }
  const Network::State& network = *scope.network_;
  for (const NodeId id : network.active_nodes_) {
    if (problem->graph().node(id).op == Op::input) continue;
    if (auto done = scope.propagate_box(id); !done) return done.rejection();
    if (!std::ranges::binary_search(network.worth_refining_.nodes, id)) continue;
    const std::vector<std::uint32_t> elements =
        policy::unstable(scope.boxes_[id]->lo, scope.boxes_[id]->hi, network.worth_refining_.kink_at_zero[id]);
    if (auto done = scope.tighten(id, elements, {}, nullptr, false); !done) return done.rejection();
  }
  return root;
}

// A lower bound of the sum of the row's terms, or of its negative.
Outcome<double> Scope::State::lower_bound(const statement::Row& row, bool negated) const {
  Targets targets;
  for (const statement::Term& term : row.terms)
    targets.add(problem_->node_of(term.variable), term.variable.element, negated ? -term.coefficient : term.coefficient);
  targets.rows = 1;
  const auto bounds = back_substitute(targets, {});
  if (!bounds) return bounds.rejection();
  return std::fmax(bounds.value().front().lower, by_boxes(targets.entries));
}

// The outputs of every execution at the witness, if they satisfy the rows of the case.
Outcome<std::vector<Interval>> Scope::State::outputs_of_executions(const std::shared_ptr<const Problem>& problem, const Witness& witness) {
  const auto scope = at_point(problem, problem->group_of_case(witness.case_index), witness.inputs);
  if (!scope) return scope.rejection();
  const std::vector<statement::Row>& rows = problem->statement().property.cases[witness.case_index].rows;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const statement::Row& row = rows[r];
    const auto here = [&] { return statement::row_at(witness.case_index, r, witness.inputs); };
    const auto negative = scope.value()->lower_bound(row, true), positive = scope.value()->lower_bound(row, false);
    if (!negative || !positive) return negative ? positive.rejection() : negative.rejection();
    const auto most = Rational::from_double(negative.value()), least = Rational::from_double(positive.value());
    if (least && (row.strict ? *least >= row.bound : *least > row.bound))
      return reject("satisfiable.S4", here(), "a point at which every row of the case holds", "one at which no execution satisfies it");
    if (!most || !(row.strict ? -*most < row.bound : -*most <= row.bound))
      return declined("satisfiable.S4", here(), "a row that holds for every execution of the model",
                      "error bounds that do not show it: executions may differ in the order of sums, or the bounds are too wide",
                      "another point, a model of fewer executions, or real arithmetic");
  }
  std::vector<Interval> outputs;
  for (const NodeId id : problem->graph().outputs) {
    const relax::Box& box = *scope.value()->boxes_[id];
    for (std::size_t k = 0; k < box.lo.size(); ++k) outputs.emplace_back(box.lo[k], box.hi[k]);
  }
  return outputs;
}

}  // namespace assay::logic
