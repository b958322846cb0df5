// The data behind networks, problems, scopes, refutations and theorems, shared by their sources. Private to kernel/;
// kernel/inspect reads it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernel/exact/grid.h"
#include "kernel/logic/api.h"
#include "kernel/logic/meter.h"
#include "kernel/relax/formula.h"
#include "kernel/rows/rows.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/interval.h"
#include "semantics/printable.h"
#include "semantics/statement/ball.h"

namespace assay::floats {
struct Formula;
}

namespace assay::logic {

struct Network::State {
  Graph graph_;
  ExecutionModel semantics_;
  KernelOptions options_;
  statement::Digest digest_{};  // of the graph
  // kink_at_zero_: every non-linear op that reads the node is exactly linear on either side of 0.
  std::vector<bool> is_constant_, kink_at_zero_;
  std::vector<std::optional<rows::AffineForm>> affine_;
  // In a floating semantics, where affine_ folds two steps into one: the form of the node's own step.
  std::vector<std::optional<rows::AffineForm>> own_forms_;
  std::vector<std::optional<exact::GridForm>> grids_;  // of the affine forms, in exact mode
  // The nodes whose bounds are worth refining, in order: a non-linear op reads them, and they are no inputs
  // or constants.
  std::vector<NodeId> pre_activations_;
  // Inputs, outputs and the nodes between them after folding of affine chains, in order, without constants.
  std::vector<NodeId> active_nodes_;
  rows::ConstantValues constants_;
  // By node; null: denoted_plane reads the formula off the denotation each time.
  std::vector<std::shared_ptr<const relax::Formula>> formulas_;
  // By node: the number of nodes and outputs that read it.
  std::vector<std::size_t> readers_;
  // By node: it is a step of a formula that executions may rewrite, and no other node reads it (rewrites.cpp).
  std::vector<bool> rewritten_;
  using Roundings = std::span<const std::shared_ptr<const std::vector<double>>>;
  using KeptSizes = std::shared_ptr<const rows::Sizes>*;
  [[nodiscard]] const Graph& graph() const { return graph_; }
  [[nodiscard]] std::vector<double> rounding(NodeId node, const rows::Boxes& boxes, Roundings known, const Array<Interval>* image,
                                             KeptSizes kept) const;
  [[nodiscard]] std::vector<double> rounding_as_written(NodeId node, const rows::Boxes& boxes, Roundings known,
                                                        const Array<Interval>* image, KeptSizes kept) const;
  [[nodiscard]] Array<Interval> values_at(NodeId node, const rows::Boxes& boxes) const;
  [[nodiscard]] std::vector<double> one_pass_rounding(NodeId node, const rows::Boxes& boxes, Roundings known) const;
  void mark_rewritten();
  void set_form(NodeId node, rows::AffineForm form);
  [[nodiscard]] bool floating() const { return semantics_.kind == ExecutionModel::Kind::floating; }
  [[nodiscard]] const rows::AffineForm* affine(NodeId node) const { return affine_[node] ? &*affine_[node] : nullptr; }
  [[nodiscard]] const rows::AffineForm* own_form(NodeId node) const { return own_forms_[node] ? &*own_forms_[node] : affine(node); }
  [[nodiscard]] std::optional<NodeId> folded_into(NodeId node) const;
  [[nodiscard]] std::optional<floats::Formula> formula_of(NodeId node, const rows::Boxes& boxes, bool is_root) const;
};

struct Problem::State {
  const Network::State* network_ = nullptr;
  std::shared_ptr<const Network> keeps_;  // keeps the network alive
  statement::Statement statement_;        // has the network's graph and semantics
  statement::Digest digest_{};
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<std::uint32_t> group_of_case_;
  std::vector<std::shared_ptr<const statement::InputBox>> group_boxes_;
  std::vector<bool> group_is_empty_;
  // By group, over the reals: the constraints on an input beyond its box that all cases of the group share.
  std::vector<std::vector<statement::Ball>> group_balls_;
  [[nodiscard]] const Graph& graph() const { return network_->graph_; }
  [[nodiscard]] const KernelOptions& options() const { return network_->options_; }
  [[nodiscard]] bool floating() const { return network_->floating(); }
  [[nodiscard]] bool is_constant(NodeId node) const { return network_->is_constant_[node]; }
  // Set for every linear or layout node that is not constant. Over the reals, all affine nodes before it are folded in;
  // in a floating semantics, only one that no other node reads.
  [[nodiscard]] const rows::AffineForm* affine(NodeId node) const { return network_->affine(node); }
  // The number of positions of a feature map [1, channels, ...], whose rows touch windows of the maps before it. It is
  // 1 for any other node, and in exact mode.
  [[nodiscard]] std::size_t positions(NodeId node) const;
  // The elements in the order of a step's rows: elements at one position are neighbours, since they touch the
  // same windows.
  [[nodiscard]] std::vector<std::uint32_t> ordered(NodeId node, std::vector<std::uint32_t> elements) const;
  [[nodiscard]] NodeId node_of(const statement::Variable& v) const {
    return (v.side == statement::Variable::Side::input ? graph().inputs : graph().outputs)[v.tensor];
  }
  [[nodiscard]] rows::Boxes root_boxes(std::size_t group) const;
  [[nodiscard]] bool is_empty(const statement::InputBox& box) const;
};

struct Context {
  std::shared_ptr<const Problem> problem;  // the problem, in the root context; null below it
  std::size_t group = 0;
  std::shared_ptr<const Context> parent;  // null at the root
  Literal literal;
  std::size_t depth = 0;
  NodeId highest = 0;  // the highest node of all literals in the context
};

struct Refutation::Content {
  std::shared_ptr<const Context> context;
  std::vector<bool> cases;
  bool vacuous = false;
};

struct Theorem::Content {
  Kind kind = Kind::unsatisfiable;
  bool vacuous = false;
  std::shared_ptr<const Problem> problem;
  std::vector<std::string> assumptions;
  Witness witness;
  std::vector<Interval> outputs;
};

// Linear forms of which lower bounds are wanted. All entries of a row are at nodes <= start.
struct Targets {
  NodeId start = 0;
  std::size_t rows = 0;
  std::vector<Entry> entries;  // by ascending row
  // Rows start at elements of a feature map, and neighbours are at the same or nearby positions.
  bool windows = false;
};

struct RowBound {
  double lower;                  // a rigorous lower bound
  double estimate, error_bound;  // the double filter's value and error bound; error_bound is 0 on the exact path
};

// How close a conclude step came to its goal, per listed case. For the search; not rigorous.
struct Diagnosis {
  // Bound - required; above 0 the case is refuted, apart from losses.
  std::vector<double> margins;
  std::vector<double> losses;                           // the most that rounding errors may take off the bound
  std::vector<std::vector<double>> input_coefficients;  // of the back-substituted form, inputs concatenated
};

// The facts of a scope, and its rules. Only a Scope makes, copies and changes a State; any other code can only read it.
class Scope::State {
 public:
  [[nodiscard]] const Problem::State& problem() const { return *problem_; }
  // The elements that `selection` names, given the current box.
  [[nodiscard]] std::vector<std::uint32_t> selected(NodeId node, const Selection& selection) const;
  // `diagnosis`, if not null, receives how close the step came, whether or not it succeeds.
  Outcome<Refutation> conclude(std::span<const CaseMultipliers> cases, const Hints& hints, Diagnosis* diagnosis) const;

