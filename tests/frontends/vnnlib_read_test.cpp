// The meaning of a well-formed property: cases, boxes, rows, strictness.
#include "frontends/vnnlib/read.h"

#include "tests/catch.h"
#include "tests/frontends/vnnlib_support.h"

using namespace assay;
using namespace assay::vnnlib_test;
using statement::Variable;

namespace {

const char* const kUnitBox = "(assert (>= X_0 -1))(assert (<= X_0 1))(assert (>= X_1 -2))(assert (<= X_1 2))";

// A property with inputs X_0 in [-1, 1], X_1 in [-2, 2], outputs Y_0 .. Y_2 and these assertions.
statement::Property with_box(const std::string& assertions) {
  const Graph graph = network({1, 2}, {1, 3});
  const Outcome<vnnlib::PropertyFile> read = read_text(constants(2, 3) + kUnitBox + assertions, graph);
  INFO((read ? std::string() : read.rejection().to_text()));
  REQUIRE(read.ok());
  return read.value().property;
}

Rational number(const char* text) { return *Rational::parse(text); }

// "2*X_0 -1*Y_1 <= 3": a row, for comparison in one piece.
std::string show(const statement::Row& row) {
  std::string text;
  for (const statement::Term& term : row.terms) {
    text += term.coefficient.to_string() + (term.variable.side == Variable::Side::input ? "*X_" : "*Y_") +
            std::to_string(term.variable.element) + " ";
  }
  return text + (row.strict ? "< " : "<= ") + row.bound.to_string();
}

std::vector<std::string> show(const statement::Case& c) {
  std::vector<std::string> rows;
  for (const statement::Row& row : c.rows) {
    rows.push_back(show(row));
  }
  return rows;
}

using Rows = std::vector<std::string>;

}  // namespace

TEST_CASE("vnnlib: bounds of single inputs make the box, exactly", "[vnnlib]") {
  const Graph graph = network({1, 2}, {1, 1});
  const auto read = read_text(constants(2, 1) +
                                  "(assert (<= X_0 0.700434925)) (assert (>= X_0 -0.129289109))\n"
                                  "(assert (>= 2.5e-3 X_1)) (assert (<= -12e1 X_1)) (assert (<= Y_0 0))",
                              graph);
  REQUIRE(read.ok());
  REQUIRE(read.value().property.cases.size() == 1);
  const statement::Case& only = read.value().property.cases.front();
  CHECK(only.box->lo == std::vector<Rational>{Rational(-129289109, 1000000000), Rational(-120)});
  CHECK(only.box->hi == std::vector<Rational>{Rational(700434925, 1000000000), Rational(1, 400)});
  CHECK(show(only) == Rows{"1*Y_0 <= 0"});
  CHECK(read.value().version == "1.0");
  CHECK(read.value().declared_real);
  CHECK(read.value().notes.empty());
  CHECK(read.value().source.role == "property");
  CHECK(read.value().source.name == "t.vnnlib");
}

TEST_CASE("vnnlib: the tightest of several bounds wins", "[vnnlib]") {
  const statement::Property p = with_box("(assert (<= X_0 0.5))(assert (<= X_0 0.75))(assert (>= X_1 -3))(assert (>= Y_0 0))");
  REQUIRE(p.cases.size() == 1);
  CHECK(p.cases[0].box->hi[0] == Rational(1, 2));
  CHECK(p.cases[0].box->lo[1] == Rational(-2));
}

