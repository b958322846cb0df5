// What closed leaves teach: activities of needed literals, and jumps back over literals that were not needed.
#include <tuple>

#include "search/bab/branching_engine.h"

namespace assay::search {
namespace {

constexpr double kActivityGrowth = 1.02;  // per closed leaf
constexpr double kLargestActivity = 1e100;
constexpr int kAncestorSteps = 5;  // of ascent, to make up for the missing literals

}  // namespace

// Among the slots that can be split: by influence, then activity, then score; the caller holds the lock.
std::uint32_t Branching::most_active(const DualResult& result) const {
  std::uint32_t best = Probe::kNone;
  const auto rank = [&](std::uint32_t slot) {
    return std::tuple(result.influence.empty() ? 0.0F : result.influence[slot], activity_[slot], result.scores[slot]);
  };
  for (std::uint32_t slot = 0; slot < graph_.slot_count(); ++slot) {
    if (result.scores[slot] > 0 && (best == Probe::kNone || rank(slot) > rank(best))) best = slot;
  }
  return best;
}

// Literals that closed a leaf deserve an early place.
void Branching::bump(const Treated& treated, const DualResult& result) {
  const std::lock_guard lock(mutex_);
  for (std::size_t k = root_literals_.size(); k < result.needed.size(); ++k) {
    if (!result.needed[k]) continue;
    for (const std::uint32_t slot : graph_.slots_of(treated.literals[k].node, treated.literals[k].element)) activity_[slot] += increment_;
  }
  increment_ *= kActivityGrowth;
  if (increment_ > kLargestActivity) {
    for (double& activity : activity_) activity /= kLargestActivity;
    increment_ = 1;
  }
}

// The program again, or the same parameters without the last literals and a few more steps.
DualResult Branching::bound_ancestor(Worker& worker, const DualTask& task, std::uint32_t position) {
  DualTask from = task;
  LpResult solved;
  DualOptions options;
  options.iterations = kAncestorSteps;
  if (relaxation_) {
    solved = program(worker, position).solve(*task.boxes, task.literals);
    if (solved.status != LpResult::Status::stopped) from.start = &solved.parameters;
    options.iterations = 1;
    options.quantize = false;
  }
  DualResult result;
  worker.ascent.run({&from, 1}, options, {&result, 1});
  return result;
}

// The kernel's word on the node `up` literals above.
bool Branching::refute_ancestor(Worker& worker, const Treated& treated, const DualResult& leaf, std::size_t up) {
  Record record = treated.node.record;
  for (std::size_t k = 0; k < up; ++k) record = record->parent;
  DualParameters start = leaf.parameters;
  std::vector<kernel::Literal> literals = treated.literals;
  literals.resize(literals.size() - up);
  start.beta.resize(std::min(start.beta.size(), literals.size()));
  DualBoxes boxes = root_boxes_;
  for (std::size_t k = root_literals_.size(); k < literals.size(); ++k) boxes.meet(graph_, literals[k]);
  const std::uint32_t position = treated.node.cases[0].position;
  DualTask task;
  task.rows = &network_.rows(network_.problem()->group_cases(group_)[position]);
  task.boxes = &boxes;
  task.literals = literals;
  task.start = &start;
  const DualResult result = bound_ancestor(worker, task, position);
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
  const DualResult& leaf = treated.closed[0];
  bump(treated, leaf);
  std::size_t up = 0;
  while (up < treated.node.record->depth && !leaf.needed[treated.literals.size() - 1 - up]) ++up;
  for (; up > 0; up /= 2) {
    if (refute_ancestor(worker, treated, leaf, up)) return;
  }
  close(treated.node.record, std::nullopt, treated.steps);
}

}  // namespace assay::search
