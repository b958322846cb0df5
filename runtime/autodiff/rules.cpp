#include "runtime/autodiff/rules.h"

#include "runtime/autodiff/families.h"
#include "semantics/graph/family.h"

namespace assay::runtime::autodiff {

Cotangents cotangents_of(const Applied& a) {
  switch (kind_of(a.op)) {
    case OpKind::layout:
      return layout_bars(a);
    case OpKind::place:
      return one(place_bar(a));
    case OpKind::weighted_gather:
      return one(weighted_gather_bar(a));
    case OpKind::arithmetic:
      return arithmetic_bars(a);
    case OpKind::product:
      return a.op == Op::gemm ? gemm_bars(a) : matmul_bars(a);
    case OpKind::convolution:
      return a.op == Op::conv ? conv_bars(a) : conv_transpose_bars(a);
    case OpKind::pool:
      return one(a.op == Op::avg_pool ? avg_pool_bar(a) : max_pool_bar(a));
    case OpKind::batch_norm:
      return batch_norm_bars(a);
    case OpKind::sum:
      return one(a.op == Op::reduce_sum ? reduce_sum_bar(a) : reduce_mean_bar(a));
    case OpKind::running_sum:
      return one(cumsum_bar(a));
    case OpKind::running_product:
      return one(cumprod_bar(a));
    case OpKind::reduced_product:
      return one(reduce_prod_bar(a));
    case OpKind::extremum:
      return one(reduce_extremum_bar(a));
    case OpKind::order:
      return a.op == Op::take ? take_bars(a) : one(sort_bar(a));
    case OpKind::min_max:
      return min_max_bars(a);
    case OpKind::piecewise:
    case OpKind::function:
    case OpKind::power:
    case OpKind::rounding:
      return elementwise_bars(a);
    case OpKind::activation:
      return activation_bars(a);
    case OpKind::softmax:
      if (a.op == Op::log_sum_exp) return one(log_sum_exp_bar(a));
      return one(a.op == Op::log_softmax ? log_softmax_bar(a) : softmax_bar(a, a.get<SoftmaxAttributes>().axis));
    case OpKind::masked_softmax:
      return {softmax_bar(a, a.get<MaskedSoftmaxAttributes>().axis).ref(), kNone};
    case OpKind::normalise:
      return one(normalise_bar(a));
    case OpKind::local_response:
      return one(local_response_bar(a));
    case OpKind::where:
      return where_bars(a);
    case OpKind::cast:
      return cast_bars(a);
    // Leaves, steps, truth values and whole numbers.
    case OpKind::leaf:
    case OpKind::step:
    case OpKind::max_weight:
    case OpKind::position:
    case OpKind::ranking:
    case OpKind::comparison:
    case OpKind::logic:
    case OpKind::bitwise:
      break;
  }
  return Cotangents(a.operands.size(), kNone);
}

}  // namespace assay::runtime::autodiff
