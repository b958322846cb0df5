#include "runtime/autodiff/rules.h"

#include "runtime/autodiff/families.h"

namespace assay::runtime::autodiff {

Cotangents cotangents_of(const Applied& a) {
  const auto x = [&] { return a.x(); };
  const auto y = [&] { return a.y(); };
  const auto g = [&] { return a.g(); };
  switch (a.op) {
    case Op::reshape:
      return one(reshape(g(), Shape(x().shape())));
    case Op::permute:
      return one(permute_bar(a));
    case Op::slice:
      return one(slice_bar(a));
    case Op::concat:
      return concat_bars(a);
    case Op::pad:
      return one(pad_bar(a));
    case Op::gather:
      return one(gather_bar(a));
    case Op::expand:
      return one(sum_to(g(), Shape(x().shape())));
    case Op::place:
      return one(place_bar(a));
    case Op::weighted_gather:
      return one(weighted_gather_bar(a));

    case Op::add:
      return two(a, g, g);
    case Op::sub:
      return two(a, g, [&] { return -g(); });
    case Op::mul:
      return two(
          a, [&] { return g() * a.x(1); }, [&] { return g() * a.x(0); });
    case Op::div:
      return two(
          a, [&] { return g() / a.x(1); }, [&] { return -(g() * y() / a.x(1)); });
    case Op::neg:
      return one(-g());
    case Op::scale:
      return one(g() * a.get<ScaleAttributes>().factor);
    case Op::gemm:
      return gemm_bars(a);
    case Op::matmul:
      return matmul_bars(a);
    case Op::conv:
      return conv_bars(a);
    case Op::conv_transpose:
      return conv_transpose_bars(a);
    case Op::avg_pool:
      return one(avg_pool_bar(a));
    case Op::max_pool:
      return one(max_pool_bar(a));
    case Op::batch_norm:
      return batch_norm_bars(a);

    case Op::reduce_sum:
      return one(reduce_sum_bar(a));
    case Op::reduce_mean:
      return one(reduce_mean_bar(a));
    case Op::reduce_max:
    case Op::reduce_min:
      return one(reduce_extremum_bar(a));
    case Op::reduce_prod:
      return one(reduce_prod_bar(a));
    case Op::log_sum_exp:
      return one(log_sum_exp_bar(a));
    case Op::cumsum:
      return one(cumsum_bar(a));
    case Op::cumprod:
      return one(cumprod_bar(a));

    case Op::relu:
      return one(g() * step(x()));
    case Op::leaky_relu:
      return one(leaky_relu_bar(a));
    case Op::abs:
      return one(g() * side(x()));
    case Op::clip:
      return one(clip_bar(a));
    case Op::sigmoid:
      return one(g() * (y() * (1 - y())));
    case Op::tanh:
      return one(g() * (1 - square(y())));
    case Op::sqrt:
      return one(g() / (y() * 2));
    case Op::pow:
      return pow_bars(a);
    case Op::exp:
      return one(g() * y());
    case Op::log:
      return one(g() / x());
    case Op::sin:
      return one(g() * x().apply(Op::cos));
    case Op::cos:
      return one(-(g() * x().apply(Op::sin)));
    case Op::reciprocal:
      return one(-(g() * square(y())));
    case Op::erf:
      return one(g() * (x().fixed(Fixed::two_over_root_pi) * exp(-square(x()))));
    case Op::tan:
      return one(g() * (square(y()) + 1));
    case Op::asin:
      return one(g() / sqrt((1 - x()) * (x() + 1)));
    case Op::acos:
      return one(-(g() / sqrt((1 - x()) * (x() + 1))));
    case Op::atan:
      return one(g() / (square(x()) + 1));
    case Op::sinh:
      return one(g() * x().apply(Op::cosh));
    case Op::cosh:
      return one(g() * x().apply(Op::sinh));
    case Op::asinh:
      return one(g() / sqrt(square(x()) + 1));
    case Op::acosh:
      return one(g() / (sqrt(x() - 1) * sqrt(x() + 1)));
    case Op::atanh:
      return one(g() / ((1 - x()) * (x() + 1)));
    case Op::power:
      return power_bars(a);
    case Op::mod:
      return mod_bars(a);
    case Op::min:
    case Op::max:
      return extremum_bars(a);
    case Op::where:
      return where_bars(a);
    case Op::cast:
      return cast_bars(a);

    case Op::softplus:
      return one(g() * sigmoid(x()));
    case Op::softsign:
      return one(softsign_bar(a));
    case Op::elu:
      return one(elu_bar(a, 1));
    case Op::selu:
      return one(elu_bar(a, a.get<ActivationAttributes>().beta));
    case Op::celu:
      return one(celu_bar(a));
    case Op::gelu:
      return one(gelu_bar(a));
    case Op::silu:
      return one(silu_bar(a));
    case Op::mish:
      return one(mish_bar(a));
    case Op::hard_sigmoid:
      return one(hard_sigmoid_bar(a));
    case Op::hard_swish:
      return one(hard_swish_bar(a));
    case Op::thresholded_relu:
      return one(g() * step(x() - a.get<ActivationAttributes>().alpha));
    case Op::shrink:
      return one(shrink_bar(a));
    case Op::prelu:
      return prelu_bars(a);

    case Op::softmax:
      return one(softmax_bar(a, a.get<SoftmaxAttributes>().axis));
    case Op::masked_softmax:
      return {softmax_bar(a, a.get<MaskedSoftmaxAttributes>().axis).ref(), kNone};
    case Op::log_softmax:
      return one(log_softmax_bar(a));
    case Op::normalise:
      return one(normalise_bar(a));
    case Op::local_response:
      return one(local_response_bar(a));
    case Op::take:
      return take_bars(a);
    case Op::sort:
      return one(sort_bar(a));

    // Leaves, steps, truth values and whole numbers.
    case Op::input:
    case Op::constant:
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::step:
    case Op::max_weight:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::equal:
    case Op::less:
    case Op::less_equal:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::is_nan:
    case Op::is_inf:
    case Op::arg_max:
    case Op::arg_min:
    case Op::arg_sort:
      break;
  }
  return Cotangents(a.operands.size(), kNone);
}

}  // namespace assay::runtime::autodiff
