// Models as ONNX: the file imports again as the graph that was written.
#include "training/export.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <tuple>

#include "formats/onnx_writer.h"
#include "frontends/onnx/import.h"
#include "runtime/functions.h"
#include "runtime/graph_module.h"
#include "tests/catch.h"
#include "training/layers/attention.h"
#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/layers/normalise.h"
#include "training/layers/recurrent.h"
#include "training/layers/sequence.h"
#include "training/layers/shapes.h"

namespace assay::test {
namespace {

using namespace runtime;
using namespace training;
using Function = std::function<Value(std::span<const Value>)>;

// Inputs first, then the nodes as the outputs meet them: files do not say where constants stand.
Graph in_order(const Graph& graph) {
  std::vector<NodeId> order(graph.inputs.begin(), graph.inputs.end());
  std::map<NodeId, NodeId> places;
  for (const NodeId id : order) places.emplace(id, static_cast<NodeId>(places.size()));
  const std::function<void(NodeId)> visit = [&](NodeId id) {
    if (places.count(id) != 0) return;
    for (const NodeId operand : graph.node(id).operands) visit(operand);
    places.emplace(id, static_cast<NodeId>(places.size()));
    order.push_back(id);
  };
  for (const NodeId output : graph.outputs) visit(output);
  Graph result;
  for (const NodeId id : order) {
    Node node = graph.node(id);
    for (NodeId& operand : node.operands) operand = places.at(operand);
    result.nodes.push_back(std::move(node));
  }
  for (const NodeId input : graph.inputs) result.inputs.push_back(places.at(input));
  for (const NodeId output : graph.outputs) result.outputs.push_back(places.at(output));
  result.input_names = graph.input_names;
  result.output_names = graph.output_names;
  return result;
}

Outcome<onnx::Model> imported(const std::string& file) {
  const auto path = std::filesystem::temp_directory_path() / ("assay_" + std::to_string(getpid()) + ".onnx");
  std::ofstream(path, std::ios::binary) << file;
  auto model = onnx::import_model(path.string());
  std::filesystem::remove(path);
  return model;
}

// The graph that comes back is the one that was written, and the runtime gives the same bits on it as the function gave.
void comes_back(Model& model, const Function& function, const Array& example) {
  const auto exported = export_onnx(model, function, std::vector<ExportInput>{{"x", example}});
  if (!exported) FAIL(exported.rejection().to_text());
  const auto read = imported(exported.value().file);
  if (!read) FAIL(read.rejection().to_text());
  CHECK(validate(read.value().graph).empty());
  const bool same = canonical_bytes(in_order(read.value().graph)) == canonical_bytes(in_order(exported.value().graph));
  CHECK(same);
  CHECK(read.value().graph.input_names == std::vector<std::string>{"x"});
  Session& session = model.session();
  session.clear();
  model.set_training(false);
  const Value direct = function(std::vector{session.input(example)});
  const GraphModule module(session, read.value().graph);
  const auto again = module(std::vector{session.input(example)});
  if (!again) FAIL(again.rejection().to_text());
  const std::vector<double> a = direct.to_doubles(), b = again.value()[0].to_doubles();
  REQUIRE(a.size() == b.size());
  // A fold, a factor or an epsilon in float32 moves last bits.
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) <= 1e-6 * (1 + std::abs(a[i])));
}

}  // namespace

TEST_CASE("export: models come back as they were written", "[training]") {
  Session session({.seed = 1});
  Model model(session);
  const Conv conv(model / "conv", 1, 4, {3, 3}, {.stride = {2}, .padding = {1}}),
      deep(model / "deep", 4, 4, {3, 3}, {.padding = {1}, .groups = 2});
  const BatchNorm norm(model / "norm", 4);
  const Linear out(model / "out", 4, 3);
  comes_back(
      model,
      [&](std::span<const Value> v) {
        const Value h = relu(norm(conv(v[0])));
        return out(global_avg_pool(training::max_pool(h + deep(h), {2})));
      },
      session.normal({1, 1, 8, 8}));
  const Linear first(model / "first", 6, 8), second(model / "second", 8, 2);
  const LayerNorm layer_norm_of(model / "layer_norm", Shape{8});
  comes_back(
      model, [&](std::span<const Value> v) { return softmax(second(gelu(layer_norm_of(first(v[0])))), 1); }, session.normal({3, 6}));
  comes_back(
      model, [&](std::span<const Value> v) { return second(silu(first(v[0])) * 0.5) - 1; }, session.normal({3, 6}));
  const Lstm lstm(model / "lstm", 2, 3);
  comes_back(
      model, [&](std::span<const Value> v) { return tanh(select(lstm(v[0]).outputs, 1, 3)); }, session.normal({2, 4, 2}));
  const ConvTranspose up(model / "up", 2, 3, {3}, {.stride = {2}, .padding = {1}, .output_padding = {1}});
  comes_back(
      model, [&](std::span<const Value> v) { return avg_pool(up(v[0]), {2}); }, session.normal({1, 2, 4}));
  comes_back(
      model,
      [&](std::span<const Value> v) {
        const Value turned = transpose(v[0], 0, 1);
        return concat({log_softmax(turned, 1), slice(turned, 1, 0, 2)}, 1) * exp(-square(mean(turned, {1}, true)));
      },
      session.normal({3, 4}));
  const Embedding embedding(model / "embedding", 5, 3);
  comes_back(
      model, [&](std::span<const Value> v) { return sum(embedding(v[0]), {1}); },
      Array::from(Tensor::of_ints({2, 2}, std::vector<std::int64_t>{1, 4, 0, 2})));
}

