// A model's forward pass, and the gradient of its outputs, in the runtime: every step goes into a trace.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "app/program.h"
#include "kernel/audit/dead.h"
#include "runtime/array.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::models {

struct ModelRunRequest {
  std::string model;
  std::string values;  // file; empty: random ones
  std::string output;  // whose sum is differentiated; empty: the first real one
  bool forward_only = false;
  std::string backend = "eager";  // or compiled: as a program with fused steps
  std::string device = "cpu";     // or what else gpu/devices.h names
  std::vector<double> range;      // lo, hi of random inputs; empty: normal ones
  unsigned draws = 24;            // of random inputs at most, until no cotangent is 0 everywhere
  bool weighted = false;          // the loss weighs all real outputs with random cotangents, instead of the sum of one
  std::uint64_t seed = 1;
  unsigned threads = 1;
  check::Limits limits;  // of the memory
  double kept = 4;       // copies of each value that are in memory at one time: of the run, and of the records
};

// A run of the model, on the inputs that leave the fewest products dead.
struct ModelTrace {
  Trace trace;
  audit::Liveness life;
  std::string inputs;     // in words: where they come from
  std::size_t draws = 0;  // of random inputs that were tried
};
[[nodiscard]] Outcome<ModelTrace> run_model(const ModelRunRequest& request, const Program& program);

// Of an input that gets no random values, since these are real.
[[nodiscard]] Rejection no_values(const Node& node, const std::string& name);
// The numbers of a file as an input of the runtime: points, and integers for integers, rounded to the input's type.
[[nodiscard]] Outcome<runtime::Array> given_values(const Node& node, const std::string& name, const std::vector<Interval>& values);

}  // namespace assay::models
