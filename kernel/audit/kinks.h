// Recorded cotangents at points where a choice has no derivative. Private to this folder.
#pragma once

#include <optional>

#include "kernel/audit/gradients.h"
#include "semantics/graph/trace.h"
#include "semantics/numbers/interval.h"
#include "semantics/outcome.h"

namespace assay::audit {

struct KinkOutcome {
  std::size_t judged = 0;           // recorded cotangents at kinks
  std::optional<Interval> weights;  // the hull of the sets that their weights may be in
  std::optional<Rejection> failure;
};

// Whether a region is one choice alone: its op tells which conventions PyTorch has, and they are judged here.
[[nodiscard]] bool has_known_conventions(const Region& region);

// Of a continuous trace's product; `place` names its region. Regions that are not judged have no kinks here.
[[nodiscard]] KinkOutcome check_kinks(const Trace& trace, const Trace::Vjp& vjp, KinkConvention convention, const std::string& place);

}  // namespace assay::audit
