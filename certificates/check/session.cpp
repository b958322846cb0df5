// Session: the stack of scopes and refutations, and the accounts of work and memory behind its limits.

#include "certificates/check/session.h"

#include <algorithm>
#include <string>
#include <type_traits>
#include <utility>

#include "kernel/inspect/inspect.h"
#include "semantics/statement/words.h"

namespace assay::certificate {
namespace {

// The memory of a branch: per node pointers to its box, error bound and linear bounds; per element two ends and an
// error; per cut a pointer.
constexpr std::uint64_t kBytesPerNode = 64, kBytesPerElement = 3 * sizeof(double), kBytesPerCut = 16;

std::uint64_t bytes_of(std::size_t terms) { return 64 + sizeof(logic::Cut::Term) * terms; }  // of a cut
// Deriving bounds on several threads pays only for at least this many multiply-adds, and this many elements per thread,
// since rows that are back-substituted together share their reads.
constexpr double kWorthAThread = 1e7;
constexpr std::size_t kElementsOfThread = 16;
// Three times this is the cost of copying a pointer to a cut: each cut makes its own list, which includes all
// earlier cuts.
constexpr std::size_t kWorkOfCopy = 100;

Rejection structure(const char* required, std::string found) {
  std::string advice = statement::in_format("Structure", "see the grammar in ");
  return {Rejection::Kind::malformed, "certificate.structure", "", required, std::move(found), std::move(advice)};
}

Rejection still_open(std::string found, std::string advice = statement::kCloseCases) {
  return {Rejection::Kind::rejected, "certificate.open", "", "branches that each refute the cases that their parent needs",
          std::move(found),          std::move(advice)};
}

// Whether back-substitution cannot improve the node's box: the node is affine in one input, and no ball narrows that
// input's box.
bool has_best_box(const logic::Problem& problem, const logic::Scope& scope, NodeId node) {
  const rows::AffineForm* form = inspect::affine(problem, node);
  const auto is_input = [&](const rows::AffineForm::Part& part) { return problem.graph().node(part.operand).op == Op::input; };
  return form != nullptr && form->parts.size() == 1 && is_input(form->parts[0]) && inspect::group_balls(problem, scope.group()).empty();
}

template <class Tighten>
Outcome<Done> sweep_with(const logic::Problem& problem, logic::Scope& scope, NodeId first, Tighten tighten) {
  const Graph& graph = problem.graph();
  for (NodeId node = first; node < graph.nodes.size(); ++node) {
    const bool on_the_way = std::ranges::binary_search(inspect::active_nodes(problem), node);
    if (problem.is_constant(node) || graph.node(node).op == Op::input || !(on_the_way || scope.has_box(node))) continue;
    if (auto boxed = scope.propagate_box(node); !boxed) return boxed;
    if constexpr (!std::is_null_pointer_v<Tighten>) {
      if (!std::ranges::binary_search(inspect::pre_activations(problem), node) || has_best_box(problem, scope, node)) continue;
      if (auto tightened = tighten(node); !tightened) return tightened;
    }
  }
  return Done{};
}

Rejection in_leaf(std::size_t leaf, Rejection why) {
  why.place += (why.place.empty() ? "leaf " : ", leaf ") + std::to_string(leaf) + " of its tree";
  return why;
}

// Runs the step in each leaf. Facts that hold in both halves of each split go to the scope.
template <class Step>
Outcome<Done> by_cases(logic::Scope& scope, std::span<const CaseStep> tree, const Step& step) {
  struct Open {
    logic::Scope whole;
    logic::Literal split;              // the half to visit next
    std::optional<logic::Scope> left;  // set once the left half has ended
  };
  std::vector<Open> open;
  std::size_t leaves = 0;
  logic::Scope here = scope;
  for (std::size_t k = 0; k < tree.size(); ++k) {
    if (tree[k].split) {
      open.push_back({here, *tree[k].split, std::nullopt});
    } else {
      if (auto done = step(here, tree[k].hints); !done) return in_leaf(leaves, done.rejection());
      ++leaves;
      for (; !open.empty() && open.back().left; open.pop_back()) {
        if (auto done = open.back().whole.hull(*open.back().left, here); !done) return done;
        here = std::move(open.back().whole);
      }
      if (open.empty() != (k + 1 == tree.size())) break;
      if (open.empty()) {
        scope = std::move(here);
        return Done{};
      }
      here.forget_linear_bounds(scope);
      open.back().left = std::exchange(here, open.back().whole);
      open.back().split.at_least = true;
    }
    if (auto assumed = here.assume(open.back().split); !assumed) return assumed;
  }
  return structure("a tree in which both halves of each split end in leaves", std::to_string(tree.size()) + " steps of another shape");
}

}  // namespace

Outcome<Done> sweep(const logic::Problem& problem, logic::Scope& scope, NodeId first, bool round_to_float) {
  return sweep_with(problem, scope, first, [&](NodeId node) { return inspect::tighten(scope, node, {}, {}, nullptr, round_to_float); });
}

Outcome<Done> propagate_boxes(const logic::Problem& problem, logic::Scope& scope, NodeId first) {
  return sweep_with(problem, scope, first, nullptr);
}

Outcome<Done> tighten_by_cases(logic::Scope& scope, NodeId node, const inspect::Selection& selection, std::span<const CaseStep> tree,
                               bool round_to_float) {
  return by_cases(scope, tree, [&](logic::Scope& leaf, const logic::Hints& hints) {
    return inspect::tighten(leaf, node, selection, hints, nullptr, round_to_float);
  });
}

Outcome<Done> cut_by_cases(logic::Scope& scope, const std::vector<logic::Cut::Term>& terms, std::span<const CaseStep> tree) {
  return by_cases(scope, tree, [&](logic::Scope& leaf, const logic::Hints& hints) { return leaf.cut(terms, hints); });
}

Session::Session(std::shared_ptr<const logic::Problem> problem, SessionLimits limits, std::shared_ptr<Team> team)
    : problem_(std::move(problem)),
      limits_(limits),
      team_(std::move(team)),
      costs_(std::make_shared<const Costs>(*problem_)),
      work_(std::make_shared<double>(limits.work)),
      groups_(problem_->group_count()) {
  for (NodeId node = 0; node < problem_->graph().nodes.size(); ++node) {
    const std::size_t size = problem_->graph().size(node);
    elements_ += 1 + static_cast<double>(size);
    branch_bytes_ += kBytesPerNode + (problem_->is_constant(node) ? 0 : kBytesPerElement * size);
  }
}

Session::Session(const Session& of, double work)
    : problem_(of.problem_),
      limits_(of.limits_),
      team_(of.team_),
      costs_(of.costs_),
      work_(std::make_shared<double>(work)),
      given_(work),
      elements_(of.elements_),
      branch_bytes_(of.branch_bytes_),
      group_(of.group_) {}

// Charges the constant part of a step: it reads every node, every literal of its branch and every case of the group.
Outcome<Done> Session::spend_step() {
  return spend(static_cast<double>(problem_->graph().nodes.size() + depth() + problem_->group_cases(group_).size()));
}

// The bytes of the innermost branch: pointers for each node and cut, and the boxes and cuts that it does not share with
// its parent.
std::uint64_t Session::own_bytes() const {
  std::uint64_t bytes = 0;
  const logic::Scope* parent = levels_.size() > 1 ? &levels_[levels_.size() - 2].scope : nullptr;
  for (NodeId node = 0; node < problem_->graph().nodes.size(); ++node) {
    bytes += kBytesPerNode;
    const bool shared = parent != nullptr && parent->has_box(node) && scope().has_box(node) && &parent->box(node) == &scope().box(node);
    if (scope().has_box(node) && !shared && !problem_->is_constant(node)) bytes += kBytesPerElement * problem_->graph().size(node);
  }
  const auto& cuts = scope().cuts();
  bytes += kBytesPerCut * cuts.size();
  for (std::size_t k = parent != nullptr ? parent->cuts().size() : 0; k < cuts.size(); ++k) bytes += bytes_of(cuts[k]->terms.size());
  return bytes;
}

Outcome<Done> Session::begin_group(std::size_t group) {
  if (in_group()) return structure("begin_group outside any group", "group " + std::to_string(group_) + " is still open");
  if (!(group < groups_.size()))
    return structure("a group that the property has",
                     "group " + std::to_string(group) + ", where groups are below " + std::to_string(groups_.size()));
  if (groups_[group]) return structure("one begin_group for each group", "a second one for group " + std::to_string(group));
  if (auto spent = spend(elements_); !spent) return spent;
  auto root = logic::Scope::root(problem_, group);
  if (!root) return root.rejection();
  group_ = group;
  root.value().pay(std::make_shared<Meter>(costs_, work_));
  levels_.push_back({std::move(root).value(), std::nullopt, {}, std::nullopt});
  return Done{};
}

Outcome<Done> Session::end_group() {
  if (levels_.size() != 1) return structure("end_group in a group, behind the end of each split", std::to_string(depth()) + " open splits");
  if (!levels_[0].closed) return still_open("no case of group " + std::to_string(group_) + " is refuted");
  if (const auto open = open_case())
    return still_open("case at position " + std::to_string(*open) + " of group " + std::to_string(group_) + " is not refuted");
  groups_[group_] = std::move(levels_[0].closed);
  levels_.clear();
  return Done{};
}

std::optional<std::size_t> Session::open_case() const {
  if (levels_.size() != 1) return std::nullopt;
  if (!levels_[0].closed) return 0;
  const auto& cases = levels_[0].closed->cases();
  const auto open = std::ranges::find(cases, false);
  return open == cases.end() ? std::nullopt : std::optional<std::size_t>(open - cases.begin());
}

Outcome<Done> Session::in_branch() const {
  if (!in_group()) return structure("steps and splits between begin_group and end_group", "one outside of them");
  return Done{};
}

// Charges a split: the child's pointers, and a new copy of the node's box.
Outcome<Done> Session::spend_split(NodeId node) {
  const std::size_t size = node < problem_->graph().nodes.size() ? problem_->graph().size(node) : 0;
  if (auto spent = spend_step(); !spent) return spent;
  return spend(static_cast<double>(3 * problem_->graph().nodes.size() + scope().cuts().size() + size));
}

Outcome<Done> Session::split(NodeId node, std::uint32_t element, double threshold) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  if (auto spent = spend_split(node); !spent) return spent;
  const std::uint64_t open = held() + own_bytes();
  if (auto fits = hold(open, 1); !fits) return fits;
  const logic::Literal at_most{node, element, false, threshold};
  logic::Scope child = scope();
  if (auto assumed = child.assume(at_most); !assumed) return assumed;
  if (depth() > 0) levels_.back().scope.forget_linear_bounds(levels_[0].scope);
  levels_.back().held = open;
  levels_.push_back({std::move(child), std::nullopt, at_most, std::nullopt});
  return Done{};
}

