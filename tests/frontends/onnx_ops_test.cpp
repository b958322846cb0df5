// Each operator once or more on numbers small enough to check by hand: the imported graph, evaluated in double.
#include <limits>

#include "semantics/numbers/interval.h"
#include "tests/frontends/onnx_rows.h"

using namespace assay;
using namespace assay::onnx_test;

TEST_CASE("elementwise operators", "[onnx][ops]") {
  const Ints four = {4};
  const Reals x = {-2, -0.5, 0, 3};
  const std::string two = floats("c", {}, {2});
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  check_rows({
      {on("Relu"), 7, {}, four, x, four, {0, 0, 0, 3}},
      {on("LeakyRelu", {}, {attr("alpha", 0.25F)}), 16, {}, four, x, four, {-0.5, -0.125, 0, 3}},
      {on("Abs"), 13, {}, four, x, four, {2, 0.5, 0, 3}},
      {on("Neg"), 13, {}, four, x, four, {2, 0.5, -0.0, -3}},
      {on("Sign"), 9, {}, four, x, four, {-1, -1, 0, 1}},
      {on("Sqrt"), 13, {}, {2}, {4, 2.25}, {2}, {2, 1.5}},
      {on("Reciprocal"), 13, {}, {2}, {4, -0.5}, {2}, {0.25, -2}},
      {on("Add", {"c"}), 13, {two}, four, x, four, {0, 1.5, 2, 5}},
      {node("Sub", {"c", "x"}, {"y"}), 13, {two}, four, x, four, {4, 2.5, 2, -1}},
      {on("Mul", {"x"}), 13, {}, four, x, four, {4, 0.25, 0, 9}},
      {on("Div", {"c"}), 13, {two}, four, x, four, {-1, -0.25, 0, 1.5}},
      {on("Add", {"c"}), 7, {floats("c", {2, 1}, {1, 10})}, {2}, {3, 4}, {2, 2}, {4, 5, 13, 14}},
      {on("Pow", {"c"}), 13, {two}, four, x, four, {4, 0.25, 0, 9}},
      {on("Pow", {"c"}), 15, {ints("c", {1, 1}, {2})}, {2}, {3, 4}, {1, 2}, {9, 16}},
      {on("Clip", {}, {attr("min", -1.0F), attr("max", 1.0F)}), 7, {}, four, x, four, {-1, -0.5, 0, 1}},
      {on("Clip", {"c"}), 11, {floats("c", {}, {-1})}, four, x, four, {-1, -0.5, 0, 3}},
      {on("Clip", {"", "c"}), 13, {floats("c", {}, {std::numeric_limits<float>::infinity()})}, four, x, four, x},
      {on("Min", {"c", "d"}), 13, {two, floats("d", {2, 1}, {0, 1})}, {1}, {5}, {2, 1}, {0, 1}},
      {on("Max", {"c"}), 8, {two}, four, x, four, {2, 2, 2, 3}},
      {on("Max", {"c"}), 13, {floats("c", {}, {-kInfinity})}, four, x, four, x},
      {node("Max", {"c", "x", "d"}, {"y"}),
       13,
       {floats("c", {2, 1}, {-kInfinity, -kInfinity}), floats("d", {}, {0})},
       {1},
       {-5},
       {2, 1},
       {0, 0}},
      {on("Min", {"c"}), 13, {floats("c", {2, 1}, {kInfinity, kInfinity})}, {1}, {5}, {2, 1}, {5, 5}},
      {on("Sum", {"c", "x"}), 13, {two}, four, x, four, {-2, 1, 2, 8}},
      {on("Mean", {"c"}), 13, {two}, four, x, four, {0, 0.75, 1, 2.5}},
      {on("Mean"), 13, {}, four, x, four, x},
      {on("Identity"), 13, {}, four, x, four, x},
      {on("Dropout", {}, {attr("ratio", 0.9F)}), 7, {}, four, x, four, x},
      {on("Cast", {}, {attr("to", 1)}), 13, {}, four, x, four, x},
      {on("Softmax", {}, {attr("axis", 0)}), 13, {}, {2, 1}, {1, 1}, {2, 1}, {0.5, 0.5}},
      {on("Softmax", {}, {attr("axis", 0)}), 11, {}, {2, 2}, {1, 1, 1, 1}, {2, 2}, {0.25, 0.25, 0.25, 0.25}},
  });
}

