// close_early(): one root after the other, each with more bounds and from the beginning, so that a proof has none that it does not need.

#include "search/strategy/early_roots.h"

#include <algorithm>
#include <utility>

#include "certificates/check/refutations.h"
#include "search/bounds/product_operands.h"
#include "search/bounds/root_bounds.h"
#include "search/bounds/root_cases.h"
#include "search/heuristics/input_splits.h"

namespace assay::search {
namespace {

enum class Stage : std::uint8_t { boxes, kinks, operands };

constexpr double kBoxesWork = 5e7;        // multiply-adds of boxes and conclusions, at most
constexpr double kShareOfKinks = 0.35;    // of the whole root's work, at most
constexpr double kShareOfOperands = 0.6;  // the same, with those of products
constexpr double kEarlyShare = 0.1;       // of the planned time, at most, for one root
constexpr double kKinksTree = 0.5;    // seconds of a tree on operands of relus alone, or what these took; at most what the whole root takes
constexpr double kOperandsTree = 5;   // seconds of a tree with those of products; at most twice what the whole root takes
constexpr double kLeastTree = 0.005;  // seconds, where the whole root takes less
constexpr double kTreeShare = 0.1;    // of the planned time, at most

bool is_cheap(Stage stage, const kernel::Problem& problem, const RootBounds& root, const RootPlan& plan, std::size_t cases) {
  if (stage == Stage::boxes)
    return problem.row_work(static_cast<NodeId>(problem.graph().nodes.size() - 1)) * static_cast<double>(1 + cases) <= kBoxesWork;
  if (stage == Stage::operands && plan.also.empty()) return false;
  return root.share(plan) <= (stage == Stage::kinks ? kShareOfKinks : kShareOfOperands);
}

// A tree of these cases on the root, which took so many seconds. Nothing where activations are not split.
Outcome<GroupResult> grow(Stage stage, DualGraph& graph, const RootBounds& root, const std::vector<std::uint32_t>& cases, double taken,
                          const Options& options, const Limit& limit, Statistics& statistics) {
  graph.find_input_rows();
  if (!splits_activations(graph, root.scope(), options.branching)) return GroupResult{};
  const bool last = stage == Stage::operands;
  const double wanted = last ? kOperandsTree : std::max(kKinksTree, taken), whole = std::max(kLeastTree, root.seconds_for_all());
  const double seconds = std::min({wanted, last ? 2 * whole : whole, kTreeShare * limit.planned()});
  BranchingOptions branching = BranchingOptions::of(options, std::min(limit.deadline, Deadline::in(seconds)));
  branching.go_on_if_nearly_closed(limit.deadline);
  const auto begin = Clock::now();
  auto tree = relu_branching(graph, root.scope().group(), root.scope(), cases, branching, limit.stop, statistics);
  statistics.branching_seconds += seconds_since(begin);
  return tree;
}

}  // namespace

Outcome<EarlyProof> close_early(DualGraph& graph, const kernel::Scope& scope, const std::vector<std::uint32_t>& open,
                                const Options& options, const Limit& limit, Statistics& statistics) {
  const kernel::Problem& problem = *graph.network().problem();
  RootPlan plan;
  for (const Stage stage : {Stage::boxes, Stage::kinks, Stage::operands}) {
    RootBounds root(problem, scope, options.threads);
    plan.refine = stage == Stage::boxes ? RootPlan::Refine::nothing : RootPlan::Refine::kinks;
    if (!is_cheap(stage, problem, root, plan, open.size())) continue;
    plan.pause = {std::min(limit.deadline, Deadline::in(kEarlyShare * limit.planned())), limit.stop};
    plan.deadline = plan.share_end = limit.deadline;
    const auto begin = Clock::now();
    const auto done = root.advance(plan);
    statistics.root_seconds += seconds_since(begin);
    if (!done || !root.has_all_boxes()) continue;
    root.stop_at(limit);
    EarlyProof proof;
    std::optional<kernel::Refutation>& refutation = proof.result.refutation;
    std::vector<std::uint32_t> left = open;
    if (auto closed = close_at_root(graph.network(), root, left, refutation); !closed) return closed.rejection();
    if (stage == Stage::boxes && !left.empty()) continue;
    GroupResult tree;
    if (left.empty()) {
      count_root(statistics);
    } else {
      auto grown = grow(stage, graph, root, left, seconds_since(begin), options, limit, statistics);
      if (!grown) return grown.rejection();
      tree = std::move(grown).value();
      if (tree.witness) return EarlyProof{std::move(tree), std::nullopt};
    }
    if (left.empty() || tree.refutation) {
      if (tree.refutation) {
        if (auto merged = certificate::merge_into(refutation, *std::move(tree.refutation)); !merged) return merged.rejection();
      }
      proof.proved = Proved{scope.group(), {}, {}};
      proof.proved->add(std::exchange(root.steps(), {}), std::move(tree.tree));
      return proof;
    }
    if (stage == Stage::kinks) {
      for (std::uint32_t& position : left) position = problem.group_cases(scope.group())[position];
      plan.also = product_operands(graph, root.scope(), left, limit);
    }
  }
  return EarlyProof{};
}

}  // namespace assay::search
