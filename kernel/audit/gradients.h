// Gradients of a recorded run: checks that every recorded product is the vector-Jacobian product of its region's
// meaning, and that every cotangent is the sum of all cotangents that flow into it.
//
// An accepted gradient means, beyond the audit of the trace: the regions from the seed to the gradient, composed, are
// the adjoint of the derivative of the regions from the parameters to the output. For functions this is relative to the
// derivative table of the primitives (kernel/gradients/adjointness/adjointness.h). The points are random ones within
// the recorded ranges, and the recorded one (kernel/audit/point.cpp). Recorded points at a kink of a choice are judged
// separately (kernel/audit/kinks.cpp). A product that declares a surrogate is compared with the surrogate's derivative,
// and its step says so; a composition of such products is not the derivative of the run.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "semantics/graph/trace.h"
#include "semantics/numbers/interval.h"
#include "semantics/outcome.h"

namespace assay::audit {

// The requirement on a cotangent at a kink: any row of the Clarke derivative, or PyTorch's convention. The latter is
// given by a product's `convention`. If a trace declares none, it is the result of some operation of PyTorch with the
// meaning of the region's one op (docs/explanation/kinks.md): relu and abs 0; leaky_relu its slope; clip 0 or 1 at its
// ends (hardtanh, clamp); min, max and reductions equal shares, or all to the first of the elements that tie; max_pool
// the latter. Conventions of several ops are those of kernel/audit/conventions.h.
enum class KinkConvention : std::uint8_t { any, pytorch };

// One condition for a recorded gradient (an entry of Trace::gradients) to be right, in reverse order of the run. The
// trace is continuous.
struct GradientStep {
  std::string place;                            // region, or the tensor whose cotangents are summed
  std::uint32_t region = 0;                     // the region of the product; for sums, the region that gave the tensor
  std::uint32_t result = 0;                     // position among that region's results
  std::optional<gradients::Adjointness> proof;  // for a product; none for a sum and for kinks
  std::size_t kinks = 0;                        // number of judged cotangents at kinks
  std::optional<Rejection> failure;
  // The product is judged as that of a declared surrogate, not of the region's meaning.
  bool is_surrogate = false;
  // For a product: its index in Trace::vjps.
  std::optional<std::uint32_t> vjp = std::nullopt;
  // For kinks: the hull of the sets that their weights may be in.
  std::optional<Interval> weights = std::nullopt;
  // For a product: the number of elements judged by one-sided derivatives (kernel/audit/corners.h).
  std::size_t corners = 0;
  // For a product: right only with functions at their limits, where every float execution rounds them (kernel/audit/underflow.h).
  bool is_limited = false;
};

// One step per region whose results need a cotangent, per sum of cotangents, and per region with recorded points at
// kinks. Failures:
//   gradient.accumulation  a cotangent that is not the sum of those from its consumers and the seed: lost, doubled
//                          or foreign
//   gradient.missing       no recorded product of a region with a derivative
//   gradient.product       a product that is not the adjoint of the derivative: `found` says where; or, declined, one
//                          that could not be decided
//   gradient.value         a product that is right at random points and wrong at the recorded
//                          one (kernel/audit/point.cpp)
//   gradient.step          declined: a product that is right by exact numbers, with a step that rounding decided, or
//                          may have decided
//   gradient.border        declined: at the border of a condition, a product that is not the derivative of the taken branch,
//                          beside a branch that has no derivative there
//   gradient.nothing       declined: a gradient of no tensor, or a trace without regions
//   gradient.detached      declined: every path from all tensors of the gradient to the output passes a detached tensor
//   gradient.finite        a gradient that is NaN or infinite where the derivative is bounded; declined if it is not
//                          known whether the derivative is bounded
//   gradient.kink          a recorded cotangent at a kink that no element of the Clarke derivative gives
//   gradient.convention    one that is such an element, but not the convention's; declined if the convention is
//                          not known
[[nodiscard]] std::vector<GradientStep> check_gradient(const Trace& trace, std::size_t gradient, std::uint64_t seed,
                                                       KinkConvention convention = KinkConvention::any,
                                                       std::vector<bool>* judged = nullptr);
// Steps of the products that no gradient of the trace needed; every recorded product is judged. `judged` has one mark
// per product (Trace::vjps) that a gradient needed.
[[nodiscard]] std::vector<GradientStep> check_other_products(const Trace& trace, std::vector<bool> judged, std::uint64_t seed,
                                                             KinkConvention convention = KinkConvention::any);

// Judges the recorded cotangents of one product at kinks alone (an index into Trace::vjps of a trace that opens no
// region). It is no proof of the product; it serves kernels that are only observed from outside.
[[nodiscard]] GradientStep check_recorded_kinks(const Trace& trace, std::size_t vjp, KinkConvention convention = KinkConvention::any);

}  // namespace assay::audit
