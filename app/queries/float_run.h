// Runs the network in float32 at a witness, beside the theorem about real arithmetic. The result is a remark, never a verdict.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernel/logic/api.h"

namespace assay::queries {

// One execution: every operation rounded to the nearest float32, sums in the order of the definition, no fused
// multiply-add. Other executions (ONNX Runtime, a GPU) round in another order: tools/replay_witness runs the model itself.
struct FloatRun {
  std::string not_run;             // why there is none; empty when there is
  bool violates = false;           // some case over the witness's input box holds at the outputs
  std::uint32_t case_index = 0;    // that case
  bool inside = false;             // the float32 inputs lie in the decimal box, exactly
  std::size_t rounded_inputs = 0;  // inputs of the witness that are no float32 and were rounded to the nearest
  std::vector<float> outputs;
};

[[nodiscard]] FloatRun run_in_float32(const logic::Theorem& satisfiable);
// One sentence for the report.
[[nodiscard]] std::string to_text(const FloatRun& run);

}  // namespace assay::queries
