// Branching that ends with open leaves: what is left, and which node is split next where leaves are to be left.
#include <algorithm>

#include "search/bab/branching_engine.h"

namespace assay::search {

// Brings the node whose worst case is furthest from being closed to the top, after those that are likely to close at once; or ends with the
// leaves that there are. mutex_ held.
void Branching::choose_hardest() {
  std::erase_if(open_, [&](const OpenNode& node) { return tree_->is_void(node.record); });
  const auto difficulty = [](const OpenNode& node) { return node.expected > 0 ? -kNoBound : -node.expected; };
  const auto hardest = std::ranges::max_element(open_, {}, difficulty);
  const std::size_t leaves = open_.size() + in_work_, most = 2 * options_.open_leaves;
  const bool closes = hardest != open_.end() && hardest->expected > 0 && leaves < most;
  if (leaves >= options_.open_leaves && !closes) {
    left_open_ = finished_ = true;
    changed_.notify_all();
  } else if (hardest != open_.end()) {
    std::iter_swap(hardest, open_.end() - 1);
  }
}

std::vector<OpenLeaf> Branching::open_leaves() const {
  std::vector<OpenLeaf> leaves;
  for (const std::vector<OpenNode>* nodes : {&open_, &left_}) {
    for (const OpenNode& node : *nodes) {
      if (tree_->is_void(node.record)) continue;
      OpenLeaf& leaf = leaves.emplace_back(OpenLeaf{node.record->tree_node, node.expected, {}});
      for (const OpenCase& one : node.cases) leaf.cases.push_back(network_.problem()->group_cases(group_)[one.position]);
    }
  }
  return leaves;
}

// What is left of a worker's batch when it ends: all but what was closed.
void Branching::leave(Worker& worker) {
  const std::lock_guard lock(mutex_);
  for (Treated& treated : worker.batch)
    if (!treated.node.cases.empty()) left_.push_back(std::move(treated.node));
}

Unfinished Branching::unfinished() const {
  Frontier frontier;
  for (const std::vector<OpenNode>* nodes : {&open_, &left_}) {
    for (const OpenNode& node : *nodes) {
      if (tree_->is_void(node.record)) continue;
      frontier.add(node.record->depth);
      for (const OpenCase& one : node.cases) frontier.add_case(network_.problem()->group_cases(group_)[one.position], one.bound);
    }
  }
  return frontier.unfinished();
}

// A trial is judged once, when it has ended, by what it has closed. Between pause and deadline the share that has to be closed grows to all of
// it: what is left to the end shrinks as evenly, or it is not waited for.
bool Branching::has_to_pause() {
  if (!trial_failed_ && options_.trial.end.has_passed()) {
    trial_failed_ = closed_share() < options_.trial.least_closed;
    if (*trial_failed_) return true;
  }
  if (!options_.pause.has_passed()) return false;
  const double over = -options_.pause.seconds_left(), left = std::max(options_.deadline.seconds_left(), 0.0);
  const double wanted = kNearlyClosed + (1 - kNearlyClosed) * over / (over + left);
  return closed_share() < wanted;
}

}  // namespace assay::search
