#include "runtime/kernels/kernels.h"

#include "runtime/kernels/call.h"
#include "semantics/graph/family.h"

namespace assay::runtime {

namespace {

Outcome<Done> dispatch(const Call& call) {
  switch (kind_of(call.op)) {
    case OpKind::leaf:
      break;
    case OpKind::layout:
      return run_layout(call);
    case OpKind::arithmetic:
    case OpKind::piecewise:
    case OpKind::min_max:
    case OpKind::function:
    case OpKind::power:
    case OpKind::rounding:
    case OpKind::step:
    case OpKind::activation:
    case OpKind::logic:
    case OpKind::bitwise:
      return run_elementwise(call);
    case OpKind::comparison:
    case OpKind::where:
      return run_comparison(call);
    case OpKind::cast:
      return run_conversion(call);
    case OpKind::product:
      return run_product(call);
    case OpKind::convolution:
      return run_convolution(call);
    case OpKind::pool:
      return run_pool(call);
    case OpKind::sum:
    case OpKind::extremum:
    case OpKind::reduced_product:
    case OpKind::max_weight:
      return run_reduction(call);
    case OpKind::position:
      return run_position(call);
    case OpKind::running_sum:
    case OpKind::running_product:
      return run_cumulative(call);
    case OpKind::place:
    case OpKind::weighted_gather:
      return run_scatter(call);
    case OpKind::order:
    case OpKind::ranking:
      return run_order(call);
    case OpKind::softmax:
    case OpKind::masked_softmax:
      return run_softmax(call);
    case OpKind::normalise:
      return run_normalise(call);
    case OpKind::batch_norm:
      return run_batch_norm(call);
    case OpKind::local_response:
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
