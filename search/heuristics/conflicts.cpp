// Conflicts: activities of needed literals, and backjumps over literals that were not needed.
//
// Neurons are ranked by influence, then by activity, then by score. A backjump first tries the furthest ancestor that
// the needed literals allow, then an ancestor half as far, and so on, since the kernel may refuse the furthest.
//
// Source: VSIDS and backjumping as in conflicts.h. How this version differs: multipliers take the place of resolution.

#include "search/heuristics/conflicts.h"

#include <tuple>
#include <utility>

namespace assay::search {
namespace {

constexpr double kActivityGrowth = 1.02;  // factor per closed leaf
constexpr double kLargestActivity = 1e100;

}  // namespace

std::uint32_t Conflicts::most_active(const BoundResult& result) const {
  const std::lock_guard lock(mutex_);
  std::uint32_t best = StrongSplit::kNone;
  const auto rank = [&](std::uint32_t neuron) {
    return std::tuple(result.influence.empty() ? 0.0F : result.influence[neuron], activity_[neuron], result.scores[neuron]);
  };
  for (std::uint32_t neuron = 0; neuron < root_.graph.neuron_count(); ++neuron) {
    if (result.scores[neuron] > 0 && (best == StrongSplit::kNone || rank(neuron) > rank(best))) best = neuron;
  }
  return best;
}

void Conflicts::bump(const Treated& treated, const BoundResult& leaf) {
  const std::lock_guard lock(mutex_);
  for (std::size_t k = root_.literals.size(); k < leaf.needed.size(); ++k) {
    if (!leaf.needed[k]) continue;
    for (const std::uint32_t neuron : root_.graph.neurons_of(treated.literals[k].node, treated.literals[k].element))
      activity_[neuron] += increment_;
  }
  increment_ *= kActivityGrowth;
  if (increment_ > kLargestActivity) {
    for (double& activity : activity_) activity /= kLargestActivity;
    increment_ = 1;
  }
}

// Asks the kernel to refute the case at the ancestor that lies `up` literals above the leaf.
bool Conflicts::refute_above(ActivationBounder& bounder, Engine& engine, const Treated& treated, std::uint32_t position,
                             std::size_t up) const {
  BranchTree::Record record = treated.node->record;
  for (std::size_t k = 0; k < up; ++k) record = record->parent;
  AlphaBeta start = treated.closed[0].parameters;
  std::vector<logic::Literal> literals = treated.literals;
  literals.resize(literals.size() - up);
  start.beta.resize(std::min(start.beta.size(), literals.size()));
  NeuronBoxes boxes = root_.boxes;
  for (std::size_t k = root_.literals.size(); k < literals.size(); ++k) boxes.meet(root_.graph, literals[k]);
  const BoundTask task{&root_.graph.network().rows(root_.case_of(position)), &boxes, literals, &start};
  const BoundResult result = bounder.bound_above(task, position);
  if (!(result.bound > 0)) return false;
  const std::shared_ptr<const logic::Scope> scope = engine.tree().scope_of(record);
  if (scope == nullptr) return false;
  const std::vector<logic::CaseMultipliers> multipliers{{position, result.parameters.weights}};
  const logic::Hints hints = to_hints(root_.graph, result.parameters);
  Outcome<logic::Refutation> refutation = scope->conclude(multipliers, hints);
  if (!refutation.ok()) return false;
  certificate::Fragment steps;
  steps.conclude(multipliers, hints);
  engine.close(record, std::move(refutation).value(), steps);
  return true;
}

// If the last literals of a leaf were not needed, an ancestor can be refuted in its place, which closes the other nodes
// below the ancestor as well.
void Conflicts::jump_back(ActivationBounder& bounder, Engine& engine, const Treated& treated, std::uint32_t position) {
  const BoundResult& leaf = treated.closed[0];
  bump(treated, leaf);
  std::size_t up = 0;
  while (up < treated.node->record->depth && !leaf.needed[treated.literals.size() - 1 - up]) ++up;
  for (; up > 0; up /= 2) {
    if (refute_above(bounder, engine, treated, position, up)) return;
  }
  engine.close(treated.node->record, std::nullopt, treated.steps);
}

}  // namespace assay::search
