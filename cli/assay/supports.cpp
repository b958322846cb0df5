// The answers of the VNN-LIB 2 `supports` interface. A float type is answered for every execution of its default model
// (docs/explanation/float32.md).
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/assay/common_options.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "frontends/onnx/import.h"

namespace assay::cli {
namespace {

std::vector<std::string> operators() {
  std::vector<std::string> names;
  for (const onnx::OperatorSupport& support : onnx::supported_operators()) names.push_back(support.op);
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

std::vector<std::string> operations() {
  std::vector<std::string> names;
  for (int i = 0; i < kOpCount; ++i) names.emplace_back(op_row(static_cast<Op>(i)).name);
  return names;
}

std::vector<std::string> opset_range() {
  std::int64_t first = 0, last = 0;
  for (const onnx::OperatorSupport& support : onnx::supported_operators()) {
    if (support.domain != "ai.onnx") continue;
    first = first == 0 ? support.first_opset : std::min(first, support.first_opset);
    last = std::max(last, support.last_opset);
  }
  return {std::to_string(first), std::to_string(last)};
}

std::vector<std::string> answer(const std::string& question) {
  if (question == "onnx-operators") return operators();
  if (question == "operations") return operations();
  if (question == "onnx-opset-versions") return opset_range();
  static const std::map<std::string, std::vector<std::string>> kAnswers{
      {"onnx-element-types",
       {"real", "float32", "float64", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "bool"}},
      {"vnnlib-versions", {"1.0", "2.0"}},
      {"hidden-node-theories", {"NH"}},
      {"multiple-input-output-theories", {"SIO", "MIO"}},
      {"multiple-network-theories", {"SNET"}},
      {"multiple-node-comparison-theories", {"SNC", "MNC"}},
      {"arithmetic-complexity-theories", {"BND", "OUTC", "LIN", "POLY"}},
      {"optimised-disjunctive-reasoning", {"true"}},
      {"serialise-assignments", {"false"}},
      {"unsat-proofs", {"false"}},  // in the VNN-LIB format; `verify --proof` writes this project's own
  };
  return kAnswers.at(question);
}

std::string supports_json(const std::map<std::string, std::vector<std::string>>& answers) {
  Json json = opened("assay.supports/1");
  for (const auto& [question, lines] : answers) json["answers"][question] = lines;
  return json_text(json);
}

}  // namespace

const std::vector<std::string>& support_questions() {
  static const std::vector<std::string> kQuestions{"onnx-operators",
                                                   "onnx-opset-versions",
                                                   "onnx-element-types",
                                                   "vnnlib-versions",
                                                   "hidden-node-theories",
                                                   "multiple-input-output-theories",
                                                   "multiple-network-theories",
                                                   "multiple-node-comparison-theories",
                                                   "arithmetic-complexity-theories",
                                                   "optimised-disjunctive-reasoning",
                                                   "serialise-assignments",
                                                   "unsat-proofs",
                                                   "operations"};  // ours: the ops of the reference semantics
  return kQuestions;
}

int supports(const std::string& question, const JsonTarget& json) {
  if (!json.empty()) {
    std::map<std::string, std::vector<std::string>> answers;
    for (const std::string& each : support_questions()) answers[each] = answer(each);
    if (!write_json(json, supports_json(answers))) return kExitUnwritten;
    if (json == "-" || question.empty()) return kExitYes;
  }
  for (const std::string& line : answer(question)) std::printf("%s\n", line.c_str());
  return kExitYes;
}

// `supports` and its older spelling `capabilities`.
static void add_questions(CLI::App& app, const char* name, int& exit) {
  static std::string question;
  static JsonTarget json;
  CLI::App* verb = app.add_subcommand(name, "Say what this solver supports: answer one question of the VNN-LIB 2 interface");
  for (const std::string& each : support_questions()) {
    verb->add_flag("--" + each, [each](std::int64_t) { question = each; });
  }
  add_json(verb, json);
  verb->callback([&exit, verb] {
    const std::size_t asked = verb->count_all() - 1 - verb->count("--json");
    if (asked > 1 || (asked == 0 && json.empty())) throw CLI::ValidationError("supports", "ask one question, for example --onnx-operators");
    exit = supports(question, json);
  });
}

void add_supports(CLI::App& app, int& exit) { add_questions(app, "supports", exit); }
void add_capabilities(CLI::App& app, int& exit) { add_questions(app, "capabilities", exit); }

}  // namespace assay::cli