TEST_CASE("vnnlib: rows are sum of terms <= bound", "[vnnlib]") {
  const auto row = [](const char* formula) { return show(with_box(std::string("(assert ") + formula + ")").cases.at(0)); };
  CHECK(row("(<= Y_0 Y_1)") == Rows{"1*Y_0 -1*Y_1 <= 0"});
  CHECK(row("(>= Y_0 Y_1)") == Rows{"-1*Y_0 1*Y_1 <= 0"});
  CHECK(row("(< Y_0 3.5)") == Rows{"1*Y_0 < 7/2"});
  CHECK(row("(> Y_0 3.5)") == Rows{"-1*Y_0 < -7/2"});
  CHECK(row("(<= 3.5 Y_2)") == Rows{"-1*Y_2 <= -7/2"});
  CHECK(row("(= Y_0 2)") == Rows{"1*Y_0 <= 2", "-1*Y_0 <= -2"});
  CHECK(row("(<= X_0 X_1)") == Rows{"1*X_0 -1*X_1 <= 0"});
  CHECK(row("(<= X_1 Y_0)") == Rows{"1*X_1 -1*Y_0 <= 0"});
  CHECK(row("(<= (+ (* 2 Y_0) (- X_0) 3) (- Y_1 1))") == Rows{"-1*X_0 2*Y_0 -1*Y_1 <= -4"});
  CHECK(row("(<= (- 10 Y_0 Y_1 1) (* 2 (+ Y_0 1) 3))") == Rows{"-7*Y_0 -1*Y_1 <= -3"});
  CHECK(row("(<= (+ Y_0 Y_1 (* -1 Y_0)) 1)") == Rows{"1*Y_1 <= 1"});
}

TEST_CASE("vnnlib: scaled bounds of one input go to the box, rounded nowhere", "[vnnlib]") {
  const statement::Property p =
      with_box("(assert (<= (* 3 X_0) 1))(assert (<= (* -7 X_1) 1))(assert (>= (- X_1 0.5) -0.6))(assert (<= Y_0 0))");
  CHECK(p.cases[0].box->hi[0] == Rational(1, 3));
  CHECK(p.cases[0].box->lo[1] == Rational(-1, 10));
  CHECK(p.cases[0].rows.size() == 1);
}

TEST_CASE("vnnlib: a strict bound closes the box and stays a row", "[vnnlib]") {
  const statement::Property p = with_box("(assert (< X_0 0.5))(assert (> (* -2 X_1) 1))(assert (<= Y_0 0))");
  CHECK(p.cases[0].box->hi == std::vector<Rational>{Rational(1, 2), Rational(-1, 2)});
  CHECK(show(p.cases[0]) == Rows{"1*X_0 < 1/2", "2*X_1 < -1", "1*Y_0 <= 0"});
}

TEST_CASE("vnnlib: an equality of one input pins it", "[vnnlib]") {
  const statement::Property p = with_box("(assert (= X_0 0.1))(assert (<= Y_0 0))");
  CHECK(p.cases[0].box->lo[0] == Rational(1, 10));
  CHECK(p.cases[0].box->hi[0] == Rational(1, 10));
  CHECK(p.cases[0].rows.size() == 1);
}

TEST_CASE("vnnlib: or gives cases that share the box", "[vnnlib]") {
  const statement::Property p = with_box("(assert (or (and (>= Y_0 Y_2)) (and (>= Y_1 Y_2) (<= Y_1 4))))");
  REQUIRE(p.cases.size() == 2);
  CHECK(p.cases[0].box == p.cases[1].box);
  CHECK(show(p.cases[0]) == Rows{"-1*Y_0 1*Y_2 <= 0"});
  CHECK(show(p.cases[1]) == Rows{"-1*Y_1 1*Y_2 <= 0", "1*Y_1 <= 4"});
}

TEST_CASE("vnnlib: a later assertion is conjoined to every case", "[vnnlib]") {
  const statement::Property p = with_box("(assert (or (<= Y_0 -1e-06) (>= Y_2 3)))(assert (<= Y_1 1.3392))");
  REQUIRE(p.cases.size() == 2);
  CHECK(show(p.cases[0]) == Rows{"1*Y_1 <= 837/625", "1*Y_0 <= -1/1000000"});
  CHECK(show(p.cases[1]) == Rows{"1*Y_1 <= 837/625", "-1*Y_2 <= -3"});
}

