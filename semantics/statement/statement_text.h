// Statements as text, shortened or in full.
#pragma once

#include <string>

#include "semantics/statement/statement.h"

namespace assay::statement {

// The semantics in words, graph summary, region, unsafe set, digests. Without `full`, only the beginning of region and
// set, and how much is omitted. The statement has to be valid, and the digests are those of its graph and its own.
[[nodiscard]] std::string statement_text(const Statement& statement, const Digest& graph, const Digest& digest, bool full);

// One variable: "Y_0".
[[nodiscard]] std::string variable_text(const Graph& graph, const Variable& variable);
// One row: "Y_0 <= Y_1", "2 X_3 + Y_0 < Y_1 + 0.5", "Y_0 >= 2".
[[nodiscard]] std::string row_text(const Graph& graph, const Row& row);

}  // namespace assay::statement
