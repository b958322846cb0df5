// Statements and theorems as text: shortened, which Theorem::to_text() is, or in full.
#pragma once

#include <string>

#include "kernel/kernel.h"

namespace assay::kernel {

// Semantics in words, graph summary, region, unsafe set, digests. Without `full` the beginning of region and set, and how much is left out.
[[nodiscard]] std::string statement_text(const Problem& problem, bool full);
// What is shown, the statement, the assumptions.
[[nodiscard]] std::string theorem_text(const Theorem& theorem, bool full);

}  // namespace assay::kernel
