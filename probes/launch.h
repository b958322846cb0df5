// Launchers run a probe plan through any kernel and give the results as a trace for kernel/audit.
//
//   const auto plan = probe_plan(Op::softmax);
//   const PlanRun run = run_plan(plan, my_launcher, my_model);           // then audit run.trace, or formats::write_trace it
//
// A launcher is any kernel: the runtime's, or one of the caller's that is to be tested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "probes/composites.h"
#include "probes/plan.h"
#include "runtime/device.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::probes {

// An operand as it lies in memory: element [i, j, ...] at data + (i strides[0] + j strides[1] + ...) * byte size. A stride may be 0.
struct View {
  const std::byte* data = nullptr;
  std::vector<std::int64_t> strides;
};

struct Launch {
  Op op;
  const Attributes& attributes;
  std::span<const Tensor> operands;  // dense; their elements are not to be written
  DType dtype;                       // of the result
  const Shape& shape;
  std::span<std::byte> result;  // poisoned, dense; every element is to be written
  // The same operands in the probe's layout. A kernel that takes strides reads these and leaves `operands` alone; nor are these written.
  std::span<const View> views = {};
};
// A rejection declines the launch.
using Launcher = std::function<Outcome<Done>(const Launch&)>;

[[nodiscard]] Launcher eager_launcher();  // the runtime's kernels, one op at a time
// The runtime's programs; on a device, if there is one, as it replays what it keeps.
[[nodiscard]] Launcher compiled_launcher(const std::shared_ptr<runtime::Device>& device = nullptr);
[[nodiscard]] Launcher device_launcher(std::shared_ptr<runtime::Device> device);

// A region of several ops that a kernel computes at once.
struct RegionLaunch {
  const Graph& graph;
  std::span<const Tensor> operands;               // one per input, dense
  std::span<const std::span<std::byte>> results;  // one per output, poisoned, dense
  std::span<const View> views = {};
};
using RegionLauncher = std::function<Outcome<Done>(const RegionLaunch&)>;

[[nodiscard]] RegionLauncher eager_region_launcher();
[[nodiscard]] RegionLauncher compiled_region_launcher(const std::shared_ptr<runtime::Device>& device = nullptr);
[[nodiscard]] RegionLauncher device_region_launcher(std::shared_ptr<runtime::Device> device);  // op by op

// A graph as a program, and what it gives there.
[[nodiscard]] Outcome<std::vector<runtime::Array>> compiled_and_run(const Graph& graph, std::span<const Tensor> operands,
                                                                    const std::shared_ptr<runtime::Device>& device);

struct PlanRun {
  struct Note {
    std::string probe;  // its name
    Rejection why;
  };
  Trace trace;  // a region per probe that was run, under the probe's name
  // Faults that do not depend on the values of results: "probe.unwritten" elements left as they were, "probe.operand" an operand
  // that was written, "probe.guard" memory that was written beside a result, "probe.unsteady" another result from the same
  // operands.
  std::vector<Note> faults;
  std::vector<Note> declined;  // by the launcher
};
// Adds a region with operands and results of its own, as inputs and outputs of the trace; for float64 the model's format is exchanged.
void append_region(Trace& trace, std::string name, Graph graph, ExecutionModel model, std::span<const Tensor> operands,
                   std::vector<Tensor> results);
void append_region(Trace& trace, std::string name, Graph graph, ExecutionModel model, std::span<const Tensor> operands, Tensor result);

// Each probe runs twice, on memory that is poisoned differently. `model` is the execution model of float32.
[[nodiscard]] PlanRun run_plan(std::span<const Probe> plan, const Launcher& launcher, const ExecutionModel& model);
[[nodiscard]] PlanRun run_regions(std::span<const RegionProbe> plan, const RegionLauncher& launcher, const ExecutionModel& model);
// The reals of a run in float32 as a kernel over 16 bits would leave them: each result rounded once. The plan was drawn in that format.
void store(Trace& trace, ExecutionModel::Storage storage);

// The probes of a vector-Jacobian product of an application: its operands, the cotangent last. They hold whole numbers, full precision, a
// cotangent of 0, and elements at kinks.
[[nodiscard]] std::vector<std::vector<Tensor>> product_probes(const gradients::AdjointCase& one, std::uint64_t seed);

// A kernel of a product: from the operands and, last, the cotangent of the result, one cotangent for each real operand.
struct ProductLaunch {
  const gradients::AdjointCase& application;
  std::span<const Tensor> operands;
};
using ProductLauncher = std::function<Outcome<std::vector<Tensor>>(const ProductLaunch&)>;
// The runs of a product's kernel on its probes, as a trace for kernel/audit: a region of the application and one of the product that is
// declared, with what the kernel gave, per probe. Audit the regions (the values) and check the gradients: that decides what values alone
// do not, at ties the sum of the shares. A kernel of a surrogate declares the function whose product it is meant to be.
[[nodiscard]] Outcome<Trace> run_products(const gradients::AdjointCase& one, const ProductLauncher& launcher, const ExecutionModel& model,
                                          std::uint64_t seed, const std::optional<Graph>& surrogate = std::nullopt);

// Gradients of every application of kernel/gradients/adjointness/cases.h, as traces with products and gradients for kernel/audit.
// They are eager, op by op from a session's tape, or compiled, each product as one region. Empty for ops without a derivative. On
// a device, if one is named, a note lists applications that it refuses (elements of other types).
[[nodiscard]] Outcome<Trace> eager_gradients(Op op, std::uint64_t seed);
[[nodiscard]] Outcome<Trace> device_gradients(Op op, std::uint64_t seed, std::shared_ptr<runtime::Device> device,
                                              std::vector<PlanRun::Note>& declined);
[[nodiscard]] Outcome<Trace> compiled_gradients(Op op, std::uint64_t seed);
[[nodiscard]] Outcome<Trace> compiled_gradients(Op op, std::uint64_t seed, const std::shared_ptr<runtime::Device>& device,
                                                std::vector<PlanRun::Note>& declined);

}  // namespace assay::probes
