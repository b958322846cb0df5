// take_step(): one step of a certificate on a scope of the kernel, for those who keep the branches themselves.
#pragma once

#include <optional>

#include "certificates/format/record.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

// Takes a step on the scope, and merges its conclusion into `closed`. Rejections are the kernel's.
[[nodiscard]] Outcome<Done> take_step(const logic::Problem& problem, const Record& record, logic::Scope& scope,
                                      std::optional<logic::Refutation>& closed);

}  // namespace assay::certificate
