// Decisions of the import about a whole model: inputs, constants, versions, dead nodes, external data, folding.
#include <zlib.h>

#include <algorithm>

#include "frontends/onnx/import.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

namespace {

using namespace assay;
using namespace assay::onnx_test;

// x [1, 2] -> y = x W + b; a model that everything below bends.
ModelText linear_model() {
  ModelText text;
  text.nodes = {node("Gemm", {"x", "w", "b"}, {"y"})};
  text.initializers = {floats("w", {2, 3}, {1, 2, 3, 4, 5, 6}), floats("b", {3}, {0.5F, 0, -1})};
  text.inputs = {value("x", {1, 2})};
  text.outputs = {value("y", {1, 3})};
  return text;
}

onnx::Model import_text(const ModelText& text) {
  const Folder folder;
  Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
  INFO((model ? std::string() : model.rejection().to_text()));
  REQUIRE(model.ok());
  return std::move(model).value();
}

std::vector<Op> ops_of(const Graph& graph) {
  std::vector<Op> ops;
  for (const Node& one : graph.nodes) ops.push_back(one.op);
  return ops;
}

bool has_note(const onnx::Model& model, const std::string& part) {
  return std::any_of(model.notes.begin(), model.notes.end(), [&](const std::string& note) { return note.find(part) != std::string::npos; });
}

std::string gzipped(const std::string& text) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(text.size() + 1000, '\0');
  std::string in = text;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

}  // namespace

TEST_CASE("a linear layer becomes a gemm with its constants", "[onnx][import]") {
  const onnx::Model model = import_text(linear_model());
  const Graph& graph = model.graph;
  CHECK(ops_of(graph) == std::vector<Op>{Op::input, Op::constant, Op::constant, Op::gemm});
  CHECK(graph.input_names == std::vector<std::string>{"x"});
  CHECK(graph.output_names == std::vector<std::string>{"y"});
  CHECK(graph.nodes[1].value.to_doubles() == std::vector<double>{1, 2, 3, 4, 5, 6});
  CHECK(graph.nodes[3].shape == Shape{1, 3});
  CHECK(model.ir_version == 8);
  CHECK(model.producer == "test");
  REQUIRE(model.sources.size() == 1);
  CHECK(model.sources[0].role == "model");
  CHECK(model.notes.empty());
}

TEST_CASE("default attributes are the float32 numbers of the standard", "[onnx][import]") {
  ModelText text;
  text.inputs = {value("x", {1, 2})};
  text.outputs = {untyped("z")};
  text.initializers = {floats("s", {2}, {1, 1}), floats("v", {2}, {1, 2})};
  text.nodes = {node("LeakyRelu", {"x"}, {"y"}), node("BatchNormalization", {"y", "s", "s", "s", "v"}, {"z"})};
  const Graph graph = import_text(text).graph;
  for (const Node& one : graph.nodes) {
    if (one.op == Op::leaky_relu) CHECK(std::get<LeakyReluAttributes>(one.attributes).slope == static_cast<double>(0.01F));
    if (one.op == Op::batch_norm) CHECK(std::get<BatchNormAttributes>(one.attributes).epsilon == static_cast<double>(1e-5F));
  }
  CHECK(ops_of(graph) == std::vector<Op>{Op::input, Op::leaky_relu, Op::constant, Op::constant, Op::batch_norm});
}

TEST_CASE("initializers listed as inputs are constants", "[onnx][import]") {
  ModelText text = linear_model();
  text.inputs.push_back(value("w", {2, 3}));
  text.inputs.push_back(value("b", {3}));
  const onnx::Model model = import_text(text);
  CHECK(model.graph.input_names == std::vector<std::string>{"x"});
  CHECK(has_note(model, "inputs with initializers"));
}

TEST_CASE("the batch axis of an input is fixed to 1", "[onnx][import]") {
  for (const Dim& batch : {Dim("batch"), Dim("unk__17"), Dim(-1)}) {
    ModelText text = linear_model();
    text.inputs = {value("x", {batch, 2})};
    text.outputs = {value("y", {batch, 3})};
    const onnx::Model model = import_text(text);
    CHECK(model.graph.nodes[0].shape == Shape{1, 2});
    CHECK(has_note(model, "fixed to 1"));
  }
  ModelText none = linear_model();  // an extent of 0 that is written down is no unknown one
  none.inputs = {value("x", {0, 2})};
  none.outputs = {value("y", {0, 3})};
  CHECK(import_text(none).graph.nodes[0].shape == Shape{0, 2});
  ModelText text = linear_model();
  const std::string unknown =
      Wire()
          .bytes(1, "x")
          .bytes(2, Wire().bytes(1, Wire().number(1, 1).bytes(2, Wire().bytes(1, "").bytes(1, Wire().number(1, 2).text).text).text).text)
          .text;
  text.inputs = {unknown};
  CHECK(import_text(text).graph.nodes[0].shape == Shape{1, 2});
}

