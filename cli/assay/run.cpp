// `assay run`: a model's outputs, as text and JSON.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "api/check/cost.h"
#include "cli/assay/common_options.h"
#include "cli/assay/gate.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "semantics/printable.h"

namespace assay::cli {

int run_model(const RecordOptions& options) {
  constexpr const char* kRunSchema = "assay.run/1";
  limit_memory(memory_rule(options.limits).most);
  const auto outputs = models::outputs_of(options, this_program());
  if (!outputs) return refuse(kRunSchema, options.json, outputs.rejection());
  Json json{{"schema", kRunSchema}, {"dtype", options.dtype.empty() ? "of the model" : options.dtype}, {"outputs", Json::object()}};
  for (const models::Output& output : outputs.value()) {
    json["outputs"][output.name] = {{"shape", output.shape}, {"values", output.values}};
    for (std::size_t i = 0; options.json != "-" && i < output.texts.size(); ++i)
      std::printf("output %s[%zu] %s\n", printable(output.name).c_str(), i, output.texts[i].c_str());
  }
  return write_json(options.json, json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n") ? kExitYes : kExitUnwritten;
}

void add_run_model(CLI::App& app, int& exit) {
  static RecordOptions options;
  CLI::App* verb = app.add_subcommand("run", "Run a model in floats, exact numbers or intervals, and print its outputs");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  verb->add_option("--dtype", options.dtype, "type of the numbers to compute with; default: the type of the model")
      ->check(CLI::IsMember({"float32", "float64", "bfloat16", "exact", "interval", "complex64"}));
  add_run(verb, options);
  refuse_wrapped(verb->add_option("--seed", options.seed, "seed of the random inputs"))->capture_default_str();
  add_json(verb, options.json);
  verb->callback([&exit, verb] {
    if (!options.values.empty()) refuse_unread(*verb, "--values", {"--seed"});
    exit = run_model(options);
  });
}

}  // namespace assay::cli
