// The table of rules.

#include "kernel/proof/rules/relaxation.h"

namespace assay::kernel {

std::optional<Relaxation> relax(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result,
                                const SlopeHints& hints) {
  switch (node.op) {
    case Op::relu:
      return relu_line(node, *boxes[0], hints);
    case Op::leaky_relu:
    case Op::abs:
    case Op::clip:
    case Op::sigmoid:
    case Op::tanh:
    case Op::sqrt:
    case Op::pow:
    case Op::exp:
    case Op::log:
    case Op::erf:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::softplus:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::softsign:
    case Op::hard_sigmoid:
    case Op::hard_swish:
    case Op::reciprocal:
    case Op::sin:
    case Op::cos:
    case Op::sign:
    case Op::step:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::cast:
    case Op::thresholded_relu:
    case Op::shrink:
      return unary_line(node, *boxes[0], result, hints);
    case Op::mul:
      if (node.operands[0] == node.operands[1]) return unary_line(node, *boxes[0], result, hints);
      return denoted_plane(graph, node, boxes, result, hints);
    case Op::min:
    case Op::max:
    case Op::max_pool:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::where:
    case Op::take:
    case Op::sort:
      return selection_plane(graph, node, boxes, result, hints);
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::masked_softmax:
    case Op::normalise:
    case Op::div:
    case Op::prelu:
    case Op::power:
    case Op::mod:
    case Op::local_response:
    case Op::reduce_prod:
    case Op::cumprod:
    case Op::batch_norm:
    case Op::matmul:
    case Op::gemm:
    case Op::conv:
    case Op::conv_transpose:
      return denoted_plane(graph, node, boxes, result, hints);
    default:  // layout and linear ops are substituted exactly where they are linear; everything else stops at its box
      return std::nullopt;
  }
}

}  // namespace assay::kernel
