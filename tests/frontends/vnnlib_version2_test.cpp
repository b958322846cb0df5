// Version 2: declarations, binding of tensors, and witnesses as text.
#include "frontends/vnnlib/read.h"

#include "tests/catch.h"
#include "tests/frontends/vnnlib_support.h"

using namespace assay;
using namespace assay::vnnlib_test;
using statement::Variable;

namespace {

// Two inputs "a" [2] and "b" [1, 2], two outputs "p" [] and "q" [3].
Graph two_by_two() {
  Graph graph;
  const auto add = [&](const char* name, Shape shape, std::vector<NodeId>& list, std::vector<std::string>& names) {
    Node node;
    node.shape = std::move(shape);
    list.push_back(static_cast<NodeId>(graph.nodes.size()));
    graph.nodes.push_back(std::move(node));
    names.emplace_back(name);
  };
  add("a", {2}, graph.inputs, graph.input_names);
  add("b", {1, 2}, graph.inputs, graph.input_names);
  add("p", {}, graph.outputs, graph.output_names);
  add("q", {3}, graph.outputs, graph.output_names);
  return graph;
}

const char* const kAssertions =
    "(assert (and (>= A[0] 0) (<= A[0] 1) (>= A[1] 2) (<= A[1] 3) (>= B[0,0] 4) (<= B[0,0] 5) (>= B [ 0 , 1 ] 6) (<= B[0,1] 7)))"
    "(assert (<= (+ P (* 2 Q[2])) B[0,1]))";

void check_cases(const statement::Property& property) {
  REQUIRE(property.cases.size() == 1);
  const statement::Case& only = property.cases[0];
  CHECK(only.box->lo == std::vector<Rational>{0, 2, 4, 6});
  CHECK(only.box->hi == std::vector<Rational>{1, 3, 5, 7});
  REQUIRE(only.rows.size() == 1);
  const std::vector<statement::Term>& terms = only.rows[0].terms;
  REQUIRE(terms.size() == 3);
  CHECK((terms[0].variable.side == Variable::Side::input && terms[0].variable.tensor == 1 && terms[0].variable.element == 1));
  CHECK(terms[0].coefficient == Rational(-1));
  CHECK((terms[1].variable.side == Variable::Side::output && terms[1].variable.tensor == 0 && terms[1].variable.element == 0));
  CHECK((terms[2].variable.side == Variable::Side::output && terms[2].variable.tensor == 1 && terms[2].variable.element == 2));
  CHECK(terms[2].coefficient == Rational(2));
}

}  // namespace

TEST_CASE("vnnlib 2: tensors are bound by order", "[vnnlib]") {
  const Graph graph = two_by_two();
  const auto read = read_text(std::string("(vnnlib-version <2.0>)(declare-network n (declare-input A real [2])(declare-input B Real [1,2])"
                                          "(declare-output P real [])(declare-output Q real [3]))") +
                                  kAssertions,
                              graph);
  INFO((read ? std::string() : read.rejection().to_text()));
  REQUIRE(read.ok());
  check_cases(read.value().property);
  CHECK(read.value().version == "2.0");
  CHECK(read.value().declared_real);
  CHECK(read.value().declared_type == "real, Real");
  CHECK(read.value().input_names == std::vector<std::string>{"A", "B"});
  CHECK(read.value().output_names == std::vector<std::string>{"P", "Q"});
}

TEST_CASE("vnnlib 2: tensors are bound by ONNX names", "[vnnlib]") {
  const Graph graph = two_by_two();
  const auto read = read_text(
      std::string("(vnnlib-version <2.1>)(declare-network n (declare-input B float32 [1,2] \"b\")(declare-input A float32 [2] :onnx \"a\")"
                  "(declare-output Q float32 [3] \"q\")(declare-output P float32 [] \"p\"))") +
          kAssertions,
      graph);
  INFO((read ? std::string() : read.rejection().to_text()));
  REQUIRE(read.ok());
  check_cases(read.value().property);
  CHECK(read.value().version == "2.1");
  CHECK_FALSE(read.value().declared_real);
  CHECK(read.value().declared_type == "float32");
  CHECK(read.value().input_names == std::vector<std::string>{"A", "B"});
  CHECK(read.value().declarations.at(0).name == "B");
}