TEST_CASE("truth values, choice and conversion", "[onnx][ops]") {
  const Ints four = {4};
  const Reals x = {-2.5, -0.5, 0, 3};
  const std::string zero = floats("c", {}, {0}), mixed = floats("c", {4}, {-2.5F, 0, 0, 1});
  check_rows({
      {on("Equal", {"c"}), 13, {mixed}, four, x, four, {1, 0, 1, 0}},
      {on("Less", {"c"}), 9, {mixed}, four, x, four, {0, 1, 0, 0}},
      {on("LessOrEqual", {"c"}), 12, {mixed}, four, x, four, {1, 1, 1, 0}},
      {on("Greater", {"c"}), 7, {mixed}, four, x, four, {0, 0, 0, 1}},
      {on("GreaterOrEqual", {"c"}), 16, {mixed}, four, x, four, {1, 0, 1, 1}},
      {on("IsNaN"), 9, {}, four, x, four, {0, 0, 0, 0}},
      {on("IsInf"), 10, {}, {1}, {-std::numeric_limits<double>::infinity()}, {1}, {1}},
      {on("IsInf", {}, {attr("detect_negative", 0)}), 20, {}, {1}, {-std::numeric_limits<double>::infinity()}, {1}, {0}},
      {on("Cast", {}, {attr("to", 7)}), 13, {}, four, x, four, {-2, 0, 0, 3}},
      {on("Cast", {}, {attr("to", 9)}), 13, {}, four, x, four, {1, 1, 0, 1}},
      {on("Cast", {}, {attr("to", 11)}), 13, {}, four, x, four, x},
      {on("CastLike", {"c"}), 15, {ints("c", {0})}, four, x, four, {-2, 0, 0, 3}},
      {on("Clip", {"c", "d"}), 13, {zero, floats("d", {}, {-1})}, four, x, four, {-1, -1, -1, -1}},
      {on("Clip", {"x"}), 13, {}, {1}, {5}, {1}, {5}},
      {on("Pow", {"c"}), 13, {floats("c", {2}, {2, 3})}, {2}, {3, 2}, {2}, {9, 8}},
      {on("Pow", {"x"}), 13, {}, {2}, {1, 2}, {2}, {1, 4}},
  });
}

TEST_CASE("chains over integers and truth values", "[onnx][ops]") {
  struct Chain {
    std::vector<std::string> nodes, constants;
    Reals y;  // of x = -2.5, -0.5, 0, 3
    std::int64_t opset = 18;
  };
  const Ints four = {4};
  const std::string whole = node("Cast", {"x"}, {"i"}, {attr("to", 6)}), positive = node("Greater", {"x", "zero"}, {"p"});
  const std::string zero = floats("zero", {}, {0}), ones = tensor("ones", 9, {}, "\x01");
  const auto int32s = [](const std::string& name, std::uint32_t value) { return tensor(name, 6, {}, Wire::little_endian(value, 4)); };
  const std::vector<Chain> rows = {
      {{whole, node("Mul", {"i", "i"}, {"y"})}, {}, {4, 0, 0, 9}},
      {{whole, node("Div", {"i", "two"}, {"y"})}, {int32s("two", 2)}, {-1, 0, 0, 1}},
      {{whole, node("Mod", {"i", "two"}, {"y"})}, {int32s("two", 2)}, {0, 0, 0, 1}},
      {{whole, node("Neg", {"i"}, {"n"}), node("Max", {"n", "i"}, {"y"})}, {}, {2, 0, 0, 3}},
      {{whole, node("Abs", {"i"}, {"a"}), node("Sign", {"a"}, {"s"}), node("Sub", {"s", "a"}, {"y"})}, {}, {-1, 0, 0, -2}},
      {{whole, node("Clip", {"i", "", "two"}, {"y"})}, {int32s("two", 2)}, {-2, 0, 0, 2}},
      {{positive, node("Not", {"p"}, {"y"})}, {zero}, {1, 1, 1, 0}},
      {{positive, node("Xor", {"p", "ones"}, {"y"})}, {zero, ones}, {1, 1, 1, 0}},
      {{positive, node("And", {"p", "ones"}, {"y"})}, {zero, ones}, {0, 0, 0, 1}},
      {{positive, node("Or", {"p", "ones"}, {"y"})}, {zero, ones}, {1, 1, 1, 1}},
      {{positive, node("Where", {"p", "x", "zero"}, {"y"})}, {zero}, {0, 0, 0, 3}},
      {{whole, positive, node("Cast", {"p"}, {"t"}, {attr("to", 6)}), node("Add", {"t", "i"}, {"y"})}, {zero}, {-2, 0, 0, 4}},
      {{whole, node("Pow", {"i", "two"}, {"y"})}, {floats("two", {}, {2})}, {4, 0, 0, 9}},
      {{node("Dropout", {"x"}, {"z", "y"})}, {}, {1, 1, 1, 1}},
      {{whole, node("BitwiseAnd", {"i", "two"}, {"y"})}, {int32s("two", 2)}, {2, 0, 0, 2}},
      {{whole, node("BitwiseXor", {"i", "two"}, {"y"})}, {int32s("two", 2)}, {-4, 2, 2, 1}},
      {{whole, node("BitwiseNot", {"i"}, {"n"}), node("BitwiseOr", {"n", "i"}, {"y"})}, {}, {-1, -1, -1, -1}},
      {{node("Abs", {"x"}, {"a"}), node("Cast", {"a"}, {"u"}, {attr("to", 2)}),
        node("BitShift", {"u", "two"}, {"s"}, {attr("direction", "LEFT")}),
        node("BitShift", {"s", "one"}, {"y"}, {attr("direction", "RIGHT")})},
       {tensor("two", 2, {}, "\x02"), tensor("one", 2, {}, "\x01")},
       {4, 0, 0, 6}},
      {{whole, node("BitShift", {"i", "two"}, {"y"}, {attr("direction", "RIGHT")})}, {int32s("two", 1)}, {-1, 0, 0, 1}, 28},
      {{whole, node("BitShift", {"i", "two"}, {"y"}, {attr("direction", "LEFT")})}, {int32s("two", 31)}, {0, 0, 0, -2147483648.0}, 28},
      {{whole, node("BitShift", {"i", "two"}, {"y"}, {attr("direction", "RIGHT")})}, {int32s("two", -1)}, {-1, 0, 0, 0}, 28},
  };
  const Folder folder;
  for (const Chain& row : rows) {
    ModelText text;
    text.opset = row.opset;
    text.nodes = row.nodes;
    text.initializers = row.constants;
    text.inputs = {value("x", dims_of(four))};
    text.outputs = {untyped("y")};
    const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
    INFO("chain " << &row - rows.data() << (model ? "" : ": " + model.rejection().to_text()));
    REQUIRE(model.ok());
    const Graph& graph = model.value().graph;
    const std::vector<Array<double>> inputs = {{four, {-2.5, -0.5, 0, 3}}};
    const auto values = evaluate<double>(graph, inputs);
    REQUIRE(values.ok());
    CHECK(values.value()[graph.outputs[0]].values == row.y);
  }
}

