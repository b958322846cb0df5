// The families of contracts, one .cpp file each. Private to this folder.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "kernel/contracts/arithmetic.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::contracts {

// One application of an op of a valid graph to sets.
struct Call {
  const Node& node;
  const Arithmetic& arithmetic;  // of the result's format, or over the reals
  std::vector<const Sets*> operands;
  // The operand of a sum holds exact products, which may be fused with the sum.
  bool products = false;
  // Per operand: the size of the terms of which its elements are made; empty: the size of the elements.
  std::vector<std::span<const double>> scales = {};

  [[nodiscard]] const Sets& operand(std::size_t i) const { return *operands[i]; }
  template <class T>
  [[nodiscard]] const T& get() const {
    return std::get<T>(node.attributes);
  }
};

// The possible results. A set is vacuous if it is wide compared with its scale, the size of the terms that the element
// is made of; without scales, with its own magnitude.
struct Image {
  std::vector<FloatSet> values;
  std::vector<double> scales = {};
  std::vector<Interval> exact = {};  // the exact results, if the family computed them anyway
  // Of a normalisation: what it subtracts from each element, and by what it multiplies the difference.
  std::vector<FloatSet> means = {}, factors = {};
};

// By the op's family; nullopt for an op without a contract.
[[nodiscard]] std::optional<Image> image_of(const Call& call);

// The scales of results whose operands have some, or that are sums, unless the family gave them itself.
[[nodiscard]] std::vector<double> scales_of(const Call& call, const Image& image);

[[nodiscard]] Image image_of_layout(const Call& call);
[[nodiscard]] Image image_of_integers(const Call& call);   // integers and truth values from the same
[[nodiscard]] Image image_of_positions(const Call& call);  // arg_max, arg_min, arg_sort, max_weight
[[nodiscard]] Image image_of_elementwise(const Call& call);
[[nodiscard]] Image image_of_comparison(const Call& call);  // truth values from numbers
[[nodiscard]] Image image_of_choice(const Call& call);      // where, cast, take, sort
[[nodiscard]] Image image_of_extremum(const Call& call);    // max_pool, reduce_max, reduce_min
[[nodiscard]] Image image_of_product(const Call& call);     // reduce_prod, cumprod
[[nodiscard]] Image image_of_sum(const Call& call);         // gemm, matmul, conv, conv_transpose, sums and means
[[nodiscard]] Image image_of_activation(const Call& call);
[[nodiscard]] Image image_of_softmax(const Call& call);  // softmax, log_softmax, log_sum_exp, masked_softmax
[[nodiscard]] Image image_of_normalise(const Call& call);
[[nodiscard]] Image image_of_batch_norm(const Call& call);
[[nodiscard]] Image image_of_local_response(const Call& call);

// Applies f to the operands, broadcast to the result, element by element.
[[nodiscard]] std::vector<FloatSet> combined(const Call& call, const std::function<FloatSet(std::span<const FloatSet>)>& f);
// The lists of positions whose elements agree on all other axes.
[[nodiscard]] std::vector<std::vector<std::size_t>> groups_of(const Shape& shape, const std::vector<std::int64_t>& axes);

}  // namespace assay::contracts
