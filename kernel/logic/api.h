// The kernel's whole interface: problems, scopes, refutations, theorems.
//
// Only this folder can make a Refutation or a Theorem (private constructors). Values are immutable and may be shared
// between threads; a Scope is a cheap copyable value, each thread works on its own copies.
//
//   Problem::open(statement)                       the statement, validated, with its linear maps
//   Problem::open(network, property)               the same about a graph whose maps are there
//   Scope::root(problem, group)                    the points of one group's input box, in the balls that its cases share
//   scope.assume(literal)                          ... that also satisfy the literal
//   scope.propagate_box(node), scope.tighten(...)   facts: boxes that hold on the scope
//   scope.meet(other)                              ... and those of a scope with the same context
//   scope.cut(terms)                               facts: sums of elements that are at least some number
//   scope.hull(at_most, at_least)                  ... and those that both halves of a split have
//   scope.conclude(...), scope.empty()             -> Refutation: these cases have no point in the scope's context
//   merge, join                                    -> Refutation of the same / of the parent context
//   unsatisfiable(problem, refutations)            -> Theorem "unsat"
//   satisfiable(problem, case, point)              -> Theorem "sat"
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/logic/ball.h"
#include "kernel/relax/relaxation.h"
#include "kernel/rows/linear_map.h"
#include "kernel/rows/rows.h"
#include "semantics/numbers/interval.h"
#include "semantics/outcome.h"
#include "semantics/statement/statement.h"

namespace assay::executions {
struct Formula;
}

namespace assay::kernel {

// One coordinate of one node, element <= threshold or >= threshold. Both halves of a split are closed.
struct Literal {
  NodeId node = 0;
  std::uint32_t element = 0;
  bool at_least = false;
  double threshold = 0;  // finite
  friend bool operator==(const Literal&, const Literal&) = default;
};

// sum of coefficient * element >= bound, a fact like a box. Coefficients and bound are floats, so that a multiplier's products with them are exact.
struct Cut {
  struct Term {
    NodeId node = 0;
    std::uint32_t element = 0;
    float coefficient = 0;
    friend bool operator==(const Term&, const Term&) = default;
  };
  std::vector<Term> terms;
  float bound = 0;
};

// By node, then element.
using Slopes = std::map<NodeId, std::vector<float>>;
inline std::span<const float> proposed(const Slopes& slopes, NodeId node) {  // of a node; none: empty
  const auto found = slopes.find(node);
  return found != slopes.end() ? std::span<const float>(found->second) : std::span<const float>();
}

// Hints: any values are sound, bad ones only weaken the result.
struct Hints {
  // An absent node or empty vector means the kernel's own policy. For elementwise ops the slopes of the lower and the upper line (relu: lower in
  // [0,1] is useful, upper is u/(u-l) by policy). For the ops of denoted_plane: the mix in [0,1] of McCormick's planes, lower of those below and
  // upper of those above the products in the element's formula. For maxima: lower, the chosen candidate; minima: upper.
  Slopes lower, upper;
  std::vector<float> beta;  // one multiplier >= 0 per literal of the scope, outermost first; missing ones are 0
  std::vector<float> cuts;  // and one per cut of the scope, in the order in which they were derived
};

struct KernelOptions {
  bool exact = false;                          // back-substitution in integers only, no double filter
  std::uint64_t exact_budget = 2'000'000'000;  // multiply-adds of one step where the filter falls back to the exact path
  bool balls = true;                           // facts hold where the rows do that all cases of a group share; false: in its whole box
};

// What all problems about one graph share, whatever their properties are: its linear maps, and what depends on no input. Immutable after open().
class Network {
 public:
  static Outcome<std::shared_ptr<const Network>> open(Graph graph, ExecutionModel semantics = {}, KernelOptions options = {});
  [[nodiscard]] const Graph& graph() const { return graph_; }

