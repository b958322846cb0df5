#include "semantics/statement/statement.h"

#include <functional>
#include <map>
#include <set>

#include "tests/catch.h"
#include "tests/semantics/graph_mutations.h"

using namespace assay;
using namespace assay::statement;

namespace {

// Two inputs of 2 and 1 elements, one output of 2; two cases that share a box.
Statement small_statement() {
  Statement statement;
  Graph& graph = statement.graph;
  const NodeId a = graph.append_input(DType::float32, {2}, "a"), b = graph.append_input(DType::float32, {1}, "b");
  graph.mark_output(graph.append(Op::add, {a, b}).value(), "y");
  const auto box = std::make_shared<InputBox>();
  box->lo = {Rational(-1), Rational(0), Rational(1, 3)};
  box->hi = {Rational(1), Rational(0), Rational(1, 2)};
  const Variable y0{Variable::Side::output, 0, 0}, y1{Variable::Side::output, 0, 1}, a1{Variable::Side::input, 0, 1};
  const Row first{{{Rational(1), y0}, {Rational(-1), y1}, {Rational(2), a1}}, Rational(7, 10), false};
  const Row second{{{Rational(-1), y0}}, Rational(0), true};
  statement.property.cases = {{box, {first, second}}, {box, {second}}};
  statement.sources = {{"model", "model.onnx", sha256({})}};
  return statement;
}

using Mutation = std::pair<const char*, std::function<void(Statement&)>>;

InputBox& own_box(Statement& s, std::size_t i) {
  const auto copy = std::make_shared<InputBox>(*s.property.cases[i].box);
  s.property.cases[i].box = copy;
  return *copy;
}

}  // namespace

TEST_CASE("a well-formed statement has no defects", "[statement]") { CHECK(validate(small_statement()).empty()); }

TEST_CASE("validate finds each planted defect of a statement", "[statement]") {
  struct {
    const char* what;
    std::function<void(Statement&)> plant;
    const char* code;
    const char* place;
  } const rows[] = {
      {"broken graph", [](Statement& s) { s.graph.nodes[2].shape = {3}; }, "graph.type", "node 2"},
      {"complex input",
       [](Statement& s) {
         s.graph.append_input(DType::complex64, {1}, "token");
         for (int i : {0, 1}) own_box(s, static_cast<std::size_t>(i)).lo.push_back(Rational(0));
         for (int i : {0, 1}) own_box(s, static_cast<std::size_t>(i)).hi.push_back(Rational(0));
       },
       "statement.input_dtype", "input node 3 'token'"},
      {"complex output",
       [](Statement& s) {
         const auto one = std::make_shared<const std::vector<std::byte>>(8, std::byte{0});
         s.graph.mark_output(s.graph.append_constant(Tensor(DType::complex64, {1}, one), "flag"), "flag");
       },
       "statement.output_dtype", "output node 3 'flag'"},
      {"no cases", [](Statement& s) { s.property.cases.clear(); }, "statement.no_case", "property"},
      {"no box", [](Statement& s) { s.property.cases[1].box = nullptr; }, "statement.no_box", "case 1"},
      {"lower bound missing", [](Statement& s) { own_box(s, 1).lo.pop_back(); }, "statement.box_size", "case 1"},
      {"upper bound too many", [](Statement& s) { own_box(s, 0).hi.push_back(Rational(0)); }, "statement.box_size", "case 0"},
      {"no such input tensor", [](Statement& s) { s.property.cases[0].rows[0].terms[2].variable.tensor = 2; }, "statement.variable",
       "case 0, row 0, term 2"},
      {"no such output tensor", [](Statement& s) { s.property.cases[1].rows[0].terms[0].variable.tensor = 1; }, "statement.variable",
       "case 1, row 0, term 0"},
      {"no such input element",
       [](Statement& s) {
         s.property.cases[0].rows[0].terms[2].variable = {Variable::Side::input, 1, 1};
       },
       "statement.variable", "case 0, row 0, term 2"},
      {"no such output element", [](Statement& s) { s.property.cases[0].rows[1].terms[0].variable.element = 2; }, "statement.variable",
       "case 0, row 1, term 0"},
      {"coefficient 0", [](Statement& s) { s.property.cases[0].rows[0].terms[1].coefficient = Rational(0); }, "statement.zero_coefficient",
       "case 0, row 0, term 1"},
      {"variable twice", [](Statement& s) { s.property.cases[0].rows[0].terms[1].variable.element = 0; }, "statement.repeated_variable",
       "case 0, row 0, term 1"},
  };
  for (const auto& row : rows) {
    CAPTURE(row.what);
    Statement statement = small_statement();
    row.plant(statement);
    const std::vector<Rejection> problems = validate(statement);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == row.code);
    CHECK(problems[0].place.find(row.place) == 0);
  }
}

TEST_CASE("integer and boolean inputs and outputs are statements", "[statement][integers]") {
  Statement statement = small_statement();
  for (const DType dtype : {DType::int64, DType::uint8, DType::boolean}) {
    statement.graph.mark_output(statement.graph.append_input(dtype, {1}, "token"), "token");
    for (const std::size_t i : {0, 1}) {
      InputBox& box = own_box(statement, i);
      box.lo.push_back(Rational(1, 2));
      box.hi.push_back(Rational(3, 2));
    }
  }
  CHECK(validate(statement).empty());
}

