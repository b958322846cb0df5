// Normalisation. Weights start at 1, biases at 0; running means at 0, running variances at 1.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "training/model.h"

namespace assay::training {

struct NormOptions {
  double epsilon = 1e-5;
  bool affine = true;     // weight and bias per channel
  double momentum = 0.1;  // running = (1 - momentum) running + momentum batch
  bool running = true;    // batch norm; instance norm has them if asked
};

// Batch and instance norm share these: channels with weight and bias, and running statistics.
class ChannelNorm {
 protected:
  ChannelNorm(const Scope& scope, std::int64_t channels, const NormOptions& options);
  // Normalises by mean and variance over the axes; in evaluation by the running ones, if they are kept. The running ones are
  // updated by the mean over the images of the values that the axes leave.
  [[nodiscard]] Value normalise(const Value& x, const std::vector<std::int64_t>& axes) const;

 private:
  Model* model_;
  NormOptions options_;
  Value weight_, bias_;  // failed values without affine
  Value mean_, variance_;
};

// x [N, C, ...]. In training by mean and variance of each channel in the batch, and running_mean and running_var (with n - 1) follow;
// otherwise by the running ones.
class BatchNorm : ChannelNorm {
 public:
  BatchNorm(const Scope& scope, std::int64_t channels, const NormOptions& options = {}) : ChannelNorm(scope, channels, options) {}
  [[nodiscard]] Value operator()(const Value& x) const;
};

// x [N, C, ...], by mean and variance of each channel of each image.
class InstanceNorm : ChannelNorm {
 public:
  InstanceNorm(const Scope& scope, std::int64_t channels, const NormOptions& options = {.affine = false, .running = false})
      : ChannelNorm(scope, channels, options) {}
  [[nodiscard]] Value operator()(const Value& x) const;
};

// x [N, C, ...], by mean and variance of each of `groups` groups of channels of each image.
class GroupNorm {
 public:
  GroupNorm(const Scope& scope, std::int64_t groups, std::int64_t channels, double epsilon = 1e-5);
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  std::int64_t groups_;
  double epsilon_;
  Value weight_, bias_;
};

// Over the last axes, whose extents are `shape`.
class LayerNorm {
 public:
  LayerNorm(const Scope& scope, const Shape& shape, double epsilon = 1e-5);
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  double epsilon_;
  Value weight_, bias_;
};

// x / sqrt(mean of x^2 + epsilon) weight over the last axes.
class RmsNorm {
 public:
  RmsNorm(const Scope& scope, const Shape& shape, double epsilon = 1e-6);
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  double epsilon_;
  Value weight_;
};

}  // namespace assay::training
