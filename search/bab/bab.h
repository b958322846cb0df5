// Branch and bound on one group of cases: by splits of neurons (activation_bab.cpp) or of inputs
// (input_bab.cpp), in one engine (engine.h).
//
// Every node inherits the root scope's boxes met with its literals. A case is closed at a node only
// when the kernel's own conclude accepts the bound there; refutations are merged and joined up to
// the root, and the accepted steps are kept in a ProofTree for the writer.
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

constexpr double kNearlyClosed = 0.75;

// A tree of which less is closed by then goes no further.
struct Trial {
  Deadline end;
  double least_closed = 0;
};

struct BranchingOptions {
  Deadline deadline;
  Deadline pause;  // ends here where less than kNearlyClosed of its tree is closed, and later where that falls behind
  Trial trial;     // may end here, too
  int threads = 2;
  std::uint64_t most_nodes = 0;          // 0 = any number
  std::size_t open_leaves = 0;           // ends with so many, the hardest having been split first; 0 = goes on to the answer
  std::uint64_t memory_limit_bytes = 0;  // 0 = none; of the open nodes and the tree, estimated
  const logic::Scope* above = nullptr;   // where the root has literals: the scope without them
  bool root_is_refined = false;          // another sweep of the root would find nothing new
  bool kfsb = false;                     // tries more splits, with more steps of ascent: fewer nodes, each dearer
  int root_iterations = 60, node_iterations = 16;
  std::function<void()> between_nodes;               // called by the only thread, where there is one
  std::function<void(const Progress&)> on_progress;  // about ten times a second, from the calling thread

  [[nodiscard]] static BranchingOptions of(const Options& options, Deadline deadline) {
    BranchingOptions result;
    result.deadline = deadline;
    result.above = options.cube != nullptr ? &options.cube->above : nullptr;
    result.threads = options.threads;
    result.memory_limit_bytes = options.memory_limit_bytes;
    result.on_progress = options.on_progress;
    return result;
  }

  // A tree that is nearly closed at the deadline goes on, for as long again at most.
  void go_on_if_nearly_closed(Deadline last) {
    pause = deadline;
    deadline = std::min(last, Deadline::in(2 * deadline.seconds_left()));
  }
};

// A branch of the tree that was left open by `open_leaves`.
struct OpenLeaf {
  std::uint32_t tree_node = ProofTree::kRoot;
  double bound = 0;                  // worst lower bound of its cases, or of those of the node above
  std::vector<std::uint32_t> cases;  // that are open
};

struct GroupResult {
  std::optional<logic::Refutation> refutation;  // of the cases asked for, in the root scope's context
  std::optional<logic::Theorem> witness;
  std::unique_ptr<ProofTree> tree;       // steps below the root scope; complete iff refutation is set
  std::string reason;                    // neither: what ran out
  std::optional<Unfinished> unfinished;  // neither: what is open
  bool by_programs = false;              // linear programs bounded nodes, and chose splits
  bool trial_failed = false;             // neither: the trial ended it
  std::vector<OpenLeaf> leaves;          // neither, where open_leaves ended it
};

// `positions`: the cases of the root's group that are still open there, by position in the group.
// Without a refutation or a witness, `reason` is set. Neurons: every pre-activation needs a box at
// `root`. Declined (code "search.lines") when some op of the graph has no lines in NeuronGraph.
Outcome<GroupResult> branch_on_activations(const NeuronGraph& graph, const logic::Scope& root, std::span<const std::uint32_t> positions,
                                           const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics);
GroupResult branch_on_inputs(const NeuronGraph& graph, const logic::Scope& root, std::span<const std::uint32_t> positions,
                             const BranchingOptions& options, const std::stop_token& stop, Statistics& statistics);

}  // namespace assay::search