 private:
  Network() = default;
  Graph graph_;
  ExecutionModel semantics_;
  KernelOptions options_;
  Digest digest_{};  // of the graph
  std::vector<bool> is_constant_, kink_at_zero_;
  std::vector<std::optional<AffineForm>> affine_;
  std::vector<std::optional<AffineForm>> own_forms_;  // in a floating semantics, where affine_ takes more steps than the node's own
  std::vector<std::optional<GridForm>> grids_;        // of the affine forms, in exact mode
  std::vector<NodeId> pre_activations_, active_nodes_;
  std::vector<double> row_work_;   // by node: of the node and all before it, without balls
  std::vector<double> idle_work_;  // by node: of an affine one that is not active, in which a row may start all the same; else 0
  ConstantValues constants_;
  std::vector<std::size_t> readers_;  // by node: how many nodes and outputs read it
  std::vector<bool> rewritten_;       // by node: a step of a formula that executions may rewrite, which nothing else reads (rewrites.cpp)
  using Roundings = std::span<const std::shared_ptr<const std::vector<double>>>;
  using KeptSizes = std::shared_ptr<const Sizes>*;
  [[nodiscard]] std::vector<double> rounding(NodeId node, const Boxes& boxes, Roundings known, const Array<Interval>* image,
                                             KeptSizes kept) const;
  [[nodiscard]] std::vector<double> rounding_as_written(NodeId node, const Boxes& boxes, Roundings known, const Array<Interval>* image,
                                                        KeptSizes kept) const;
  [[nodiscard]] Array<Interval> values_at(NodeId node, const Boxes& boxes) const;
  [[nodiscard]] std::vector<double> one_pass_rounding(NodeId node, const Boxes& boxes, Roundings known) const;
  void mark_rewritten();
  void set_form(NodeId node, AffineForm form);
  [[nodiscard]] bool floating() const { return semantics_.kind == ExecutionModel::Kind::floating; }
  [[nodiscard]] const AffineForm* affine(NodeId node) const { return affine_[node] ? &*affine_[node] : nullptr; }
  [[nodiscard]] const AffineForm* own_form(NodeId node) const { return own_forms_[node] ? &*own_forms_[node] : affine(node); }
  [[nodiscard]] std::optional<NodeId> folded_into(NodeId node) const;
  [[nodiscard]] std::optional<executions::Formula> formula_of(NodeId node, const Boxes& boxes, bool is_root) const;
  friend class Problem;
  friend class Scope;
};

// One way of running the kernel on a statement. Immutable after open(), shared by all scopes and threads.
class Problem {
 public:
  static Outcome<std::shared_ptr<const Problem>> open(Statement statement, KernelOptions options = {});
  // About the network's graph under its semantics.
  static Outcome<std::shared_ptr<const Problem>> open(std::shared_ptr<const Network> network, Property property,
                                                      std::vector<Source> sources);

  [[nodiscard]] const Statement& statement() const { return statement_; }
  [[nodiscard]] const Graph& graph() const { return network_->graph_; }
  [[nodiscard]] const KernelOptions& options() const { return network_->options_; }
  [[nodiscard]] const Digest& digest() const { return digest_; }
  // Of the format in which the executions of a floating semantics keep their values.
  [[nodiscard]] bool is_number(const Rational& x) const;
  // The statement is about float executions, not about real arithmetic.
  [[nodiscard]] bool floating() const { return network_->floating(); }

  // Cases that share an input box form a group, numbered from 0 in order of first occurrence.
  [[nodiscard]] std::size_t group_count() const { return groups_.size(); }
  [[nodiscard]] const std::vector<std::uint32_t>& group_cases(std::size_t group) const { return groups_[group]; }
  [[nodiscard]] std::uint32_t group_of_case(std::uint32_t case_index) const { return group_of_case_[case_index]; }
  // The statement's box of the group, with the ends that values_in() gives.
  [[nodiscard]] const InputBox& group_box(std::size_t group) const { return *group_boxes_[group]; }
  // Over the reals: what all cases of the group say about an input beyond its box. Facts of the group's scopes hold where these do.
  [[nodiscard]] const std::vector<Ball>& group_balls(std::size_t group) const { return group_balls_[group]; }
  // lo > hi somewhere: the group has no point (its refutation is `vacuous`).
  [[nodiscard]] bool group_is_empty(std::size_t group) const { return group_is_empty_[group]; }

