// Rounding errors of sums of many terms in any order: the one formula that contracts judge by and float32 theorems pay.
#pragma once

#include <optional>

#include "kernel/floats/format.h"
#include "semantics/graph/execution_model.h"
#include "semantics/graph/graph.h"

namespace assay::floats {

// How an op whose elements are sums computes one of them.
struct SumForm {
  bool products = false;      // the terms are products, rounded or fused
  int further_roundings = 0;  // on the way of every term, besides those of the products and additions
  double before_scaling = 1;  // what is summed may be that much larger: a mean divides afterwards, gemm multiplies with alpha
  double later = 1;           // what underflow loses, and what flushing takes from an operand, may grow by that much: gemm's factors
};
// gemm, matmul, conv, conv_transpose, reduce_sum, reduce_mean, avg_pool, cumsum, place, weighted_gather; nullopt for
// other ops. `operand`: the shape of the first one.
[[nodiscard]] std::optional<SumForm> sum_form(const Node& node, const Shape& operand, const ExecutionModel& model, Format format);
// The most elements that a mean is taken over; 1 for other ops.
[[nodiscard]] double divisor_of(const Node& node, const Shape& operand);
[[nodiscard]] inline bool is_mean(Op op) { return op == Op::reduce_mean || op == Op::avg_pool; }
[[nodiscard]] inline bool has_factors(Op op) { return op == Op::gemm || op == Op::matmul || op == Op::conv || op == Op::conv_transpose; }
// weighted_gather: numbers that each term is multiplied with, unless all are 1 or -1.
[[nodiscard]] bool has_weights(const Node& node);
// Roundings of gemm's finished product, of the scaled c, and of weights that the program has to round.
[[nodiscard]] int roundings_of_factors(const Node& node, Format format);

// k u / (1 - k u): what k roundings may make of a factor 1; k u < 1.
[[nodiscard]] double gamma_up(double k, double u);

// |computed - s| <= to_terms S + to_sum |s| + absolute, for the sum s of m terms with magnitudes of sum S, if nothing overflows: S1 of it
// is
//   growth S before_scaling < overflow_threshold(format).
struct SumErrors {
  double to_terms = 0, to_sum = 0, absolute = 0;
  double growth = 1;  // no partial sum is larger than growth S
};
// For at most `terms` non-zero terms. nullopt: so many that the errors are no longer small, k u > 1/4.
[[nodiscard]] std::optional<SumErrors> sum_errors(const ExecutionModel& model, Format format, double terms, const SumForm& form);

}  // namespace assay::floats
