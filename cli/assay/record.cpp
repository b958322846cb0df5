// `assay record`: a model's forward pass, and the gradient of the sum of an output, in the runtime; every step goes into a trace.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/assay/common_options.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"

namespace assay::cli {
namespace {

constexpr const char* kRecordSchema = "assay.record/1";

}  // namespace

int record(const RecordOptions& options) {
  const auto run = models::run_model(options, this_program());
  if (!run) return refuse(kRecordSchema, options.json, run.rejection());
  conclude();
  const Trace& trace = run.value().trace;
  if (!write_trace_file(trace, options.trace)) return kExitUnwritten;
  constexpr std::size_t kAlways = 5;  // facts of every run
  Facts facts{{"model", options.model},
              {"trace", options.trace},
              {"regions", std::to_string(trace.regions.size())},
              {"tensors", std::to_string(trace.tensors.size())},
              {"gradients", std::to_string(trace.gradients.size())}};
  if (run.value().draws > 1) facts.emplace_back("inputs", run.value().inputs + ", draw " + std::to_string(run.value().draws));
  if (!run.value().life.dead.empty()) facts.emplace_back("dead cotangents", gates::dead_text(run.value().life));
  if (options.device != "cpu") facts.emplace_back("device", options.device);
  if (options.json != "-") {
    std::printf("%s: %s, %s, %s\n", options.trace.c_str(), counted(trace.regions.size(), "region").c_str(),
                counted(trace.tensors.size(), "tensor").c_str(), counted(trace.gradients.size(), "gradient").c_str());
    for (std::size_t i = kAlways; i < facts.size(); ++i) std::printf("%s: %s\n", facts[i].first.c_str(), facts[i].second.c_str());
  }
  return write_json(options.json, facts_json(kRecordSchema, facts)) ? kExitYes : kExitUnwritten;
}

void add_record(CLI::App& app, int& exit) {
  static RecordOptions options;
  CLI::App* verb =
      app.add_subcommand("record", "Run a model forward and backward, and record the run for `assay audit` and `assay gradcheck`");
  verb->add_option("MODEL", options.model, "the ONNX file")->required();
  verb->add_option("TRACE", options.trace, "the file to write")->required();
  add_run(verb, options);
  add_draws(verb, options);
  verb->add_flag("--weighted", options.weighted,
                 "differentiate a randomly weighted sum of all float outputs, instead of the plain sum of one output");
  verb->add_flag("--forward-only", options.forward_only, "record no gradient");
  refuse_wrapped(verb->add_option("--seed", options.seed, "seed of the random inputs"))->capture_default_str();
  verb->add_option("--threads", options.threads, "threads of the runtime")->check(CLI::Range(1, 1024))->capture_default_str();
  add_json(verb, options.json);
  verb->callback([&exit, verb] {
    refuse_unread_by_record(*verb, options);
    exit = record(options);
  });
}

}  // namespace assay::cli
