// A trace with regions opened: where products speak of what nodes inside a region compute, each of its nodes becomes a region. Private to
// this folder.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "semantics/graph/trace.h"

namespace assay::audit {

// Says of the gradients what the trace says: its regions compute the same functions of the same tensors. Values that were not recorded are
// computed, to have a range; they come after the recorded tensors.
struct Opened {
  Trace trace;
  std::vector<std::uint32_t> origin;                    // of each region: the region of the trace that was recorded
  std::size_t recorded = 0;                             // tensors
  std::vector<std::pair<std::uint32_t, NodeId>> inner;  // of the others: the region that was recorded, and its node
};
[[nodiscard]] Opened opened(const Trace& trace);

}  // namespace assay::audit
