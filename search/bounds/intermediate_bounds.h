// IntermediateBounds: the facts at a group's root, derived piece by piece, so that a search may
// attack or branch in between and go on.
//
// In graph order every active node gets its box, and every pre-activation is refined at its open
// elements that cases depend on, in batches that threads share: each refines its batch on a copy of
// the scope, and the scope meets the copies. The certificate has one step for all batches of a
// node, which gives the same bounds to the bit: no row depends on the node's own box, and rows that
// touch the same windows stay together (logic::Problem::together). Where it was read in between,
// it has the batches one after the other.
//
// What all of this is going to take is estimated from the multiply-adds per second so far.
//
// Source: CROWN (Zhang et al. 2018) for every neuron of every layer, as alpha-beta-CROWN bounds
// intermediate layers. How this version differs: only neurons that a case depends on are bounded by
// rows (needed_neurons.h), boxes by intervals come first, and it can stop at any batch of neurons
// and go on later.
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

// How much of the root to derive. It does not depend on the deadline as long as there is time for
// all of it.
struct IntermediatePlan {
  Limit pause;                                                                    // returns then, wherever it stands
  Deadline deadline;                                                              // all is refined if it is likely to be done by then ...
  Deadline share_end;                                                             // ... else the nodes that are likely to be done by then
  enum class Refine : std::uint8_t { nothing, kinks, all } refine = Refine::all;  // boxes alone; operands of relus; every pre-activation
  std::vector<NodeId> also = {};                                                  // other pre-activations
};

// The two questions of a plan, on measured figures. Seconds from now; work in multiply-adds, rate
// in multiply-adds per second.
[[nodiscard]] bool fits(double work, double rate, double seconds);
[[nodiscard]] bool is_wanted(double node_work, double all_work, double rate, double until_share_end, double until_deadline);

class IntermediateBounds {
 public:
  IntermediateBounds(const logic::Problem& problem, logic::Scope scope, int threads);
  IntermediateBounds(const IntermediateBounds&) = delete;
  IntermediateBounds& operator=(const IntermediateBounds&) = delete;

  // Goes on where the last call stopped. After a call that was not paused every node has a box.
  Outcome<Done> advance(const IntermediatePlan& plan);
  // Of the work of a row for each element of pre-activations, what the plan takes; 1 where it
  // refines none.
  [[nodiscard]] double share(const IntermediatePlan& plan) const;
  [[nodiscard]] double seconds_for_all() const;  // from the beginning, nearly, of the elements that are open once every node has a box
  [[nodiscard]] bool has_all_boxes() const { return at_ == nodes_.size(); }
  [[nodiscard]] bool complete() const { return has_all_boxes() && first_skipped_ == nodes_.size(); }  // everything is refined

  // Once everything is refined: the open elements of a node again, by these slopes. Declined once
  // the limit is reached.
  Outcome<Done> refine_again(NodeId node, const logic::Hints& hints);

  // ... or elements of a node, each by a tree of splits, on all threads; those that the limit stops
  // stay as they were.
  struct ByCases {
    std::uint32_t element;
    std::vector<certificate::CaseStep> tree;
  };
  Outcome<Done> refine_by_cases(NodeId node, std::span<const ByCases> ranges);

  // ... or the open elements of all that relus read, with slopes that few share
  // (AlphaBetaCrown::share_alphas); on all threads, until the limit is reached.
  Outcome<Done> refine_groups(const NeuronGraph& graph, const Limit& limit);
  [[nodiscard]] double seconds_to_refine_groups(const NeuronGraph& graph) const;  // nearly

  // ... or sums of elements, each by a tree of splits, on all threads. All of them, or declined.
  // Their trees may be large: each is asked for when it is its turn, on any thread.
  struct CutByCases {
    std::vector<logic::Cut::Term> terms;
    std::vector<certificate::CaseStep> tree;
  };
  Outcome<Done> add_cuts(std::size_t count, const std::function<CutByCases(std::size_t)>& cut);

  // What stops steps on the scope and its copies between the calls.
  void stop_at(const Limit& limit) { limit_ = limit; }
  [[nodiscard]] const logic::Scope& scope() const { return scope_; }
  // What the kernel accepted so far.
  [[nodiscard]] certificate::Fragment& steps() {
    before_batches_.reset();
    only_boxes_ = false;
    return steps_;
  }

 private:
  struct ActiveNode {
    NodeId id;
    bool refined = false;  // a pre-activation
    double row_work = 0;   // multiply-adds of one row from here back to the inputs
  };
  struct NeuronBatch {
    logic::Selection selection;
    std::vector<std::uint32_t> elements;
    logic::Hints hints;
  };
  [[nodiscard]] bool is_meant(const ActiveNode& node, const IntermediatePlan& plan) const;
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
  [[nodiscard]] logic::Selection selection_of(NodeId node, std::span<const std::uint32_t> elements) const;
  Outcome<Done> open_node();
  void snap_ends(NodeId node);
  Outcome<Done> refine_node();
  using Prepare =
      std::function<bool(std::size_t part, NeuronBatch& batch)>;  // what is to be done before, on the batch's thread; false: stopped
  Outcome<Done> refine_batches(std::vector<NeuronBatch> batches, const Prepare& prepare = {});

  const logic::Problem& problem_;
  const std::size_t threads_;
  certificate::Team team_;
  logic::Scope scope_;
  Limit limit_;
  certificate::Fragment steps_;
  std::optional<certificate::Fragment> before_batches_;  // of the open node; none: they have to stay
  bool only_boxes_ = true;                               // are in steps_, and nobody read them
  std::vector<ActiveNode> nodes_;
  NodeId last_jump_ = 0;                   // of the nodes that jump somewhere; 0: none does
  std::size_t at_ = 0, first_skipped_;     // in nodes_
  bool is_open_ = false, paused_ = false;  // the node at_ has its box, and elements_ are still to be refined
  std::vector<std::uint32_t> elements_;
  logic::Selection opened_;                // what these were at first
  std::vector<std::vector<bool>> needed_;  // by node and element: cases depend on it; empty: not known yet
  std::size_t sizes_ = 0, selected_ = 0;   // elements of the pre-activations so far, and how many of them were open
  double work_done_ = 0, seconds_ = 0;     // of the batches so far
};

}  // namespace assay::search
