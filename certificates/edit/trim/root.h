// The bounds at the root of a group that its branches do not need.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "certificates/edit/trim/proof.h"
#include "kernel/logic/api.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"

namespace assay::certificate {

// Trims the root in two passes. Forwards, derive() takes the root's steps one after the other. At those that refine it asks
// whether the group closes on boxes alone from there on, or with the operands of relus alone. Steps that are not needed then are
// left out before they are derived, so that the trim takes about the time of the new check. Backwards, shorten() leaves out
// single nodes.
class RootTrimmer {
 public:
  // `is_over` ends the trials; steps on `root` stop as it says itself.
  RootTrimmer(std::shared_ptr<const logic::Problem> problem, ProofGroup& group, const logic::Scope& root,
              const std::function<bool()>& is_over);

  // Rejections are the kernel's, where it does not accept the group, or is stopped before that is known. The group is one that it accepts
  // all the same, if it was one.
  [[nodiscard]] Outcome<Done> derive();
  [[nodiscard]] std::size_t steps() const { return count_; }  // of the root that were derived
  [[nodiscard]] const logic::Scope& scope() const { return before_.back(); }

  [[nodiscard]] bool is_worth_shortening() const;
  // From the last refined node to the first, as many elements as the kernel still accepts the whole group without are left out: of networks
  // whose activations have lines in closed form those of least influence first, of others all of a node or none. Work on a node
  // does not derive the bounds before it again. `spare`: bytes by which the root's steps may grow, since a mask can be longer than what it
  // stands for.
  void shorten(const search::NeuronGraph& graph, std::size_t spare);

  // Elements that the root refines, before and after; where a node went as a whole, those that are open without it.
  [[nodiscard]] std::size_t refined() const { return refined_; }
  [[nodiscard]] std::size_t kept() const;

 private:
  struct Node {
    std::vector<std::uint32_t> elements;  // that are refined, the one that matters least first
    bool ordered = false;
    std::size_t bytes = 0;  // of its steps as they were
    double work = 0;        // multiply-adds of these
  };

  using Needless = std::function<bool(const Record&)>;
  [[nodiscard]] bool closes_without(const Needless& needless, logic::Scope scope);
  void join_chunks(const logic::Scope& scope);
  void order(const search::NeuronGraph& graph);
  [[nodiscard]] ProofStep step_of(const Record& old, const Node& node, std::size_t dropped) const;
  [[nodiscard]] bool is_proof_from(std::size_t from) const;
  void shorten(std::size_t at, Node& node);
  [[nodiscard]] double spent() const;

  std::shared_ptr<const logic::Problem> problem_;
  ProofGroup& group_;
  std::vector<ProofStep>& steps_;
  const std::function<bool()> is_over_;
  std::shared_ptr<double> purse_;  // multiply-adds that may still be taken
  double derived_ = 0, rest_ = 0;  // multiply-adds of the steps, and of the branches behind them
  std::size_t spare_ = 0;
  std::size_t count_ = 0, refined_ = 0;
  std::vector<logic::Scope> before_;   // by step, and behind the last
  std::map<std::size_t, Node> nodes_;  // by step
};

}  // namespace assay::certificate
