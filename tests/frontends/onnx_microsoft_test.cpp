// Operators of com.microsoft on numbers small enough to check by hand. onnx_random_microsoft.py compares them with ONNX Runtime.
#include "tests/frontends/onnx_rows.h"

namespace assay::onnx_test {
namespace {

using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

struct Given {
  std::string op;
  Texts inputs;  // "x" is the input of the model, others are constants, "" is omitted
  Texts attributes = {};
  Texts constants = {};
  Texts outputs = {"y"};
  std::string output = "y";  // of the model
};

Outcome<onnx::Model> imported(const Folder& folder, const Given& one, const Ints& shape) {
  ModelText text;
  text.nodes = {node(one.op, one.inputs, one.outputs, one.attributes, "com.microsoft")};
  text.inputs = {value("x", dims_of(shape))};
  text.outputs = {untyped(one.output)};
  text.initializers = one.constants;
  text.more_opsets = {{"com.microsoft", 1}};
  return onnx::import_model(folder.write("m.onnx", text.bytes()));
}

Reals result(const Given& one, const Ints& shape, const Reals& x) {
  const Folder folder;
  const Outcome<onnx::Model> model = imported(folder, one, shape);
  INFO(one.op << ": " << (model ? "" : model.rejection().to_text()));
  REQUIRE(model.ok());
  const std::vector<Array<double>> inputs = {{shape, x}};
  const auto values = evaluate<double>(model.value().graph, inputs);
  REQUIRE(values.ok());
  return values.value()[model.value().graph.outputs[0]].values;
}

std::string refusal(const Given& one, const Ints& shape) {
  const Folder folder;
  const Outcome<onnx::Model> model = imported(folder, one, shape);
  return model ? "imported" : model.rejection().code + ": " + model.rejection().required + ": " + model.rejection().found;
}

}  // namespace

TEST_CASE("operators that ONNX Runtime fused are what they were fused from", "[onnx][microsoft]") {
  const std::string two = floats("w", {2, 2}, Floats{1, 2, 3, 4});
  CHECK(result({"FusedMatMul", {"x", "w"}, {attr("transB", 1), attr("alpha", 0.5F)}, {two}}, {1, 2}, {1, -2}) == Reals{-1.5, -2.5});
  CHECK(result({"FusedGemm", {"x", "w"}, {attr("activation", "Relu")}, {two}}, {1, 2}, {1, -1}) == Reals{0, 0});
  CHECK(result({"FusedGemm", {"x", "w"}, {attr("activation", "LeakyRelu"), attr("activation_alpha", 0.5F)}, {two}}, {1, 2}, {1, -1}) ==
        Reals{-1, -1});
  const Given conv{"FusedConv",
                   {"x", "k", "", "z"},
                   {attr("activation", "Clip"), reals_attr("activation_params", Floats{-1, 4})},
                   {floats("k", {1, 1, 1, 1}, Floats{2}), floats("z", {1, 1, 1, 3}, Floats{0, 1, 2})}};
  CHECK(result(conv, {1, 1, 1, 3}, {-3, 1, 3}) == Reals{-1, 3, 4});
  CHECK(result({"SkipLayerNormalization",
                {"x", "s", "g"},
                {},
                {floats("s", {1, 1, 2}, Floats{1, 1}), floats("g", {2}, Floats{1, 1})},
                {"n", "", "", "y"}},
               {1, 1, 2}, {3, 5}) == Reals{4, 6});
  CHECK(refusal({"FusedGemm", {"x", "w"}, {attr("activation", "Gelu")}, {two}}, {1, 2}).starts_with("onnx.attribute"));
  CHECK(refusal({"FusedGemm", {"x", "w"}, {attr("activation", "LeakyRelu")}, {two}}, {1, 2})
            .find("as many numbers as LeakyRelu takes, 1: 0") != std::string::npos);
  CHECK(refusal({"FusedMatMul", {"x", "w"}, {attr("transBatchA", 1)}, {two}}, {1, 2}).starts_with("onnx.attribute"));
}

TEST_CASE("quantised operators compute between dequantised operands and a quantised result", "[onnx][microsoft]") {
  // A scale of 1/2 and the zero point 1 for x, whose 256 steps cover 0 to 2.55: 255 steps of 0.01 for DynamicQuantizeMatMul.
  const std::string w = tensor("w", 3, {2, 1}, std::string("\x02\xff", 2));  // int8: 2 and -1
  const Given product{"DynamicQuantizeMatMul", {"x", "w", "s"}, {}, {w, floats("s", {}, Floats{0.5F})}};
  const Reals y = result(product, {1, 2}, {2.55, 1.275});
  CHECK(std::abs(y[0] - 0.5 * (2 * 2.55 - 1.28)) < 1e-6);  // 1.275 lies between two steps, and goes to the even one
  CHECK(refusal({"QLinearAveragePool",
                 {"q", "s", "z", "s", "z"},
                 {attr("kernel_shape", Ints{1, 1}), attr("ceil_mode", 1), attr("count_include_pad", 1)},
                 {tensor("q", 2, {1, 1, 1, 1}, "\x05"), floats("s", {}, Floats{1}), tensor("z", 2, {}, std::string(1, '\0'))}},
                {1})
            .find("divides by another count") != std::string::npos);
}

TEST_CASE("operators that add the zero point before they round send halves elsewhere if it is odd", "[onnx][microsoft]") {
  const auto byte = [](const char* name, char value) { return tensor(name, 2, {}, std::string(1, value)); };
  const std::string q = tensor("q", 2, {1, 1, 3}, "\x01\x03\x05");  // 0.5, 1.5 and 2.5
  const Texts constants = {q, byte("none", 0), byte("one", 1), floats("half", {}, Floats{0.5F}), floats("s", {}, Floats{1})};
  const Texts x = {"q", "half", "none"}, zero = {"none", "s", "none"}, unit = {"one", "s", "none"}, y = {"s", "one"};
  const auto of = [&](const char* op, std::vector<Texts> inputs, Texts attributes = {}) {
    Texts names;
    for (const Texts& some : inputs) names.insert(names.end(), some.begin(), some.end());
    return result({op, names, std::move(attributes), constants}, {1}, {0});
  };
  CHECK(of("QLinearAdd", {x, zero, y}) == Reals{2, 2, 4});
  CHECK(of("QLinearMul", {x, unit, y}) == Reals{2, 2, 4});
  CHECK(of("QLinearAveragePool", {x, y}, {attr("kernel_shape", Ints{1})}) == Reals{2, 2, 4});
  CHECK(of("QLinearGlobalAveragePool", {{"q", "half", "none"}, y}) == Reals{3});  // 1.5 is rounded to 2
  CHECK(of("QLinearLeakyRelu", {x, y}) == Reals{1, 3, 3});
}

TEST_CASE("operators are refused where ONNX Runtime computes something else than their page says", "[onnx][microsoft]") {
  const std::string three = floats("w", {3}, Floats{1, 2, 3}), byte = tensor("z", 3, {}, "\x01"), scale = floats("s", {}, Floats{1});
  CHECK(refusal({"FusedMatMul", {"x", "w"}, {attr("transA", 1)}, {three}}, {3, 2}).find("reads otherwise") != std::string::npos);
  const std::string a = tensor("a", 3, {1, 1}, "\x01");
  CHECK(refusal({"QGemm", {"a", "s", "z", "a", "s", "z", "", "s"}, {}, {a, byte, scale}}, {1}).find("one without") != std::string::npos);
  CHECK(refusal({"QGemm", {"a", "s", "z", "a", "s", "z", "", "", "z"}, {}, {a, byte, scale}}, {1}).starts_with("onnx.input"));
  const std::string keys = floats("k", {1, 3, 2}, Floats{1, 2, 3, 4, 5, 6});
  const Texts causal = {attr("num_heads", 1), attr("unidirectional", 1)};
  CHECK(refusal({"MultiHeadAttention", {"x", "k", "k"}, causal, {keys}}, {1, 2, 2}).find("the last query alone") != std::string::npos);
  CHECK(refusal({"MultiHeadAttention", {"x", "k", "k"}, causal, {keys}}, {1, 3, 2}) == "imported");
}

TEST_CASE("keys with numbers below 0 in a mask are shut, and words without segments are of segment 0", "[onnx][microsoft]") {
  const std::string mask = tensor("m", 6, {1, 2}, std::string("\x01\0\0\0\xff\xff\xff\xff", 8)),
                    keys = floats("k", {1, 2, 1}, Floats{1, 5});
  const Given masked{"MultiHeadAttention", {"x", "k", "k", "", "m"}, {attr("num_heads", 1)}, {mask, keys}};
  CHECK(std::abs(result(masked, {1, 1, 1}, {1})[0] - 1) < 1e-6);
  const std::string ids = tensor("i", 6, {1, 1}, std::string(4, '\0')), none = floats("w", {1, 2}, Floats{0, 0}),
                    ones = floats("g", {2}, Floats{1, 1});
  const std::string segments = floats("s", {2, 2}, Floats{3, 5, 7, 9});
  CHECK(result({"EmbedLayerNormalization", {"i", "", "w", "w", "s", "g", "g"}, {}, {ids, none, ones, segments}, {"n", "m", "y"}}, {1},
               {0}) == Reals{3, 5});
}

TEST_CASE("past keys are read beside the results that hold them", "[onnx][microsoft]") {
  const Texts heads = {attr("num_heads", 1)};
  const std::string past = floats("p", {1, 1, 1, 2}, Floats{0, 0});
  const Given with_past{"MultiHeadAttention", {"x", "x", "x", "", "", "", "p", "p"}, heads, {past}};
  CHECK(refusal(with_past, {1, 1, 2}).starts_with("onnx.output: past keys beside the results that hold them"));
  Given whole = with_past;
  whole.outputs = {"y", "k", "v"};
  whole.output = "k";
  CHECK(result(whole, {1, 1, 2}, {3, 4}) == Reals{0, 0, 3, 4});
  CHECK(result({"MultiHeadAttention", {"x", "x", "x"}, heads}, {1, 1, 2}, {3, 4}) == Reals{3, 4});  // one key has all the weight
}

TEST_CASE("packed weights are read from their bytes, the lower bits first", "[onnx][microsoft]") {
  // One column of 17 numbers of 4 bits in two blocks of 16: 3, 10, then 8 (which stands for 0); in the second block 9 and nothing.
  const std::string bytes = "\xa3" + std::string(7, '\x88') + "\xf9" + std::string(7, '\xff');
  const Texts sizes = {attr("K", 17), attr("N", 1), attr("block_size", 16)};
  const auto with = [&](Texts inputs, Texts more = {}, std::string packed = {}) {
    more.insert(more.end(), sizes.begin(), sizes.end());
    return Given{"MatMulNBits",
                 std::move(inputs),
                 std::move(more),
                 {tensor("w", 2, {1, 2, 8}, packed.empty() ? bytes : packed), floats("s", {1, 2}, Floats{0.5F, 2}),
                  tensor("z", 2, {1, 1}, "\x93"), floats("f", {1, 2}, Floats{1, 0.5F}), floats("b", {1}, Floats{100})}};
  };
  Reals x(17, 0);
  x[0] = 1, x[1] = 10, x[16] = 100;
  CHECK(result(with({"x", "w", "s"}), {1, 17}, x) == Reals{0.5 * (3 - 8) + 5 * (10 - 8) + 200 * (9 - 8)});
  CHECK(result(with({"x", "w", "s", "z"}), {1, 17}, x) == Reals{0.5 * (3 - 3) + 5 * (10 - 3) + 200 * (9 - 9)});
  CHECK(result(with({"x", "w", "s", "f", "", "b"}), {1, 17}, x) == Reals{0.5 * (3 - 1) + 5 * (10 - 1) + 200 * (9 - 0.5) + 100});
  CHECK(refusal(with({"x", "w", "s"}, {attr("accuracy_level", 4)}), {1, 17}).find("programs round A") != std::string::npos);
  CHECK(refusal(with({"x", "w", "s"}, {attr("bits", 3)}), {1, 17}).starts_with("onnx.attribute"));
  CHECK(refusal(with({"x", "w", "s"}, {}, std::string(15, '\x88')), {1, 17}).starts_with("onnx."));
  CHECK(refusal(with({"x", "w", "s"}), {1, 16}).starts_with("onnx.shape"));
}

TEST_CASE("attention of groups and of quantised operands, and what is refused", "[onnx][microsoft]") {
  const Texts heads = {attr("num_heads", 2), attr("kv_num_heads", 1)};
  const std::string lengths = tensor("l", 6, {1}, std::string("\x01\0\0\0", 4)), most = tensor("t", 6, {}, std::string("\x02\0\0\0", 4));
  const std::string one = tensor("o", 6, {1}, std::string(4, '\0')), table = floats("c", {4, 1}, Floats{1, 0, 1, 1});
  const auto grouped = [&](Texts inputs, Texts more = {}) {
    more.insert(more.end(), heads.begin(), heads.end());
    return Given{
        "GroupQueryAttention", std::move(inputs), std::move(more), {lengths, most, one, table, floats("p", {1, 1, 1, 1}, Floats{5})}};
  };
  const Reals packed = {0, 0, 7, 3, 0, 0, 9, 5};  // two queries of 0, a key, a value; two places
  const Texts inputs = {"x", "", "", "", "", "l", "t"};
  CHECK(result(grouped(inputs), {1, 2, 4}, packed) == Reals{3, 3, 4, 4});  // the first place sees itself, the second both
  CHECK(refusal(grouped({"x", "", "", "", "", "o", "t"}), {1, 2, 4}).find("sequences of 2 keys each") != std::string::npos);
  CHECK(refusal(grouped({"x", "", "", "p", "p", "l", "t"}), {1, 1, 4}).find("past keys") != std::string::npos);
  CHECK(refusal(grouped(inputs, {attr("local_window_size", 1)}), {1, 2, 4}).find("no window") != std::string::npos);
  CHECK(refusal(grouped({"x", "", "", "", "", "l", "t", "", "", "", "", "c"}), {1, 2, 4}).find("sinks") != std::string::npos);
  CHECK(refusal(grouped(inputs, {attr("do_rotary", 1)}), {1, 2, 4}).find("omitted") != std::string::npos);
  CHECK(refusal(grouped({"x", "", "", "", "", "l", "t", "o", "o"}, {attr("do_rotary", 1)}), {1, 2, 4}).starts_with("onnx.shape"));
  CHECK(refusal(grouped(inputs, {attr("do_rotary", 2)}), {1, 2, 4}).starts_with("onnx.attribute"));
  CHECK(refusal(grouped(inputs), {1, 2, 5}).starts_with("onnx.shape"));

  const std::string w = tensor("w", 3, {1, 3}, std::string("\x01\x02\xff", 3)), bytes = tensor("q", 2, {1, 1, 1}, "\x07");
  const Given quantised{"QAttention",
                        {"q", "w", "x", "s", "s", "", "z"},
                        {attr("num_heads", 1)},
                        {w, bytes, floats("s", {}, Floats{0.5F}), tensor("z", 2, {}, "\x03")}};
  CHECK(result(quantised, {3}, {1, 2, 10}) == Reals{0.25 * (7 - 3) * -1 + 10});  // one key: its value
}

TEST_CASE("theorems about operators of ONNX Runtime are about real arithmetic", "[onnx][microsoft]") {
  const Folder folder;
  const Outcome<onnx::Model> model = imported(folder, {"QuickGelu", {"x"}}, {1, 2});
  REQUIRE(model.ok());
  CHECK_FALSE(model.value().obstacle({}).has_value());
  ExecutionModel semantics;
  semantics.kind = ExecutionModel::Kind::floating;
  semantics.math_table = "onnxruntime";
  CHECK(model.value().obstacle(semantics)->code == "onnx.float_execution");
}

}  // namespace assay::onnx_test
