// The rows of the op table.

#include "semantics/graph/op.h"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace assay {

namespace {

// Position of an alternative of Attributes, by its type.
template <class T, std::size_t... I>
constexpr std::size_t position(std::index_sequence<I...>) {
  std::size_t found = sizeof...(I);
  ((std::is_same_v<T, std::variant_alternative_t<I, Attributes>> ? void(found = I) : void()), ...);
  return found;
}

template <class T>
inline constexpr std::size_t kOf = position<T>(std::make_index_sequence<std::variant_size_v<Attributes>>());

constexpr std::size_t kNone = kOf<NoAttributes>;
constexpr int kAny = -1;

using enum OpClass;
using enum Smoothness;
using enum Elements;

// name, arity, attributes, class, smoothness (on the op's domain), element types (reals if none are named)
constexpr std::array<OpRow, kOpCount> kTable = {{
    {Op::input, "input", 0, 0, kNone, leaf, smooth},
    {Op::constant, "constant", 0, 0, kNone, leaf, smooth},
    {Op::reshape, "reshape", 1, 1, kOf<ShapeAttributes>, layout, smooth, any},
    {Op::permute, "permute", 1, 1, kOf<PermuteAttributes>, layout, smooth, any},
    {Op::slice, "slice", 1, 1, kOf<SliceAttributes>, layout, smooth, any},
    {Op::concat, "concat", 1, kAny, kOf<ConcatAttributes>, layout, smooth, any},
    {Op::pad, "pad", 1, 1, kOf<PadAttributes>, layout, smooth, any},
    {Op::gather, "gather", 1, 1, kOf<GatherAttributes>, layout, smooth, any},
    {Op::expand, "expand", 1, 1, kOf<ShapeAttributes>, layout, smooth, any},
    {Op::add, "add", 2, 2, kNone, linear, smooth, numbers},
    {Op::sub, "sub", 2, 2, kNone, linear, smooth, numbers},
    {Op::neg, "neg", 1, 1, kNone, linear, smooth, numbers},
    {Op::scale, "scale", 1, 1, kOf<ScaleAttributes>, linear, smooth},
    {Op::gemm, "gemm", 2, 3, kOf<GemmAttributes>, linear, smooth},
    {Op::matmul, "matmul", 2, 2, kNone, linear, smooth, numbers},
    {Op::conv, "conv", 2, 3, kOf<WindowAttributes>, linear, smooth},
    {Op::conv_transpose, "conv_transpose", 2, 3, kOf<WindowAttributes>, linear, smooth},
    {Op::batch_norm, "batch_norm", 5, 5, kOf<BatchNormAttributes>, linear, smooth},
    {Op::reduce_sum, "reduce_sum", 1, 1, kOf<ReduceAttributes>, linear, smooth, numbers},
    {Op::reduce_mean, "reduce_mean", 1, 1, kOf<ReduceAttributes>, linear, smooth},
    {Op::avg_pool, "avg_pool", 1, 1, kOf<WindowAttributes>, linear, smooth},
    {Op::cumsum, "cumsum", 1, 1, kOf<CumulativeAttributes>, linear, smooth, numbers},
    {Op::place, "place", 1, 1, kOf<PlaceAttributes>, linear, smooth, numbers},
    {Op::weighted_gather, "weighted_gather", 1, 1, kOf<WeightedGatherAttributes>, linear, smooth},
    {Op::mul, "mul", 2, 2, kNone, bilinear, smooth, numbers},
    {Op::div, "div", 2, 2, kNone, bilinear, smooth, numbers},
    {Op::relu, "relu", 1, 1, kNone, elementwise, kink, numbers},
    {Op::leaky_relu, "leaky_relu", 1, 1, kOf<LeakyReluAttributes>, elementwise, kink},
    {Op::sigmoid, "sigmoid", 1, 1, kNone, elementwise, smooth},
    {Op::tanh, "tanh", 1, 1, kNone, elementwise, smooth},
    {Op::abs, "abs", 1, 1, kNone, elementwise, kink, numbers},
    {Op::sign, "sign", 1, 1, kNone, elementwise, jump, numbers},
    {Op::clip, "clip", 1, 1, kOf<ClipAttributes>, elementwise, kink},
    {Op::sqrt, "sqrt", 1, 1, kNone, elementwise, singular},
    {Op::pow, "pow", 1, 1, kOf<PowAttributes>, elementwise, singular, numbers},
    {Op::exp, "exp", 1, 1, kNone, elementwise, smooth},
    {Op::log, "log", 1, 1, kNone, elementwise, smooth},
    {Op::sin, "sin", 1, 1, kNone, elementwise, smooth},
    {Op::cos, "cos", 1, 1, kNone, elementwise, smooth},
    {Op::min, "min", 1, kAny, kNone, elementwise, kink, numbers},
    {Op::max, "max", 1, kAny, kNone, elementwise, kink, numbers},
    {Op::floor, "floor", 1, 1, kNone, elementwise, jump},
    {Op::ceil, "ceil", 1, 1, kNone, elementwise, jump},
    {Op::round, "round", 1, 1, kNone, elementwise, jump},
    {Op::reciprocal, "reciprocal", 1, 1, kNone, elementwise, smooth},
    {Op::erf, "erf", 1, 1, kNone, elementwise, smooth},
    {Op::tan, "tan", 1, 1, kNone, elementwise, smooth},
    {Op::asin, "asin", 1, 1, kNone, elementwise, singular},
    {Op::acos, "acos", 1, 1, kNone, elementwise, singular},
    {Op::atan, "atan", 1, 1, kNone, elementwise, smooth},
    {Op::sinh, "sinh", 1, 1, kNone, elementwise, smooth},
    {Op::cosh, "cosh", 1, 1, kNone, elementwise, smooth},
    {Op::asinh, "asinh", 1, 1, kNone, elementwise, smooth},
    {Op::acosh, "acosh", 1, 1, kNone, elementwise, singular},
    {Op::atanh, "atanh", 1, 1, kNone, elementwise, smooth},
    {Op::mod, "mod", 2, 2, kOf<ModAttributes>, elementwise, jump, numbers},
    {Op::power, "power", 2, 2, kNone, elementwise, singular, numbers},
    {Op::bitwise_and, "bitwise_and", 2, 2, kNone, elementwise, jump, integers},
    {Op::bitwise_or, "bitwise_or", 2, 2, kNone, elementwise, jump, integers},
    {Op::bitwise_xor, "bitwise_xor", 2, 2, kNone, elementwise, jump, integers},
    {Op::equal, "equal", 2, 2, kNone, elementwise, jump, any},
    {Op::less, "less", 2, 2, kNone, elementwise, jump, numbers},
    {Op::less_equal, "less_equal", 2, 2, kNone, elementwise, jump, numbers},
    {Op::logical_not, "logical_not", 1, 1, kNone, elementwise, jump, booleans},
    {Op::logical_and, "logical_and", 2, 2, kNone, elementwise, jump, booleans},
    {Op::logical_or, "logical_or", 2, 2, kNone, elementwise, jump, booleans},
    {Op::logical_xor, "logical_xor", 2, 2, kNone, elementwise, jump, booleans},
    {Op::is_nan, "is_nan", 1, 1, kNone, elementwise, jump},
    {Op::is_inf, "is_inf", 1, 1, kOf<IsInfAttributes>, elementwise, jump},
    {Op::where, "where", 3, 3, kNone, selection, jump, any},
    {Op::cast, "cast", 1, 1, kOf<CastAttributes>, elementwise, jump, any},
    {Op::max_pool, "max_pool", 1, 1, kOf<WindowAttributes>, selection, kink, numbers},
    {Op::reduce_max, "reduce_max", 1, 1, kOf<ReduceAttributes>, selection, kink, any},
    {Op::reduce_min, "reduce_min", 1, 1, kOf<ReduceAttributes>, selection, kink, any},
    {Op::arg_max, "arg_max", 1, 1, kOf<ArgAttributes>, selection, jump, numbers},
    {Op::arg_min, "arg_min", 1, 1, kOf<ArgAttributes>, selection, jump, numbers},
    {Op::take, "take", 2, 2, kOf<ConcatAttributes>, selection, jump, any},
    {Op::sort, "sort", 1, 1, kOf<SortAttributes>, selection, kink, numbers},
    {Op::arg_sort, "arg_sort", 1, 1, kOf<SortAttributes>, selection, jump, numbers},
    {Op::step, "step", 1, 1, kNone, elementwise, jump},
    {Op::max_weight, "max_weight", 1, 1, kOf<ReduceAttributes>, selection, jump},
    {Op::softmax, "softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth},
    {Op::log_softmax, "log_softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth},
    {Op::log_sum_exp, "log_sum_exp", 1, 1, kOf<ReduceAttributes>, defined, smooth},
    {Op::softplus, "softplus", 1, 1, kNone, defined, smooth},
    {Op::softsign, "softsign", 1, 1, kNone, defined, smooth},
    {Op::elu, "elu", 1, 1, kOf<ActivationAttributes>, defined, kink},
    {Op::selu, "selu", 1, 1, kOf<ActivationAttributes>, defined, kink},
    {Op::celu, "celu", 1, 1, kOf<ActivationAttributes>, defined, kink},
    {Op::gelu, "gelu", 1, 1, kOf<GeluAttributes>, defined, smooth},
    {Op::silu, "silu", 1, 1, kOf<ActivationAttributes>, defined, smooth},
    {Op::mish, "mish", 1, 1, kNone, defined, smooth},
    {Op::hard_sigmoid, "hard_sigmoid", 1, 1, kOf<ActivationAttributes>, defined, kink},
    {Op::hard_swish, "hard_swish", 1, 1, kNone, defined, kink},
    {Op::thresholded_relu, "thresholded_relu", 1, 1, kOf<ActivationAttributes>, defined, jump},
    {Op::shrink, "shrink", 1, 1, kOf<ActivationAttributes>, defined, jump},
    {Op::prelu, "prelu", 2, 2, kNone, defined, kink},
    {Op::reduce_prod, "reduce_prod", 1, 1, kOf<ReduceAttributes>, defined, smooth, numbers},
    {Op::normalise, "normalise", 1, 1, kOf<NormaliseAttributes>, defined, singular},
    {Op::cumprod, "cumprod", 1, 1, kOf<CumulativeAttributes>, defined, smooth, numbers},
    {Op::local_response, "local_response", 1, 1, kOf<LocalResponseAttributes>, defined, smooth},
    {Op::masked_softmax, "masked_softmax", 2, 2, kOf<MaskedSoftmaxAttributes>, defined, jump},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].op) != i || kTable[i].name.empty()) return false;
    if (kTable[i].attributes >= std::variant_size_v<Attributes>) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "one row per op, in the order of enum Op");

}  // namespace

const OpRow& op_row(Op op) { return kTable[static_cast<std::size_t>(op)]; }

}  // namespace assay
