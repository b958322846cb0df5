#include "certificates/search/relu_branching.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <numeric>
#include <thread>
#include <vector>

#include "certificates/search/candidate_point.h"

namespace assay::search {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

// A node of the tree as long as something below it is open.
struct Record {
  std::shared_ptr<Record> parent;
  kernel::Literal literal;  // that led here; unused at the root
  std::uint32_t depth = 0, tree_node = ProofTree::kRoot;
  std::optional<kernel::Scope> scope;  // made when first needed, dropped when both children have theirs
  int scopes_made_below = 0;
  std::optional<kernel::Refutation> own, child[2];
};

struct OpenCase {
  std::uint32_t position = 0;
  double bound = kNoBound;
  std::shared_ptr<const DualParameters> parameters;
};

struct OpenNode {
  std::shared_ptr<Record> record;
  std::vector<OpenCase> cases;
};

class Branching {
 public:
  Branching(const DualGraph& graph, std::size_t group, const kernel::Scope& root, const BranchingOptions& options,
            const std::stop_token& stop, Statistics& statistics)
      : graph_(graph),
        network_(graph.network()),
        group_(group),
        options_(options),
        stop_(stop),
        statistics_(statistics),
        candidates_(graph.network(), group),
        root_boxes_(DualBoxes::of(graph, root)),
        root_literals_(root.literals()),
        tree_(std::make_unique<ProofTree>()) {
    root_ = std::make_shared<Record>();
    root_->scope = root;
  }

  Outcome<GroupResult> run(std::span<const std::uint32_t> positions);

 private:
  struct Worker;
  // One popped node while a worker treats it.
  struct Treated {
    OpenNode node;
    DualBoxes boxes;
    std::vector<kernel::Literal> literals;
    std::vector<DualResult> results;  // by open case
    certificate::Fragment steps;
    std::size_t worst = 0;            // the open case with the smallest bound
    std::vector<kernel::Literal> splits;  // candidates (their `<=` side)
  };

  void work();
  bool pop(Worker& worker);
  void push(std::vector<OpenNode> nodes);
  void load(Treated& treated) const;
  void evaluate(Worker& worker);
  void close_cases(Worker& worker, Treated& treated);
  bool close_empty(Treated& treated);
  void propose_splits(Treated& treated) const;
  void choose_and_split(Worker& worker);
  void split(Treated& treated, const kernel::Literal& at_most, std::vector<OpenNode>& children);
  void complete(std::shared_ptr<Record> record, kernel::Refutation refutation);
  const kernel::Scope* scope_of(const std::shared_ptr<Record>& record);
  void finish(std::string reason);
  void report(double seconds) const;
  [[nodiscard]] bool is_root(const Treated& treated) const { return treated.node.record == root_; }

  const DualGraph& graph_;
  const Network& network_;
  const std::size_t group_;
  const BranchingOptions& options_;
  const std::stop_token& stop_;
  Statistics& statistics_;
  const CandidateBox candidates_;
  const DualBoxes root_boxes_;
  const std::vector<kernel::Literal> root_literals_;

  mutable std::mutex mutex_;        // of everything below but the records' scopes
  std::condition_variable changed_;
  std::vector<OpenNode> open_;
  std::size_t in_work_ = 0;
  bool finished_ = false;
  std::string reason_;
  std::optional<kernel::Refutation> refutation_;
  std::optional<kernel::Theorem> witness_;
  std::uint64_t nodes_ = 0, leaves_ = 0;
  std::shared_ptr<Record> root_;
  std::unique_ptr<ProofTree> tree_;
  std::mutex scopes_;               // of the records' scopes
};

struct Branching::Worker {
  explicit Worker(const DualGraph& graph) : ascent(graph) {}
  DualAscent ascent;
  Workspace workspace;
  std::vector<Treated> batch;
};

void Branching::finish(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (reason_.empty()) reason_ = std::move(reason);
  finished_ = true;
  changed_.notify_all();
}

bool Branching::pop(Worker& worker) {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ || !open_.empty() || in_work_ == 0; });
  if (finished_ || open_.empty()) return false;
  // A share of the open nodes, so that the other threads find work too; the newest first, to keep the stack short.
  const std::size_t fair = (open_.size() + static_cast<std::size_t>(options_.threads) - 1) / static_cast<std::size_t>(options_.threads);
  std::size_t tasks = 0;
  worker.batch.clear();
  while (!open_.empty() && worker.batch.size() < fair && (worker.batch.empty() || tasks + open_.back().cases.size() <= worker.ascent.capacity())) {
    tasks += open_.back().cases.size();
    Treated& treated = worker.batch.emplace_back();
    treated.node = std::move(open_.back());
    open_.pop_back();
  }
  in_work_ += worker.batch.size();
  nodes_ += worker.batch.size();
  return true;
}

