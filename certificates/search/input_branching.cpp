#include "certificates/search/input_branching.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <thread>

#include "certificates/search/candidate_point.h"
#include "certificates/search/sweep.h"
#include "semantics/demand.h"

namespace assay::search {
namespace {

using Clock = std::chrono::steady_clock;
using kernel::CaseMultipliers;

struct Branch {
  std::shared_ptr<Branch> parent;
  bool at_least = false;
  std::uint32_t tree_node = ProofTree::kRoot;
  std::optional<kernel::Scope> scope;  // context and inherited facts; dropped after processing
  std::size_t depth = 0;
  std::mutex mutex;
  std::optional<kernel::Refutation> children[2];
};

class Engine {
 public:
  Engine(const Network& network, std::size_t group, const kernel::Scope& root, std::span<const std::uint32_t> positions,
         const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics)
      : network_(network), problem_(*network.problem()), group_(group), options_(options), stop_(stop), statistics_(statistics), box_(network, group) {
    for (const std::uint32_t position : positions) {
      const std::size_t rows = problem_.statement().property.cases[problem_.group_cases(group)[position]].rows.size();
      for (std::size_t r = 0; r < rows; ++r) {
        CaseMultipliers one{position, std::vector<float>(rows, 0.0F)};
        one.rows[r] = 1;
        row_of_.push_back({position, r});
        single_rows_.push_back(std::move(one));
      }
    }
    for (const NodeId input : problem_.graph().inputs) {
      for (std::size_t i = 0; i < problem_.graph().size(input); ++i) coordinates_.push_back({input, static_cast<std::uint32_t>(i)});
    }
    auto first = std::make_shared<Branch>();
    first->scope = root;
    queue_.push_back(std::move(first));
    result_.tree = std::make_unique<ProofTree>();
  }

  GroupResult run() {
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < std::max(1, options_.threads); ++i) workers.emplace_back([this] { work(); });
      report();
    }
    statistics_.nodes += nodes_;
    statistics_.leaves += leaves_;
    if (!result_.refutation && !result_.witness && result_.reason.empty()) result_.reason = "input splitting ended without an answer";
    return std::move(result_);
  }

 private:
  void report() {
    const auto start = Clock::now();
    std::unique_lock lock(mutex_);
    while (!finished_) {
      changed_.wait_for(lock, std::chrono::milliseconds(100));
      if (!finished_ && (stop_.stop_requested() || Clock::now() >= options_.deadline)) give_up("out of time after " + std::to_string(nodes_.load()) + " branches");
      if (options_.memory_limit_bytes != 0 && result_.tree->byte_size() + 200 * result_.tree->size() > options_.memory_limit_bytes) give_up("out of memory");
      if (options_.on_progress) {
        options_.on_progress({std::chrono::duration<double>(Clock::now() - start).count(), "input splitting", leaves_.load(), queue_.size(), worst_.load()});
      }
    }
  }

  void give_up(std::string reason) {  // mutex_ held
    if (!finished_) result_.reason = std::move(reason);
    finished_ = true;
    changed_.notify_all();
  }

