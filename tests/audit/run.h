// Runs to judge: ops executed in float32 by the reference order, recorded one region each.
#pragma once

#include <cstring>
#include <utility>

#include "formats/trace.h"
#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"

namespace assay::test {

inline ExecutionModel float_model() {
  ExecutionModel model;
  model.kind = ExecutionModel::Kind::floating;
  model.math_table = "glibc-2.36";
  return model;
}

class Run {
 public:
  using Id = TraceTensorId;

  Id given(const std::string& name, const Shape& shape, const std::vector<float>& values, Trace::Origin origin = Trace::Origin::input) {
    trace.tensors.push_back({name, origin, Tensor::of_floats(shape, values)});
    return static_cast<Id>(trace.tensors.size() - 1);
  }

  Id apply(Op op, const std::vector<Id>& operands, const Attributes& attributes = NoAttributes{}) {
    Region region;
    region.name = op_row(op).name;
    region.model = float_model();
    region.operands = operands;
    std::vector<NodeId> inputs;
    std::vector<Array<float>> values;
    for (const Id id : operands) {
      const Tensor& tensor = trace.tensors[id].value;
      inputs.push_back(region.graph.append_input(tensor.dtype(), tensor.shape(), trace.tensors[id].name));
      values.push_back(lift<float>(tensor));
    }
    auto node = region.graph.append(op, inputs, attributes);
    if (!node) FAIL(node.rejection().to_text());
    region.graph.mark_output(node.value(), "y");
    auto results = evaluate<float>(region.graph, values);
    if (!results) FAIL(results.rejection().to_text());
    const Array<float>& result = results.value()[node.value()];
    trace.tensors.push_back(
        {"t" + std::to_string(trace.tensors.size()), Trace::Origin::result, Tensor::of_floats(result.shape, result.values)});
    region.results = {static_cast<Id>(trace.tensors.size() - 1)};
    trace.regions.push_back(std::move(region));
    return trace.regions.back().results[0];
  }

  // The product of the region that gave `of`.
  void claim(Id of, Id cotangent, std::vector<std::pair<std::uint32_t, Id>> cotangents) {
    for (std::uint32_t r = 0; r < trace.regions.size(); ++r) {
      if (trace.regions[r].results[0] == of) trace.vjps.push_back({r, 0, cotangent, std::move(cotangents)});
    }
  }

  Trace trace;
};

// The region runs another op on the same operands; its recorded result is of no interest then.
inline void replace_op(Region& region, Op op) {
  Graph graph;
  std::vector<NodeId> inputs;
  for (const NodeId input : region.graph.inputs)
    inputs.push_back(graph.append_input(region.graph.node(input).dtype, region.graph.node(input).shape, "x"));
  auto node = graph.append(op, inputs);
  if (!node) FAIL(node.rejection().to_text());
  graph.mark_output(node.value(), "y");
  region.graph = std::move(graph);
}

// Element i of a tensor moved by `steps` numbers of float32.
inline Tensor moved(const Tensor& tensor, std::size_t i, int steps) {
  std::vector<std::byte> bytes(tensor.bytes().begin(), tensor.bytes().end());
  std::int32_t bits = 0;
  std::memcpy(&bits, bytes.data() + 4 * i, 4);
  bits += steps;
  std::memcpy(bytes.data() + 4 * i, &bits, 4);
  return {tensor.dtype(), tensor.shape(), std::make_shared<std::vector<std::byte>>(std::move(bytes))};
}

// loss = sum of z^2, z = h + relu(h), h = tanh(x w + b), with its gradients for w and b. h has two consumers, z is both factors of a
// product.
struct Step {
  Run run;
  Run::Id x, w, b, h, z, loss, h_bar, w_bar, b_bar;
};

inline Step training_step() {
  Step s;
  Run& run = s.run;
  s.x = run.given("x", {3, 2}, {0.5F, -1.25F, 2.0F, 0.75F, -0.5F, 1.5F});
  s.w = run.given("w", {2, 2}, {0.3F, -0.7F, 0.9F, 0.2F}, Trace::Origin::parameter);
  s.b = run.given("b", {2}, {0.1F, -0.2F}, Trace::Origin::parameter);
  const auto y = run.apply(Op::gemm, {s.x, s.w, s.b}, GemmAttributes{});
  s.h = run.apply(Op::tanh, {y});
  const auto r = run.apply(Op::relu, {s.h});
  s.z = run.apply(Op::add, {s.h, r});
  const auto q = run.apply(Op::mul, {s.z, s.z});
  s.loss = run.apply(Op::reduce_sum, {q}, ReduceAttributes{{0, 1}, false});
  const auto seed = run.given("seed", {}, {1});
  const auto q_bar = run.apply(Op::expand, {seed}, ShapeAttributes{{3, 2}});
  run.claim(s.loss, seed, {{0, q_bar}});
  const auto half = run.apply(Op::mul, {q_bar, s.z});
  run.claim(q, q_bar, {{0, half}, {1, half}});
  const auto z_bar = run.apply(Op::add, {half, half});
  run.claim(s.z, z_bar, {{0, z_bar}, {1, z_bar}});
  const auto one = run.given("one", {}, {1});
  const auto positive = run.apply(Op::step, {s.h});
  const auto r_bar = run.apply(Op::mul, {z_bar, positive});
  run.claim(r, z_bar, {{0, r_bar}});
  s.h_bar = run.apply(Op::add, {z_bar, r_bar});
  const auto hh = run.apply(Op::mul, {s.h, s.h});
  const auto slope = run.apply(Op::sub, {one, hh});
  const auto y_bar = run.apply(Op::mul, {s.h_bar, slope});
  run.claim(s.h, s.h_bar, {{0, y_bar}});
  s.w_bar = run.apply(Op::gemm, {s.x, y_bar}, GemmAttributes{1, 1, true, false});
  s.b_bar = run.apply(Op::reduce_sum, {y_bar}, ReduceAttributes{{0}, false});
  run.claim(y, y_bar, {{1, s.w_bar}, {2, s.b_bar}});
  run.trace.outputs = {s.loss, s.w_bar, s.b_bar};
  run.trace.gradients = {{s.loss, seed, {{s.w, s.w_bar}, {s.b, s.b_bar}}}};
  return s;
}

inline std::vector<std::byte> file_of(const Trace& trace) {
  std::vector<std::byte> file;
  formats::write_trace(trace, [&](std::span<const std::byte> part) { file.insert(file.end(), part.begin(), part.end()); });
  return file;
}

}  // namespace assay::test
