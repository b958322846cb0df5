// Models that are refused: each row breaks one thing, and the code and a part of the message are compared.
#include <algorithm>
#include <limits>
#include <random>

#include "frontends/onnx/import.h"
#include "frontends/onnx/lint.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

namespace {

using namespace assay;
using namespace assay::onnx_test;

using Ints = std::vector<std::int64_t>;
constexpr auto kMalformed = Rejection::Kind::malformed;
constexpr auto kUnsupported = Rejection::Kind::unsupported;
constexpr auto kDeclined = Rejection::Kind::declined;

ModelText base() {
  ModelText text;
  text.nodes = {node("Relu", {"x"}, {"y"})};
  text.inputs = {value("x", {1, 4})};
  text.outputs = {untyped("y")};
  return text;
}

// x through one node with these constants.
ModelText single(const std::string& one, const std::vector<std::string>& constants = {}, std::int64_t opset = 13,
                 const std::vector<Dim>& shape = {1, 4}) {
  ModelText text = base();
  text.nodes = {one};
  text.initializers = constants;
  text.opset = opset;
  text.inputs = {value("x", shape)};
  return text;
}

struct Row {
  ModelText text;
  Rejection::Kind kind;
  std::string code, part;  // `part` of the whole message
};

void check_rows(const std::vector<Row>& rows) {
  const Folder folder;
  for (const Row& row : rows) {
    const std::string path = folder.write("m.onnx", row.text.bytes());
    const Outcome<onnx::Model> model = onnx::import_model(path);
    INFO("expected " << row.code << " with " << row.part);
    REQUIRE_FALSE(model.ok());
    const std::string message = model.rejection().to_text();
    INFO(message);
    CHECK(model.rejection().code == row.code);
    CHECK(model.rejection().kind == row.kind);
    CHECK(message.find(row.part) != std::string::npos);
    CHECK_FALSE(model.rejection().place.empty());
    CHECK_FALSE(model.rejection().advice.empty());
    const std::vector<Rejection> problems = onnx::lint(path);
    REQUIRE_FALSE(problems.empty());
    CHECK(problems.front().code == row.code);
  }
}

template <class Change>
ModelText changed(Change change) {
  ModelText text = base();
  change(text);
  return text;
}

}  // namespace

TEST_CASE("refused: the model as a whole", "[onnx][reject]") {
  check_rows({
      {changed([](ModelText& m) { m.opset = 0; }), kUnsupported, "onnx.opset", "an opset from 1 to 28"},
      {changed([](ModelText& m) { m.opset = 29; }), kUnsupported, "onnx.opset", "found 29"},
      {changed([](ModelText& m) {
         m.opset = 0;
         m.more_opsets = {{"ai.onnx.ml", 3}};
       }),
       kUnsupported, "onnx.opset", "found 0"},
      {changed([](ModelText& m) {
         m.more_opsets = {{"ai.onnx", 12}};
       }),
       kMalformed, "onnx.opset", "one version"},
      {changed([](ModelText& m) { m.ir = 2; }), kUnsupported, "onnx.ir_version", "found 2"},
      {changed([](ModelText& m) { m.ir = 15; }), kUnsupported, "onnx.ir_version", "found 15"},
      {changed([](ModelText& m) { m.outputs.clear(); }), kMalformed, "onnx.model", "at least one output"},
      {changed([](ModelText& m) { m.outputs.push_back(untyped("y")); }), kMalformed, "onnx.duplicate_value", "output \"y\""},
      {changed([](ModelText& m) { m.outputs = {untyped("nowhere")}; }), kMalformed, "onnx.undefined_value", "\"nowhere\""},
  });
}

TEST_CASE("refused: inputs and declared outputs", "[onnx][reject]") {
  check_rows({
      {changed([](ModelText& m) {
         m.inputs = {value("x", {1, "width"})};
       }),
       kUnsupported, "onnx.input_shape", "\"width\""},
      {changed([](ModelText& m) {
         m.inputs = {value("x", {1, -1})};
       }),
       kUnsupported, "onnx.input_shape", "axis 1"},
      {changed([](ModelText& m) { m.inputs = {untyped("x")}; }), kUnsupported, "onnx.input_type", "float, double"},
      {changed([](ModelText& m) {
         m.inputs = {value("x", {1, 4}, 14)};
       }),
       kUnsupported, "onnx.input_type", "complex64 (14)"},
      {changed([](ModelText& m) {
         m.inputs.push_back(value("x", {1, 4}));
       }),
       kMalformed, "onnx.duplicate_value", "input \"x\""},
      {changed([](ModelText& m) {
         m.inputs = {value("x", {std::int64_t{1} << 31, 4})};
       }),
       kMalformed, "onnx.input_shape", "2147483648"},
      {changed([](ModelText& m) {
         m.outputs = {value("y", {1, 5})};
       }),
       kMalformed, "onnx.output_shape", "found [1, 4]"},
      {changed([](ModelText& m) { m.outputs = {value("y", {4})}; }), kMalformed, "onnx.output_shape", "found [1, 4]"},
      {changed([](ModelText& m) {
         m.outputs = {value("y", {1, 4}, 11)};
       }),
       kUnsupported, "onnx.output_type", "double (11)"},
      {changed([](ModelText& m) {
         m.nodes = {node("Shape", {"x"}, {"y"})};
         m.outputs = {value("y", {2}, 1)};
       }),
       kUnsupported, "onnx.output_type", "int64"},
  });
}

