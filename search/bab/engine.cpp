// Engine: workers take batches off the queue; the calling thread watches limits and reports.
//
// Workers share one stack of open subdomains. Each takes the newest ones, at most a fair share. The children replace
// the batch under the lock, so that the closed share of the tree can be read at any time. A trial ends early if it has
// closed too little of the tree.
//
// Source: batches of subdomains (Wang et al. 2021).

#include "search/bab/engine.h"

#include <algorithm>
#include <cmath>
#include <new>
#include <thread>
#include <utility>

namespace assay::search {
namespace {

constexpr auto kBetweenReports = std::chrono::milliseconds(100);

}  // namespace

Engine::Engine(const Network& network, const logic::Scope& root, const BranchingOptions& options, const std::stop_token& stop)
    : network_(network), options_(options), limit_{options.deadline, stop}, root_scope_(root) {
  root_scope_.stop_when([this] { return halt_ || limit_.reached(); });
}

bool Engine::has_finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

void Engine::end(std::string reason) {
  if (!finished_) reason_ = std::move(reason);
  finished_ = true;
  changed_.notify_all();
  ended_.notify_all();
}

void Engine::finish(std::string reason) {
  const std::lock_guard lock(mutex_);
  end(std::move(reason));
}

void Engine::found(logic::Theorem witness) {
  const std::lock_guard lock(mutex_);
  if (!witness_) witness_ = std::move(witness);
  end("");
}

void Engine::close(const BranchTree::Record& record, std::optional<logic::Refutation> refutation, const certificate::Fragment& steps) {
  const BranchTree::Closed closed = tree_->close(record, std::move(refutation), steps);
  const std::lock_guard lock(mutex_);
  ++leaves_;
  if (closed != BranchTree::Closed::below) end(closed == BranchTree::Closed::refused ? tree_->refusal() : "");
}

// Waits until a subdomain is open or none can come any more. In the second case the search is over for this worker.
bool Engine::pop(const BabWorker& worker, std::vector<Subdomain>& batch, double& share) {
  const std::size_t limit = options_.open_leaves > 0 ? 1 : worker.capacity();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return finished_ || !open_.empty() || in_work_ == 0; });
  if (options_.most_nodes > 0 && nodes_ >= options_.most_nodes) end("nodes");
  if (!finished_ && has_to_pause()) end("time");
  if (options_.open_leaves > 0 && !finished_) choose_hardest();
  if (finished_ || open_.empty()) return false;
  // A batch is at most a fair share of the open nodes, so that the other threads find work, too. The newest come first,
  // which keeps the stack short.
  const std::size_t fair = (open_.size() + static_cast<std::size_t>(options_.threads) - 1) / static_cast<std::size_t>(options_.threads);
  std::size_t tasks = 0;
  share = 0;
  while (!open_.empty() && batch.size() < fair && (batch.empty() || tasks + open_.back().cases.size() <= limit)) {
    // A linear program starts best from the basis of the program before: such nodes go one by one, the newest first.
    if (!batch.empty() && (open_.back().by_program || batch.back().by_program)) break;
    tasks += open_.back().cases.size();
    share += std::ldexp(1.0, -static_cast<int>(open_.back().record->depth));
    batch.push_back(std::move(open_.back()));
    open_.pop_back();
  }
  in_work_ += batch.size();
  share_in_work_ += share;
  nodes_ += batch.size();
  return true;
}

// The children replace the batch in one step, because the closed share of the tree may be read at any time.
void Engine::push(std::vector<Subdomain>& children, std::vector<Subdomain>& batch, double share, std::uint64_t bytes_of_subdomain) {
  const std::lock_guard lock(mutex_);
  for (Subdomain& node : children) open_.push_back(std::move(node));
  in_work_ -= batch.size();
  share_in_work_ -= share;
  children.clear();
  batch.clear();
  if (options_.memory_limit_bytes > 0 && open_.size() * bytes_of_subdomain + tree_->memory() > options_.memory_limit_bytes) end("memory");
  changed_.notify_all();
  if (open_.empty() && in_work_ == 0) ended_.notify_all();
}

// Keeps the unfinished part of a worker's batch when the worker ends.
void Engine::leave(std::vector<Subdomain>& batch) {
  const std::lock_guard lock(mutex_);
  for (Subdomain& node : batch)
    if (!node.is_done) left_.push_back(std::move(node));
}

// The loop of one worker. Running out of memory ends the search like any other limit, with the results so far.
void Engine::work(BabMethod& method) {
  std::vector<Subdomain> batch, children;
  double share = 0;
  try {
    const std::unique_ptr<BabWorker> worker = method.worker(*this);
    while (pop(*worker, batch, share)) {
      if (options_.threads == 1 && options_.between_nodes) options_.between_nodes();
      if (!worker->treat(batch, children)) break;
      push(children, batch, share, method.bytes_of_subdomain());
    }
  } catch (const std::bad_alloc&) {
    finish("memory");
  }
  leave(batch);
}