// Declines if the open branches, with `more` further ones, need more memory than the limit.
Outcome<Done> Session::hold(std::uint64_t bytes, std::size_t more) {
  const std::uint64_t needed = bytes + more * branch_bytes_;
  if (!(needed <= limits_.memory))
    return Rejection{Rejection::Kind::declined,
                     "certificate.depth",
                     "",
                     "boxes of open branches within " + std::to_string(limits_.memory) + " bytes",
                     std::to_string(bytes) + " bytes in " + std::to_string(depth() + 1) + " branches, and up to " +
                         std::to_string(branch_bytes_) + " in each of " + std::to_string(more) + " more",
                     "a better balanced tree of splits, or more with --memory"};
  most_memory_ = std::max(most_memory_, needed);
  return Done{};
}

// The scope at the start of a right branch; `level` is the left branch of the same split.
Outcome<logic::Scope> Session::opposite(std::size_t level) const {
  if (levels_.size() < 2) return structure("next behind the first branch of a split", "one where no split is open");
  if (levels_[level].left) return structure("one next for each split", "a second one");
  logic::Literal at_least = levels_[level].at_most;
  at_least.at_least = true;
  logic::Scope child = levels_[level - 1].scope;
  if (auto assumed = child.assume(at_least); !assumed) return assumed.rejection();
  return child;
}

