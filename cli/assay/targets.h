// Words of the command line that say where an output goes.
#pragma once

#include <string>

#include "kernel/logic/api.h"

namespace assay::cli {

// Where --json goes: empty = not asked for, "-" = stdout (which then carries nothing else), else a file.
using JsonTarget = std::string;

// --statement: how much of the statement is printed, "full" or "short" (or empty); any other word is a file that gets it in full.
using StatementChoice = std::string;
[[nodiscard]] inline bool is_full(const StatementChoice& choice) { return choice == "full"; }
[[nodiscard]] inline bool is_file(const StatementChoice& choice) { return !choice.empty() && choice != "full" && choice != "short"; }
// False, after a message on stderr, where there is such a file and it could not be written.
[[nodiscard]] bool write_statement(const StatementChoice& choice, const logic::Problem& problem);

}  // namespace assay::cli
