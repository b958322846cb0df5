// What a network costs, estimated from its shapes before the kernel allocates anything. No verdict rests on an estimate: one that is too
// high declines, one that is too low lets the work begin, which the limit on the process's memory then ends.
#pragma once

#include "cli/load.h"

namespace assay::cli {

// Declined (codes "statement.memory" and "statement.work") where the network alone needs more than the limits allow.
[[nodiscard]] Outcome<Done> check_size(const Graph& graph, const Limits& limits);

}  // namespace assay::cli
