// GroupSearch: takes one group of cases through the table of stages. Each stage is a member function; stages.h says
// which stages run, and for how long.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bab/bab.h"
#include "search/bounds/crown_cases.h"
#include "search/bounds/intermediate_bounds.h"
#include "search/bounds/intermediate_refinement.h"
#include "search/strategy/constants.h"
#include "search/strategy/proved.h"
#include "search/strategy/search_state.h"
#include "search/strategy/stages.h"

namespace assay::search {

class GroupSearch {
 public:
  // `open`: the cases to refute in the scope, by position in the group.
  GroupSearch(SearchState& search, const logic::Scope& scope, std::vector<std::uint32_t> open);

  Outcome<GroupResult> run();

  // The stages.
  Outcome<Next> try_a_point(double);
  Outcome<Next> bound_boxes(double seconds);
  Outcome<Next> bound_kinks(double seconds);
  Outcome<Next> bound_operands(double seconds);
  Outcome<Next> grow_early_tree(double seconds);
  Outcome<Next> find_product_operands(double);
  Outcome<Next> bound_root_until_attack(double seconds);
  Outcome<Next> bound_root(double seconds);
  Outcome<Next> close_at_root(double);
  Outcome<Next> cut(double);
  Outcome<Next> attack(double seconds);
  Outcome<Next> attack_beside(double);
  Outcome<Next> find_input_rows(double);
  Outcome<Next> grow_over_inputs(double seconds);
  Outcome<Next> grow_over_all_cases(double seconds);
  Outcome<Next> grow_by_case(double seconds);
  Outcome<Next> refine(double);

 private:
  // A root with only some of its intermediate bounds. Each is derived from scratch, so that a proof on it holds no
  // bounds that it does not need.
  struct EarlyRoot {
    EarlyRoot(const logic::Problem& problem, const logic::Scope& scope, int threads, std::vector<std::uint32_t> cases)
        : bounds(problem, scope, threads), open(std::move(cases)) {}
    IntermediateBounds bounds;
    std::vector<std::uint32_t> open;
    std::optional<logic::Refutation> refutation;  // of the cases that are no longer open
    double seconds = 0;
  };
  const Features& features();
  Outcome<Next> bound_early(IntermediatePlan plan, double seconds);
  Outcome<Next> end_early(std::unique_ptr<ProofTree> tree);
  Outcome<Done> advance(const IntermediatePlan& plan);
  Outcome<Next> ends_here(std::optional<logic::Theorem> witness);
  Outcome<Next> end_at_root();
  void note_bounds(const std::optional<CrownCases>& found, std::size_t cases, std::size_t left);
  void begin_tree(double seconds);
  [[nodiscard]] BranchingOptions tree_options(Deadline until) const;
  Outcome<GroupResult> grow_over_activations(const std::vector<std::uint32_t>& open, Deadline until, Trial trial = {});
  Outcome<GroupResult> grow_over_activations(const logic::Scope& scope, const std::vector<std::uint32_t>& open,
                                             const BranchingOptions& options);
  Outcome<GroupResult> try_both(std::uint32_t position);
  Outcome<Next> settle(Outcome<GroupResult> branched, bool by_case);
  [[nodiscard]] std::size_t leaves_wanted() const;
  [[nodiscard]] std::optional<double> seconds_to_next_refinement() const;
  [[nodiscard]] std::size_t group() const { return root_.scope().group(); }
  [[nodiscard]] const std::vector<std::uint32_t>& cases() const { return search_.problem->group_cases(group()); }
  [[nodiscard]] std::vector<std::uint32_t> cases_at(const std::vector<std::uint32_t>& positions) const;

  SearchState& search_;
  const logic::Scope scope_;  // has no intermediate bounds
  std::vector<std::uint32_t> open_;
  IntermediateBounds root_;
  IntermediateRefinement refinement_;
  Proved proved_;
  GroupResult result_;
  Features now_;  // up to date after features()
  std::unique_ptr<EarlyRoot> early_;
  std::vector<NodeId> operands_;  // operands of the products whose relaxation loses much
  std::optional<Clock::time_point> root_begin_;
  Deadline until_;              // when this round's tree has to end
  bool goes_on_ = false;        // whether a later round can grow another tree
  bool was_refinable_ = false;  // whether the root could be refined when this round's tree began
  std::optional<bool> kfsb_;    // whether kFSB chooses the splits; none: not known yet
};

}  // namespace assay::search
