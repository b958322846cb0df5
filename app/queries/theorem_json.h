// Statements, theorems and numbers as JSON, for every program that writes them.
#pragma once

#include <nlohmann/json.hpp>

#include "kernel/logic/api.h"

namespace assay::queries {

using Json = nlohmann::ordered_json;

// {"value", "hex"}: the value is null where it is infinite or NaN.
[[nodiscard]] Json double_json(double value);
// The digests, the graph, the semantics and the sources.
[[nodiscard]] Json statement_json(const logic::Problem& problem);
// The claims of all cases, in full: the exact bounds of all inputs for each box, one tensor after the other, and the rows of its
// unsafe set for each case. They are left out if there are more than 65,536 numbers and `all` is false.
[[nodiscard]] Json claims_json(const logic::Problem& problem, bool all);
// With the witness, which is all that another program needs to replay it.
[[nodiscard]] Json theorem_json(const logic::Theorem& theorem, bool full);

}  // namespace assay::queries
