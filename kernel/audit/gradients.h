// Gradients of a recorded run: every recorded product is the vector-Jacobian product of its region's meaning, and every cotangent
// is the sum of all that flow into it.
//
// What an accepted gradient says, beyond the audit of the trace: the regions from the seed to the gradient, composed, are the adjoint of
// the derivative of the regions from the parameters to the output. For functions this is relative to the derivative table of the primitives
// (kernel/adjointness/adjointness.h), and the points are random ones within the recorded ranges.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/adjointness/adjointness.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::kernel {

// What one recorded gradient (an entry of Trace::gradients) needs to be right, in reverse order of the run. The trace is continuous.
struct GradientStep {
  std::string place;                 // region, or the tensor whose cotangents are summed
  std::uint32_t region = 0;          // whose product it is; for sums, the region that gave the tensor
  std::uint32_t result = 0;          // position among that region's results
  std::optional<Adjointness> proof;  // of a product; none for a sum
  std::optional<Rejection> failure;
};

// One step per region whose results need a cotangent and per sum of cotangents. Failures:
//   gradient.accumulation  a cotangent that is not the sum of what its consumers, and the seed, give: lost, doubled or foreign
//   gradient.missing       no recorded product of a region with a derivative
//   gradient.product       a product that is not the adjoint of the derivative: `found` says where; or, declined, one that could not be
//   decided
[[nodiscard]] std::vector<GradientStep> check_gradient(const Trace& trace, std::size_t gradient, std::uint64_t seed);

}  // namespace assay::kernel
