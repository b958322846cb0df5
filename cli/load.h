// Both programs share this code: exit codes, the limit on memory, printed rejections.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::cli {

// Exit statuses, as the README lists them.
enum Exit : int { kExitYes = 0, kExitNo = 1, kExitUsage = 2, kExitUndecided = 3, kExitBadInput = 4, kExitInternal = 70 };
constexpr int kExitUnwritten = kExitUndecided;  // a proof or report that was asked for could not be written
[[nodiscard]] int exit_code(Rejection::Kind kind);

using check::existing;
using check::file_bytes;
using check::in_file;
using check::Limits;
using check::Loaded;
using check::LoadOptions;
using check::thread_cpu_seconds;

// check::load_problem in a process that the system gives no more memory than the limits say.
[[nodiscard]] Outcome<Loaded> load(const std::string& model_path, const std::string& property_path, const LoadOptions& options);
// The options with the system's limit in them.
[[nodiscard]] LoadOptions limiting(LoadOptions options);

// One sentence on one line: "program: meaning: place: expected ..., found ...; advice [code]". `meaning` is of the code, the first sentence
// of its entry; empty parts are left out.
void print_rejection(std::FILE* out, const char* program, const Rejection& why, const std::string& meaning = "");
// A sentence as a part of another: its first letter small, without the full stop.
[[nodiscard]] std::string clause(std::string sentence);

// One line "note: ..." each: printed below the statement.
void print_notes(std::FILE* out, const std::vector<std::string>& notes);

// Wall seconds since the process started this clock.
[[nodiscard]] double wall_seconds();

// Runs `body` and turns exceptions into exit codes: out of memory is 3, anything else 70 with how to report it. So do a failed `demand`,
// exceptions of threads and faults of the program, which would end it by a signal. 3 too where standard output could not be written.
int guarded(const char* program, int (*body)(int, char**), int argc, char** argv);

}  // namespace assay::cli
