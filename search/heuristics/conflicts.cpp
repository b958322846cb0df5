// What closed leaves teach: activities of needed literals, and jumps back over literals that were not needed.
#include <tuple>

#include "search/bab/branching_engine.h"

namespace assay::search {
namespace {

constexpr double kActivityGrowth = 1.02;  // per closed leaf
constexpr double kLargestActivity = 1e100;
constexpr int kAncestorSteps = 5;  // of ascent, to make up for the missing literals

}  // namespace

// Among the neurons that can be split: by influence, then activity, then score; the caller holds the lock.
std::uint32_t Branching::most_active(const BoundResult& result) const {
  std::uint32_t best = Probe::kNone;
  const auto rank = [&](std::uint32_t neuron) {
    return std::tuple(result.influence.empty() ? 0.0F : result.influence[neuron], activity_[neuron], result.scores[neuron]);
  };
  for (std::uint32_t neuron = 0; neuron < graph_.neuron_count(); ++neuron) {
    if (result.scores[neuron] > 0 && (best == Probe::kNone || rank(neuron) > rank(best))) best = neuron;
  }
  return best;
}

// Literals that closed a leaf deserve an early place.
void Branching::bump(const Treated& treated, const BoundResult& result) {
  const std::lock_guard lock(mutex_);
  for (std::size_t k = root_literals_.size(); k < result.needed.size(); ++k) {
    if (!result.needed[k]) continue;
    for (const std::uint32_t neuron : graph_.neurons_of(treated.literals[k].node, treated.literals[k].element))
      activity_[neuron] += increment_;
  }
  increment_ *= kActivityGrowth;
  if (increment_ > kLargestActivity) {
    for (double& activity : activity_) activity /= kLargestActivity;
    increment_ = 1;
  }
}

// The program again, or the same parameters without the last literals and a few more steps.
BoundResult Branching::bound_ancestor(Worker& worker, const BoundTask& task, std::uint32_t position) {
  BoundTask from = task;
  LpResult solved;
  AlphaBetaOptions options;
  options.iterations = kAncestorSteps;
  if (relaxation_) {
    solved = program(worker, position).solve(*task.boxes, task.literals);
    if (solved.status != LpResult::Status::stopped) from.start = &solved.parameters;
    options.iterations = 1;
    options.quantize = false;
  }
  BoundResult result;
  worker.ascent.run({&from, 1}, options, {&result, 1});
  return result;
}

// The kernel's word on the node `up` literals above.
bool Branching::refute_ancestor(Worker& worker, const Treated& treated, const BoundResult& leaf, std::size_t up) {
  Record record = treated.node.record;
  for (std::size_t k = 0; k < up; ++k) record = record->parent;
  AlphaBeta start = leaf.parameters;
  std::vector<kernel::Literal> literals = treated.literals;
  literals.resize(literals.size() - up);
  start.beta.resize(std::min(start.beta.size(), literals.size()));
  NeuronBoxes boxes = root_boxes_;
  for (std::size_t k = root_literals_.size(); k < literals.size(); ++k) boxes.meet(graph_, literals[k]);
  const std::uint32_t position = treated.node.cases[0].position;
  BoundTask task;
  task.rows = &network_.rows(network_.problem()->group_cases(group_)[position]);
  task.boxes = &boxes;
  task.literals = literals;
  task.start = &start;
  const BoundResult result = bound_ancestor(worker, task, position);
  if (!(result.bound > 0)) return false;
  const std::shared_ptr<const kernel::Scope> scope = tree_->scope_of(record);
  if (scope == nullptr) return false;
  const std::vector<kernel::CaseMultipliers> multipliers{{position, result.parameters.weights}};
  const kernel::Hints hints = to_hints(graph_, result.parameters);
  Outcome<kernel::Refutation> refutation = scope->conclude(multipliers, hints);
  if (!refutation.ok()) return false;
  certificate::Fragment steps;
  steps.conclude(multipliers, hints);
  close(record, std::move(refutation).value(), steps);
  return true;
}

// Where the last literals of a leaf were not needed, an ancestor can be refuted in its place, and its other branches with it.
void Branching::jump_back(Worker& worker, Treated& treated) {
  const BoundResult& leaf = treated.closed[0];
  bump(treated, leaf);
  std::size_t up = 0;
  while (up < treated.node.record->depth && !leaf.needed[treated.literals.size() - 1 - up]) ++up;
  for (; up > 0; up /= 2) {
    if (refute_ancestor(worker, treated, leaf, up)) return;
  }
  close(treated.node.record, std::nullopt, treated.steps);
}

}  // namespace assay::search
