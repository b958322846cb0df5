// Every way in which a property can be bad: the code, the kind, the place and a piece of the message.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/catch.h"
#include "tests/frontends/vnnlib_support.h"

using namespace assay;
using namespace assay::vnnlib_test;
using Kind = Rejection::Kind;

namespace {

struct Bad {
  const char* title;
  std::string text;
  const char* code;
  Kind kind;
  const char* place;     // a piece of it
  const char* fragment;  // of the message in one line
};

const std::string kDeclared = constants(2, 2);  // four lines
const std::string kBounds = "(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= X_1 0))(assert (<= X_1 1))\n";
const std::string kGood = kDeclared + kBounds;  // five lines

std::string repeat(const std::string& piece, int times) {
  std::string text;
  for (int i = 0; i < times; ++i) {
    text += piece;
  }
  return text;
}

std::string asserted(const std::string& formula) { return kGood + "(assert " + formula + ")"; }

void check(const Bad& bad, const Graph& graph) {
  INFO(bad.title);
  const auto read = read_text(bad.text, graph);
  REQUIRE_FALSE(read.ok());
  const Rejection& why = read.rejection();
  INFO(why.to_text());
  CHECK(why.code == std::string("vnnlib.") + bad.code);
  CHECK(why.kind == bad.kind);
  CHECK(why.place.find(bad.place) != std::string::npos);
  CHECK(why.to_text().find(bad.fragment) != std::string::npos);
  CHECK_FALSE(why.advice.empty());  // what, where, and what to do
}

// Depth `n` of nested parentheses round one comparison or one variable.
std::string nested(const char* open, int n, const char* core) { return repeat(open, n) + core + repeat(")", n); }

}  // namespace

TEST_CASE("vnnlib: the file that the table below bends is good", "[vnnlib]") {
  const auto read = read_text(asserted("(<= Y_0 Y_1)"), network({1, 2}, {2}));
  REQUIRE(read.ok());
  CHECK(read.value().property.cases.size() == 1);
}

TEST_CASE("vnnlib: a model that takes several items at once is told from another model", "[vnnlib]") {
  const std::string text = constants(2, 2) + "(assert (<= Y_0 Y_1))";
  const std::string next = "(vnnlib-version <2.0>)(declare-network f (declare-input X float32 [1,2])(declare-output Y float32 [1,2]))";
  const std::string batch = "the model takes a batch of 3 items at once: export it with a batch of 1";
  for (const std::string& property : {text, next + "(assert (<= Y[0,0] 1))"}) {
    const auto one = read_text(property, network({3, 2}, {3, 2}));
    REQUIRE_FALSE(one.ok());
    CHECK(one.rejection().advice.starts_with(batch));
    const auto other = read_text(property, network({1, 4}, {1, 2}));
    REQUIRE_FALSE(other.ok());
    CHECK(other.rejection().advice.find("batch") == std::string::npos);
    const auto apart = read_text(property, network({3, 2}, {2, 2}));
    REQUIRE_FALSE(apart.ok());
    CHECK(apart.rejection().advice.find("batch") == std::string::npos);
  }
}

