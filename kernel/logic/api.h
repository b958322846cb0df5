// What can be said about a statement, and who may say it: the kernel's interface.
//
//   Problem::open(statement)                       the statement, validated, with its linear maps
//   Scope::root(problem, group)                    the points of one group's input box, in the balls that its cases share
//   scope.assume(literal)                          ... that also satisfy the literal
//   scope.propagate_box(node), scope.tighten(...)  facts: boxes that hold on the scope
//   scope.cut(terms)                               facts: sums of elements that are at least some number
//   scope.meet(other), scope.hull(half, half)      facts of a scope with the same context; of both halves of a split
//   scope.conclude(...), scope.empty()             -> Refutation: these cases have no point in the scope's context
//   merge, join                                    -> Refutation of the same context; of the parent context
//   unsatisfiable, satisfiable                     -> Theorem: "unsat" from refutations of all groups, "sat" from a witness
// Nothing else makes one. Each thread has scopes of its own; all else is immutable. Only kernel/ knows a `State` (state.h).
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

// What all problems about one graph share, whatever their properties are: its linear maps, and what depends on no input.
class Network {
 public:
  static Outcome<std::shared_ptr<const Network>> open(Graph graph, ExecutionModel semantics = {}, KernelOptions options = {});
  struct State;
  [[nodiscard]] const State& state() const { return *state_; }

 private:
  explicit Network(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  std::shared_ptr<const State> state_;
};

// A statement made ready. Cases that share an input box form a group, numbered from 0 in order of first occurrence.
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
  [[nodiscard]] bool floating() const;                                      // about float executions, not about real arithmetic
  [[nodiscard]] bool is_number(const Rational& x) const;                    // of the format in which these executions keep their values
  [[nodiscard]] bool is_constant(NodeId node) const;                        // depends on no input
  [[nodiscard]] NodeId node_of(const statement::Variable& variable) const;  // of the graph
  [[nodiscard]] std::vector<std::string> assumptions() const;  // of a theorem about it, besides the code of the trusted folders
  [[nodiscard]] std::size_t group_count() const;
  [[nodiscard]] const std::vector<std::uint32_t>& group_cases(std::size_t group) const;
  [[nodiscard]] std::uint32_t group_of_case(std::uint32_t case_index) const;
  [[nodiscard]] const statement::InputBox& group_box(std::size_t group) const;  // the statement's, with the ends that values_in() gives
  [[nodiscard]] bool group_is_empty(std::size_t group) const;  // lo > hi somewhere: it has no point, its refutation is `vacuous`
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
  [[nodiscard]] bool complete() const;                   // all cases of the group
  [[nodiscard]] bool vacuous() const;                    // rests on an empty input box
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

  // The rules; scope.cpp and conclude.cpp have their premises. Claims are stored iff the derived bounds imply them.
  Outcome<Done> assume(const Literal& literal);
  Outcome<Done> propagate_box(NodeId node);
  Outcome<Done> tighten(NodeId node, const Selection& selection, const Hints& hints, const Claims* claims = nullptr, bool to_float = false);
  Outcome<Done> cut(std::vector<Cut::Term> terms, const Hints& hints);
  Outcome<Done> meet(const Scope& other);
  Outcome<Done> hull(const Scope& at_most, const Scope& at_least);
  Outcome<Refutation> conclude(std::span<const CaseMultipliers> cases, const Hints& hints) const;
  Outcome<Refutation> empty() const;

  // Steps on this scope and its copies are declined where the meter declines them, or `stop` says true (kernel.stopped). Null: no meter.
  void pay(std::shared_ptr<Meter> meter);
  void stop_when(std::function<bool()> stop);
  void forget_linear_bounds(const Scope& but);  // but for those of another scope, to free memory: they are derived again where needed
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
  [[nodiscard]] const std::vector<Interval>& outputs() const;  // elements at the witness, enclosed
  [[nodiscard]] std::string to_text() const;                   // theorem_text.h
 private:
  struct Content;
  explicit Theorem(std::shared_ptr<const Content> content) : content_(std::move(content)) {}
  std::shared_ptr<const Content> content_;
  friend Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>&, std::span<const Refutation>);
  friend Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>&, const Witness&, double);
};

Outcome<Refutation> merge(const Refutation& a, const Refutation& b);  // of one context: the cases of either
Outcome<Refutation> join(const Refutation& at_most,
                         const Refutation& at_least);  // of both halves of a split: its parent's, the cases of both
// One complete refutation of the root context of every group.
Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>& problem, std::span<const Refutation> refutations);
// Inside the box exactly, and every row holds, decided at rising precision; open where exact fractions take more word operations.
Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>& problem, const Witness& witness, double exact_work = 2e9);

}  // namespace assay::logic
