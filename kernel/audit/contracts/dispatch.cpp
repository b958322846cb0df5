// Which family's contract an op has, and what it reads of the math table.
#include <utility>

#include "kernel/audit/contracts/contract.h"
#include "kernel/audit/contracts/families.h"
#include "semantics/demand.h"
#include "semantics/ops/families.h"

namespace assay::contracts {

// No default: an op that forgets its contract does not compile.
Family family_of(Op op) {
  switch (op) {
    case Op::input:
    case Op::constant:
      return Family::none;
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::concat:
    case Op::pad:
    case Op::gather:
    case Op::expand:
      return Family::layout;
    case Op::gemm:
    case Op::matmul:
    case Op::conv:
    case Op::conv_transpose:
    case Op::reduce_sum:
    case Op::reduce_mean:
    case Op::avg_pool:
    case Op::cumsum:
    case Op::place:
    case Op::weighted_gather:
      return Family::sum;
    case Op::add:
    case Op::sub:
    case Op::neg:
    case Op::scale:
    case Op::mul:
    case Op::div:
    case Op::relu:
    case Op::leaky_relu:
    case Op::abs:
    case Op::sign:
    case Op::clip:
    case Op::sqrt:
    case Op::pow:
    case Op::min:
    case Op::max:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::reciprocal:
    case Op::mod:
    case Op::power:
    case Op::step:
    case Op::prelu:
      return Family::elementwise;
    case Op::tanh:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
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
      return Family::function;
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
      return Family::integers;
    case Op::equal:
    case Op::less:
    case Op::less_equal:
    case Op::is_nan:
    case Op::is_inf:
      return Family::comparison;
    case Op::where:
    case Op::cast:
    case Op::take:
    case Op::sort:
      return Family::choice;
    case Op::arg_max:
    case Op::arg_min:
    case Op::arg_sort:
    case Op::max_weight:
      return Family::positions;
    case Op::max_pool:
    case Op::reduce_max:
    case Op::reduce_min:
      return Family::extremum;
    case Op::reduce_prod:
    case Op::cumprod:
      return Family::product;
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
    case Op::masked_softmax:
      return Family::softmax;
    case Op::sigmoid:
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
      return Family::activation;
    case Op::normalise:
      return Family::normalise;
    case Op::batch_norm:
      return Family::batch_norm;
    case Op::local_response:
      return Family::local_response;
  }
  return Family::none;
}

std::vector<std::string_view> functions_of(const Node& node, const ExecutionModel& model) {
  switch (node.op) {
    case Op::softmax:
    case Op::masked_softmax:
    case Op::elu:
    case Op::selu:
    case Op::celu:
      return {"exp"};
    case Op::silu:
    case Op::sigmoid:
      return model.sigmoid == ExecutionModel::Sigmoid::tanh_form ? std::vector<std::string_view>{"tanh"}
                                                                 : std::vector<std::string_view>{"exp"};
    case Op::log_softmax:
    case Op::log_sum_exp:
      return {"exp", "log"};
    case Op::softplus:
      return {"exp", "log1p"};
    case Op::mish:
      return {"exp", "log1p", "tanh"};
    case Op::gelu:
      return std::get<GeluAttributes>(node.attributes).tanh_form ? std::vector<std::string_view>{"tanh"}
                                                                 : std::vector<std::string_view>{"erf"};
    case Op::local_response:
      return {"pow"};
    default:
      return {};
  }
}

std::optional<Image> image_of(const Call& call) {
  const bool integers = !call.operands.empty() && !is_float(call.operand(0).dtype);
  switch (family_of(call.node.op)) {
    case Family::none:
      return std::nullopt;
    case Family::layout:
      return image_of_layout(call);
    case Family::integers:
      return image_of_integers(call);
    case Family::positions:
      return image_of_positions(call);
    case Family::choice:
      return image_of_choice(call);
    case Family::elementwise:
      return integers ? image_of_integers(call) : image_of_elementwise(call);
    case Family::function:
      return Image{
          combined(call, [&](std::span<const FloatSet> x) { return call.arithmetic.function(ops::function_of(call.node.op), x[0]); })};
    case Family::comparison:
      return integers ? image_of_integers(call) : image_of_comparison(call);
    case Family::extremum:
      return integers ? image_of_integers(call) : image_of_extremum(call);
    case Family::product:
      return integers ? image_of_integers(call) : image_of_product(call);
    case Family::sum:
      return integers ? image_of_integers(call) : image_of_sum(call);
    case Family::activation:
      return image_of_activation(call);
    case Family::softmax:
      return image_of_softmax(call);
    case Family::normalise:
      return image_of_normalise(call);
    case Family::batch_norm:
      return image_of_batch_norm(call);
    case Family::local_response:
      return image_of_local_response(call);
  }
  return std::nullopt;
}

}  // namespace assay::contracts
