// needed_neurons(): walks a row of arbitrary coefficients back. An element with coefficient 0 has no path to the row,
// unless a sum happens to be 0.
//
// Coefficients are drawn at random between 1 and 2, so that sums cancel with probability about 0. An element that is
// wrongly left out costs tightness, never soundness.
//
// Source: the cone of influence of hardware verification, as an analysis by random values.

#include "search/bounds/needed_neurons.h"

#include <random>

#include "kernel/inspect/inspect.h"
#include "semantics/graph/op.h"

namespace assay::search {

std::vector<std::vector<bool>> needed_neurons(const logic::Problem& problem, std::size_t group) {
  const Graph& graph = problem.graph();
  std::vector<std::vector<double>> rows(graph.nodes.size());
  const auto row_of = [&](NodeId node) -> std::vector<double>& {
    if (rows[node].empty()) rows[node].assign(graph.size(node), 0.0);
    return rows[node];
  };
  for (const std::uint32_t index : problem.group_cases(group)) {
    for (const statement::Row& row : problem.statement().property.cases[index].rows) {
      for (const statement::Term& term : row.terms) row_of(problem.node_of(term.variable))[term.variable.element] = 1;
    }
  }
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> coefficients(1, 2);
  std::vector<std::vector<bool>> result(graph.nodes.size());
  for (NodeId node = static_cast<NodeId>(graph.nodes.size()); node-- > 0;) {
    result[node].assign(graph.size(node), false);
    if (rows[node].empty()) continue;
    for (std::size_t i = 0; i < rows[node].size(); ++i) {
      result[node][i] = rows[node][i] != 0;
      if (result[node][i]) rows[node][i] = coefficients(random);
    }
    if (const rows::AffineForm* form = inspect::affine(problem, node)) {
      for (const rows::AffineForm::Part& part : form->parts) {
        part.map->transpose(1, rows[node].data(), row_of(part.operand).data());
        if (part.error) part.error->transpose(1, rows[node].data(), row_of(part.operand).data());
      }
    } else {
      const Node& n = graph.node(node);
      const bool by_elements = op_row(n.op).op_class == OpClass::elementwise;
      for (const NodeId operand : n.operands) {
        std::vector<double>& to = row_of(operand);
        for (std::size_t i = 0; i < to.size(); ++i) to[i] += by_elements && to.size() == rows[node].size() ? rows[node][i] : 1;
      }
    }
    rows[node] = {};
  }
  return result;
}

}  // namespace assay::search
