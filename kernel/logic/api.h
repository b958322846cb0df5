// The kernel's interface: how the facts about a statement, its refutations and its theorems are made.
//
//   Problem::open(statement)                       validates the statement and extracts its linear maps
//   Scope::root(problem, group)                    one group's input box, within the balls that its cases share
//   scope.assume(literal)                          those of them that also satisfy the literal
//   scope.propagate_box(node), scope.tighten(...)  facts: boxes that hold on the scope
//   scope.cut(terms)                               facts: lower bounds of sums of elements that hold on the scope
//   scope.meet(other), scope.hull(half, half)      facts of a scope with the same context; of both halves of a split
//   scope.conclude(...), scope.empty()             -> Refutation: the listed cases have no point in the scope's context
//   merge, join                                    -> Refutation of the same context; of the parent context
//   unsatisfiable, satisfiable                     -> Theorem: "unsat" from refutations of all groups; "sat"
// No other function makes a Refutation or a Theorem. Scopes are mutable, and each thread has its own; all other objects
// are immutable. The definition of each `State` is in state.h and private to kernel/.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "kernel/logic/step.h"
#include "semantics/statement/statement.h"

namespace assay {
class Interval;
}
namespace assay::relax {
struct Box;  // kernel/relax/box.h
}
namespace assay::logic {

class Meter;  // meter.h
class Theorem;

// The part of a problem that depends on the graph alone, so that several properties of one graph can share it: linear
// maps, and the values of nodes that depend on no input.
class Network {
 public:
  static Outcome<std::shared_ptr<const Network>> open(Graph graph, ExecutionModel semantics = {}, KernelOptions options = {});
  struct State;
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  explicit Network(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A validated statement, prepared for proofs. Cases that share an input box form a group. Groups are numbered from 0 in
// order of first occurrence.
class Problem {
 public:
  static Outcome<std::shared_ptr<const Problem>> open(statement::Statement statement, KernelOptions options = {});
  static Outcome<std::shared_ptr<const Problem>> open(std::shared_ptr<const Network> network, statement::Property property,
                                                      std::vector<statement::Source> sources);
  [[nodiscard]] const statement::Statement& statement() const;
  [[nodiscard]] const Graph& graph() const;
  [[nodiscard]] const KernelOptions& options() const;
  [[nodiscard]] const statement::Digest& digest() const;
  [[nodiscard]] const statement::Digest& graph_digest() const;
  // True: claims about float executions; false: about real arithmetic.
  [[nodiscard]] bool floating() const;
  // Whether x is a number of the format in which the executions keep their values.
  [[nodiscard]] bool is_number(const Rational& x) const;
  [[nodiscard]] bool is_constant(NodeId node) const;                        // whether the node depends on no input
  [[nodiscard]] NodeId node_of(const statement::Variable& variable) const;  // the node of the graph
  // The assumptions of a theorem about this problem, besides the code of the trusted folders.
  [[nodiscard]] std::vector<std::string> assumptions() const;
  [[nodiscard]] std::size_t group_count() const;
  [[nodiscard]] const std::vector<std::uint32_t>& group_cases(std::size_t group) const;
  [[nodiscard]] std::uint32_t group_of_case(std::uint32_t case_index) const;
  // The statement's box, its ends moved to values of the inputs' types by values_in().
  [[nodiscard]] const statement::InputBox& group_box(std::size_t group) const;
  // Lo > hi in some element: the group has no point, and its refutation is `vacuous`.
  [[nodiscard]] bool group_is_empty(std::size_t group) const;
  struct State;
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  explicit Problem(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// "These cases of the group have no point that satisfies the context's literals."
class Refutation {
 public:
  [[nodiscard]] const std::vector<bool>& cases() const;  // indexed by position in the group
  [[nodiscard]] bool complete() const;                   // all cases of the group are refuted
  [[nodiscard]] bool vacuous() const;                    // the refutation rests on an empty input box
 private:
  struct Content;
  explicit Refutation(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
  friend class Scope;
  friend Outcome<Refutation> merge(const Refutation&, const Refutation&);
  friend Outcome<Refutation> join(const Refutation&, const Refutation&);
  friend Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>&, std::span<const Refutation>);
};

class Scope {
 public:
  static Outcome<Scope> root(std::shared_ptr<const Problem> problem, std::size_t group);
  Scope(const Scope& other);
  Scope(Scope&&) noexcept;
  Scope& operator=(const Scope& other);
  Scope& operator=(Scope&&) noexcept;
  ~Scope();
  [[nodiscard]] std::size_t group() const;
  [[nodiscard]] std::vector<Literal> literals() const;  // outermost first
  [[nodiscard]] bool has_box(NodeId node) const;
  [[nodiscard]] const relax::Box& box(NodeId node) const;
  [[nodiscard]] const Cuts& cuts() const;

  // The rules. scope.cpp and conclude.cpp list their side conditions. A claimed bound is stored only if the derived
  // bound implies it.
  Outcome<Done> assume(const Literal& literal);
  Outcome<Done> propagate_box(NodeId node);
  Outcome<Done> tighten(NodeId node, const Selection& selection, const Hints& hints, const Claims* claims = nullptr, bool to_float = false);
  Outcome<Done> cut(std::vector<Cut::Term> terms, const Hints& hints);
  Outcome<Done> meet(const Scope& other);
  Outcome<Done> hull(const Scope& at_most, const Scope& at_least);
  Outcome<Refutation> conclude(std::span<const CaseMultipliers> cases, const Hints& hints) const;
  Outcome<Refutation> empty() const;

  // After pay(meter), the meter may decline any step on this scope and its copies; null means no meter. After
  // stop_when(stop), steps are declined (code kernel.stopped) once `stop` returns true.
  void pay(std::shared_ptr<Meter> meter);
  void stop_when(std::function<bool()> stop);
  // Frees the memory of linear bounds, except those that `but` holds, too; steps derive them again when needed.
  void forget_linear_bounds(const Scope& but);
  struct State;
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  explicit Scope(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

class Theorem {
 public:
  enum class Kind : std::uint8_t { unsatisfiable, satisfiable };
  [[nodiscard]] Kind kind() const;
  [[nodiscard]] bool vacuous() const;
  [[nodiscard]] const std::shared_ptr<const Problem>& problem() const;
  [[nodiscard]] const std::vector<std::string>& assumptions() const;
  [[nodiscard]] const Witness& witness() const;
  [[nodiscard]] const std::vector<Interval>& outputs() const;  // an enclosure of each output element at the witness
  [[nodiscard]] std::string to_text() const;                   // theorem_text.h
 private:
  struct Content;
  explicit Theorem(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
  friend Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>&, std::span<const Refutation>);
  friend Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>&, const Witness&, double);
};

// A and b have the same context; the result has the cases of either.
Outcome<Refutation> merge(const Refutation& a, const Refutation& b);
Outcome<Refutation> join(const Refutation& at_most,
                         const Refutation& at_least);  // both halves of a split; result: of the parent, cases of both
// Needs exactly one complete refutation of the root context of every group.
Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>& problem, std::span<const Refutation> refutations);
// Checks exactly that the witness lies in the box, and that every row holds, at rising precision. The answer is
// "declined" if exact fractions would take more than `exact_work` word operations.
Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>& problem, const Witness& witness, double exact_work = 2e9);

}  // namespace assay::logic
