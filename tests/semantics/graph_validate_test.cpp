#include <functional>
#include <limits>

#include "semantics/graph/graph.h"
#include "tests/catch.h"

using namespace assay;

namespace {

// x [1, 2] -> gemm with w [3, 2], b [3] -> relu -> y; plus a boolean constant without a reader.
Graph small_network() {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  const float weights[] = {1, -2, 3, -4, 5, -6}, biases[] = {0.5F, 0, -0.5F};
  const NodeId w = graph.append_constant(Tensor::of_floats({3, 2}, weights), "w");
  const NodeId b = graph.append_constant(Tensor::of_floats({3}, biases), "b");
  const NodeId z = graph.append(Op::gemm, {x, w, b}, GemmAttributes{1, 1, false, true}, "z").value();
  const NodeId y = graph.append(Op::relu, {z}, NoAttributes{}, "y").value();
  graph.append_constant(Tensor(DType::boolean, {2}, std::make_shared<std::vector<std::byte>>(2)), "flags");
  graph.mark_output(y, "y");
  return graph;
}

Tensor with_float(const Tensor& tensor, std::size_t i, float value) {
  std::vector<float> values;
  for (const double v : tensor.to_doubles()) values.push_back(static_cast<float>(v));
  values[i] = value;
  return Tensor::of_floats(tensor.shape(), values);
}

}  // namespace

TEST_CASE("a well-formed graph has no defects", "[graph]") {
  const Graph graph = small_network();
  CHECK(validate(graph).empty());
  CHECK(summary(graph) == "2 nodes (1 gemm, 1 relu), input [1, 2] -> output [1, 3], 11 parameters");
}

