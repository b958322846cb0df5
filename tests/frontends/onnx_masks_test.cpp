// Values that are -infinity where a mask shuts: what carries them, what ends them, what refuses them.
#include <cmath>
#include <limits>

#include "frontends/onnx/import.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

using namespace assay;
using namespace assay::onnx_test;

namespace {

constexpr float kShut = -std::numeric_limits<float>::infinity();

ModelText masked(std::vector<std::string> nodes, std::int64_t opset = 18) {
  ModelText text;
  text.opset = opset;
  text.inputs = {value("x", {2, 2})};
  text.outputs = {untyped("y")};
  text.initializers = {floats("mask", {2, 2}, {0, kShut, 0, 0}),
                       floats("shut", {}, {kShut}),
                       floats("zero", {}, {0}),
                       floats("two", {}, {2}),
                       floats("minus", {}, {-2}),
                       tensor("open", 9, {2, 2}, std::string("\1\0\1\1", 4)),
                       ints("last", {1}, {-1}),
                       ints("pads", {0, 1})};
  text.nodes = std::move(nodes);
  return text;
}

std::vector<Interval> run(const ModelText& text, const std::vector<double>& x) {
  const Folder folder;
  const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
  INFO((model ? std::string() : model.rejection().to_text()));
  REQUIRE(model.ok());
  Array<Interval> input{{2, 2}, {}};
  for (const double value : x) input.values.emplace_back(value);
  const std::vector<Array<Interval>> inputs(model.value().graph.inputs.size(), input);
  const auto values = evaluate<Interval>(model.value().graph, inputs);
  REQUIRE(values.ok());
  return values.value()[model.value().graph.outputs[0]].values;
}

std::string code_of(const ModelText& text) {
  const Folder folder;
  const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
  return model ? "accepted" : model.rejection().code;
}

// The softmax of rows (1, -) and (3, 4).
void check_softmax(const std::vector<Interval>& y) {
  const double e = std::exp(1.0);
  REQUIRE(y.size() == 4);
  CHECK(y[0] == Interval(1.0));
  CHECK(y[1] == Interval(0.0));
  CHECK(std::fabs(y[2].lo() - 1 / (1 + e)) < 1e-12);
  CHECK(std::fabs(y[3].hi() - e / (1 + e)) < 1e-12);
}

const std::vector<double> kX = {1, 2, 3, 4};

}  // namespace

TEST_CASE("a softmax leaves out what a mask shuts", "[onnx][masks]") {
  const std::string softmax = node("Softmax", {"s"}, {"y"});
  check_softmax(run(masked({node("Add", {"x", "mask"}, {"s"}), softmax}), kX));
  check_softmax(run(masked({node("Where", {"open", "x", "shut"}, {"s"}), softmax}), kX));
  check_softmax(run(
      masked({node("Where", {"open", "zero", "shut"}, {"m"}), node("Mul", {"m", "two"}, {"n"}), node("Add", {"n", "x"}, {"s"}), softmax}),
      kX));
  check_softmax(run(masked({node("Transpose", {"mask"}, {"t"}), node("Transpose", {"x"}, {"u"}), node("Add", {"u", "t"}, {"v"}),
                            node("Transpose", {"v"}, {"s"}), softmax}),
                    kX));
  // A mask that depends on the input: what equals 2 is shut.
  check_softmax(run(masked({node("Equal", {"x", "two"}, {"p"}), node("Where", {"p", "shut", "x"}, {"s"}), softmax}), kX));
}

TEST_CASE("a row that is shut is undefined unless something discards it", "[onnx][masks]") {
  const std::vector<std::string> shut_rows = {node("Where", {"open", "shut", "x"}, {"s"}), node("Softmax", {"s"}, {"p"})};
  std::vector<std::string> bare = shut_rows;
  bare.push_back(node("Identity", {"p"}, {"y"}));
  const std::vector<Interval> undefined = run(masked(bare), kX);
  CHECK(undefined[1] == Interval(1.0));
  CHECK(undefined[2].is_undefined());
  std::vector<std::string> safe = shut_rows;
  safe.push_back(node("ReduceMax", {"s", "last"}, {"r"}, {}));
  safe.push_back(node("Equal", {"r", "shut"}, {"none"}));
  safe.push_back(node("Where", {"none", "zero", "p"}, {"y"}));
  const std::vector<Interval> discarded = run(masked(safe), kX);
  CHECK(discarded[1] == Interval(1.0));
  CHECK(discarded[2] == Interval(0.0));
  CHECK(discarded[3] == Interval(0.0));
}

TEST_CASE("what tells -infinity from numbers", "[onnx][masks]") {
  const std::string sum = node("Add", {"x", "mask"}, {"s"});
  const auto truth = [&](const std::string& last) { return run(masked({sum, last}), kX); };
  CHECK(truth(node("IsInf", {"s"}, {"y"})) == std::vector<Interval>{Interval(0.0), Interval(1.0), Interval(0.0), Interval(0.0)});
  CHECK(truth(node("IsInf", {"s"}, {"y"}, {attr("detect_negative", 0)}))[1] == Interval(0.0));
  CHECK(truth(node("IsNaN", {"s"}, {"y"}))[1] == Interval(0.0));
  CHECK(truth(node("Equal", {"s", "mask"}, {"y"})) == std::vector<Interval>{Interval(0.0), Interval(1.0), Interval(0.0), Interval(0.0)});
}

TEST_CASE("a mask that no rule carries is refused", "[onnx][masks][reject]") {
  const std::string sum = node("Add", {"x", "mask"}, {"s"});
  for (const std::string& last :
       {node("Relu", {"s"}, {"y"}), node("Exp", {"s"}, {"y"}), node("Identity", {"s"}, {"y"}), node("Mul", {"s", "minus"}, {"y"}),
        node("Mul", {"s", "x"}, {"y"}), node("Sub", {"x", "s"}, {"y"}), node("Div", {"two", "s"}, {"y"}),
        node("Cast", {"s"}, {"y"}, {attr("to", 7)}), node("MatMul", {"s", "x"}, {"y"})}) {
    CHECK(code_of(masked({sum, last})) == "onnx.nonfinite");
  }
}