// Queries 0 make all scores 0, so that each result is the mean of the values that the masks let through.
TEST_CASE("attention", "[onnx][ops]") {
  const float shut = -std::numeric_limits<float>::infinity();
  const std::string k = floats("k", {1, 1, 4, 1}, {1, 2, 3, 4}), v = floats("v", {1, 1, 4, 1}, {1, 2, 3, 6});
  const std::string past = floats("p", {1, 1, 1, 1}, {3}), half = tensor("m", 9, {2, 4}, std::string("\x01\x01\0\0\0\0\0\0", 8));
  const Ints two = {1, 1, 2, 1}, rows = {1, 2, 2};
  const Reals zero = {0, 0};
  check_rows({
      {on("Attention", {"k", "v"}), 23, {k, v}, two, zero, two, {3, 3}},
      {on("Attention", {"k", "v"}, {attr("is_causal", 1)}), 24, {k, v}, two, zero, two, {1, 1.5}},
      {on("Attention", {"k", "v", "", "p", "p"}, {attr("is_causal", 1), attr("scale", 2.0F)}), 24, {k, v, past}, two, zero, two, {2, 2}},
      {on("Attention", {"k", "v", "m"}), 23, {k, v, half}, two, zero, two, {1.5, 0}},
      {on("Attention", {"k", "v", "m"}, {attr("softcap", 2.0F)}), 24, {k, v, floats("m", {4}, {shut, 0, shut, 0})}, two, zero, two, {4, 4}},
      {on("Attention", {"k", "v", "m"}), 24, {k, v, floats("m", {2}, {0, 0})}, two, zero, two, {1.5, 1.5}},
      {on("Attention", {"k", "v", "", "", "", "n"}, {attr("is_causal", 1)}), 24, {k, v, ints("n", {3})}, two, zero, two, {1.5, 2}},
      {on("Attention", {"k", "v"}, {attr("q_num_heads", 2), attr("kv_num_heads", 1)}),
       23,
       {floats("k", {1, 4, 1}, {1, 2, 3, 4}), floats("v", {1, 4, 1}, {1, 2, 3, 6})},
       rows,
       {0, 0, 0, 0},
       rows,
       {3, 3, 3, 3}},
  });
}

// The class depends on an input here; one that does not exist has no loss.
TEST_CASE("a loss of a class that is computed", "[onnx][ops]") {
  const Folder folder;
  ModelText text;
  text.opset = 13;
  text.nodes = {node("Cast", {"t"}, {"i"}, {attr("to", 7)}),
                node("NegativeLogLikelihoodLoss", {"x", "i", "w"}, {"y"}, {attr("reduction", "none"), attr("ignore_index", 9)})};
  text.initializers = {floats("w", {2}, {1, 3})};
  text.inputs = {value("x", {1, 2}), value("t", {1})};
  text.outputs = {untyped("y")};
  const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
  REQUIRE(model.ok());
  const auto loss = [&](const Interval& target) {
    const std::vector<Array<Interval>> inputs = {{{1, 2}, {Interval(5.0), Interval(7.0)}}, {{1}, {target}}};
    return evaluate<Interval>(model.value().graph, inputs).value()[model.value().graph.outputs[0]].values[0];
  };
  CHECK(loss(0.0) == Interval(-5.0));
  CHECK(loss(1.0) == Interval(-21.0));
  CHECK(loss(9.0) == Interval(0.0));
  CHECK(loss(2.0).is_undefined());
  CHECK(loss(-1.0).is_undefined());
}

