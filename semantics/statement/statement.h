// Statement: the claim. It is trusted, so every verdict prints it.
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

// The prefix of the names of outputs whose elements are products of elements of inputs and of other outputs, for
// properties that multiply them.
inline constexpr std::string_view kProductsName = "of the property: ";

struct Term {
  Rational coefficient;
  Variable variable;
};

// The sum of the terms is <= bound, or < bound if strict.
struct Row {
  std::vector<Term> terms;  // each variable at most once, coefficients non-zero
  Rational bound;
  bool strict = false;
};

// A closed box over the elements of all input tensors, concatenated in declaration order. Its points are values of the
// inputs' types: an element of an integer tensor takes the integers of its type, of a boolean tensor 0 and 1, of a
// float tensor every real number.
struct InputBox {
  std::vector<Rational> lo, hi;
};

// One way in which the property can fail: a point of the box at which every row holds. Cases that share a box share the
// pointer; they are searched and checked together.
struct Case {
  std::shared_ptr<const InputBox> box;
  std::vector<Row> rows;
};

// The property fails iff some case is reachable: `sat` means that some case has a point, `unsat` that none has.
struct Property {
  std::vector<Case> cases;
};

// A source of the statement, identified by its digest.
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

// The same points, with both ends of each integer and boolean element moved inward to values of its type; lo > hi if it
// has none. The box has to fit the graph.
[[nodiscard]] std::shared_ptr<const InputBox> values_in(const Graph& graph, const std::shared_ptr<const InputBox>& box);

// The SHA-256 of the canonical bytes of graph, property and semantics (docs/reference/canonical-graph.md), which a
// certificate names. It does not depend on file names or on the formatting of the sources.
[[nodiscard]] Digest statement_digest(const Statement& statement);
[[nodiscard]] Digest statement_digest(const Digest& graph, const Property& property, const ExecutionModel& semantics);
[[nodiscard]] Digest graph_digest(const Graph& graph);
[[nodiscard]] Digest sha256(std::span<const std::byte> bytes);
[[nodiscard]] std::string to_hex(const Digest& digest);

// The whole statement in canonical bytes, which determine both digests (docs/reference/canonical-graph.md, "Statement
// file"). `assay statement` writes them. The statement has to be valid.
inline constexpr std::string_view kStatementMagic = "assay statement file 1";
[[nodiscard]] std::vector<std::byte> statement_bytes(const Statement& statement);

// All problems. Of a graph: that it is invalid, or has complex inputs or outputs. Of a property of a valid graph:
// variables out of range, a box of the wrong size, ... Of a statement: those of its graph, or otherwise those of
// its property.
[[nodiscard]] std::vector<Rejection> validate_graph(const Graph& graph);
[[nodiscard]] std::vector<Rejection> validate_property(const Graph& graph, const Property& property);
[[nodiscard]] std::vector<Rejection> validate(const Statement& statement);

}  // namespace assay::statement