void Branching::push(std::vector<OpenNode> nodes) {
  const std::lock_guard lock(mutex_);
  for (OpenNode& node : nodes) open_.push_back(std::move(node));
  changed_.notify_all();
}

void Branching::load(Treated& treated) const {
  treated.boxes = root_boxes_;
  treated.literals = root_literals_;
  treated.literals.resize(root_literals_.size() + treated.node.record->depth);
  std::size_t at = treated.literals.size();
  for (const Record* record = treated.node.record.get(); record->parent; record = record->parent.get()) treated.literals[--at] = record->literal;
  for (std::size_t k = root_literals_.size(); k < treated.literals.size(); ++k) treated.boxes.meet(graph_, treated.literals[k]);
  treated.results.resize(treated.node.cases.size());
}

void Branching::evaluate(Worker& worker) {
  const std::vector<std::uint32_t>& cases = network_.problem()->group_cases(group_);
  std::vector<DualTask> tasks;
  bool root = false;
  for (Treated& treated : worker.batch) {
    load(treated);
    root = root || is_root(treated);
    for (const OpenCase& one : treated.node.cases) {
      tasks.push_back({&network_.rows(cases[one.position]), &treated.boxes, treated.literals, one.parameters.get()});
    }
  }
  DualOptions options;
  options.iterations = root ? options_.root_iterations : options_.node_iterations;
  options.scores = true;
  std::vector<DualResult> results(tasks.size());
  worker.ascent.run(tasks, options, results);
  std::size_t at = 0;
  for (Treated& treated : worker.batch) {
    for (DualResult& result : treated.results) result = std::move(results[at++]);
  }
}

// The scope of a record, with those of its ancestors; null if the kernel refuses a literal.
const kernel::Scope* Branching::scope_of(const std::shared_ptr<Record>& record) {
  const std::lock_guard lock(scopes_);
  std::vector<Record*> missing;
  for (Record* at = record.get(); !at->scope; at = at->parent.get()) missing.push_back(at);
  while (!missing.empty()) {
    Record* at = missing.back();
    missing.pop_back();
    kernel::Scope scope = *at->parent->scope;
    if (!scope.assume(at->literal).ok()) return nullptr;
    at->scope = std::move(scope);
    // Nobody derives from the parent's scope any more (its own cases were concluded before it was split).
    if (++at->parent->scopes_made_below == 2) at->parent->scope.reset();
  }
  return &*record->scope;
}

bool Branching::close_empty(Treated& treated) {
  if (!treated.boxes.is_empty()) return false;
  const kernel::Scope* scope = scope_of(treated.node.record);
  if (scope == nullptr) return false;
  Outcome<kernel::Refutation> refutation = scope->empty();
  if (!refutation.ok()) return false;
  treated.steps.empty();
  treated.node.record->own = std::move(refutation).value();
  treated.node.cases.clear();
  return true;
}

// Asks the kernel about every case whose bound is positive; the others stay open.
void Branching::close_cases(Worker& worker, Treated& treated) {
  std::vector<OpenCase> open;
  std::vector<DualResult> open_results;
  for (std::size_t k = 0; k < treated.node.cases.size(); ++k) {
    OpenCase& one = treated.node.cases[k];
    DualResult& result = treated.results[k];
    one.bound = result.bound;
    if (result.bound > 0) {
      const kernel::Scope* scope = scope_of(treated.node.record);
      const std::vector<kernel::CaseMultipliers> multipliers{{one.position, result.parameters.weights}};
      const kernel::Hints hints = to_hints(graph_, result.parameters);
      if (scope != nullptr) {
        Outcome<kernel::Refutation> refutation = scope->conclude(multipliers, hints);
        if (refutation.ok()) {
          treated.steps.conclude(multipliers, hints);
          std::optional<kernel::Refutation>& own = treated.node.record->own;
          if (!own) {
            own = std::move(refutation).value();
          } else if (Outcome<kernel::Refutation> both = kernel::merge(*own, refutation.value()); both.ok()) {
            own = std::move(both).value();
          }
          continue;
        }
      }
    } else if (auto theorem = try_point(network_, candidates_, group_, result.x, worker.workspace)) {
      const std::lock_guard lock(mutex_);
      witness_ = std::move(theorem);
      finished_ = true;
      changed_.notify_all();
      return;
    }
    one.parameters = std::make_shared<const DualParameters>(std::move(result.parameters));
    open.push_back(std::move(one));
    open_results.push_back(std::move(result));
  }
  treated.node.cases = std::move(open);
  treated.results = std::move(open_results);
}

