// Draws points at random, away from kinks, until every element has a residue.

#include "kernel/gradients/adjointness/sample.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <variant>

#include "semantics/graph/family.h"

namespace assay::gradients::adjointness {

namespace {

constexpr double kNear = 16;

Rational exactly(double value) { return Rational::from_double(value).value_or(Rational()); }

// A random number with 52 bits, so that no sum of few is a small number. The domain's ends may have any size:
// nothing overflows.
double generic(const Domain& domain, bool real, Random& random) {
  if (!real) return domain.lo + static_cast<double>(random.below(static_cast<std::uint64_t>(std::fmin(domain.hi - domain.lo, 0x1p53)) + 1));
  const double u = (static_cast<double>(random.next() >> 12) + 0.5) * 0x1p-52;
  return domain.lo * (1 - u) + domain.hi * u;
}

// Elements at break points, the others at multiples of 1/8, so that intervals are points.
Rational at_kink(const AdjointCase& one, const Domain& domain, bool real, Random& random) {
  if (!real) return exactly(generic(domain, real, random));
  if (random.below(3) != 0) return exactly(one.kinks[static_cast<std::size_t>(random.below(one.kinks.size()))]);
  const auto steps = static_cast<std::uint64_t>((domain.hi - domain.lo) * 8);
  return exactly(domain.lo) + Rational(random.below(steps + 1), 8);
}

template <class S, class F>
Arrays<S> sampled(const Graph& graph, const F& draw) {
  Arrays<S> x;
  for (std::size_t k = 0; k < graph.inputs.size(); ++k) {
    const Node& node = graph.node(graph.inputs[k]);
    x.push_back({node.shape, {}});
    for (std::size_t i = 0; i < element_count(node.shape); ++i) x.back().values.push_back(draw(k, is_float(node.dtype)));
  }
  return x;
}

// The degree of y's elements as quotients of polynomials in the elements of the inputs. Every op over Modular has at
// most degree e = 1 (pow: |n|) in each element of its operands, whose quotients may have as many different
// denominators. So its degree is at most e * sum of size * degree. Layout ops only move elements.
double degree_of(const Graph& graph, NodeId target) {
  std::vector<double> degree(target + 1, 0);
  for (NodeId id = 0; id <= target; ++id) {
    const Node& node = graph.node(id);
    const OpClass op_class = op_row(node.op).op_class;
    if (node.op == Op::input) degree[id] = 1;
    double sum = 0;
    for (const NodeId operand : node.operands) {
      if (op_class == OpClass::layout) degree[id] = std::fmax(degree[id], degree[operand]);
      sum += static_cast<double>(graph.size(operand)) * degree[operand];
    }
    if (op_class == OpClass::layout || op_class == OpClass::leaf) continue;
    const bool is_power = std::holds_alternative<PowAttributes>(node.attributes);
    degree[id] = sum * (is_power ? std::fmax(1, std::fabs(std::get<PowAttributes>(node.attributes).exponent.double_up())) : 1);
  }
  return degree[target];
}

bool holds_infinities(const Node& node) {
  if (node.op != Op::constant || !is_float(node.value.dtype())) return false;
  bool found = false;
  for (std::size_t i = 0; i < node.value.size(); ++i) {
    if (std::isnan(node.value.as_double(i))) return false;
    found = found || std::isinf(node.value.as_double(i));
  }
  return found;
}

}  // namespace

bool has_infinities(const Graph& graph) { return std::ranges::any_of(graph.nodes, holds_infinities); }
Graph without_infinities(Graph graph) {
  for (Node& node : graph.nodes) {
    if (!holds_infinities(node)) continue;
    const std::size_t bytes = node.value.bytes().size();
    node.value = Tensor(node.value.dtype(), node.value.shape(), std::make_shared<std::vector<std::byte>>(bytes));
  }
  return graph;
}

Arrays<double> generic_point(const AdjointCase& one, Random& random, bool is_near) {
  return sampled<double>(one.graph, [&](std::size_t k, bool real) {
    const Domain& all = one.domains[k];
    const Domain near{std::fmax(all.lo, -kNear), std::fmin(all.hi, kNear)};
    return generic(is_near && real && near.lo < near.hi ? near : all, real, random);
  });
}
Arrays<Rational> kink_point(const AdjointCase& one, Random& random) {
  return sampled<Rational>(one.graph, [&](std::size_t k, bool real) { return at_kink(one, one.domains[k], real, random); });
}

Arrays<Opaque> displaced(const Graph& graph, const Arrays<Rational>& x, Random& random) {
  Arrays<Opaque> result = lifted<Opaque>(x);
  for (const std::size_t k : real_inputs(graph)) {
    for (std::size_t i = 0; i < x[k].values.size(); ++i) {
      result[k].values[i] = Opaque(x[k].values[i], static_cast<double>(2 * random.below(1 << 20) + 1 - (1 << 20)));
    }
  }
  return result;
}

std::size_t real_elements(const Graph& graph) {
  std::size_t count = 0;
  for (const std::size_t k : real_inputs(graph)) count += graph.size(graph.inputs[k]);
  return count;
}

std::size_t worthwhile_points(const Graph& graph, std::size_t points) {
  constexpr std::size_t kNumbers = 512;
  const std::size_t elements = std::max<std::size_t>(1, real_elements(graph));
  return std::min(points, (kNumbers + elements - 1) / elements);
}

int most_tries(const Graph& graph) {
  constexpr double kElements = 0x1p26;  // in all tries together
  double elements = 1;
  for (NodeId id = 0; id < graph.nodes.size(); ++id) elements += static_cast<double>(graph.size(id));
  const double most = has_infinities(graph) ? kMostTries / 16.0 : kMostTries;  // lines without a number stay so at every point
  return static_cast<int>(std::clamp(kElements / elements, static_cast<double>(kFresh), most));
}

bool lacks_rationals(const Graph& graph) {
  return std::ranges::any_of(graph.nodes, [](const Node& node) {
    const OpKind kind = kind_of(node.op);
    return kind == OpKind::function || kind == OpKind::softmax || kind == OpKind::masked_softmax;
  });
}

double miss_of_a_point(const Graph& graph, const Graph& vjp) {
  double degree = 2 * degree_of(graph, graph.outputs[0]) + 2;
  for (const NodeId output : vjp.outputs) degree = std::fmax(degree, 2 * degree_of(graph, graph.outputs[0]) + degree_of(vjp, output) + 2);
  return std::fmin(0, std::log2(degree + 1) - 61);
}

}  // namespace assay::gradients::adjointness
