// Loops that are unrolled, sequences whose places are constants, and the models of both that are refused. Their values are compared with
// ONNX Runtime's by onnx_random_control.py.
#include "frontends/onnx/import.h"
#include "frontends/onnx/lint.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

namespace {

using namespace assay;
using namespace assay::onnx_test;

Outcome<onnx::Model> import_set(const ModelText& text, const std::string& set = {}) {
  const Folder folder;
  onnx::Edits edits;
  if (!set.empty()) REQUIRE(edits.add("--set", set).ok());
  return onnx::import_model(folder.write("m.onnx", text.bytes()), {}, edits);
}

std::vector<double> values_of(const ModelText& text, const std::string& set = {}) {
  const auto model = import_set(text, set);
  INFO((model ? std::string() : model.rejection().to_text()));
  REQUIRE(model.ok());
  const std::vector<Array<double>> inputs(model.value().graph.inputs.size(), Array<double>{{2}, {1, -3}});
  const auto values = evaluate<double>(model.value().graph, inputs);
  REQUIRE(values.ok());
  return values.value()[model.value().graph.outputs[0]].values;
}

std::string refusal(const ModelText& text, const std::string& set = {}) {
  const auto model = import_set(text, set);
  REQUIRE(!model.ok());
  return model.rejection().to_text();
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string graph_attr(const std::string& name, const ModelText& graph) {
  return Wire().bytes(1, name).bytes(6, graph.graph()).number(20, 5).text;
}

// s becomes 2 s + n in turn n; the results are stacked.
ModelText body() {
  ModelText text;
  text.nodes = {node("Cast", {"n"}, {"real"}, {attr("to", 1)}), node("Mul", {"s", "two"}, {"doubled"}),
                node("Add", {"doubled", "real"}, {"next"}), node("Identity", {"going"}, {"goes"}), node("Neg", {"next"}, {"part"})};
  text.initializers = {floats("two", {}, {2})};
  text.inputs = {value("n", {}, 7), value("going", {}, 9), value("s", {2})};
  text.outputs = {untyped("goes"), untyped("next"), untyped("part")};
  return text;
}

ModelText looping(const ModelText& body, const std::vector<std::string>& inputs = {"trips", "yes", "x"}) {
  ModelText text;
  text.nodes = {node("Loop", inputs, {"y", "parts"}, {graph_attr("body", body)})};
  text.initializers = {tensor("yes", 9, {}, "\1"), ints("three", {}, {3}), tensor("no", 9, {}, std::string(1, '\0'))};
  text.inputs = {value("x", {2}), value("trips", {}, 7)};
  text.outputs = {untyped("y"), untyped("parts")};
  return text;
}

ModelText sequenced(const std::vector<std::string>& nodes) {
  ModelText text;
  text.nodes = nodes;
  text.initializers = {ints("zero", {}, {0}), ints("one", {}, {1}), ints("two", {}, {2}), ints("back", {}, {-1}), ints("twos", {1}, {2})};
  text.inputs = {value("x", {2}), value("at", {}, 7)};
  text.outputs = {untyped("y")};
  return text;
}

}  // namespace

TEST_CASE("a loop of a constant trip count is its turns", "[onnx][loops]") {
  CHECK(values_of(looping(body()), "trips=1") == std::vector<double>{2, -6});
  CHECK(values_of(looping(body()), "trips=3") == std::vector<double>{12, -20});  // 2 (2 (2 x) + 1) + 2
  CHECK(contains(refusal(looping(body()), "trips=0"), "at least one turn"));
  CHECK(contains(refusal(looping(body(), {"three", "no", "x"}), "trips=0"), "at least one turn"));
  ModelText stacked = looping(body());
  stacked.outputs = {untyped("parts")};
  CHECK(values_of(stacked, "trips=2") == std::vector<double>{-2, 6, -5, 11});
  ModelText ending = body();  // a condition of the turn's number; the trip count is open
  ending.nodes[3] = node("Less", {"n", "one"}, {"goes"});
  ending.initializers.push_back(ints("one", {}, {1}));
  CHECK(values_of(looping(ending, {"", "yes", "x"}), "trips=9") == std::vector<double>{5, -11});
  CHECK(values_of(looping(ending), "trips=9") == std::vector<double>{5, -11});
  CHECK(values_of(looping(ending), "trips=1") == std::vector<double>{2, -6});
  CHECK(contains(refusal(looping(ending, {"three", "", "x"})), "a body's condition that stays true"));
}

TEST_CASE("refused: loops that inputs decide, too many turns, and bodies of another form", "[onnx][loops][reject]") {
  const std::string why = refusal(looping(body()));
  CHECK(contains(why, "a trip count that constants decide, found one that depends on the input \"trips\""));
  CHECK(contains(why, "--set trips=VALUE"));
  CHECK(contains(refusal(looping(body(), {"", "yes", "x"})), "onnx.limit"));
  ModelText open = body();  // the state decides
  open.nodes[3] = node("ReduceSum", {"s"}, {"sum"});
  open.nodes.push_back(node("Less", {"sum", "two"}, {"less"}));
  open.nodes.push_back(node("Reshape", {"less", "none"}, {"goes"}));
  open.initializers.push_back(ints("none", {0}, {}));
  CHECK(contains(refusal(looping(open), "trips=2"), "a condition that constants decide, found one that depends on the input \"x\""));
  CHECK(contains(refusal(looping(open), "trips=2"), "--set x=VALUE"));
  CHECK(import_set(looping(open), "trips=1").ok());  // no turn follows that it could decide
  struct Row {
    void (*bend)(ModelText&);
    const char* part;
  };
  const Row rows[] = {
      {[](ModelText& b) { b.inputs[2] = value("s", {3}); }, "as its body declares, found float32[2]"},
      {[](ModelText& b) { b.inputs[2] = value("s", {2}, 7); }, "as its body declares"},
      {[](ModelText& b) { b.inputs[0] = value("n", {1}, 7); }, "as its body declares, found int64[]"},
      {[](ModelText& b) {
         b.outputs[1] = value("next", {1, 2});
       },
       "as its body declares"},
      {[](ModelText& b) { b.inputs[2] = value("x", {2}); }, "onnx.duplicate_value"},  // a name that stands outside
      {[](ModelText& b) { b.inputs.pop_back(); }, "a body with 3 inputs and 3 outputs"},
      {[](ModelText& b) { b.outputs.pop_back(); }, "a body with 3 inputs and 3 outputs"},
      {[](ModelText& b) { b.outputs[0] = untyped("real"); }, "one truth value"},
      {[](ModelText& b) { b.outputs[1] = untyped("n"), b.inputs[2] = untyped("s"); }, "a state of the type that it had"},
      {[](ModelText& b) {
         b.nodes[2] = node("Add", {"y", "real"}, {"next"});
       },
       "the graph has a cycle"},
  };
  for (const Row& row : rows) {
    ModelText bent = body();
    row.bend(bent);
    const std::string text = refusal(looping(bent), "trips=2");
    INFO(text);
    CHECK(contains(text, row.part));
  }
  CHECK(contains(refusal(looping(body(), {"trips", "yes", ""}), "trips=2"), "an omitted one"));
  const Folder folder;
  std::vector<std::string> options;
  CHECK(!onnx::lint(folder.write("m.onnx", looping(body()).bytes()), {}, {}, &options).empty());
  CHECK(options == std::vector<std::string>{"--set trips=VALUE"});
}

TEST_CASE("a Scan is its turns, in both directions", "[onnx][loops]") {
  ModelText inner, text;  // running sums, over x from its end
  inner.nodes = {node("Add", {"s", "p"}, {"sum"}), node("Identity", {"sum"}, {"part"})};
  inner.inputs = {untyped("s"), untyped("p")};
  inner.outputs = {untyped("sum"), untyped("part")};
  const auto scanning = [&](const std::vector<std::string>& attributes) {
    std::vector<std::string> all = {graph_attr("body", inner), attr("num_scan_inputs", 1)};
    all.insert(all.end(), attributes.begin(), attributes.end());
    text.nodes = {node("Scan", {"zero", "x"}, {"last", "y"}, all)};
    return text;
  };
  text.initializers = {floats("zero", {}, {0})};
  text.inputs = {value("x", {2})};
  text.outputs = {untyped("y")};
  CHECK(values_of(scanning({})) == std::vector<double>{1, -2});
  CHECK(values_of(scanning({attr("scan_input_directions", std::vector<std::int64_t>{1})})) == std::vector<double>{-3, -2});
  CHECK(values_of(scanning({attr("scan_output_directions", std::vector<std::int64_t>{1})})) == std::vector<double>{-2, 1});
  CHECK(contains(refusal(scanning({attr("scan_input_axes", std::vector<std::int64_t>{1})})), "onnx.axis"));
  CHECK(contains(refusal(scanning({attr("scan_input_axes", std::vector<std::int64_t>{0, 0})})), "1 numbers of scan_input_axes"));
  CHECK(contains(refusal(scanning({attr("scan_output_directions", std::vector<std::int64_t>{2})})), "scan_output_directions"));
  inner.nodes[0] = node("Concat", {"longer", "longer"}, {"sum"}, {attr("axis", 0)});
  inner.nodes.push_back(node("Reshape", {"p", "one"}, {"longer"}));
  inner.initializers = {ints("one", {1}, {1})};
  CHECK(contains(refusal(scanning({})), "in Scan of the shape"));
}

TEST_CASE("sequences leave no trace where their places are constants", "[onnx][sequences]") {
  const std::string split = node("SplitToSequence", {"x"}, {"s"}), join = node("ConcatFromSequence", {"r"}, {"y"}, {attr("axis", 0)});
  CHECK(values_of(sequenced({split, node("SequenceErase", {"s", "zero"}, {"r"}), join}), "at=0") == std::vector<double>{-3});
  CHECK(values_of(sequenced({split, node("SequenceAt", {"s", "at"}, {"y"})}), "at=-1") == std::vector<double>{-3});
  CHECK(values_of(sequenced({split, node("SequenceInsert", {"s", "x", "back"}, {"r"}), join}), "at=0") ==
        std::vector<double>{1, 1, -3, -3});
  CHECK(values_of(sequenced({split, node("SequenceInsert", {"s", "x"}, {"r"}), join}), "at=0") == std::vector<double>{1, -3, 1, -3});
  CHECK(values_of(sequenced({node("SequenceEmpty", {}, {"s"}), node("SequenceLength", {"s"}, {"y"})}), "at=0") == std::vector<double>{0});
  CHECK(contains(refusal(sequenced({split, node("SequenceAt", {"s", "at"}, {"y"})})), "a place in a sequence"));
  struct Row {
    std::vector<std::string> nodes;
    const char* part;
  };
  const Row rows[] = {
      {{split, node("SequenceAt", {"s", "two"}, {"y"})}, "onnx.index"},
      {{split, node("SequenceAt", {"s", "twos"}, {"y"})}, "of rank 0"},
      {{split, node("Neg", {"s"}, {"y"})}, "a tensor, found the sequence \"s\""},
      {{split, node("SequenceInsert", {"x", "s"}, {"y"})}, "a tensor, found the sequence \"s\""},
      {{split, node("SequenceInsert", {"s", "one"}, {"y"})}, "as another operand"},
      {{split, node("Identity", {"s"}, {"y"})}, "a tensor, found a sequence"},
      {{node("SequenceLength", {"x"}, {"y"})}, "a sequence, found a tensor"},
      {{node("SplitToSequence", {"x", "zero"}, {"s"}), node("SequenceLength", {"s"}, {"y"})}, "parts of at least one element"},
      {{node("SplitToSequence", {"x", "twos"}, {"s"}, {attr("keepdims", 0)}), node("SequenceLength", {"s"}, {"y"})}, "keepdims 1"},
      {{node("SequenceEmpty", {}, {"r"}), join}, "an empty one"},
      {{node("SequenceEmpty", {}, {"r"}), node("SequenceErase", {"r"}, {"y"})}, "onnx.index"},
      {{node("SequenceEmpty", {}, {"y"}, {attr("dtype", 10)})}, "float16"},
  };
  for (const Row& row : rows) {
    const std::string text = refusal(sequenced(row.nodes), "at=0");
    INFO(text);
    CHECK(contains(text, row.part));
  }
}
