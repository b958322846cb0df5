// The data behind networks, problems, scopes, refutations and theorems, shared by their sources. Private to kernel/;
// kernel/inspect reads it.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernel/exact/grid.h"
#include "kernel/logic/api.h"
#include "kernel/logic/meter.h"
#include "kernel/relax/formula.h"
#include "kernel/rows/rows.h"
#include "policy/policy.h"
#include "semantics/interrupt.h"
#include "semantics/numbers/directed.h"
#include "semantics/numbers/interval.h"
#include "semantics/statement/ball.h"
#include "semantics/statement/words.h"

namespace assay::floats {
struct Formula;
}

namespace assay::logic {

using statement::at, statement::case_of, statement::exact, statement::name_of, statement::unusable, statement::kNumbering;

struct Network::State {
  Graph graph_;
  ExecutionModel semantics_;
  KernelOptions options_;
  statement::Digest digest_{};  // of the graph
  std::vector<std::optional<rows::AffineForm>> affine_;
  // In a floating semantics, where affine_ folds two steps into one: the form of the node's own step.
  std::vector<std::optional<rows::AffineForm>> own_forms_;
  std::vector<std::optional<exact::GridForm>> grids_;  // of the affine forms, in exact mode
  policy::PreActivations worth_refining_;
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
  [[nodiscard]] std::vector<double> rounding(NodeId node, const rows::Boxes& boxes, Roundings known, const Array<Interval>* image,
                                             KeptSizes kept) const;
  [[nodiscard]] std::vector<double> rounding_as_written(NodeId node, const rows::Boxes& boxes, Roundings known,
                                                        const Array<Interval>* image, KeptSizes kept) const;
  [[nodiscard]] Array<Interval> values_at(NodeId node, const rows::Boxes& boxes) const;
  [[nodiscard]] std::vector<double> one_pass_rounding(NodeId node, const rows::Boxes& boxes, Roundings known) const;
  void mark_rewritten();
  void set_form(NodeId node, rows::AffineForm form);
  [[nodiscard]] rows::Boxes root_boxes(const statement::InputBox& exact) const;
  // The number of positions of a feature map [1, channels, ...], whose rows touch windows of the maps before it. It is
  // 1 for any other node, and in exact mode.
  [[nodiscard]] std::size_t positions(NodeId node) const;
  [[nodiscard]] bool floating() const { return semantics_.kind == ExecutionModel::Kind::floating; }
  // Set for every linear or layout node that is not constant. Over the reals, all affine nodes before it are folded in;
  // in a floating semantics, only one that no other node reads.
  [[nodiscard]] const rows::AffineForm* affine(NodeId node) const { return affine_[node] ? &*affine_[node] : nullptr; }
  [[nodiscard]] const rows::AffineForm* own_form(NodeId node) const { return own_forms_[node] ? &*own_forms_[node] : affine(node); }
  [[nodiscard]] std::optional<NodeId> folded_into(NodeId node) const;
  [[nodiscard]] std::optional<floats::Formula> formula_of(NodeId node, const rows::Boxes& boxes, bool is_root) const;
};

struct Problem::State {
  std::shared_ptr<const Network> network_;
  statement::Statement statement_;  // has the network's graph and semantics
  statement::Digest digest_{};
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<std::uint32_t> group_of_case_;
  std::vector<std::shared_ptr<const statement::InputBox>> group_boxes_;
  std::vector<bool> group_is_empty_;
  // By group, over the reals: the constraints on an input beyond its box that all cases of the group share.
  std::vector<std::vector<statement::Ball>> group_balls_;
};

struct Context {
  std::shared_ptr<const Problem> problem;  // the problem, in the root context; null below it
  std::size_t group = 0;
  std::shared_ptr<const Context> parent;  // null at the root
  Literal literal;
  std::size_t depth = 0;
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

  void add(NodeId node, std::size_t element, const Rational& coefficient);              // to the row after those that `rows` counts
  [[nodiscard]] std::span<const Entry> of(std::size_t first, std::size_t count) const;  // the entries of these rows
};

// The facts of a scope, and its rules. Only a Scope makes, copies and changes a State; any other code can only read it.
class Scope::State {
 public:
  [[nodiscard]] const Problem& problem() const { return *problem_; }
  // `found`, if not null, receives the bound of each listed case, less the required one in its estimate.
  Outcome<Refutation> conclude(std::span<const CaseMultipliers> cases, const Hints& hints, std::vector<rows::RowBound>* found) const;
  // Runs a rule. It is declined in an unusual floating-point environment, and once a stop is asked for; then it has
  // changed no fact, since rules store what they derive at their end.
  template <class Self, class Rule, class... Arguments>
  static auto run(Self& scope, Rule rule, Arguments&&... arguments) -> decltype((scope.*rule)(arguments...));

