// Branch and bound by splits of neurons: what bounder, brancher and conflicts share. Private to
// bab/ and heuristics/.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "search/attack/candidate_point.h"
#include "search/bab/engine.h"
#include "search/bab/subdomain.h"
#include "search/bounds/lp/relaxation_lp.h"

namespace assay::search {

// The root of the tree, as doubles.
struct ActivationRoot {
  ActivationRoot(const NeuronGraph& graph, const logic::Scope& scope, const logic::Scope* above);
  [[nodiscard]] std::uint32_t case_of(std::uint32_t position) const { return graph.network().problem()->group_cases(group)[position]; }
  // The operand <= where it is split.
  [[nodiscard]] logic::Literal literal_at(const NeuronBoxes& in, std::uint32_t neuron) const;

  const NeuronGraph& graph;
  const std::size_t group;
  const CandidateBox candidates;
  const NeuronBoxes boxes;
  const std::vector<logic::Literal> literals;
  const std::unique_ptr<const RelaxationRows> relaxation;  // null: subdomains are bounded by ascent alone
};

// One subdomain while a worker treats it.
struct Treated {
  Subdomain* node;
  NeuronBoxes boxes{};
  std::vector<logic::Literal> literals{};
  std::vector<BoundResult> results{};  // by open case
  certificate::Fragment steps{};
  std::vector<BoundResult> closed{};     // results of the cases that were closed here
  std::size_t worst = 0;                 // the open case with the smallest bound
  std::vector<logic::Literal> splits{};  // candidates to evaluate (their `<=` side)
  StrongSplit strong_split{};            // a candidate whose children's bounds are known
  double strong_value = 0;
};

// What executions of a floating semantics lose between a bound and what the kernel proves.
// Thread-safe.
class ExpectedLoss {
 public:
  [[nodiscard]] double value() const;
  void note(double loss);

 private:
  mutable std::mutex mutex_;
  double loss_ = 0;
};

// The bounder of one thread: alpha-beta-CROWN (Wang et al. 2021), and the triangle relaxation's
// linear program (Ehlers 2017) where every relu reads the inputs. The dual solution of a program is
// evaluated like any other parameters, since only such bounds can be repeated by the kernel.
class ActivationBounder {
 public:
  ActivationBounder(const ActivationRoot& root, Engine& engine, ExpectedLoss& loss);
  [[nodiscard]] AlphaBetaCrown& ascent() { return ascent_; }
  [[nodiscard]] std::size_t capacity() const { return ascent_.capacity(); }  // cases side by side

  // Loads the batch and bounds its cases. `learning`: some steps more, for larger margins, by which
  // needed literals are told.
  void bound(std::span<Treated> batch, bool learning);
  // Asks the kernel about every case whose bound is positive; the others stay open. False: one of
  // their minimisers is a witness.
  bool close_cases(Treated& treated);
  // A subdomain without a point.
  bool close_empty(Treated& treated);
  // A bound of a node above: the program again, or the same parameters without the last literals
  // and a few more steps.
  BoundResult bound_above(const BoundTask& task, std::uint32_t position);

 private:
  // One case of a treated node.
  struct Target {
    Treated* treated;
    std::size_t k;
    [[nodiscard]] const OpenCase& open() const { return treated->node->cases[k]; }
    [[nodiscard]] BoundResult& result() const { return treated->results[k]; }
  };
  void load(Treated& treated) const;
  [[nodiscard]] BoundTask task_of(const Target& target) const;
  void bound_by_ascent(std::span<const Target> targets, bool learning);
  bool bound_by_program(const Target& target);
  void weigh_flat_node(const Target& target, LpResult& solved);
  void find_closing_split(const Target& target, const OptimalFace& face);
  [[nodiscard]] RelaxationLp& program(std::uint32_t position);
  [[nodiscard]] bool is_witness(std::uint32_t position, const BoundResult& result);

  const ActivationRoot& root_;
  Engine& engine_;
  ExpectedLoss& loss_;
  AlphaBetaCrown ascent_;
  Workspace workspace_;
  std::uint64_t minimisers_ = 0;                                     // tried so far
  std::map<std::uint32_t, std::unique_ptr<RelaxationLp>> programs_;  // by case position
};

}  // namespace assay::search
