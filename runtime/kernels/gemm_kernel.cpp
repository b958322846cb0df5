// The innermost loops of matrix products, per instruction set.
#include "runtime/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/kernels/gemm_kernel.cpp"  // NOLINT
#include <array>
#include <utility>

#include <hwy/foreach_target.h>
#include <hwy/highway.h>
#include "runtime/kernels/gemm.h"

HWY_BEFORE_NAMESPACE();
namespace assay::runtime {
namespace HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET <= HWY_AVX3
constexpr std::size_t kMostRows = 14;  // 28 of 32 registers hold the tile
#else
constexpr std::size_t kMostRows = 6;  // 12 of 16
#endif

template <std::size_t kRows, class T>
void tile(std::size_t k, const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, T* HWY_RESTRICT y, std::size_t y_row, std::size_t width,
          bool adds) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  V left[kRows], right[kRows];  // NOLINT: arrays of vectors
  for (std::size_t r = 0; r < kRows; ++r) left[r] = right[r] = hn::Zero(d);
  for (std::size_t p = 0; p < k; ++p, a += kRows, b += 2 * lanes) {
    const V b_left = hn::Load(d, b), b_right = hn::Load(d, b + lanes);
#pragma GCC unroll 14
    for (std::size_t r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, a[r]);
      left[r] = hn::MulAdd(factor, b_left, left[r]);
      right[r] = hn::MulAdd(factor, b_right, right[r]);
    }
  }
  if (width == 2 * lanes) {
    for (std::size_t r = 0; r < kRows; ++r, y += y_row) {
      if (adds) {
        left[r] = hn::Add(hn::LoadU(d, y), left[r]);
        right[r] = hn::Add(hn::LoadU(d, y + lanes), right[r]);
      }
      hn::StoreU(left[r], d, y);
      hn::StoreU(right[r], d, y + lanes);
    }
    return;
  }
  HWY_ALIGN T edge[2 * hn::MaxLanes(d)];  // NOLINT
  for (std::size_t r = 0; r < kRows; ++r, y += y_row) {
    hn::Store(left[r], d, edge);
    hn::Store(right[r], d, edge + lanes);
    for (std::size_t j = 0; j < width; ++j) y[j] = adds ? y[j] + edge[j] : edge[j];
  }
}

template <class T, std::size_t... kRows>
constexpr std::array<typename GemmKernel<T>::Tile, sizeof...(kRows) + 1> tiles_of(std::index_sequence<kRows...>) {
  return {nullptr, &tile<kRows + 1, T>...};
}
template <class T>
constexpr auto kTiles = tiles_of<T>(std::make_index_sequence<kMostRows>());

#if HWY_TARGET == HWY_SCALAR
template <class T>
constexpr std::size_t kBlockRows = 1;
template <class T>
void transpose_block(const T* from, std::int64_t, T* to, std::size_t) {
  *to = *from;
}
#else
// Blocks of 4 x 4 floats or 2 x 2 doubles, by exchanging halves.
template <class T>
constexpr std::size_t kBlockRows = 16 / sizeof(T);
HWY_INLINE void transpose_block(const float* from, std::int64_t from_row, float* to, std::size_t to_row) {
  const hn::FixedTag<float, 4> d;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_row), r2 = hn::LoadU(d, from + 2 * from_row),
             r3 = hn::LoadU(d, from + 3 * from_row);
  const auto even_lo = hn::InterleaveLower(d, r0, r2), odd_lo = hn::InterleaveLower(d, r1, r3);
  const auto even_hi = hn::InterleaveUpper(d, r0, r2), odd_hi = hn::InterleaveUpper(d, r1, r3);
  hn::StoreU(hn::InterleaveLower(d, even_lo, odd_lo), d, to);
  hn::StoreU(hn::InterleaveUpper(d, even_lo, odd_lo), d, to + to_row);
  hn::StoreU(hn::InterleaveLower(d, even_hi, odd_hi), d, to + 2 * to_row);
  hn::StoreU(hn::InterleaveUpper(d, even_hi, odd_hi), d, to + 3 * to_row);
}
HWY_INLINE void transpose_block(const double* from, std::int64_t from_row, double* to, std::size_t to_row) {
  const hn::FixedTag<double, 2> d;
  const auto r0 = hn::LoadU(d, from), r1 = hn::LoadU(d, from + from_row);
  hn::StoreU(hn::InterleaveLower(d, r0, r1), d, to);
  hn::StoreU(hn::InterleaveUpper(d, r0, r1), d, to + to_row);
}
#endif

template <class T>
void transpose(const T* from, std::int64_t from_row, std::size_t rows, std::size_t count, T* to, std::size_t to_row) {
  constexpr std::size_t kSide = kBlockRows<T>;
  const std::size_t whole_rows = rows / kSide * kSide, whole = count / kSide * kSide;
  for (std::size_t k = 0; k < whole; k += kSide) {
    for (std::size_t r = 0; r < whole_rows; r += kSide) {
      transpose_block(from + static_cast<std::int64_t>(r) * from_row + k, from_row, to + k * to_row + r, to_row);
    }
  }
  const auto one = [&](std::size_t r, std::size_t k) HWY_ATTR { to[k * to_row + r] = from[static_cast<std::int64_t>(r) * from_row + k]; };
  for (std::size_t k = 0; k < count; ++k) {
    for (std::size_t r = k < whole ? whole_rows : 0; r < rows; ++r) one(r, k);
  }
}

template <class T>
const GemmKernel<T>& kernel_of() {
  static const GemmKernel<T> kKernel{kMostRows, 2 * hn::Lanes(hn::ScalableTag<T>()), kTiles<T>.data(), &transpose<T>};
  return kKernel;
}
const GemmKernel<float>& float_kernel() { return kernel_of<float>(); }
const GemmKernel<double>& double_kernel() { return kernel_of<double>(); }

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace assay::runtime
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace assay::runtime {

HWY_EXPORT(float_kernel);
HWY_EXPORT(double_kernel);

template <>
const GemmKernel<float>& gemm_kernel<float>() {
  return HWY_DYNAMIC_DISPATCH(float_kernel)();
}
template <>
const GemmKernel<double>& gemm_kernel<double>() {
  return HWY_DYNAMIC_DISPATCH(double_kernel)();
}

}  // namespace assay::runtime
#endif
