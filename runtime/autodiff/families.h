// The rules by family. Private to this folder.
#pragma once

#include <optional>

#include "runtime/autodiff/rules.h"

namespace assay::runtime::autodiff {

// Of an op with one operand.
inline Cotangents one(const Term& bar) { return {bar.ref()}; }

// Of an op with two broadcast operands, each made only where it is wanted.
template <class First, class Second>
Cotangents two(const Applied& a, const First& first, const Second& second) {
  Cotangents bars(2, kNone);
  if (a.wanted[0]) bars[0] = sum_to(first(), Shape(a.x(0).shape())).ref();
  if (a.wanted[1]) bars[1] = sum_to(second(), Shape(a.x(1).shape())).ref();
  return bars;
}

// elementwise.cpp
[[nodiscard]] Cotangents arithmetic_bars(const Applied& a);
[[nodiscard]] Cotangents elementwise_bars(const Applied& a);  // functions and powers, piecewise and rounding ones
[[nodiscard]] Cotangents min_max_bars(const Applied& a);
[[nodiscard]] Cotangents where_bars(const Applied& a);
[[nodiscard]] Cotangents cast_bars(const Applied& a);

// activation.cpp
[[nodiscard]] Cotangents activation_bars(const Applied& a);

// layout.cpp
[[nodiscard]] Cotangents layout_bars(const Applied& a);
[[nodiscard]] Term place_bar(const Applied& a);
[[nodiscard]] Term weighted_gather_bar(const Applied& a);
// "Position i of the result is element indices[i] of the axis", as weighted sums.
[[nodiscard]] WeightedGatherAttributes selection(std::int64_t axis, const std::vector<std::int64_t>& indices);
// The transpose of these sums, back to an axis of that extent.
[[nodiscard]] WeightedGatherAttributes turned(const WeightedGatherAttributes& attributes, std::int64_t extent);

// product.cpp
[[nodiscard]] Cotangents gemm_bars(const Applied& a);
[[nodiscard]] Cotangents matmul_bars(const Applied& a);

// window.cpp
[[nodiscard]] Cotangents conv_bars(const Applied& a);
[[nodiscard]] Cotangents conv_transpose_bars(const Applied& a);
[[nodiscard]] Term avg_pool_bar(const Applied& a);
[[nodiscard]] Term max_pool_bar(const Applied& a);

// reduction.cpp
[[nodiscard]] Term reduce_sum_bar(const Applied& a);
[[nodiscard]] Term reduce_mean_bar(const Applied& a);
[[nodiscard]] Term reduce_extremum_bar(const Applied& a);
[[nodiscard]] Term reduce_prod_bar(const Applied& a);
[[nodiscard]] Term log_sum_exp_bar(const Applied& a);
[[nodiscard]] Term cumsum_bar(const Applied& a);
[[nodiscard]] Term cumprod_bar(const Applied& a);

// normalise.cpp
[[nodiscard]] Term softmax_bar(const Applied& a, std::int64_t axis);
[[nodiscard]] Term log_softmax_bar(const Applied& a);
[[nodiscard]] Term normalise_bar(const Applied& a);
[[nodiscard]] Cotangents batch_norm_bars(const Applied& a);
[[nodiscard]] Term local_response_bar(const Applied& a);

// selection.cpp
[[nodiscard]] Cotangents take_bars(const Applied& a);
// Zeros along an axis of extent 1 that gets the extent given, but for g at the place that `index` says; index and g have one shape.
[[nodiscard]] Term placed_at(const Term& index, const Term& g, std::size_t axis, std::int64_t extent);
[[nodiscard]] Term sort_bar(const Applied& a);

}  // namespace assay::runtime::autodiff