  void work() {
    Workspace workspace;
    for (;;) {
      std::shared_ptr<Branch> branch;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return finished_ || !queue_.empty(); });
        if (finished_) return;
        branch = std::move(queue_.back());
        queue_.pop_back();
      }
      process(branch, workspace);
    }
  }

  void process(const std::shared_ptr<Branch>& branch, Workspace& workspace) {
    kernel::Scope scope = *branch->scope;
    ++nodes_;
    if (auto done = sweep(scope, problem_, false); !done) return fail(done.rejection());
    if (auto nothing_left = scope.empty()) {
      certificate::Fragment steps;
      steps.sweep(0, false);
      steps.empty();
      return close(branch, steps, std::move(nothing_left).value());
    }
    kernel::Diagnosis diagnosis;
    auto all = scope.conclude(single_rows_, {}, &diagnosis);
    // The best row of each case; the case is closed when one row alone is refuted.
    std::vector<std::size_t> best(1, 0);
    for (std::size_t k = 1; k < row_of_.size(); ++k) {
      if (row_of_[k].first != row_of_[k - 1].first) best.push_back(k);
      else if (diagnosis.margins[k] > diagnosis.margins[best.back()]) best.back() = k;
    }
    double worst = INFINITY;
    for (const std::size_t k : best) worst = std::min(worst, diagnosis.margins[k]);
    worst_ = worst;
    if (worst > 0) {
      std::vector<CaseMultipliers> chosen;
      for (const std::size_t k : best) chosen.push_back(short_form(single_rows_[k]));
      if (!all || chosen.size() != single_rows_.size()) all = scope.conclude(chosen, {});
      if (all) {
        certificate::Fragment steps;
        steps.sweep(0, false);
        steps.conclude(chosen, {});
        return close(branch, steps, std::move(all).value());
      }
    }
    if (try_minimisers(scope, diagnosis, best, workspace, branch->depth)) return;
    split(branch, scope, diagnosis, best);
  }

  static CaseMultipliers short_form(const CaseMultipliers& one) { return one.rows.size() == 1 ? CaseMultipliers{one.position, {}} : one; }

  // The minimiser of a bound is a point of the branch, and often a counterexample when there is one.
  bool try_minimisers(const kernel::Scope& scope, const kernel::Diagnosis& diagnosis, const std::vector<std::size_t>& best, Workspace& workspace,
                      std::size_t depth) {
    if (depth > 6 && nodes_ % 16 != 0) return false;
    for (const std::size_t k : best) {
      if (diagnosis.margins[k] > 0) continue;
      std::vector<double> x(coordinates_.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const kernel::Box& box = scope.box(coordinates_[i].first);
        x[i] = diagnosis.input_coefficients[k][i] > 0 ? box.lo[coordinates_[i].second] : box.hi[coordinates_[i].second];
      }
      auto theorem = try_point(network_, box_, group_, x, workspace);
      if (!theorem) continue;
      std::unique_lock lock(mutex_);
      if (!finished_) result_.witness = std::move(theorem);
      finished_ = true;
      changed_.notify_all();
      return true;
    }
    return false;
  }

  // The coordinate whose width moves the open bounds most.
  void split(const std::shared_ptr<Branch>& branch, const kernel::Scope& scope, const kernel::Diagnosis& diagnosis, const std::vector<std::size_t>& best) {
    double best_score = -1;
    std::size_t chosen = 0;
    for (std::size_t i = 0; i < coordinates_.size(); ++i) {
      const kernel::Box& box = scope.box(coordinates_[i].first);
      const double lo = box.lo[coordinates_[i].second], hi = box.hi[coordinates_[i].second], middle = lo / 2 + hi / 2;
      if (!(lo < middle && middle < hi)) continue;
      double score = 0;
      for (const std::size_t k : best) {
        if (diagnosis.margins[k] <= 0) score += std::fabs(diagnosis.input_coefficients[k][i]);
      }
      score = (std::isfinite(score) ? score : 0) * (hi - lo) + 1e-12 * (hi - lo);
      if (score > best_score) {
        best_score = score;
        chosen = i;
      }
    }
    std::unique_lock lock(mutex_);
    if (best_score < 0) return give_up("a branch that is a single point stays undecided");
    if (finished_) return;
    const auto [node, element] = coordinates_[chosen];
    const kernel::Box& box = scope.box(node);
    const double threshold = box.lo[element] / 2 + box.hi[element] / 2;
    const std::uint32_t first = result_.tree->split(branch->tree_node, {node, element, threshold});
    for (const bool at_least : {false, true}) {
      auto child = std::make_shared<Branch>();
      child->parent = branch;
      child->at_least = at_least;
      child->tree_node = first + (at_least ? 1 : 0);
      child->depth = branch->depth + 1;
      child->scope = *branch->scope;
      const auto assumed = child->scope->assume({node, element, at_least, threshold});
      if (!assumed) return give_up(assumed.rejection().to_text());
      queue_.push_back(std::move(child));
    }
    branch->scope.reset();
    changed_.notify_all();
  }

  void fail(const Rejection& why) {
    std::unique_lock lock(mutex_);
    give_up(why.to_text());
  }

  void close(std::shared_ptr<Branch> branch, const certificate::Fragment& steps, kernel::Refutation refutation) {
    ++leaves_;
    result_.tree->append(branch->tree_node, steps);
    branch->scope.reset();
    while (branch->parent) {
      const std::shared_ptr<Branch> parent = branch->parent;
      std::unique_lock lock(parent->mutex);
      parent->children[branch->at_least ? 1 : 0] = std::move(refutation);
      if (!parent->children[0] || !parent->children[1]) return;
      auto joined = kernel::join(*parent->children[0], *parent->children[1]);
      demand(joined.ok(), "input_branching: the kernel did not join two halves of one split");
      refutation = std::move(joined).value();
      parent->children[0].reset();
      parent->children[1].reset();
      branch = parent;
    }
    std::unique_lock lock(mutex_);
    result_.refutation = std::move(refutation);
    finished_ = true;
    changed_.notify_all();
  }

  const Network& network_;
  const kernel::Problem& problem_;
  const std::size_t group_;
  const BranchingOptions& options_;
  const std::stop_token& stop_;
  Statistics& statistics_;
  CandidateBox box_;
  std::vector<CaseMultipliers> single_rows_;                       // every row of every open case alone
  std::vector<std::pair<std::uint32_t, std::size_t>> row_of_;      // (position, row) of each
  std::vector<std::pair<NodeId, std::uint32_t>> coordinates_;      // of the concatenated inputs
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::shared_ptr<Branch>> queue_;
  bool finished_ = false;
  GroupResult result_;
  std::atomic<std::uint64_t> nodes_ = 0, leaves_ = 0;
  std::atomic<double> worst_ = 0;
};

}  // namespace

GroupResult input_branching(const Network& network, std::size_t group, const kernel::Scope& root, std::span<const std::uint32_t> positions,
                            const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics) {
  return Engine(network, group, root, positions, options, stop, statistics).run();
}

}  // namespace assay::search
