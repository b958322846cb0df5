// The value of --semantics, with advice where it is mistyped.
#pragma once

#include <string>

#include "semantics/graph/execution_model.h"
#include "semantics/outcome.h"

namespace assay::cli {

// As floats::semantics_named. An unknown math table is malformed here, too, since no statement about it could be decided.
[[nodiscard]] Outcome<ExecutionModel> parse_semantics(const std::string& text);
// One sentence on what the option takes, for a rejection of that.
[[nodiscard]] std::string semantics_problem(const Rejection& why);

}  // namespace assay::cli
