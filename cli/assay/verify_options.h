// The command line of `assay verify`, as far as the parser does not judge it.
#pragma once

#include <optional>
#include <string>

#include "cli/assay/verify_text.h"

namespace assay::cli {

// The times of the command line; 0: none.
struct VerifySeconds {
  double timeout = 0, scale = 0, trim = 0;
};

// Returns a fault of the command line: an invalid time, files that do not fit, or an output that is the model or the property.
// Else the report gets the files, and the load options the network's name.
[[nodiscard]] std::string mistake(const VerifyOptions& options, VerifyReport& report, LoadOptions& load_options, VerifySeconds& seconds);
// Refuses options of the VNN-LIB 2 interface that this program does not implement.
[[nodiscard]] std::optional<Rejection> unsupported(const VerifyOptions& options);

}  // namespace assay::cli