TEST_CASE("products, normalisation, reductions", "[onnx][ops]") {
  const std::string w = floats("w", {2, 2}, {1, 2, 3, 4});
  const std::string b = floats("b", {2}, {10, 20});
  const Ints row = {1, 2};
  check_rows({
      {on("Gemm", {"w", "b"}), 7, {w, b}, row, {1, -1}, row, {8, 18}},
      {on("Gemm", {"w", "b"}, {attr("transB", 1), attr("alpha", 2.0F), attr("beta", 0.5F)}), 11, {w, b}, row, {1, -1}, row, {3, 8}},
      {on("Gemm", {"w"}, {attr("transA", 1)}), 13, {w}, {2, 1}, {1, -1}, row, {-2, -2}},
      {on("MatMul", {"w"}), 13, {w}, row, {1, -1}, row, {-2, -2}},
      {on("MatMul", {"w"}), 13, {w}, {2}, {1, -1}, {2}, {-2, -2}},
      {on("BatchNormalization", {"s", "b", "m", "v"}, {attr("epsilon", 0.0F)}),
       9,
       {floats("s", {2}, {2, 3}), b, floats("m", {2}, {1, 0}), floats("v", {2}, {4, 1})},
       row,
       {3, 5},
       row,
       {12, 35}},
      {on("ReduceSum", {}, {attr("axes", Ints{-1}), attr("keepdims", 0)}), 11, {}, {2, 2}, {1, 2, 3, 4}, {2}, {3, 7}},
      {on("ReduceSum", {"a"}), 13, {ints("a", {0})}, {2, 2}, {1, 2, 3, 4}, {1, 2}, {4, 6}},
      {on("ReduceSum", {}, {attr("noop_with_empty_axes", 1)}), 13, {}, {2}, {1, 2}, {2}, {1, 2}},
      {on("ReduceMean"), 18, {}, {2, 2}, {1, 2, 3, 4}, {1, 1}, {2.5}},
      {on("ReduceMax", {}, {attr("axes", Ints{1})}), 13, {}, {2, 2}, {1, 2, 4, 3}, {2, 1}, {2, 4}},
      {on("ReduceMin", {"a"}, {attr("keepdims", 0)}), 18, {ints("a", {0})}, {2, 2}, {1, 2, 4, -3}, {2}, {1, -3}},
      {on("ReduceProd"), 7, {}, {2, 2}, {1, 2, 4, -3}, {1, 1}, {-24}},
      {on("ReduceL1", {"a"}), 18, {ints("a", {1})}, {2, 2}, {1, -2, 4, -3}, {2, 1}, {3, 7}},
      {on("ReduceL2"), 13, {}, {2}, {3, -4}, {1}, {5}},
      {on("ReduceSumSquare"), 13, {}, {2}, {3, -4}, {1}, {25}},
      {on("ReduceLogSum"), 13, {}, {2}, {0.25, 0.75}, {1}, {0}},
      {on("ReduceLogSumExp"), 13, {}, {1}, {2}, {1}, {2}},
      {on("CumSum", {"a"}), 11, {ints("a", {}, {1})}, {2, 2}, {1, 2, 4, 3}, {2, 2}, {1, 3, 4, 7}},
      {on("CumSum", {"a"}, {attr("exclusive", 1), attr("reverse", 1)}), 14, {ints("a", {0})}, {3}, {1, 2, 4}, {3}, {6, 4, 0}},
      {on("ArgMax", {}, {attr("axis", 1)}), 7, {}, {2, 3}, {1, 3, 3, 4, 2, 1}, {2, 1}, {1, 0}},
      {on("ArgMax", {}, {attr("axis", 1), attr("select_last_index", 1)}), 12, {}, {2, 3}, {1, 3, 3, 4, 2, 1}, {2, 1}, {2, 0}},
      {on("CumProd", {"a"}, {attr("reverse", 1)}), 26, {ints("a", {0})}, {3}, {3, 2, 4}, {3}, {24, 8, 4}},
      {on("Hardmax"), 13, {}, {2, 3}, {1, 3, 3, 4, 2, 1}, {2, 3}, {0, 1, 0, 1, 0, 0}},
      {on("Hardmax", {}, {attr("axis", 0)}), 11, {}, {2, 2}, {1, 3, 5, 4}, {2, 2}, {0, 0, 1, 0}},
      {on("LRN", {}, {attr("size", 2), attr("alpha", 2.0F), attr("beta", 1.0F)}),
       13,
       {},
       {1, 3},
       {1, 2, 3},
       {1, 3},
       {1.0 / 6, 2.0 / 14, 0.3}},
      {on("NegativeLogLikelihoodLoss", {"t"}, {attr("reduction", "none")}), 13, {ints("t", {1, 0})}, {2, 2}, {1, 2, 3, 4}, {2}, {-2, -3}},
      {on("NegativeLogLikelihoodLoss", {"t", "w"}), 13, {ints("t", {1, 0}), floats("w", {2}, {1, 3})}, {2, 2}, {1, 2, 3, 4}, {}, {-2.25}},
      {on("NegativeLogLikelihoodLoss", {"t"}, {attr("ignore_index", -5)}), 22, {ints("t", {-5, 0})}, {2, 2}, {1, 2, 3, 4}, {}, {-3}},
      {on("NegativeLogLikelihoodLoss", {"t"}, {attr("reduction", "sum")}),
       12,
       {ints("t", {1, 2}, {1, 0})},
       {1, 2, 2},
       {1, 2, 3, 4},
       {},
       {-5}},
      {on("SoftmaxCrossEntropyLoss", {"t"}), 13, {ints("t", {0})}, {1, 1}, {7}, {}, {0}},
      {on("ArgMin", {}, {attr("keepdims", 0)}), 13, {}, {2, 2}, {1, 3, 0, 4}, {2}, {1, 0}},
      {on("LayerNormalization", {"w", "b"}, {attr("epsilon", 0.0F)}), 17, {floats("w", {2}, {2, 3}), b}, row, {1, 3}, row, {8, 23}},
      {on("RMSNormalization", {"w"}, {attr("epsilon", 0.0F)}), 23, {floats("w", {}, {2})}, {4}, {2, 2, -2, 2}, {4}, {2, 2, -2, 2}},
      {on("InstanceNormalization", {"w", "b"}, {attr("epsilon", 3.0F)}),
       7,
       {floats("w", {2}, {2, 3}), b},
       {1, 2, 2},
       {1, 3, -1, 1},
       {1, 2, 2},
       {9, 11, 18.5, 21.5}},
      {on("GroupNormalization", {"w", "b"}, {attr("epsilon", 3.0F), attr("num_groups", 1)}),
       18,
       {floats("w", {1}, {2}), floats("b", {1}, {10})},
       {1, 2, 1},
       {1, 3},
       {1, 2, 1},
       {9, 11}},
      {on("GroupNormalization", {"w", "b"}, {attr("epsilon", 3.0F), attr("num_groups", 1)}),
       21,
       {floats("w", {2}, {2, 3}), b},
       {1, 2, 1},
       {1, 3},
       {1, 2, 1},
       {9, 21.5}},
      {on("LpNormalization"), 7, {}, {2}, {3, -4}, {2}, {0.6, -0.8}},
      {on("LpNormalization", {}, {attr("p", 1), attr("axis", 0)}), 22, {}, {2}, {3, -1}, {2}, {0.75, -0.25}},
      {on("GlobalAveragePool"), 7, {}, {1, 2, 2}, {1, 2, 3, 5}, {1, 2, 1}, {1.5, 4}},
      {on("GlobalMaxPool"), 7, {}, {1, 2, 2}, {1, 2, 5, 3}, {1, 2, 1}, {2, 5}},
  });
}