TEST_CASE("refused: names, order and cycles", "[onnx][reject]") {
  check_rows({
      {changed([](ModelText& m) { m.nodes = {node("Relu", {"z"}, {"y"})}; }), kMalformed, "onnx.undefined_value", "\"z\""},
      {changed([](ModelText& m) {
         m.nodes = {node("Relu", {"z"}, {"y"}), node("Relu", {"y"}, {"z"})};
       }),
       kMalformed, "onnx.order", "cycle"},
      {changed([](ModelText& m) { m.nodes = {node("Relu", {"y"}, {"y"})}; }), kMalformed, "onnx.order", "cycle"},
      {changed([](ModelText& m) {
         m.nodes = {node("Add", {"x", "z"}, {"y"}), node("Relu", {"y"}, {"z"})};
       }),
       kMalformed, "onnx.order", "cycle"},
      {changed([](ModelText& m) { m.nodes.push_back(node("Abs", {"x"}, {"y"})); }), kMalformed, "onnx.duplicate_value", "\"y\" twice"},
      {changed([](ModelText& m) { m.nodes.push_back(node("Abs", {"x"}, {"x"})); }), kMalformed, "onnx.duplicate_value", "\"x\" twice"},
      {changed([](ModelText& m) {
         m.initializers = {floats("w", {1}, {1}), floats("w", {1}, {2})};
       }),
       kMalformed, "onnx.duplicate_value", "\"w\""},
      {changed([](ModelText& m) { m.initializers = {floats("", {1}, {1})}; }), kMalformed, "onnx.duplicate_value",
       "an empty or repeated name"},
      {changed([](ModelText& m) { m.nodes = {node("Relu", {""}, {"y"})}; }), kMalformed, "onnx.arity", "an omitted one"},
      {changed([](ModelText& m) {
         m.nodes = {node("Relu", {"x", "x"}, {"y"})};
       }),
       kMalformed, "onnx.arity", "found 2"},
      {changed([](ModelText& m) { m.nodes = {node("Add", {"x"}, {"y"})}; }), kMalformed, "onnx.arity", "2 to 2 inputs"},
      {changed([](ModelText& m) {
         m.nodes = {node("Relu", {"x"}, {"y", "z"})};
       }),
       kMalformed, "onnx.arity", "outputs"},
  });
}

