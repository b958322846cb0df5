// IntermediateBounds: derives the facts at a group's root piece by piece, so that a search may attack or branch in
// between and then continue.
//
// In graph order, every active node gets its box, and every pre-activation is refined at the open elements that cases
// depend on. Threads share the batches of elements: each refines its batch on a copy of the scope, and the scope then
// meets the copies. The certificate has one step for all batches of a node. This step gives the same bounds to the bit,
// because no row depends on the node's own box, and because rows that touch the same windows stay together
// (logic::Problem::together). If the steps were read before a node was complete, the certificate has the batches of the
// node one after the other instead.
//
// The time for the rest is estimated from the multiply-adds per second so far.
//
// Source: CROWN (Zhang et al. 2018) for every neuron of every layer, as alpha-beta-CROWN bounds intermediate layers.
// How this version differs: only neurons that a case depends on are bounded by rows (needed_neurons.h), boxes by
// intervals come first, and it can stop at any batch of neurons and continue later.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "certificates/check/team.h"
#include "certificates/format/writer.h"
#include "kernel/logic/api.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/strategy/deadline.h"

namespace assay::search {

// How much of the root to derive. This does not depend on the deadline as long as there is time for all of it.
struct IntermediatePlan {
  // advance() returns then, wherever it is.
  Limit pause = {};
  // Everything is refined if that is likely to be done by then ...
  Deadline deadline = {};
  // ... otherwise the nodes that are likely to be done by then.
  Deadline share_end = {};
  // Only boxes; also operands of ReLUs; every pre-activation.
  enum class Refine : std::uint8_t { nothing, kinks, all } refine = Refine::all;
  std::vector<NodeId> also = {};  // other pre-activations to refine
};

// The two questions of a plan, answered by measured figures. Seconds count from now; work is in multiply-adds, and rate
// in multiply-adds per second. fits: whether the work is done in time. is_wanted: whether to refine the node.
[[nodiscard]] bool fits(double work, double rate, double seconds);
[[nodiscard]] bool is_wanted(double node_work, double all_work, double rate, double until_share_end, double until_deadline);

class IntermediateBounds {
 public:
  IntermediateBounds(const logic::Problem& problem, logic::Scope scope, int threads);
  IntermediateBounds(const IntermediateBounds&) = delete;
  IntermediateBounds& operator=(const IntermediateBounds&) = delete;

  // Continues where the last call stopped. After a call that was not paused every node has a box.
  Outcome<Done> advance(const IntermediatePlan& plan);
  // The plan's share of the work of bounding every element of every pre-activation by a row; 1 if the plan
  // refines nothing. work: of all of it, in multiply-adds.
  [[nodiscard]] double work() const;
  [[nodiscard]] double share(const IntermediatePlan& plan) const;
  // From the beginning, roughly, for the elements that are open once every node has a box.
  [[nodiscard]] double seconds_for_all() const;
  [[nodiscard]] bool has_all_boxes() const { return at_ == nodes_.size(); }
  // Whether everything is refined.
  [[nodiscard]] bool complete() const { return has_all_boxes() && first_skipped_ == nodes_.size(); }

  // The next four functions need a complete root. Refines the open elements of a node again, with these slopes.
  // Declined once the limit is reached.
  Outcome<Done> refine_again(NodeId node, const logic::Hints& hints);

  // Refines elements of a node, each by a tree of splits, on all threads. Elements that the limit stops stay as
  // they were.
  struct ByCases {
    std::uint32_t element;
    std::vector<certificate::CaseStep> tree;
  };
  Outcome<Done> refine_by_cases(NodeId node, std::span<const ByCases> ranges);

  // Refines the open elements of all operands of ReLUs, with slopes that few elements share
  // (AlphaBetaCrown::share_alphas), on all threads, until the limit is reached.
  Outcome<Done> refine_groups(const NeuronGraph& graph, const Limit& limit);
  [[nodiscard]] double seconds_to_refine_groups(const NeuronGraph& graph) const;  // approximate

