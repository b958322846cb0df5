// The geometry of convolutions and pools along one axis. Private to this folder.
#pragma once

#include <algorithm>
#include <cstdint>

#include "semantics/graph/op.h"

namespace assay::runtime {

// Result position o and kernel position k meet operand position o * stride - pad + k * dilation.
struct WindowAxis {
  std::int64_t operand, result, kernel, stride, dilation, pad;
  WindowAxis(const WindowAttributes& w, std::size_t axis, std::int64_t operand_extent, std::int64_t result_extent)
      : operand(operand_extent),
        result(result_extent),
        kernel(w.kernel[axis]),
        stride(w.strides[axis]),
        dilation(w.dilations[axis]),
        pad(w.pads_begin[axis]) {}

  [[nodiscard]] std::int64_t start(std::int64_t o) const { return o * stride - pad; }
  // Kernel positions whose operand position lies in 0 .. limit - 1 (and not before `least`).
  [[nodiscard]] std::int64_t first_tap(std::int64_t o, std::int64_t least = 0) const {
    return std::max<std::int64_t>(0, (least - start(o) + dilation - 1) / dilation);  // rounds towards 0 below: then 0 is right
  }
  [[nodiscard]] std::int64_t end_tap(std::int64_t o, std::int64_t limit) const {
    const std::int64_t room = limit - 1 - start(o);
    return room < 0 ? 0 : std::min(kernel, room / dilation + 1);
  }
  // Result positions o with 0 <= o * stride + offset < operand, from first to end.
  [[nodiscard]] std::int64_t first_result(std::int64_t offset) const {
    return std::min(result, offset >= 0 ? 0 : (-offset + stride - 1) / stride);
  }
  [[nodiscard]] std::int64_t end_result(std::int64_t offset) const {
    const std::int64_t room = operand - 1 - offset;
    return room < 0 ? 0 : std::min(result, room / stride + 1);
  }
};

}  // namespace assay::runtime