TEST_CASE("vnnlib: malformed and unsupported files of version 1.0", "[vnnlib]") {
  const Graph graph = network({1, 2}, {2});
  const Bad table[] = {
      {"empty file", "", "size_mismatch", Kind::malformed, "t.vnnlib", "none of X_0"},
      {"a comment only", "; nothing\n", "size_mismatch", Kind::malformed, "t.vnnlib", "none of X_0"},
      {"no assertion", kDeclared, "no_assertion", Kind::malformed, "line 5", "empty or cut off"},
      {"unclosed at the end", kGood + "(assert (<= Y_0 Y_1)", "syntax", Kind::malformed, "line 6, column 21", "the end of the file"},
      {"cut inside a comparison", kGood + "(assert (<= Y_0", "syntax", Kind::malformed, "line 6, column 16", "the end of the file"},
      {"cut inside a disjunction", kGood + "(assert (or (<= Y_0 1)", "syntax", Kind::malformed, "line 6", "not closed"},
      {"one parenthesis too many", asserted("(<= Y_0 Y_1)") + ")", "syntax", Kind::malformed, "line 6, column 22", "expected \"(\""},
      {"two formulas in one assertion", asserted("(<= Y_0 1) (<= Y_1 1)"), "syntax", Kind::malformed, "column 20", "after the formula"},
      {"a word outside parentheses", "declare-const X_0 Real", "syntax", Kind::malformed, "line 1, column 1", "declare-const"},
      {"a literal for a formula", asserted("true"), "syntax", Kind::malformed, "line 6, column 9", "\"true\""},
      {"an empty formula", asserted("()"), "syntax", Kind::malformed, "line 6, column 10", "and, or, or a comparison"},
      {"a byte that is no text", kGood + std::string("(assert (<= Y_0 \x01))"), "syntax", Kind::malformed, "line 6, column 17", "0x01"},
      {"a NUL byte", kGood + std::string("(\0)", 3), "syntax", Kind::malformed, "line 6, column 2", "0x00"},
      {"text that is not ASCII", kGood + "(assert (\xe2\x89\xa4 Y_0 1))", "syntax", Kind::malformed, "line 6, column 10", "0xe2"},
      {"an unclosed quote", kGood + "(assert \"", "syntax", Kind::malformed, "line 6", "never closed"},
      {"unknown command", kGood + "(check-sat)", "unknown_command", Kind::unsupported, "line 6, column 2", "check-sat"},
      {"unknown connective", asserted("(not (<= Y_0 1))"), "unknown_operator", Kind::unsupported, "line 6, column 10", "(> a b)"},
      {"implication", asserted("(=> (<= Y_0 1) (<= Y_1 1))"), "unknown_operator", Kind::unsupported, "line 6", "\"=>\""},
      {"empty or", asserted("(or)"), "arity", Kind::malformed, "line 6, column 10", "at least one operand of or"},
      {"empty and", asserted("(and)"), "arity", Kind::malformed, "line 6, column 10", "at least one operand of and"},
      {"comparison of three", asserted("(<= Y_0 Y_1 1)"), "arity", Kind::malformed, "line 6, column 21", "two sides"},
      {"comparison of one", asserted("(<= Y_0)"), "syntax", Kind::malformed, "line 6, column 16", "a number, a variable"},
      {"unknown variable", asserted("(<= Y_2 1)"), "unknown_variable", Kind::malformed, "line 6, column 13", "\"Y_2\""},
      {"a variable with a leading zero", asserted("(<= Y_00 1)"), "unknown_variable", Kind::malformed, "line 6", "\"Y_00\""},
      {"a variable far out", asserted("(<= X_99999999999999999999 1)"), "unknown_variable", Kind::malformed, "line 6", "\"X_9999"},
      {"use before declaration", "(assert (<= X_0 1))" + kGood, "unknown_variable", Kind::malformed, "line 1, column 13", "\"X_0\""},
      {"indices in version 1.0", asserted("(<= Y[0] 1)"), "unknown_variable", Kind::malformed, "line 6", "\"Y\""},
      {"declared twice", kDeclared + "(declare-const X_1 Real)", "duplicate_declaration", Kind::malformed, "line 5, column 16", "\"X_1\""},
      {"another name", "(declare-const Z_0 Real)", "variable_name", Kind::malformed, "line 1, column 16", "\"Z_0\""},
      {"another type", "(declare-const X_0 Int)", "element_type", Kind::unsupported, "line 1, column 20", "\"Int\""},
      {"too many inputs", kDeclared + "(declare-const X_2 Real)", "size_mismatch", Kind::malformed, "line 5", "2 input elements"},
      {"too many outputs", kDeclared + "(declare-const Y_2 Real)", "size_mismatch", Kind::malformed, "line 5", "2 output elements"},
      {"an output undeclared", constants(2, 1) + kBounds, "size_mismatch", Kind::malformed, "t.vnnlib", "none of Y_1"},
      {"no lower bound", kDeclared + "(assert (>= X_0 0))(assert (<= X_0 1))(assert (<= X_1 1))", "unbounded_input", Kind::malformed,
       "t.vnnlib", "input X_1 has no lower bound"},
      {"no upper bound", kDeclared + "(assert (>= X_0 0))(assert (>= X_1 1))", "unbounded_input", Kind::malformed, "t.vnnlib",
       "input X_0 has no upper bound"},
      {"a bound in one case only", kDeclared + "(assert (or (and (>= X_0 0) (<= X_0 1)) (<= Y_0 1)))(assert (>= X_1 0))(assert (<= X_1 1))",
       "unbounded_input", Kind::malformed, "t.vnnlib", "input X_0 has no lower bound"},
      {"a bound through another input", kDeclared + "(assert (>= X_0 0))(assert (<= X_0 1))(assert (>= X_1 0))(assert (<= X_1 X_0))",
       "unbounded_input", Kind::malformed, "t.vnnlib", "input X_1 has no upper bound"},
      {"division", asserted("(<= (/ X_0 3) 1)"), "unknown_operator", Kind::unsupported, "line 6, column 14", "quotient"},
      {"unknown function", asserted("(<= (max X_0 3) 1)"), "unknown_operator", Kind::unsupported, "line 6", "\"max\""},
      {"sum of nothing", asserted("(<= (+) 1)"), "syntax", Kind::malformed, "line 6", "a number, a variable"},
      {"NaN", asserted("(<= Y_0 NaN)"), "number", Kind::malformed, "line 6, column 17", "a finite decimal number"},
      {"infinity", asserted("(<= Y_0 -inf)"), "number", Kind::malformed, "line 6, column 17", "a finite decimal number"},
      {"a fraction", asserted("(<= Y_0 1/3)"), "number", Kind::malformed, "line 6", "a finite decimal number"},
      {"a hexadecimal number", asserted("(<= Y_0 0x10)"), "number", Kind::malformed, "line 6", "a finite decimal number"},
      {"two points", asserted("(<= Y_0 1.2.3)"), "number", Kind::malformed, "line 6", "a finite decimal number"},
      {"a point alone", asserted("(<= Y_0 .)"), "number", Kind::malformed, "line 6", "a finite decimal number"},
      {"an exponent without digits", asserted("(<= Y_0 1e)"), "number", Kind::malformed, "line 6", "a finite decimal number"},
      {"exponent bomb", asserted("(<= Y_0 1e999999999)"), "number", Kind::malformed, "line 6, column 17", "an exponent from -400 to 400"},
      {"negative exponent bomb", asserted("(<= Y_0 1e-99999999999999999999999)"), "number", Kind::malformed, "line 6", "an exponent"},
      {"number too long", asserted("(<= Y_0 " + repeat("1", 1201) + ")"), "number", Kind::malformed, "line 6", "1200 characters"},
      {"product of large numbers", asserted("(<= Y_0 (* " + repeat("1e400 ", 20) + "))"), "number_too_long", Kind::unsupported, "line 6",
       "4000 digits"},
      {"explosion", asserted("(and " + repeat("(or (<= Y_0 1) (<= Y_1 1))", 40) + ")"), "too_many_cases", Kind::declined, "line 6",
       "literals of the disjunctive normal form"},
      {"explosion over assertions", kGood + repeat("(assert (or (<= Y_0 1) (<= Y_1 1)))", 40), "too_many_cases", Kind::declined, "line 6",
       "split the property"},
      {"deep formula", asserted(nested("(and ", 501, "(<= Y_0 1)")), "nesting", Kind::unsupported, "line 6", "500 nested"},
      {"bottomless formula", kGood + "(assert " + repeat("(or ", 1000000), "nesting", Kind::unsupported, "line 6", "500 nested"},
      {"deep expression", asserted("(<= Y_0 " + nested("(- ", 501, "1") + ")"), "nesting", Kind::unsupported, "line 6", "500 nested"},
      {"bottomless expression", kGood + "(assert (<= " + repeat("(", 1000000), "syntax", Kind::malformed, "line 6", "+, - or *"},
      {"version 2 after a start", kGood + "(vnnlib-version <2.0>)", "version", Kind::malformed, "line 6", "before everything else"},
      {"version 2 without its version", "(declare-network f)", "version", Kind::malformed, "line 1", "vnnlib-version"},
  };
  for (const Bad& bad : table) {
    check(bad, graph);
  }
}