 private:
  friend class Scope;
  friend Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>&, const Witness&, double);
  State() = default;
  State(const State&) = default;
  static Outcome<std::unique_ptr<State>> root(const std::shared_ptr<const Problem>& problem, std::size_t group);
  [[nodiscard]] std::vector<Literal> literals() const;
  [[nodiscard]] const Cuts& cuts() const { return *cuts_; }
  Outcome<Done> assume(const Literal& literal);
  Outcome<Done> propagate_box(NodeId node);
  Outcome<Done> tighten(NodeId node, const Selection& selection, const Hints& hints, const Claims* claims, bool to_float);
  Outcome<Done> cut(std::vector<Cut::Term> terms, const Hints& hints);
  Outcome<Done> meet(const State& other);
  Outcome<Done> hull(const State& at_most, const State& at_least);
  Outcome<Refutation> empty() const;
  // The scope of all executions at one input point. A conclusion on it is no refutation of the group.
  static Outcome<std::unique_ptr<State>> at_point(const std::shared_ptr<const Problem>& problem, std::size_t group,
                                                  const std::vector<Rational>& inputs);
  static Outcome<std::vector<Interval>> outputs_of_executions(const std::shared_ptr<const Problem>& problem, const Witness& witness);
  [[nodiscard]] Outcome<double> lower_bound(const statement::Row& row, bool negated) const;
  struct Weighted;
  [[nodiscard]] Weighted weighted(const Hints& hints) const;
  [[nodiscard]] Rejection not_boxed(const char* code, NodeId node) const;
  [[nodiscard]] std::shared_ptr<const rows::LinearBounds> linear_bounds(NodeId node, const Hints& hints) const;
  using LinesByNode =
      // Nullopt: not derived yet; null: back-substitution stops at the box.
      std::vector<std::optional<std::shared_ptr<const rows::LinearBounds>>>;
  template <class Rows>
  [[nodiscard]] bool walk(Rows& rows, std::size_t count, NodeId start, const Hints& hints, const Weighted& weighted,
                          LinesByNode& bounds_by_node) const;
  [[nodiscard]] Outcome<std::vector<RowBound>> back_substitute(const Targets& targets, const Hints& hints, Diagnosis* diagnosis = nullptr,
                                                               LinesByNode* derived = nullptr) const;
  [[nodiscard]] double settled(const Targets& targets, std::size_t row, const Hints& hints, const RowBound& bound, double required,
                               std::size_t& tried) const;
  [[nodiscard]] Work work_of(const Targets& targets, const Hints& hints, const Weighted& weighted) const;
  [[nodiscard]] Outcome<Done> pay(const Work& work) const { return meter_ ? meter_->before(work) : Done{}; }
  void meet(NodeId node, relax::Box box);
  void append(std::span<const std::shared_ptr<const Cut>> more);  // to the cuts
  Outcome<Done> find_rounding(NodeId node, const Array<Interval>* image, std::shared_ptr<const rows::Sizes>* sizes);
  [[nodiscard]] relax::Box shifted_box(NodeId node, NodeId inner) const;
  [[nodiscard]] std::vector<double> step_rounding(NodeId node) const;

