// A trace with opened regions: where products refer to values of nodes inside a region, each of its nodes becomes a
// region. Private to this folder.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "semantics/graph/trace.h"

namespace assay::audit {

// Has the same gradients as the trace: its regions compute the same functions of the same tensors. Values that were not
// recorded are computed, so that their ranges are known; they follow the recorded tensors.
struct Opened {
  Trace trace;
  std::vector<std::uint32_t> origin;                    // by region: the recorded region of the trace
  std::size_t recorded = 0;                             // number of recorded tensors
  std::vector<std::pair<std::uint32_t, NodeId>> inner;  // by other tensor: its recorded region and node
};
[[nodiscard]] Opened opened(const Trace& trace);

}  // namespace assay::audit
