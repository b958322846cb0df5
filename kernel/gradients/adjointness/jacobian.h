// J and J^T of a graph on any scalar: by its meaning (denotations over Dual), and by a graph of its vector-Jacobian
// product. Private to this folder.
#pragma once

#include <utility>
#include <vector>

#include "semantics/demand.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"

namespace assay::gradients::adjointness {

template <class S>
using Arrays = std::vector<Array<S>>;
template <class S>
using Matrix = std::vector<std::vector<S>>;  // [element of all real inputs together][element of y]

[[nodiscard]] inline std::vector<std::size_t> real_inputs(const Graph& graph) {
  std::vector<std::size_t> result;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    if (is_float(graph.node(graph.inputs[k]).dtype)) result.push_back(k);
  }
  return result;
}

// Adds by halves, since exact sums of many fractions grow long.
template <class S>
S sum_of(std::vector<S> terms) {
  for (std::size_t size = terms.size(); size > 1; size = (size + 1) / 2) {
    for (std::size_t i = 0; i < size / 2; ++i) terms[i] += terms[size - 1 - i];
  }
  return terms.empty() ? S{} : terms[0];
}

template <class S>
bool is_infinite(const S& a) {
  if constexpr (requires { a.infinity(); }) return a.infinity() != 0;
  return false;
}

// J x_dot: the tangents of y, and infinities where y is infinite, which has no derivative.
template <class S>
Outcome<std::vector<S>> tangents(const Graph& graph, const Arrays<S>& x, const Arrays<S>& x_dot) {
  Arrays<Dual<S>> duals;
  for (std::size_t k = 0; k < x.size(); ++k) {
    duals.push_back({x[k].shape, {}});
    for (std::size_t i = 0; i < x[k].values.size(); ++i) duals[k].values.emplace_back(x[k].values[i], x_dot[k].values[i]);
  }
  auto nodes = evaluate<Dual<S>>(graph, duals);
  if (!nodes) return nodes.rejection();
  std::vector<S> y_dot;
  for (const Dual<S>& y : nodes.value()[graph.outputs[0]].values) y_dot.push_back(is_infinite(y.value()) ? y.value() : y.tangent());
  return y_dot;
}

// J^T y_bar: the elements of all cotangents, concatenated.
template <class S>
Outcome<std::vector<S>> cotangents(const Graph& vjp, const Arrays<S>& x, Array<S> y_bar) {
  Arrays<S> arguments = x;
  arguments.push_back(std::move(y_bar));
  auto nodes = evaluate<S>(vjp, arguments);
  if (!nodes) return nodes.rejection();
  std::vector<S> x_bar;
  for (const NodeId output : vjp.outputs) {
    for (const S& value : nodes.value()[output].values) x_bar.push_back(value);
  }
  return x_bar;
}

template <class S>
Arrays<S> zeros(const Arrays<S>& like) {
  Arrays<S> result;
  for (const Array<S>& array : like) result.push_back({array.shape, std::vector<S>(array.values.size())});
  return result;
}

// Element i of all real inputs, concatenated.
template <class S>
S& unit_element(const Graph& graph, Arrays<S>& x, std::size_t i) {
  for (const std::size_t k : real_inputs(graph)) {
    if (i < x[k].values.size()) return x[k].values[i];
    i -= x[k].values.size();
  }
  demand(false, "unit_element: an element of a real input");
  return x[0].values[0];
}

// J by dual numbers, one column per unit tangent.
template <class S>
Outcome<Matrix<S>> by_meaning(const Graph& graph, const Arrays<S>& x) {
  Matrix<S> columns;
  Arrays<S> unit = zeros(x);
  for (const std::size_t k : real_inputs(graph)) {
    for (S& element : unit[k].values) {
      element = ScalarTraits<S>::from_double(1);
      auto column = tangents(graph, x, unit);
      if (!column) return column.rejection();
      columns.push_back(std::move(column).value());
      element = S{};
    }
  }
  return columns;
}

// J by the graph, one row per unit cotangent.
template <class S>
Outcome<Matrix<S>> by_rule(const Graph& graph, const Graph& vjp, const Arrays<S>& x) {
  const std::size_t results = graph.size(graph.outputs[0]);
  Matrix<S> columns;
  Array<S> unit{graph.node(graph.outputs[0]).shape, std::vector<S>(results)};
  for (std::size_t j = 0; j < results; ++j) {
    unit.values[j] = ScalarTraits<S>::from_double(1);
    auto row = cotangents(vjp, x, unit);
    if (!row) return row.rejection();
    columns.resize(row.value().size(), std::vector<S>(results));
    for (std::size_t i = 0; i < columns.size(); ++i) columns[i][j] = row.value()[i];
    unit.values[j] = S{};
  }
  return columns;
}

}  // namespace assay::gradients::adjointness
