// Words of refusals: numbers, nodes, elements and rows as a reader of a message knows them. No verdict rests on them.
#pragma once

#include <span>
#include <string>

#include "semantics/printable.h"
#include "semantics/statement/statement.h"

namespace assay::statement {

// All digits of a number, then its hexadecimal form; and the digits alone.
[[nodiscard]] std::string exact(double value);
[[nodiscard]] std::string about(double value);

// "node 3 'z'", and "node 3 'z', element 1". The node need not exist.
[[nodiscard]] std::string name_of(const Graph& graph, NodeId node);
[[nodiscard]] std::string at(const Graph& graph, NodeId node, std::size_t element);

// " where A and B": the first splits of a scope, followed by "and so on" if there are more. Empty without any.
constexpr std::size_t kShownSplits = 6;
[[nodiscard]] std::string where_text(std::span<const std::string> halves);

// The beginning of row_text.
[[nodiscard]] std::string short_row_text(const Graph& graph, const Row& row);
// "Y_0 = 1, off by 0.5": the variables of the row's terms, in order, at about these values.
[[nodiscard]] std::string values_text(const Graph& graph, const Row& row, std::span<const double> values);

}  // namespace assay::statement