  // Derives lower bounds of sums of elements, each by a tree of splits, on all threads. Either all are derived, or the
  // call is declined. Trees may be large, so each is asked for when its turn comes, on any thread.
  struct CutByCases {
    std::vector<logic::Cut::Term> terms;
    std::vector<certificate::CaseStep> tree;
  };
  Outcome<Done> add_cuts(std::size_t count, const std::function<CutByCases(std::size_t)>& cut);

  // The limit that stops steps on the scope and its copies between the calls.
  void stop_at(const Limit& limit) { limit_ = limit; }
  [[nodiscard]] const logic::Scope& scope() const { return scope_; }
  // The steps that the kernel has accepted so far.
  [[nodiscard]] certificate::Fragment& steps() {
    before_batches_.reset();
    only_boxes_ = false;
    return steps_;
  }

 private:
  struct ActiveNode {
    NodeId id;
    bool refined = false;  // whether it is a pre-activation
    double row_work = 0;   // multiply-adds of one row from here back to the inputs
  };
  struct NeuronBatch {
    inspect::Selection selection;
    std::vector<std::uint32_t> elements;
    logic::Hints hints;
  };
  [[nodiscard]] bool is_meant(const ActiveNode& node, const IntermediatePlan& plan) const;
  [[nodiscard]] bool has_time(const IntermediatePlan& plan) const;
  [[nodiscard]] bool is_for_groups(const ActiveNode& node, const NeuronGraph& graph) const;
  [[nodiscard]] double work_left() const;
  [[nodiscard]] bool is_measured() const;
  [[nodiscard]] double rate() const;  // multiply-adds per second of all threads; a guess until it is measured
  [[nodiscard]] double work_of(std::size_t elements, std::size_t node) const {
    return 2 * static_cast<double>(elements) * nodes_[node].row_work;
  }
  void list_elements(NodeId node);
  [[nodiscard]] std::vector<NeuronBatch> next_batches() const;
  [[nodiscard]] NeuronBatch batch_of(std::span<const std::uint32_t> elements) const;
  [[nodiscard]] inspect::Selection selection_of(NodeId node, std::span<const std::uint32_t> elements) const;
  Outcome<Done> open_node();
  void snap_ends(NodeId node);
  Outcome<Done> refine_node(const IntermediatePlan& plan);
  using Prepare =
      // Runs on the batch's thread before the batch; false: stopped.
      std::function<bool(std::size_t part, NeuronBatch& batch)>;
  Outcome<Done> refine_batches(std::vector<NeuronBatch> batches, const Prepare& prepare = {});

  const logic::Problem& problem_;
  const std::size_t threads_;
  certificate::Team team_;
  logic::Scope scope_;
  Limit limit_;
  certificate::Fragment steps_;
  // The steps before the batches of the open node; none: batch steps must stay.
  std::optional<certificate::Fragment> before_batches_;
  bool only_boxes_ = true;  // steps_ holds only boxes, and nobody has read them
  std::vector<ActiveNode> nodes_;
  NodeId last_jump_ = 0;                   // the last node that jumps somewhere; 0: none does
  std::size_t at_ = 0, first_skipped_;     // indices into nodes_
  bool is_open_ = false, paused_ = false;  // is_open_: node at_ has its box, and elements_ are still to be refined
  std::vector<std::uint32_t> elements_;
  inspect::Selection opened_;              // the elements of the open node at first
  std::vector<std::vector<bool>> needed_;  // by node and element: cases depend on it; empty: not known yet
  std::size_t sizes_ = 0, selected_ = 0;   // elements of the pre-activations so far, and how many of them were open
  double work_done_ = 0, seconds_ = 0;     // for the batches so far
  double node_rate_ = 0;                   // multiply-adds per second of one thread, in the last batch of node at_
};

}  // namespace assay::search
