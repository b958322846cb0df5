#include "certificates/replay/session.h"

#include <string>
#include <utility>

namespace assay::kernel {
namespace {

Rejection structure(const char* required, std::string found) {
  return {Rejection::Kind::malformed, "session.structure", "", required, std::move(found), "see the grammar in certificates/FORMAT.md"};
}

Rejection still_open(std::string found) {
  return {Rejection::Kind::rejected,
          "session.open",
          "",
          "every branch refutes the cases that its parent needs",
          std::move(found),
          "conclude the missing cases, or split further"};
}

}  // namespace

Outcome<Done> sweep(const Problem& problem, Scope& scope, NodeId first, bool round_to_float) {
  const Graph& graph = problem.graph();
  const std::vector<NodeId>&active = problem.active_nodes(), &refined = problem.pre_activations();
  auto next_active = active.begin();
  auto next_refined = refined.begin();
  for (NodeId node = first; node < graph.nodes.size(); ++node) {
    while (next_active != active.end() && *next_active < node) ++next_active;
    const bool on_the_way = next_active != active.end() && *next_active == node;
    if (problem.is_constant(node) || graph.node(node).op == Op::input || !(on_the_way || scope.has_box(node))) continue;
    if (auto boxed = scope.derive_box(node); !boxed) return boxed;
    while (next_refined != refined.end() && *next_refined < node) ++next_refined;
    if (next_refined == refined.end() || *next_refined != node) continue;
    if (auto tightened = scope.refine(node, Selection{}, Hints{}, nullptr, round_to_float); !tightened) return tightened;
  }
  return Done{};
}

Session::Session(std::shared_ptr<const Problem> problem)
    : problem_(std::move(problem)), work_(std::make_shared<double>(problem_->options().work)), groups_(problem_->group_count()) {
  // A scope has pointers for each node, and two ends and a penalty for each element that is not constant.
  for (NodeId node = 0; node < problem_->graph().nodes.size(); ++node)
    level_bytes_ += 64 + (problem_->is_constant(node) ? 0 : 3 * sizeof(double) * problem_->graph().size(node));
}

Outcome<Done> Session::begin_group(std::size_t group) {
  if (in_group()) return structure("begin_group outside any group", "group " + std::to_string(group_) + " is still open");
  if (!(group < groups_.size()))
    return structure("group < number of groups", std::to_string(group) + " of " + std::to_string(groups_.size()));
  if (groups_[group]) return structure("each group occurs once", "group " + std::to_string(group) + " again");
  auto root = Scope::root(problem_, group);
  if (!root) return root.rejection();
  group_ = group;
  root.value().pay_from(work_);
  levels_.push_back({std::move(root).value(), std::nullopt, {}, std::nullopt});
  return Done{};
}

Outcome<Done> Session::end_group() {
  if (levels_.size() != 1) return structure("end_group closes an open group with no open split", std::to_string(depth()) + " open splits");
  if (!levels_[0].closed) return still_open("no case of group " + std::to_string(group_) + " is refuted");
  for (std::size_t i = 0; i < levels_[0].closed->cases().size(); ++i) {
    if (!levels_[0].closed->cases()[i])
      return still_open("case at position " + std::to_string(i) + " of group " + std::to_string(group_) + " is not refuted");
  }
  groups_[group_] = std::move(levels_[0].closed);
  levels_.clear();
  return Done{};
}

Outcome<Done> Session::in_branch() const {
  if (!in_group()) return structure("steps and splits stand between begin_group and end_group", "no group is open");
  return Done{};
}

Outcome<Done> Session::split(NodeId node, std::uint32_t element, double threshold) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  if (!(depth() + 2 <= problem_->options().memory / level_bytes_))
    return Rejection{Rejection::Kind::declined,
                     "session.depth",
                     "",
                     "open branches whose boxes fit " + std::to_string(problem_->options().memory) + " bytes",
                     std::to_string(depth() + 2) + " branches of up to " + std::to_string(level_bytes_),
                     "a better balanced tree of splits, or more with --memory"};
  const Literal at_most{node, element, false, threshold};
  Scope child = scope();
  if (auto assumed = child.assume(at_most); !assumed) return assumed;
  if (depth() > 0) levels_.back().scope.forget_lines();
  levels_.push_back({std::move(child), std::nullopt, at_most, std::nullopt});
  return Done{};
}

Outcome<Done> Session::next() {
  if (levels_.size() < 2) return structure("next closes the left branch of a split", "no split is open");
  Level& level = levels_.back();
  if (level.left) return structure("one next per split", "the right branch is already open");
  if (!level.closed) return still_open("the left branch refutes no case");
  Literal at_least = level.at_most;
  at_least.at_least = true;
  Scope child = levels_[levels_.size() - 2].scope;
  if (auto assumed = child.assume(at_least); !assumed) return assumed;
  level.left = std::exchange(level.closed, std::nullopt);
  level.scope = std::move(child);
  return Done{};
}

Outcome<Done> Session::done() {
  if (levels_.size() < 2) return structure("done closes a split", "no split is open");
  Level& level = levels_.back();
  if (!level.left) return structure("done follows the right branch", "the split has no next");
  if (!level.closed) return still_open("the right branch refutes no case");
  auto joined = join(*level.left, *level.closed);
  levels_.pop_back();
  return close(std::move(joined));
}

Outcome<Done> Session::close(Outcome<Refutation> refutation) {
  if (!refutation) return refutation.rejection();
  std::optional<Refutation>& closed = levels_.back().closed;
  if (closed) {
    refutation = merge(*closed, refutation.value());
    if (!refutation) return refutation.rejection();
  }
  closed = std::move(refutation).value();
  return Done{};
}

Outcome<Done> Session::sweep(NodeId first, bool round_to_float) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  return kernel::sweep(*problem_, levels_.back().scope, first, round_to_float);
}

Outcome<Done> Session::derive_box(NodeId node) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  return levels_.back().scope.derive_box(node);
}

Outcome<Done> Session::refine(NodeId node, const Selection& selection, const Hints& hints, const Claims* claims, bool round_to_float) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  return levels_.back().scope.refine(node, selection, hints, claims, round_to_float);
}

Outcome<Done> Session::conclude(std::span<const CaseMultipliers> cases, const Hints& hints) {
  if (auto allowed = in_branch(); !allowed) return allowed;
  return close(scope().conclude(cases, hints));
}

Outcome<Done> Session::empty() {
  if (auto allowed = in_branch(); !allowed) return allowed;
  return close(scope().empty());
}

Outcome<Done> Session::pay(double work) { return in_group() ? scope().pay(work) : Outcome<Done>(Done{}); }

Outcome<Theorem> Session::theorem() const {
  if (in_group()) return structure("the last group has ended", "group " + std::to_string(group_) + " is still open");
  std::vector<Refutation> refutations;
  for (std::size_t group = 0; group < groups_.size(); ++group) {
    if (!groups_[group]) return still_open("no proof for group " + std::to_string(group));
    refutations.push_back(*groups_[group]);
  }
  return unsatisfiable(problem_, refutations);
}

Outcome<Theorem> Session::witness(const Witness& point) const {
  if (in_group()) return structure("a witness stands outside the groups", "group " + std::to_string(group_) + " is open");
  return satisfiable(problem_, point);
}

}  // namespace assay::kernel