 private:
  friend class Scope;
  friend Outcome<Theorem> satisfiable(const std::shared_ptr<const Problem>&, const Witness&, double);
  State() = default;
  State(const State&) = default;
  static Outcome<std::unique_ptr<State>> root(const std::shared_ptr<const Problem>& problem, std::size_t group);
  [[nodiscard]] std::vector<Literal> literals() const;
  Outcome<Done> assume(const Literal& literal);
  Outcome<Done> propagate_box(NodeId node);
  Outcome<Done> tighten(NodeId node, std::span<const std::uint32_t> elements, const Hints& hints, const Claims* claims, bool to_float);
  Outcome<Done> cut(std::vector<Cut::Term> terms, const Hints& hints);
  Outcome<Done> meet(const State& other);
  Outcome<Done> hull(const State& at_most, const State& at_least);
  struct Asked;
  Outcome<Asked> add_case(const CaseMultipliers& one, Targets& targets) const;
  Outcome<Refutation> empty() const;
  [[nodiscard]] std::string place() const;  // its splits, in words: " where node 3 'z', element 1 <= 0"; empty at the root
  // The scope of all executions at one input point. A conclusion on it is no refutation of the group.
  static Outcome<std::unique_ptr<State>> at_point(const std::shared_ptr<const Problem>& problem, std::size_t group,
                                                  const std::vector<Rational>& inputs);
  static Outcome<std::vector<Interval>> outputs_of_executions(const std::shared_ptr<const Problem>& problem, const Witness& witness);
  [[nodiscard]] Outcome<double> lower_bound(const statement::Row& row, bool negated) const;
  [[nodiscard]] double by_boxes(std::span<const Entry> row) const;
  struct Weighted;
  [[nodiscard]] Weighted weighted(NodeId start, const Hints& hints) const;
  [[nodiscard]] Rejection not_boxed(const char* code, NodeId node) const;
  [[nodiscard]] std::shared_ptr<const rows::LinearBounds> linear_bounds(NodeId node, const Hints& hints) const;
  using LinesByNode =
      // Nullopt: not derived yet; null: back-substitution stops at the box.
      std::vector<std::optional<std::shared_ptr<const rows::LinearBounds>>>;
  template <class Rows>
  [[nodiscard]] std::optional<NodeId> walk(Rows& rows, const Targets& targets, std::size_t first, std::size_t count, const Hints& hints,
                                           const Weighted& weighted, LinesByNode& bounds_by_node) const;
  [[nodiscard]] Outcome<std::vector<rows::RowBound>> back_substitute(const Targets& targets, const Hints& hints, bool keep_inputs = false,
                                                                     LinesByNode* derived = nullptr) const;
  [[nodiscard]] double settled(const Targets& targets, std::size_t row, const Hints& hints, const rows::RowBound& bound, double required,
                               std::size_t& tried) const;
  [[nodiscard]] Outcome<Done> pay(const Work& work) const { return meter_ ? meter_->before(work) : Done{}; }
  void narrow(NodeId node, relax::Box box);
  Outcome<Done> find_rounding(NodeId node, const Array<Interval>* image, std::shared_ptr<const rows::Sizes>* sizes);
  [[nodiscard]] relax::Box shifted_box(NodeId node, NodeId inner) const;
  [[nodiscard]] std::vector<double> step_rounding(NodeId node) const;

  const Problem* problem_ = nullptr;  // kept alive by the root context
  const Network::State* network_ = nullptr;
  std::shared_ptr<const Context> context_;
  rows::Boxes boxes_;                                                  // by node; null = not derived
  std::vector<std::shared_ptr<const rows::ErrorBound>> error_bounds_;  // by node; derived on the boxes of this scope or of an ancestor
  // By node, in a floating semantics: a bound on the rounding errors of executions there (execution.cpp), derived on
  // the boxes of this scope or of an ancestor. Empty: no errors.
  std::vector<std::shared_ptr<const std::vector<double>>> rounding_;
  std::vector<double> rounding_size_;  // by node: the sum of its operands' magnitudes when rounding_ was derived
  // Linear bounds with the policy's slopes, derived on the boxes of this scope or of an ancestor. Those of a child are
  // never taken over, because its boxes are narrower.
  std::vector<std::shared_ptr<const rows::LinearBounds>> linear_bounds_;
  Cuts cuts_;
  bool contradiction_ = false;  // some box has lo > hi
  std::function<bool()> stop_;
  std::shared_ptr<Meter> meter_;
};

// Declined (code "kernel.environment") if this thread does not compute as the kernel assumes: rounding to nearest,
// subnormals kept. Every entry that computes checks it.
[[nodiscard]] Outcome<Done> check_environment();

inline Rejection reject(std::string code, std::string place, std::string required, std::string found, std::string advice = {}) {
  advice = statement::advice_on(code, std::move(advice));
  return {Rejection::Kind::rejected, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)};
}

inline Rejection declined(std::string code, std::string place, std::string required, std::string found, std::string advice = {}) {
  return {Rejection::Kind::declined, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)};
}

inline Rejection stopped(std::string place) {
  return declined("kernel.stopped", std::move(place), "time to finish", "a stop was requested");
}

inline std::string Scope::State::place() const { return statement::where_text(problem_->graph(), literals()); }

inline relax::Box box_of(const Array<Interval>& values) {
  relax::Box box;
  for (const Interval& value : values.values) {
    box.lo.push_back(value.lo());
    box.hi.push_back(value.hi());
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

template <class Self, class Rule, class... Arguments>
auto Scope::State::run(Self& scope, Rule rule, Arguments&&... arguments) -> decltype((scope.*rule)(arguments...)) try {
  const StopScope watch(scope.stop_);
  if (const auto standard = check_environment(); !standard) return standard.rejection();
  return (scope.*rule)(std::forward<Arguments>(arguments)...);
} catch (const Stopped&) {
  return stopped(scope.place());
}

// The side conditions that two contexts are the halves of a split of `parent`:
// - S1: both contexts extend the parent (identity, not equality);
// - S2: node, element and threshold are the same;
// - S3: the literals are opposite closed halves, <= first.
// Every real value of the element then satisfies one of the two literals.
[[nodiscard]] Outcome<Done> check_halves(const std::string& rule, const Context* parent, const Context& at_most, const Context& at_least);

}  // namespace assay::logic
