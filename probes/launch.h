// Launchers: kernels that run a probe plan, and what comes of it as a trace for kernel/audit.
//
//   const auto plan = probe_plan(Op::softmax);
//   const PlanRun run = run_plan(plan, my_launcher, my_model);           // then audit run.trace, or formats::write_trace it
//
// A launcher is any kernel: the runtime's, or one of the caller's that is to be tested.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kernel/adjointness/adjointness.h"
#include "probes/plan.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::probes {

struct Launch {
  Op op;
  const Attributes& attributes;
  std::span<const Tensor> operands;  // their elements are not to be written
  DType dtype;                       // of the result
  const Shape& shape;
  std::span<std::byte> result;  // poisoned; every element is to be written
};
// A rejection declines the launch.
using Launcher = std::function<Outcome<Done>(const Launch&)>;

[[nodiscard]] Launcher eager_launcher();     // the runtime's kernels, one op at a time
[[nodiscard]] Launcher compiled_launcher();  // the runtime's programs

struct PlanRun {
  struct Note {
    std::string probe;  // its name
    Rejection why;
  };
  Trace trace;  // a region per probe that was run, under the probe's name
  // Whatever the results are: "probe.unwritten" elements left as they were, "probe.operand" an operand that was written,
  // "probe.unsteady" another result from the same operands.
  std::vector<Note> faults;
  std::vector<Note> declined;  // by the launcher
};
// Adds a region with operands and a result of its own, as inputs and an output of the trace; for float64 the model's format is exchanged.
void append_region(Trace& trace, std::string name, Graph graph, ExecutionModel model, std::span<const Tensor> operands, Tensor result);

// Each probe runs twice, on memory that is poisoned differently. `model` is the execution model of float32.
[[nodiscard]] PlanRun run_plan(std::span<const Probe> plan, const Launcher& launcher, const ExecutionModel& model);

// What to run a vector-Jacobian product of an application on: its operands, the cotangent last. Whole numbers, full precision, a cotangent
// of 0, and elements at kinks.
[[nodiscard]] std::vector<std::vector<Tensor>> product_probes(const kernel::AdjointCase& one, std::uint64_t seed);

// Gradients of every application of kernel/adjointness/cases.h, as traces with products and gradients for kernel/audit: eager, op by op
// from a session's tape; compiled, each product as one region. Empty for ops without a derivative.
[[nodiscard]] Outcome<Trace> eager_gradients(Op op, std::uint64_t seed);
[[nodiscard]] Outcome<Trace> compiled_gradients(Op op, std::uint64_t seed);

}  // namespace assay::probes
