// Gradients that are NaN or infinite. Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::audit {

// For a continuous trace: `value` is the recorded gradient of `tensor`. nullopt if all its elements are finite;
// otherwise a rejection with code gradient.finite.
[[nodiscard]] std::optional<Rejection> check_finite(const Trace& trace, const Trace::Gradient& gradient, TraceTensorId tensor,
                                                    TraceTensorId value, const std::string& place);

}  // namespace assay::audit
