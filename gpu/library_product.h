// Products by a library that has BLAS's interface: cuBLAS on a CUDA device, a stand-in on the emulation.
//
// A library's matrices are column by column: our y = alpha a b, row by row, is its y' = alpha b' a', so `left` is our b and `right` our a.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>

#include "gpu/kernels/factor.h"

namespace assay::gpu {

// Element (i, k) of a factor stands at i + k * leading, transposed at k + i * leading; matrix n of a batch `distance` elements
// behind matrix n - 1.
struct LibraryFactor {
  const float* data = nullptr;
  bool is_transposed = false;
  std::int64_t leading = 1, distance = 0;
};

struct LibraryProduct {
  LibraryFactor left, right;  // [rows, depth], [depth, columns]
  float* y = nullptr;         // [rows, columns], dense, and so are the matrices of a batch
  std::int64_t rows = 0, columns = 0, depth = 0, batches = 1;
  float alpha = 1;
  Factors factors = Factors::none;  // their rounding
};

// A factor whose element (i, k) stands at i * along + k * across; none where neither is 1, or the batch has several axes.
[[nodiscard]] inline std::optional<LibraryFactor> library_factor(View<const float> x, std::size_t along, std::size_t across,
                                                                 std::size_t rows, std::size_t columns, const Strided& batch) {
  if (batch.axes > 1 || (along != 1 && across != 1)) return std::nullopt;
  LibraryFactor factor;
  factor.data = x.data;
  factor.is_transposed = along != 1;
  factor.leading = static_cast<std::int64_t>(factor.is_transposed ? std::max(along, columns) : std::max(across, rows));
  factor.distance = batch.axes == 0 ? 0 : static_cast<std::int64_t>(batch.strides[0]);
  return factor;
}

// The product of a kernel (gpu/kernels/product.h). None for products that such an interface cannot express: batches over several
// axes, more than 2^31 - 1 of anything, no depth.
template <class Kernel>
[[nodiscard]] std::optional<LibraryProduct> library_product(const Kernel& kernel, std::size_t batches) {
  constexpr std::size_t kMost = std::numeric_limits<std::int32_t>::max();
  const std::size_t greatest =
      std::max({kernel.rows, kernel.columns, kernel.depth, batches, kernel.a_row, kernel.a_step, kernel.b_step, kernel.b_column});
  if (greatest > kMost || kernel.depth == 0) return std::nullopt;
  const auto left = library_factor(kernel.b, kernel.b_column, kernel.b_step, kernel.columns, kernel.depth, kernel.b_batch);
  const auto right = library_factor(kernel.a, kernel.a_step, kernel.a_row, kernel.depth, kernel.rows, kernel.a_batch);
  if (!left || !right) return std::nullopt;
  LibraryProduct product{*left, *right, kernel.y.data};
  product.rows = static_cast<std::int64_t>(kernel.columns);
  product.columns = static_cast<std::int64_t>(kernel.rows);
  product.depth = static_cast<std::int64_t>(kernel.depth);
  product.batches = static_cast<std::int64_t>(batches);
  product.alpha = kernel.alpha;
  product.factors = kernel.factors;
  return product;
}

}  // namespace assay::gpu