TEST_CASE("vnnlib: two disjunctions multiply out", "[vnnlib]") {
  const statement::Property p = with_box(
      "(assert (or (and (<= X_0 0) (<= X_1 0)) (and (>= X_0 0) (>= X_1 0))))"
      "(assert (or (<= Y_0 1) (<= Y_0 2) (<= Y_0 3)))");
  REQUIRE(p.cases.size() == 6);
  CHECK(p.cases[0].box == p.cases[2].box);
  CHECK(p.cases[3].box == p.cases[5].box);
  CHECK(p.cases[0].box != p.cases[3].box);
  CHECK(p.cases[0].box->hi == std::vector<Rational>{0, 0});
  CHECK(p.cases[0].box->lo == std::vector<Rational>{-1, -2});
  CHECK(p.cases[3].box->lo == std::vector<Rational>{0, 0});
  CHECK(show(p.cases[4]) == Rows{"1*Y_0 <= 2"});
}

TEST_CASE("vnnlib: nested and/or distribute", "[vnnlib]") {
  const statement::Property p =
      with_box("(assert (or (and (or (<= Y_0 1) (<= Y_0 2)) (<= Y_1 7)) (or (<= Y_2 3) (and (<= Y_2 4) (<= Y_2 5)))))");
  REQUIRE(p.cases.size() == 4);
  CHECK(show(p.cases[0]) == Rows{"1*Y_1 <= 7", "1*Y_0 <= 1"});
  CHECK(show(p.cases[1]) == Rows{"1*Y_1 <= 7", "1*Y_0 <= 2"});
  CHECK(show(p.cases[2]) == Rows{"1*Y_2 <= 3"});
  CHECK(show(p.cases[3]) == Rows{"1*Y_2 <= 4", "1*Y_2 <= 5"});
}

TEST_CASE("vnnlib: equal boxes are one object, however they are written", "[vnnlib]") {
  const statement::Property p = with_box(
      "(assert (or (and (<= X_0 0.5) (<= Y_0 1)) (and (<= X_0 5.00e-1) (<= X_1 2.0) (<= Y_0 2)) (<= Y_0 3) (and (<= X_0 1) (<= Y_0 4))))");
  REQUIRE(p.cases.size() == 4);
  CHECK(p.cases[0].box == p.cases[1].box);
  CHECK(p.cases[2].box == p.cases[3].box);
  CHECK(p.cases[0].box != p.cases[2].box);
}

TEST_CASE("vnnlib: != is a disjunction of two strict rows", "[vnnlib]") {
  const statement::Property p = with_box("(assert (!= Y_0 Y_1))");
  REQUIRE(p.cases.size() == 2);
  CHECK(show(p.cases[0]) == Rows{"1*Y_0 -1*Y_1 < 0"});
  CHECK(show(p.cases[1]) == Rows{"-1*Y_0 1*Y_1 < 0"});
}

TEST_CASE("vnnlib: comparisons of constants are decided", "[vnnlib]") {
  CHECK(show(with_box("(assert (or (<= 1 2) (<= Y_0 0)))").cases.at(0)).empty());
  CHECK(with_box("(assert (or (<= 2 1) (<= Y_0 0) (< 1 1) (!= 2 2)))").cases.size() == 1);
  CHECK(with_box("(assert (or (<= (- Y_1 Y_1) 0) (!= 2 3) (= 2 2)))").cases.size() == 3);
  CHECK(show(with_box("(assert (= 2 3))").cases.at(0)) == Rows{"<= -1"});
  CHECK(with_box("(assert (<= (* 0 Y_0) 0.0))").cases.at(0).rows.empty());
}

TEST_CASE("vnnlib: contradictory assertions are one case that no point satisfies, and say so", "[vnnlib]") {
  const Graph graph = network({1}, {1});
  const auto read = read_text(constants(1, 1) + "(assert (<= X_0 1))(assert (>= X_0 0))(assert (> 0 1))(assert (<= Y_0 0))", graph);
  REQUIRE(read.ok());
  REQUIRE(read.value().property.cases.size() == 1);
  const statement::Case& only = read.value().property.cases[0];
  CHECK(show(only) == Rows{"<= -1"});
  CHECK(only.box->lo == std::vector<Rational>{0});
  CHECK(only.box->hi == std::vector<Rational>{1});
  REQUIRE(read.value().notes.size() == 1);
  CHECK(read.value().notes[0].find("contradict each other") != std::string::npos);
  const auto unbounded = read_text(constants(1, 1) + "(assert (<= X_0 1))(assert (> 0 1))", graph);
  REQUIRE(!unbounded.ok());
  CHECK(unbounded.rejection().code == "vnnlib.unbounded_input");
}