// The most promising splits for the case that is furthest from closed; an input's middle where no activation is left.
void Branching::propose_splits(Treated& treated) const {
  for (std::size_t k = 0; k < treated.node.cases.size(); ++k) {
    if (treated.node.cases[k].bound < treated.node.cases[treated.worst].bound) treated.worst = k;
  }
  const std::vector<float>& scores = treated.results[treated.worst].scores;
  std::vector<std::uint32_t> order;
  for (std::uint32_t slot = 0; slot < graph_.slot_count() && slot < scores.size(); ++slot) {
    if (scores[slot] > 0) order.push_back(slot);
  }
  const std::size_t keep = std::min(order.size(), static_cast<std::size_t>(options_.candidates));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(keep), order.end(),
                    [&](std::uint32_t a, std::uint32_t b) { return scores[a] != scores[b] ? scores[a] > scores[b] : a < b; });
  for (std::size_t k = 0; k < keep; ++k) {
    const DualGraph::Activation& activation = graph_.activation_of(order[k]);
    treated.splits.push_back({activation.operand, order[k] - activation.first_slot, false, 0});
  }
  if (!treated.splits.empty()) return;
  double widest = 0;
  for (const NodeId id : network_.problem()->graph().inputs) {
    const std::size_t offset = network_.input_offset(id);
    for (std::uint32_t i = 0; i < network_.problem()->graph().size(id); ++i) {
      const double lo = treated.boxes.x_lo[offset + i], hi = treated.boxes.x_hi[offset + i];
      const double weight = scores.size() > graph_.slot_count() ? static_cast<double>(scores[graph_.slot_count() + offset + i]) : hi - lo;
      const double middle = 0.5 * (lo + hi);
      if (!(middle > lo && middle < hi) || weight < widest) continue;
      widest = weight;
      treated.splits.assign(1, {id, i, false, middle});
    }
  }
}

namespace {

// Product rule: both children should gain, and no gain counts beyond what closes a child.
double split_value(double parent, double at_most, double at_least) {
  const double needed = -parent + 1e-9;
  const auto gain = [&](double child) { return std::clamp(child - parent, 1e-6 * needed, needed); };
  return gain(at_most) * gain(at_least);
}

}  // namespace

void Branching::choose_and_split(Worker& worker) {
  const std::vector<std::uint32_t>& cases = network_.problem()->group_cases(group_);
  // Both children of every candidate, one step each. Their boxes and literals must not move: reserved.
  std::size_t count = 0;
  for (const Treated& treated : worker.batch) count += treated.splits.size() > 1 ? 2 * treated.splits.size() : 0;
  std::vector<DualBoxes> boxes;
  std::vector<std::vector<kernel::Literal>> literals;
  boxes.reserve(count);
  literals.reserve(count);
  std::vector<DualTask> tasks;
  for (Treated& treated : worker.batch) {
    if (treated.splits.size() < 2) continue;
    const OpenCase& one = treated.node.cases[treated.worst];
    for (const kernel::Literal& split : treated.splits) {
      for (const bool at_least : {false, true}) {
        kernel::Literal literal = split;
        literal.at_least = at_least;
        boxes.push_back(treated.boxes);
        boxes.back().meet(graph_, literal);
        literals.push_back(treated.literals);
        literals.back().push_back(literal);
        tasks.push_back({&network_.rows(cases[one.position]), &boxes.back(), literals.back(), one.parameters.get()});
      }
    }
  }
  std::vector<DualResult> results(tasks.size());
  DualOptions options;
  options.iterations = 1;
  worker.ascent.run(tasks, options, results);
  std::size_t at = 0;
  std::vector<OpenNode> children;
  for (Treated& treated : worker.batch) {
    if (treated.splits.empty()) continue;
    std::size_t best = 0;
    double best_value = kNoBound;
    for (std::size_t k = 0; k < treated.splits.size() && treated.splits.size() > 1; ++k, at += 2) {
      const double value = split_value(treated.node.cases[treated.worst].bound, results[at].bound, results[at + 1].bound);
      if (!(value > best_value)) continue;
      best_value = value;
      best = k;
    }
    split(treated, treated.splits[best], children);
  }
  push(std::move(children));
}

