#include "runtime/kernels/kernels.h"

#include "runtime/kernels/call.h"

namespace assay::runtime {

namespace {

Outcome<Done> dispatch(const Call& call) {
  switch (call.op) {
    case Op::input:
    case Op::constant:
      break;
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::concat:
    case Op::pad:
    case Op::gather:
    case Op::expand:
      return run_layout(call);
    case Op::add:
    case Op::sub:
    case Op::neg:
    case Op::scale:
    case Op::mul:
    case Op::div:
    case Op::relu:
    case Op::leaky_relu:
    case Op::sigmoid:
    case Op::tanh:
    case Op::abs:
    case Op::sign:
    case Op::clip:
    case Op::sqrt:
    case Op::pow:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::min:
    case Op::max:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::reciprocal:
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
    case Op::mod:
    case Op::power:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::step:
    case Op::softplus:
    case Op::softsign:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::hard_sigmoid:
    case Op::hard_swish:
    case Op::thresholded_relu:
    case Op::shrink:
    case Op::prelu:
      return run_elementwise(call);
    case Op::equal:
    case Op::less:
    case Op::less_equal:
    case Op::is_nan:
    case Op::is_inf:
    case Op::where:
      return run_comparison(call);
    case Op::cast:
      return run_conversion(call);
    case Op::gemm:
    case Op::matmul:
      return run_product(call);
    case Op::conv:
    case Op::conv_transpose:
      return run_convolution(call);
    case Op::avg_pool:
    case Op::max_pool:
      return run_pool(call);
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_prod:
    case Op::max_weight:
      return run_reduction(call);
    case Op::arg_max:
    case Op::arg_min:
      return run_position(call);
    case Op::cumsum:
    case Op::cumprod:
      return run_cumulative(call);
    case Op::place:
    case Op::weighted_gather:
      return run_scatter(call);
    case Op::take:
    case Op::sort:
    case Op::arg_sort:
      return run_order(call);
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::masked_softmax:
      return run_softmax(call);
    case Op::normalise:
      return run_normalise(call);
    case Op::batch_norm:
      return run_batch_norm(call);
    case Op::local_response:
      return run_local_response(call);
  }
  demand(false, "run: an op with operands");
  return Done{};
}

}  // namespace

Outcome<Done> run(Op op, const Attributes& attributes, std::span<const Array* const> operands, Array& result) {
  demand(attributes.index() == op_row(op).attributes, "run: the attributes that the op table names");
  return dispatch(Call{op, attributes, operands, result});
}

}  // namespace assay::runtime
