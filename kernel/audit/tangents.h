// Forward mode in a recorded run: every recorded tangent is the Jacobian-vector product of what gave its tensor.
//
// What an accepted claim says, beyond the audit of the trace: if the tensors `from` move by their tangents, and those
// that are `detached` do not move, then each tensor of `to` moves by its tangent, to first order. Tensors that are
// neither, parameters for instance, do not move. For functions this is relative to the derivative table of the
// primitives, and the points are random ones within the recorded ranges (kernel/gradients/adjointness/tangent.h) and
// the recorded one (kernel/audit/point.h).
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
  std::string place;         // the tensor whose tangent it is
  std::uint32_t region = 0;  // that gave the tensor
  TraceTensorId tangent = 0;
  std::optional<gradients::Adjointness> proof;
  std::optional<Rejection> failure;
  bool is_dead = false;  // it was recorded as 0 everywhere, and the derivative is not 0: no evidence for what computed it
};

// One step per tensor of `to`, in the order in which the run gave these tensors. The trace is continuous. Failures:
//   tangent.product  a tangent that is not the derivative's: `found` says where; or, declined, one that could not be decided
//   gradient.value   a tangent that is right at random points and wrong at the recorded one (kernel/audit/point.cpp)
//   gradient.step    declined: one with a step that rounding decided, or may have decided
[[nodiscard]] std::vector<TangentStep> check_tangents(const Trace& trace, std::size_t claim, std::uint64_t seed);

}  // namespace assay::audit