TEST_CASE("standard domain under both names, repeated or beside unused others", "[onnx][import]") {
  ModelText text = linear_model();
  text.more_opsets = {{"ai.onnx", 13}, {"ai.onnx.ml", 2}, {"com.example", 99}};
  text.nodes = {node("Gemm", {"x", "w", "b"}, {"y"}, {}, "ai.onnx")};
  CHECK(import_text(text).opsets.size() == 4);
}

TEST_CASE("nodes that no output needs are dropped, even unknown ones", "[onnx][import]") {
  ModelText text = linear_model();
  text.nodes.push_back(node("NoSuchOperator", {"x"}, {"unused"}));
  text.nodes.push_back(node("Relu", {"y"}, {"also_unused"}));
  const onnx::Model model = import_text(text);
  CHECK(model.graph.nodes.size() == 4);
  CHECK(has_note(model, "2 nodes"));
}

TEST_CASE("float arithmetic on constants is kept, layout and integers are folded", "[onnx][import]") {
  ModelText text = linear_model();
  text.nodes = {node("Add", {"w", "w"}, {"w2"}),      node("Transpose", {"w"}, {"wt"}),  node("Shape", {"wt"}, {"s"}),
                node("Reshape", {"w2", "s"}, {"w3"}), node("Transpose", {"w3"}, {"w4"}), node("Gemm", {"x", "w4", "b"}, {"y"})};
  const Graph graph = import_text(text).graph;
  CHECK(ops_of(graph) == std::vector<Op>{Op::input, Op::constant, Op::add, Op::reshape, Op::permute, Op::constant, Op::gemm});
  text.nodes = {node("Transpose", {"w"}, {"wt"}), node("Gemm", {"x", "wt", "b"}, {"y"}, {attr("transB", 1)})};
  const Graph folded = import_text(text).graph;
  CHECK(ops_of(folded) == std::vector<Op>{Op::input, Op::constant, Op::constant, Op::gemm});
  CHECK(folded.nodes[1].value.to_doubles() == std::vector<double>{1, 4, 2, 5, 3, 6});
}

TEST_CASE("exporter shape arithmetic folds away", "[onnx][import]") {
  ModelText text;
  text.opset = 12;
  text.inputs = {value("x", {"N", 2, 3})};
  text.outputs = {untyped("y")};
  text.initializers = {ints("zero", {}, {0}), ints("minus", {1}, {-1}), ints("two", {1}, {2})};
  text.nodes = {node("Shape", {"x"}, {"s"}),
                node("Gather", {"s", "zero"}, {"n"}, {attr("axis", 0)}),
                node("Unsqueeze", {"n"}, {"n1"}, {attr("axes", std::vector<std::int64_t>{0})}),
                node("Mul", {"two", "two"}, {"four"}),
                node("Sub", {"four", "two"}, {"again"}),
                node("Div", {"again", "two"}, {"one"}),
                node("Equal", {"one", "n1"}, {"same"}),
                node("Where", {"same", "minus", "two"}, {"open"}),
                node("Concat", {"n1", "open"}, {"target"}, {attr("axis", 0)}),
                node("Reshape", {"x", "target"}, {"y"})};
  const Graph graph = import_text(text).graph;
  CHECK(ops_of(graph) == std::vector<Op>{Op::input, Op::reshape});
  CHECK(graph.nodes[1].shape == Shape{1, 6});
}

TEST_CASE("float16 weights widen exactly", "[onnx][import]") {
  ModelText text = linear_model();
  text.initializers[1] = tensor("b", 10, {3}, std::string("\x00\x3c\x00\xc0\x01\x00", 6));  // 1, -2, 2^-24
  const onnx::Model model = import_text(text);
  CHECK(model.graph.nodes[2].value.to_doubles() == std::vector<double>{1, -2, 0x1p-24});
  CHECK(has_note(model, "float16"));
}

