// `assay eval`: what the reference semantics says about a model at a point or on a box, and about its gradient there.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "api/check/cost.h"
#include "app/queries/values_json.h"
#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "frontends/files.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr const char* kEvalSchema = "assay.eval/1";

void print_sets(const char* kind, const std::vector<queries::NamedSet>& sets) {
  for (const queries::NamedSet& set : sets) {
    for (std::size_t i = 0; i < set.values.size(); ++i) {
      const Interval& value = set.values[i];
      if (value.is_undefined())
        std::printf("%s %s[%zu] is undefined\n", kind, printable(set.name).c_str(), i);
      else
        std::printf("%s %s[%zu] in [%.17g, %.17g]\n", kind, printable(set.name).c_str(), i, value.lo(), value.hi());
    }
  }
}

}  // namespace

int eval(const EvalOptions& options) {
  limit_memory(check::memory_rule(options.limits).most);
  const Outcome<onnx::Model> model = import_model_file(options.model, options.limits);
  if (!model) return refuse(kEvalSchema, options.json, model.rejection());
  const Outcome<queries::EvaluationRequest> request = queries::read_values_file(options.values);
  if (!request) return refuse(kEvalSchema, options.json, request.rejection());
  const Graph& graph = model.value().graph;
  const auto evaluation = queries::evaluate_sets(graph, request.value());
  if (!evaluation) {
    const Rejection& why = evaluation.rejection();
    return refuse(kEvalSchema, options.json, why.code.starts_with("values.") ? in_file(why, options.values) : why);
  }
  if (options.json != "-") {
    print_sets("output", evaluation.value().outputs);
    print_sets("gradient", evaluation.value().gradients);
    for (const std::string& name : evaluation.value().vacuous)
      std::fprintf(stderr, "note: output %s: the intervals say little, since the rounding errors of doubles grew with each layer\n",
                   printable(name).c_str());
  }
  return write_json(options.json, queries::to_json(evaluation.value())) ? kExitYes : kExitUnwritten;
}

void add_eval(CLI::App& app, int& exit) {
  static EvalOptions options;
  CLI::App* verb =
      app.add_subcommand("eval", "Compute proved intervals for a model's outputs, and for its gradient, at a point or on a box");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  verb->add_option("VALUES", options.values,
                   "a JSON file: {\"inputs\": {NAME: [numbers or {\"lo\": a, \"hi\": b}, row-major]}, \"cotangents\": {OUTPUT: [...]}}")
      ->required();
  add_edits(verb, options.limits);
  add_memory_of_model(verb, options.limits);
  add_json(verb, options.json);
  verb->callback([&exit] { exit = eval(options); });
}

}  // namespace assay::cli