TEST_CASE("refused: operators, versions, domains and attributes", "[onnx][reject]") {
  const std::string graph_attribute = Wire().bytes(1, "then_branch").bytes(6, base().graph()).number(20, 5).text;
  const std::string reference = Wire().bytes(1, "alpha").number(20, 1).bytes(21, "outer").text;
  check_rows({
      {single(node("Optional", {"x"}, {"y"})), kUnsupported, "onnx.unknown_op", "node \"n_y\" (Optional, giving \"y\")"},
      {single(node("If", {"x"}, {"y"}, {graph_attribute})), kMalformed, "onnx.input", "one truth value"},
      {single(node("Unique", {"x"}, {"y"})), kUnsupported, "onnx.unknown_op", "depend on the data"},
      {single(node("Gelu", {"x"}, {"y"}, {}, "com.others")), kUnsupported, "onnx.domain", "\"com.others\""},
      {single(node("Gelu", {"x"}, {"y"}, {}, "com.microsoft")), kMalformed, "onnx.opset", "an opset of com.microsoft, from 1 to 1"},
      {single(node("QLinearSoftmax", {"x"}, {"y"}, {}, "com.microsoft")), kUnsupported, "onnx.unknown_op", "QuantFormat.QDQ"},
      {single(node("Scaler", {"x"}, {"y"}, {}, "ai.onnx.ml")), kMalformed, "onnx.opset", "an opset of ai.onnx.ml, from 1 to 5"},
      {single(node("Sign", {"x"}, {"y"}), {}, 8), kUnsupported, "onnx.version", "opset 9 to 28"},
      {single(node("Upsample", {"x"}, {"y"}), {}, 10), kUnsupported, "onnx.version", "7 to 8, 9 to 9"},
      {single(node("Relu", {"x"}, {"y"}, {attr("alpha", 0.5F)})), kUnsupported, "onnx.attribute", "\"alpha\""},
      {single(node("Squeeze", {"x"}, {"y"}, {attr("axes", Ints{0})})), kUnsupported, "onnx.attribute", "\"axes\""},
      {single(node("LeakyRelu", {"x"}, {"y"}, {attr("alpha", 1)})), kMalformed, "onnx.attribute", "found a int"},
      {single(node("LeakyRelu", {"x"}, {"y"}, {reference})), kMalformed, "onnx.attribute", "found a reference"},
      {single(node("LeakyRelu", {"x"}, {"y"}, {attr("alpha", 0.1F), attr("alpha", 0.2F)})), kMalformed, "onnx.attribute", "twice"},
      {single(node("Dropout", {"x", "", "t"}, {"y"}), {tensor("t", 9, {}, "\x01")}), kUnsupported, "onnx.training", "model.eval()"},
      {single(node("Constant", {}, {"y"}, {Wire().bytes(1, "value_string").bytes(4, "a").number(20, 3).text})), kUnsupported,
       "onnx.attribute", "value_string"},
      {single(node("Constant", {}, {"y"}, {Wire().bytes(1, "sparse_value").bytes(22, "").number(20, 11).text})), kUnsupported,
       "onnx.attribute", "sparse tensor"},
      {single(node("Constant", {}, {"y"})), kMalformed, "onnx.attribute", "exactly one value"},
  });
}

TEST_CASE("refused: a model that imports no operators of ai.onnx", "[onnx][reject]") {
  const Folder folder;
  const auto refusal = [&](const ModelText& text) {
    const std::string import = Wire().bytes(1, "ai.onnx.ml").number(2, 3).text;
    const auto model = onnx::import_model(folder.write("m.onnx", Wire().number(1, text.ir).bytes(7, text.graph()).bytes(8, import).text));
    return model ? "imported" : model.rejection().to_text();
  };
  CHECK(refusal(single(node("Binarizer", {"x"}, {"y"}, {}, "ai.onnx.ml"))) == "imported");
  CHECK(refusal(single(node("DictVectorizer", {"x"}, {"y"}, {}, "ai.onnx.ml"))).find("end the model before it") != std::string::npos);
  CHECK(refusal(single(node("Relu", {"x"}, {"y"}))).find("a model that imports an opset of ai.onnx") != std::string::npos);
}

TEST_CASE("refused: reductions of nothing that are no number", "[onnx][reject]") {
  const std::string none = floats("c", {2, 0, 4}, {});
  for (const char* op : {"ReduceMax", "ReduceMin", "ReduceMean", "ReduceLogSum", "ReduceLogSumExp"})
    check_rows(
        {{single(node(op, {"c"}, {"y"}, {attr("axes", Ints{1})}), {none}), kUnsupported, "onnx.nonfinite", "begin the model behind"}});
}

TEST_CASE("refused: results that this importer does not give", "[onnx][reject]") {
  const std::vector<std::string> statistics = {floats("s", {4}, {1, 1, 1, 1})};
  check_rows({
      {single(node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "m", "v", "sm", "sv"}), statistics, 9), kUnsupported,
       "onnx.training", "model.eval()"},
      {single(node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}, {attr("training_mode", 1)}), statistics, 15), kUnsupported,
       "onnx.training", "training"},
      {single(node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y"}, {attr("spatial", 0)}), statistics, 7), kUnsupported,
       "onnx.attribute", "spatial"},
  });
}

