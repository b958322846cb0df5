// Options that several verbs take.
#pragma once

#include <string>

#include "certificates/search/search.h"
#include "cli/assay/options.h"

namespace CLI {
class App;
}

namespace assay::cli {

void add_json(CLI::App* verb, JsonTarget& json);
// What each parsed text means stands in `semantics`, or the text itself for a manifest.
void add_semantics(CLI::App* verb, std::optional<ExecutionModel>& semantics);
void add_named_semantics(CLI::App* verb, std::string& semantics);
// --memory and --budget, beyond which the answer is undecided; `without` says what holds without the option.
void add_memory(CLI::App* verb, Limits& limits, const char* without);
void add_limits(CLI::App* verb, Limits& limits);
void add_branching(CLI::App* verb, std::string& branching);
[[nodiscard]] search::Options::Branching branching_named(const std::string& name);

}  // namespace assay::cli
