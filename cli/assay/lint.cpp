#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "api/check/cost.h"
#include "cli/assay/common_options.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "frontends/onnx/lint.h"

namespace assay::cli {
namespace {

std::string lint_json(const LintOptions& options, const std::vector<Rejection>& problems, const std::vector<std::string>& needed) {
  Json json = opened("assay.lint/1");
  json["model"] = options.model;
  if (!needed.empty()) json["needed"] = needed;
  json["supported"] = problems.empty();
  json["problems"] = Json::array();
  for (const Rejection& why : problems) json["problems"].push_back(rejection(why));
  return json_text(json);
}

// Nodes that are refused for one reason share a line.
void print(const std::vector<Rejection>& problems) {
  std::vector<std::pair<const Rejection*, std::size_t>> groups;
  for (const Rejection& why : problems) {
    const auto same = std::ranges::find_if(groups, [&](const auto& group) {
      const Rejection& one = *group.first;
      return one.place.starts_with("node ") && one.code == why.code && one.required == why.required && one.found == why.found &&
             one.advice == why.advice;
    });
    if (same == groups.end())
      groups.emplace_back(&why, 1);
    else
      ++same->second;
  }
  for (const auto& [why, count] : groups)
    std::printf("%s%s\n", why->to_text().c_str(), count == 1 ? "" : (", and " + counted(count - 1, "node") + " like it").c_str());
}

// The command that names all that the model leaves open, with what was said already.
std::string command(const LintOptions& options, const std::vector<std::string>& needed) {
  std::string text = "assay lint " + onnx::shell_word(options.model) + options.limits.edits.words();
  for (const std::string& one : needed) text += " " + one;
  return text;
}

}  // namespace

int lint(const LintOptions& options) {
  const MemoryRule memory = memory_rule(options.limits);
  limit_memory(memory.most);
  std::vector<std::string> needed;
  const std::vector<Rejection> problems = onnx::lint(options.model, memory, options.limits.edits, &needed);
  if (!write_json(options.json, lint_json(options, problems, needed))) return kExitUnwritten;
  if (options.json == "-") return problems.empty() ? kExitYes : kExitBadInput;
  std::printf("%s\n", problems.empty() ? "supported" : "unsupported");
  print(problems);
  if (!needed.empty()) std::printf("the model leaves open: %s\n", command(options, needed).c_str());
  std::fprintf(stderr, "%s: %s\n", options.model.c_str(),
               problems.empty() ? "every node can be verified" : counted(problems.size(), "blocking problem").c_str());
  return problems.empty() ? kExitYes : kExitBadInput;
}

void add_lint(CLI::App& app, int& exit) {
  static LintOptions options;
  CLI::App* verb = app.add_subcommand("lint", "List all nodes that block the verification of a model");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  add_edits(verb, options.limits);
  add_memory_of_model(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&exit] { exit = lint(options); });
}

}  // namespace assay::cli