  [[nodiscard]] bool is_constant(NodeId node) const { return network_->is_constant_[node]; }  // depends on no input
  // Set for every linear or layout node that is not constant, with affine nodes before it folded in: all of them over the reals, one that
  // nothing else reads in a floating semantics.
  [[nodiscard]] const AffineForm* affine(NodeId node) const { return network_->affine(node); }
  // Nodes whose elements enter a non-linear op and are not inputs or constants, in order: worth refining.
  [[nodiscard]] const std::vector<NodeId>& pre_activations() const { return network_->pre_activations_; }
  // Inputs, outputs and what lies between them once affine chains are folded, in order; constants excluded.
  [[nodiscard]] const std::vector<NodeId>& active_nodes() const { return network_->active_nodes_; }
  // Every non-linear op that the node enters is exactly linear on either side of 0.
  [[nodiscard]] bool kink_at_zero(NodeId node) const { return network_->kink_at_zero_[node]; }
  // Multiply-adds of one row on its way from the node to the inputs, roughly.
  [[nodiscard]] double row_work(NodeId node) const { return row_work_[node]; }
  // Elements of a node in the order in which a step has their rows: of a feature map those at one position one after the other, since they touch the
  // same windows of the maps before it.
  [[nodiscard]] std::vector<std::uint32_t> ordered(NodeId node, std::vector<std::uint32_t> elements) const;
  // So many of them have their rows together: steps on multiples of so many take what one on all takes. 1 where there are no windows.
  [[nodiscard]] std::size_t together(NodeId node) const;
  // What a theorem about this problem rests on besides the code of the trusted folders.
  [[nodiscard]] std::vector<std::string> assumptions() const;
  // The graph node of a property variable.
  [[nodiscard]] NodeId node_of(const Variable& variable) const;

 private:
  Problem() = default;
  std::shared_ptr<const Network> network_;
  Statement statement_;  // of the network's graph and semantics
  Digest digest_{};
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<std::uint32_t> group_of_case_;
  std::vector<std::shared_ptr<const InputBox>> group_boxes_;
  std::vector<bool> group_is_empty_;
  std::vector<std::vector<Ball>> group_balls_;
  std::vector<double> row_work_;  // by node: of the node and all before it, balls included
  [[nodiscard]] Boxes root_boxes(std::size_t group) const;
  [[nodiscard]] bool is_empty(const InputBox& box) const;
  friend class Scope;
};

// Declined (code "kernel.environment") where this thread does not compute as the kernel assumes; checked at every entry
// that computes.
[[nodiscard]] Outcome<Done> check_environment();

// The literals from a group's root to a scope; identity matters, not content.
struct Context {
  std::shared_ptr<const Problem> problem;  // of the root; null below it
  std::size_t group = 0;
  std::shared_ptr<const Context> parent;  // null at the root
  Literal literal;
  std::size_t depth = 0;
  NodeId highest = 0;  // that a literal speaks of
};

// Declined (code "kernel.work"): a step of so much work, where so much is left.
[[nodiscard]] Rejection beyond_work(double work, double left);

// "These cases of the group have no point that satisfies the context's literals."
class Refutation {
 public:
  [[nodiscard]] const std::vector<bool>& cases() const { return cases_; }  // indexed by position in the group
  [[nodiscard]] bool complete() const;                                     // all cases of the group
  [[nodiscard]] bool vacuous() const { return vacuous_; }                  // rests on an empty input box

 private:
  Refutation() = default;
  std::shared_ptr<const Context> context_;
  std::vector<bool> cases_;
  bool vacuous_ = false;
  friend class Scope;
  friend Outcome<Refutation> merge(const Refutation&, const Refutation&);
  friend Outcome<Refutation> join(const Refutation&, const Refutation&);
  friend Outcome<class Theorem> unsatisfiable(const std::shared_ptr<const Problem>&, std::span<const Refutation>);
};

// Which elements of a node a tighten step bounds.
struct Selection {
  enum class Kind : std::uint8_t { unstable, all, mask } kind = Kind::unstable;
  std::vector<bool> mask;  // Kind::mask only
};

// Claimed bounds of the selected elements, in order. A step with claims stores exactly them.
struct Claims {
  std::vector<float> lo, hi;
};

// One case and the multipliers >= 0 of its rows, in order; empty means 1 for a case with a single row.
struct CaseMultipliers {
  std::uint32_t position = 0;  // in the group
  std::vector<float> rows;
};

// How a conclude step went, per listed case; for the search, not rigorous.
struct Diagnosis {
  std::vector<double> margins;                          // bound - required; > 0 is closed, but for losses
  std::vector<double> losses;                           // what roundings may take off the bound
  std::vector<std::vector<double>> input_coefficients;  // of the back-substituted form, inputs concatenated
};

class Theorem;
struct Witness;

class Scope {
 public:
  static Outcome<Scope> root(std::shared_ptr<const Problem> problem, std::size_t group);

