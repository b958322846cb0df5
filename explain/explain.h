// Explains a failed audit to a reader: numbers, formulas, the largest terms, the places of failures, and a smaller trace that
// fails too.
//
// The kernel has judged before, and nothing here decides anything. Numbers are computed again from the trace, in double where
// that is good enough for words. A smaller trace is only handed out once audit::audit_region has refused it as well.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernel/audit/audit.h"
#include "kernel/audit/gradients.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::explain {

// Lines on the failed elements of one result of an audited region: the first and the worst, the formula of their contract with its
// numbers, the terms that count most, and where on the result failures lie.
[[nodiscard]] std::vector<std::string> failure_lines(const Trace& trace, std::size_t region, const audit::RegionAudit& audit,
                                                     std::size_t result);

// Lines on a failed step of a gradient (an entry of Trace::gradients): the recorded cotangent beside the one that the region's
// meaning gives, and the pattern that fits. Patterns are: twice, half, minus, zero, transposed, not summed over broadcast axes, a
// term that is left out or counted twice.
[[nodiscard]] std::vector<std::string> gradient_lines(const Trace& trace, std::size_t gradient, const audit::GradientStep& step);

// Of an element in row-major order.
[[nodiscard]] Shape index_of(const Shape& shape, std::size_t element);

struct Shrunk {
  Trace trace;       // one region with the recorded operands that its worst element reads; audit_region refuses it
  std::string text;  // the smaller trace: "conv [16, 64, 32, 32], [64, 64, 3, 3] -> ... down to ..."
};

// The program that failed, on other operands: the results of one region. nullopt: it does not run there.
using Rerun = std::function<std::optional<std::vector<Tensor>>(const Region& region, std::span<const Tensor> operands)>;

// The region's worst failure as a trace of its own. Operands are cut to what the element reads, and terms that are 0 are left out. With
// `rerun`, if it fails as well, elements of operands are set to 0 first, as many as leave a failure; received values are then its.
// Rejected (code "shrink.passes") for a region that does not fail.
[[nodiscard]] Outcome<Shrunk> shrink(const Trace& trace, std::size_t region, const Rerun& rerun = {});

}  // namespace assay::explain