TEST_CASE("a box that is empty and a row without terms are statements", "[statement]") {
  Statement statement = small_statement();
  own_box(statement, 0).lo[0] = Rational(2);
  statement.property.cases[1].rows.push_back({{}, Rational(-1), false});
  CHECK(validate(statement).empty());
}

TEST_CASE("the statement digest changes with every part of the meaning", "[statement]") {
  const Mutation mutations[] = {
      {"box lower end", [](Statement& s) { own_box(s, 0).lo[2] = Rational(1, 4); }},
      {"box upper end", [](Statement& s) { own_box(s, 0).hi[2] = Rational(1); }},
      {"box of the other case", [](Statement& s) { own_box(s, 1).hi[2] = Rational(1); }},
      {"ends exchanged",
       [](Statement& s) {
         InputBox& box = own_box(s, 0);
         std::swap(box.lo, box.hi);
       }},
      {"coefficient", [](Statement& s) { s.property.cases[0].rows[0].terms[0].coefficient = Rational(1, 2); }},
      {"sign", [](Statement& s) { s.property.cases[0].rows[0].terms[0].coefficient = Rational(-1); }},
      {"variable's element", [](Statement& s) { s.property.cases[0].rows[1].terms[0].variable.element = 1; }},
      {"variable's side", [](Statement& s) { s.property.cases[0].rows[1].terms[0].variable.side = Variable::Side::input; }},
      {"variable's tensor",
       [](Statement& s) {
         s.property.cases[0].rows[0].terms[2].variable = {Variable::Side::input, 1, 0};
       }},
      {"bound", [](Statement& s) { s.property.cases[0].rows[0].bound = Rational(70000001, 100000000); }},
      {"strictness", [](Statement& s) { s.property.cases[0].rows[0].strict = true; }},
      {"term dropped", [](Statement& s) { s.property.cases[0].rows[0].terms.pop_back(); }},
      {"row dropped", [](Statement& s) { s.property.cases[0].rows.pop_back(); }},
      {"rows exchanged", [](Statement& s) { std::swap(s.property.cases[0].rows[0], s.property.cases[0].rows[1]); }},
      {"case dropped", [](Statement& s) { s.property.cases.pop_back(); }},
      {"cases exchanged", [](Statement& s) { std::swap(s.property.cases[0], s.property.cases[1]); }},
      {"row moved to the other case",
       [](Statement& s) {
         s.property.cases[1].rows.insert(s.property.cases[1].rows.begin(), s.property.cases[0].rows.back());
         s.property.cases[0].rows.pop_back();
       }},
      {"graph", [](Statement& s) { s.graph.nodes[2].op = Op::sub; }},
      {"kind", [](Statement& s) { s.semantics.kind = ExecutionModel::Kind::floating; }},
      {"format", [](Statement& s) { s.semantics.format = ExecutionModel::Format::binary64; }},
      {"flush of operands", [](Statement& s) { s.semantics.flush_operands = true; }},
      {"flush of results", [](Statement& s) { s.semantics.flush_results = true; }},
      {"fused multiply-add", [](Statement& s) { s.semantics.fused_multiply_add = false; }},
      {"accumulator", [](Statement& s) { s.semantics.accumulator = ExecutionModel::Accumulator::left_to_right; }},
      {"bias", [](Statement& s) { s.semantics.bias_in_product = false; }},
      {"math table", [](Statement& s) { s.semantics.math_table = "cuda-13"; }},
  };
  std::set<Digest> seen = {statement_digest(small_statement())};
  for (const auto& [name, mutate] : mutations) {
    CAPTURE(name);
    Statement changed = small_statement();
    mutate(changed);
    CHECK(seen.insert(statement_digest(changed)).second);
  }
}

TEST_CASE("the statement digest ignores what has no meaning", "[statement]") {
  const Digest original = statement_digest(small_statement());
  const Mutation mutations[] = {
      {"names", [](Statement& s) { test::rename_everything(s.graph); }},
      {"sources", [](Statement& s) { s.sources.clear(); }},
      {"order of terms", [](Statement& s) { std::swap(s.property.cases[0].rows[0].terms[0], s.property.cases[0].rows[0].terms[2]); }},
      {"sharing of boxes", [](Statement& s) { own_box(s, 1); }},
  };
  for (const auto& [name, mutate] : mutations) {
    CAPTURE(name);
    Statement changed = small_statement();
    mutate(changed);
    CHECK(statement_digest(changed) == original);
  }
}

TEST_CASE("the graph digest tells all graphs of the mutation list apart, but not names", "[statement]") {
  const Graph original = test::network_of_all_attributes();
  std::map<Digest, std::string> seen = {{graph_digest(original), "original"}};
  for (const auto& [name, mutate] : test::graph_mutations()) {
    Graph changed = original;
    mutate(changed);
    const auto [place, is_new] = seen.try_emplace(graph_digest(changed), name);
    CAPTURE(name, place->second);
    CHECK(is_new);
  }
  Graph renamed = original;
  test::rename_everything(renamed);
  CHECK(graph_digest(renamed) == graph_digest(original));
  CHECK(graph_digest(original) == sha256(canonical_bytes(original)));
}