TEST_CASE("validate finds each planted defect and names its place", "[graph]") {
  struct {
    const char* what;
    std::function<void(Graph&)> plant;
    const char* code;
    const char* place;
  } const rows[] = {
      {"forward reference", [](Graph& g) { g.nodes[3].operands[0] = 4; }, "graph.order", "node 3 'z' (gemm)"},
      {"self reference", [](Graph& g) { g.nodes[4].operands[0] = 4; }, "graph.order", "node 4 'y' (relu)"},
      {"operand out of range", [](Graph& g) { g.nodes[4].operands[0] = 99; }, "graph.order", "node 4"},
      {"missing operand", [](Graph& g) { g.nodes[4].operands.clear(); }, "graph.arity", "node 4"},
      {"leaf with an operand", [](Graph& g) { g.nodes[2].operands.push_back(0); }, "graph.arity", "node 2 'b' (constant)"},
      {"leaf with attributes", [](Graph& g) { g.nodes[2].attributes = ConcatAttributes{0}; }, "graph.attributes", "node 2"},
      {"wrong attributes", [](Graph& g) { g.nodes[3].attributes = NoAttributes{}; }, "graph.attributes", "node 3"},
      {"wrong shape",
       [](Graph& g) {
         g.nodes[3].shape = {1, 4};
       },
       "graph.type", "node 3"},
      {"wrong dtype", [](Graph& g) { g.nodes[4].dtype = DType::float64; }, "graph.type", "node 4"},
      {"shapes that do not fit",
       [](Graph& g) {
         g.nodes[0].shape = {1, 5};
       },
       "gemm.S2", "node 3"},
      {"negative extent",
       [](Graph& g) {
         g.nodes[0].shape = {-1, 2};
       },
       "graph.limit", "node 0 'x' (input)"},
      {"too many elements",
       [](Graph& g) {
         g.nodes[0].shape = {std::int64_t{1} << 40, 2};
       },
       "graph.limit", "node 0"},
      {"constant of another shape",
       [](Graph& g) {
         g.nodes[2].shape = {1, 3};
       },
       "graph.constant_type", "node 2"},
      {"constant of another dtype", [](Graph& g) { g.nodes[2].dtype = DType::int32; }, "graph.constant_type", "node 2"},
      {"constant without data", [](Graph& g) { g.nodes[2].value = Tensor(); }, "graph.constant_type", "node 2"},
      {"NaN", [](Graph& g) { g.nodes[1].value = with_float(g.nodes[1].value, 4, std::numeric_limits<float>::quiet_NaN()); },
       "graph.constant_value", "node 1 'w' (constant), element 4"},
      {"infinity", [](Graph& g) { g.nodes[1].value = with_float(g.nodes[1].value, 0, -std::numeric_limits<float>::infinity()); },
       "graph.constant_value", "node 1 'w' (constant), element 0"},
      {"boolean 2",
       [](Graph& g) {
         auto bytes = std::make_shared<std::vector<std::byte>>(2);
         (*bytes)[1] = std::byte{2};
         g.nodes[5].value = Tensor(DType::boolean, {2}, bytes);
       },
       "graph.constant_value", "node 5 'flags' (constant), element 1"},
      {"no such op", [](Graph& g) { g.nodes[4].op = static_cast<Op>(200); }, "graph.op", "node 4"},
      {"input not listed", [](Graph& g) { g.inputs.clear(), g.input_names.clear(); }, "graph.inputs", "node 0"},
      {"input listed twice", [](Graph& g) { g.inputs.push_back(0), g.input_names.push_back("x2"); }, "graph.inputs", "node 0"},
      {"an input that is none", [](Graph& g) { g.inputs.push_back(1), g.input_names.push_back("w"); }, "graph.inputs", "inputs"},
      {"an input that does not exist", [](Graph& g) { g.inputs.push_back(77), g.input_names.push_back("w"); }, "graph.inputs", "inputs"},
      {"no outputs", [](Graph& g) { g.outputs.clear(), g.output_names.clear(); }, "graph.outputs", "outputs"},
      {"an output that does not exist", [](Graph& g) { g.outputs[0] = 6; }, "graph.outputs", "outputs"},
      {"input without a name", [](Graph& g) { g.input_names.clear(); }, "graph.names", "inputs"},
      {"output without a name", [](Graph& g) { g.output_names.clear(); }, "graph.names", "outputs"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    Graph graph = small_network();
    row.plant(graph);
    const std::vector<Rejection> problems = validate(graph);
    REQUIRE_FALSE(problems.empty());
    CHECK(problems.front().code == row.code);
    CHECK(problems.front().place.find(row.place) == 0);
    CHECK(problems.front().kind == Rejection::Kind::malformed);
  }
}

TEST_CASE("validate reports all defects of a graph", "[graph]") {
  Graph graph = small_network();
  graph.nodes[1].value = with_float(graph.nodes[1].value, 0, std::numeric_limits<float>::infinity());
  graph.nodes[4].operands.clear();
  graph.outputs.push_back(1000);
  const std::vector<Rejection> problems = validate(graph);
  REQUIRE(problems.size() == 4);
  CHECK(problems[0].code == "graph.constant_value");
  CHECK(problems[1].code == "graph.arity");
  CHECK(problems[2].code == "graph.outputs");
  CHECK(problems[3].code == "graph.names");
}

TEST_CASE("dead nodes go, inputs and names stay", "[graph]") {
  Graph graph = small_network();
  graph.append_input(DType::float32, {7}, "unused");
  REQUIRE(graph.append(Op::neg, {4}, NoAttributes{}, "dead").ok());
  const Graph live = without_dead_nodes(graph);
  REQUIRE(live.nodes.size() == 6);
  CHECK(live.nodes[5].name == "unused");
  CHECK(live.inputs == std::vector<NodeId>{0, 5});
  CHECK(live.input_names == std::vector<std::string>{"x", "unused"});
  CHECK(live.outputs == std::vector<NodeId>{4});
  CHECK(validate(live).empty());
}

TEST_CASE("renumbering follows the operands", "[graph]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {2}, "x");
  const NodeId dead = graph.append(Op::exp, {x}).value();
  REQUIRE(graph.append(Op::neg, {dead}).ok());
  const NodeId a = graph.append(Op::relu, {x}).value();
  const NodeId y = graph.append(Op::sub, {a, x}).value();
  graph.mark_output(y, "y");
  graph.mark_output(x, "x again");
  const Graph live = without_dead_nodes(graph);
  REQUIRE(live.nodes.size() == 3);
  CHECK(live.nodes[2].op == Op::sub);
  CHECK(live.nodes[2].operands == std::vector<NodeId>{1, 0});
  CHECK(live.outputs == std::vector<NodeId>{2, 0});
}
