// Rounding errors of sums of many terms in any order. Contracts and float32 theorems use this one formula.
#pragma once

#include <optional>

#include "kernel/floats/format.h"
#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"

namespace assay::floats {

// How an op computes an element that is a sum.
struct SumForm {
  bool products = false;      // the terms are products, rounded or fused
  int further_roundings = 0;  // roundings of every term, besides those of products and additions
  // The sum may be larger by this factor before it is scaled: a mean divides afterwards, and gemm multiplies
  // with alpha.
  double before_scaling = 1;
  // The effect of underflow, and of flushing an operand, may grow by this factor: gemm's alpha and beta.
  double later = 1;
};
// For gemm, matmul, conv, conv_transpose, reduce_sum, reduce_mean, avg_pool, cumsum, place and weighted_gather; nullopt
// for other ops. `operand`: the shape of the first operand.
[[nodiscard]] std::optional<SumForm> sum_form(const Node& node, const Shape& operand, const ExecutionModel& model, Format format);
// The largest number of elements that a mean averages; 1 for other ops.
[[nodiscard]] double divisor_of(const Node& node, const Shape& operand);
[[nodiscard]] inline bool is_mean(Op op) { return op == Op::reduce_mean || op == Op::avg_pool; }
[[nodiscard]] inline bool has_factors(Op op) { return op == Op::gemm || op == Op::matmul || op == Op::conv || op == Op::conv_transpose; }
// Whether weighted_gather multiplies its terms with weights other than 1 and -1.
[[nodiscard]] bool has_weights(const Node& node);
// The number of roundings of gemm's finished product, of the scaled c, and of weights that the program has to round.
[[nodiscard]] int roundings_of_factors(const Node& node, Format format);

// k u / (1 - k u), rounded up: k roundings change a factor 1 by at most this. Requires k u < 1.
[[nodiscard]] double gamma_up(double k, double u);

// Bounds for a sum s of m terms whose magnitudes have the sum S, if nothing overflows:
//   |computed - s| <= to_terms S + to_sum |s| + absolute
// Side condition S1, which excludes an overflow: growth S before_scaling < overflow_threshold(format).
struct SumErrors {
  double to_terms = 0, to_sum = 0, absolute = 0;
  double growth = 1;  // no partial sum is larger than growth S
};
// For at most `terms` non-zero terms. nullopt if the errors are no longer small, k u > 1/4.
[[nodiscard]] std::optional<SumErrors> sum_errors(const ExecutionModel& model, Format format, double terms, const SumForm& form);

}  // namespace assay::floats
