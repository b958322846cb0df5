// Recorded cotangents at points where a choice has no derivative. Private to this folder.
#pragma once

#include <optional>

#include "kernel/audit/gradients.h"
#include "semantics/graph/trace.h"
#include "semantics/numbers/interval.h"
#include "semantics/outcome.h"

namespace assay::audit {

struct KinkOutcome {
  std::size_t judged = 0;           // number of recorded cotangents at kinks
  std::optional<Interval> weights;  // the hull of the sets that their weights may be in
  std::optional<Rejection> failure;
};

// Whether a region is a single choice, and each element with a cotangent serves one element of the result. Its op
// determines the conventions that PyTorch has; they are judged here.
[[nodiscard]] bool has_known_conventions(const Region& region, const Trace::Vjp& vjp);

// For a product of a continuous trace; `place` names its region. Regions that are not judged have no kinks here.
[[nodiscard]] KinkOutcome check_kinks(const Trace& trace, const Trace::Vjp& vjp, KinkConvention convention, const std::string& place);

}  // namespace assay::audit
