// The probe plans of ops and of composite regions, run by a backend, as cases.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/gates/gate.h"
#include "probes/launch.h"
#include "runtime/device.h"

namespace assay::gates {

struct ProbeRequest {
  std::string op;  // an op, or a composite region
  bool all = false;
  std::string backend = "eager", device = "cpu", dtype = "float32";
  bool small = false, forward_only = false;
  std::uint64_t seed = 1;
};

// Audit judges the regions of a run. Keep stores the run, and returns false if it could not.
using Audit = std::function<std::vector<GateCase>(const Trace&)>;
using Keep = std::function<bool(const Trace&)>;

class Probing {
 public:
  // Without a device the CPU runs. Cases go to the report.
  Probing(const ProbeRequest& request, std::shared_ptr<runtime::Device> device, Audit audit, Keep keep, Stop stop, GateReport& report);

  // False where a run could not be kept.
  [[nodiscard]] bool forward(Op op);
  [[nodiscard]] bool region(const std::string& name);
  // Of ops in types that have gradients here; else nothing is done.
  [[nodiscard]] Outcome<Done> gradients(Op op);
  // Probes of elements that the device has no kernel for, which it refuses by name.
  [[nodiscard]] std::size_t not_held() const { return not_held_; }

 private:
  [[nodiscard]] bool is_compiled() const { return options_.backend == "compiled"; }
  [[nodiscard]] probes::Launcher launcher() const;
  [[nodiscard]] probes::RegionLauncher region_launcher() const;
  [[nodiscard]] ExecutionModel model() const;
  [[nodiscard]] ExecutionModel::Storage storage() const;
  [[nodiscard]] probes::PlanOptions of_plan() const;
  [[nodiscard]] bool judged(probes::PlanRun run, const std::string& name);
  void note(const std::string& name, const probes::PlanRun::Note& declined);

  const ProbeRequest& options_;
  std::shared_ptr<runtime::Device> device_;
  Audit audit_;
  Keep keep_;
  Stop stop_;
  GateReport& report_;
  std::size_t not_held_ = 0;
};

// Composite regions have no gradients of their own here, and no float64.
[[nodiscard]] std::vector<std::string> asked_regions(const ProbeRequest& request);

}  // namespace assay::gates
