// Reports of the verbs, as plain values; report_json.cpp and values_json.cpp turn them into JSON with a versioned schema.
//
// Every number of the analysis appears as {"value": shortest decimal that reads back the same, "hex": C99 hex float}.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "app/files/output_file.h"
#include "app/program.h"
#include "cli/assay/json.h"
#include "cli/assay/options.h"
#include "semantics/outcome.h"

namespace assay::cli {

// The program for the work of the verbs: signals, the line of progress, the limit on memory.
[[nodiscard]] Program this_program();
// A mistake of the command line on stderr; its exit code.
[[nodiscard]] int usage(const char* verb, const std::string& what);
// Writes the parts that `fill` hands over, or the text; false after a message on stderr.
[[nodiscard]] bool write_file(const std::string& path, const std::function<void(const files::Sink&)>& fill);
[[nodiscard]] bool write_file(const std::string& path, std::string_view text);
// Writes to the target; false (after a message on stderr) if that fails. Empty targets write nothing.
[[nodiscard]] bool write_json(const JsonTarget& target, const std::string& text);
// Prepares the output of an interrupted verb that has nothing better: undecided, and why (cli/assay/interruption.h).
void prepare_last_words(const std::string& verb, const std::function<JsonTarget()>& json);
// A refused input: the rejection on stderr, as JSON too if asked for; gives the exit code.
int refuse(const std::string& schema, const JsonTarget& json, const Rejection& why);

}  // namespace assay::cli
