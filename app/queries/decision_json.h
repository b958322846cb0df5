// A decision as members of the JSON of a verb.
#pragma once

#include <string>

#include "app/queries/decision.h"
#include "app/queries/theorem_json.h"

namespace assay::queries {

// Of the search: what it took, and what it split.
[[nodiscard]] Json statistics_json(const search::Statistics& statistics);
// Adds what there is of "progress", "unfinished", "scaled", "theorem", "float32" and "disputed". `full`: the theorem in full.
void add_decision(Json& json, const Decision& decision, const std::string& proof, bool full);

}  // namespace assay::queries
