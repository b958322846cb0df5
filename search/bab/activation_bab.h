// Branch and bound over neurons: the types that the bounder and the brancher share. Private to bab/ and heuristics/.
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

// The root of the tree, with its bounds as doubles.
struct ActivationRoot {
  ActivationRoot(const NeuronGraph& graph, const logic::Scope& scope, const logic::Scope* above);
  [[nodiscard]] std::uint32_t case_of(std::uint32_t position) const { return graph.network().problem()->group_cases(group)[position]; }
  // The literal `operand <= split point` of the neuron.
  [[nodiscard]] logic::Literal literal_at(const NeuronBoxes& in, std::uint32_t neuron) const;

  const NeuronGraph& graph;
  const std::size_t group;
  const CandidateBox candidates;
  const NeuronBoxes boxes;
  const std::vector<logic::Literal> literals;
  const std::unique_ptr<const RelaxationRows> relaxation;  // null: subdomains are bounded by alpha-beta-CROWN alone
};

// A subdomain while a worker bounds and splits it.
struct Treated {
  Subdomain* node;
  NeuronBoxes boxes{};
  std::vector<logic::Literal> literals{};
  std::vector<BoundResult> results{};  // one for each open case
  certificate::Fragment steps{};
  std::size_t worst = 0;                 // index of the open case with the smallest bound
  std::vector<logic::Literal> splits{};  // candidate splits to evaluate, as their `<=` literals
  StrongSplit strong_split{};            // a candidate whose halves have known bounds
  double strong_value = 0;
};

// In a floating semantics: how much lower the bound that the kernel proves may be than the bound of the ascent, because
// executions round. Thread-safe.
class ExpectedLoss {
 public:
  [[nodiscard]] double value() const;
  void note(double loss);

 private:
  mutable std::mutex mutex_;
  double loss_ = 0;
};

// The bounder of one thread: alpha-beta-CROWN (Wang et al. 2021), and linear programs over the triangle relaxation
// (Ehlers 2017) if every ReLU is affine in the inputs. The dual solution of a program is evaluated like any other
// parameters, because the kernel can only repeat such bounds.
class ActivationBounder {
 public:
  ActivationBounder(const ActivationRoot& root, Engine& engine, ExpectedLoss& loss);
  [[nodiscard]] AlphaBetaCrown& ascent() { return ascent_; }
  [[nodiscard]] std::size_t capacity() const { return ascent_.capacity(); }  // cases that are bounded side by side

  // Loads the batch and bounds its cases.
  void bound(std::span<Treated> batch);
  // Asks the kernel about every case with a positive bound; the others stay open. Returns false if a minimiser
  // is a witness.
  bool close_cases(Treated& treated);
  // Closes a subdomain that holds no point.
  bool close_empty(Treated& treated);

 private:
  // One case of one subdomain of the batch.
  struct Target {
    Treated* treated;
    std::size_t k;
    [[nodiscard]] const OpenCase& open() const { return treated->node->cases[k]; }
    [[nodiscard]] BoundResult& result() const { return treated->results[k]; }
  };
  void load(Treated& treated) const;
  [[nodiscard]] BoundTask task_of(const Target& target) const;
  void bound_by_ascent(std::span<const Target> targets);
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
  std::uint64_t minimisers_ = 0;                                     // how many were tried so far
  std::map<std::uint32_t, std::unique_ptr<RelaxationLp>> programs_;  // by the position of the case
};

}  // namespace assay::search
