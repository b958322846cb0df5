// input_branching(): workers that take the worst box, bound it, and halve it.

#include "search/bab/input_branching.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <condition_variable>
#include <map>
#include <new>
#include <ranges>
#include <thread>
#include <utility>

#include "certificates/check/session.h"
#include "search/attack/candidate_point.h"
#include "search/bounds/case_bounds.h"
#include "search/heuristics/input_splits.h"
#include "search/heuristics/smart_branching.h"
#include "search/heuristics/strong_branching.h"
#include "semantics/demand.h"

namespace assay::search {
namespace {

constexpr std::size_t kRegionRelus = 5;     // undecided relus up to which a branch is split by them instead of by inputs
constexpr double kLeastCoefficient = 0.03;  // of the largest: one that cancels may still widen the relaxations
constexpr std::size_t kIntegerTurn = 4;     // every so many levels a computed integer is split, if one is open
constexpr std::size_t kKernelTurn = 12;     // every so many levels the kernel is asked about a probed branch, whatever its bounds

struct Branch {
  std::shared_ptr<Branch> parent;
  bool at_least = false;
  std::uint32_t tree_node = ProofTree::kRoot;
  std::optional<kernel::Scope> scope;  // context and inherited facts; dropped after processing
  std::size_t depth = 0;
  bool in_region = false;                                                // the split that led here was one of a relu
  std::atomic<bool> is_done = false;                                     // closed, or split
  std::map<std::uint32_t, std::shared_ptr<const AlphaBeta>> parameters;  // of the branch above, by case position
  std::shared_ptr<const std::vector<Unfinished::Left>> left;  // cases that are open here; until they are bounded, in the branch above
  std::optional<TriedBox> probed;                             // what the branch above found here, where branches are probed
  std::optional<kernel::Refutation> own;                      // of cases that are closed here, while others are open below
  std::mutex mutex;
  std::optional<kernel::Refutation> children[2];
};

class Engine {
 public:
  Engine(const NeuronGraph& graph, std::size_t group, const kernel::Scope& root, std::span<const std::uint32_t> positions,
         const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics)
      : graph_(graph),
        network_(graph.network()),
        problem_(*network_.problem()),
        group_(group),
        options_(options),
        limit_{options.deadline, stop},
        statistics_(statistics),
        box_(network_, group),
        cases_(network_, group, positions),
        regions_(RegionForms::supports(network_)),
        positions_(positions.begin(), positions.end()),
        scalars_(ScalarGraph::of(graph, group)),
        under_way_(static_cast<std::size_t>(std::max(1, options.threads))) {
    auto first = std::make_shared<Branch>();
    first->scope = root;
    first->scope->stop_when([this] { return halt_ || limit_.reached(); });
    queue_.push_back(std::move(first));
    result_.tree = std::make_unique<ProofTree>();
  }

  GroupResult run() {
    const auto start = Clock::now();
    {
      std::vector<std::jthread> workers;
      for (std::size_t i = 0; i < under_way_.size(); ++i) workers.emplace_back([this, i] { work_within_memory(i); });
      report(start);
    }
    statistics_.nodes += nodes_;
    statistics_.leaves += leaves_;
    if (result_.refutation || result_.witness) return std::move(result_);
    result_.unfinished = unfinished();
    result_.unfinished->pace = pace_.at(seconds_since(start), result_.unfinished->closed_share);
    if (left_open_) find_leaves();
    if (result_.reason.empty()) result_.reason = "input splitting ended without an answer";
    return std::move(result_);
  }

 private:
  void find_leaves() {
    for_each_open([&](const Branch& branch) {
      OpenLeaf& leaf = result_.leaves.emplace_back(OpenLeaf{branch.tree_node, worst_bound(branch), {}});
      for (const std::uint32_t index : problem_.group_cases(group_)) leaf.cases.push_back(index);
    });
  }