TEST_CASE("convolutions and pools", "[onnx][ops]") {
  const std::string w = floats("w", {1, 1, 2}, {1, 10});
  const std::string b = floats("b", {1}, {100});
  const Ints five = {1, 1, 5};
  const Reals x = {1, 2, 3, 4, 5};
  check_rows({
      {on("Conv", {"w", "b"}), 7, {w, b}, five, x, {1, 1, 4}, {121, 132, 143, 154}},
      {on("Conv", {"w"}, {attr("pads", Ints{1, 0}), attr("strides", Ints{2})}), 11, {w}, five, x, {1, 1, 3}, {10, 32, 54}},
      {on("Conv", {"w"}, {attr("dilations", Ints{3})}), 11, {w}, five, x, {1, 1, 2}, {41, 52}},
      {on("Conv", {"w"}, {attr("auto_pad", "SAME_UPPER")}), 11, {w}, five, x, five, {21, 32, 43, 54, 5}},
      {on("Conv", {"w"}, {attr("auto_pad", "SAME_LOWER")}), 11, {w}, five, x, five, {10, 21, 32, 43, 54}},
      {on("Conv", {"w"}, {attr("auto_pad", "VALID"), attr("strides", Ints{3})}), 11, {w}, five, x, {1, 1, 2}, {21, 54}},
      {on("Conv", {"g"}, {attr("group", 2)}), 11, {floats("g", {2, 1, 1}, {2, 3})}, {1, 2, 2}, {1, 2, 3, 4}, {1, 2, 2}, {2, 4, 9, 12}},
      {on("ConvTranspose", {"w", "b"}), 11, {w, b}, {1, 1, 2}, {1, 2}, {1, 1, 3}, {101, 112, 120}},
      {on("ConvTranspose", {"w"}, {attr("strides", Ints{2}), attr("output_padding", Ints{1})}),
       11,
       {w},
       {1, 1, 2},
       {1, 2},
       {1, 1, 5},
       {1, 10, 2, 20, 0}},
      {on("ConvTranspose", {"w"}, {attr("strides", Ints{3}), attr("auto_pad", "SAME_UPPER"), attr("output_padding", Ints{1})}),
       11,
       {w},
       {1, 1, 2},
       {1, 2},
       {1, 1, 6},
       {1, 10, 0, 2, 20, 0}},
      {on("MaxPool", {}, {attr("kernel_shape", Ints{2}), attr("strides", Ints{2})}), 7, {}, five, x, {1, 1, 2}, {2, 4}},
      {on("MaxPool", {}, {attr("kernel_shape", Ints{2}), attr("strides", Ints{2}), attr("ceil_mode", 1)}),
       10,
       {},
       five,
       x,
       {1, 1, 3},
       {2, 4, 5}},
      {on("MaxPool", {}, {attr("kernel_shape", Ints{2}), attr("dilations", Ints{2}), attr("storage_order", 1)}),
       12,
       {},
       five,
       x,
       {1, 1, 3},
       {3, 4, 5}},
      {on("AveragePool", {}, {attr("kernel_shape", Ints{2}), attr("pads", Ints{1, 1})}),
       7,
       {},
       five,
       x,
       {1, 1, 6},
       {1, 1.5, 2.5, 3.5, 4.5, 5}},
      {on("AveragePool", {}, {attr("kernel_shape", Ints{2}), attr("pads", Ints{1, 1}), attr("count_include_pad", 1)}),
       7,
       {},
       five,
       x,
       {1, 1, 6},
       {0.5, 1.5, 2.5, 3.5, 4.5, 2.5}},
      {on("AveragePool", {}, {attr("kernel_shape", Ints{2}), attr("dilations", Ints{3})}), 19, {}, five, x, {1, 1, 2}, {2.5, 3.5}},
  });
}

