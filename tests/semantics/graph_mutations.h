// Graphs that differ from one another in one attribute, bit, shape, type or wire: all must have distinct digests.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/graph.h"
#include "tests/semantics/ops_catalogue.h"

namespace assay::test {

// One network with a node of every kind of attributes, in float32 constants and inputs.
inline Graph network_of_all_attributes() {
  Graph g;
  const auto add = [&g](Op op, std::vector<NodeId> operands, Attributes attributes) {
    return g.append(op, std::move(operands), std::move(attributes), std::string(op_row(op).name)).value();
  };
  const NodeId x = g.append_input(DType::float32, {2, 4, 4, 4}, "x");
  const NodeId s = g.append_input(DType::float32, {4, 4}, "s");
  const std::vector<float> weights(4 * 2 * 2 * 2, 0.5F), ones(4, 1), zeros(4, 0);
  const NodeId w = g.append_constant(Tensor::of_floats({4, 2, 2, 2}, weights), "w");
  const NodeId one = g.append_constant(Tensor::of_floats({4}, ones), "one"),
               zero = g.append_constant(Tensor::of_floats({4}, zeros), "zero");
  NodeId a = add(Op::conv, {x, w, zero}, window({2, 2}, {1, 1}, {1, 1}, {1, 0}, {0, 1}, 2));  // [2, 4, 4, 4]
  a = add(Op::conv_transpose, {a, w}, with_output_padding(window({2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, 2), {0, 0}));
  a = add(Op::avg_pool, {a}, window({2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}));
  a = add(Op::batch_norm, {a, one, zero, zero, one}, BatchNormAttributes{1e-5});
  a = add(Op::permute, {a}, PermuteAttributes{{0, 1, 3, 2}});
  a = add(Op::slice, {a}, SliceAttributes{{0, 0, 0, 0}, {1, 1, 1, 1}, {2, 4, 4, 2}});
  a = add(Op::concat, {a, a}, ConcatAttributes{3});
  a = add(Op::pad, {a}, PadAttributes{{0, 0, 1, 0}, {0, 0, 0, 0}, 0.5});
  a = add(Op::gather, {a}, GatherAttributes{2, {0, 1}, {2}});
  a = add(Op::reduce_sum, {a}, ReduceAttributes{{0, 1}, false});  // [2, 4]
  a = add(Op::reshape, {a}, ShapeAttributes{{1, 8}});
  a = add(Op::expand, {a}, ShapeAttributes{{3, 8}});
  a = add(Op::reshape, {a}, ShapeAttributes{{6, 4}});
  a = add(Op::gemm, {a, s}, GemmAttributes{1, 1, false, false});  // [6, 4]
  a = add(Op::scale, {a}, ScaleAttributes{2});
  a = add(Op::leaky_relu, {a}, LeakyReluAttributes{0.1});
  a = add(Op::clip, {a}, ClipAttributes{-1, 1});
  a = add(Op::pow, {a}, PowAttributes{Rational(2)});
  a = add(Op::softmax, {a}, SoftmaxAttributes{1});
  g.mark_output(a, "y");
  g.mark_output(s, "s");
  return g;
}

inline Node& node_of(Graph& graph, Op op) {
  for (Node& node : graph.nodes) {
    if (node.op == op) return node;
  }
  return graph.nodes.front();
}

template <class A>
A& attributes_of(Graph& graph, Op op) {
  return std::get<A>(node_of(graph, op).attributes);
}

inline Tensor with_flipped_bit(const Tensor& tensor, std::size_t byte, unsigned bit) {
  auto bytes = std::make_shared<std::vector<std::byte>>(tensor.bytes().begin(), tensor.bytes().end());
  (*bytes)[byte] ^= static_cast<std::byte>(1U << bit);
  return Tensor(tensor.dtype(), tensor.shape(), bytes);
}

// The changed graphs need not be well-formed; their canonical bytes are still defined.
inline std::vector<std::pair<std::string, std::function<void(Graph&)>>> graph_mutations() {
  std::vector<std::pair<std::string, std::function<void(Graph&)>>> all = {
      {"wire", [](Graph& g) { node_of(g, Op::conv).operands[2] = 3; }},
      {"one operand less", [](Graph& g) { node_of(g, Op::conv).operands.pop_back(); }},
      {"op", [](Graph& g) { node_of(g, Op::avg_pool).op = Op::max_pool; }},
      {"dtype", [](Graph& g) { g.nodes[0].dtype = DType::float64; }},
      {"dtype of a node", [](Graph& g) { node_of(g, Op::scale).dtype = DType::int64; }},
      {"shape",
       [](Graph& g) {
         g.nodes[0].shape = {2, 4, 16};
       }},
      {"rank", [](Graph& g) { g.nodes[0].shape.push_back(1); }},
      {"input order", [](Graph& g) { std::swap(g.inputs[0], g.inputs[1]); }},
      {"output order", [](Graph& g) { std::swap(g.outputs[0], g.outputs[1]); }},
      {"output dropped", [](Graph& g) { g.outputs.pop_back(); }},
      {"node appended", [](Graph& g) { g.nodes.push_back(g.nodes[0]); }},
      {"constant's first bit", [](Graph& g) { g.nodes[2].value = with_flipped_bit(g.nodes[2].value, 0, 0); }},
      {"constant's last bit", [](Graph& g) { g.nodes[2].value = with_flipped_bit(g.nodes[2].value, 127, 7); }},
      {"sign of a zero", [](Graph& g) { g.nodes[4].value = with_flipped_bit(g.nodes[4].value, 3, 7); }},
      {"reshape",
       [](Graph& g) {
         attributes_of<ShapeAttributes>(g, Op::reshape).shape = {8, 1};
       }},
      {"permute",
       [](Graph& g) {
         attributes_of<PermuteAttributes>(g, Op::permute).axes = {0, 1, 2, 3};
       }},
      {"slice starts", [](Graph& g) { attributes_of<SliceAttributes>(g, Op::slice).starts[3] = 1; }},
      {"slice steps", [](Graph& g) { attributes_of<SliceAttributes>(g, Op::slice).steps[3] = 2; }},
      {"slice extents", [](Graph& g) { attributes_of<SliceAttributes>(g, Op::slice).extents[3] = 1; }},
      {"concat", [](Graph& g) { attributes_of<ConcatAttributes>(g, Op::concat).axis = 2; }},
      {"pad before", [](Graph& g) { attributes_of<PadAttributes>(g, Op::pad).before[1] = 1; }},
      {"pad after", [](Graph& g) { attributes_of<PadAttributes>(g, Op::pad).after[1] = 1; }},
      {"pad value", [](Graph& g) { attributes_of<PadAttributes>(g, Op::pad).value = 0.25; }},
      {"gather axis", [](Graph& g) { attributes_of<GatherAttributes>(g, Op::gather).axis = 3; }},
      {"gather indices", [](Graph& g) { attributes_of<GatherAttributes>(g, Op::gather).indices[0] = 1; }},
      {"gather index shape",
       [](Graph& g) {
         attributes_of<GatherAttributes>(g, Op::gather).index_shape = {2, 1};
       }},
      {"scale", [](Graph& g) { attributes_of<ScaleAttributes>(g, Op::scale).factor = 3; }},
      {"gemm alpha", [](Graph& g) { attributes_of<GemmAttributes>(g, Op::gemm).alpha = 2; }},
      {"gemm beta", [](Graph& g) { attributes_of<GemmAttributes>(g, Op::gemm).beta = 2; }},
      {"gemm transpose a", [](Graph& g) { attributes_of<GemmAttributes>(g, Op::gemm).transpose_a = true; }},
      {"gemm transpose b", [](Graph& g) { attributes_of<GemmAttributes>(g, Op::gemm).transpose_b = true; }},
      {"batch_norm", [](Graph& g) { attributes_of<BatchNormAttributes>(g, Op::batch_norm).epsilon = 1e-4; }},
      {"reduce axes",
       [](Graph& g) {
         attributes_of<ReduceAttributes>(g, Op::reduce_sum).axes = {0, 2};
       }},
      {"reduce keep dims", [](Graph& g) { attributes_of<ReduceAttributes>(g, Op::reduce_sum).keep_dims = true; }},
      {"leaky_relu", [](Graph& g) { attributes_of<LeakyReluAttributes>(g, Op::leaky_relu).slope = 0.2; }},
      {"clip lo", [](Graph& g) { attributes_of<ClipAttributes>(g, Op::clip).lo = -2; }},
      {"clip hi", [](Graph& g) { attributes_of<ClipAttributes>(g, Op::clip).hi = 2; }},
      {"pow", [](Graph& g) { attributes_of<PowAttributes>(g, Op::pow).exponent = Rational(3); }},
      {"softmax", [](Graph& g) { attributes_of<SoftmaxAttributes>(g, Op::softmax).axis = 0; }},
  };
  for (const Op op : {Op::conv, Op::conv_transpose, Op::avg_pool}) {
    const std::string name(op_row(op).name);
    const auto add = [&all, &name, op](const char* field, std::function<void(WindowAttributes&)> change) {
      all.push_back({name + " " + field, [op, change](Graph& g) { change(attributes_of<WindowAttributes>(g, op)); }});
    };
    add("kernel", [](WindowAttributes& w) { w.kernel[1] = 3; });
    add("strides", [](WindowAttributes& w) { w.strides[1] = 3; });
    add("dilations", [](WindowAttributes& w) { w.dilations[1] = 3; });
    add("pads begin", [](WindowAttributes& w) { w.pads_begin[1] = 3; });
    add("pads end", [](WindowAttributes& w) { w.pads_end[1] = 3; });
    add("output padding", [](WindowAttributes& w) { w.output_padding = {0, 3}; });
    add("groups", [](WindowAttributes& w) { w.groups = 4; });
    add("count include pad", [](WindowAttributes& w) { w.count_include_pad = true; });
    add("ceil mode", [](WindowAttributes& w) { w.ceil_mode = true; });
  }
  return all;
}

inline void rename_everything(Graph& graph) {
  for (Node& node : graph.nodes) node.name += "_renamed";
  for (std::string& name : graph.input_names) name += "_renamed";
  for (std::string& name : graph.output_names) name += "_renamed";
}

}  // namespace assay::test