TEST_CASE("values of float16 are real numbers, of which float theorems are refused", "[onnx][import]") {
  ExecutionModel floats32;
  floats32.kind = ExecutionModel::Kind::floating;
  const std::string half = tensor("h", 10, {1}, std::string("\x00\x3e", 2));  // 1.5
  const auto imported = [&](std::int64_t in, std::int64_t out, std::vector<std::string> nodes) {
    ModelText text;
    text.inputs = {value("x", {1}, in)};
    text.outputs = {value("y", {1}, out)};
    text.initializers = {half};
    text.nodes = std::move(nodes);
    return import_text(text);
  };
  const auto cast = [](const char* from, const char* to, int type) { return node("Cast", {from}, {to}, {attr("to", type)}); };
  const onnx::Model whole = imported(10, 10, {node("Add", {"x", "h"}, {"y"})});
  CHECK(ops_of(whole.graph) == std::vector<Op>{Op::input, Op::constant, Op::add});
  CHECK(whole.graph.nodes[1].value.to_doubles() == std::vector<double>{1.5});
  CHECK(has_note(whole, "read as that of real numbers"));
  CHECK(whole.obstacle(floats32)->code == "onnx.float_execution");
  CHECK_FALSE(whole.obstacle({}).has_value());
  CHECK(imported(1, 1, {cast("x", "a", 10), cast("a", "y", 1)}).obstacle(floats32).has_value());  // rounds to float16
  CHECK(imported(1, 1, {node("Mul", {"h", "h"}, {"a"}), cast("a", "b", 1), node("Add", {"x", "b"}, {"y"})}).obstacle(floats32).has_value());
  CHECK(imported(16, 10, {cast("x", "y", 10)}).obstacle(floats32).has_value());  // from bfloat16, whose numbers float16 has not
  const std::vector<std::string> mixed = {cast("h", "e", 1), node("Pow", {"x", "e"}, {"p"}), node("Neg", {"p"}, {"n"}), cast("n", "y", 1)};
  CHECK(imported(10, 1, mixed).obstacle(floats32).has_value());  // the power of a float16 is one, whatever the exponent
  const std::vector<std::string> exact = {node("Identity", {"h"}, {"a"}), cast("a", "b", 1), node("Add", {"x", "b"}, {"y"})};
  CHECK_FALSE(imported(1, 1, exact).obstacle(floats32).has_value());
}

TEST_CASE("a double network stays double", "[onnx][import]") {
  ModelText text;
  text.inputs = {value("x", {1}, 11)};
  text.outputs = {value("y", {1}, 11)};
  text.initializers = {tensor("c", 11, {1}, Wire::little_endian(std::bit_cast<std::uint64_t>(0.1), 8))};
  text.nodes = {node("Mean", {"x", "c"}, {"y"})};
  const Graph graph = import_text(text).graph;
  CHECK(graph.node(graph.outputs[0]).dtype == DType::float64);
}

TEST_CASE("outputs may be inputs, constants, or one node twice", "[onnx][import]") {
  ModelText text = linear_model();
  text.nodes.push_back(node("Identity", {"y"}, {"y2"}));
  text.outputs = {value("y", {1, 3}), value("y2", {1, 3}), value("x", {1, 2}), value("w", {2, 3})};
  const Graph graph = import_text(text).graph;
  REQUIRE(graph.outputs.size() == 4);
  CHECK(graph.outputs[0] == graph.outputs[1]);
  CHECK(graph.node(graph.outputs[2]).op == Op::input);
  CHECK(graph.node(graph.outputs[3]).op == Op::constant);
}

TEST_CASE("the graph does not depend on compression, and the digest is the stored file's", "[onnx][import]") {
  const Folder folder;
  const std::string plain = linear_model().bytes();
  const Outcome<onnx::Model> a = onnx::import_model(folder.write("m.onnx", plain));
  const Outcome<onnx::Model> b = onnx::import_model(folder.write("m.onnx.gz", gzipped(plain)));
  REQUIRE(a.ok());
  REQUIRE(b.ok());
  CHECK(canonical_bytes(a.value().graph) == canonical_bytes(b.value().graph));
  CHECK(a.value().sources[0].sha256 != b.value().sources[0].sha256);
}