TEST_CASE("layout operators", "[onnx][ops]") {
  const Ints two_three = {2, 3};
  const Reals x = {1, 2, 3, 4, 5, 6};
  check_rows({
      {on("Reshape", {"s"}), 7, {ints("s", {0, -1, 1})}, two_three, x, {2, 3, 1}, x},
      {on("Flatten"), 7, {}, {2, 3, 1}, x, two_three, x},
      {on("Flatten", {}, {attr("axis", 0)}), 13, {}, two_three, x, {1, 6}, x},
      {on("Flatten", {}, {attr("axis", -1)}), 13, {}, {1, 2, 3}, x, two_three, x},
      {on("Transpose"), 7, {}, two_three, x, {3, 2}, {1, 4, 2, 5, 3, 6}},
      {on("Squeeze"), 7, {}, {1, 6, 1}, x, {6}, x},
      {on("Squeeze", {"a"}), 13, {ints("a", {-1})}, {1, 6, 1}, x, {1, 6}, x},
      {on("Unsqueeze", {}, {attr("axes", Ints{0, 2})}), 11, {}, {6}, x, {1, 6, 1}, x},
      {on("Slice", {}, {attr("starts", Ints{0, 1}), attr("ends", Ints{1, 1000})}), 7, {}, two_three, x, {1, 2}, {2, 3}},
      {on("Slice", {"s", "e", "a", "t"}),
       10,
       {ints("s", {-1}), ints("e", {-1000}), ints("a", {1}), ints("t", {-2})},
       two_three,
       x,
       {2, 2},
       {3, 1, 6, 4}},
      {on("Slice", {"s", "e", "a", "t"}), 13, {ints("s", {2}), ints("e", {1}), ints("a", {1}), ints("t", {1})}, two_three, x, {2, 0}, {}},
      {on("Concat", {"c"}, {attr("axis", -1)}), 11, {floats("c", {2, 1}, {7, 8})}, two_three, x, {2, 4}, {1, 2, 3, 7, 4, 5, 6, 8}},
      {on("Pad", {}, {attr("pads", Ints{0, 1, 0, -1}), attr("value", 9.0F)}), 7, {}, two_three, x, two_three, {9, 1, 2, 9, 4, 5}},
      {on("Pad", {"p", "", "a"}), 18, {ints("p", {1, 0}), ints("a", {1})}, two_three, x, {2, 4}, {0, 1, 2, 3, 0, 4, 5, 6}},
      {on("Pad", {"p"}, {attr("mode", "reflect")}), 13, {ints("p", {2, 3})}, {3}, {1, 2, 3}, {8}, {3, 2, 1, 2, 3, 2, 1, 2}},
      {on("Pad", {"p"}, {attr("mode", "edge")}), 13, {ints("p", {1, 2})}, {3}, {1, 2, 3}, {6}, {1, 1, 2, 3, 3, 3}},
      {on("Pad", {"p"}, {attr("mode", "wrap")}), 19, {ints("p", {1, 2})}, {3}, {1, 2, 3}, {6}, {3, 1, 2, 3, 1, 2}},
      {on("Gather", {"i"}, {attr("axis", 1)}), 11, {ints("i", {1, 2}, {-1, 0})}, two_three, x, {2, 1, 2}, {3, 1, 6, 4}},
      {on("Gather", {"i"}), 7, {ints("i", {}, {1})}, two_three, x, {3}, {4, 5, 6}},
      {on("Expand", {"s"}), 8, {ints("s", {2, 1})}, {3}, {1, 2, 3}, two_three, {1, 2, 3, 1, 2, 3}},
      {node("Where", {"c", "x", "d"}, {"y"}),
       9,
       {tensor("c", 9, {3}, std::string("\x01\x00\x01", 3)), floats("d", {}, {-1})},
       {3},
       {1, 2, 3},
       {3},
       {1, -1, 3}},
      {node("Where", {"c", "d", "x"}, {"y"}),
       16,
       {tensor("c", 9, {2, 1}, std::string(2, '\0')), floats("d", {}, {-1})},
       {3},
       {1, 2, 3},
       two_three,
       {1, 2, 3, 1, 2, 3}},
      {on("Upsample", {}, {attr("mode", "nearest"), Wire().bytes(1, "scales").real(7, 1).real(7, 2).number(20, 6).text}),
       7,
       {},
       {1, 2},
       {1, 2},
       {1, 4},
       {1, 1, 2, 2}},
      {on("Resize", {"", "", "s"}), 13, {ints("s", {2, 3})}, {1, 3}, {1, 2, 3}, two_three, {1, 2, 3, 1, 2, 3}},
      {on("DepthToSpace", {}, {attr("blocksize", 2)}), 13, {}, {1, 4, 1, 1}, {1, 2, 3, 4}, {1, 1, 2, 2}, {1, 2, 3, 4}},
      {on("SpaceToDepth", {}, {attr("blocksize", 2)}), 13, {}, {1, 1, 2, 2}, {1, 2, 3, 4}, {1, 4, 1, 1}, {1, 2, 3, 4}},
      {node("Split", {"x"}, {"", "y"}, {attr("axis", 1), attr("split", Ints{1, 2})}), 7, {}, two_three, x, {2, 2}, {2, 3, 5, 6}},
      {node("Split", {"x"}, {"a", "y"}, {attr("axis", 1), attr("num_outputs", 2)}), 18, {}, two_three, x, {2, 1}, {3, 6}},
  });
}

