// Shape rules: for every op, the side conditions on its operands and attributes, and the shape of its result.
//
// Private to semantics/graph. The head of the op's file in semantics/ops lists the conditions S1, S2, ...; a violated
// one gives a Rejection with the code "<op>.S<n>".
#pragma once

#include <string>
#include <vector>

#include "semantics/graph/graph.h"

namespace assay::shape_rules {

// The most elements of a tensor, so that a 32-bit index reaches each of them.
inline constexpr std::size_t kMaximumElements = (std::size_t{1} << 31) - 1;
inline constexpr std::size_t kMaximumNodes = std::size_t{1} << 24;

// Type for combinations of extents, strides and indices: products of two 64-bit numbers fit.
__extension__ using Wide = __int128;

// One application of an op with the right arity and kind of attributes, and with operands of possible shapes.
struct Call {
  Op op;
  const Attributes& attributes;
  std::vector<NodeId> ids;
  std::vector<const Node*> operands;

  [[nodiscard]] const Shape& shape(std::size_t operand) const { return operands[operand]->shape; }
  [[nodiscard]] DType dtype() const { return operands[0]->dtype; }
  template <class T>
  [[nodiscard]] const T& get() const {
    return std::get<T>(attributes);
  }
};

// "conv(node 3 'x' [1, 3, 8, 8], node 4 [4, 3, 3, 3])"
[[nodiscard]] std::string describe(const Call& call);
[[nodiscard]] Rejection violated(const Call& call, int condition, std::string required, std::string found);

[[nodiscard]] Outcome<Shape> layout_shape(const Call& call);          // all ops of kind layout
[[nodiscard]] Outcome<Shape> broadcast_shape(const Call& call);       // ops that broadcast their operands
[[nodiscard]] Outcome<Shape> product_shape(const Call& call);         // gemm, matmul
[[nodiscard]] Outcome<Shape> window_shape(const Call& call);          // conv, conv_transpose, max_pool, avg_pool
[[nodiscard]] Outcome<Shape> normalise_shape(const Call& call);       // batch_norm
[[nodiscard]] Outcome<Shape> reduce_shape(const Call& call);          // reduce_*, log_sum_exp
[[nodiscard]] Outcome<Shape> position_shape(const Call& call);        // arg_max, arg_min
[[nodiscard]] Outcome<Shape> selection_shape(const Call& call);       // weighted_gather, take, sort, arg_sort
[[nodiscard]] Outcome<Shape> normalise_axes_shape(const Call& call);  // normalise
[[nodiscard]] Outcome<Shape> masked_shape(const Call& call);          // masked_softmax
[[nodiscard]] Outcome<Shape> elementwise_shape(const Call& call);     // one operand, same shape: relu, ..., softmax

}  // namespace assay::shape_rules