void Branching::split(Treated& treated, const kernel::Literal& at_most, std::vector<OpenNode>& children) {
  const std::shared_ptr<Record>& parent = treated.node.record;
  const std::uint32_t first = tree_->split(parent->tree_node, {at_most.node, at_most.element, at_most.threshold});
  for (const bool at_least : {false, true}) {
    auto record = std::make_shared<Record>();
    record->parent = parent;
    record->literal = at_most;
    record->literal.at_least = at_least;
    record->depth = parent->depth + 1;
    record->tree_node = first + (at_least ? 1 : 0);
    children.push_back({std::move(record), treated.node.cases});
  }
}

// Joins upwards as far as both sides are there.
void Branching::complete(std::shared_ptr<Record> record, kernel::Refutation refutation) {
  const std::lock_guard lock(mutex_);
  ++leaves_;
  while (record->parent) {
    const std::shared_ptr<Record> parent = record->parent;
    parent->child[record->literal.at_least ? 1 : 0] = std::move(refutation);
    if (!parent->child[0] || !parent->child[1]) return;
    Outcome<kernel::Refutation> joined = kernel::join(*parent->child[0], *parent->child[1]);
    if (joined.ok() && parent->own) joined = kernel::merge(*parent->own, joined.value());
    if (!joined.ok()) {
      reason_ = joined.rejection().to_text();
      finished_ = true;
      changed_.notify_all();
      return;
    }
    refutation = std::move(joined).value();
    record = parent;
  }
  refutation_ = std::move(refutation);
  finished_ = true;
  changed_.notify_all();
}

void Branching::work() {
  Worker worker(graph_);
  while (pop(worker)) {
    if (stop_.stop_requested() || Clock::now() >= options_.deadline) {
      finish("time");
      return;
    }
    evaluate(worker);
    for (Treated& treated : worker.batch) {
      if (!close_empty(treated)) close_cases(worker, treated);
      {
        const std::lock_guard lock(mutex_);
        if (finished_) return;
      }
      if (treated.steps.byte_size() > 0) tree_->append(treated.node.record->tree_node, treated.steps);
      if (treated.node.cases.empty()) {
        complete(treated.node.record, *treated.node.record->own);
        continue;
      }
      propose_splits(treated);
      if (treated.splits.empty()) {
        finish("a node without anything to split stays open");
        return;
      }
    }
    choose_and_split(worker);
    const std::lock_guard lock(mutex_);
    in_work_ -= worker.batch.size();
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

Outcome<GroupResult> Branching::run(std::span<const std::uint32_t> positions) {
  OpenNode first{root_, {}};
  for (const std::uint32_t position : positions) first.cases.push_back({position, kNoBound, nullptr});
  open_.push_back(std::move(first));
  const Clock::time_point start = Clock::now();
  {
    std::vector<std::jthread> threads;
    for (int k = 0; k < std::max(1, options_.threads); ++k) threads.emplace_back([this] { work(); });
    std::unique_lock lock(mutex_);
    while (!finished_ && !(open_.empty() && in_work_ == 0)) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      const std::uint64_t bytes = options_.memory_limit_bytes > 0 ? open_.size() * (graph_.slot_count() * 8 + 2000) + tree_->byte_size() : 0;
      if (bytes > options_.memory_limit_bytes) {
        reason_ = "memory";
        finished_ = true;
        changed_.notify_all();
      }
      lock.unlock();
      report(std::chrono::duration<double>(Clock::now() - start).count());
      lock.lock();
    }
  }
  statistics_.nodes += nodes_;
  statistics_.leaves += leaves_;
  GroupResult result;
  result.refutation = std::move(refutation_);
  result.witness = std::move(witness_);
  result.tree = std::move(tree_);
  if (!result.refutation && !result.witness) result.reason = reason_.empty() ? "search ended without an answer" : reason_;
  return result;
}

}  // namespace

Outcome<GroupResult> relu_branching(const DualGraph& graph, std::size_t group, const kernel::Scope& root,
                                    std::span<const std::uint32_t> positions, const BranchingOptions& options, const std::stop_token& stop,
                                    Statistics& statistics) {
  if (!graph.supported()) {
    return Rejection{Rejection::Kind::declined, "search.lines", "graph", "only affine and elementwise ops between inputs and outputs",
                     "another op", "use input splitting for this network"};
  }
  return Branching(graph, group, root, options, stop, statistics).run(positions);
}

}  // namespace assay::search