Outcome<Done> Session::next() {
  auto child = opposite(levels_.size() - 1);
  if (!child) return child.rejection();
  Level& level = levels_.back();
  if (!level.closed) return still_open("the left branch refutes no case");
  if (auto spent = spend_split(level.at_most.node); !spent) return spent;
  level.left = std::exchange(level.closed, std::nullopt);
  level.scope = std::move(child).value();
  return Done{};
}

// The steps of a right branch use the root, its parent and itself. So these levels must be present, and the
// depth right.
Outcome<Session> Session::right_branch(std::size_t depth) const {
  const std::size_t level = depth - left_out_;
  auto child = opposite(level);
  if (!child) return child.rejection();
  Session right(*this, *work_);
  right.levels_.push_back({levels_[0].scope, std::nullopt, {}, std::nullopt, levels_[0].held});
  if (level > 1) right.levels_.push_back({levels_[level - 1].scope, std::nullopt, {}, std::nullopt, levels_[level - 1].held});
  right.levels_.push_back({std::move(child).value(), std::nullopt, levels_[level].at_most, std::nullopt});
  right.left_out_ = depth + 1 - right.levels_.size();
  const auto meter = std::make_shared<Meter>(costs_, right.work_);
  for (Level& one : right.levels_) one.scope.pay(meter);
  return right;
}