TEST_CASE("vnnlib: every prefix of a good file is refused or whole", "[vnnlib]") {
  const Graph graph = network({1, 2}, {2});
  const std::string text = asserted("(or (and (<= Y_0 (+ Y_1 1e-3)) (>= X_0 .5)) (> Y_0 2))");
  std::size_t accepted = 0;
  for (std::size_t length = 0; length <= text.size(); ++length) {
    const auto read = read_text(text.substr(0, length), graph);
    accepted += read.ok() ? 1 : 0;
    CHECK((read.ok() || read.rejection().code.rfind("vnnlib.", 0) == 0));
  }
  // The whole text, and the text up to the last of the four bounds with and without the line end.
  CHECK(accepted == 3);
}

TEST_CASE("vnnlib: malformed and unsupported files of version 2", "[vnnlib]") {
  const Graph graph = network({1, 2}, {2});
  const std::string version = "(vnnlib-version <2.0>)\n";
  const std::string head = version + "(declare-network f (declare-input X real [1,2]) (declare-output Y Real [2]))\n";
  const std::string bounds = "(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] 0) (<= X[0,1] 1)))\n";
  const auto network_of = [&](const std::string& body) { return version + "(declare-network f " + body + ")\n" + bounds; };
  const Bad table[] = {
      {"unknown version", "(vnnlib-version <3.0>)", "version", Kind::unsupported, "line 1, column 17", "\"<3.0>\""},
      {"no version number", "(vnnlib-version two)", "version", Kind::malformed, "line 1", "\"two\""},
      {"no network", version, "network_missing", Kind::malformed, "t.vnnlib", "declare-network"},
      {"constants of version 1.0", version + "(declare-const X_0 Real)", "unknown_command", Kind::unsupported, "line 2", "declare-network"},
      {"hidden node", network_of("(declare-input X real [1,2]) (declare-hidden H real [3] \"h\") (declare-output Y real [2])"),
       "hidden_nodes", Kind::unsupported, "line 2, column 50", "theory of hidden nodes"},
      {"two networks", head + "(declare-network g (equal-to f) (declare-input A real [1,2]) (declare-output B real [2]))",
       "multiple_networks", Kind::unsupported, "line 3, column 18", "theory of multiple networks"},
      {"initialized input", network_of("(declare-input X real [1,2] initialized) (declare-output Y real [2])"), "initialized_input",
       Kind::unsupported, "line 2", "theory of initialized inputs"},
      {"wrong shape", network_of("(declare-input X real [2]) (declare-output Y real [2])"), "shape_mismatch", Kind::malformed,
       "line 2, column 35", "X of the network's shape [1, 2], found shape [2]"},
      {"wrong type", network_of("(declare-input X float64 [1,2]) (declare-output Y real [2])"), "type_mismatch", Kind::malformed, "line 2",
       "element type float32, found element type float64"},
      {"unknown type", network_of("(declare-input X reals [1,2]) (declare-output Y real [2])"), "element_type", Kind::malformed, "line 2",
       "\"reals\""},
      {"too many inputs", network_of("(declare-input X real [1,2]) (declare-input Z real [1]) (declare-output Y real [2])"),
       "size_mismatch", Kind::malformed, "line 2, column 64", "the network's 1 input"},
      {"no output", network_of("(declare-input X real [1,2])"), "size_mismatch", Kind::malformed, "line 2", "the network's 1 output"},
      {"name taken", network_of("(declare-input X real [1,2]) (declare-output X real [2])"), "duplicate_declaration", Kind::malformed,
       "line 2", "\"X\""},
      {"bad name", network_of("(declare-input 0X real [1,2])"), "variable_name", Kind::malformed, "line 2", "\"0X\""},
      {"unknown ONNX name", network_of("(declare-input X real [1,2] \"other\") (declare-output Y real [2])"), "onnx_name", Kind::malformed,
       "line 2", "\"other\""},
      {"unknown option", network_of("(declare-input X real [1,2] fixed)"), "syntax", Kind::malformed, "line 2", "\"fixed\""},
      {"a negative extent", network_of("(declare-input X real [1,-2])"), "syntax", Kind::malformed, "line 2", "\"-2\""},
      {"a shape cut off", version + "(declare-network f (declare-input X real [1,", "syntax", Kind::malformed, "line 2",
       "the end of the file"},
      {"declaration after assertion", head + bounds + "(declare-network g)", "syntax", Kind::malformed, "line 4",
       "before the first assertion"},
      {"no index", head + "(assert (<= Y 1))", "index", Kind::malformed, "line 3, column 15", "shape [2]"},
      {"too few indices", head + "(assert (<= X[0] 1))", "index", Kind::malformed, "line 3", "one index per axis of X with shape [1, 2]"},
      {"index out of range", head + "(assert (<= X[0,2] 1))", "index", Kind::malformed, "line 3", "X[0, 2]"},
      {"index that is no integer", head + "(assert (<= X[0,1.0] 1))", "syntax", Kind::malformed, "line 3", "\"1.0\""},
      {"unknown variable", head + "(assert (<= Z[0] 1))", "unknown_variable", Kind::malformed, "line 3", "\"Z\""},
      {"an input without bounds", head + "(assert (<= X[0,0] 1))(assert (>= X[0,0] 0))", "unbounded_input", Kind::unsupported, "t.vnnlib",
       "input X[0,1] has no lower bound"},
  };
  for (const Bad& bad : table) {
    check(bad, graph);
  }
}

