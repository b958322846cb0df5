// What stands behind networks, problems, scopes, refutations and theorems, and what their sources share. Private to kernel/;
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
  statement::Digest digest_{};                    // of the graph
  std::vector<bool> is_constant_, kink_at_zero_;  // kink: every non-linear op that the node enters is exactly linear on either side of 0
  std::vector<std::optional<rows::AffineForm>> affine_;
  std::vector<std::optional<rows::AffineForm>> own_forms_;  // in a floating semantics, where affine_ takes more steps than the node's own
  std::vector<std::optional<exact::GridForm>> grids_;       // of the affine forms, in exact mode
  std::vector<NodeId> pre_activations_;  // whose elements enter a non-linear op and are not inputs or constants, in order: worth refining
  std::vector<NodeId> active_nodes_;     // inputs, outputs and what lies between them once affine chains are folded, in order; no constants
  rows::ConstantValues constants_;
  std::vector<std::shared_ptr<const relax::Formula>> formulas_;  // by node; null: planes read it off the denotation each time
  std::vector<std::size_t> readers_;                             // by node: how many nodes and outputs read it
  std::vector<bool> rewritten_;  // by node: a step of a formula that executions may rewrite, which nothing else reads (rewrites.cpp)
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
  std::shared_ptr<const Network> keeps_;  // the network
  statement::Statement statement_;        // of the network's graph and semantics
  statement::Digest digest_{};
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<std::uint32_t> group_of_case_;
  std::vector<std::shared_ptr<const statement::InputBox>> group_boxes_;
  std::vector<bool> group_is_empty_;
  std::vector<std::vector<statement::Ball>> group_balls_;  // over the reals: what all cases of a group say about an input beyond its box
  [[nodiscard]] const Graph& graph() const { return network_->graph_; }
  [[nodiscard]] const KernelOptions& options() const { return network_->options_; }
  [[nodiscard]] bool floating() const { return network_->floating(); }
  [[nodiscard]] bool is_constant(NodeId node) const { return network_->is_constant_[node]; }
  // Set for every linear or layout node that is not constant, with affine nodes before it folded in: all of them over the reals, one that
  // nothing else reads in a floating semantics.
  [[nodiscard]] const rows::AffineForm* affine(NodeId node) const { return network_->affine(node); }
  // Of a feature map, [1, channels, ...], the positions, whose rows touch windows of the maps before it; 1: of anything else, and where
  // rows are exact.
  [[nodiscard]] std::size_t positions(NodeId node) const;
  // In the order in which a step has their rows: elements at one position one after the other, since they touch the same windows.
  [[nodiscard]] std::vector<std::uint32_t> ordered(NodeId node, std::vector<std::uint32_t> elements) const;
  [[nodiscard]] NodeId node_of(const statement::Variable& v) const {
    return (v.side == statement::Variable::Side::input ? graph().inputs : graph().outputs)[v.tensor];
  }
  [[nodiscard]] rows::Boxes root_boxes(std::size_t group) const;
  [[nodiscard]] bool is_empty(const statement::InputBox& box) const;
};

struct Context {
  std::shared_ptr<const Problem> problem;  // of the root; null below it
  std::size_t group = 0;
  std::shared_ptr<const Context> parent;  // null at the root
  Literal literal;
  std::size_t depth = 0;
  NodeId highest = 0;  // that a literal speaks of
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

// Linear forms to bound from below; all entries of a row lie at nodes <= start.
struct Targets {
  NodeId start = 0;
  std::size_t rows = 0;
  std::vector<Entry> entries;  // by ascending row
  bool windows = false;        // rows start at elements of a feature map, neighbours at one position or near it
};

struct RowBound {
  double lower;                  // rigorous
  double estimate, error_bound;  // of the filter; error_bound 0 on the exact path
};

// How a conclude step went, per listed case; for the search, not rigorous.
struct Diagnosis {
  std::vector<double> margins;                          // bound - required; > 0 is closed, but for losses
  std::vector<double> losses;                           // what roundings may take off the bound
  std::vector<std::vector<double>> input_coefficients;  // of the back-substituted form, inputs concatenated
};

// What holds on a scope, and its rules. Only a Scope makes, copies and changes one: whoever else sees one can do nothing with it but ask.
class Scope::State {
 public:
  [[nodiscard]] const Problem::State& problem() const { return *problem_; }
  // The elements that `selection` names on the current box.
  [[nodiscard]] std::vector<std::uint32_t> selected(NodeId node, const Selection& selection) const;
  // `diagnosis`, if given, tells how it went, success or not.
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
  // The executions at one point: nothing that is concluded here is a refutation of the group.
  static Outcome<std::unique_ptr<State>> at_point(const std::shared_ptr<const Problem>& problem, std::size_t group,
                                                  const std::vector<Rational>& inputs);
  static Outcome<std::vector<Interval>> outputs_of_executions(const std::shared_ptr<const Problem>& problem, const Witness& witness);
  [[nodiscard]] Outcome<double> lower_bound(const statement::Row& row, bool negated) const;
  struct Weighted;
  [[nodiscard]] Weighted weighted(const Hints& hints) const;
  [[nodiscard]] Rejection not_boxed(const char* code, NodeId node) const;
  [[nodiscard]] std::shared_ptr<const rows::LinearBounds> linear_bounds(NodeId node, const Hints& hints) const;
  using LinesByNode =
      std::vector<std::optional<std::shared_ptr<const rows::LinearBounds>>>;  // none: not asked for yet; null: stop at the box
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

  const Problem::State* problem_ = nullptr;  // the root context keeps it
  std::shared_ptr<const Context> context_;
  rows::Boxes boxes_;  // by node; null = not derived
  // By node; on this scope's boxes or an ancestor's: kept beside, so that a copy of a scope counts few pointers.
  std::vector<const rows::ErrorBound*> error_bounds_;
  std::vector<std::shared_ptr<const rows::ErrorBound>> own_error_bounds_;  // by node or none: those found since the last literal
  std::shared_ptr<const void> inherited_;                                  // keeps those found before it
  // By node, in a floating semantics: what executions lose there (execution.cpp), on this scope's boxes or an ancestor's; empty: nothing.
  std::vector<std::shared_ptr<const std::vector<double>>> rounding_;
  std::vector<double> rounding_size_;  // by node: the sum of its operands' magnitudes when that was found
  // By policy, derived so far; on this scope's boxes or an ancestor's: never taken from a child, whose own box is narrower.
  std::vector<std::shared_ptr<const rows::LinearBounds>> linear_bounds_;
  std::shared_ptr<const Cuts> cuts_ = std::make_shared<const Cuts>();
  bool contradiction_ = false;  // some box has lo > hi
  std::function<bool()> stop_;
  std::shared_ptr<Meter> meter_;
};

// Declined (code "kernel.environment") where this thread does not compute as the kernel assumes; checked at every entry
// that computes.
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

// By as much on either side, where there is anything to add.
inline void widen(relax::Box& box, const std::vector<double>& errors) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    box.lo[i] = sub_down(box.lo[i], errors[i]);
    box.hi[i] = add_up(box.hi[i], errors[i]);
  }
}

constexpr std::size_t kElementsTogether = 16;  // of a feature map, whose rows touch windows

inline bool usable(const std::vector<float>& multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return m >= 0 && std::isfinite(m); });
}

// S1: both contexts extend the parent (identity). S2: same node, element and threshold. S3: opposite closed halves, <=
// first. Every real value of the element then satisfies one of the two literals.
[[nodiscard]] Outcome<Done> check_halves(const std::string& rule, const Context* parent, const Context& at_most, const Context& at_least);

}  // namespace assay::logic
