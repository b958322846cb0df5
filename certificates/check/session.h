// Session: the rules of kernel.h in stack form, for replay and for tools that emit proofs step by step.
//
//   begin_group(g)   steps and splits   end_group()      once for every group, in any order; then theorem()
//   split(...)   left branch   next()   right branch   done()
//
// A branch is any sequence of steps and whole splits. Their refutations are merged; done() joins the two sides. A session holds
// no trust: every fact comes from a rule of Scope, merge, join, unsatisfiable or satisfiable.
//
// Memory is the stack of open branches. It has the boxes of each that differ from its parent's, and the lines of the root and of
// the innermost one. A rejected call proves nothing and leaves the branches as they were, but for a rejected done(), which drops
// its split.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "certificates/check/meter.h"
#include "certificates/check/team.h"
#include "certificates/format/case_step.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

// propagate_box, in order, for every node >= first that is neither constant nor an input and that is active or has a box; each
// pre-activation among them is then refined at its unstable elements by the kernel's own policy.
[[nodiscard]] Outcome<Done> sweep(const logic::Problem& problem, logic::Scope& scope, NodeId first, bool round_to_float);
[[nodiscard]] Outcome<Done> propagate_boxes(const logic::Problem& problem, logic::Scope& scope, NodeId first);  // without that

// Bounds of the selected elements in each leaf of the tree, and of these what both halves of each split have.
[[nodiscard]] Outcome<Done> tighten_by_cases(logic::Scope& scope, NodeId node, const logic::Selection& selection,
                                             std::span<const CaseStep> tree, bool round_to_float);

// A lower bound of the sum in each leaf of the tree, and the least of them as one cut.
[[nodiscard]] Outcome<Done> cut_by_cases(logic::Scope& scope, const std::vector<logic::Cut::Term>& terms, std::span<const CaseStep> tree);

// Limits of the steps and splits of one session; a step beyond them is declined before it runs.
struct SessionLimits {
  double work = 1e13;                             // multiply-adds
  std::uint64_t memory = std::uint64_t{8} << 30;  // bytes of the boxes of the open branches, of each session
};

class Session {
 public:
  // Bounds of many elements are derived by the threads of the team that are idle, if there is one.
  explicit Session(std::shared_ptr<const logic::Problem> problem, SessionLimits limits = {}, std::shared_ptr<Team> team = nullptr);

  Outcome<Done> begin_group(std::size_t group);
  Outcome<Done> end_group();
  Outcome<Done> split(NodeId node, std::uint32_t element, double threshold);  // opens element <= threshold
  Outcome<Done> next();                                                       // opens element >= threshold
  Outcome<Done> done();
  // Makes a session for another thread, which replays the right branch of the split that was opened at `depth` - 1 while the left
  // one continues. It may take the rest of this session's work, and ends with that branch. Its results are then given back, in
  // the place of next() and of the calls before done().
  Outcome<Session> right_branch(std::size_t depth) const;
  struct Found {
    std::optional<logic::Refutation> closed;
    double work = 0;
    std::uint64_t memory = 0;
  };
  Found end_branch();
  // The left branch of a split has ended and its right one has not: what holds on the left is of no use until next(Found).
  void leave_left() { levels_.back().scope = levels_[levels_.size() - 2].scope; }
  Outcome<Done> next(Found right);
  // At the root of a group, where no cut is in force, for steps that do not need each other's facts: a session for another
  // thread, whose facts and work this one then takes.
  [[nodiscard]] bool may_have_twins() const { return in_group() && depth() == 0 && scope().cuts().empty(); }
  [[nodiscard]] Session twin() const;
  Outcome<Done> meet(const Session& twin);
  void leave_team() { team_ = nullptr; }

