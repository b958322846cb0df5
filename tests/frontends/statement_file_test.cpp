// Statement files: every op's attributes come back, one statement has one file, and bent bytes are refused or mean what they say.
#include <algorithm>
#include <random>

#include "frontends/statement/read.h"
#include "probes/catalogue.h"
#include "tests/catch.h"

using namespace assay;

namespace {

statement::Term term(std::int64_t coefficient, statement::Variable::Side side, std::uint64_t element) {
  return {Rational(coefficient), {side, 0, element}};
}

// Two cases over one box and a third over another; rows with terms out of order and a fraction.
statement::Statement statement_of(Graph graph) {
  using Side = statement::Variable::Side;
  statement::InputBox box;
  for (const NodeId id : graph.inputs) {
    box.lo.insert(box.lo.end(), graph.size(id), Rational(-1, 3));
    box.hi.insert(box.hi.end(), graph.size(id), Rational(2));
  }
  statement::Statement statement;
  statement.property.cases.resize(3);
  statement.property.cases[0].box = statement.property.cases[2].box = std::make_shared<const statement::InputBox>(box);
  statement.property.cases[1].box = std::make_shared<const statement::InputBox>(box);
  statement.property.cases[0].rows = {{{term(-2, Side::output, 0), term(1, Side::input, 0)}, Rational(1, 7), true},
                                      {{}, Rational(-1), false}};
  statement.property.cases[1].rows = {{{term(1, Side::output, 0)}, Rational(0), false}};
  statement.graph = std::move(graph);
  return statement;
}

// The catalogue's graphs whose outputs have an element.
std::vector<statement::Statement> catalogue_statements() {
  std::vector<statement::Statement> statements;
  for (const probes::OpCase& one : probes::catalogue()) {
    Graph graph = probes::graph_of(one);
    if (graph.size(graph.outputs[0]) > 0 && !graph.inputs.empty() && graph.size(graph.inputs[0]) > 0)
      statements.push_back(statement_of(std::move(graph)));
  }
  return statements;
}

std::vector<std::byte> small_file() { return statement::statement_bytes(catalogue_statements()[0]); }

std::string code_of(const std::vector<std::byte>& bytes) {
  const auto read = statement_file::parse(bytes, "S");
  return read ? "read" : read.rejection().code;
}

}  // namespace

TEST_CASE("statement file: every op of the catalogue comes back with the same bytes and digests") {
  const std::vector<statement::Statement> statements = catalogue_statements();
  CHECK(statements.size() > 150);
  for (const statement::Statement& statement : statements) {
    CAPTURE(summary(statement.graph));
    const std::vector<std::byte> bytes = statement::statement_bytes(statement);
    const auto read = statement_file::parse(bytes, "S");
    REQUIRE(read);
    CHECK(statement::statement_bytes(read.value()) == bytes);
    CHECK(statement::graph_digest(read.value().graph) == statement::graph_digest(statement.graph));
    CHECK(statement::statement_digest(read.value()) == statement::statement_digest(statement));
    CHECK(statement::validate(read.value()).empty() == statement::validate(statement).empty());
  }
}

TEST_CASE("statement file: cases that share a box share it when they are read") {
  const auto read = statement_file::parse(small_file(), "S");
  REQUIRE(read);
  const std::vector<statement::Case>& cases = read.value().property.cases;
  CHECK(cases[0].box == cases[2].box);
  CHECK(cases[0].box != cases[1].box);
  CHECK(cases[0].rows[0].strict);
  CHECK(cases[0].rows[0].bound == Rational(1, 7));
}

TEST_CASE("statement file: what stops short or goes on is refused with its place") {
  const std::vector<std::byte> bytes = small_file();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    CAPTURE(length);
    CHECK(code_of({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(length)}) == "statement_file.bytes");
  }
  std::vector<std::byte> longer = bytes;
  longer.push_back(std::byte{0});
  CHECK(code_of(longer) == "statement_file.bytes");
}

TEST_CASE("statement file: a bent byte is refused, or is another statement in its own one spelling") {
  const std::vector<statement::Statement> statements = catalogue_statements();
  std::mt19937_64 random(11);
  std::size_t refused = 0, others = 0;
  for (int round = 0; round < 20'000; ++round) {
    const statement::Statement& statement = statements[random() % statements.size()];
    const std::vector<std::byte> bytes = statement::statement_bytes(statement);
    std::vector<std::byte> bent = bytes;
    bent[random() % bent.size()] ^= static_cast<std::byte>(1 + random() % 255);
    CAPTURE(round, summary(statement.graph));
    const auto read = statement_file::parse(bent, "S");
    if (!read) {
      ++refused;
      continue;
    }
    ++others;
    REQUIRE(statement::statement_bytes(read.value()) == bent);
    if (statement::validate(read.value()).empty())
      REQUIRE(statement::statement_digest(read.value()) != statement::statement_digest(statement));
  }
  CHECK(refused > 5'000);
  CHECK(others > 1'000);
}

TEST_CASE("statement file: one box twice, a fraction not in lowest terms and terms out of order are no spelling") {
  statement::Statement statement = catalogue_statements()[0];
  const std::vector<std::byte> bytes = statement::statement_bytes(statement);
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    const std::size_t at = text.rfind(from);
    REQUIRE(at != std::string::npos);
    text.replace(at, from.size(), to);
    const auto* data = reinterpret_cast<const std::byte*>(text.data());
    return std::vector<std::byte>(data, data + text.size());
  };
  using namespace std::string_literals;
  CHECK(code_of(replaced("\x03\0\0\0\0\0\0\0"
                         "1/7"s,
                         "\x04\0\0\0\0\0\0\0"
                         "2/14"s)) == "statement_file.canonical");
  CHECK(code_of(replaced("\x03\0\0\0\0\0\0\0"
                         "1/7"s,
                         "\x03\0\0\0\0\0\0\0"
                         "2/7"s)) == "read");
  // The first row's two terms: that of the input stands first.
  const auto number = [](char value) { return std::string(1, value) + "\0\0\0\0\0\0\0"s; };
  const std::string input = number(0) + number(0) + number(0) + number(1) + "1",
                    output = number(1) + number(0) + number(0) + number(2) + "-2";
  CHECK(code_of(replaced(input + output, output + input)) == "statement_file.canonical");
}