TEST_CASE("export: every layer comes back as it was written", "[training]") {
  Session session({.seed = 2});
  Model model(session);
  const auto of_x = [](auto layer) { return [layer](std::span<const Value> v) { return layer(v[0]); }; };
  const auto first_of = [](auto layer) { return [layer](std::span<const Value> v) { return layer(v[0]).outputs; }; };
  const Array images = session.normal({2, 4, 6, 6}), sequences = session.normal({2, 5, 8});
  const NormOptions plain{.affine = false, .running = false}, running{};
  const MultiHeadAttention attention(model / "attention", 8, 2), turned(model / "turned", 8, 2, Rotary{}),
      interleaved(model / "interleaved", 8, 2, Rotary{.interleaved = true});
  const auto of_attention = [](const MultiHeadAttention& layer, bool causal) {
    return [layer, causal](std::span<const Value> v) { return layer(v[0], {.causal = causal}); };
  };
  const Linear linear_of(model / "linear", 8, 3);
  const RmsNorm inner(model / "inner", Shape{8});
  const std::vector<std::tuple<const char*, Function, Array>> layers{
      {"linear", of_x(linear_of), sequences},
      {"LoRA", of_x(LoraLinear(model / "lora", 8, 3, {})), sequences},
      {"dropout", of_x(Dropout(model / "dropout", 0.5)), sequences},
      {"RNN", first_of(Rnn(model / "rnn", 8, 3)), sequences},
      {"GRU", first_of(Gru(model / "gru", 8, 3, 2)), sequences},
      {"LSTM", first_of(Lstm(model / "lstm", 8, 3)), sequences},
      {"attention", of_attention(attention, false), sequences},
      {"causal attention", of_attention(attention, true), sequences},
      {"rotary attention", of_attention(turned, true), sequences},
      {"interleaved rotary attention", of_attention(interleaved, true), sequences},
      {"Mamba", of_x(Mamba(model / "mamba", 8, {.state = 3})), sequences},
      {"spectral convolution", of_x(SpectralConv(model / "spectral", 5, 2, 3)), sequences},
      {"batch norm", of_x(BatchNorm(model / "batch", 4)), images},
      {"batch norm of the batch", of_x(BatchNorm(model / "batch_of", 4, {.running = false})), images},
      {"instance norm", of_x(InstanceNorm(model / "instance", 4, plain)), images},
      {"running instance norm", of_x(InstanceNorm(model / "instance_running", 4, running)), images},
      {"group norm", of_x(GroupNorm(model / "group", 2, 4)), images},
      {"layer norm", of_x(LayerNorm(model / "layer", Shape{5, 8})), sequences},
      {"RMS norm", of_x(RmsNorm(model / "rms", Shape{8})), sequences},
      {"RMS norm beside its operand", [&](std::span<const Value> v) { return v[0] + inner(v[0]); }, sequences},
      {"convolution", of_x(Conv(model / "conv", 4, 2, {3, 3}, {.stride = {2}, .padding = {1}})), images},
      {"transposed convolution", of_x(ConvTranspose(model / "up", 4, 2, {3, 3}, {.stride = {2}})), images},
      {"max pool", [](std::span<const Value> v) { return training::max_pool(v[0], {3}, {.stride = {2}, .padding = {1}}); }, images},
      {"mean pool", [](std::span<const Value> v) { return training::avg_pool(v[0], {2}); }, images},
      {"smooth max pool", [](std::span<const Value> v) { return training::smooth_max_pool(v[0], {2}, 4); }, images},
      {"global pools", [](std::span<const Value> v) { return global_avg_pool(v[0]) + global_max_pool(v[0]); }, images},
      {"adaptive mean pool",
       [](std::span<const Value> v) {
         return adaptive_avg_pool(v[0], {4, 3});
       },
       images},
  };
  for (const auto& [name, function, example] : layers) {
    INFO(name);
    comes_back(model, function, example);
  }
}

