// The work of steps: the elements and entries that their rows pass.

#include "certificates/check/meter.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <numeric>
#include <span>
#include <utility>

#include "kernel/inspect/inspect.h"

namespace assay::certificate {
namespace {

constexpr double kBallWork = 100;       // multiply-adds of one row at an element of a ball
constexpr double kIntervalWork = 8;     // time of an operation on intervals, in multiply-adds
constexpr double kTermWork = 1000;      // time of adding one exact term with many digits, in multiply-adds
constexpr double kExactWork = 10;       // time of a multiply-add in integers, in multiply-adds in double
constexpr double kWordsPerTerm = 1000;  // word operations of exact fractions allowed per multiply-add of the network

// An estimate of one row's work at a node that is not affine: its elements, or for ops along an axis, each element
// times the axis.
double nonlinear_work(const Graph& graph, const Node& node) {
  double size = static_cast<double>(element_count(node.shape)), longest = 1;
  for (const NodeId operand : node.operands) {
    size += static_cast<double>(graph.size(operand));
    for (const std::int64_t extent : graph.node(operand).shape) longest = std::max(longest, static_cast<double>(extent));
  }
  return op_row(node.op).op_class == OpClass::elementwise ? size : size * longest;
}

}  // namespace

Costs::Costs(const logic::Problem& problem)
    : problem_(problem), row_work_(problem.graph().nodes.size(), 1.0), idle_work_(problem.graph().nodes.size(), 0.0) {
  const Graph& graph = problem.graph();
  // Also for nodes that no row from the outputs passes: certificates may ask for rows from other nodes.
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (const rows::AffineForm* form = inspect::affine(problem, id)) {
      for (const auto& part : form->parts) idle_work_[id] += static_cast<double>(part.map->cost());
    } else if (!problem.is_constant(id)) {
      row_work_[id] += nonlinear_work(graph, graph.node(id));
    }
  }
  for (const NodeId id : inspect::active_nodes(problem)) row_work_[id] += std::exchange(idle_work_[id], 0.0);
  std::partial_sum(row_work_.begin(), row_work_.end(), row_work_.begin());
  std::map<NodeId, double> most;  // the largest number of elements of the balls that one group has over an input
  for (std::size_t group = 0; group < problem.group_count(); ++group) {
    std::map<NodeId, double> own;
    for (const statement::Ball& ball : inspect::group_balls(problem, group)) own[ball.node] += static_cast<double>(ball.q.size());
    for (const auto& [node, elements] : own) most[node] = std::max(most[node], elements);
  }
  for (const auto& [node, elements] : most)
    for (double& work : std::span(row_work_).subspan(node)) work += kBallWork * elements;
}

// The terms of literals and cuts, and every element of their nodes.
double Costs::of_terms(const logic::Work& rows) const {
  double work = 0;
  for (std::size_t k = 0; k < rows.terms.size(); ++k) {
    const NodeId node = rows.terms[k].node;
    const bool is_new = k == 0 || node != rows.terms[k - 1].node;
    work += 1 + (is_new ? static_cast<double>(problem_.graph().size(node)) + idle_work_[node] : 0);
  }
  return work;
}

double Costs::beside(const logic::Work& rows) const {
  return static_cast<double>(rows.hints->beta.size()) * rows.node + static_cast<double>(rows.hints->cuts.size()) + of_terms(rows);
}

double Costs::of(const logic::Work& work) const {
  const auto count = static_cast<double>(work.count);
  double sum = 0;
  switch (work.kind) {
    case logic::Work::Kind::box:
      sum = row_work_[work.node] - (work.node > 0 ? row_work_[work.node - 1] : 0);
      return inspect::affine(problem_, work.node) != nullptr ? sum : kIntervalWork * sum;
    case logic::Work::Kind::elements:
      return count;
    case logic::Work::Kind::terms:
      return kTermWork * count;
    case logic::Work::Kind::cut:  // in integers each term passes through the whole block of its node
      for (const logic::Entry& e : work.entries) sum += problem_.options().exact ? static_cast<double>(problem_.graph().size(e.node)) : 1;
      return sum;
    case logic::Work::Kind::rows:  // the linear bounds on the way cost about as much as one row
      for (const logic::Entry& e : work.entries) sum += idle_work_[e.node];
      return sum + (count + 1) * (row_work_[work.node] + beside(work));
    case logic::Work::Kind::tile:  // the elements that it touched, and one row more
      return static_cast<double>(work.multiply_adds) + (count + 1) * beside(work) + row_work_[work.node];
    case logic::Work::Kind::exact_row:
      return kExactWork * (row_work_[work.node] + of_terms(work));
  }
  return sum;
}

Outcome<Done> Meter::before(const logic::Work& work) {
  const bool exact = work.kind == logic::Work::Kind::exact_row;
  if (left_ == nullptr && !exact) return Done{};
  const double cost = costs_->of(work);
  if (exact && !(static_cast<double>(work.count + 1) * (cost / kExactWork) <= exact_budget_))
    return Rejection{Rejection::Kind::declined, "kernel.work", "", "rows in integers within the step's budget", "one more", {}};
  return left_ == nullptr ? Done{} : spend(cost, *left_);
}

std::shared_ptr<Meter> meter_of(const logic::Problem& problem, std::shared_ptr<double> left) {
  return std::make_shared<Meter>(std::make_shared<const Costs>(problem), std::move(left));
}

Outcome<Done> spend(double work, double& left) {
  if (work <= left) {
    left -= work;
    return Done{};
  }
  char found[80];
  std::snprintf(found, sizeof found, "a step of %.3g, and %.3g are left", work, left);
  return Rejection{Rejection::Kind::declined, "kernel.work", "", "multiply-adds within the budget", found, "allow more with --budget"};
}

double exact_work_of(const Costs& costs) { return std::max(static_cast<double>(Meter::kExactBudget), kWordsPerTerm * costs.whole_row()); }

}  // namespace assay::certificate
