#include "app/gates/probing.h"

#include <utility>

#include "runtime/recorder.h"

namespace assay::gates {
namespace {

GateCase noted(const std::string& name, const probes::PlanRun::Note& note, Finding::Kind kind) {
  GateCase one;
  one.name = note.probe;
  one.op = name;
  one.failed = kind == Finding::Kind::failure ? 1 : 0;
  one.findings.push_back({kind, note.why.code, note.probe, reports::sentence(note.why), {}, 1, {}});
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

}  // namespace

Probing::Probing(const ProbeRequest& request, std::shared_ptr<runtime::Device> device, Audit audit, Keep keep, Stop stop,
                 GateReport& report)
    : options_(request),
      device_(std::move(device)),
      audit_(std::move(audit)),
      keep_(std::move(keep)),
      stop_(std::move(stop)),
      report_(report) {}

probes::Launcher Probing::launcher() const {
  if (is_compiled()) return probes::compiled_launcher(device_);
  return device_ != nullptr ? probes::device_launcher(device_) : probes::eager_launcher();
}

probes::RegionLauncher Probing::region_launcher() const {
  if (is_compiled()) return probes::compiled_region_launcher(device_);
  return device_ != nullptr ? probes::device_region_launcher(device_) : probes::eager_region_launcher();
}

ExecutionModel Probing::model() const { return device_ != nullptr ? device_->model() : runtime::execution_model(DType::float32); }

ExecutionModel::Storage Probing::storage() const {
  using Storage = ExecutionModel::Storage;
  return options_.dtype == "bfloat16" ? Storage::bfloat16 : options_.dtype == "float16" ? Storage::binary16 : Storage::same;
}

probes::PlanOptions Probing::of_plan() const {
  probes::PlanOptions plan{options_.dtype == "float64" ? DType::float64 : DType::float32, options_.seed, !options_.small};
  plan.storage = storage();
  return plan;
}

bool Probing::forward(Op op) {
  return judged(run_plan(probes::probe_plan(op, of_plan()), launcher(), model()), std::string(op_row(op).name));
}

bool Probing::region(const std::string& name) {
  return judged(run_regions(probes::region_plan(name, of_plan()), region_launcher(), model()), name);
}

bool Probing::judged(probes::PlanRun run, const std::string& name) {
  probes::store(run.trace, storage());
  for (const auto& fault : run.faults) report_.cases.push_back(noted(name, fault, Finding::Kind::failure));
  for (const auto& declined : run.declined) note(name, declined);
  if (is_continuous(run.trace, report_)) {
    std::vector<GateCase> cases = audit_(run.trace);
    for (GateCase& one : cases) reports::call(one, name);
    append(report_.cases, std::move(cases));
  }
  return keep_(run.trace);
}

void Probing::note(const std::string& name, const probes::PlanRun::Note& declined) {
  if (device_ != nullptr && declined.why.code == "gpu.dtype")
    ++not_held_;
  else
    report_.cases.push_back(noted(name, declined, Finding::Kind::undecided));
}

Outcome<Done> Probing::gradients(Op op) {
  if (options_.forward_only || storage() != ExecutionModel::Storage::same) return Done{};
  std::vector<probes::PlanRun::Note> refused;
  const auto trace = is_compiled()        ? probes::compiled_gradients(op, options_.seed, device_, refused)
                     : device_ != nullptr ? probes::device_gradients(op, options_.seed, device_, refused)
                                          : probes::eager_gradients(op, options_.seed);
  for (const auto& declined : refused) note(std::string(op_row(op).name), declined);
  if (!trace) return trace.rejection();
  if (!is_continuous(trace.value(), report_)) return Done{};
  append(report_.cases, audit_(trace.value()));
  append(report_.cases, gradient_cases(trace.value(), options_.seed, stop_));
  return Done{};
}

std::vector<std::string> asked_regions(const ProbeRequest& options) {
  std::vector<std::string> regions = probes::composite_regions();
  if (!options.all) std::erase_if(regions, [&](const std::string& name) { return name != probes::composite_named(options.op); });
  if (options.dtype == "float64") regions.clear();
  return regions;
}

}  // namespace assay::gates