TEST_CASE("refused: operands that are not constant, finite or of the right type", "[onnx][reject]") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  check_rows({
      {single(node("Add", {"x", "w"}, {"y"}), {floats("w", {2, 1}, {1, nan})}), kUnsupported, "onnx.nonfinite",
       "in \"w\" element 1 is nan"},
      {single(node("Add", {"x", "w"}, {"y"}), {floats("w", {1}, {-infinity})}), kUnsupported, "onnx.nonfinite",
       "-infinity where a mask shuts"},
      {single(node("Add", {"x", "w"}, {"y"}), {ints("w", {1})}), kMalformed, "onnx.operand", "of float32, as another operand, found int64"},
      {single(node("Add", {"x", "w"}, {"y"}), {tensor("w", 11, {1}, std::string(8, '\0'))}), kMalformed, "onnx.operand", "found float64"},
      {single(node("And", {"x", "x"}, {"y"})), kMalformed, "onnx.operand", "operand 0 of bool"},
      {single(node("IsNaN", {"w"}, {"y"}), {ints("w", {1})}), kMalformed, "onnx.operand", "of float32, float64, found int64"},
      {single(node("Reshape", {"x", "x"}, {"y"})), kMalformed, "onnx.operand", "operand 1 of int64"},
      {changed([](ModelText& m) {
         m.nodes = {node("Cast", {"x"}, {"i"}, {attr("to", 7)}), node("Squeeze", {"i"}, {"j"}), node("Reshape", {"x", "j"}, {"y"})};
       }),
       kUnsupported, "onnx.not_constant", "a shape"},
      {changed([](ModelText& m) {
         m.nodes = {node("Cast", {"x"}, {"i"}, {attr("to", 7)}), node("CumSum", {"x", "i"}, {"y"})};
       }),
       kUnsupported, "onnx.not_constant", "an axis"},
      {single(node("Gather", {"x", "x"}, {"y"})), kMalformed, "onnx.operand", "operand 1 of int64, int32"},
      {single(node("Pow", {"x", "w"}, {"y"}), {floats("w", {1}, {infinity})}), kUnsupported, "onnx.nonfinite", "inf"},
      {single(node("Clip", {"x"}, {"y"}, {attr("min", 1.0F), attr("max", 0.0F)}), {}, 10), kUnsupported, "onnx.clip", "min <= max"},
      {single(node("Clip", {"x", "w"}, {"y"}), {floats("w", {}, {nan})}), kUnsupported, "onnx.nonfinite", "nan"},
      {single(node("Cast", {"x"}, {"y"}, {attr("to", 8)})), kUnsupported, "onnx.cast", "string (8)"},
      {single(node("Cast", {"w"}, {"y"}, {attr("to", 7)}), {floats("w", {1}, {1e20F})}), kMalformed, "onnx.integer_overflow", "2^62"},
      {single(node("Cast", {"w"}, {"y"}, {attr("to", 3)}), {floats("w", {1}, {128.5F})}), kMalformed, "onnx.integer_overflow", "128"},
      {single(node("Where", {"w", "x", "x"}, {"y"}), {floats("w", {1}, {1})}), kMalformed, "onnx.operand", "operand 0 of bool"},
  });
}