TEST_CASE("vnnlib: left out, a polynomial comparison leaves the region of all the others", "[vnnlib]") {
  const Graph graph = network({1, 2}, {1});
  const vnnlib::NetworkShape shape{"f", &graph};
  const std::string head = "(vnnlib-version 2.0)(declare-network f (declare-input X real [1,2]) (declare-output Y Real [1]))";
  const std::string box = "(assert (and (>= X[0,0] 0) (<= X[0,0] 20) (>= X[0,1] -2) (<= X[0,1] 3)))";
  const auto read = [&](const std::string& asserts, vnnlib::Polynomials polynomials) {
    return vnnlib::read_property_text(head + asserts, "t.vnnlib", std::span(&shape, 1), polynomials);
  };
  const std::string square = "(>= (* 2 (- X[0,0] 1)) (* X[0,1] (* X[0,1] 3)))";
  const std::string texts[] = {box + "(assert (and " + square + " (<= Y[0] 1)))", box + "(assert (or (and " + square + " (<= Y[0] 1))))"};
  const auto plain = read(box + "(assert (<= Y[0] 1))", vnnlib::Polynomials::state);
  REQUIRE(plain.ok());
  CHECK(plain.value().notes.empty());
  for (const std::string& text : texts) {
    const auto stated = read(text, vnnlib::Polynomials::state);
    REQUIRE(stated.ok());
    CHECK(stated.value().property.cases[0].rows.size() == 2);
    CHECK(stated.value().graph.has_value());
    const auto larger = read(text, vnnlib::Polynomials::leave_out);
    REQUIRE(larger.ok());
    CHECK_FALSE(larger.value().graph.has_value());
    REQUIRE(larger.value().property.cases.size() == 1);
    const statement::Case &one = larger.value().property.cases[0], &same = plain.value().property.cases[0];
    CHECK(one.box->lo == same.box->lo);
    CHECK(one.box->hi == same.box->hi);
    REQUIRE(one.rows.size() == 1);
    CHECK(one.rows[0].bound == same.rows[0].bound);
    REQUIRE(larger.value().notes.size() == 1);
    CHECK(larger.value().notes[0].find("1 comparison") == 0);
  }
  // A disjunct that is only polynomial leaves no condition at all.
  const auto all = read(box + "(assert (or " + square + " (<= Y[0] 1)))", vnnlib::Polynomials::leave_out);
  REQUIRE(all.ok());
  CHECK(all.value().property.cases.front().rows.empty());
}

