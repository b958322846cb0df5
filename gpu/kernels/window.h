// Convolutions and pools share this code: windows over up to three spatial axes.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

inline constexpr std::size_t kMostSpatial = 3;

// Position o of the result and tap k meet position o * stride - pad + k * dilation of the operand; missing axes have one of everything.
struct WindowAxis {
  std::int64_t operand = 1, result = 1, taps = 1, stride = 1, dilation = 1, pad = 0, pad_end = 0;

  [[nodiscard]] ASSAY_BOTH bool inside(std::int64_t at) const { return at >= 0 && at < operand; }
};

// The axes of a window, right-justified; none if there are more than three. `from` and `to` are the shapes of the operand and the result.
[[nodiscard]] inline bool window_axes(const WindowAttributes& w, const Shape& from, const Shape& to, WindowAxis* axes) {
  const std::size_t spatial = w.kernel.size();
  if (spatial > kMostSpatial) return false;
  for (std::size_t k = 0; k < kMostSpatial; ++k) axes[k] = {};
  for (std::size_t k = 0; k < spatial; ++k) {
    axes[kMostSpatial - spatial + k] = {from[k + 2], to[k + 2], w.kernel[k], w.strides[k], w.dilations[k], w.pads_begin[k], w.pads_end[k]};
  }
  return true;
}

}  // namespace assay::gpu
