// `assay probe`: the probe plan of an op, run by a backend and audited.
#include <CLI/CLI.hpp>
#include <utility>

#include "app/gates/probing.h"
#include "cli/assay/common_options.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"
#include "gpu/devices.h"

namespace assay::cli {
namespace {

constexpr const char* kProbeSchema = "assay.probe/1";

Rejection beyond_device(const ProbeOptions& options) {
  return {Rejection::Kind::unsupported,  "probe.device", "--device " + options.device, "--dtype float32", "--dtype " + options.dtype,
          "a device computes in float32"};
}

}  // namespace

int probe(const ProbeOptions& options) {
  if (options.all && !options.trace.empty()) {
    std::fprintf(stderr, "assay probe: --trace does not go with --all, since each op would overwrite the file; give one op with --op\n");
    return kExitUsage;
  }
  const std::vector<std::string> regions = gates::asked_regions(options);
  std::vector<Op> ops = options.all ? computing_ops() : regions.empty() ? ops_named(options.op) : std::vector<Op>();
  std::erase_if(ops, [](Op op) { return op_row(op).op_class == OpClass::leaf; });
  if ((ops.empty() && regions.empty()) || options.all == !options.op.empty()) {
    std::fprintf(stderr, "assay probe: %s\n",
                 options.all || options.op.empty()
                     ? "give one op with --op, or --all"
                     : (unknown_op(options.op) + ", and docs/reference/probes.md the composite regions").c_str());
    return kExitUsage;
  }
  const auto device = gpu::device_named(options.device);
  if (!device) return refuse(kProbeSchema, options.gate.json, device.rejection());
  if (device.value() != nullptr && options.dtype != "float32") return refuse(kProbeSchema, options.gate.json, beyond_device(options));
  GateReport report;
  report.counts_by_op = false;  // probes go where contracts of some ops say little
  report.verb = "probe";
  report.file = options.all ? "test every op" : options.op;
  report.facts = {{"backend", options.backend}, {"dtype", options.dtype}, {"seed", std::to_string(options.seed)}};
  const double start = wall_seconds();
  if (device.value() != nullptr) report.facts.emplace_back("device", device.value()->name());
  const auto audit = [&options](const Trace& trace) { return audit_regions(trace, options.jobs); };
  const auto keep = [&options](const Trace& trace) { return options.trace.empty() || write_trace_file(trace, options.trace); };
  gates::Probing probing(options, device.value(), audit, keep, is_interrupted, report);
  bool written = true;
  for (const Op op : ops) {
    if (is_interrupted()) break;
    written = probing.forward(op) && written;
    if (const auto done = probing.gradients(op); !done) return refuse(kProbeSchema, options.gate.json, done.rejection());
  }
  for (const std::string& name : regions) {
    if (is_interrupted()) break;
    written = probing.region(name) && written;
  }
  if (const std::size_t not_held = probing.not_held(); not_held > 0)
    report.facts.emplace_back("not held by the device", counted(not_held, "probe") + " of elements of other types");
  report.seconds = wall_seconds() - start;
  const int exit = conclude_gate(report, options.gate);
  return written || exit != kExitYes ? exit : kExitUnwritten;
}

void add_probe(CLI::App& app, int& exit) {
  static ProbeOptions options;
  CLI::App* verb = app.add_subcommand("probe", "Test a backend: run an op on chosen operands (probes), and judge every value and gradient");
  verb->add_option("--op", options.op, "an op that `assay ops` lists, an ONNX operator, or a composition, e.g. conv, MaxPool or 'rms norm'")
      ->type_name("NAME");
  verb->add_flag("--all", options.all, "test every op");
  verb->add_option("--backend", options.backend, "run op by op (eager), or as a program with fused steps (compiled)")
      ->check(CLI::IsMember({"eager", "compiled"}))
      ->capture_default_str();
  add_device(verb, options.device);
  const CLI::IsMember types({"float32", "float64", "float16", "bfloat16"});
  verb->add_option("--dtype", options.dtype, "type of float elements; gradients are judged for 32 and 64 bits only")
      ->check(types)
      ->capture_default_str();
  verb->add_flag("--small", options.small, "use small shapes only");
  verb->add_flag("--forward-only", options.forward_only, "judge no gradients");
  verb->add_option("--trace", options.trace, "write the forward runs to FILE, for `assay audit`")->type_name("FILE");
  refuse_wrapped(verb->add_option("--seed", options.seed, "seed of the random operands and points"))->capture_default_str();
  verb->add_option("--jobs", options.jobs, "regions (recorded computations) to judge at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  options.gate.most_undecided = 0.25;  // of each kind of ordinary probes (probes/plan.h, share_of)
  add_gate(verb, options.gate);
  verb->callback([&exit] { exit = probe(options); });
}

}  // namespace assay::cli