  [[nodiscard]] std::size_t group() const;
  [[nodiscard]] std::vector<Literal> literals() const;  // outermost first
  [[nodiscard]] bool has_box(NodeId node) const { return boxes_[node] != nullptr; }
  [[nodiscard]] const Box& box(NodeId node) const { return *boxes_[node]; }

  // Rule assume, one half of a split: the child context, with the literal met into the node's box if it has one. Boxes of nodes
  // that depend on it stay valid (they are supersets); derive them again to tighten.
  Outcome<Done> assume(const Literal& literal);

  // Rule propagate_box (IBP): the interval denotation of the operands' boxes (which must exist), met with the box it has.
  Outcome<Done> propagate_box(NodeId node);

  // Rule tighten, by back_substitution: bounds on the selected elements of `node`, met with its box. Every node between the
  // inputs and `node` needs a box. With claims: accepted iff the derived bounds imply them, which are then stored;
  // without: the derived bounds, rounded outward to float32 if `round_to_float`.
  Outcome<Done> tighten(NodeId node, const Selection& selection, const Hints& hints, const Claims* claims = nullptr,
                        bool round_to_float = false);
  // The elements that `selection` names on the current box.
  [[nodiscard]] std::vector<std::uint32_t> selected(NodeId node, const Selection& selection) const;

  // Rule cut, by back_substitution: a lower bound of the sum, to which later steps may give a multiplier. Every node between the inputs and the
  // terms needs a box. In a scope without points nothing is derived.
  Outcome<Done> cut(std::vector<Cut::Term> terms, const Hints& hints);
  using Cuts = std::vector<std::shared_ptr<const Cut>>;
  [[nodiscard]] const Cuts& cuts() const { return *cuts_; }

  // Rule meet: the facts of a scope with the same context, such as a copy that another thread tightened; nodes without a box here keep none.
  Outcome<Done> meet(const Scope& other);

  // Rule hull: what holds in both halves of a split of this scope; nodes without a box in one of them keep theirs. Of a cut that both derived, of the
  // same terms, the lesser bound.
  Outcome<Done> hull(const Scope& at_most, const Scope& at_least);

  // Rule conclude: for each listed case, sum of multipliers times rows is contradicted by back-substitution.
  // Succeeds only if all of them are; `diagnosis`, if given, tells the search how it went, success or not.
  Outcome<Refutation> conclude(std::span<const CaseMultipliers> cases, const Hints& hints, Diagnosis* diagnosis = nullptr) const;

  // Rule empty: some box of the scope has lo > hi.
  Outcome<Refutation> empty() const;

  // Steps on this scope and its copies pay their multiply-adds here first, and are declined (code "kernel.work") where too few are left.
  void spend_from(std::shared_ptr<double> work) { work_ = std::move(work); }
  [[nodiscard]] Outcome<Done> spend(double work) const;

  // Linear bounds that were derived so far, but for those that the other scope has as well, are derived again where they are needed.
  void forget_linear_bounds(const Scope& but);

  // Steps on this scope and its copies are declined (code "kernel.stopped"), within milliseconds of work, while `stop` says true.
  void stop_when(std::function<bool()> stop) { stop_ = std::move(stop); }

