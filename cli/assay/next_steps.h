// Words about an answer that decides nothing: the open cases as the property states them, what was tried, and three commands to try next.
#pragma once

#include <string>

#include "cli/assay/verify_text.h"

namespace assay::cli {

// Lines for stderr, each with its end. The report has a problem and no theorem.
[[nodiscard]] std::string undecided_text(const VerifyReport& report, const VerifyOptions& options);

}  // namespace assay::cli
