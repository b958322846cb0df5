// relu_branching(): rounds of batches: choose splits, bound the children, conclude or keep.

#include "search/bab/relu_branching.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <thread>
#include <utility>
#include <vector>

#include "search/attack/attack.h"
#include "search/bab/branching_engine.h"
#include "search/heuristics/input_splits.h"

namespace assay::search {
namespace {

constexpr std::size_t kWideBatch = 64, kDeepBatch = 8;  // nodes that a thread treats at once
constexpr std::uint64_t kFirstRound = 100;              // leaves before the first restart; doubled every time

}  // namespace

void Branching::finish(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = std::move(reason);
  finished_ = true;
  changed_.notify_all();
}

bool Branching::pop(Worker& worker) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ || !open_.empty() || in_work_ == 0; });
  if (options_.most_nodes > 0 && nodes_ >= options_.most_nodes && !finished_) {
    reason_ = "nodes";
    finished_ = true;
    changed_.notify_all();
  }
  if (!finished_ && has_to_pause()) {
    reason_ = "time";
    finished_ = true;
    changed_.notify_all();
  }
  if (options_.open_leaves > 0 && !finished_) choose_hardest();
  if (finished_ || open_.empty()) return false;
  // A share of the open nodes, so that the other threads find work too; the newest first, to keep the stack short.
  const std::size_t fair = (open_.size() + static_cast<std::size_t>(options_.threads) - 1) / static_cast<std::size_t>(options_.threads);
  std::size_t tasks = 0;
  worker.batch.clear();
  worker.share = 0;
  const std::size_t limit = options_.open_leaves > 0 ? 1 : std::min(worker.ascent.capacity(), learning_ ? kDeepBatch : kWideBatch);
  while (!open_.empty() && worker.batch.size() < fair && (worker.batch.empty() || tasks + open_.back().cases.size() <= limit)) {
    if (tree_->is_void(open_.back().record)) {
      open_.pop_back();
      continue;
    }
    // Programs start best from the last one's basis: such nodes go one by one, newest first.
    if (!worker.batch.empty() && (open_.back().by_program || worker.batch.back().node.by_program)) break;
    tasks += open_.back().cases.size();
    Treated& treated = worker.batch.emplace_back();
    treated.node = std::move(open_.back());
    worker.share += std::ldexp(1.0, -static_cast<int>(treated.node.record->depth));
    open_.pop_back();
  }
  in_work_ += worker.batch.size();
  share_in_work_ += worker.share;
  nodes_ += worker.batch.size();
  return true;
}

// The children take the batch's place at once: shares of the tree are read in between.
void Branching::push(std::vector<OpenNode> children, Worker& worker) {
  const std::lock_guard lock(mutex_);
  for (OpenNode& node : children) open_.push_back(std::move(node));
  in_work_ -= worker.batch.size();
  share_in_work_ -= worker.share;
  worker.batch.clear();
  // An open node holds at most its own slopes, its scope's changed boxes and some words.
  const std::uint64_t node_bytes = graph_.neuron_count() * 20 + 2000;
  if (options_.memory_limit_bytes > 0 && open_.size() * node_bytes + tree_->byte_size() > options_.memory_limit_bytes && !finished_) {
    reason_ = "memory";
    finished_ = true;
  }
  changed_.notify_all();
}

void Branching::load(Treated& treated) const {
  treated.boxes = root_boxes_;
  treated.literals = root_literals_;
  treated.literals.resize(root_literals_.size() + treated.node.record->depth);
  std::size_t at = treated.literals.size();
  for (const BranchRecord* record = treated.node.record.get(); record->parent; record = record->parent.get())
    treated.literals[--at] = record->literal;
  for (std::size_t k = root_literals_.size(); k < treated.literals.size(); ++k) treated.boxes.meet(graph_, treated.literals[k]);
  treated.results.resize(treated.node.cases.size());
}

BoundTask Branching::task_of(const Target& target) const {
  const std::uint32_t index = network_.problem()->group_cases(group_)[target.open().position];
  const Treated& treated = *target.treated;
  return {&network_.rows(index), &treated.boxes, treated.literals, target.open().parameters.get(), target.open().last_beta, &root_boxes_};
}

void Branching::evaluate(Worker& worker) {
  std::vector<Target> targets;
  for (Treated& treated : worker.batch) {
    load(treated);
    for (std::size_t k = 0; k < treated.node.cases.size(); ++k) {
      const Target target{&treated, k};
      if (!treated.node.by_program || !evaluate_by_program(worker, target)) targets.push_back(target);
    }
  }
  evaluate_by_ascent(worker, targets);
  for (const Target& target : targets) {
    const BoundResult& result = target.result();
    if (relaxation_ && !target.treated->node.by_program && !(result.bound > 0) && result.probe.neuron == Probe::kNone)
      evaluate_by_program(worker, target);
  }
}