// Brings the node whose worst case is furthest from closed to the top, but first the nodes that are likely to close at
// once. Ends the search if there are enough open leaves.
void Engine::choose_hardest() {
  const auto difficulty = [](const Subdomain& node) { return node.expected > 0 ? -kNoBound : -node.expected; };
  const auto hardest = std::ranges::max_element(open_, {}, difficulty);
  const std::size_t leaves = open_.size() + in_work_, most = 2 * options_.open_leaves;
  const bool closes = hardest != open_.end() && hardest->expected > 0 && leaves < most;
  if (leaves >= options_.open_leaves && !closes) {
    left_open_ = true;
    end("enough branches are open");
  } else if (hardest != open_.end()) {
    std::iter_swap(hardest, open_.end() - 1);
  }
}

void Engine::for_each_open(auto&& use) const {
  for (const std::vector<Subdomain>* nodes : {&open_, &left_})
    for (const Subdomain& node : *nodes) use(node);
}

// The open leaves, which a run that ends early hands on as cubes.
std::vector<OpenLeaf> Engine::open_leaves() const {
  std::vector<OpenLeaf> leaves;
  for_each_open([&](const Subdomain& node) {
    OpenLeaf& leaf = leaves.emplace_back(OpenLeaf{node.record->tree_node, node.expected, {}});
    for (const OpenCase& one : node.cases) leaf.cases.push_back(case_of(one));
  });
  return leaves;
}

// Cases that look closed at every open node are named only if there are no others: the kernel refused them somewhere.
Unfinished Engine::unfinished() const {
  Frontier frontier, refused;
  for_each_open([&](const Subdomain& node) {
    frontier.add(node.record->depth);
    for (const OpenCase& one : node.cases) (one.looks_closed ? refused : frontier).add_case(case_of(one), one.bound);
  });
  Unfinished result = frontier.unfinished();
  if (result.cases.empty()) result.cases = refused.unfinished().cases;
  return result;
}

// Judges a trial once, when its time is over, by the share of the tree that it has closed. Between pause and deadline
// the share that has to be closed grows from kNearlyClosed to 1: a tree that shrinks more slowly is not waited for.
bool Engine::has_to_pause() {
  if (!trial_failed_ && options_.trial.end.has_passed()) {
    trial_failed_ = closed_share() < options_.trial.least_closed;
    if (*trial_failed_) return true;
  }
  if (!options_.pause.has_passed()) return false;
  const double over = -options_.pause.seconds_left(), left = std::max(options_.deadline.seconds_left(), 0.0);
  const double wanted = kNearlyClosed + (1 - kNearlyClosed) * over / (over + left);
  return closed_share() < wanted;
}

void Engine::report(const char* phase, double seconds) const {
  if (!options_.on_progress) return;
  Progress progress;
  {
    const std::lock_guard lock(mutex_);
    progress.seconds = seconds;
    progress.phase = phase;
    progress.closed = leaves_;
    progress.open = open_.size() + in_work_;
    // The oldest nodes of the stack have been split least.
    for (std::size_t k = 0; k < std::min<std::size_t>(open_.size(), 16); ++k) {
      for (const OpenCase& one : open_[k].cases) progress.worst_bound = std::min(progress.worst_bound, one.bound);
    }
  }
  options_.on_progress(progress);
}

// Starts the workers, then watches the deadlines, stop requests and the pace, and reports. The calling thread
// bounds nothing.
void Engine::watch(BabMethod& method, Clock::time_point start) {
  pace_.begin(seconds_since(start));
  std::vector<std::jthread> threads;
  for (int k = 0; k < std::max(1, options_.threads); ++k) threads.emplace_back([this, &method] { work(method); });
  std::unique_lock lock(mutex_);
  while (!finished_ && !(open_.empty() && in_work_ == 0)) {
    ended_.wait_until(lock, std::min(Clock::now() + kBetweenReports, limit_.deadline.moment()));
    if (limit_.reached()) end("time");
    const double seconds = seconds_since(start);
    if (!finished_ && pace_.is_due(seconds)) pace_.note(seconds, closed_share());
    lock.unlock();
    report(method.phase(), seconds);
    lock.lock();
  }
  halt_ = true;
}

GroupResult Engine::run(BabMethod& method, std::span<const std::uint32_t> positions, Statistics& statistics) {
  const Clock::time_point start = Clock::now();
  tree_ = std::make_unique<BranchTree>(root_scope_);
  Subdomain& first = open_.emplace_back(Subdomain{tree_->root(), {}});
  first.by_program = method.by_programs();
  for (const std::uint32_t position : positions) first.cases.push_back({position});
  watch(method, start);
  statistics.nodes += nodes_;
  statistics.leaves += leaves_;
  GroupResult result;
  result.by_programs = method.by_programs();
  result.refutation = tree_->refutation();
  result.witness = std::move(witness_);
  if (left_open_ && !result.refutation && !result.witness) result.leaves = open_leaves();
  if (!result.refutation && !result.witness) {
    result.unfinished = unfinished();
    result.unfinished->pace = pace_.at(seconds_since(start), result.unfinished->closed_share);
    result.trial_failed = trial_failed_.value_or(false);
    result.reason = reason_.empty() ? "search ended without an answer" : reason_;
  }
  result.tree = tree_->take_proof();
  return result;
}

}  // namespace assay::search
