// Options that several verbs take.
#include "cli/assay/common_options.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <functional>
#include <string>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/verify.h"
#include "cli/assay/interruption.h"
#include "cli/semantics.h"
#include "cli/units.h"
#include "kernel/floats/named_models.h"

namespace assay::cli {

void add_json(CLI::App* verb, JsonTarget& json) {
  verb->add_option("--json", json, "print JSON instead of text; with --json=FILE, print text and write the JSON to FILE")
      ->type_name("[=FILE]");
}

namespace {

std::string semantics_description() {
  std::string names;
  for (const auto& one : floats::named_models()) names += (names.empty() ? "" : ", ") + std::string(one.name);
  return "what the answer is about: real arithmetic (real), or every float execution that the execution model MODEL\n"
         "allows, e.g. float32 or float32:cuda.\nMODEL is one of " +
         names + ".\nDefault: the element type that the property declares, e.g. float32; real in VNN-LIB 1";
}

void add_semantics_text(CLI::App* verb, const std::string& description,
                        const std::function<void(const std::string& text, ExecutionModel model)>& take) {
  const auto named = [take](const std::string& text) {
    auto model = parse_semantics(text);
    if (!model) throw CLI::ValidationError("--semantics", "takes " + semantics_problem(model.rejection()));
    take(text, std::move(model).value());
  };
  verb->add_option_function<std::string>("--semantics", named, description.empty() ? semantics_description() : description)
      ->type_name("real|float32[:MODEL]");
}

}  // namespace

void add_semantics(CLI::App* verb, std::optional<ExecutionModel>& semantics, const std::string& description) {
  add_semantics_text(verb, description, [&semantics](const std::string&, ExecutionModel model) { semantics = std::move(model); });
}

void add_named_semantics(CLI::App* verb, std::string& semantics, const std::string& description) {
  add_semantics_text(verb, description, [&semantics](const std::string& text, const ExecutionModel&) { semantics = text; });
}

void add_memory(CLI::App* verb, Limits& limits, const std::string& description) {
  const auto memory = [&limits](const std::string& text) {
    if (!parse_bytes(text, limits.memory.emplace()))
      throw CLI::ValidationError("--memory", "expected a size such as 512MiB or 4G, got " + text);
  };
  verb->add_option_function<std::string>("--memory", memory, description)->type_name("SIZE");
}

void add_memory_of_model(CLI::App* verb, Limits& limits) {
  add_memory(verb, limits,
             "memory that the run may take, e.g. 512MiB. Default: 8GiB for the whole run, and at most 256MiB plus 256 times\n"
             "the size of the model file for the data whose size depends on this file");
}

void add_budget(CLI::App* verb, Limits& limits, const std::string& description) {
  const auto work = [&limits](const std::string& text) {
    if (!parse_work(text, limits.work.emplace()))
      throw CLI::ValidationError("--budget", "expected a number above 0 such as 1e12, got " + text);
  };
  verb->add_option_function<std::string>("--budget", work, description)->type_name("NUMBER");
}

void add_trace_budget(CLI::App* verb, Limits& limits) {
  add_budget(verb, limits,
             "largest number of terms and elements in all regions (recorded computations) of a trace together, e.g. 1e12;\n"
             "default: computed from the length of the trace");
}

void add_recorded_model(CLI::App* verb, std::string& model) {
  verb->add_option("--model", model, "decide also whether the trace is a run of this model")->type_name("MODEL.onnx");
}

void add_limits(CLI::App* verb, Limits& limits) {
  add_memory(verb, limits,
             "memory that the run may take, e.g. 512MiB. Default: 8GiB for the whole run, and at most 256MiB plus 256 times\n"
             "the size of the input files for the data whose size depends on these files");
  add_budget(verb, limits,
             "largest number of multiply-adds, e.g. 1e12. It limits one pass through the network, and separately all steps of a\n"
             "certificate together. Default: computed from the sizes of the input files (certificates/FORMAT.md, section 4)");
}

void add_timeout(CLI::App* verb, std::string& timeout, const std::string& description) {
  verb->add_option("--timeout", timeout, description)->type_name("TIME")->check([](const std::string& text) {
    double seconds = 0;
    return parse_seconds(text, seconds) && seconds > 0 ? std::string() : "no time above 0, such as 60, 90s or 5m: " + text;
  });
}

CLI::Option* add_allow_vacuous(CLI::App* verb, bool& allowed) {
  return verb->add_flag("--allow-vacuous", allowed,
                        "accept an expected unsat even if it is vacuous. An unsat is vacuous if the input box is empty or the assertions\n"
                        "contradict each other, so that it says nothing about the network");
}

void add_branching(CLI::App* verb, std::string& branching) {
  verb->add_option("--branching", branching, "branch on the inputs (input), or on activations of any kind (relu); auto chooses one")
      ->check(CLI::IsMember({"auto", "input", "relu"}))
      ->capture_default_str();
}

void add_statement(CLI::App* verb, StatementChoice& statement) {
  verb->add_option("--statement", statement,
                   "print all cases, rows and inputs of the statement (full) or only the first ones (short), or write all to FILE")
      ->type_name("full|short|FILE");
}

search::Options search_options(const SearchOptions& options) {
  search::Options search;
  search.threads = options.threads;
  search.memory_limit_bytes = queries::search_memory(check::memory_rule(options.limits).most);
  search.seed = options.seed;
  search.attack = !options.no_attack;
  search.branching = queries::branching_named(options.branching);
  search.stop = interruption_token();
  return search;
}

std::string refuse_nan(const std::string& text) { return text.find_first_of("nN") == std::string::npos ? "" : text + " is no number"; }

CLI::Option* refuse_wrapped(CLI::Option* option, std::uint64_t most) {
  return option->check([most](const std::string& text) {
    std::uint64_t value = 0;
    const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (fault == std::errc() && end == text.data() + text.size() && value <= most) return std::string();
    return text + " is no whole number from 0 to " + std::to_string(most);
  });
}

}  // namespace assay::cli
