// The check itself, as `assay-check` and `assay check` run it.
#pragma once

#include <string>

#include "assay/check.h"
#include "cli/load.h"

namespace assay::cli {

using CheckReport = check::Report;

// check::check_certificate or, without a property, check::check_statement of `model`, in a process that the system gives no more memory
// than the limits say.
[[nodiscard]] CheckReport check_files(const std::string& model, const std::string& property, const std::string& certificate,
                                      const LoadOptions& options);
[[nodiscard]] int exit_code(const CheckReport& report);

// For files that could not be read: by their endings they stand in wrong places, or one is missing. A sentence with the command to write;
// empty where the endings say nothing. `property` is empty for a statement file.
[[nodiscard]] std::string misplaced(const std::string& command, const std::string& model, const std::string& property,
                                    const std::string& certificate);

// The word, the theorem (with all of its statement) and the notes on stdout; the reason, what its code means, and the time on stderr.
void print_report(const char* program, const CheckReport& report, bool full, const std::string& meaning = "");

}  // namespace assay::cli