  const Problem::State* problem_ = nullptr;  // kept alive by the root context
  std::shared_ptr<const Context> context_;
  rows::Boxes boxes_;  // by node; null = not derived
  // By node; derived on the boxes of this scope or of an ancestor. Raw pointers, so that copying a scope changes few
  // reference counts; own_error_bounds_ and inherited_ keep the objects alive.
  std::vector<const rows::ErrorBound*> error_bounds_;
  // By node, or empty: the error bounds derived since the last literal.
  std::vector<std::shared_ptr<const rows::ErrorBound>> own_error_bounds_;
  // Keeps the error bounds from before the last literal alive.
  std::shared_ptr<const void> inherited_;
  // By node, in a floating semantics: a bound on the rounding errors of executions there (execution.cpp), derived on
  // the boxes of this scope or of an ancestor. Empty: no errors.
  std::vector<std::shared_ptr<const std::vector<double>>> rounding_;
  std::vector<double> rounding_size_;  // by node: the sum of its operands' magnitudes when rounding_ was derived
  // Linear bounds with the policy's slopes, derived on the boxes of this scope or of an ancestor. Those of a child are
  // never taken over, because its boxes are narrower.
  std::vector<std::shared_ptr<const rows::LinearBounds>> linear_bounds_;
  std::shared_ptr<const Cuts> cuts_ = std::make_shared<const Cuts>();
  bool contradiction_ = false;  // some box has lo > hi
  std::function<bool()> stop_;
  std::shared_ptr<Meter> meter_;
};

// Declined (code "kernel.environment") if this thread does not compute as the kernel assumes: rounding to nearest,
// subnormals kept. Every entry that computes checks it.
[[nodiscard]] Outcome<Done> check_environment();

inline Rejection reject(std::string code, std::string place, std::string required, std::string found,
                        std::string advice = "certificates/FORMAT.md") {
  return {Rejection::Kind::rejected, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)};
}

inline Rejection declined(std::string code, std::string place, std::string required, std::string found, std::string advice = {}) {
  return {Rejection::Kind::declined, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)};
}

inline Rejection stopped(std::string place) {
  return declined("kernel.stopped", std::move(place), "time to finish", "a stop was requested");
}

inline std::string exact(double value) {
  char text[80];
  std::snprintf(text, sizeof text, "%.17g (%a)", value, value);
  return text;
}

inline std::string name_of(const Graph& graph, NodeId node) {
  return "node " + std::to_string(node) + (node < graph.nodes.size() ? " '" + printable(graph.node(node).name) + "'" : "");
}

inline std::string at(const Graph& graph, NodeId node, std::size_t element) {
  return name_of(graph, node) + ", element " + std::to_string(element);
}

inline relax::Box box_of(const Array<Interval>& values) {
  const std::size_t size = values.values.size();
  relax::Box box{std::vector<double>(size), std::vector<double>(size)};
  for (std::size_t i = 0; i < size; ++i) {
    box.lo[i] = values.values[i].lo();
    box.hi[i] = values.values[i].hi();
  }
  return box;
}

// Moves each end outward by errors[i]; an empty list of errors changes nothing.
inline void widen(relax::Box& box, const std::vector<double>& errors) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    box.lo[i] = sub_down(box.lo[i], errors[i]);
    box.hi[i] = add_up(box.hi[i], errors[i]);
  }
}

// Elements of a feature map whose rows share a tile, because they touch nearly the same windows.
constexpr std::size_t kElementsTogether = 16;

inline bool usable(const std::vector<float>& multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return m >= 0 && std::isfinite(m); });
}

// The side conditions that two contexts are the halves of a split of `parent`:
// - S1: both contexts extend the parent (identity, not equality);
// - S2: node, element and threshold are the same;
// - S3: the literals are opposite closed halves, <= first.
// Every real value of the element then satisfies one of the two literals.
[[nodiscard]] Outcome<Done> check_halves(const std::string& rule, const Context* parent, const Context& at_most, const Context& at_least);

}  // namespace assay::logic
