// `assay probe`: the probe plan of an op, run by a backend and audited.
#include <utility>

#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "gpu/devices.h"
#include "probes/launch.h"
#include "runtime/recorder.h"

namespace assay::cli {
namespace {

constexpr const char* kProbeSchema = "assay.probe/1";

GateCase noted(const std::string& name, const probes::PlanRun::Note& note, Finding::Kind kind) {
  GateCase one;
  one.name = note.probe;
  one.op = name;
  one.failed = kind == Finding::Kind::failure ? 1 : 0;
  one.findings.push_back({kind, note.why.code, note.probe, note.why.to_text(), {}, 1, {}});
  return one;
}

// Vacuous elements are counted and not listed: probes go where contracts say little. A case is "region 7 (softmax: dense float32)".
void append(std::vector<GateCase>& cases, std::vector<GateCase> more) {
  for (GateCase& one : more) {
    one.share = probes::share_of(one.name);
    std::erase_if(one.findings, [](const Finding& finding) { return finding.rule == reports::kVacuousRule; });
    cases.push_back(std::move(one));
  }
}

ExecutionModel::Storage storage_of(const std::string& dtype) {
  using Storage = ExecutionModel::Storage;
  return dtype == "bfloat16" ? Storage::bfloat16 : dtype == "float16" ? Storage::binary16 : Storage::same;
}

// One backend: its launchers, and the model that its results are judged by.
struct Probing {
  const ProbeOptions& options;
  const std::shared_ptr<runtime::Device>& device;  // null: the CPU
  GateReport& report;
  std::size_t& not_held;  // probes of elements that the device has no kernel for, which it refuses by name

  [[nodiscard]] bool is_compiled() const { return options.backend == "compiled"; }
  [[nodiscard]] probes::Launcher launcher() const {
    if (is_compiled()) return probes::compiled_launcher(device);
    return device != nullptr ? probes::device_launcher(device) : probes::eager_launcher();
  }
  [[nodiscard]] probes::RegionLauncher region_launcher() const {
    if (is_compiled()) return probes::compiled_region_launcher(device);
    return device != nullptr ? probes::device_region_launcher(device) : probes::eager_region_launcher();
  }
  [[nodiscard]] ExecutionModel model() const { return device != nullptr ? device->model() : runtime::execution_model(DType::float32); }

  [[nodiscard]] ExecutionModel::Storage storage() const { return storage_of(options.dtype); }
  [[nodiscard]] probes::PlanOptions of_plan() const {
    probes::PlanOptions plan{options.dtype == "float64" ? DType::float64 : DType::float32, options.seed, !options.small};
    plan.storage = storage();
    return plan;
  }

  [[nodiscard]] bool forward(Op op) const {
    probes::PlanRun run = run_plan(probes::probe_plan(op, of_plan()), launcher(), model());
    probes::store(run.trace, storage());
    judge(run, std::string(op_row(op).name));
    return options.trace.empty() || write_trace_file(run.trace, options.trace);
  }

  [[nodiscard]] bool region(const std::string& name) const {
    probes::PlanRun run = run_regions(probes::region_plan(name, of_plan()), region_launcher(), model());
    probes::store(run.trace, storage());
    judge(run, name);
    return options.trace.empty() || write_trace_file(run.trace, options.trace);
  }

  void judge(const probes::PlanRun& run, const std::string& name) const {
    for (const auto& fault : run.faults) report.cases.push_back(noted(name, fault, Finding::Kind::failure));
    for (const auto& declined : run.declined) note(name, declined);
    if (is_continuous(run.trace, report)) append(report.cases, audit_regions(run.trace, options.jobs));
  }

  void note(const std::string& name, const probes::PlanRun::Note& declined) const {
    if (device != nullptr && declined.why.code == "gpu.dtype")
      ++not_held;
    else
      report.cases.push_back(noted(name, declined, Finding::Kind::undecided));
  }

  [[nodiscard]] Outcome<Done> gradients(Op op) const {
    std::vector<probes::PlanRun::Note> refused;
    const auto trace = is_compiled()       ? probes::compiled_gradients(op, options.seed, device, refused)
                       : device != nullptr ? probes::device_gradients(op, options.seed, device, refused)
                                           : probes::eager_gradients(op, options.seed);
    for (const auto& declined : refused) note(std::string(op_row(op).name), declined);
    if (!trace) return trace.rejection();
    if (!is_continuous(trace.value(), report)) return Done{};
    append(report.cases, audit_regions(trace.value(), options.jobs));
    append(report.cases, gates::gradient_cases(trace.value(), options.seed, is_interrupted));
    return Done{};
  }
};

// Composite regions have no gradients of their own here, and no float64.
std::vector<std::string> asked_regions(const ProbeOptions& options) {
  std::vector<std::string> regions = probes::composite_regions();
  if (!options.all) std::erase_if(regions, [&](const std::string& name) { return name != options.op; });
  if (options.dtype == "float64") regions.clear();
  return regions;
}

Rejection beyond_device(const ProbeOptions& options) {
  return {Rejection::Kind::unsupported,  "probe.device", "--device " + options.device, "--dtype float32", "--dtype " + options.dtype,
          "a device computes in float32"};
}

}  // namespace

int probe(const ProbeOptions& options) {
  if (options.all && !options.trace.empty()) {
    std::fprintf(stderr, "assay probe: --trace does not go with --all: each op would write it again\n");
    return kExitUsage;
  }
  const std::vector<std::string> regions = asked_regions(options);
  std::vector<Op> ops = options.all ? computing_ops() : regions.empty() ? ops_named(options.op) : std::vector<Op>();
  std::erase_if(ops, [](Op op) { return op_row(op).op_class == OpClass::leaf; });
  if ((ops.empty() && regions.empty()) || options.all == !options.op.empty()) {
    std::fprintf(stderr, "assay probe: %s\n",
                 options.all || options.op.empty() ? "name one op with --op, or say --all"
                                                   : (unknown_op(options.op) + ", and docs/probes.md the composite regions").c_str());
    return kExitUsage;
  }
  const auto device = gpu::device_named(options.device);
  if (!device) return refuse(kProbeSchema, options.gate.json, device.rejection());
  if (device.value() != nullptr && options.dtype != "float32") return refuse(kProbeSchema, options.gate.json, beyond_device(options));
  GateReport report;
  report.counts_by_op = false;  // probes go where contracts of some ops say little
  report.verb = "probe";
  report.file = options.all ? "every op" : options.op;
  report.facts = {{"backend", options.backend}, {"dtype", options.dtype}, {"seed", std::to_string(options.seed)}};
  const double start = wall_seconds();
  if (device.value() != nullptr) report.facts.emplace_back("device", device.value()->name());
  std::size_t not_held = 0;
  const Probing probing{options, device.value(), report, not_held};
  bool written = true;
  for (const Op op : ops) {
    if (is_interrupted()) break;
    written = probing.forward(op) && written;
    if (options.forward_only || probing.storage() != ExecutionModel::Storage::same) continue;
    if (const auto done = probing.gradients(op); !done) return refuse(kProbeSchema, options.gate.json, done.rejection());
  }
  for (const std::string& name : regions) {
    if (is_interrupted()) break;
    written = probing.region(name) && written;
  }
  if (not_held > 0) report.facts.emplace_back("not held by the device", counted(not_held, "probe") + " of elements of other types");
  report.seconds = wall_seconds() - start;
  const int exit = conclude_gate(report, options.gate);
  return written || exit != kExitYes ? exit : kExitUnwritten;
}

}  // namespace assay::cli
