// Private to the files of this folder that share it: the engine behind relu_branching().
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "search/attack/candidate_point.h"
#include "search/bab/branch_tree.h"
#include "search/bab/relu_branching.h"
#include "search/bounds/lp/relaxation_lp.h"

namespace assay::search {

constexpr double kNoBound = -std::numeric_limits<double>::infinity();

using Record = BranchTree::Record;

struct OpenCase {
  std::uint32_t position = 0;
  double bound = kNoBound;
  std::shared_ptr<const AlphaBeta> parameters;
  float last_beta = 0;  // of the newest literal, which `parameters` do not know yet
};

struct OpenNode {
  Record record;
  std::vector<OpenCase> cases;
  double expected = kNoBound;  // of the worst case, one step ahead: for choosing what is split next where leaves are to be left open
  bool by_program = false;     // bounded by a linear program first: the split that led here gave ascent nothing to climb
};

class Branching {
 public:
  Branching(const NeuronGraph& graph, std::size_t group, const kernel::Scope& root, const BranchingOptions& options,
            const std::stop_token& stop, Statistics& statistics)
      : graph_(graph),
        network_(graph.network()),
        group_(group),
        options_(options),
        limit_{options.deadline, stop},
        statistics_(statistics),
        candidates_(graph.network(), group),
        root_boxes_(NeuronBoxes::of(graph, root)),
        root_literals_(root.literals()),
        root_scope_(root),
        relaxation_(make_relaxation(graph, without_literals(graph, root_boxes_, root_literals_, options.above))),
        activity_(graph.neuron_count(), 0.0),
        gains_(graph.neuron_count()) {
    root_scope_.stop_when([this] { return halt_ || limit_.reached(); });
  }

  Outcome<GroupResult> run(std::span<const std::uint32_t> positions);

 private:
  struct Worker;
  // One popped node while a worker treats it.
  struct Treated {
    OpenNode node;
    NeuronBoxes boxes;
    std::vector<kernel::Literal> literals;
    std::vector<BoundResult> results;  // by open case
    certificate::Fragment steps;
    std::vector<BoundResult> closed;      // results of the cases that were closed here
    std::size_t worst = 0;                // the open case with the smallest bound
    std::vector<kernel::Literal> splits;  // candidates to evaluate (their `<=` side)
    Probe probe;                          // a candidate whose children's bounds are known
    double probe_value = 0;
  };

  // One case of a treated node.
  struct Target {
    Treated* treated;
    std::size_t k;
    [[nodiscard]] const OpenCase& open() const { return treated->node.cases[k]; }
    [[nodiscard]] BoundResult& result() const { return treated->results[k]; }
  };

