// Identities that residues do not know: no rule is refused for one, and a rule that is a little off is.
#include <cmath>

#include "kernel/gradients/adjointness/adjointness.h"
#include "kernel/gradients/adjointness/tangent.h"
#include "tests/catch.h"

using namespace assay;
using gradients::check_adjointness;

namespace {

NodeId put(Graph& graph, Op op, std::vector<NodeId> operands) {
  auto node = graph.append(op, std::move(operands));
  if (!node) FAIL(node.rejection().to_text());
  return node.value();
}
NodeId number(Graph& graph, DType dtype, double value) {
  const auto narrow = static_cast<float>(value);
  if (dtype == DType::float32) return graph.append_constant(Tensor::of_floats({}, std::span(&narrow, 1)));
  return graph.append_constant(Tensor::of_doubles({}, std::span(&value, 1)));
}
// k sin x (4 cos^2 x - 1) y_bar, which is y_bar sin 3x for k = 1.
NodeId thrice(Graph& g, DType dtype, NodeId x, NodeId y_bar, double k) {
  const NodeId cosine = put(g, Op::cos, {x});
  const NodeId factor = put(g, Op::sub, {put(g, Op::mul, {number(g, dtype, 4), put(g, Op::mul, {cosine, cosine})}), number(g, dtype, 1)});
  return put(g, Op::mul, {put(g, Op::mul, {number(g, dtype, k), y_bar}), put(g, Op::mul, {put(g, Op::sin, {x}), factor})});
}
// d/dx of -cos(3x) / 3.
Graph forward(DType dtype) {
  Graph graph;
  const NodeId x = graph.append_input(dtype, {2}, "x");
  const NodeId angle = put(graph, Op::mul, {number(graph, dtype, 3), x});
  graph.mark_output(put(graph, Op::div, {put(graph, Op::cos, {angle}), number(graph, dtype, -3)}), "y");
  return graph;
}
Graph rule(DType dtype, double k) {
  Graph graph;
  const NodeId x = graph.append_input(dtype, {2}, "x"), y_bar = graph.append_input(dtype, {2}, "y_bar");
  graph.mark_output(thrice(graph, dtype, x, y_bar, k), "x_bar");
  return graph;
}
template <class T>
std::string code(const Outcome<T>& outcome) {
  return outcome ? std::string("proved") : outcome.rejection().code;
}
std::string adjoint(DType dtype, double k) {
  return code(check_adjointness({"three times", forward(dtype), {{-4, 4}}, {}}, rule(dtype, k), 3));
}
std::string tangent(DType dtype, double k) {
  return code(gradients::check_tangent({{"three times", forward(dtype), {{-4, 4}}, {}}, rule(dtype, k), {0}}, 3));
}

}  // namespace

TEST_CASE("wide: an unknown identity is declined, and numbers that differ are refused", "[adjointness]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    CHECK(adjoint(dtype, 1) == "adjointness.identity");
    CHECK(tangent(dtype, 1) == "tangent.identity");
    for (const double off : {0x1p-20, -0x1p-23}) {
      CHECK(adjoint(dtype, 1 + off) == "adjointness.entry");
      CHECK(tangent(dtype, 1 + off) == "tangent.entry");
    }
  }
  CHECK(adjoint(DType::float64, 1 + 0x1p-52) == "adjointness.entry");  // which float64 shows
}

TEST_CASE("wide: a difference that no float32 shows accuses nobody", "[adjointness]") {
  const auto scaled = [](DType dtype, double off) {  // y_bar sin 3x (1 + off), in which 1 + off is a sum of two constants
    Graph graph;
    const NodeId x = graph.append_input(dtype, {2}, "x"), y_bar = graph.append_input(dtype, {2}, "y_bar");
    const NodeId factor = put(graph, Op::add, {number(graph, dtype, 1), number(graph, dtype, off)});
    graph.mark_output(put(graph, Op::mul, {thrice(graph, dtype, x, y_bar, 1), factor}), "x_bar");
    return code(check_adjointness({"three times", forward(dtype), {{-4, 4}}, {}}, graph, 3));
  };
  CHECK(scaled(DType::float32, 0x1p-50) == "adjointness.identity");
  CHECK(scaled(DType::float32, 0x1p-40) == "adjointness.entry");
  CHECK(scaled(DType::float64, 0x1p-50) == "adjointness.entry");
}

TEST_CASE("wide: an angle that is doubled, and another base, are known", "[adjointness]") {
  Graph twice;  // sin^2 x
  const NodeId x = twice.append_input(DType::float32, {2}, "x"), sine = put(twice, Op::sin, {x});
  twice.mark_output(put(twice, Op::mul, {sine, sine}), "y");
  Graph of_twice;
  const NodeId at = of_twice.append_input(DType::float32, {2}, "x"), y_bar = of_twice.append_input(DType::float32, {2}, "y_bar");
  of_twice.mark_output(put(of_twice, Op::mul, {y_bar, put(of_twice, Op::sin, {put(of_twice, Op::add, {at, at})})}), "x_bar");
  CHECK(code(check_adjointness({"twice", twice, {{-4, 4}}, {}}, of_twice, 3)) == "proved");
  CHECK(code(check_adjointness({"twice", twice, {{-1e-3, 1e3}}, {}}, of_twice, 4)) == "proved");
}