// What ONNX Runtime refuses, too.
TEST_CASE("refused: operands and attributes that a version of the operator does not have", "[onnx][reject]") {
  const auto axes = [](const std::string& op, const std::string& tensor) { return single(node(op, {"x", "a"}, {"y"}), {tensor}, 18); };
  const std::string int32 = tensor("a", 6, {1}, Wire::little_endian(1, 4)), int8 = tensor("a", 3, {1}, "\x01");
  const auto flag = [](const std::string& op, const char* name, std::int64_t value, std::int64_t opset = 13) {
    return single(node(op, {"x"}, {"y"}, {attr(name, value)}), {}, opset);
  };
  const std::vector<std::string> scale = {floats("s", {4}, {1, 1, 1, 1}), floats("b", {}, {0.5F}), tensor("z", 9, {}, std::string(1, '\0')),
                                          ints("a", {0}), floats("p", {1, 4}, {0, 0, 0, 0})};
  const auto with = [&](const std::string& one, std::int64_t opset = 13) { return single(one, scale, opset); };
  check_rows({
      {axes("ReduceMean", ints("a", {}, {1})), kMalformed, "onnx.operand", "of rank 1, found shape []"},
      {axes("ReduceMean", int32), kMalformed, "onnx.operand", "of int64, found int32"},
      {axes("ReduceProd", int8), kMalformed, "onnx.operand", "of int64, found int8"},
      {axes("Expand", ints("a", {}, {1})), kMalformed, "onnx.operand", "of rank 1"},
      {axes("Unsqueeze", int8), kMalformed, "onnx.operand", "of int64"},
      {axes("Gather", int8), kMalformed, "onnx.operand", "of int64, int32, found int8"},
      {single(node("ReduceSum", {"w"}, {"y"}), {int8}, 13), kMalformed, "onnx.undefined_value", "w"},
      {single(node("ReduceSum", {"a"}, {"y"}), {int8}, 13), kMalformed, "onnx.operand", "found int8"},
      {single(node("Pow", {"x", "a"}, {"y"}), {ints("a", {2})}, 11), kMalformed, "onnx.operand", "of float32, float64, found int64"},
      {single(node("Max", {"a", "a"}, {"y"}), {ints("a", {2})}, 11), kMalformed, "onnx.operand", "found int64"},
      {single(node("Less", {"a", "a"}, {"y"}), {ints("a", {2})}, 8), kMalformed, "onnx.operand", "found int64"},
      {with(node("QuantizeLinear", {"x", "b", "z"}, {"y"})), kMalformed, "onnx.operand", "operand 2 of"},
      {with(node("Clip", {"x", "s"}, {"y"})), kMalformed, "onnx.input", "a bound of one element"},
      {flag("ReduceSum", "keepdims", 2), kMalformed, "onnx.attribute", "keepdims of 0 or 1, found 2"},
      {with(node("CumSum", {"x", "a"}, {"y"}, {attr("exclusive", -1)})), kMalformed, "onnx.attribute", "exclusive of 0 or 1"},
      {with(node("Mod", {"x", "x"}, {"y"}, {attr("fmod", 5)})), kMalformed, "onnx.attribute", "fmod of 0 or 1"},
      {with(node("Reshape", {"x", "a"}, {"y"}, {attr("allowzero", -100)}), 14), kMalformed, "onnx.attribute", "allowzero of 0 or 1"},
      {with(node("LayerNormalization", {"x", "s"}, {"y"}, {attr("stash_type", -1)}), 17), kMalformed, "onnx.attribute", "a float type"},
      {with(node("DequantizeLinear", {"z", "b"}, {"y"}, {attr("block_size", -1)}), 21), kMalformed, "onnx.attribute", "at least 0"},
      {single(node("Cast", {"x"}, {"y"}, {attr("to", 1), attr("round_mode", "CRD")}), {}, 24), kMalformed, "onnx.attribute", "up, down"},
      {with(node("BatchNormalization", {"x", "s", "s", "s", "s"}, {"y", "more"}), 15), kUnsupported, "onnx.training", "inference mode"},
      {single(node("Split", {"x", "a"}, {"y", "z"}, {attr("axis", 1), attr("num_outputs", 2)}), {ints("a", {2, 2})}, 18), kMalformed,
       "onnx.attribute", "found both of them"},
      {single(node("Split", {"x"}, {"y", "z"}, {attr("axis", 1)}), {}, 18), kMalformed, "onnx.attribute", "neither of them"},
      {single(node("DFT", {"x", "", "a"}, {"y"}), {ints("a", {0})}, 20, {1, 4, 1}), kMalformed, "onnx.operand", "of rank 0"},
      {single(node("QuantizeLinear", {"x", "b", "z"}, {"y"}), {floats("b", {}, {0.5F}), tensor("z", 2, {4}, "\x01\x02\x03\x04")}, 13),
       kMalformed, "onnx.shape", "a zero point of the shape of its scale"},
      {single(node("QuantizeLinear", {"x", "b", "z"}, {"y"}, {attr("output_dtype", 3)}),
              {floats("b", {}, {0.5F}), tensor("z", 2, {}, "\x01")}, 23),
       kMalformed, "onnx.attribute", "the type of the zero point"},
      {single(node("Resize", {"x", "", "s"}, {"y"}), {floats("s", {2}, {1, 2})}, 11), kMalformed, "onnx.arity", "input 1"},
      {single(node("TopK", {"x", "a"}, {"y"}), {ints("a", {1})}, 11), kMalformed, "onnx.arity", "2 to 2 outputs"},
      {single(node("LpPool", {"x"}, {"y"}, {attr("kernel_shape", Ints{2, 2}), attr("pads", Ints{0, 0, 0, 2})}), {}, 18, {1, 1, 4, 4}),
       kMalformed, "onnx.window", "pads below the extent"},
      {single(node("ConvTranspose", {"x", "w"}, {"y"}, {attr("auto_pad", "SAME_UPPER"), attr("pads", Ints{-1, 0, 0, 0})}),
              {floats("w", {1, 1, 1, 1}, {1})}, 13, {1, 1, 4, 4}),
       kMalformed, "onnx.window", "pads"},
      {changed([](ModelText& m) {
         m.nodes.push_back(node("Relu", {"x", "x"}, {"dead"}));
       }),
       kMalformed, "onnx.arity", "found 2"},
      {single(node("Attention", {"x", "k", "k"}, {"y"}), {floats("k", {2, 1, 1, 1}, {1, 1})}, 23, {1, 1, 1, 1}), kMalformed, "onnx.shape",
       "as many batches"},
  });
}

