// `assay record`: a model's forward pass, and the gradient of the sum of an output, in the runtime; every step goes into a trace.
#include <cstdio>

#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"

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

}  // namespace assay::cli
