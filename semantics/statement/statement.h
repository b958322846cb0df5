// Statement: what is claimed. It is trusted, so every verdict prints it back.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"
#include "semantics/numbers/rational.h"

namespace assay::statement {

using Digest = std::array<std::uint8_t, 32>;  // SHA-256

// One scalar of the network: element `element` (row-major) of input or output tensor number `tensor`.
struct Variable {
  enum class Side : std::uint8_t { input, output } side = Side::input;
  std::uint32_t tensor = 0;
  std::uint64_t element = 0;
};

// How the names of outputs begin whose elements are products of elements of inputs and of other outputs: a property multiplies them.
inline constexpr std::string_view kProductsName = "of the property: ";

struct Term {
  Rational coefficient;
  Variable variable;
};

// sum of the terms <= bound, or < bound when strict.
struct Row {
  std::vector<Term> terms;  // each variable at most once, coefficients non-zero
  Rational bound;
  bool strict = false;
};

// Closed box over the elements of all input tensors, concatenated in declaration order. Its points are those of the inputs'
// types: in it an element of an integer tensor takes the integers of its type, of a boolean one 0 and 1, of a float one every real.
struct InputBox {
  std::vector<Rational> lo, hi;
};

// One way in which the property can fail: a point of the box for which every row holds.
// Cases that share a box share the pointer, and are then searched and checked together.
struct Case {
  std::shared_ptr<const InputBox> box;
  std::vector<Row> rows;
};

// The property fails iff some case is reachable: `sat` = some case has a point, `unsat` = none has.
struct Property {
  std::vector<Case> cases;
};

// Where the statement was read from, bound by digest.
struct Source {
  std::string role;  // "model", "property", "external data"
  std::string name;
  Digest sha256{};
};

struct Statement {
  Graph graph;
  Property property;
  ExecutionModel semantics;
  std::vector<Source> sources;
};

// The same points, with both ends of each integer and boolean element moved inward to values of its type; lo > hi where it has none.
// The box fits the graph.
[[nodiscard]] std::shared_ptr<const InputBox> values_in(const Graph& graph, const std::shared_ptr<const InputBox>& box);

// SHA-256 over the canonical bytes of graph, property and semantics (docs/reference/canonical-graph.md): the digest that
// a certificate names. Independent of file names and of the sources' formatting.
[[nodiscard]] Digest statement_digest(const Statement& statement);
[[nodiscard]] Digest statement_digest(const Digest& graph, const Property& property, const ExecutionModel& semantics);
[[nodiscard]] Digest graph_digest(const Graph& graph);
[[nodiscard]] Digest sha256(std::span<const std::byte> bytes);
[[nodiscard]] std::string to_hex(const Digest& digest);

// The whole statement in canonical bytes, from which both digests follow (docs/reference/canonical-graph.md, "Statement file"): what
// `assay statement` writes. The statement is validated.
inline constexpr std::string_view kStatementMagic = "assay statement file 1";
[[nodiscard]] std::vector<std::byte> statement_bytes(const Statement& statement);

// Every problem: of a graph that it is invalid, or has complex inputs or outputs; of a property of a valid graph
// variables out of range, a box of the wrong size, ...; of a statement those of its graph, or else of its property.
[[nodiscard]] std::vector<Rejection> validate_graph(const Graph& graph);
[[nodiscard]] std::vector<Rejection> validate_property(const Graph& graph, const Property& property);
[[nodiscard]] std::vector<Rejection> validate(const Statement& statement);

}  // namespace assay::statement
