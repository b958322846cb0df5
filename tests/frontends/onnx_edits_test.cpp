// What --shape, --dim, --set and --outputs make of a model, and the branches of If that constants choose.
#include <algorithm>

#include "frontends/onnx/import.h"
#include "frontends/onnx/lint.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

namespace {

using namespace assay;
using namespace assay::onnx_test;

onnx::Edits edits_of(const std::vector<std::pair<std::string, std::string>>& options) {
  onnx::Edits edits;
  for (const auto& [option, text] : options) {
    INFO(option << " " << text);
    REQUIRE(edits.add(option, text).ok());
  }
  return edits;
}

// The model, or the text of the rejection.
Outcome<onnx::Model> import_edited(const ModelText& text, const std::vector<std::pair<std::string, std::string>>& options) {
  const Folder folder;
  return onnx::import_model(folder.write("m.onnx", text.bytes()), {}, edits_of(options));
}

onnx::Model read(const ModelText& text, const std::vector<std::pair<std::string, std::string>>& options) {
  auto model = import_edited(text, options);
  INFO((model ? std::string() : model.rejection().to_text()));
  REQUIRE(model.ok());
  return std::move(model).value();
}

std::string refusal(const ModelText& text, const std::vector<std::pair<std::string, std::string>>& options) {
  const auto model = import_edited(text, options);
  REQUIRE(!model.ok());
  return model.rejection().to_text();
}

std::vector<Shape> input_shapes(const Graph& graph) {
  std::vector<Shape> shapes;
  for (const NodeId input : graph.inputs) shapes.push_back(graph.node(input).shape);
  return shapes;
}

Shape output_shape(const Graph& graph) { return graph.node(graph.outputs[0]).shape; }

std::vector<double> outputs_at(const Graph& graph, const std::vector<Array<double>>& inputs, std::size_t output = 0) {
  const auto values = evaluate<double>(graph, inputs);
  REQUIRE(values.ok());
  return values.value()[graph.outputs[output]].values;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// y = x + z, both [batch, seq].
ModelText open_model() {
  ModelText text;
  text.nodes = {node("Add", {"x", "z"}, {"y"})};
  text.inputs = {value("x", {"batch", "seq"}), value("z", {"batch", "seq"})};
  text.outputs = {value("y", {"batch", "seq"})};
  return text;
}

std::string graph_attr(const std::string& name, const ModelText& graph) {
  return Wire().bytes(1, name).bytes(6, graph.graph()).number(20, 5).text;
}

// y = 2 x where sr is 16000, else -x; the branches read x from outside, and the weight of one of them is its own.
ModelText branching_model() {
  ModelText doubled, negative, text;
  doubled.nodes = {node("Mul", {"x", "two"}, {"d"})};
  doubled.initializers = {floats("two", {}, {2})};
  doubled.outputs = {untyped("d")};
  negative.nodes = {node("Neg", {"x"}, {"d"})};
  negative.outputs = {untyped("d")};
  text.nodes = {node("Equal", {"sr", "rate"}, {"is_high"}),
                node("If", {"is_high"}, {"y"}, {graph_attr("then_branch", doubled), graph_attr("else_branch", negative)})};
  text.initializers = {ints("rate", {}, {16000})};
  text.inputs = {value("x", {1, 2}), value("sr", {}, 7)};
  text.outputs = {value("y", {1, 2})};
  return text;
}

}  // namespace

TEST_CASE("axes are fixed by their names or by the shape of one input", "[onnx][edits]") {
  CHECK(contains(refusal(open_model(), {}), "--dim seq=N"));
  CHECK(input_shapes(read(open_model(), {{"--dim", "seq=3"}}).graph) == std::vector<Shape>{{1, 3}, {1, 3}});
  CHECK(input_shapes(read(open_model(), {{"--dim", "seq=3"}, {"--dim", "batch=2"}}).graph) == std::vector<Shape>{{2, 3}, {2, 3}});
  CHECK(input_shapes(read(open_model(), {{"--shape", "z=2,5"}}).graph) == std::vector<Shape>{{2, 5}, {2, 5}});
  ModelText unnamed = open_model();
  unnamed.inputs = {value("x", {1, -1, 4, -1}), value("z", {1, "seq"})};
  const std::string why = refusal(unnamed, {});
  CHECK(contains(why, "axis 1 and axis 3"));
  CHECK(contains(why, "--shape x=1,N,4,N"));
  ModelText one_name = open_model();  // as some exporters write it: one name for axes of several extents
  one_name.nodes = {node("MatMul", {"x", "z"}, {"y"})};
  one_name.inputs = {value("x", {"?", "?"}), value("z", {"?", "?"})};
  CHECK(input_shapes(read(one_name, {{"--shape", "x=2,3"}, {"--shape", "z=3,4"}}).graph) == std::vector<Shape>{{2, 3}, {3, 4}});
  ModelText shapeless = open_model();
  shapeless.inputs[0] = Wire().bytes(1, "x").bytes(2, Wire().bytes(1, Wire().number(1, 1).text).text).text;
  CHECK(contains(refusal(shapeless, {{"--dim", "seq=3"}}), "--shape x=N,..."));
  CHECK(input_shapes(read(shapeless, {{"--dim", "seq=3"}, {"--shape", "x=1,3"}}).graph) == std::vector<Shape>{{1, 3}, {1, 3}});
}

TEST_CASE("declared outputs of other extents are noted, and refused where no option chose an extent", "[onnx][edits]") {
  ModelText text = open_model();
  text.outputs = {value("y", {1, 7})};  // what the example of an exporter gave
  const onnx::Model model = read(text, {{"--dim", "seq=3"}});
  CHECK(std::ranges::any_of(model.notes, [](const std::string& note) { return contains(note, "the file declares [1, 7]"); }));
  text.outputs = {value("y", {1})};
  CHECK(output_shape(read(text, {{"--dim", "seq=3"}}).graph) == Shape{1, 3});
  text.inputs = {value("x", {1, 3}), value("z", {1, 3})};
  text.outputs = {value("y", {"batch", 7})};
  CHECK(contains(refusal(text, {}), "the declared shape [batch, 7]"));
}

TEST_CASE("options of the model are a source of the statement, and another network", "[onnx][edits]") {
  const onnx::Model three = read(open_model(), {{"--dim", "seq=3"}}), four = read(open_model(), {{"--dim", "seq=4"}});
  REQUIRE(three.sources.size() == 2);
  CHECK(three.sources[1].role == "model options");
  CHECK(three.sources[1].name == "--dim seq=3");
  CHECK(three.sources[1].sha256 != four.sources[1].sha256);
  CHECK(three.sources[0].sha256 == four.sources[0].sha256);
  CHECK(statement::graph_digest(three.graph) != statement::graph_digest(four.graph));
  const onnx::Edits edits =
      edits_of({{"--set", "b=1"}, {"--dim", "it's=2"}, {"--outputs", "y,z"}, {"--shape", "x=1,3"}, {"--set", "a=0.5"}});
  CHECK(edits.to_text() == "--shape x=1,3 --dim 'it'\\''s=2' --set a=0.5 --set b=1 --outputs y,z");
  CHECK(edits_of(edits.options()) == edits);
}

TEST_CASE("an input becomes a constant of its own type and shape", "[onnx][edits]") {
  ModelText text;
  text.nodes = {node("Mul", {"x", "w"}, {"y"})};
  text.inputs = {value("x", {1, 3}), value("w", {3})};
  text.outputs = {value("y", {1, 3})};
  const Array<double> x{{1, 3}, {1, 2, 3}};
  CHECK(outputs_at(read(text, {{"--set", "w=2,0.5,-1"}}).graph, {x}) == std::vector<double>{2, 1, -3});
  CHECK(outputs_at(read(text, {{"--set", "w=2"}}).graph, {x}) == std::vector<double>{2, 4, 6});
  text.inputs[1] = value("w", {"n"});  // the extent follows from the values
  CHECK(outputs_at(read(text, {{"--set", "w=2,0.5,-1"}}).graph, {x}) == std::vector<double>{2, 1, -3});
  text.inputs = {value("x", {1, 3})};
  text.initializers = {floats("w", {3}, {1, 1, 1})};
  CHECK(contains(refusal(text, {{"--set", "w=2"}}), "the inputs are x"));
  text.inputs.push_back(value("w", {3}));  // a default, which the option replaces
  CHECK(outputs_at(read(text, {{"--set", "w=2"}}).graph, {x}) == std::vector<double>{2, 4, 6});
  for (const std::int64_t type : {2, 3, 4, 5, 6, 7, 9, 11, 12, 13}) {
    ModelText other;
    other.nodes = {node("Cast", {"v"}, {"c"}, {attr("to", 1)}), node("Mul", {"x", "c"}, {"y"})};
    other.inputs = {value("x", {1}), value("v", {}, type)};
    other.outputs = {value("y", {1})};
    INFO("type " << type);
    CHECK(outputs_at(read(other, {{"--set", "v=1"}}).graph, {{{1}, {5}}}) == std::vector<double>{5});
  }
}

TEST_CASE("only the chosen outputs are read, and the nodes that they need", "[onnx][edits]") {
  ModelText text;
  text.nodes = {node("Relu", {"x"}, {"h"}), node("Neg", {"h"}, {"y"}), node("LabelOf", {"h"}, {"label"}, {}, "somewhere")};
  text.inputs = {value("x", {1, 2})};
  text.outputs = {untyped("label"), value("y", {1, 2})};
  CHECK(contains(refusal(text, {}), "somewhere"));
  const Array<double> x{{1, 2}, {-1, 2}};
  CHECK(outputs_at(read(text, {{"--outputs", "y"}}).graph, {x}) == std::vector<double>{0, -2});
  const Graph both = read(text, {{"--outputs", "y,h"}}).graph;  // in this order; h is a result of a node
  CHECK(both.output_names == std::vector<std::string>{"y", "h"});
  CHECK(outputs_at(both, {x}, 1) == std::vector<double>{0, 2});
}

TEST_CASE("refused: options that do not fit the model", "[onnx][edits][reject]") {
  ModelText text = open_model();
  text.inputs.push_back(value("n", {2}, 2));
  text.inputs.push_back(value("half", {2}, 10));
  const std::vector<std::pair<std::vector<std::pair<std::string, std::string>>, std::string>> rows = {
      {{{"--shape", "q=1,2"}}, "the inputs are x, z, n, half"},
      {{{"--shape", "x=1,2,3"}}, "the extents of 2 axes, found 3"},
      {{{"--shape", "n=3"}}, "the extent 2, which the file declares, found 3"},
      {{{"--dim", "seq=4"}, {"--shape", "x=1,3"}}, "the extent 4, which --dim gives, found 3"},
      {{{"--dim", "width=4"}}, "the open axes are batch, seq"},
      {{{"--set", "q=1"}}, "the inputs are"},
      {{{"--set", "n=1,2,3"}}, "or 2 for the shape [2], found 3"},
      {{{"--set", "n=256"}}, "values of uint8, found \"256\""},
      {{{"--set", "n=0.5"}}, "values of uint8, found \"0.5\""},
      {{{"--set", "n=-1"}}, "values of uint8"},
      {{{"--set", "x=1,2,nan"}}, "finite numbers of float32, found \"nan\""},
      {{{"--set", "x=1e39"}}, "finite numbers of float32"},
      {{{"--set", "x="}}, "finite numbers of float32, found \"\""},
      {{{"--set", "half=1"}}, "float16"},
      {{{"--outputs", "nothing"}}, "the outputs are y"},
  };
  for (const auto& [options, part] : rows) {
    const std::string why = refusal(text, options);
    INFO(options.back().second << ": " << why);
    CHECK(contains(why, part));
    CHECK(contains(why, "[onnx.option]"));
  }
  onnx::Edits edits;
  for (const auto& [option, bad] : std::vector<std::pair<std::string, std::string>>{{"--shape", "x"},
                                                                                    {"--shape", "x=1,a"},
                                                                                    {"--shape", "x=1,-2"},
                                                                                    {"--shape", "=1"},
                                                                                    {"--dim", "seq"},
                                                                                    {"--dim", "seq="},
                                                                                    {"--dim", "seq=1.5"},
                                                                                    {"--dim", "seq=99999999999"},
                                                                                    {"--set", "x"},
                                                                                    {"--outputs", "y,"},
                                                                                    {"--outputs", "y,y"}}) {
    INFO(option << " " << bad);
    const auto added = edits.add(option, bad);
    REQUIRE(!added.ok());
    CHECK(added.rejection().code == "onnx.option");
  }
  REQUIRE(edits.add("--dim", "seq=4").ok());
  CHECK(edits.add("--dim", "seq=4").ok());
  CHECK(!edits.add("--dim", "seq=5").ok());
}

TEST_CASE("an If of a constant condition is the branch that it takes", "[onnx][edits][if]") {
  const Array<double> x{{1, 2}, {1, -3}};
  CHECK(outputs_at(read(branching_model(), {{"--set", "sr=16000"}}).graph, {x}) == std::vector<double>{2, -6});
  CHECK(outputs_at(read(branching_model(), {{"--set", "sr=8000"}}).graph, {x}) == std::vector<double>{-1, 3});
  const std::string why = refusal(branching_model(), {});
  CHECK(contains(why, "depends on the input \"sr\""));
  CHECK(contains(why, "--set sr=VALUE"));
  CHECK(contains(why, "[onnx.condition]"));

  // Decided by a shape; the branch has an If of its own, and reads a value that nothing else needs.
  ModelText inner = branching_model(), outer, other;
  inner.inputs.clear();
  inner.initializers.push_back(ints("sr", {}, {8000}));
  inner.nodes.push_back(node("Add", {"y", "late"}, {"sum"}));
  inner.outputs = {untyped("sum")};
  other.nodes = {node("Optional", {"x"}, {"sum"})};
  other.outputs = {untyped("sum")};
  outer.nodes = {node("Shape", {"x"}, {"shape"}), node("Size", {"shape"}, {"rank"}), node("Equal", {"rank", "two"}, {"is_matrix"}),
                 node("Abs", {"x"}, {"late"}),
                 node("If", {"is_matrix"}, {"result"}, {graph_attr("else_branch", other), graph_attr("then_branch", inner)})};
  outer.initializers = {ints("two", {}, {2})};
  outer.inputs = {value("x", {1, 2})};
  outer.outputs = {value("result", {1, 2})};
  CHECK(outputs_at(read(outer, {}).graph, {x}) == std::vector<double>{0, 6});  // |x| - x

  // Two nodes whose branches use the same names.
  ModelText chained = branching_model();
  ModelText branch;
  branch.nodes = {node("Neg", {"y"}, {"d"})};
  branch.outputs = {untyped("d")};
  chained.nodes.push_back(node("If", {"is_high"}, {"last"}, {graph_attr("then_branch", branch), graph_attr("else_branch", branch)}));
  chained.outputs = {value("last", {1, 2})};
  CHECK(outputs_at(read(chained, {{"--set", "sr=16000"}}).graph, {x}) == std::vector<double>{-2, 6});
}

TEST_CASE("refused: branches that are none", "[onnx][edits][if][reject]") {
  const std::vector<std::pair<std::string, std::string>> high = {{"--set", "sr=16000"}};
  const auto with_branch = [](const ModelText& branch, const std::string& name) {
    ModelText text = branching_model();
    text.nodes[1] = node("If", {"is_high"}, {"y"}, {graph_attr(name, branch)});
    return text;
  };
  ModelText good, hidden, open, two;
  good.nodes = {node("Neg", {"x"}, {"d"})};
  good.outputs = {untyped("d")};
  hidden.nodes = {node("Neg", {"x"}, {"rate"})};  // a name that the whole graph has
  hidden.outputs = {untyped("rate")};
  open = good;
  open.inputs = {value("more", {1})};
  two = good;
  two.outputs.push_back(untyped("d"));
  CHECK(import_edited(with_branch(good, "then_branch"), high).ok());
  CHECK(contains(refusal(with_branch(good, "else_branch"), high), "a then_branch"));
  CHECK(contains(refusal(with_branch(open, "then_branch"), high), "with 0 inputs and 1 outputs, found 1 inputs"));
  CHECK(contains(refusal(with_branch(two, "then_branch"), high), "with 0 inputs and 1 outputs, found 0 inputs and 2 outputs"));
  CHECK(contains(refusal(with_branch(hidden, "then_branch"), high), "onnx.duplicate_value"));
  ModelText number = branching_model();
  number.nodes[1] = node("If", {"rate"}, {"y"}, {graph_attr("then_branch", good), graph_attr("else_branch", good)});
  CHECK(contains(refusal(number, high), "one truth value"));
  ModelText later = branching_model();  // the name of a branch means nothing behind it
  later.nodes.push_back(node("Relu", {"d"}, {"e"}));
  later.outputs = {value("e", {1, 2})};
  CHECK(contains(refusal(later, high), "onnx.undefined_value"));
  ModelText deep = good;
  for (int i = 0; i < 40; ++i) {
    ModelText next;
    next.nodes = {node("If", {"is_high"}, {"d" + std::to_string(i)}, {graph_attr("then_branch", deep)})};
    next.outputs = {untyped("d" + std::to_string(i))};
    deep = next;
  }
  CHECK(contains(refusal(with_branch(deep, "then_branch"), high), "onnx.limit"));
}

TEST_CASE("lint names all that a model leaves open", "[onnx][edits][lint]") {
  ModelText text = branching_model();
  text.inputs[0] = value("x", {"batch", "seq"});
  text.inputs.push_back(value("state", {2, -1, 4}));
  const Folder folder;
  const std::string path = folder.write("m.onnx", text.bytes());
  std::vector<std::string> options;
  CHECK(!onnx::lint(path, {}, {}, &options).empty());
  CHECK(options == std::vector<std::string>{"--dim seq=N", "--shape state=2,N,4", "--set sr=VALUE"});
  options.clear();
  const onnx::Edits edits = edits_of({{"--dim", "seq=2"}, {"--shape", "state=2,1,4"}, {"--set", "sr=16000"}});
  CHECK(onnx::lint(path, {}, edits, &options).empty());
  CHECK(options.empty());

  ModelText counting;  // a range whose length is the open axis is no problem of its own
  counting.nodes = {node("Shape", {"x"}, {"shape"}), node("Gather", {"shape", "one"}, {"n"}),
                    node("Cast", {"n"}, {"real"}, {attr("to", 1)}), node("Range", {"zero", "real", "step"}, {"numbers"}),
                    node("Add", {"x", "numbers"}, {"y"})};
  counting.initializers = {ints("one", {}, {1}), floats("zero", {}, {0}), floats("step", {}, {1})};
  counting.inputs = {value("x", {1, "seq"})};
  counting.outputs = {untyped("y")};
  counting.infos = {value("real", {})};
  const std::string counted = folder.write("counted.onnx", counting.bytes());
  const auto problems = onnx::lint(counted);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == "onnx.input_shape");
  CHECK(onnx::lint(counted, {}, edits_of({{"--dim", "seq=3"}})).empty());
}

TEST_CASE("nodes may stand in any order", "[onnx][import]") {
  ModelText text;
  text.nodes = {node("Neg", {"h"}, {"y"}), node("Add", {"g", "g"}, {"h"}), node("Abs", {"x"}, {"g"})};
  text.inputs = {value("x", {1, 2})};
  text.outputs = {value("y", {1, 2})};
  const onnx::Model model = read(text, {});
  CHECK(outputs_at(model.graph, {{{1, 2}, {1, -3}}}) == std::vector<double>{-2, -6});
  CHECK(std::ranges::any_of(model.notes, [](const std::string& note) { return contains(note, "nodes stand before others"); }));
  std::ranges::reverse(text.nodes);
  CHECK(statement::graph_digest(model.graph) == statement::graph_digest(read(text, {}).graph));
}
