// Gradients of a recorded run: every recorded product is the vector-Jacobian product of its region's meaning, and every cotangent
// is the sum of all that flow into it.
//
// What an accepted gradient says, beyond the audit of the trace: the regions from the seed to the gradient, composed,
// are the adjoint of the derivative of the regions from the parameters to the output. For functions this is relative to
// the derivative table of the primitives (kernel/gradients/adjointness/adjointness.h), and the points are random ones
// within the recorded ranges and the recorded one (kernel/audit/point.cpp). Recorded points that sit on a kink of a
// choice are judged by themselves (kernel/audit/kinks.cpp). A product that declares a surrogate is compared with the
// surrogate's derivative, and its step says so: what is composed of such products is not the derivative of the run.
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

// What a cotangent has to be at a kink: any row of the Clarke derivative, or PyTorch's. That is what a product's
// `convention` gives. Where a trace declares none, it is what some operation of PyTorch gives that means a region's one
// op (docs/explanation/kinks.md): relu and abs 0, leaky_relu its slope, clip 0 or 1 at its ends (hardtanh, clamp), min,
// max and reductions equal shares or all to the first of those that tie, max_pool the latter.
enum class KinkConvention : std::uint8_t { any, pytorch };

// What one recorded gradient (an entry of Trace::gradients) needs to be right, in reverse order of the run. The trace is continuous.
struct GradientStep {
  std::string place;                            // region, or the tensor whose cotangents are summed
  std::uint32_t region = 0;                     // whose product it is; for sums, the region that gave the tensor
  std::uint32_t result = 0;                     // position among that region's results
  std::optional<gradients::Adjointness> proof;  // of a product; none for a sum and for kinks
  std::size_t kinks = 0;                        // recorded cotangents at kinks that were judged
  std::optional<Rejection> failure;
  bool is_surrogate = false;                        // the product is judged as that of a declared surrogate, not of the region's meaning
  std::optional<std::uint32_t> vjp = std::nullopt;  // of a product: its index in Trace::vjps
  std::optional<Interval> weights = std::nullopt;   // of kinks: the hull of the sets that their weights may be in
  std::size_t corners = 0;                          // of a product: elements judged by one-sided derivatives (kernel/audit/corners.h)
};

// One step per region whose results need a cotangent, per sum of cotangents, and per region with recorded points at kinks. Failures:
//   gradient.accumulation  a cotangent that is not the sum of what its consumers, and the seed, give: lost, doubled or foreign
//   gradient.missing       no recorded product of a region with a derivative
//   gradient.product       a product that is not the adjoint of the derivative: `found` says where; or, declined, one that
//                          could not be decided
//   gradient.value         a product that is right at random points and wrong at the recorded one (kernel/audit/point.cpp)
//   gradient.step          declined: a product that is right by exact numbers, with a step that rounding decided, or may have decided
//   gradient.nothing       declined: a gradient of no tensor, or a trace without regions
//   gradient.detached      declined: every way from all tensors of the gradient to the output passes a detached one
//   gradient.finite        a gradient that is NaN or infinite where the derivative is bounded; declined where that is not known
//   gradient.kink          a recorded cotangent at a kink that no element of the Clarke derivative gives
//   gradient.convention    one that is an element of it, and not the convention's; declined where nothing says what that is
[[nodiscard]] std::vector<GradientStep> check_gradient(const Trace& trace, std::size_t gradient, std::uint64_t seed,
                                                       KinkConvention convention = KinkConvention::any,
                                                       std::vector<bool>* judged = nullptr);
// `judged`, one mark per product (Trace::vjps), tells which ones the gradients of a trace needed. These are steps of the others: a recorded
// product is judged whoever needs it.
[[nodiscard]] std::vector<GradientStep> check_other_products(const Trace& trace, std::vector<bool> judged, std::uint64_t seed,
                                                             KinkConvention convention = KinkConvention::any);

// The recorded cotangents of one product (an index into Trace::vjps, of a trace that opens no region) at kinks alone: no proof of the
// product, for kernels that are seen from outside.
[[nodiscard]] GradientStep check_recorded_kinks(const Trace& trace, std::size_t vjp, KinkConvention convention = KinkConvention::any);

}  // namespace assay::audit
