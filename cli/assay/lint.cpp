#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/check/cost.h"
#include "cli/assay/common_options.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "frontends/onnx/lint.h"

namespace assay::cli {
namespace {

std::string lint_json(const std::string& model, const std::vector<Rejection>& problems) {
  Json json = opened("assay.lint/1");
  json["model"] = model;
  json["supported"] = problems.empty();
  json["problems"] = Json::array();
  for (const Rejection& why : problems) json["problems"].push_back(rejection(why));
  return json_text(json);
}

}  // namespace

int lint(const LintOptions& options) {
  const MemoryRule memory = memory_rule(options.limits);
  limit_memory(memory.most);
  const std::vector<Rejection> problems = onnx::lint(options.model, memory);
  if (!write_json(options.json, lint_json(options.model, problems))) return kExitUnwritten;
  if (options.json == "-") return problems.empty() ? kExitYes : kExitBadInput;
  std::printf("%s\n", problems.empty() ? "supported" : "unsupported");
  for (const Rejection& why : problems) std::printf("%s\n", why.to_text().c_str());
  std::fprintf(stderr, "%s: %s\n", options.model.c_str(),
               problems.empty() ? "every node can be verified" : counted(problems.size(), "blocking problem").c_str());
  return problems.empty() ? kExitYes : kExitBadInput;
}

void add_lint(CLI::App& app, int& exit) {
  static LintOptions options;
  CLI::App* verb = app.add_subcommand("lint", "List all nodes that block the verification of a model");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  add_memory_of_model(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&exit] { exit = lint(options); });
}

}  // namespace assay::cli
