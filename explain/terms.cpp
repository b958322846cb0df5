#include "explain/terms.h"

#include <cmath>

#include "kernel/contracts/contract.h"
#include "kernel/gradients/derivatives/differentiate.h"

namespace assay::explain {

bool has_factors(Op op) { return op == Op::gemm || op == Op::matmul || op == Op::conv || op == Op::conv_transpose; }

namespace {

// The derivative of the element by each element of operand k: what it is multiplied with.
std::optional<std::vector<double>> coefficients(const Node& node, const Attributes& attributes, std::size_t k,
                                                const std::vector<Array<double>>& operands, std::size_t element) {
  Graph graph;
  std::vector<NodeId> inputs;
  for (const Array<double>& operand : operands) inputs.push_back(graph.append_input(DType::float64, operand.shape, "x"));
  const auto y = graph.append(node.op, inputs, attributes);
  if (!y) return std::nullopt;
  graph.mark_output(y.value(), "y");
  const auto reverse = gradients::differentiate(graph, 0, std::span(&k, 1));
  if (!reverse) return std::nullopt;
  std::vector<Array<double>> arguments = operands;
  arguments.push_back({graph.node(y.value()).shape, std::vector<double>(graph.size(y.value()))});
  arguments.back().values[element] = 1;
  const auto values = evaluate<double>(reverse.value(), arguments);
  if (!values) return std::nullopt;
  return values.value()[reverse.value().outputs[0]].values;
}

void add(Terms& terms, Term term) {
  if (term.value == 0) return;
  terms.sum += term.value;
  terms.magnitude += std::fabs(term.value);
  terms.terms.push_back(std::move(term));
}

// Every element of the first operand meets one element of the second: where that holds its own position, counted from 1, the
// coefficient of the first is that position.
bool add_products(const Node& node, const std::vector<Array<double>>& operands, std::size_t element, Terms& terms) {
  Attributes plain = node.attributes;
  double alpha = 1;
  if (auto* gemm = std::get_if<GemmAttributes>(&plain)) {
    alpha = gemm->alpha;
    gemm->alpha = 1;
  }
  std::vector<Array<double>> numbered = operands;
  for (std::size_t i = 0; i < numbered[1].values.size(); ++i) numbered[1].values[i] = static_cast<double>(i + 1);
  const auto partners = coefficients(node, plain, 0, numbered, element);
  if (!partners) return false;
  for (std::size_t i = 0; i < partners->size(); ++i) {
    if ((*partners)[i] == 0) continue;
    const auto j = static_cast<std::size_t>((*partners)[i]) - 1;
    add(terms, {alpha * operands[0].values[i] * operands[1].values[j], {{0, i}, {1, j}}});
  }
  return true;
}

bool add_weighted(const Node& node, std::size_t k, const std::vector<Array<double>>& operands, std::size_t element, Terms& terms) {
  const auto weights = coefficients(node, node.attributes, k, operands, element);
  if (!weights) return false;
  for (std::size_t i = 0; i < weights->size(); ++i) add(terms, {(*weights)[i] * operands[k].values[i], {{k, i}}});
  return true;
}

}  // namespace

std::optional<Terms> terms_of(const Node& node, const std::vector<Array<double>>& operands, std::size_t element) {
  if (contracts::family_of(node.op) != contracts::Family::sum) return std::nullopt;
  for (const Array<double>& operand : operands) {
    for (const double value : operand.values) {
      if (!std::isfinite(value)) return std::nullopt;
    }
  }
  Terms terms;
  terms.products = has_factors(node.op);
  if (!(terms.products ? add_products(node, operands, element, terms) : add_weighted(node, 0, operands, element, terms)))
    return std::nullopt;
  if (operands.size() == 3 && !add_weighted(node, 2, operands, element, terms)) return std::nullopt;
  return terms;
}

}  // namespace assay::explain