Session Session::twin() const {
  Session other(*this, *work_);
  other.levels_ = levels_;
  other.levels_[0].scope.pay(std::make_shared<Meter>(costs_, other.work_));
  return other;
}

Outcome<Done> Session::meet(const Session& twin) {
  if (auto spent = spend(twin.given_ - *twin.work_); !spent) return spent;
  most_memory_ = std::max(most_memory_, twin.most_memory_);
  return levels_[0].scope.meet(twin.scope());
}

Session::Found Session::end_branch() {
  Found found{std::move(levels_.back().closed), given_ - *work_, most_memory_};
  levels_.clear();
  return found;
}

Outcome<Done> Session::next(Found right) {
  if (auto spent = spend(right.work); !spent) return spent;
  most_memory_ = std::max(most_memory_, right.memory);
  if (auto opened = next(); !opened) return opened;
  levels_.back().closed = std::move(right.closed);
  return Done{};
}

Outcome<Done> Session::done() {
  if (levels_.size() < 2) return structure("done behind the second branch of a split", "one where no split is open");
  Level& level = levels_.back();
  if (!level.left) return structure("done behind the second branch of a split", "one behind the first, without a next");
  if (!level.closed) return still_open("the right branch refutes no case");
  if (auto spent = spend_step(); !spent) return spent;
  auto joined = logic::join(*level.left, *level.closed);
  levels_.pop_back();
  return close(std::move(joined));
}

Outcome<Done> Session::close(Outcome<logic::Refutation> refutation) {
  if (!refutation) return refutation.rejection();
  std::optional<logic::Refutation>& closed = levels_.back().closed;
  if (closed) refutation = logic::merge(*closed, refutation.value());
  if (!refutation) return refutation.rejection();
  closed = std::move(refutation).value();
  return Done{};
}

Outcome<Done> Session::spend_sweep() {
  if (auto allowed = in_branch(); !allowed) return allowed;
  return spend(static_cast<double>(problem_->graph().nodes.size()) * static_cast<double>(2 + depth()));
}

Outcome<Done> Session::sweep(NodeId first, bool round_to_float) {
  if (auto spent = spend_sweep(); !spent) return spent;
  return sweep_with(*problem_, levels_.back().scope, first, [&](NodeId node) { return tighten_in_parts(node, {}, {}, round_to_float); });
}

Outcome<Done> Session::propagate_boxes(NodeId first) {
  if (auto spent = spend_sweep(); !spent) return spent;
  return certificate::propagate_boxes(*problem_, levels_.back().scope, first);
}

Outcome<Done> Session::propagate_box(NodeId node) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  if (auto spent = spend_step(); !spent) return spent;
  return levels_.back().scope.propagate_box(node);
}

Outcome<Done> Session::tighten(NodeId node, const inspect::Selection& selection, const logic::Hints& hints, const logic::Claims* claims,
                               bool round_to_float) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  if (auto spent = spend_step(); !spent) return spent;
  if (claims != nullptr) return inspect::tighten(levels_.back().scope, node, selection, hints, claims, round_to_float);
  return tighten_in_parts(node, selection, hints, round_to_float);
}

// Charges the splits and leaves of a tree; each leaf costs `leaf` multiply-adds and holds `bytes` more. At most two
// branches are open at once for each split of the longest path.
Outcome<Done> Session::spend_tree(std::span<const CaseStep> tree, double leaf, std::uint64_t bytes) {
  std::vector<bool> open;  // by open split: whether its left half has ended
  std::size_t deepest = 0;
  for (const CaseStep& step : tree) {
    if (auto spent = step.split ? spend_split(step.split->node) : spend_step(); !spent) return spent;
    if (auto spent = step.split ? Done{} : spend(leaf); !spent) return spent;
    if (step.split) open.push_back(false);
    deepest = std::max(deepest, open.size());
    while (!step.split && !open.empty() && open.back()) open.pop_back();
    if (!step.split && !open.empty()) open.back() = true;
  }
  return hold(held() + own_bytes() + bytes * (2 * deepest + 1), 2 * deepest + 1);
}

Outcome<Done> Session::tighten_by_cases(NodeId node, const inspect::Selection& selection, std::span<const CaseStep> tree,
                                        bool round_to_float) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  const std::size_t nodes = problem_->graph().nodes.size(), size = node < nodes ? problem_->graph().size(node) : 0;
  if (auto fits = spend_tree(tree, static_cast<double>(3 * nodes + scope().cuts().size() + size), 0); !fits) return fits;
  return certificate::tighten_by_cases(levels_.back().scope, node, selection, tree, round_to_float);
}

