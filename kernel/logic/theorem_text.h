// Theorems as text, shortened or in full. Theorem::to_text() gives the short form.
#pragma once

#include <string>

#include "kernel/logic/api.h"

namespace assay::logic {

// The theorem, its statement (semantics/statement/statement_text.h), and its assumptions.
[[nodiscard]] std::string theorem_text(const Theorem& theorem, bool full);

}  // namespace assay::logic