void Branching::evaluate_by_ascent(Worker& worker, std::span<const Target> targets) {
  std::vector<BoundTask> tasks;
  bool root = false;
  for (const Target& target : targets) {
    root = root || is_root(*target.treated);
    tasks.push_back(task_of(target));
  }
  AlphaBetaOptions options;
  options.iterations = root ? options_.root_iterations : options_.node_iterations;
  options.scores = true;
  {
    const std::lock_guard lock(mutex_);
    options.target += loss_;
    if (learning_) options.extra_iterations = 6;
  }
  std::vector<BoundResult> results(tasks.size());
  worker.ascent.run(tasks, options, results);
  for (std::size_t k = 0; k < targets.size(); ++k) targets[k].result() = std::move(results[k]);
}

bool Branching::close_empty(Treated& treated) {
  if (!treated.boxes.is_empty()) return false;
  const std::shared_ptr<const kernel::Scope> scope = tree_->scope_of(treated.node.record);
  if (scope == nullptr) return false;
  Outcome<kernel::Refutation> refutation = scope->empty();
  if (!refutation.ok()) return false;
  treated.steps.empty();
  treated.node.record->own = std::move(refutation).value();
  treated.node.cases.clear();
  return true;
}

// x* may be a counterexample, or close to one. Where all activations are decided the bound is exact and x* deserves more
// steps, as does a sample of the other nodes.
bool Branching::try_minimiser(Worker& worker, std::uint32_t position, const BoundResult& result) {
  constexpr std::uint64_t kSampleEvery = 16;
  constexpr int kFewSteps = 1, kManySteps = 25;
  const bool decided = std::none_of(
      result.scores.begin(), result.scores.begin() + static_cast<std::ptrdiff_t>(std::min(result.scores.size(), graph_.neuron_count())),
      [](float score) { return score > 0; });
  const int steps = decided || ++worker.minimisers % kSampleEvery == 0 ? kManySteps : kFewSteps;
  auto theorem = attack_from(network_, candidates_, network_.problem()->group_cases(group_)[position], result.x, steps, worker.workspace);
  if (!theorem) return false;
  const std::lock_guard lock(mutex_);
  witness_ = std::move(theorem);
  finished_ = true;
  changed_.notify_all();
  return true;
}

// Asks the kernel about every case whose bound is positive; the others stay open.
void Branching::close_cases(Worker& worker, Treated& treated) {
  std::vector<OpenCase> open;
  std::vector<BoundResult> open_results;
  for (std::size_t k = 0; k < treated.node.cases.size(); ++k) {
    OpenCase& one = treated.node.cases[k];
    BoundResult& result = treated.results[k];
    one.bound = result.bound;
    if (result.bound > 0) {
      const std::shared_ptr<const kernel::Scope> scope = tree_->scope_of(treated.node.record);
      const std::vector<kernel::CaseMultipliers> multipliers{{one.position, result.parameters.weights}};
      const kernel::Hints hints = to_hints(graph_, result.parameters);
      if (scope != nullptr) {
        const bool floating = network_.problem()->floating();
        kernel::Diagnosis diagnosis;
        Outcome<kernel::Refutation> refutation = scope->conclude(multipliers, hints, floating ? &diagnosis : nullptr);
        if (refutation.ok()) {
          // Where the checker's own slopes do, it has their lines already.
          const kernel::Hints fewer{{}, {}, hints.beta, hints.cuts};
          treated.steps.conclude(multipliers, scope->conclude(multipliers, fewer).ok() ? fewer : hints);
          std::optional<kernel::Refutation>& own = treated.node.record->own;
          if (!own) {
            own = std::move(refutation).value();
          } else if (Outcome<kernel::Refutation> both = kernel::merge(*own, refutation.value()); both.ok()) {
            own = std::move(both).value();
          }
          treated.closed.push_back(std::move(result));
          continue;
        }
        if (floating && diagnosis.losses.size() == 1) expect_loss(diagnosis.losses[0]);
      }
    } else if (try_minimiser(worker, one.position, result)) {
      return;
    }
    one.parameters = std::make_shared<const AlphaBeta>(std::move(result.parameters));
    open.push_back(std::move(one));
    open_results.push_back(std::move(result));
  }
  treated.node.cases = std::move(open);
  treated.results = std::move(open_results);
}

// Later bounds are pushed until they exceed what executions lost here, and somewhat more.
void Branching::expect_loss(double loss) {
  constexpr double kMore = 1.25;
  const std::lock_guard lock(mutex_);
  if (std::isfinite(loss)) loss_ = std::max(loss_, kMore * loss);
}

void Branching::close(const Record& record, std::optional<kernel::Refutation> refutation, const certificate::Fragment& steps) {
  const BranchTree::Closed closed = tree_->close(record, std::move(refutation), steps);
  const std::lock_guard lock(mutex_);
  ++leaves_;
  ++round_leaves_;
  if (closed == BranchTree::Closed::below) return;
  if (closed == BranchTree::Closed::refused) reason_ = tree_->refusal();
  finished_ = true;
  changed_.notify_all();
}

void Branching::work() {
  Worker worker(graph_, limit_);
  try {
    work_with(worker);
  } catch (const std::bad_alloc&) {
    leave(worker);
    throw;
  }
  leave(worker);
}

