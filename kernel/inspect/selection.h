// Selection: which elements of a node a step that tightens its box bounds, as records and searches say it. Untrusted: the kernel is given
// the elements themselves, and bounds whichever these are.
#pragma once

#include <cstdint>
#include <vector>

namespace assay::inspect {

struct Selection {
  enum class Kind : std::uint8_t { unstable, all, mask } kind = Kind::unstable;
  std::vector<bool> mask;  // Kind::mask only
};

}  // namespace assay::inspect
