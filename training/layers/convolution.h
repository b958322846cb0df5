// Convolutions and pools over any number of axes: x [N, C, d...].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "training/model.h"

namespace assay::training {

// One number per axis, or one for all.
using Extents = std::vector<std::int64_t>;

struct ConvOptions {
  Extents stride{1}, padding{0}, dilation{1};
  std::int64_t groups = 1;
  bool bias = true;
  Extents output_padding{0};  // transposed ones
};

// weight [out, in / groups, kernel...]; both start uniform between +-1 / sqrt(fan in). `kernel` has one number per axis.
class Conv {
 public:
  Conv(const Scope& scope, std::int64_t in, std::int64_t out, const Extents& kernel, const ConvOptions& options = {});
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  WindowAttributes window_;
  Value weight_;
  std::optional<Value> bias_;
};

// weight [in, out / groups, kernel...]: the adjoint of a convolution of that weight.
class ConvTranspose {
 public:
  ConvTranspose(const Scope& scope, std::int64_t in, std::int64_t out, const Extents& kernel, const ConvOptions& options = {});
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  WindowAttributes window_;
  Value weight_;
  std::optional<Value> bias_;
};

struct PoolOptions {
  Extents stride;  // none: the kernel
  Extents padding{0}, dilation{1};
  bool ceil_mode = false, count_padding = true;  // count_padding: means alone
};
[[nodiscard]] Value max_pool(const Value& x, const Extents& kernel, const PoolOptions& options = {});
[[nodiscard]] Value avg_pool(const Value& x, const Extents& kernel, const PoolOptions& options = {});
// log(mean over the window of exp(sharpness x)) / sharpness: between the mean and the maximum. Without padding.
[[nodiscard]] Value smooth_max_pool(const Value& x, const Extents& kernel, double sharpness, const Extents& stride = {});
[[nodiscard]] Value global_avg_pool(const Value& x);  // [N, C]
[[nodiscard]] Value global_max_pool(const Value& x);  // [N, C]
// Means over windows that cover each axis evenly, `results` of them: from floor(i d / n) to ceil((i + 1) d / n), as PyTorch's.
[[nodiscard]] Value adaptive_avg_pool(const Value& x, const Extents& results);

}  // namespace assay::training
