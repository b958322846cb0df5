// Nodes of regions <-> JSON. Private to formats.
#pragma once

#include <nlohmann/json.hpp>
#include <span>

#include "semantics/graph/graph.h"

namespace assay::formats {

using Json = nlohmann::ordered_json;

// Rejection with code "trace.<code>" and kind malformed.
[[nodiscard]] Rejection trace_malformed(const char* code, std::string place, std::string required, std::string found);
// Text of a JSON value for a message, cut short.
[[nodiscard]] std::string shown(const Json& json);

// The graph whose inputs have these types and shapes, from its "nodes" (and "outputs": value numbers; else the last `results` nodes).
struct OperandType {
  DType dtype;
  Shape shape;
  std::string name;
};
[[nodiscard]] Outcome<Graph> read_region_graph(const Json& region, std::span<const OperandType> operands, std::size_t results,
                                               const std::string& place);
// The file's numbers for the values of a graph, by node: inputs first.
[[nodiscard]] std::vector<std::size_t> value_numbers(const Graph& graph);
// Adds "nodes" and "outputs" to the region.
void write_region_graph(const Graph& graph, Json& region);

}  // namespace assay::formats
