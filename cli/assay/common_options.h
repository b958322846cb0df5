// Options that several verbs take.
#pragma once

#include <cstdint>
#include <string>

#include "cli/assay/options.h"
#include "search/search.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace assay::cli {

void add_json(CLI::App* verb, JsonTarget& json);
// Stores the semantics of the parsed text in `semantics`, or the text itself for a manifest. An empty description is replaced by
// that of verify.
void add_semantics(CLI::App* verb, std::optional<ExecutionModel>& semantics, const std::string& description = "");
void add_named_semantics(CLI::App* verb, std::string& semantics, const std::string& description = "");
// --shape, --dim, --set and --outputs, of every verb that reads a model.
void add_edits(CLI::App* verb, Limits& limits);
// --memory and --budget, beyond which the answer is undecided.
void add_memory(CLI::App* verb, Limits& limits, const std::string& description);
// Of verbs that read a model and nothing that is proved.
void add_memory_of_model(CLI::App* verb, Limits& limits);
void add_budget(CLI::App* verb, Limits& limits, const std::string& description);
void add_trace_budget(CLI::App* verb, Limits& limits);  // --budget of verbs that read traces
void add_recorded_model(CLI::App* verb, std::string& model);
void add_limits(CLI::App* verb, Limits& limits);
// --timeout, a time above 0.
void add_timeout(CLI::App* verb, std::string& timeout, const std::string& description);
// Of verbs that fail where an answer is not the one that was expected.
CLI::Option* add_allow_vacuous(CLI::App* verb, bool& allowed);
void add_branching(CLI::App* verb, std::string& branching);
inline constexpr std::uint64_t kMostSamples = 1'000'000;  // points at which nodes are evaluated
// For options whose range CLI11 checks by comparisons, which "nan" passes.
[[nodiscard]] std::string refuse_nan(const std::string& text);
// For options of an unsigned type: CLI11 takes -1 modulo 2^64, and the greatest number in the place of a greater one.
CLI::Option* refuse_wrapped(CLI::Option* option, std::uint64_t most = UINT64_MAX);
// The request of a search, without its deadline.
[[nodiscard]] search::Options search_options(const SearchOptions& options);
void add_statement(CLI::App* verb, StatementChoice& statement);
// Of every gate (gate.cpp); and of those that judge floats, with the baseline.
void add_gate_files(CLI::App* verb, GateOptions& gate);
void add_gate(CLI::App* verb, GateOptions& gate);
// Of verbs that run in the runtime (runtime_options.cpp): where, what on, and which random inputs for which gradient.
void add_device(CLI::App* verb, std::string& device);
void add_run(CLI::App* verb, RecordOptions& options);
void add_draws(CLI::App* verb, RecordOptions& options);

}  // namespace assay::cli
