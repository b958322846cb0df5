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

// What is wrong with the command line: a time that is none, files that do not fit, or an output that is the model or the property. Else the report
// has the files, the load options the network's name.
[[nodiscard]] std::string mistake(const VerifyOptions& options, VerifyReport& report, LoadOptions& load_options, VerifySeconds& seconds);
// What the interface of VNN-LIB 2 names and this program does not do.
[[nodiscard]] std::optional<Rejection> unsupported(const VerifyOptions& options);

}  // namespace assay::cli
