// Branch and bound on one group of cases, by splits of neurons (activation_bab.cpp) or of inputs (input_bab.cpp), with
// one engine for both (engine.h).
//
// The boxes of a node are those of the root scope, cut by the node's literals. A case is closed at a node only when the
// kernel's own conclude accepts the bound there. Refutations are merged and joined up to the root. The accepted steps
// are kept in a ProofTree for the writer.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bab/proof_tree.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/search.h"

namespace assay::search {

class ThresholdSplits;  // search/heuristics/threshold_splits.h

constexpr double kNearlyClosed = 0.75;

// Ends the tree at `end` if a smaller share than `least_closed` is closed by then.
struct Trial {
  Deadline end;
  double least_closed = 0;
};

struct BranchingOptions {
  Deadline deadline;
  // From then on the tree ends if too small a share is closed: kNearlyClosed at first, all of it at the deadline.
  Deadline pause;
  Trial trial;  // may end the tree, too
  int threads = 2;
  std::uint64_t most_nodes = 0;  // 0 = any number
  // Ends with this many open leaves, after splitting the hardest first; 0: goes on to the answer.
  std::size_t open_leaves = 0;
  std::uint64_t memory_limit_bytes = 0;  // limit for the open nodes and the tree, estimated; 0: none
  const logic::Scope* above = nullptr;   // if the root has literals: the scope without them
  bool root_is_refined = false;          // another sweep of the root would change nothing
  // kFSB: tries more splits, with more steps of ascent; fewer nodes, each more expensive.
  bool kfsb = false;
  int root_iterations = 60, node_iterations = 16;
  std::function<void()> between_nodes;               // called between nodes if there is only one thread
  std::function<void(const Progress&)> on_progress;  // called about ten times a second, by the calling thread

  [[nodiscard]] static BranchingOptions of(const Options& options, Deadline deadline) {
    BranchingOptions result;
    result.deadline = deadline;
    result.above = options.cube != nullptr ? &options.cube->above : nullptr;
    result.threads = options.threads;
    result.memory_limit_bytes = options.memory_limit_bytes;
    result.on_progress = options.on_progress;
    return result;
  }

  // A tree that is nearly closed at the deadline continues, at most for the same time again.
  void go_on_if_nearly_closed(Deadline last) {
    pause = deadline;
    deadline = std::min(last, Deadline::in(2 * deadline.seconds_left()));
  }
};

// A subdomain that `open_leaves` left open.
struct OpenLeaf {
  std::uint32_t tree_node = ProofTree::kRoot;
  double bound = 0;                  // worst lower bound of its cases, or of those of its parent
  std::vector<std::uint32_t> cases;  // the open cases
};

struct GroupResult {
  std::optional<logic::Refutation> refutation;  // of the cases asked for, in the context of the root scope
  std::optional<logic::Theorem> witness;
  std::unique_ptr<ProofTree> tree;       // the steps below the root scope; complete if and only if refutation is set
  std::string reason;                    // without refutation and witness: what ran out
  std::optional<Unfinished> unfinished;  // without refutation and witness: what is open
  bool by_programs = false;              // linear programs bounded nodes and chose splits
  bool trial_failed = false;             // without refutation and witness: the trial ended the tree
  std::vector<OpenLeaf> leaves;          // without refutation and witness, if open_leaves ended the tree
};

// `positions`: the cases of the root's group that are still open there, by position in the group. Without a refutation
// or a witness, `reason` is set. branch_on_activations needs a box of every pre-activation at `root`. It declines with
// code "search.lines" if NeuronGraph has no lines for some op of the graph.
Outcome<GroupResult> branch_on_activations(const NeuronGraph& graph, const logic::Scope& root, std::span<const std::uint32_t> positions,
                                           const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics);
GroupResult branch_on_inputs(const NeuronGraph& graph, const ThresholdSplits& thresholds, const logic::Scope& root,
                             std::span<const std::uint32_t> positions, const BranchingOptions& options, const std::stop_token& stop,
                             Statistics& statistics);

}  // namespace assay::search
