// assay: the command line of all verbs, and words about mistyped ones.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

#include "cli/assay/interruption.h"
#include "cli/assay/libraries.h"
#include "cli/assay/names.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/report.h"
#include "cli/assay/shared_files.h"
#include "cli/assay/verb_examples.h"
#include "cli/assay/verbs.h"
#include "cli/load.h"
#include "cli/version.h"

namespace {

using namespace assay::cli;

constexpr const char* kExitText =
    "Exit codes: 0 answered or accepted (for verify, sat, unsat and unknown alike); 1 rejected or failed, or not the expected answer; "
    "2 wrong command line; 3 undecided; 4 unsupported or malformed input; 70 internal error.\n"
    "A refusal ends with its code in brackets, which `assay explain CODE` explains.\n"
    "Documents named docs/... and certificates/... lie in share/doc/assay of the installation; of a wheel, below Python's sys.prefix.";

// Sets the output of an interrupted verb that has nothing better, and the example of its help.
void finish_verb(CLI::App& app, const char* name, const char* example) {
  CLI::App* verb = app.get_subcommand(name);
  verb->footer(std::string("Example: ") + example);
  const CLI::Option* json = verb->get_option("--json");
  verb->preparse_callback([name, json](std::size_t) {
    prepare_last_words(name, [json] { return json->results().empty() ? JsonTarget() : json->results().front(); });
  });
}

int refuse_line(const std::string& why) {
  std::fprintf(stderr, "assay: %s\nRun with --help for more information.\n", why.c_str());
  return kExitUsage;
}

// A flag without values; --trim is a flag that may have one.
bool is_plain_flag(const CLI::Option& option) { return option.get_items_expected_max() == 0 && option.get_name() != "--trim"; }

// The verb or the option of the command line that does not exist, with what was probably meant; empty if all of them do.
std::string mistyped(const CLI::App& app, int argc, char** argv) {
  const auto is_any = [](const CLI::App*) { return true; };
  const CLI::App* verb = nullptr;
  for (int i = 1; i < argc && std::string(argv[i]) != "--"; ++i) {
    const std::string word = std::string(argv[i]).substr(0, std::string(argv[i]).find('='));
    std::vector<std::string> known;
    if (verb == nullptr && !word.starts_with("-")) {
      for (const CLI::App* each : app.get_subcommands(is_any)) {
        known.push_back(each->get_name());
        if (each->get_name() == word) verb = each;
      }
      if (verb == nullptr) return "there is no verb " + word + meant(word, known);
      continue;
    }
    if (!word.starts_with("--")) continue;
    for (const CLI::Option* option : (verb == nullptr ? &app : verb)->get_options()) {
      for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
    }
    for (const CLI::Option* option : (verb == nullptr ? &app : verb)->get_options()) {
      if (is_plain_flag(*option) && option->check_lname(word.substr(2)) && word != argv[i])
        return word + " takes no value, found " + argv[i];
    }
    if (std::ranges::find(known, word) == known.end())
      return (verb == nullptr ? std::string("assay") : "assay " + verb->get_name()) + " has no option " + word + meant(word, known);
  }
  return "";
}

// An argument that is missing, with what the help says of it; empty if none is.
std::string missing(const CLI::App& app, const std::string& error) {
  for (const CLI::App* verb : app.get_subcommands()) {
    for (const CLI::Option* option : verb->get_options()) {
      if (error == option->get_name() + " is required")
        return "assay " + verb->get_name() + " needs " + option->get_name() + ": " + option->get_description();
    }
  }
  return "";
}

// A bare --json means stdout; the parser would take the next word as its value.
std::vector<std::string> words(int argc, char** argv) {
  std::vector<std::string> list;
  for (int i = 1; i < argc; ++i) list.emplace_back(std::string(argv[i]) == "--json" ? "--json=-" : argv[i]);
  return {list.rbegin(), list.rend()};  // the parser pops from the back
}

// A flag has no value: the parser would take many values for true, some for its opposite, and stop at others.
void refuse_values_of_flags(CLI::App& app) {
  for (CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    for (CLI::Option* option : verb->get_options()) {
      if (is_plain_flag(*option)) option->disable_flag_override();
    }
  }
}

int run(int argc, char** argv) {
  if (const std::string why = empty_argument(argc, argv); !why.empty()) return refuse_line(why);
  CLI::App app("Assay: verification of neural networks with proofs that a small kernel checks", "assay");
  app.footer(kExitText);
  app.set_version_flag(
      "--version", [] { return version_text("assay", libraries()); }, "print version, commit, compiler, libraries and instruction sets");
  bool name = false;
  app.add_flag("--name", name, "print the program's name");
  int exit = kExitYes;
  for (const auto add : {add_verify,         add_check, add_run_verbs, add_cube_verbs, add_trim_verb, add_bounds,      add_inspect,
                         add_statement_verb, add_lint,  add_eval,      add_adjoint,    add_run_model, add_record,      add_audit,
                         add_gradcheck,      add_probe, add_supports,  add_ops,        add_explain,   add_capabilities})
    add(app, exit);
  for (const auto& [verb, example] : kExamples) finish_verb(app, verb, example);
  refuse_values_of_flags(app);
  app.require_subcommand(0, 1);
  app.parse_complete_callback([&app] { std::ranges::for_each(app.get_subcommands(), refuse_shared_files); });
  try {
    app.parse(words(argc, argv));
    if (name)
      std::printf("Assay\n");
    else if (app.get_subcommands().empty())
      throw CLI::RequiredError("a verb");
  } catch (const CLI::ParseError& error) {
    std::string why = error.get_exit_code() == 0 ? "" : mistyped(app, argc, argv);
    if (why.empty()) why = missing(app, error.what());
    if (!why.empty()) return refuse_line(why);
    return app.exit(error) == 0 ? kExitYes : kExitUsage;
  }
  conclude();
  return exit;
}

}  // namespace

int main(int argc, char** argv) {
  watch_signals();
  return guarded("assay", run, argc, argv);
}
