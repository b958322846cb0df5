// Models as ONNX: the file imports again as the graph that was written.
#include "training/export.h"

#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>

#include "formats/onnx_writer.h"
#include "frontends/onnx/import.h"
#include "runtime/functions.h"
#include "runtime/graph_module.h"
#include "tests/catch.h"
#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/layers/normalise.h"
#include "training/layers/recurrent.h"
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

TEST_CASE("export: what has no operator is refused by name", "[training]") {
  Session session;
  Model model(session);
  const RmsNorm norm(model / "norm", Shape{3});
  const auto exported = export_onnx(
      model, [&](std::span<const Value> v) { return norm(v[0]); }, std::vector<ExportInput>{{"x", session.normal({2, 3})}});
  REQUIRE(!exported.ok());
  CHECK(exported.rejection().code == "onnx.op");
  CHECK(model.training());  // as before
}

}  // namespace assay::test