// The integer operators are seen through the shape that a Reshape of x to them gives.
TEST_CASE("integer chains", "[onnx][ops]") {
  struct Chain {
    std::vector<std::string> nodes, constants;
    Ints shape;  // of [1, 12] reshaped by the chain's "s"
    std::int64_t opset = 13;
  };
  const auto tensor_value = [](const std::string& proto) { return tensor_attr("value", proto); };
  const std::string boolean = tensor("c", 9, {2}, std::string("\x01\x00", 2));
  const std::vector<Chain> rows = {
      {{node("Constant", {}, {"s"}, {tensor_value(ints("", {3, 4}))})}, {}, {3, 4}},
      {{node("Constant", {}, {"s"}, {attr("value_ints", Ints{4, 3})})}, {}, {4, 3}},
      {{node("Shape", {"x"}, {"s"})}, {}, {1, 12}},
      {{node("Shape", {"x"}, {"s"}, {attr("start", -1)})}, {}, {12}, 15},
      {{node("Size", {"x"}, {"n"}), node("Unsqueeze", {"n", "a"}, {"s"})}, {ints("a", {0})}, {12}},
      {{node("ConstantOfShape", {"n"}, {"s"}, {tensor_value(ints("", {-1}))})}, {ints("n", {1})}, {12}},
      {{node("Range", {"a", "b", "c"}, {"r"}), node("Abs", {"r"}, {"s"})},
       {ints("a", {}, {-3}), ints("b", {}, {-5}), ints("c", {}, {-1})},
       {3, 4}},
      {{node("Range", {"a", "b", "c"}, {"s"})}, {ints("a", {}, {2}), ints("b", {}, {8}), ints("c", {}, {4})}, {2, 6}},
      {{node("Cast", {"a"}, {"f"}, {attr("to", 1)}), node("Cast", {"f"}, {"s"}, {attr("to", 7)})}, {ints("a", {2, 6})}, {2, 6}},
      {{node("Cast", {"a"}, {"s"}, {attr("to", 7)})}, {tensor("a", 6, {2}, Wire::little_endian(3, 4) + Wire::little_endian(4, 4))}, {3, 4}},
      {{node("Mul", {"a", "b"}, {"s"})}, {ints("a", {1, 3}), ints("b", {}, {2})}, {2, 6}},
      {{node("Div", {"a", "b"}, {"s"})}, {ints("a", {-7, 9}), ints("b", {-2, 2})}, {3, 4}},
      {{node("Mod", {"a", "b"}, {"s"})}, {ints("a", {-7, 9}), ints("b", {10, 5})}, {3, 4}},
      {{node("Mod", {"a", "b"}, {"r"}, {attr("fmod", 1)}), node("Neg", {"r"}, {"s"})}, {ints("a", {-13, -4}), ints("b", {10, 5})}, {3, 4}},
      {{node("Max", {"a", "b"}, {"m"}), node("Min", {"m", "c"}, {"s"})},
       {ints("a", {1, 9}), ints("b", {3, 2}), ints("c", {}, {4})},
       {3, 4}},
      {{node("Where", {"c", "a", "b"}, {"s"})}, {boolean, ints("a", {3, 9}), ints("b", {9, 4})}, {3, 4}},
      {{node("Not", {"c"}, {"d"}), node("Where", {"d", "a", "b"}, {"s"})}, {boolean, ints("a", {9, 4}), ints("b", {3, 9})}, {3, 4}},
      {{node("Less", {"a", "b"}, {"l"}), node("GreaterOrEqual", {"a", "b"}, {"g"}), node("Or", {"l", "g"}, {"o"}),
        node("And", {"o", "l"}, {"d"}), node("Cast", {"d"}, {"i"}, {attr("to", 7)}), node("Add", {"i", "b"}, {"s"})},
       {ints("a", {1, 4}), ints("b", {2, 4})},
       {3, 4}},
      {{node("ReduceProd", {"a"}, {"p"}), node("Concat", {"p", "one"}, {"s"}, {attr("axis", 0)})},
       {ints("a", {2, 6}), ints("one", {1})},
       {12, 1}},
      {{node("ReduceSum", {"a", "k"}, {"s"}, {attr("keepdims", 0)})}, {ints("a", {2, 2}, {1, 2, 2, 2}), ints("k", {0})}, {3, 4}},
      {{node("ReduceMax", {"a"}, {"s"}, {attr("axes", Ints{1}), attr("keepdims", 0)})}, {ints("a", {2, 2}, {1, 3, 4, 2})}, {3, 4}},
      {{node("Split", {"a", "k"}, {"u", "s"})}, {ints("a", {9, 3, 4}), ints("k", {1, 2})}, {3, 4}},
      {{node("Slice", {"a", "f", "l", "z", "t"}, {"s"})},
       {ints("a", {4, 9, 3}), ints("f", {-1}), ints("l", {-9}), ints("z", {0}), ints("t", {-2})},
       {3, 4}},
      {{node("Transpose", {"a"}, {"b"}), node("Reshape", {"b", "n"}, {"c"}), node("Gather", {"c", "i"}, {"s"})},
       {ints("a", {2, 2}, {1, 2, 3, 4}), ints("n", {-1}), ints("i", {1, 3})},
       {3, 4}},
      {{node("Pad", {"a", "p", "v"}, {"s"})}, {ints("a", {4}), ints("p", {1, 0}), ints("v", {}, {3})}, {3, 4}},
      {{node("Expand", {"a", "n"}, {"b"}), node("Squeeze", {"b"}, {"c"}), node("Concat", {"c", "d"}, {"s"}, {attr("axis", 0)})},
       {ints("a", {2}), ints("n", {1, 2}), ints("d", {3})},
       {2, 2, 3}},
  };
  const Folder folder;
  for (const Chain& row : rows) {
    ModelText text;
    text.opset = row.opset;
    text.nodes = row.nodes;
    text.nodes.push_back(node("Reshape", {"x", "s"}, {"y"}));
    text.initializers = row.constants;
    text.inputs = {value("x", {1, 12})};
    text.outputs = {untyped("y")};
    const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
    INFO("chain " << &row - rows.data() << (model ? "" : ": " + model.rejection().to_text()));
    REQUIRE(model.ok());
    const Graph& graph = model.value().graph;
    CHECK(graph.node(graph.outputs[0]).shape == row.shape);
    CHECK(graph.nodes.size() <= 2);
  }
}
