// Gradients that are NaN or infinite. Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::audit {

// Of a continuous trace: `value` is the recorded gradient of `tensor`. Nothing where it is finite in all elements. Else code
// gradient.finite.
[[nodiscard]] std::optional<Rejection> check_finite(const Trace& trace, const Trace::Gradient& gradient, TraceTensorId tensor,
                                                    TraceTensorId value, const std::string& place);

}  // namespace assay::audit