  // Before its own bounds are known, those of the branch above.
  static double worst_bound(const Branch& branch) {
    double worst = 0;
    if (branch.left != nullptr)
      for (const Unfinished::Left& one : *branch.left) worst = std::min(worst, one.bound);
    return worst;
  }

  // Brings the branch that is furthest from being closed to the top, or ends with those that there are. mutex_ held.
  void choose_hardest() {
    const auto is_open = [](const std::shared_ptr<Branch>& branch) { return branch && !branch->is_done; };
    if (queue_.size() + static_cast<std::size_t>(std::ranges::count_if(under_way_, is_open)) >= options_.open_leaves) {
      left_open_ = true;
      give_up("enough branches are open");
    } else {
      std::iter_swap(std::ranges::min_element(queue_, {}, [](const auto& branch) { return worst_bound(*branch); }), queue_.end() - 1);
    }
  }

  // Of the branches that wait, and of those that are under way. mutex_ held, or the workers have ended.
  void for_each_open(auto&& use) const {
    for (const std::shared_ptr<Branch>& branch : queue_) use(*branch);
    for (const std::shared_ptr<Branch>& branch : under_way_)
      if (branch && !branch->is_done) use(*branch);
  }

  // Once the workers have ended.
  [[nodiscard]] Unfinished unfinished() const {
    Frontier frontier;
    for_each_open([&](const Branch& branch) {
      frontier.add(branch.depth);
      if (branch.left == nullptr) return;
      for (const Unfinished::Left& one : *branch.left) frontier.add_case(one.case_index, one.bound);
    });
    return frontier.unfinished();
  }

  [[nodiscard]] std::shared_ptr<const std::vector<Unfinished::Left>> left_of(const std::vector<CaseBound>& bounds) const {
    std::vector<Unfinished::Left> left;
    for (const CaseBound& one : bounds)
      if (!(one.margin > 0)) left.push_back({problem_.group_cases(group_)[one.multipliers.position], one.margin});
    return std::make_shared<const std::vector<Unfinished::Left>>(std::move(left));
  }

  void report(Clock::time_point start) {
    std::unique_lock lock(mutex_);
    while (!finished_) {
      ended_.wait_until(lock, std::min(Clock::now() + std::chrono::milliseconds(100), limit_.deadline.moment()));
      if (!finished_ && limit_.reached()) give_up(out_of_time());
      if (options_.memory_limit_bytes != 0 && result_.tree->byte_size() + 200 * result_.tree->size() > options_.memory_limit_bytes)
        give_up("out of memory");
      if (const double seconds = seconds_since(start); pace_.is_due(seconds)) {
        Frontier frontier;
        for_each_open([&](const Branch& branch) { frontier.add(branch.depth); });
        pace_.note(seconds, frontier.unfinished().closed_share);
      }
      if (options_.on_progress)
        options_.on_progress({seconds_since(start), "input splitting", leaves_.load(), queue_.size(), worst_.load()});
    }
    halt_ = true;  // also sweeps that are under way
  }

  [[nodiscard]] std::string out_of_time() const { return "out of time after " + std::to_string(nodes_.load()) + " branches"; }

  void give_up(std::string reason) {  // mutex_ held
    if (!finished_) result_.reason = std::move(reason);
    finish();
  }

  void finish() {  // mutex_ held
    finished_ = true;
    changed_.notify_all();
    ended_.notify_all();
  }

  void work_within_memory(std::size_t worker) {
    try {
      work(worker);
    } catch (const std::bad_alloc&) {
      const std::lock_guard lock(mutex_);
      give_up("out of memory");
    }
  }