void Branching::work_with(Worker& worker) {
  while (pop(worker)) {
    if (options_.threads == 1 && options_.between_nodes) options_.between_nodes();
    if (!limit_.reached()) evaluate(worker);
    for (Treated& treated : worker.batch) {
      if (limit_.reached()) return finish("time");  // also what was evaluated may be cut short
      const std::vector<OpenCase> before = treated.node.cases;
      if (!close_empty(treated)) close_cases(worker, treated);
      bool learning = false;
      {
        const std::lock_guard lock(mutex_);
        if (finished_) return;
        learning = learning_;
      }
      if (limit_.reached()) return finish("time");
      if (treated.node.cases.empty()) {
        const bool alone = before.size() == 1 && treated.closed.size() == 1 && treated.closed[0].needed.size() == treated.literals.size();
        treated.node.cases = before;
        if ((learning || relaxation_) && alone)
          jump_back(worker, treated);
        else
          close(treated.node.record, std::nullopt, treated.steps);
        treated.node.cases.clear();
        continue;
      }
      tree_->append(treated.node.record, treated.steps);
      {
        const std::lock_guard lock(mutex_);
        propose_splits(treated, learning);
      }
      if (treated.splits.empty() && treated.probe.neuron == Probe::kNone) {
        finish("a node without anything to split stays open");
        return;
      }
    }
    choose_and_split(worker);
    const std::lock_guard lock(mutex_);
    if (learning_ && round_leaves_ >= round_limit_ && !finished_) restart_ = finished_ = true;
    changed_.notify_all();
  }
}

void Branching::report(double seconds) const {
  if (!options_.on_progress) return;
  Progress progress;
  {
    const std::lock_guard lock(mutex_);
    progress.seconds = seconds;
    progress.phase = "relu splitting";
    progress.closed = leaves_;
    progress.open = open_.size() + in_work_;
    // The oldest nodes of the stack are the least treated ones.
    for (std::size_t k = 0; k < std::min<std::size_t>(open_.size(), 16); ++k) {
      for (const OpenCase& one : open_[k].cases) progress.worst_bound = std::min(progress.worst_bound, one.bound);
    }
  }
  options_.on_progress(progress);
}

void Branching::run_round(std::span<const std::uint32_t> positions, Clock::time_point start) {
  tree_ = std::make_unique<BranchTree>(root_scope_);
  OpenNode first{tree_->root(), {}, kNoBound, relaxation_ != nullptr};
  for (const std::uint32_t position : positions) first.cases.push_back({position, kNoBound, nullptr, 0});
  open_.clear();
  left_.clear();
  open_.push_back(std::move(first));
  in_work_ = 0;
  share_in_work_ = 0;
  round_leaves_ = 0;
  finished_ = restart_ = halt_ = false;
  pace_.begin(seconds_since(start));
  std::vector<std::jthread> threads;
  for (int k = 0; k < std::max(1, options_.threads); ++k) {
    threads.emplace_back([this] {
      try {
        work();
      } catch (const std::bad_alloc&) {
        finish("memory");
      }
    });
  }
  std::unique_lock lock(mutex_);
  while (!finished_ && !(open_.empty() && in_work_ == 0)) {
    changed_.wait_for(lock, std::chrono::milliseconds(100));
    const double seconds = seconds_since(start);
    if (!finished_ && pace_.is_due(seconds)) pace_.note(seconds, closed_share());
    lock.unlock();
    report(seconds);
    lock.lock();
  }
  halt_ = true;
}

Outcome<GroupResult> Branching::run(std::span<const std::uint32_t> positions) {
  const Clock::time_point start = Clock::now();
  round_limit_ = kFirstRound;
  do {
    run_round(positions, start);
    round_limit_ *= 2;
  } while (restart_ && !left_open_ && reason_.empty() && !witness_);
  statistics_.nodes += nodes_;
  statistics_.leaves += leaves_;
  GroupResult result;
  result.by_programs = relaxation_ != nullptr;
  result.refutation = tree_->refutation();
  result.witness = std::move(witness_);
  if (left_open_ && !result.refutation && !result.witness) result.leaves = open_leaves();
  result.tree = tree_->take_proof();
  if (result.refutation || result.witness) return result;
  result.unfinished = unfinished();
  result.unfinished->pace = pace_.at(seconds_since(start), result.unfinished->closed_share);
  result.trial_failed = trial_failed_.value_or(false);
  result.reason = reason_.empty() ? "search ended without an answer" : reason_;
  return result;
}

Outcome<GroupResult> relu_branching(const NeuronGraph& graph, std::size_t group, const kernel::Scope& root,
                                    std::span<const std::uint32_t> positions, const BranchingOptions& options, const std::stop_token& stop,
                                    Statistics& statistics) {
  if (!graph.can_split()) {
    return Rejection{Rejection::Kind::declined,
                     "search.lines",
                     "graph",
                     "ops with planes, and one of them to split",
                     "another op",
                     "use input splitting for this network"};
  }
  statistics.splits_activations = true;
  statistics.free_inputs = std::max(statistics.free_inputs, free_inputs(*graph.network().problem(), root));
  return Branching(graph, group, root, options, stop, statistics).run(positions);
}

}  // namespace assay::search