TEST_CASE("vnnlib: networks that do not fit the query", "[vnnlib]") {
  const Graph graph = network({1, 2}, {2});
  const std::string text =
      "(vnnlib-version 2.0)(declare-network f (declare-input X real [1,2]) (declare-output Y Real [2]))"
      "(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] 0) (<= X[0,1] 1) (<= Y[0] Y[1])))";
  CHECK(read_text(text, graph).ok());
  CHECK(read_text(text, graph, "f").ok());
  const auto other_name = read_text(text, graph, "g");
  REQUIRE_FALSE(other_name.ok());
  CHECK(other_name.rejection().code == "vnnlib.network_missing");
  CHECK(other_name.rejection().advice.find("--network f=FILE") != std::string::npos);

  const auto none = vnnlib::read_property_text(text, "t.vnnlib", {});
  REQUIRE_FALSE(none.ok());
  CHECK(none.rejection().code == "vnnlib.network_missing");

  const vnnlib::NetworkShape two[] = {{"f", &graph}, {"g", &graph}};
  const auto surplus = vnnlib::read_property_text(text, "t.vnnlib", two);
  REQUIRE_FALSE(surplus.ok());
  CHECK(surplus.rejection().code == "vnnlib.multiple_networks");

  const Graph huge = network({1 << 20, 1 << 20}, {1});
  const auto too_large = read_text(text, huge);
  REQUIRE_FALSE(too_large.ok());
  CHECK(too_large.rejection().code == "vnnlib.network_too_large");
}

