// Operands that are not dense in memory. Private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "probes/plan.h"

namespace assay::probes {

// A tensor's values in memory of another layout; the bytes between them are poisoned.
struct Laid {
  std::vector<std::byte> memory;
  std::size_t offset = 0;             // of the first element, in elements
  std::vector<std::int64_t> strides;  // one per axis, in elements
};
[[nodiscard]] Laid laid_out(const Tensor& tensor, Layout layout, std::byte poison);

// The tensor with one value along the axis that the layout reads with stride 0; other layouts leave it as it is.
[[nodiscard]] Tensor repeated(const Tensor& tensor, Layout layout);

}  // namespace assay::probes