TEST_CASE("external data lies beside the model and is bound by its digest", "[onnx][import][external]") {
  const auto external = [](const std::string& location, const std::string& offset, const std::string& length) {
    Wire wire;
    wire.number(1, 2).number(1, 3).number(2, 1).bytes(8, "w");
    wire.bytes(13, Wire().bytes(1, "location").bytes(2, location).text);
    if (!offset.empty()) wire.bytes(13, Wire().bytes(1, "offset").bytes(2, offset).text);
    if (!length.empty()) wire.bytes(13, Wire().bytes(1, "length").bytes(2, length).text);
    return wire.number(14, 1).text;
  };
  const Folder folder;
  folder.write("data/w.bin", std::string("\x1f\x8b__", 4) + raw_floats({1, 2, 3, 4, 5, 6}));  // begins as a gzip file does
  folder.write("secret.bin", std::string(64, 'x'));
  const auto import_with = [&](const std::string& w) {
    ModelText text = linear_model();
    text.initializers[0] = w;
    return onnx::import_model(folder.write("data/m.onnx", text.bytes()));
  };
  const Outcome<onnx::Model> model = import_with(external("w.bin", "4", "24"));
  INFO((model ? std::string() : model.rejection().to_text()));
  REQUIRE(model.ok());
  CHECK(model.value().graph.nodes[1].value.to_doubles() == std::vector<double>{1, 2, 3, 4, 5, 6});
  REQUIRE(model.value().sources.size() == 2);
  CHECK(model.value().sources[1].role == "external data");
  CHECK(model.value().sources[1].name == "w.bin");
  CHECK(import_with(external("./w.bin", "4", "")).ok());

  std::filesystem::create_symlink(folder.path() / "secret.bin", folder.path() / "data" / "link.bin");
  struct Row {
    std::string proto, required;
  };
  const std::vector<Row> rows = {
      {external("../secret.bin", "", ""), "a location inside the model's folder"},
      {external("sub/../../secret.bin", "", ""), "a location inside the model's folder"},
      {external((folder.path() / "data" / "w.bin").string(), "", ""), "a location inside the model's folder"},
      {external("", "", ""), "a location inside the model's folder"},
      {external("link.bin", "", ""), "a location inside the model's folder"},
      {external("none.bin", "", ""), "the file \"none.bin\" beside the model"},
      {external("w.bin", "5", ""), "24 bytes from offset 5"},
      {external("w.bin", "18446744073709551615", ""), "24 bytes from offset 18446744073709551615"},
      {external("w.bin", "4", "23"), "length 24 for shape [2, 3]"},
      {external("w.bin", "four", ""), "offset as a decimal number"},
      {external("w.bin", "-4", ""), "offset as a decimal number"},
      {external("w.bin", "4", "24") + Wire().bytes(13, Wire().bytes(1, "offset").bytes(2, "0").text).text, "each key once"},
      {external("w.bin", "4", "24") + Wire().bytes(13, Wire().bytes(1, "location").bytes(2, "link.bin").text).text, "each key once"},
  };
  for (const Row& row : rows) {
    const Outcome<onnx::Model> refused = import_with(row.proto);
    REQUIRE_FALSE(refused.ok());
    INFO(refused.rejection().to_text());
    CHECK(refused.rejection().code == "onnx.external_data");
    CHECK(refused.rejection().required == row.required);
  }
}

TEST_CASE("the table of operators covers the promised versions", "[onnx][import]") {
  const std::vector<onnx::OperatorSupport>& table = onnx::supported_operators();
  CHECK(std::is_sorted(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.op < b.op; }));
  CHECK(std::adjacent_find(table.begin(), table.end(), [](const auto& a, const auto& b) { return a.op == b.op && a.domain == b.domain; }) ==
        table.end());
  const std::vector<std::string> promised = {"Add",           "Sub",
                                             "Mul",           "Div",
                                             "Neg",           "Gemm",
                                             "MatMul",        "Conv",
                                             "ConvTranspose", "Relu",
                                             "LeakyRelu",     "Sigmoid",
                                             "Tanh",          "Abs",
                                             "Clip",          "Min",
                                             "Max",           "Sqrt",
                                             "Pow",           "Exp",
                                             "Log",           "Sin",
                                             "Cos",           "MaxPool",
                                             "AveragePool",   "BatchNormalization",
                                             "Reshape",       "Flatten",
                                             "Transpose",     "Squeeze",
                                             "Unsqueeze",     "Slice",
                                             "Split",         "Concat",
                                             "Pad",           "Gather",
                                             "ReduceSum",     "ReduceMean",
                                             "Softmax",       "Identity",
                                             "Dropout",       "Constant",
                                             "Shape",         "Cast"};
  for (const std::string& op : promised) {
    const auto row = std::find_if(table.begin(), table.end(), [&](const auto& one) { return one.op == op; });
    INFO(op);
    REQUIRE(row != table.end());
    CHECK(row->first_opset <= 7);
    CHECK(row->last_opset == 28);
  }
}