  Outcome<Done> sweep(NodeId first, bool round_to_float);
  Outcome<Done> propagate_boxes(NodeId first);
  Outcome<Done> propagate_box(NodeId node);
  Outcome<Done> tighten(NodeId node, const logic::Selection& selection, const logic::Hints& hints, const logic::Claims* claims = nullptr,
                        bool round_to_float = false);
  Outcome<Done> tighten_by_cases(NodeId node, const logic::Selection& selection, std::span<const CaseStep> tree, bool round_to_float);
  Outcome<Done> cut(const std::vector<logic::Cut::Term>& terms, std::span<const CaseStep> tree);
  Outcome<Done> conclude(std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints);
  Outcome<Done> empty();

  // "unsat" once every group has ended.
  [[nodiscard]] Outcome<logic::Theorem> theorem() const;
  // "sat", outside any group; earlier refutations do not matter.
  [[nodiscard]] Outcome<logic::Theorem> witness(const logic::Witness& point) const;

  // Declined (code "kernel.work") where fewer multiply-adds are left: for what the reader of a step computes.
  Outcome<Done> spend(double work) { return certificate::spend(work, *work_); }
  // The steps from now on may take this many multiply-adds more.
  void allow(double work) { *work_ += work; }
  [[nodiscard]] double work_left() const { return *work_; }
  [[nodiscard]] const Costs& costs() const { return *costs_; }
  [[nodiscard]] std::uint64_t most_memory() const { return most_memory_; }  // that the boxes of the open branches could have come to so far

  [[nodiscard]] const logic::Problem& problem() const { return *problem_; }
  // Rejected (session.structure) where no step may stand.
  [[nodiscard]] Outcome<Done> in_branch() const;
  [[nodiscard]] bool in_group() const { return !levels_.empty(); }
  [[nodiscard]] std::size_t depth() const { return levels_.empty() ? 0 : left_out_ + levels_.size() - 1; }  // open splits
  [[nodiscard]] std::size_t group() const { return group_; }                                                // the open or last one
  [[nodiscard]] const logic::Scope& scope() const { return levels_.back().scope; }                          // in a group only

 private:
  struct Level {
    logic::Scope scope;
    std::optional<logic::Refutation> closed;  // by the steps and splits of this branch so far
    logic::Literal at_most;                   // the split that opened it; unused at the root
    std::optional<logic::Refutation> left;    // set in the right branch
    std::uint64_t held = 0;  // once it was split: bytes of this branch and those above it, each without what its parent has
  };
  Session(const Session& of, double work);
  Outcome<Done> spend_step();
  Outcome<Done> spend_sweep();
  Outcome<Done> spend_split(NodeId node);
  Outcome<Done> spend_tree(std::span<const CaseStep> tree, double leaf, std::uint64_t bytes);
  [[nodiscard]] Outcome<logic::Scope> opposite(std::size_t level) const;
  Outcome<Done> tighten_in_parts(NodeId node, const logic::Selection& selection, const logic::Hints& hints, bool round_to_float);
  [[nodiscard]] std::uint64_t own_bytes() const;
  Outcome<Done> hold(std::uint64_t bytes, std::size_t more);
  [[nodiscard]] std::uint64_t held() const { return levels_.size() < 2 ? 0 : levels_[levels_.size() - 2].held; }
  Outcome<Done> close(Outcome<logic::Refutation> refutation);

  std::shared_ptr<const logic::Problem> problem_;
  SessionLimits limits_;
  std::shared_ptr<Team> team_;
  std::shared_ptr<const Costs> costs_;
  std::shared_ptr<double> work_;                      // multiply-adds that are left
  double given_ = 0;                                  // multiply-adds that a right branch was given
  double elements_ = 0;                               // of the graph
  std::uint64_t branch_bytes_ = 0, most_memory_ = 0;  // the most that the boxes of one branch can hold; of all branches
  std::size_t left_out_ = 0;                          // by a right branch: levels between the root and its parent
  std::vector<Level> levels_;
  std::vector<std::optional<logic::Refutation>> groups_;
  std::size_t group_ = 0;
};

}  // namespace assay::certificate