TEST_CASE("vnnlib: a file that is missing, and gzip cut off", "[vnnlib]") {
  namespace fs = std::filesystem;
  const Graph graph = network({1, 2}, {2});
  const vnnlib::NetworkShape shape{"", &graph};
  const auto missing = vnnlib::read_property("no/such/file.vnnlib", std::span(&shape, 1));
  REQUIRE_FALSE(missing.ok());
  CHECK(missing.rejection().code == "files.open");

  // A gzip header and the first bytes of a stored block that promises more.
  const unsigned char cut[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3, 1, 0xff, 0, 0, 0xff, '(', 'a'};
  const fs::path path = fs::temp_directory_path() /
                        ("assay_vnnlib_cut_" + std::to_string(std::hash<std::string>()(fs::current_path().string())) + ".vnnlib.gz");
  std::ofstream(path, std::ios::binary).write(reinterpret_cast<const char*>(cut), sizeof cut);
  const auto read = vnnlib::read_property(path.string(), std::span(&shape, 1));
  fs::remove(path);
  REQUIRE_FALSE(read.ok());
  CHECK(read.rejection().code == "files.gzip");
  CHECK(read.rejection().kind == Kind::malformed);
}

TEST_CASE("vnnlib: bent files are read or refused, never worse", "[vnnlib]") {
  constexpr unsigned kSeed = 20240607;
  constexpr int kRounds = 4000;
  std::mt19937 random(kSeed);
  const Graph graph = network({1, 2}, {2});
  const std::string pieces[] = {"(", ")",   "(or ", "(and ", "(* ", "(- ", "[",  "]",  ",",      "\"",
                                ";", "X_0", "Y[1]", "1e400", "-",   "\n",  "<=", "!=", "assert", std::string(1, '\0')};
  const std::string sources[] = {asserted("(or (and (<= Y_0 (+ Y_1 (* 2 X_0))) (>= X_0 .5)) (> Y_0 2))"),
                                 "(vnnlib-version 2.0)(declare-network f (declare-input X real [1,2]) (declare-output Y Real [2]))"
                                 "(assert (and (>= X[0,0] 0) (<= X[0,0] 1) (>= X[0,1] 0) (<= X[0,1] 1) (<= Y[0] Y[1])))"};
  std::size_t refused = 0;
  for (int round = 0; round < kRounds; ++round) {
    std::string text = sources[static_cast<std::size_t>(round % 2)];
    for (unsigned edits = 1 + random() % 4; edits != 0; --edits) {
      const std::size_t at = random() % text.size();
      text.replace(at, random() % 6, pieces[random() % std::size(pieces)]);
    }
    const auto read = read_text(text, graph);
    refused += read.ok() ? 0 : 1;
    CHECK((read.ok() || (read.rejection().code.rfind("vnnlib.", 0) == 0 && read.rejection().place.rfind("t.vnnlib", 0) == 0)));
  }
  CHECK(refused > kRounds / 2);
}
