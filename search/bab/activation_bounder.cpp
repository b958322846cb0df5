// ActivationBounder: loads subdomains, bounds their cases by alpha-beta-CROWN, and asks the kernel.
//
// The ascent starts from the parameters of the parent, with a beta for the new literal. A bound above 0 is a proposal:
// the kernel repeats it with the same slopes and multipliers. If the bound stays at or below 0, its minimiser is tried
// as a witness.
//
// Sources: beta-CROWN (Wang et al. 2021), alpha-CROWN (Xu et al. 2021). How this version differs: in a floating
// semantics it aims for bounds that exceed 0 by the loss seen so far, so that the kernel's proof holds.

#include <algorithm>
#include <cmath>
#include <utility>

#include "certificates/check/refutations.h"
#include "kernel/inspect/inspect.h"
#include "search/attack/attack.h"
#include "search/bab/activation_bab.h"

namespace assay::search {

double ExpectedLoss::value() const {
  const std::lock_guard lock(mutex_);
  return loss_;
}

// Later bounds aim above the largest loss of executions seen here, with a margin.
void ExpectedLoss::note(double loss) {
  constexpr double kMore = 1.25;
  const std::lock_guard lock(mutex_);
  if (std::isfinite(loss)) loss_ = std::max(loss_, kMore * loss);
}

logic::Literal ActivationRoot::literal_at(const NeuronBoxes& in, std::uint32_t neuron) const {
  const NeuronGraph::Activation& activation = graph.activation_of(neuron);
  return {activation.operand, neuron - activation.first_neuron, false, graph.split_point(neuron, in.lo[neuron], in.hi[neuron]).value_or(0)};
}

ActivationBounder::ActivationBounder(const ActivationRoot& root, Engine& engine, ExpectedLoss& loss)
    : root_(root), engine_(engine), loss_(loss), ascent_(root.graph, engine.limit()) {
  workspace_.limit = engine.limit();
}

// Loads the root's boxes, cut by the literals on the path.
void ActivationBounder::load(Treated& treated) const {
  treated.boxes = root_.boxes;
  treated.literals = root_.literals;
  treated.literals.resize(root_.literals.size() + treated.node->record->depth);
  std::size_t at = treated.literals.size();
  for (const BranchRecord* record = treated.node->record.get(); record->parent; record = record->parent.get())
    treated.literals[--at] = record->literal;
  for (std::size_t k = root_.literals.size(); k < treated.literals.size(); ++k) treated.boxes.meet(root_.graph, treated.literals[k]);
  treated.results.resize(treated.node->cases.size());
}

BoundTask ActivationBounder::task_of(const Target& target) const {
  const Treated& treated = *target.treated;
  const auto& rows = root_.graph.network().rows(root_.case_of(target.open().position));
  return {&rows, &treated.boxes, treated.literals, target.open().parameters.get(), target.open().last_beta};
}

// Linear programs come first, for subdomains whose split asked for one. Then one ascent bounds all other cases of the
// batch. Linear programs come again for cases that the ascent leaves open without a promising split.
void ActivationBounder::bound(std::span<Treated> batch) {
  std::vector<Target> targets;
  for (Treated& treated : batch) {
    load(treated);
    for (std::size_t k = 0; k < treated.node->cases.size(); ++k) {
      const Target target{&treated, k};
      if (!treated.node->by_program || !bound_by_program(target)) targets.push_back(target);
    }
  }
  bound_by_ascent(targets);
  for (const Target& target : targets) {
    const BoundResult& result = target.result();
    if (root_.relaxation && !target.treated->node->by_program && !(result.bound > 0) && result.strong_split.neuron == StrongSplit::kNone)
      bound_by_program(target);
  }
}

// All cases of a batch ascend side by side. The root gets more steps, because all ascents below start from
// its parameters.
void ActivationBounder::bound_by_ascent(std::span<const Target> targets) {
  std::vector<BoundTask> tasks;
  bool root = false;
  for (const Target& target : targets) {
    root = root || engine_.is_root(*target.treated->node);
    tasks.push_back(task_of(target));
  }
  AlphaBetaOptions options;
  options.iterations = root ? engine_.options().root_iterations : engine_.options().node_iterations;
  options.scores = true;
  options.target += loss_.value();
  std::vector<BoundResult> results(tasks.size());
  ascent_.run(tasks, options, results);
  for (std::size_t k = 0; k < targets.size(); ++k) targets[k].result() = std::move(results[k]);
}

// Literals that contradict each other leave no point. The kernel accepts that without a bound.
bool ActivationBounder::close_empty(Treated& treated) {
  if (!treated.boxes.is_empty()) return false;
  const std::shared_ptr<const logic::Scope> scope = engine_.tree().scope_of(treated.node->record);
  if (scope == nullptr) return false;
  Outcome<logic::Refutation> refutation = scope->empty();
  if (!refutation.ok()) return false;
  treated.steps.empty();
  treated.node->record->own = std::move(refutation).value();
  treated.node->cases.clear();
  return true;
}

// The minimiser may be a counterexample, or close to one. It gets more steps of attack if all activations are decided,
// because the bound is exact then. So does a sample of the other minimisers.
bool ActivationBounder::is_witness(std::uint32_t position, const BoundResult& result) {
  constexpr std::uint64_t kSampleEvery = 16;
  constexpr int kFewSteps = 1, kManySteps = 25;
  const auto neurons = static_cast<std::ptrdiff_t>(std::min(result.scores.size(), root_.graph.neuron_count()));
  const bool decided = std::none_of(result.scores.begin(), result.scores.begin() + neurons, [](float score) { return score > 0; });
  const int steps = decided || ++minimisers_ % kSampleEvery == 0 ? kManySteps : kFewSteps;
  auto theorem = attack_from(root_.graph.network(), root_.candidates, root_.case_of(position), result.x, steps, workspace_);
  if (!theorem) return false;
  engine_.found(*std::move(theorem));
  return true;
}

// Merges each accepted bound of a case into the record's own refutation at once, and closes the record once no case
// is open.
bool ActivationBounder::close_cases(Treated& treated) {
  std::vector<OpenCase> open;
  std::vector<BoundResult> open_results;
  for (std::size_t k = 0; k < treated.node->cases.size(); ++k) {
    OpenCase& one = treated.node->cases[k];
    BoundResult& result = treated.results[k];
    one.bound = result.bound;
    if (result.bound > 0) {
      const std::shared_ptr<const logic::Scope> scope = engine_.tree().scope_of(treated.node->record);
      const std::vector<logic::CaseMultipliers> multipliers{{one.position, result.parameters.weights}};
      const logic::Hints hints = to_hints(root_.graph, result.parameters);
      if (scope != nullptr) {
        const bool floating = root_.graph.network().problem()->floating();
        inspect::Diagnosis diagnosis;
        Outcome<logic::Refutation> refutation =
            floating ? inspect::conclude(*scope, multipliers, hints, diagnosis) : scope->conclude(multipliers, hints);
        if (refutation.ok()) {
          // The checker's own slopes are preferred if they prove the case: the checker has their lines already.
          const logic::Hints fewer{{}, {}, hints.beta, hints.cuts};
          treated.steps.conclude(multipliers, scope->conclude(multipliers, fewer).ok() ? fewer : hints);
          (void)certificate::merge_into(treated.node->record->own, std::move(refutation));
          continue;
        }
        if (floating && diagnosis.losses.size() == 1) loss_.note(diagnosis.losses[0]);
      }
    } else if (is_witness(one.position, result)) {
      return false;
    }
    one.parameters = std::make_shared<const AlphaBeta>(std::move(result.parameters));
    open.push_back(std::move(one));
    open_results.push_back(std::move(result));
  }
  treated.node->cases = std::move(open);
  treated.results = std::move(open_results);
  return true;
}

}  // namespace assay::search
