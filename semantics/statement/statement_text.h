// Statements as text, shortened or in full.
#pragma once

#include <string>

#include "semantics/statement/statement.h"

namespace assay::kernel {

// Semantics in words, graph summary, region, unsafe set, digests. Without `full` the beginning of region and set, and how much is left out.
// The statement is validated, and the digests are its graph's and its own.
[[nodiscard]] std::string statement_text(const Statement& statement, const Digest& graph, const Digest& digest, bool full);

}  // namespace assay::kernel
