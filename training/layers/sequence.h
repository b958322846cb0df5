// Layers for long sequences and for functions on a grid: the selective scan, and products of spectra.
#pragma once

#include <cstdint>

#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/model.h"

namespace assay::training {

// S_t = exp(delta_t a) S_(t-1) + delta_t u_t b_t, y_t = S_t c_t + d u_t, S_0 = 0, with u, delta [B, T, n], a [n, m], b, c [B, T, m], d
// [n]; y [B, T, n]. Unrolled, up to kMostSteps steps. Source: Gu and Dao 2023 (Mamba).
[[nodiscard]] Value selective_scan(const Value& u, const Value& delta, const Value& a, const Value& b, const Value& c, const Value& d);

// The block of that paper: two branches of `expand` width; a causal convolution over each channel, silu, the scan; times silu of the
// other; back to width. x [B, T, width].
class Mamba {
 public:
  struct Options {
    std::int64_t state = 16, expand = 2, kernel = 4, rank = 0;  // rank 0: width / 16, rounded up
  };
  Mamba(const Scope& scope, std::int64_t width, const Options& options);
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  std::int64_t inner_, state_, rank_, kernel_;
  Linear in_;
  Conv conv_;
  Linear x_, delta_;
  Value a_log_, d_;
  Linear out_;
};

// Real parts and imaginary parts of the first `modes` frequencies along the last axis times weights, and back:
// x [B, in, n] to [B, out, n], modes <= n / 2 + 1. Weights [modes, in, out], real and imaginary, start uniform in [0, 1 / (in out)].
// The transforms are products with matrices of cos and sin. Source: Li et al. 2021, the Fourier layer.
class SpectralConv {
 public:
  SpectralConv(const Scope& scope, std::int64_t in, std::int64_t out, std::int64_t modes);
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  std::int64_t modes_;
  Value real_, imaginary_;
};

}  // namespace assay::training