  void work();
  void work_with(Worker& worker);
  bool pop(Worker& worker);
  void choose_hardest();
  [[nodiscard]] std::vector<OpenLeaf> open_leaves() const;
  void push(std::vector<OpenNode> children, Worker& worker);
  void load(Treated& treated) const;
  void evaluate(Worker& worker);
  void evaluate_by_ascent(Worker& worker, std::span<const Target> targets);
  bool evaluate_by_program(Worker& worker, const Target& target);
  [[nodiscard]] static std::unique_ptr<const RelaxationRows> make_relaxation(const NeuronGraph& graph, const NeuronBoxes& root);
  [[nodiscard]] static NeuronBoxes without_literals(const NeuronGraph& graph, NeuronBoxes boxes,
                                                    const std::vector<kernel::Literal>& literals, const kernel::Scope* above);
  void weigh_flat_node(Worker& worker, const Target& target, LpResult& solved);
  void find_closing_split(Worker& worker, const Target& target, const OptimalFace& face);
  [[nodiscard]] BoundTask task_of(const Target& target) const;
  [[nodiscard]] RelaxationLp& program(Worker& worker, std::uint32_t position) const;
  bool try_minimiser(Worker& worker, std::uint32_t position, const BoundResult& result);
  void close_cases(Worker& worker, Treated& treated);
  void expect_loss(double loss);
  bool close_empty(Treated& treated);
  void propose_splits(Treated& treated, bool learning_here) const;
  void score_by_depth(const NeuronBoxes& boxes, BoundResult& result) const;
  [[nodiscard]] kernel::Literal literal_at(const NeuronBoxes& boxes, std::uint32_t neuron) const;  // its operand <= where it is split
  void choose_and_split(Worker& worker);
  void split(Treated& treated, const kernel::Literal& at_most, bool by_probe, bool blind, std::array<double, 2> expected,
             const std::array<BoundResult*, 2>& seeds, std::vector<OpenNode>& children);
  void learn_gain(const kernel::Literal& split, double bound, double at_most, double at_least);
  void close(const Record& record, std::optional<kernel::Refutation> refutation, const certificate::Fragment& steps);
  void jump_back(Worker& worker, Treated& treated);
  BoundResult bound_ancestor(Worker& worker, const BoundTask& task, std::uint32_t position);
  bool refute_ancestor(Worker& worker, const Treated& treated, const BoundResult& leaf, std::size_t up);
  void bump(const Treated& treated, const BoundResult& result);
  [[nodiscard]] std::uint32_t most_active(const BoundResult& result) const;
  void run_round(std::span<const std::uint32_t> positions, Clock::time_point start);
  void finish(std::string reason);
  void leave(Worker& worker);
  [[nodiscard]] Unfinished unfinished() const;
  [[nodiscard]] double closed_share() const { return unfinished().closed_share - share_in_work_; }
  [[nodiscard]] bool has_to_pause();
  void report(double seconds) const;
  [[nodiscard]] bool is_root(const Treated& treated) const { return treated.node.record == tree_->root(); }

  const NeuronGraph& graph_;
  const Network& network_;
  const std::size_t group_;
  const BranchingOptions& options_;
  const Limit limit_;
  Statistics& statistics_;
  const CandidateBox candidates_;
  const NeuronBoxes root_boxes_;
  const std::vector<kernel::Literal> root_literals_;
  kernel::Scope root_scope_;
  std::atomic<bool> halt_ = false;                          // of a round: ends what its workers have under way
  const std::unique_ptr<const RelaxationRows> relaxation_;  // null: nodes are bounded by ascent alone

  mutable std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  std::vector<OpenNode> open_;
  std::vector<OpenNode> left_;  // by workers that ended
  std::size_t in_work_ = 0;
  double share_in_work_ = 0;  // of the tree, as Unfinished counts
  bool finished_ = false;
  bool restart_ = false;
  bool left_open_ = false;        // as many leaves as were asked for
  bool learning_ = false;         // splits without a visible gain abound: conflicts steer the choice
  std::vector<double> activity_;  // by neuron: how often its literal was needed to close a leaf, the newest most
  double increment_ = 1;
  // What splits of a neuron gained, as shares of what the case lacked; the newest count most. Source: pseudocosts, Achterberg, Koch, Martin 2005.
  struct Gains {
    double at_most = 0, at_least = 0;
    bool known = false;
    [[nodiscard]] double value() const { return (at_most + 1e-3) * (at_least + 1e-3); }
  };
  std::vector<Gains> gains_;  // by neuron
  std::uint64_t blind_splits_ = 0, splits_ = 0, round_leaves_ = 0, round_limit_ = 0;
  double loss_ = 0;  // that the kernel found between a bound and what it proves, in a floating semantics
  std::string reason_;
  std::optional<kernel::Theorem> witness_;
  std::uint64_t nodes_ = 0, leaves_ = 0;
  std::unique_ptr<BranchTree> tree_;
  std::optional<bool> trial_failed_;  // none: not judged yet
  Pace pace_;
};

struct Branching::Worker {
  Worker(const NeuronGraph& graph, const Limit& limit) : ascent(graph, limit) { workspace.limit = limit; }
  AlphaBetaCrown ascent;
  Workspace workspace;
  std::vector<Treated> batch;
  double share = 0;                                                 // of the batch, in the tree
  std::uint64_t minimisers = 0;                                     // tried so far
  std::map<std::uint32_t, std::unique_ptr<RelaxationLp>> programs;  // by case position
};

}  // namespace assay::search
