// Words about an answer that decides nothing: the undecided cases as the property states them, what was tried, and three commands to
// try next.
#pragma once

#include <string>

#include "cli/assay/verify_text.h"

namespace assay::cli {

// The semantics that the options name; empty where they leave it to the property. The report has a problem.
[[nodiscard]] std::string semantics_named(const VerifyReport& report, const VerifyOptions& options);

// Lines for stderr, each with its end. The report has a problem and no theorem.
[[nodiscard]] std::string undecided_text(const VerifyReport& report, const VerifyOptions& options);

// What --scale says of a property that was decided in its whole box.
[[nodiscard]] const char* unscaled_text(search::Answer answer);

}  // namespace assay::cli
