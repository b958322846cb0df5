// Private to relu_branching.cpp and conflicts.cpp: the engine behind relu_branching().
#pragma once

#include <condition_variable>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "certificates/search/branch_tree.h"
#include "certificates/search/candidate_point.h"
#include "certificates/search/relu_branching.h"

namespace assay::search {

using Clock = std::chrono::steady_clock;

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

using Record = BranchTree::Record;

struct OpenCase {
  std::uint32_t position = 0;
  double bound = kNoBound;
  std::shared_ptr<const DualParameters> parameters;
  float last_beta = 0;  // of the newest literal, which `parameters` do not know yet
};

struct OpenNode {
  Record record;
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
        root_scope_(root),
        activity_(graph.slot_count(), 0.0) {}

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
    std::vector<DualResult> closed;   // results of the cases that were closed here
    std::size_t worst = 0;            // the open case with the smallest bound
    std::vector<kernel::Literal> splits;  // candidates to evaluate (their `<=` side)
    Probe probe;                          // a candidate whose children's bounds are known
    double probe_value = 0;
  };

  void work();
  bool pop(Worker& worker);
  void push(std::vector<OpenNode> nodes);
  void load(Treated& treated) const;
  void evaluate(Worker& worker);
  bool try_minimiser(Worker& worker, std::uint32_t position, const DualResult& result);
  void close_cases(Worker& worker, Treated& treated);
  bool close_empty(Treated& treated);
  void propose_splits(Treated& treated, bool learning_here) const;
  [[nodiscard]] kernel::Literal literal_at(std::uint32_t slot) const;  // its operand <= 0
  void choose_and_split(Worker& worker);
  void split(Treated& treated, const kernel::Literal& at_most, bool by_probe, std::vector<OpenNode>& children);
  void close(const Record& record, std::optional<kernel::Refutation> refutation, const certificate::Fragment& steps);
  void jump_back(Worker& worker, Treated& treated);
  bool refute_ancestor(Worker& worker, const Treated& treated, const DualResult& leaf, std::size_t up);
  void bump(const Treated& treated, const DualResult& result);
  [[nodiscard]] std::uint32_t most_active(const DualResult& result) const;
  void run_round(std::span<const std::uint32_t> positions, Clock::time_point start);
  void finish(std::string reason);
  void report(double seconds) const;
  [[nodiscard]] bool is_root(const Treated& treated) const { return treated.node.record == tree_->root(); }

  const DualGraph& graph_;
  const Network& network_;
  const std::size_t group_;
  const BranchingOptions& options_;
  const std::stop_token& stop_;
  Statistics& statistics_;
  const CandidateBox candidates_;
  const DualBoxes root_boxes_;
  const std::vector<kernel::Literal> root_literals_;
  const kernel::Scope root_scope_;

  mutable std::mutex mutex_;        // of everything below
  std::condition_variable changed_;
  std::vector<OpenNode> open_;
  std::size_t in_work_ = 0;
  bool finished_ = false;
  bool restart_ = false;
  bool learning_ = false;           // splits without a visible gain abound: conflicts steer the choice
  std::vector<double> activity_;    // by slot: how often its literal was needed to close a leaf, the newest most
  double increment_ = 1;
  std::uint64_t blind_splits_ = 0, splits_ = 0, round_leaves_ = 0, round_limit_ = 0;
  std::string reason_;
  std::optional<kernel::Theorem> witness_;
  std::uint64_t nodes_ = 0, leaves_ = 0;
  std::unique_ptr<BranchTree> tree_;
};

struct Branching::Worker {
  explicit Worker(const DualGraph& graph) : ascent(graph) {}
  DualAscent ascent;
  Workspace workspace;
  std::vector<Treated> batch;
  std::uint64_t minimisers = 0;  // tried so far
};

}  // namespace assay::search