 private:
  Scope() = default;
  friend Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>&, const Witness&);
  // The executions at one point: nothing that is concluded here is a refutation of the group.
  static Outcome<Scope> at_point(const std::shared_ptr<const Problem>& problem, std::size_t group, const std::vector<Rational>& inputs);
  [[nodiscard]] Outcome<double> lower_bound(const Row& row, bool negated) const;
  static Outcome<std::vector<Interval>> outputs_of_executions(const std::shared_ptr<const Problem>& problem, const Witness& witness);
  struct Targets;
  struct Bound;
  struct Weighted;
  [[nodiscard]] Weighted weighted(const Hints& hints) const;
  [[nodiscard]] Rejection not_boxed(const char* code, NodeId node) const;
  [[nodiscard]] std::shared_ptr<const LinearBounds> linear_bounds(NodeId node, const Hints& hints) const;
  using LinesByNode = std::vector<std::optional<std::shared_ptr<const LinearBounds>>>;  // none: not asked for yet; null: stop at the box
  template <class Rows>
  [[nodiscard]] bool walk(Rows& rows, std::size_t count, NodeId start, const Hints& hints, const Weighted& weighted,
                          LinesByNode& bounds_by_node) const;
  [[nodiscard]] Outcome<std::vector<Bound>> back_substitute(const Targets& targets, const Hints& hints, Diagnosis* diagnosis = nullptr,
                                                            LinesByNode* derived = nullptr) const;
  [[nodiscard]] double settled(const Targets& targets, std::size_t row, const Hints& hints, const Bound& bound, double required,
                               std::uint64_t& budget) const;
  void meet(NodeId node, Box box);
  void append(std::span<const std::shared_ptr<const Cut>> more);  // to the cuts
  Outcome<Done> find_rounding(NodeId node, const Array<Interval>* image, std::shared_ptr<const Sizes>* sizes);
  [[nodiscard]] Box shifted_box(NodeId node, NodeId inner) const;
  [[nodiscard]] std::vector<double> step_rounding(NodeId node) const;

  const Problem* problem_ = nullptr;  // the root context keeps it
  std::shared_ptr<const Context> context_;
  Boxes boxes_;  // by node; null = not derived
  // By node; on this scope's boxes or an ancestor's: kept beside, so that a copy of a scope counts few pointers.
  std::vector<const ErrorBound*> error_bounds_;
  std::vector<std::shared_ptr<const ErrorBound>> own_error_bounds_;  // by node or none: those found since the last literal
  std::shared_ptr<const void> inherited_;                            // keeps those found before it
  // By node, in a floating semantics: what executions lose there (execution.cpp), on this scope's boxes or an ancestor's; empty: nothing.
  std::vector<std::shared_ptr<const std::vector<double>>> rounding_;
  std::vector<double> rounding_size_;  // by node: the sum of its operands' magnitudes when that was found
  // By policy, derived so far; on this scope's boxes or an ancestor's: never taken from a child, whose own box is narrower.
  std::vector<std::shared_ptr<const LinearBounds>> linear_bounds_;
  std::shared_ptr<const Cuts> cuts_ = std::make_shared<const Cuts>();
  bool contradiction_ = false;  // some box has lo > hi
  std::function<bool()> stop_;
  std::shared_ptr<double> work_;  // multiply-adds that are left; null: any number
};

// Two refutations of one context: the union of their cases.
Outcome<Refutation> merge(const Refutation& a, const Refutation& b);
// Rule join, the other end of a split: refutations of element <= t and element >= t in one parent context give the parent's (the common cases).
Outcome<Refutation> join(const Refutation& at_most, const Refutation& at_least);

// A point of some case's region, exactly.
struct Witness {
  std::uint32_t case_index = 0;
  std::vector<Rational> inputs;  // all input tensors, concatenated
};

class Theorem {
 public:
  enum class Kind : std::uint8_t { unsatisfiable, satisfiable };
  [[nodiscard]] Kind kind() const { return kind_; }
  [[nodiscard]] bool vacuous() const { return vacuous_; }
  [[nodiscard]] const std::shared_ptr<const Problem>& problem() const { return problem_; }
  [[nodiscard]] const std::vector<std::string>& assumptions() const { return assumptions_; }
  [[nodiscard]] const Witness& witness() const { return witness_; }
  // The output elements at the witness, enclosed; empty for unsatisfiable.
  [[nodiscard]] const std::vector<Interval>& outputs() const { return outputs_; }
  // Statement printed back: region, unsafe set, graph summary, semantics in words, digests, assumptions.
  [[nodiscard]] std::string to_text() const;

 private:
  Theorem() = default;
  Kind kind_ = Kind::unsatisfiable;
  bool vacuous_ = false;
  std::shared_ptr<const Problem> problem_;
  std::vector<std::string> assumptions_;
  Witness witness_;
  std::vector<Interval> outputs_;
  friend Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>&, std::span<const Refutation>);
  friend Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>&, const Witness&);
};

// One complete refutation of the root context of every group.
Outcome<Theorem> unsatisfiable(const std::shared_ptr<const Problem>& problem, std::span<const Refutation> refutations);
// Rule satisfiable: inside the box exactly, every row holds, decided at rising precision.
Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>& problem, const Witness& witness);

}  // namespace assay::kernel
