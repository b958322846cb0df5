// Selects the contract family of an op.
#include <utility>

#include "kernel/contracts/contract.h"
#include "kernel/contracts/families.h"
#include "kernel/floats/forms.h"
#include "semantics/demand.h"
#include "semantics/graph/family.h"
#include "semantics/ops/families.h"

namespace assay::contracts {

// Without a default, so that a kind without a contract does not compile.
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
    case OpKind::function:
      return floats::has_formula(op) ? Family::activation : Family::function;
    case OpKind::activation:
      return floats::has_formula(op) ? Family::activation : Family::elementwise;
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

namespace {

Image image_of_function(const Call& call) {
  const Function f = ops::function_of(call.node.op);
  return {combined(call, [&](std::span<const FloatSet> x) { return call.arithmetic.function(f, x[0]); })};
}

}  // namespace

std::optional<Image> image_of(const Call& call) {
  const bool integers = !call.operands.empty() && !is_float(call.operand(0).dtype);
  const auto of_numbers = [&](Image (*image)(const Call&)) { return integers ? image_of_integers(call) : image(call); };
  switch (contracts::family_of(call.node.op)) {
    // clang-format off
    case Family::none: return std::nullopt;
    case Family::layout: return image_of_layout(call);
    case Family::integers: return image_of_integers(call);
    case Family::positions: return image_of_positions(call);
    case Family::choice: return image_of_choice(call);
    case Family::elementwise: return of_numbers(image_of_elementwise);
    case Family::function: return image_of_function(call);
    case Family::comparison: return of_numbers(image_of_comparison);
    case Family::extremum: return of_numbers(image_of_extremum);
    case Family::product: return of_numbers(image_of_product);
    case Family::sum: return of_numbers(image_of_sum);
    case Family::activation: return image_of_activation(call);
    case Family::softmax: return image_of_softmax(call);
    case Family::normalise: return image_of_normalise(call);
    case Family::batch_norm: return image_of_batch_norm(call);
    case Family::local_response: return image_of_local_response(call);
      // clang-format on
  }
  return std::nullopt;
}

}  // namespace assay::contracts
