// VNN-LIB properties: text -> cases of the statement (docs/reference/vnnlib.md).
//
// The assertions of a query describe the counterexample region: a point that satisfies all of them is a witness
// (`sat`). They are brought to disjunctive normal form; each disjunct is one case with a closed input box and the
// rows that the box does not express. Numbers stay the exact decimals of the text.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "frontends/files.h"
#include "semantics/graph/graph.h"
#include "semantics/numbers/rational.h"
#include "semantics/outcome.h"
#include "semantics/statement/statement.h"

namespace assay::vnnlib {

// A network that the caller offers, with the name that a 2.0 query declares for it (empty: whatever name it has).
struct NetworkShape {
  std::string name;
  const Graph* graph = nullptr;
};

// One declared tensor. Version 1.0 declares scalars; its X_i and Y_i count as one tensor "X" and one tensor "Y".
struct TensorDeclaration {
  statement::Variable::Side side = statement::Variable::Side::input;
  std::uint32_t tensor = 0;  // position among the network's inputs (outputs)
  std::string name;
  std::string type;  // as written: "Real", "float32", ...
  Shape shape;
};

// The declarations of the file, beside its assertions.
struct PropertyHeader {
  statement::Source source;
  std::vector<std::string> notes;                      // notes for the reader: boxes that are empty, contradictory assertions
  std::string version;                                 // "1.0", "2.0", ...
  bool declared_real = false;                          // every element type is real, or one of exact integers or truth values
  std::string declared_type;                           // the element type as written; several are joined by ", "
  std::vector<std::string> input_names, output_names;  // declared names, in the network's order
  std::vector<TensorDeclaration> declarations;         // in order of declaration
  std::size_t network_outputs = 0;                     // elements; behind them the rows' variables are products (PropertyFile::graph)
};

struct PropertyFile : PropertyHeader {
  statement::Property property;
  std::optional<Graph> graph;  // the network with products of variables as further outputs, where rows name such
  std::uint64_t stored = 0;    // bytes on disk
};

// The treatment of a comparison in which variables are multiplied with each other.
enum class Polynomials : std::uint8_t {
  state,      // as outputs of a graph that computes the products, too
  leave_out,  // the region grows: for bounds over it, never for a statement
};

// Reads a .vnnlib or .vnnlib.gz file against the networks it speaks about. Rejections are `malformed` or
// `unsupported` and carry file, line and column.
Outcome<PropertyFile> read_property(const std::string& path, std::span<const NetworkShape> networks,
                                    Polynomials polynomials = Polynomials::state, const MemoryRule& memory = {});

// The same for text in memory; `file` appears in messages and as the source's name.
Outcome<PropertyFile> read_property_text(std::string_view text, const std::string& file, std::span<const NetworkShape> networks,
                                         Polynomials polynomials = Polynomials::state, const MemoryRule& memory = {});

// A witness in the form of VNN-LIB 1.0: "((X_0 0.5)\n (X_1 -2)\n (Y_0 1.25))\n". Inputs are printed exactly where they have
// a finite decimal expansion, otherwise as the nearest double below; outputs as the shortest decimal that reads
// back as the same double.
std::string write_assignment_v1(std::span<const Rational> inputs, std::span<const double> outputs);

// A witness in the form of VNN-LIB 2.0: for each declared tensor a line "name type [shape]" (no space inside the shape), then one value per
// line, row-major. `inputs` and `outputs` are concatenated in the network's order, as in logic::Witness.
std::string write_assignment_v2(const PropertyHeader& header, std::span<const Rational> inputs, std::span<const double> outputs);

}  // namespace assay::vnnlib
