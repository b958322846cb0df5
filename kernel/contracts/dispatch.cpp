// Which family's contract an op has, and what it reads of the math table.
#include <utility>

#include "kernel/contracts/contract.h"
#include "kernel/contracts/families.h"
#include "semantics/demand.h"
#include "semantics/graph/family.h"
#include "semantics/ops/families.h"

namespace assay::contracts {

// No default: a kind that forgets its contract does not compile.
Family family_of(Op op) {
  switch (kind_of(op)) {
    case OpKind::leaf:
      return Family::none;
    case OpKind::layout:
      return Family::layout;
    case OpKind::product:
    case OpKind::convolution:
    case OpKind::sum:
    case OpKind::running_sum:
    case OpKind::place:
    case OpKind::weighted_gather:
      return Family::sum;
    case OpKind::pool:
      return op == Op::avg_pool ? Family::sum : Family::extremum;
    case OpKind::arithmetic:
    case OpKind::piecewise:
    case OpKind::min_max:
    case OpKind::power:
    case OpKind::rounding:
    case OpKind::step:
      return Family::elementwise;
    case OpKind::function:  // the two that are executed as formulas of exp and log1p
      return op == Op::sigmoid || op == Op::softplus ? Family::activation : Family::function;
    case OpKind::activation:
      return op == Op::prelu ? Family::elementwise : Family::activation;
    case OpKind::logic:
    case OpKind::bitwise:
      return Family::integers;
    case OpKind::comparison:
      return Family::comparison;
    case OpKind::where:
    case OpKind::cast:
    case OpKind::order:
      return Family::choice;
    case OpKind::position:
    case OpKind::ranking:
    case OpKind::max_weight:
      return Family::positions;
    case OpKind::extremum:
      return Family::extremum;
    case OpKind::running_product:
    case OpKind::reduced_product:
      return Family::product;
    case OpKind::softmax:
    case OpKind::masked_softmax:
      return Family::softmax;
    case OpKind::normalise:
      return Family::normalise;
    case OpKind::batch_norm:
      return Family::batch_norm;
    case OpKind::local_response:
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
  switch (contracts::family_of(call.node.op)) {
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