Outcome<Done> Session::cut(const std::vector<logic::Cut::Term>& terms, std::span<const CaseStep> tree) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  const std::size_t touched = problem_->graph().nodes.size() + kWorkOfCopy * scope().cuts().size() + terms.size();
  const std::uint64_t bytes = bytes_of(terms.size()) + kBytesPerCut * (scope().cuts().size() + 1);
  if (auto fits = spend_tree(tree, static_cast<double>(3 * touched), bytes); !fits) return fits;
  return cut_by_cases(levels_.back().scope, terms, tree);
}

// Derives on several threads the facts of one tighten step, and charges the same work. A step costs one row more than
// its rows, of which each element has two; on a feature map, it costs its tiles of elements. One element or tile goes
// first, so that all parts share the linear bounds of other nodes that its rows need.
Outcome<Done> Session::tighten_in_parts(NodeId node, const inspect::Selection& selection, const logic::Hints& hints, bool round_to_float) {
  logic::Scope& scope = levels_.back().scope;
  const std::size_t idle = team_ && node < problem_->graph().nodes.size() ? team_->idle() : 0;
  auto elements = idle > 0 ? inspect::selected(scope, node, selection) : std::vector<std::uint32_t>{};
  const double work = 2 * static_cast<double>(elements.size()) * (elements.empty() ? 0 : costs_->row_work(node));
  const std::size_t count = work < kWorthAThread ? 1 : std::min(idle + 1, elements.size() / kElementsOfThread);
  if (count < 2) return inspect::tighten(scope, node, selection, hints, nullptr, round_to_float);
  struct Slice {
    logic::Scope scope;
    std::span<const std::uint32_t> elements;
    std::shared_ptr<double> work;
    Outcome<Done> outcome = Done{};
    void tighten(NodeId at, const logic::Hints& by, bool rounded) { outcome = scope.tighten(at, elements, by, nullptr, rounded); }
  };
  const std::size_t tile = inspect::together(*problem_, node);
  elements = inspect::ordered(*problem_, node, std::move(elements));
  const double before = *work_;
  const auto part_of = [&](const logic::Scope& beginning, std::size_t from, std::size_t to) {
    Slice part{beginning, std::span(elements).subspan(from, to - from), std::make_shared<double>(before)};
    part.scope.pay(std::make_shared<Meter>(costs_, part.work));
    return part;
  };
  Slice first = part_of(scope, 0, tile);
  first.tighten(node, hints, round_to_float);
  if (!first.outcome) return first.outcome;
  const std::size_t tiles = (elements.size() - 1) / tile;  // tiles after the first
  double work_of_parts = before - *first.work;
  if (tile == 1) {
    work_of_parts += 2 * static_cast<double>(tiles) * work_of_parts / 3;
    if (auto spent = spend(work_of_parts); !spent) return spent;
  }
  std::vector<Slice> parts;
  for (std::size_t k = 0; k < count; ++k)
    parts.push_back(part_of(first.scope, tile * (1 + tiles * k / count), std::min(elements.size(), tile * (1 + tiles * (k + 1) / count))));
  team_->run(count, [&](std::size_t k) { parts[k].tighten(node, hints, round_to_float); });
  for (const Slice& part : parts) {
    if (!part.outcome) return part.outcome;
    work_of_parts += before - *part.work;
    if (auto met = first.scope.meet(part.scope); !met) return met;
  }
  if (tile > 1) {
    if (auto spent = spend(work_of_parts); !spent) return spent;
  }
  scope = std::move(first.scope);
  scope.pay(std::make_shared<Meter>(costs_, work_));
  return Done{};
}

Outcome<Done> Session::conclude(std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  if (auto spent = spend_step(); !spent) return spent;
  return close(scope().conclude(cases, hints));
}

Outcome<Done> Session::empty() {
  if (auto allowed = in_branch(); !allowed) return allowed;
  if (auto spent = spend_step(); !spent) return spent;
  return close(scope().empty());
}

Outcome<logic::Theorem> Session::theorem() const {
  if (in_group()) return structure("end_group before the end of the file", "group " + std::to_string(group_) + " without it");
  std::vector<logic::Refutation> refutations;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group]) return still_open("no proof for group " + std::to_string(group), "write its begin_group, its steps and end_group");
    refutations.push_back(*groups_[group]);
  }
  return logic::unsatisfiable(problem_, refutations);
}

Outcome<logic::Theorem> Session::witness(const logic::Witness& point) const {
  if (in_group()) return structure("a witness outside of groups", "one inside of group " + std::to_string(group_));
  return logic::satisfiable(problem_, point, exact_work_of(*costs_));
}

}  // namespace assay::certificate
