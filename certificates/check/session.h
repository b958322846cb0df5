// Session: the kernel's rules (kernel/logic/api.h) as a stack, for replay and for tools that emit proofs step by step.
//
//   begin_group(g)   steps and splits   end_group()      once for every group, in any order; then theorem()
//   split(...)   left branch   next()   right branch   done()
//
// A branch is any sequence of steps and whole splits. The session merges their refutations, and done() joins those of
// both branches of a split. A session holds no trust: every fact comes from a rule of Scope, merge, join, unsatisfiable
// or satisfiable.
//
// Memory grows with the number of open branches. Each open branch holds the boxes that differ from its parent's; the
// linear bounds of the root and of the innermost branch are held, too. A rejected call proves nothing and leaves the
// branches unchanged, except that a rejected done() drops its split.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "certificates/check/meter.h"
#include "certificates/check/team.h"
#include "certificates/format/case_step.h"
#include "kernel/inspect/selection.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

// Calls propagate_box, in order, for every node >= first that is neither constant nor an input, and that is active or
// has a box. Each pre-activation among them is then refined at its unstable elements, with the policy's slopes.
[[nodiscard]] Outcome<Done> sweep(const logic::Problem& problem, logic::Scope& scope, NodeId first, bool round_to_float);
// The same without refinement.
[[nodiscard]] Outcome<Done> propagate_boxes(const logic::Problem& problem, logic::Scope& scope, NodeId first);

// Bounds the selected elements in each leaf of the tree, and keeps the bounds that hold in both halves of each split.
[[nodiscard]] Outcome<Done> tighten_by_cases(logic::Scope& scope, NodeId node, const inspect::Selection& selection,
                                             std::span<const CaseStep> tree, bool round_to_float);

// Derives a lower bound of the sum in each leaf of the tree; the least of them becomes one cut.
[[nodiscard]] Outcome<Done> cut_by_cases(logic::Scope& scope, const std::vector<logic::Cut::Term>& terms, std::span<const CaseStep> tree);

// Limits of the steps and splits of one session. A step that would exceed them is declined before it runs.
struct SessionLimits {
  double work = 1e13;                             // multiply-adds
  std::uint64_t memory = std::uint64_t{8} << 30;  // bytes for the boxes of the open branches of one session
};

class Session {
 public:
  // If there is a team, its idle threads help to derive bounds of many elements.
  explicit Session(std::shared_ptr<const logic::Problem> problem, SessionLimits limits = {}, std::shared_ptr<Team> team = nullptr);

  Outcome<Done> begin_group(std::size_t group);
  Outcome<Done> end_group();
  Outcome<Done> split(NodeId node, std::uint32_t element, double threshold);  // opens the branch element <= threshold
  Outcome<Done> next();                                                       // opens the branch element >= threshold
  Outcome<Done> done();
  // A session for another thread, which replays the right branch of the split opened at `depth` - 1 while this one
  // continues with the left branch. It may use the rest of this session's work, and ends with end_branch(). next(Found)
  // then takes its result, in place of next() and of the calls before done().
  Outcome<Session> right_branch(std::size_t depth) const;
  struct Found {
    std::optional<logic::Refutation> closed;
    double work = 0;
    std::uint64_t memory = 0;
  };
  Found end_branch();
  // Called when the left branch of a split has ended before the right one: frees the facts of the left branch, which
  // nobody needs until next(Found).
  void leave_left() { levels_.back().scope = levels_[levels_.size() - 2].scope; }
  Outcome<Done> next(Found right);
  // For steps that do not need each other's facts, at the root of a group without cuts: twin() is a session for another
  // thread, and meet() takes over its facts and its work.
  [[nodiscard]] bool may_have_twins() const { return in_group() && depth() == 0 && scope().cuts().empty(); }
  [[nodiscard]] Session twin() const;
  Outcome<Done> meet(const Session& twin);
  void leave_team() { team_ = nullptr; }