  void work(std::size_t worker) {
    Workspace workspace;
    workspace.limit = limit_;
    SmartBranching losses(graph_, limit_);
    std::optional<StrongBranching> strong_branching;
    if (scalars_) strong_branching.emplace(*scalars_, group_);
    for (;;) {
      std::shared_ptr<Branch> branch;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return finished_ || !queue_.empty(); });
        if (options_.open_leaves > 0 && !finished_) choose_hardest();
        if (finished_) return;
        under_way_[worker] = branch = std::move(queue_.back());
        queue_.pop_back();
      }
      if (options_.threads == 1 && options_.between_nodes) options_.between_nodes();
      if (!strong_branching || !process(branch, workspace, *strong_branching)) process(branch, workspace, losses);
    }
  }

  // False where its bounds are too far from the kernel's: the branch is as it was, but for cases that are closed.
  bool process(const std::shared_ptr<Branch>& branch, Workspace& workspace, StrongBranching& strong_branching) {
    constexpr std::uint64_t kFewRefusals = 100;
    if (branch->depth == 0) branch->probed = strong_branching.root(*branch->scope, positions_);
    if (!branch->probed || refused_ > kFewRefusals + asked_ / 2) return false;
    ++nodes_;
    if (conclude_probed(branch, strong_branching)) return true;
    const std::vector<TriedCase>& open = branch->probed->cases;
    std::vector<Unfinished::Left> left;
    for (const TriedCase& one : open) left.push_back({strong_branching.case_of(one.position), std::min(one.bound.bound, 0.0)});
    branch->left = std::make_shared<const std::vector<Unfinished::Left>>(std::move(left));
    worst_ = worst_bound(*branch);
    if (try_points(open | std::views::transform([](const TriedCase& one) -> const auto& { return one.bound.x; }), workspace, branch->depth))
      return true;
    std::optional<StrongBranching::Choice> choice = strong_branching.choose(*branch->probed);
    if (!choice) return false;
    const auto [node, element] = cases_.coordinates()[choice->input];
    split(branch, {node, element, choice->threshold}, false, &*choice);
    return true;
  }

  // The cases that look closed, where the kernel agrees. True where none is left, or something failed.
  bool conclude_probed(const std::shared_ptr<Branch>& branch, StrongBranching& strong_branching) {
    const bool asks_all = branch->depth % kKernelTurn == kKernelTurn - 1;
    StrongBranching::Conclusion found;
    kernel::Scope scope = *branch->scope;
    if (auto done = strong_branching.conclude(scope, branch->depth > 0 || !options_.root_is_refined, asks_all, *branch->probed, found);
        !done)
      return fail(done.rejection()), true;
    asked_ += found.asked;
    refused_ += found.refused;
    if (!found.refutation) return false;
    if (branch->probed->cases.empty()) return close(branch, found.steps, *std::move(found.refutation)), true;
    result_.tree->append(branch->tree_node, found.steps);
    branch->own = std::move(found.refutation);
    branch->scope = std::move(scope);
    return false;
  }

  // Rows on the boxes alone close branches that rows on swept ones leave open, where planes depend on the boxes. Asked as long as that happens.
  bool close_on_boxes(const std::shared_ptr<Branch>& branch) {
    constexpr double kOften = 0.02, kFew = 2;
    if (static_cast<double>(gained_on_boxes_) + kFew < kOften * static_cast<double>(asked_on_boxes_)) return false;
    ++asked_on_boxes_;
    kernel::Scope scope = *branch->scope;
    certificate::Fragment steps, unused;
    if (!certificate::propagate_boxes(problem_, scope, 0)) return false;
    steps.boxes(0);
    auto refutation = conclude_on(scope, steps);
    if (!refutation) return false;
    kernel::Scope swept = *branch->scope;
    const bool closes_swept = certificate::sweep(problem_, swept, 0, false).ok() && conclude_on(swept, unused).ok();
    gained_on_boxes_ += closes_swept ? 0 : 1;
    close(branch, steps, std::move(refutation).value());
    return true;
  }

  // By single rows, or since a box is empty.
  Outcome<kernel::Refutation> conclude_on(const kernel::Scope& scope, certificate::Fragment& steps) const {
    auto empty = scope.empty();
    if (empty) {
      steps.empty();
      return empty;
    }
    kernel::Diagnosis diagnosis;
    static_cast<void>(scope.conclude(cases_.single_rows(), {}, &diagnosis));    // margins, of which some row's may do
    if (diagnosis.margins.size() != cases_.single_rows().size()) return empty;  // stopped
    std::vector<CaseBound> bounds = cases_.best_rows(scope, diagnosis);
    return all_closed(bounds) ? conclude(problem_, scope, bounds, steps) : empty;
  }

  void process(const std::shared_ptr<Branch>& branch, Workspace& workspace, SmartBranching& losses) {
    ++nodes_;
    if (branch->depth > 0 && close_on_boxes(branch)) return;
    kernel::Scope scope = *branch->scope;
    certificate::Fragment steps;
    if (branch->depth > 0 || !options_.root_is_refined) {
      if (auto done = certificate::sweep(problem_, scope, 0, false); !done) return fail(done.rejection());
      steps.sweep(0, false);
    }
    if (auto nothing_left = scope.empty()) {
      steps.empty();
      return close(branch, steps, std::move(nothing_left).value());
    }
    kernel::Diagnosis diagnosis;
    auto refutation = scope.conclude(cases_.single_rows(), {}, &diagnosis);
    if (diagnosis.margins.size() != cases_.single_rows().size()) return fail(refutation.rejection());  // stopped
    std::vector<CaseBound> bounds = cases_.best_rows(scope, diagnosis);
    std::optional<RegionForms> region;
    if (!refutation && !all_closed(bounds)) {
      if (regions_) region.emplace(network_, scope);
      cases_.combine(scope, diagnosis, bounds, region ? &*region : nullptr);
      if (branch->depth == 0) cases_.mix(scope, bounds);
    }
    std::vector<double> lost;
    const bool ascends = graph_.has_planes() && !graph_.relu_only();
    if (ascends && !refutation && !all_closed(bounds)) lost = ascend(*branch, scope, bounds, losses);
    double worst = INFINITY;
    for (const CaseBound& bound : bounds) worst = std::min(worst, bound.margin);
    worst_ = worst;
    branch->left = left_of(bounds);
    if (all_closed(bounds)) {
      refutation = conclude(problem_, scope, bounds, steps);
      if (refutation) return close(branch, steps, std::move(refutation).value());
    }
    if (try_minimisers(bounds, workspace, branch->depth, region && region->undecided() == 0)) return;
    const bool split_relu = region && region->undecided() > 0 && (branch->in_region || region->undecided() <= kRegionRelus);
    if (split_relu) {
      const auto [node, element] = region->next_split();
      return split(branch, {node, element, 0.0}, true);
    }
    const std::optional<Split> jump = branch->depth % kIntegerTurn == kIntegerTurn - 1 ? open_integer(problem_, scope) : std::nullopt;
    if (jump) return split(branch, *jump, false);
    split_input(branch, scope, lost.empty() ? scores(scope, bounds, losses) : lost);
  }

  // Better slopes, mixes and weights for the open cases, from those of the branch above. What each input loses.
  std::vector<double> ascend(Branch& branch, const kernel::Scope& scope, std::vector<CaseBound>& bounds, SmartBranching& losses) const {
    constexpr int kRootIterations = 60, kIterations = 10;
    const NeuronBoxes boxes = NeuronBoxes::of(graph_, scope);
    std::vector<BoundTask> tasks;
    std::vector<CaseBound*> open;
    for (CaseBound& bound : bounds) {
      if (bound.margin > 0) continue;
      const std::uint32_t position = bound.multipliers.position;
      const auto known = branch.parameters.find(position);
      BoundTask& task = tasks.emplace_back();
      task.rows = &network_.rows(problem_.group_cases(group_)[position]);
      task.boxes = &boxes;
      task.start = known != branch.parameters.end() ? known->second.get() : nullptr;
      open.push_back(&bound);
    }
    std::vector<BoundResult> results(tasks.size());
    std::vector<double> lost = losses.ascend(boxes, tasks, branch.depth == 0 ? kRootIterations : kIterations, results);
    for (std::size_t k = 0; k < open.size(); ++k) {
      BoundResult& result = results[k];
      branch.parameters[open[k]->multipliers.position] = std::make_shared<const AlphaBeta>(result.parameters);
      if (!(result.bound > open[k]->margin)) continue;
      open[k]->margin = result.bound;
      open[k]->multipliers.rows = result.parameters.weights;
      open[k]->hints = to_hints(graph_, result.parameters);
      open[k]->point = std::move(result.x);
    }
    return lost;
  }

  // The minimiser of a bound is a point of the branch, and often a counterexample when there is one.
  bool try_minimisers(const std::vector<CaseBound>& bounds, Workspace& workspace, std::size_t depth, bool exact) {
    const auto is_open = [](const CaseBound& bound) { return !(bound.margin > 0); };
    const auto point = [](const CaseBound& bound) -> const auto& { return bound.point; };
    return try_points(bounds | std::views::filter(is_open) | std::views::transform(point), workspace, exact ? 0 : depth);
  }

  bool try_points(auto points, Workspace& workspace, std::size_t depth) {
    if (depth > 6 && nodes_ % 16 != 0) return false;
    for (const std::vector<double>& point : points) {
      auto theorem = try_point(network_, box_, group_, point, workspace);
      if (!theorem) continue;
      std::unique_lock lock(mutex_);
      if (!finished_) result_.witness = std::move(theorem);
      finish();
      return true;
    }
    return false;
  }

  // By coordinate, what a split of it may gain for the open bounds.
  std::vector<double> scores(const kernel::Scope& scope, const std::vector<CaseBound>& bounds, SmartBranching& losses) const {
    if (graph_.relu_only()) {
      std::vector<std::uint32_t> open;
      for (const CaseBound& bound : bounds) {
        if (bound.margin <= 0) open.push_back(problem_.group_cases(group_)[bound.multipliers.position]);
      }
      std::vector<double> lost = losses(scope, open);
      if (!lost.empty()) return lost;
    }
    std::vector<double> result(cases_.coordinates().size(), 0.0);
    for (const CaseBound& bound : bounds) {
      if (bound.margin > 0) continue;
      double largest = 0;
      for (const double c : bound.coefficients) largest = std::max(largest, std::fabs(c));
      for (std::size_t i = 0; i < result.size(); ++i) {
        const kernel::Box& box = scope.box(cases_.coordinates()[i].first);
        const double width = box.hi[cases_.coordinates()[i].second] - box.lo[cases_.coordinates()[i].second];
        result[i] += std::max(std::fabs(bound.coefficients[i]), kLeastCoefficient * largest) * width;
      }
    }
    return result;
  }

  void split_input(const std::shared_ptr<Branch>& branch, const kernel::Scope& scope, const std::vector<double>& scores) {
    std::optional<Split> chosen = best_half(problem_, scope, cases_.coordinates(), scores);
    if (!chosen) chosen = open_integer(problem_, scope);
    if (chosen) return split(branch, *chosen, false);
    std::unique_lock lock(mutex_);
    give_up("a branch that is a single point stays undecided");
  }

  void split(const std::shared_ptr<Branch>& branch, const Split& where, bool in_region, StrongBranching::Choice* probed = nullptr) {
    std::unique_lock lock(mutex_);
    if (finished_) return;
    const std::uint32_t first = result_.tree->split(branch->tree_node, where);
    for (const bool at_least : {false, true}) {
      auto child = std::make_shared<Branch>();
      child->parent = branch;
      child->at_least = at_least;
      child->in_region = in_region;
      child->tree_node = first + (at_least ? 1 : 0);
      child->depth = branch->depth + 1;
      child->left = branch->left;
      child->parameters = branch->parameters;
      child->scope = *branch->scope;
      if (probed != nullptr) child->probed = std::move(at_least ? probed->at_least : probed->at_most);
      const auto assumed = child->scope->assume({where.node, where.element, at_least, where.threshold});
      if (!assumed) return give_up(assumed.rejection().to_text());
      queue_.push_back(std::move(child));
    }
    leave(*branch);
    changed_.notify_one();  // the other half is this worker's next
  }

  // Closed, or split: what only bounding it needed goes.
  static void leave(Branch& branch) {
    branch.scope.reset();
    branch.probed.reset();
    branch.parameters.clear();
    branch.is_done = true;
  }

  static kernel::Refutation merged(const kernel::Refutation& a, const kernel::Refutation& b) {
    auto both = kernel::merge(a, b);
    demand(both.ok(), "input_branching: the kernel did not merge two refutations of one branch");
    return std::move(both).value();
  }

  void fail(const Rejection& why) {
    std::unique_lock lock(mutex_);
    give_up(limit_.reached() ? out_of_time() : why.to_text());
  }

  void close(std::shared_ptr<Branch> branch, const certificate::Fragment& steps, kernel::Refutation refutation) {
    ++leaves_;
    result_.tree->append(branch->tree_node, steps);
    if (branch->own) refutation = merged(*branch->own, std::move(refutation));
    leave(*branch);
    while (branch->parent) {
      const std::shared_ptr<Branch> parent = branch->parent;
      std::unique_lock lock(parent->mutex);
      parent->children[branch->at_least ? 1 : 0] = std::move(refutation);
      if (!parent->children[0] || !parent->children[1]) return;
      auto joined = kernel::join(*parent->children[0], *parent->children[1]);
      demand(joined.ok(), "input_branching: the kernel did not join two halves of one split");
      refutation = std::move(joined).value();
      if (parent->own) refutation = merged(*std::exchange(parent->own, std::nullopt), std::move(refutation));
      parent->children[0].reset();
      parent->children[1].reset();
      branch = parent;
    }
    std::unique_lock lock(mutex_);
    result_.refutation = std::move(refutation);
    finish();
  }

  const NeuronGraph& graph_;
  const Network& network_;
  const kernel::Problem& problem_;
  const std::size_t group_;
  const BranchingOptions& options_;
  const Limit limit_;
  Statistics& statistics_;
  CandidateBox box_;
  const CaseBounds cases_;
  const bool regions_;
  const std::vector<std::uint32_t> positions_;
  const std::optional<ScalarGraph> scalars_;            // none: branches are bounded by the kernel alone
  std::atomic<std::uint64_t> asked_ = 0, refused_ = 0;  // conclusions of probed branches
  std::atomic<std::uint64_t> asked_on_boxes_ = 0, gained_on_boxes_ = 0;
  std::atomic<bool> halt_ = false;
  std::mutex mutex_;
  std::condition_variable changed_, ended_;  // a branch waits, or finished_; finished_
  std::vector<std::shared_ptr<Branch>> queue_;
  std::vector<std::shared_ptr<Branch>> under_way_;  // by worker, the last one that it took
  bool finished_ = false, left_open_ = false;
  GroupResult result_;
  std::atomic<std::uint64_t> nodes_ = 0, leaves_ = 0;
  std::atomic<double> worst_ = 0;
  Pace pace_;
};

}  // namespace

GroupResult input_branching(const NeuronGraph& graph, std::size_t group, const kernel::Scope& root,
                            std::span<const std::uint32_t> positions, const BranchingOptions& options, const std::stop_token& stop,
                            Statistics& statistics) {
  statistics.splits_inputs = true;
  statistics.free_inputs = std::max(statistics.free_inputs, free_inputs(*graph.network().problem(), root));
  return Engine(graph, group, root, positions, options, stop, statistics).run();
}

}  // namespace assay::search