TEST_CASE("export: a mask that is an input comes back", "[training]") {
  Session session({.seed = 3});
  Model model(session);
  const MultiHeadAttention attention(model / "attention", 8, 2);
  const Array bits = session.bernoulli(0.5, {2, 1, 5, 5}, DType::boolean), x = session.normal({2, 5, 8});
  for (std::size_t i = 0; i < 50; i += 5) const_cast<Array&>(bits).data<std::uint8_t>()[i + i / 5 % 5] = 1;  // each place sees itself
  for (const bool causal : {false, true}) {
    const Function function = [&](std::span<const Value> v) { return attention(v[0], {.causal = causal, .open = v[1]}); };
    const auto exported = export_onnx(model, function, std::vector<ExportInput>{{"x", x}, {"open", bits}});
    if (!exported) FAIL(exported.rejection().to_text());
    const auto read = imported(exported.value().file);
    if (!read) FAIL(read.rejection().to_text());
    const bool same = canonical_bytes(in_order(read.value().graph)) == canonical_bytes(in_order(exported.value().graph));
    CHECK(same);
  }
}

TEST_CASE("export: a masked softmax that is none of the forms is refused, not written as another", "[training]") {
  const auto ones = [](const Shape& shape, float value) {
    return Tensor::of_floats(shape, std::vector<float>(element_count(shape), value));
  };
  const auto bits = [](const Shape& shape, const std::vector<int>& values) {
    std::vector<std::byte> bytes;
    for (const int value : values) bytes.push_back(static_cast<std::byte>(value));
    return Tensor(DType::boolean, shape, std::make_shared<const std::vector<std::byte>>(std::move(bytes)));
  };
  const auto written = [&](const Tensor& added, const Tensor& open, bool twice, bool empty_is_zero) {
    Graph graph;
    const NodeId x = graph.append_input(DType::float32, {2, 2}, "x");
    const auto sum = graph.append(Op::add, {x, graph.append_constant(added)});
    REQUIRE(sum.ok());
    const auto soft =
        graph.append(Op::masked_softmax, {sum.value(), graph.append_constant(open)}, MaskedSoftmaxAttributes{1, empty_is_zero});
    REQUIRE(soft.ok());
    graph.mark_output(soft.value(), "y");
    if (twice) graph.mark_output(sum.value(), "z");
    return formats::write_onnx(graph).ok();
  };
  const Tensor open = bits({2, 2}, {1, 0, 1, 0});
  CHECK(written(ones({2, 2}, 0), open, false, false));
  CHECK(written(ones({2}, 0), open, false, false));
  CHECK(!written(ones({2, 2}, 1), open, false, false));
  CHECK(!written(ones({2, 2}, 0), open, true, false));
  CHECK(!written(ones({2, 2}, 0), open, false, true));
  CHECK(!written(ones({2}, 0), bits({2, 2}, {1, 0, 1, 1}), false, false));
  CHECK(!written(ones({2, 2}, 0), bits({1, 2}, {1, 0}), false, false));
}

TEST_CASE("export: ops that are one operator come back with their numbers", "[training]") {
  std::vector<std::pair<Op, Attributes>> ops;
#define ASSAY_ONNX(op, ...) ops.emplace_back(Op::op, NoAttributes{});
#define ASSAY_SAMPLE(op, what, ...) ops.emplace_back(Op::op, __VA_ARGS__);
#include "semantics/graph/ops.def"
  std::size_t written = 0;
  for (const auto& [op, attributes] : ops) {
    INFO(op_row(op).name);
    Graph graph;
    std::vector<NodeId> operands;
    for (int k = 0; k < op_row(op).arity_min; ++k) operands.push_back(graph.append_input(DType::float32, {2, 3}, "x" + std::to_string(k)));
    graph.mark_output(graph.append(op, operands, attributes, "y").value(), "y");
    const auto file = formats::write_onnx(graph);
    if (op == Op::silu) {  // Swish is younger than the opset that is written
      CHECK_FALSE(file.ok());
      continue;
    }
    if (!file) FAIL(file.rejection().to_text());
    const auto read = imported(file.value());
    if (!read) FAIL(read.rejection().to_text());
    const bool same = canonical_bytes(in_order(read.value().graph)) == canonical_bytes(in_order(graph));
    CHECK(same);
    ++written;
  }
  CHECK(written > 40);
}

TEST_CASE("export: what has no operator is refused by name", "[training]") {
  Session session;
  Model model(session);
  const auto exported = export_onnx(
      model, [&](std::span<const Value> v) { return runtime::apply(Op::cumsum, v[0], CumulativeAttributes{1}); },
      std::vector<ExportInput>{{"x", session.normal({2, 3})}});
  REQUIRE(!exported.ok());
  CHECK(exported.rejection().code == "onnx.op");
  CHECK(model.training());  // as before
}

}  // namespace assay::test