TEST_CASE("refused: shapes, axes and indices", "[onnx][reject]") {
  const auto reshape = [](const Ints& target) { return single(node("Reshape", {"x", "s"}, {"y"}), {ints("s", target)}, 14); };
  const Ints far = {1, 2, 3};
  check_rows({
      {single(node("Add", {"x", "w"}, {"y"}), {floats("w", {3}, {1, 2, 3})}), kMalformed, "onnx.shape", "shapes that broadcast"},
      {single(node("MatMul", {"x", "w"}, {"y"}), {floats("w", {3, 1}, {1, 2, 3})}), kMalformed, "onnx.shape", "inner extents"},
      {reshape({5}), kMalformed, "onnx.shape", "as many elements"},
      {reshape({-1, -1}), kMalformed, "onnx.shape", "at most one -1"},
      {reshape({-1, 3}), kMalformed, "onnx.shape", "4 elements fill"},
      {reshape({-2, 2}), kMalformed, "onnx.shape", "extents >= 0"},
      {reshape({1, 4, 0}), kMalformed, "onnx.shape", "a 0 only where"},
      {reshape({-1, std::int64_t{1} << 62}), kMalformed, "onnx.shape", "4 elements fill"},
      {single(node("Transpose", {"x"}, {"y"}, {attr("perm", Ints{0, 0})})), kMalformed, "onnx.shape", "permutation"},
      {single(node("Flatten", {"x"}, {"y"}, {attr("axis", 3)})), kMalformed, "onnx.axis", "found 3"},
      {single(node("Squeeze", {"x", "a"}, {"y"}), {ints("a", {1})}), kMalformed, "onnx.shape", "extent 1"},
      {single(node("Unsqueeze", {"x", "a"}, {"y"}), {ints("a", {0, 0})}), kMalformed, "onnx.axis", "distinct"},
      {single(node("Concat", {"x", "x"}, {"y"})), kMalformed, "onnx.attribute", "axis"},
      {single(node("Gather", {"x", "i"}, {"y"}, {attr("axis", 1)}), {ints("i", {4})}), kMalformed, "onnx.index", "found 4"},
      {single(node("Gather", {"x", "i"}, {"y"}, {attr("axis", 1)}), {ints("i", {-5})}), kMalformed, "onnx.index", "found -5"},
      {single(node("Slice", {"x", "a", "a", "a", "s"}, {"y"}), {ints("a", {0}), ints("s", {0})}), kMalformed, "onnx.shape",
       "steps other than 0"},
      {single(node("Slice", {"x", "a", "b"}, {"y"}), {ints("a", {0}), ints("b", {1, 2})}), kMalformed, "onnx.shape", "of one length"},
      {single(node("Split", {"x", "s"}, {"y", "z"}, {attr("axis", 1)}), {ints("s", {1, 2})}), kMalformed, "onnx.shape", "adding up to 4"},
      {single(node("Split", {"x", "s"}, {"y", "z"}, {attr("axis", 1)}), {ints("s", {5, -1})}), kMalformed, "onnx.shape", "adding up to 4"},
      {single(node("Split", {"x"}, {"y", "z", "u"}, {attr("axis", 1)})), kMalformed, "onnx.shape", "3 pieces divide"},
      {single(node("Pad", {"x", "p"}, {"y"}), {ints("p", far)}), kMalformed, "onnx.shape", "4 pads"},
      {single(node("ReduceSum", {"x", "a"}, {"y"}), {ints("a", {2})}), kMalformed, "onnx.axis", "found 2"},
      {single(node("Expand", {"x", "s"}, {"y"}), {ints("s", {3})}), kMalformed, "onnx.shape", "broadcasts"},
      {single(node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"}), {ints("t", {4})}), kMalformed, "onnx.index", "found 4"},
      {single(node("NegativeLogLikelihoodLoss", {"x", "t"}, {"y"}), {ints("t", {1, 1})}), kMalformed, "onnx.shape", "a target of shape"},
      {single(node("SoftmaxCrossEntropyLoss", {"x", "t", "w"}, {"y"}), {ints("t", {1}), floats("w", {2}, {1, 1})}), kMalformed,
       "onnx.shape", "one weight per class"},
      {single(node("LRN", {"x"}, {"y"})), kMalformed, "onnx.shape", "1 <= size"},
      {single(node("Range", {"a", "a", "z"}, {"y"}), {ints("a", {}, {1}), ints("z", {}, {0})}), kMalformed, "onnx.input",
       "delta other than 0"},
  });
}

TEST_CASE("refused: windows", "[onnx][reject]") {
  const std::vector<Dim> image = {1, 1, 4, 4};
  const std::vector<std::string> w = {floats("w", {1, 1, 3, 3}, std::vector<float>(9, 1.0F))};
  const auto conv = [&](const std::string& attribute) { return single(node("Conv", {"x", "w"}, {"y"}, {attribute}), w, 13, image); };
  check_rows({
      {conv(attr("strides", Ints{0, 1})), kMalformed, "onnx.window", "strides"},
      {conv(attr("strides", Ints{1})), kMalformed, "onnx.window", "2 numbers"},
      {conv(attr("pads", Ints{-1, 0, 0, 0})), kMalformed, "onnx.window", "pads"},
      {conv(attr("dilations", Ints{std::int64_t{1} << 40, 1})), kMalformed, "onnx.window", "dilations"},
      {conv(attr("kernel_shape", Ints{2, 3})), kMalformed, "onnx.shape", "spatial shape"},
      {conv(attr("group", 0)), kMalformed, "onnx.shape", "groups"},
      {conv(attr("group", 2)), kMalformed, "onnx.shape", "groups"},
      {conv(attr("dilations", Ints{2, 2})), kMalformed, "onnx.shape", "at least one window"},
      {conv(attr("auto_pad", "SOMEHOW")), kMalformed, "onnx.window", "SOMEHOW"},
      {single(node("Conv", {"x", "w"}, {"y"}, {attr("auto_pad", "SAME_UPPER"), attr("pads", Ints{1, 1, 1, 1})}), w, 13, image), kMalformed,
       "onnx.window", "auto_pad or pads"},
      {single(node("Resize", {"x", "", "s", "n"}, {"y"}), {floats("s", {4}, {1, 1, 2, 2}), ints("n", {1, 1, 5, 5})}, 13, image), kMalformed,
       "onnx.input", "scales or sizes"},
      {single(node("MaxPool", {"x"}, {"y"}), {}, 13, image), kMalformed, "onnx.attribute", "kernel_shape"},
      {single(node("MaxPool", {"x"}, {"y"}, {attr("kernel_shape", Ints{2})}), {}, 13, {1, 4}), kMalformed, "onnx.shape",
       "[N, C, spatial...]"},
      {single(node("ConvTranspose", {"x", "w"}, {"y"}, {attr("output_shape", Ints{5, 5})}), w, 13, image), kUnsupported, "onnx.window",
       "even total"},
      {single(node("ConvTranspose", {"x", "w"}, {"y"}, {attr("output_shape", Ints{7, 7})}), w, 13, image), kUnsupported, "onnx.window",
       "at most 6"},
      {single(node("Resize", {"x", "", "s"}, {"y"}), {floats("s", {4}, {1, 1, -1.5F, 2})}, 13, image), kMalformed, "onnx.resize",
       "above 0"},
      {single(node("Pad", {"x", "p"}, {"y"}, {attr("mode", "mirror")}), {ints("p", Ints(8, 0))}, 13, image), kMalformed, "onnx.attribute",
       "mirror"},
  });
}

TEST_CASE("refused: integers that leave their type, and folds that explode", "[onnx][reject]") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  const auto binary = [](const std::string& op, const std::string& a, const std::string& b) {
    return single(node(op, {"a", "b"}, {"y"}), {a, b}, 14);
  };
  check_rows({
      {binary("Add", ints("a", {most}), ints("b", {1})), kMalformed, "onnx.integer_overflow", "64 bits"},
      {binary("Mul", ints("a", {most}), ints("b", {2})), kMalformed, "onnx.integer_overflow", "64 bits"},
      {binary("Sub", ints("a", {-most}), ints("b", {2})), kMalformed, "onnx.integer_overflow", "64 bits"},
      {binary("Div", ints("a", {1}), ints("b", {0})), kMalformed, "onnx.integer_overflow", "zero divisor"},
      {binary("Div", ints("a", {-most - 1}), ints("b", {-1})), kMalformed, "onnx.integer_overflow", "64 bits"},
      {binary("Mod", ints("a", {1}), ints("b", {0})), kMalformed, "onnx.integer_overflow", "zero divisor"},
      {binary("Add", tensor("a", 3, {1}, "\x7f"), tensor("b", 3, {1}, "\x01")), kMalformed, "onnx.integer_overflow", "int8"},
      {binary("Add", tensor("a", 3, {1}, "\x7f"), ints("b", {1})), kMalformed, "onnx.operand", "of int8, as another operand"},
      {binary("And", ints("a", {1}), ints("b", {1})), kMalformed, "onnx.operand", "operand 0 of bool"},
      {single(node("Neg", {"a"}, {"y"}), {ints("a", {-most - 1})}), kMalformed, "onnx.integer_overflow", "64 bits"},
      {single(node("ConstantOfShape", {"s"}, {"y"}), {ints("s", {1 << 20, 1 << 10})}), kDeclined, "onnx.limit", "[1048576, 1024]"},
      {single(node("ConstantOfShape", {"s"}, {"y"}), {ints("s", {most, most})}), kMalformed, "onnx.shape", "2^31"},
      {single(node("Expand", {"a", "s"}, {"y"}), {ints("a", {1}), ints("s", {1 << 30})}), kDeclined, "onnx.limit", "a constant of at most"},
      {single(node("Range", {"a", "b", "c"}, {"y"}), {ints("a", {}, {-most}), ints("b", {}, {most}), ints("c", {}, {1})}), kDeclined,
       "onnx.limit", "a constant of at most"},
      {single(node("Pad", {"a", "p"}, {"y"}), {floats("a", {1}, {1}), ints("p", {1 << 30, 0})}), kDeclined, "onnx.limit",
       "a constant of at most"},
  });
}

TEST_CASE("lint lists every blocking node in one pass", "[onnx][reject][lint]") {
  ModelText text;
  text.inputs = {value("x", {1, 4})};
  text.outputs = {untyped("y")};
  text.infos = {value("a", {1, 4})};
  text.nodes = {node("Optional", {"x"}, {"a"}),                            // unknown; the declared shape of "a" lets the rest be examined
                node("Transpose", {"a"}, {"b"}, {attr("perm", Ints{0})}),  // malformed
                node("Relu", {"b"}, {"c"}),                                // behind a problem without declared shape: fine itself
                node("Gelu", {"c"}, {"d"}, {}, "com.others"),              // other domain
                node("Relu", {"d"}, {"e"}, {attr("alpha", 1.0F)}),         // unknown attribute
                node("Concat", {"e", "c"}, {"y"}, {attr("axis", 0)})};
  const Folder folder;
  const std::string path = folder.write("m.onnx", text.bytes());
  std::vector<std::string> codes;
  for (const Rejection& problem : onnx::lint(path)) codes.push_back(problem.code);
  CHECK(codes == std::vector<std::string>{"onnx.unknown_op", "onnx.shape", "onnx.domain", "onnx.attribute"});
  CHECK(onnx::import_model(path).rejection().code == "onnx.unknown_op");
  CHECK(onnx::lint(folder.write("ok.onnx", base().bytes())).empty());
  CHECK(onnx::lint((folder.path() / "absent.onnx").string()).front().code == "files.open");
}

TEST_CASE("every truncation and every flipped byte of a model ends in an answer", "[onnx][reject][hostile]") {
  ModelText text = base();
  text.nodes = {node("Conv", {"x", "w", "b"}, {"c"}, {attr("pads", Ints{1, 1}), attr("auto_pad", "NOTSET")}), node("Shape", {"c"}, {"s"}),
                node("Reshape", {"c", "s"}, {"r"}), node("MaxPool", {"r"}, {"y"}, {attr("kernel_shape", Ints{2})})};
  text.initializers = {floats("w", {2, 1, 3}, {1, 2, 3, 4, 5, 6}), floats("b", {2}, {1, 2}),
                       Wire().number(1, 2).number(2, 7).bytes(7, "\x01\x02").bytes(8, "unused").text};
  text.inputs = {value("x", {"N", 1, 4})};
  text.outputs = {value("y", {"N", 2, 3})};
  const std::string whole = text.bytes();
  const Folder folder;
  REQUIRE(onnx::import_model(folder.write("m.onnx", whole)).ok());
  const auto answer = [&](const std::string& bytes) {
    const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", bytes));
    const bool described =
        model.ok() || (!model.rejection().code.empty() && !model.rejection().required.empty() && !model.rejection().advice.empty());
    CHECK(described);
    return model.ok();
  };
  // The opset import comes last, so no proper prefix is a model.
  for (std::size_t length = 0; length < whole.size(); ++length) CHECK_FALSE(answer(whole.substr(0, length)));
  std::mt19937 random(20240607);
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (const int flip : {0x01, 0x80, 0xff, static_cast<int>(random() & 0xff)}) {
      std::string bent = whole;
      bent[at] = static_cast<char>(bent[at] ^ flip);
      (void)answer(bent);
    }
  }
}
