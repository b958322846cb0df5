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
//   unsatisfiable, satisfiable                     -> Theorem: "unsat" from one complete refutation of each root; "sat"
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

// The part of a problem that depends on the graph alone, which several properties of one graph can share.
class Network {
 public:
  static Outcome<std::shared_ptr<const Network>> open(Graph graph, ExecutionModel semantics = {}, KernelOptions options = {});
  struct State;
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  explicit Network(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A validated statement, prepared for proofs. Cases that share an input box form a group, numbered in order of occurrence.
class Problem {
 public:
  static Outcome<std::shared_ptr<const Problem>> open(statement::Statement statement, KernelOptions options = {});
  static Outcome<std::shared_ptr<const Problem>> open(std::shared_ptr<const Network> network, statement::Property property,
                                                      std::vector<statement::Source> sources);
  [[nodiscard]] const statement::Statement& statement() const;
  [[nodiscard]] const Graph& graph() const { return statement().graph; }
  [[nodiscard]] const KernelOptions& options() const;
  [[nodiscard]] const statement::Digest& digest() const;
  [[nodiscard]] const statement::Digest& graph_digest() const;
  // Whether the claims are about float executions, and not about real arithmetic.
  [[nodiscard]] bool floating() const { return statement().semantics.kind == ExecutionModel::Kind::floating; }
  [[nodiscard]] bool is_constant(NodeId node) const;                        // whether the node depends on no input
  [[nodiscard]] NodeId node_of(const statement::Variable& variable) const;  // the node of the graph
  [[nodiscard]] std::vector<std::string> assumptions() const;               // of its theorems, besides the code of the trusted folders
  [[nodiscard]] std::size_t group_count() const;
  [[nodiscard]] const std::vector<std::uint32_t>& group_cases(std::size_t group) const;
  [[nodiscard]] std::uint32_t group_of_case(std::uint32_t case_index) const;
  [[nodiscard]] const statement::InputBox& group_box(std::size_t group) const;  // with ends that values_in() gives
  [[nodiscard]] bool group_is_empty(std::size_t group) const;                   // lo > hi somewhere: vacuous
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
  Scope& operator=(Scope other) noexcept;
  ~Scope();
  [[nodiscard]] std::size_t group() const;
  [[nodiscard]] std::vector<Literal> literals() const;  // outermost first
  [[nodiscard]] bool has_box(NodeId node) const;
  [[nodiscard]] const relax::Box& box(NodeId node) const;
  [[nodiscard]] const Cuts& cuts() const;

  // The rules, whose side conditions scope.cpp and conclude.cpp list. A claim is stored only if the derived bound implies it.
  Outcome<Done> assume(const Literal& literal);
  Outcome<Done> propagate_box(NodeId node);
  Outcome<Done> tighten(NodeId node, std::span<const std::uint32_t> elements, const Hints& hints, const Claims* claims = nullptr,
                        bool to_float = false);
  Outcome<Done> cut(std::vector<Cut::Term> terms, const Hints& hints);
  Outcome<Done> meet(const Scope& other);
  Outcome<Done> hull(const Scope& at_most, const Scope& at_least);
  Outcome<Refutation> conclude(std::span<const CaseMultipliers> cases, const Hints& hints) const;
  Outcome<Refutation> empty() const;

  // Steps on this scope and its copies are declined where the meter declines them, or `stop` returns true (kernel.stopped).
  void pay(std::shared_ptr<Meter> meter);
  void stop_when(std::function<bool()> stop);
  void forget_linear_bounds(const Scope& but);  // frees their memory, except those that `but` holds, too
  class State;
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
 private:
  struct Content;
  explicit Theorem(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
  friend Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>&, std::span<const Refutation>);
  friend Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>&, const Witness&, double);
};

Outcome<Refutation> merge(const Refutation& a, const Refutation& b);              // of one context: the cases of either
Outcome<Refutation> join(const Refutation& at_most, const Refutation& at_least);  // of both halves of a split: the cases of both
Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>& problem, std::span<const Refutation> refutations);
// Exactly: the witness lies in the box, and every row holds. Declined where exact fractions take more word operations.
Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>& problem, const Witness& witness, double exact_work = 2e9);

}  // namespace assay::logic