TEST_CASE("vnnlib 2: names for some tensors only, or the same name twice", "[vnnlib]") {
  const Graph graph = two_by_two();
  for (const char* inputs :
       {"(declare-input A real [2] \"a\")(declare-input B real [1,2])", "(declare-input A real [2])(declare-input B real [1,2] \"b\")",
        "(declare-input A real [2] \"a\")(declare-input B real [2] \"a\")"}) {
    INFO(inputs);
    const auto read = read_text(
        std::string("(vnnlib-version <2.0>)(declare-network n ") + inputs + "(declare-output P real [])(declare-output Q real [3]))",
        graph);
    REQUIRE_FALSE(read.ok());
    CHECK(read.rejection().code == "vnnlib.onnx_name");
  }
}

TEST_CASE("vnnlib: a witness in the form of version 1.0", "[vnnlib]") {
  const std::vector<Rational> inputs{Rational(1, 8), Rational(-3), *Rational::parse("0.6")};
  const std::vector<double> outputs{-0.1, 1e-7, 2};
  CHECK(vnnlib::write_assignment_v1(inputs, outputs) == "((X_0 0.125)\n (X_1 -3)\n (X_2 0.6)\n (Y_0 -0.1)\n (Y_1 0.0000001)\n (Y_2 2))\n");
  CHECK(vnnlib::write_assignment_v1(std::vector<Rational>{Rational(1, 3)}, {}) == "((X_0 0.3333333333333333))\n");
}

TEST_CASE("vnnlib: a witness in the form of version 2", "[vnnlib]") {
  vnnlib::PropertyFile file;
  file.declarations = {{Variable::Side::input, 1, "B", "real", {1, 2}},
                       {Variable::Side::input, 0, "A", "real", {2}},
                       {Variable::Side::output, 0, "P", "float32", {}}};
  const std::vector<Rational> inputs{1, 2, Rational(5, 2), Rational(-1, 4)};
  CHECK(vnnlib::write_assignment_v2(file, inputs, std::vector<double>{0.5}) ==
        "B real [1,2]\n2.5\n-0.25\nA real [2]\n1\n2\nP float32 []\n0.5\n");
}

TEST_CASE("vnnlib: integer tensors are declared with their type, or in version 1.0 as Real", "[vnnlib][integers]") {
  const auto read = [](const char* input, const char* output, DType dtype = DType::int64) {
    return read_text(std::string("(vnnlib-version <2.0>)(declare-network n (declare-input X ") + input + " [1])(declare-output Y " +
                         output + " [1]))(assert (and (>= X[0] 0.5) (<= X[0] 0.75) (<= Y[0] 1)))",
                     network({1}, {1}, dtype));
  };
  REQUIRE(read("int64", "int64").ok());
  CHECK(read("int64", "int64").value().declared_real);
  CHECK(read("bool", "bool", DType::boolean).value().declared_real);
  CHECK(read("int64", "real").value().declared_real);  // an integer is a real number
  for (const char* other : {"real", "Real", "int32", "float32"}) {
    CAPTURE(other);
    REQUIRE_FALSE(read(other, "int64").ok());
    CHECK(read(other, "int64").rejection().code == "vnnlib.type_mismatch");
  }
  CHECK(read("real", "int64").rejection().advice == "the tensor takes no other values: declare it int64");
  CHECK_FALSE(read("float32", "float32", DType::float32).value().declared_real);
  const std::vector<std::string> note = {"empty input box: X[0] >= 0.5 and <= 0.75, which holds no value of the input's type"};
  CHECK(read("int64", "int64").value().notes == note);
  CHECK(read("float32", "float32", DType::float32).value().notes.empty());
  CHECK(read_text(constants(1, 1) + "(assert (>= X_0 0)) (assert (<= X_0 1)) (assert (<= Y_0 1))", network({1}, {1}, DType::int64)).ok());
}
