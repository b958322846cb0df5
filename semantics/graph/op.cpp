// The rows of the op table.

#include "semantics/graph/op.h"

#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

#include "semantics/graph/family.h"

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

struct Row {
  OpRow row;
  Family family;
  bool rests_on_mpfr = false;
};

// name, arity, attributes, class, smoothness (on the op's domain), element types (reals if none are named); family, MPFR
constexpr std::array<Row, kOpCount> kTable = {{
    {{Op::input, "input", 0, 0, kNone, leaf, smooth}, Family::leaf},
    {{Op::constant, "constant", 0, 0, kNone, leaf, smooth}, Family::leaf},
    {{Op::reshape, "reshape", 1, 1, kOf<ShapeAttributes>, layout, smooth, any}, Family::layout},
    {{Op::permute, "permute", 1, 1, kOf<PermuteAttributes>, layout, smooth, any}, Family::layout},
    {{Op::slice, "slice", 1, 1, kOf<SliceAttributes>, layout, smooth, any}, Family::layout},
    {{Op::concat, "concat", 1, kAny, kOf<ConcatAttributes>, layout, smooth, any}, Family::layout},
    {{Op::pad, "pad", 1, 1, kOf<PadAttributes>, layout, smooth, any}, Family::layout},
    {{Op::gather, "gather", 1, 1, kOf<GatherAttributes>, layout, smooth, any}, Family::layout},
    {{Op::expand, "expand", 1, 1, kOf<ShapeAttributes>, layout, smooth, any}, Family::layout},
    {{Op::add, "add", 2, 2, kNone, linear, smooth, numbers}, Family::linear},
    {{Op::sub, "sub", 2, 2, kNone, linear, smooth, numbers}, Family::linear},
    {{Op::neg, "neg", 1, 1, kNone, linear, smooth, numbers}, Family::linear},
    {{Op::scale, "scale", 1, 1, kOf<ScaleAttributes>, linear, smooth}, Family::linear},
    {{Op::gemm, "gemm", 2, 3, kOf<GemmAttributes>, linear, smooth}, Family::formula},
    {{Op::matmul, "matmul", 2, 2, kNone, linear, smooth, numbers}, Family::formula},
    {{Op::conv, "conv", 2, 3, kOf<WindowAttributes>, linear, smooth}, Family::formula},
    {{Op::conv_transpose, "conv_transpose", 2, 3, kOf<WindowAttributes>, linear, smooth}, Family::formula},
    {{Op::batch_norm, "batch_norm", 5, 5, kOf<BatchNormAttributes>, linear, smooth}, Family::formula, true},
    {{Op::reduce_sum, "reduce_sum", 1, 1, kOf<ReduceAttributes>, linear, smooth, numbers}, Family::linear},
    {{Op::reduce_mean, "reduce_mean", 1, 1, kOf<ReduceAttributes>, linear, smooth}, Family::linear},
    {{Op::avg_pool, "avg_pool", 1, 1, kOf<WindowAttributes>, linear, smooth}, Family::linear},
    {{Op::cumsum, "cumsum", 1, 1, kOf<CumulativeAttributes>, linear, smooth, numbers}, Family::linear},
    {{Op::place, "place", 1, 1, kOf<PlaceAttributes>, linear, smooth, numbers}, Family::linear},
    {{Op::weighted_gather, "weighted_gather", 1, 1, kOf<WeightedGatherAttributes>, linear, smooth}, Family::linear},
    {{Op::mul, "mul", 2, 2, kNone, bilinear, smooth, numbers}, Family::formula},
    {{Op::div, "div", 2, 2, kNone, bilinear, smooth, numbers}, Family::formula},
    {{Op::relu, "relu", 1, 1, kNone, elementwise, kink, numbers}, Family::function},
    {{Op::leaky_relu, "leaky_relu", 1, 1, kOf<LeakyReluAttributes>, elementwise, kink}, Family::function},
    {{Op::sigmoid, "sigmoid", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::tanh, "tanh", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::abs, "abs", 1, 1, kNone, elementwise, kink, numbers}, Family::function},
    {{Op::sign, "sign", 1, 1, kNone, elementwise, jump, numbers}, Family::function},
    {{Op::clip, "clip", 1, 1, kOf<ClipAttributes>, elementwise, kink}, Family::function},
    {{Op::sqrt, "sqrt", 1, 1, kNone, elementwise, singular}, Family::function, true},
    {{Op::pow, "pow", 1, 1, kOf<PowAttributes>, elementwise, singular, numbers}, Family::function, true},
    {{Op::exp, "exp", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::log, "log", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::sin, "sin", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::cos, "cos", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::min, "min", 1, kAny, kNone, elementwise, kink, numbers}, Family::choice},
    {{Op::max, "max", 1, kAny, kNone, elementwise, kink, numbers}, Family::choice},
    {{Op::floor, "floor", 1, 1, kNone, elementwise, jump}, Family::function},
    {{Op::ceil, "ceil", 1, 1, kNone, elementwise, jump}, Family::function},
    {{Op::round, "round", 1, 1, kNone, elementwise, jump}, Family::function},
    {{Op::reciprocal, "reciprocal", 1, 1, kNone, elementwise, smooth}, Family::function},
    {{Op::erf, "erf", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::tan, "tan", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::asin, "asin", 1, 1, kNone, elementwise, singular}, Family::function, true},
    {{Op::acos, "acos", 1, 1, kNone, elementwise, singular}, Family::function, true},
    {{Op::atan, "atan", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::sinh, "sinh", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::cosh, "cosh", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::asinh, "asinh", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::acosh, "acosh", 1, 1, kNone, elementwise, singular}, Family::function, true},
    {{Op::atanh, "atanh", 1, 1, kNone, elementwise, smooth}, Family::function, true},
    {{Op::mod, "mod", 2, 2, kOf<ModAttributes>, elementwise, jump, numbers}, Family::formula, true},
    {{Op::power, "power", 2, 2, kNone, elementwise, singular, numbers}, Family::formula, true},
    {{Op::bitwise_and, "bitwise_and", 2, 2, kNone, elementwise, jump, integers}, Family::discrete},
    {{Op::bitwise_or, "bitwise_or", 2, 2, kNone, elementwise, jump, integers}, Family::discrete},
    {{Op::bitwise_xor, "bitwise_xor", 2, 2, kNone, elementwise, jump, integers}, Family::discrete},
    {{Op::equal, "equal", 2, 2, kNone, elementwise, jump, any}, Family::discrete},
    {{Op::less, "less", 2, 2, kNone, elementwise, jump, numbers}, Family::discrete},
    {{Op::less_equal, "less_equal", 2, 2, kNone, elementwise, jump, numbers}, Family::discrete},
    {{Op::logical_not, "logical_not", 1, 1, kNone, elementwise, jump, booleans}, Family::discrete},
    {{Op::logical_and, "logical_and", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete},
    {{Op::logical_or, "logical_or", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete},
    {{Op::logical_xor, "logical_xor", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete},
    {{Op::is_nan, "is_nan", 1, 1, kNone, elementwise, jump}, Family::discrete},
    {{Op::is_inf, "is_inf", 1, 1, kOf<IsInfAttributes>, elementwise, jump}, Family::discrete},
    {{Op::where, "where", 3, 3, kNone, selection, jump, any}, Family::choice},
    {{Op::cast, "cast", 1, 1, kOf<CastAttributes>, elementwise, jump, any}, Family::function},
    {{Op::max_pool, "max_pool", 1, 1, kOf<WindowAttributes>, selection, kink, numbers}, Family::choice},
    {{Op::reduce_max, "reduce_max", 1, 1, kOf<ReduceAttributes>, selection, kink, any}, Family::choice},
    {{Op::reduce_min, "reduce_min", 1, 1, kOf<ReduceAttributes>, selection, kink, any}, Family::choice},
    {{Op::arg_max, "arg_max", 1, 1, kOf<ArgAttributes>, selection, jump, numbers}, Family::discrete},
    {{Op::arg_min, "arg_min", 1, 1, kOf<ArgAttributes>, selection, jump, numbers}, Family::discrete},
    {{Op::take, "take", 2, 2, kOf<ConcatAttributes>, selection, jump, any}, Family::choice},
    {{Op::sort, "sort", 1, 1, kOf<SortAttributes>, selection, kink, numbers}, Family::choice},
    {{Op::arg_sort, "arg_sort", 1, 1, kOf<SortAttributes>, selection, jump, numbers}, Family::discrete},
    {{Op::step, "step", 1, 1, kNone, elementwise, jump}, Family::function},
    {{Op::max_weight, "max_weight", 1, 1, kOf<ReduceAttributes>, selection, jump}, Family::discrete},
    {{Op::softmax, "softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth}, Family::formula, true},
    {{Op::log_softmax, "log_softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth}, Family::formula, true},
    {{Op::log_sum_exp, "log_sum_exp", 1, 1, kOf<ReduceAttributes>, defined, smooth}, Family::formula, true},
    {{Op::softplus, "softplus", 1, 1, kNone, defined, smooth}, Family::function, true},
    {{Op::softsign, "softsign", 1, 1, kNone, defined, smooth}, Family::function, true},
    {{Op::elu, "elu", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, true},
    {{Op::selu, "selu", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, true},
    {{Op::celu, "celu", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, true},
    {{Op::gelu, "gelu", 1, 1, kOf<GeluAttributes>, defined, smooth}, Family::function, true},
    {{Op::silu, "silu", 1, 1, kOf<ActivationAttributes>, defined, smooth}, Family::function, true},
    {{Op::mish, "mish", 1, 1, kNone, defined, smooth}, Family::function, true},
    {{Op::hard_sigmoid, "hard_sigmoid", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, true},
    {{Op::hard_swish, "hard_swish", 1, 1, kNone, defined, kink}, Family::function, true},
    {{Op::thresholded_relu, "thresholded_relu", 1, 1, kOf<ActivationAttributes>, defined, jump}, Family::function, true},
    {{Op::shrink, "shrink", 1, 1, kOf<ActivationAttributes>, defined, jump}, Family::function, true},
    {{Op::prelu, "prelu", 2, 2, kNone, defined, kink}, Family::formula},
    {{Op::reduce_prod, "reduce_prod", 1, 1, kOf<ReduceAttributes>, defined, smooth, numbers}, Family::formula, true},
    {{Op::normalise, "normalise", 1, 1, kOf<NormaliseAttributes>, defined, singular}, Family::formula, true},
    {{Op::cumprod, "cumprod", 1, 1, kOf<CumulativeAttributes>, defined, smooth, numbers}, Family::formula, true},
    {{Op::local_response, "local_response", 1, 1, kOf<LocalResponseAttributes>, defined, smooth}, Family::formula, true},
    {{Op::masked_softmax, "masked_softmax", 2, 2, kOf<MaskedSoftmaxAttributes>, defined, jump}, Family::formula, true},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const OpRow& row = kTable[i].row;
    if (static_cast<std::size_t>(row.op) != i || row.name.empty()) return false;
    if (row.attributes >= std::variant_size_v<Attributes>) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "one row per op, in the order of enum Op");

}  // namespace

const OpRow& op_row(Op op) { return kTable[static_cast<std::size_t>(op)].row; }
Family family_of(Op op) { return kTable[static_cast<std::size_t>(op)].family; }
bool rests_on_mpfr(Op op) { return kTable[static_cast<std::size_t>(op)].rests_on_mpfr; }

}  // namespace assay
