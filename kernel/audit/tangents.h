// Forward mode in a recorded run: checks that every recorded tangent is the Jacobian-vector product of the computation
// of its tensor.
//
// An accepted claim means, beyond the audit of the trace: if the tensors `from` move by their tangents, and the
// `detached` ones do not move, then each tensor of `to` moves by its tangent, to first order. All other tensors,
// for example parameters, do not move. For functions this is relative to the derivative table of the primitives.
// The points are random ones within the recorded ranges (kernel/gradients/adjointness/tangent.h), and the recorded
// one (kernel/audit/point.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::audit {

struct TangentStep {
  std::string place;         // the tensor of the tangent
  std::uint32_t region = 0;  // the region that gave the tensor
  TraceTensorId tangent = 0;
  std::optional<gradients::Adjointness> proof;
  std::optional<Rejection> failure;
  // It was recorded as 0 everywhere, although the derivative is not 0: no evidence for the code that computed it.
  bool is_dead = false;
};

// One step per tensor of `to`, in the order in which the run gave these tensors. The trace is continuous. Failures:
//   tangent.product  a tangent that is not the derivative's: `found` says where; or, declined, one that could not
//                    be decided
//   gradient.value   a tangent that is right at random points and wrong at the recorded one (kernel/audit/point.cpp)
//   gradient.step    declined: one with a step that rounding decided, or may have decided
[[nodiscard]] std::vector<TangentStep> check_tangents(const Trace& trace, std::size_t claim, std::uint64_t seed);

}  // namespace assay::audit