TEST_CASE("vnnlib: an empty box is kept and noted", "[vnnlib]") {
  const Graph graph = network({1}, {1});
  const auto read = read_text(constants(1, 1) + "(assert (<= X_0 1))(assert (>= X_0 1.5))(assert (<= Y_0 0))", graph);
  REQUIRE(read.ok());
  REQUIRE(read.value().property.cases.size() == 1);
  CHECK(read.value().property.cases[0].box->lo[0] > read.value().property.cases[0].box->hi[0]);
  REQUIRE(read.value().notes.size() == 1);
  CHECK(read.value().notes[0] == "empty input box: X_0 >= 1.5 and <= 1");
}

TEST_CASE("vnnlib: decimals survive exactly", "[vnnlib]") {
  const char* const numbers[] = {"0.1",
                                 "-0.0",
                                 "+3",
                                 ".5",
                                 "1.",
                                 "1e-6",
                                 "-1E+3",
                                 "0.025481184607908130000001",
                                 "4.9406564584124654417656879286822137236505980e-324",
                                 "1.7976931348623157e308",
                                 "123456789012345678901234567890.5"};
  const Graph graph = network({1}, {1});
  for (const char* text : numbers) {
    INFO(text);
    const auto read = read_text(constants(1, 1) + "(assert (= X_0 " + text + "))(assert (<= Y_0 " + text + "))", graph);
    REQUIRE(read.ok());
    const statement::Case& only = read.value().property.cases.at(0);
    CHECK(only.box->lo[0] == number(text));
    CHECK(only.rows.at(0).bound == number(text));
    const auto again = read_text(constants(1, 1) + "(assert (= X_0 " + only.box->lo[0].to_decimal() + "))(assert (<= Y_0 0))", graph);
    REQUIRE(again.ok());
    CHECK(again.value().property.cases.at(0).box->lo[0] == only.box->lo[0]);
  }
}

TEST_CASE("vnnlib: comments, layout and line ends do not matter", "[vnnlib]") {
  const Graph graph = network({1}, {1});
  const auto read = read_text(
      "; (assert\r\n(declare-const\tX_0 Real)(declare-const Y_0 Real);\xc3\xa9\r\n(assert(and(<=\nX_0;x\n1)(>= X_0 0)(<= Y_0 0)));", graph);
  REQUIRE(read.ok());
  CHECK(read.value().property.cases.at(0).rows.size() == 1);
}

TEST_CASE("vnnlib: several tensors are numbered through in version 1.0", "[vnnlib]") {
  Graph graph = network({1, 2}, {1, 1});
  Node second;
  second.shape = {3};
  graph.inputs.push_back(static_cast<NodeId>(graph.nodes.size()));
  graph.nodes.push_back(second);
  std::string text = constants(5, 1);
  for (int i = 0; i < 5; ++i) {
    text += "(assert (<= 0 X_" + std::to_string(i) + "))(assert (<= X_" + std::to_string(i) + " " + std::to_string(i) + "))";
  }
  const auto read = read_text(text + "(assert (<= (+ X_1 X_2 X_4) Y_0))", graph);
  REQUIRE(read.ok());
  const statement::Row& row = read.value().property.cases.at(0).rows.at(0);
  REQUIRE(row.terms.size() == 4);
  CHECK(row.terms[0].variable.tensor == 0);
  CHECK(row.terms[0].variable.element == 1);
  CHECK(row.terms[1].variable.tensor == 1);
  CHECK(row.terms[1].variable.element == 0);
  CHECK(row.terms[2].variable.element == 2);
  CHECK(row.terms[3].variable.side == Variable::Side::output);
  CHECK(read.value().property.cases[0].box->hi[4] == Rational(4));
}