  Outcome<Done> sweep(NodeId first, bool round_to_float);
  Outcome<Done> propagate_boxes(NodeId first);
  Outcome<Done> propagate_box(NodeId node);
  Outcome<Done> tighten(NodeId node, const inspect::Selection& selection, const logic::Hints& hints, const logic::Claims* claims = nullptr,
                        bool round_to_float = false);
  Outcome<Done> tighten_by_cases(NodeId node, const inspect::Selection& selection, std::span<const CaseStep> tree, bool round_to_float);
  Outcome<Done> cut(const std::vector<logic::Cut::Term>& terms, std::span<const CaseStep> tree);
  Outcome<Done> conclude(std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints);
  Outcome<Done> empty();

  // Theorem "unsat", once every group has ended.
  [[nodiscard]] Outcome<logic::Theorem> theorem() const;
  // Theorem "sat", outside any group; earlier refutations do not matter.
  [[nodiscard]] Outcome<logic::Theorem> witness(const logic::Witness& point) const;

  // For the work of the reader of a step. Declined (code "kernel.work") if fewer multiply-adds are left.
  Outcome<Done> spend(double work) { return certificate::spend(work, *work_); }
  // Raises the budget of the following steps by this many multiply-adds.
  void allow(double work) { *work_ += work; }
  [[nodiscard]] double work_left() const { return *work_; }
  [[nodiscard]] const Costs& costs() const { return *costs_; }
  // An upper bound on the bytes of the boxes of the open branches so far.
  [[nodiscard]] std::uint64_t most_memory() const { return most_memory_; }

  [[nodiscard]] const logic::Problem& problem() const { return *problem_; }
  // Rejected (session.structure) where no step is allowed.
  [[nodiscard]] Outcome<Done> in_branch() const;
  [[nodiscard]] bool in_group() const { return !levels_.empty(); }
  // Number of open splits.
  [[nodiscard]] std::size_t depth() const { return levels_.empty() ? 0 : left_out_ + levels_.size() - 1; }
  // The open group, or the last one.
  [[nodiscard]] std::size_t group() const { return group_; }
  // At the root of a group, the position of a case that is not refuted so far.
  [[nodiscard]] std::optional<std::size_t> open_case() const;
  // Only inside a group.
  [[nodiscard]] const logic::Scope& scope() const { return levels_.back().scope; }

 private:
  struct Level {
    logic::Scope scope;
    std::optional<logic::Refutation> closed;  // the refutation by the steps and splits of this branch so far
    logic::Literal at_most;                   // the left half of the split that opened the branch; unused at the root
    std::optional<logic::Refutation> left;    // in a right branch: the refutation of the left one
    // Once the branch was split: the bytes of this branch and those above it, each without the parts shared with
    // its parent.
    std::uint64_t held = 0;
  };
  Session(const Session& of, double work);
  Outcome<Done> spend_step();
  Outcome<Done> spend_sweep();
  Outcome<Done> spend_split(NodeId node);
  Outcome<Done> spend_tree(std::span<const CaseStep> tree, double leaf, std::uint64_t bytes);
  [[nodiscard]] Outcome<logic::Scope> opposite(std::size_t level) const;
  Outcome<Done> tighten_in_parts(NodeId node, const inspect::Selection& selection, const logic::Hints& hints, bool round_to_float);
  [[nodiscard]] std::uint64_t own_bytes() const;
  Outcome<Done> hold(std::uint64_t bytes, std::size_t more);
  [[nodiscard]] std::uint64_t held() const { return levels_.size() < 2 ? 0 : levels_[levels_.size() - 2].held; }
  Outcome<Done> close(Outcome<logic::Refutation> refutation);

  std::shared_ptr<const logic::Problem> problem_;
  SessionLimits limits_;
  std::shared_ptr<Team> team_;
  std::shared_ptr<const Costs> costs_;
  std::shared_ptr<double> work_;  // multiply-adds left
  double given_ = 0;              // multiply-adds that a right branch received
  double elements_ = 0;           // number of elements of the graph
  // The most bytes that the boxes of one branch can hold; of all branches so far.
  std::uint64_t branch_bytes_ = 0, most_memory_ = 0;
  // In a right branch: number of levels between the root and its parent.
  std::size_t left_out_ = 0;
  std::vector<Level> levels_;
  std::vector<std::optional<logic::Refutation>> groups_;
  std::size_t group_ = 0;
};

}  // namespace assay::certificate
