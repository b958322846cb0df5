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
  Shapes shapes;
  bool rests_on_mpfr = false;
};

// name, arity, attributes, class, smoothness (on the op's domain), element types (reals if none are named); family, shape rule, MPFR
constexpr std::array<Row, kOpCount> kTable = {{
    {{Op::input, "input", 0, 0, kNone, leaf, smooth}, Family::leaf, Shapes::none},
    {{Op::constant, "constant", 0, 0, kNone, leaf, smooth}, Family::leaf, Shapes::none},
    {{Op::reshape, "reshape", 1, 1, kOf<ShapeAttributes>, layout, smooth, any}, Family::layout, Shapes::layout},
    {{Op::permute, "permute", 1, 1, kOf<PermuteAttributes>, layout, smooth, any}, Family::layout, Shapes::layout},
    {{Op::slice, "slice", 1, 1, kOf<SliceAttributes>, layout, smooth, any}, Family::layout, Shapes::layout},
    {{Op::concat, "concat", 1, kAny, kOf<ConcatAttributes>, layout, smooth, any}, Family::layout, Shapes::layout},
    {{Op::pad, "pad", 1, 1, kOf<PadAttributes>, layout, smooth, any}, Family::layout, Shapes::layout},
    {{Op::gather, "gather", 1, 1, kOf<GatherAttributes>, layout, smooth, any}, Family::layout, Shapes::layout},
    {{Op::expand, "expand", 1, 1, kOf<ShapeAttributes>, layout, smooth, any}, Family::layout, Shapes::layout},
    {{Op::add, "add", 2, 2, kNone, linear, smooth, numbers}, Family::linear, Shapes::broadcast},
    {{Op::sub, "sub", 2, 2, kNone, linear, smooth, numbers}, Family::linear, Shapes::broadcast},
    {{Op::neg, "neg", 1, 1, kNone, linear, smooth, numbers}, Family::linear, Shapes::operand},
    {{Op::scale, "scale", 1, 1, kOf<ScaleAttributes>, linear, smooth}, Family::linear, Shapes::operand},
    {{Op::gemm, "gemm", 2, 3, kOf<GemmAttributes>, linear, smooth}, Family::formula, Shapes::product},
    {{Op::matmul, "matmul", 2, 2, kNone, linear, smooth, numbers}, Family::formula, Shapes::product},
    {{Op::conv, "conv", 2, 3, kOf<WindowAttributes>, linear, smooth}, Family::formula, Shapes::window},
    {{Op::conv_transpose, "conv_transpose", 2, 3, kOf<WindowAttributes>, linear, smooth}, Family::formula, Shapes::window},
    {{Op::batch_norm, "batch_norm", 5, 5, kOf<BatchNormAttributes>, linear, smooth}, Family::formula, Shapes::batch_norm, true},
    {{Op::reduce_sum, "reduce_sum", 1, 1, kOf<ReduceAttributes>, linear, smooth, numbers}, Family::linear, Shapes::reduce},
    {{Op::reduce_mean, "reduce_mean", 1, 1, kOf<ReduceAttributes>, linear, smooth}, Family::linear, Shapes::reduce},
    {{Op::avg_pool, "avg_pool", 1, 1, kOf<WindowAttributes>, linear, smooth}, Family::linear, Shapes::window},
    {{Op::cumsum, "cumsum", 1, 1, kOf<CumulativeAttributes>, linear, smooth, numbers}, Family::linear, Shapes::operand},
    {{Op::place, "place", 1, 1, kOf<PlaceAttributes>, linear, smooth, numbers}, Family::linear, Shapes::layout},
    {{Op::weighted_gather, "weighted_gather", 1, 1, kOf<WeightedGatherAttributes>, linear, smooth}, Family::linear, Shapes::selection},
    {{Op::mul, "mul", 2, 2, kNone, bilinear, smooth, numbers}, Family::formula, Shapes::broadcast},
    {{Op::div, "div", 2, 2, kNone, bilinear, smooth, numbers}, Family::formula, Shapes::broadcast},
    {{Op::relu, "relu", 1, 1, kNone, elementwise, kink, numbers}, Family::function, Shapes::operand},
    {{Op::leaky_relu, "leaky_relu", 1, 1, kOf<LeakyReluAttributes>, elementwise, kink}, Family::function, Shapes::operand},
    {{Op::sigmoid, "sigmoid", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::tanh, "tanh", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::abs, "abs", 1, 1, kNone, elementwise, kink, numbers}, Family::function, Shapes::operand},
    {{Op::sign, "sign", 1, 1, kNone, elementwise, jump, numbers}, Family::function, Shapes::operand},
    {{Op::clip, "clip", 1, 1, kOf<ClipAttributes>, elementwise, kink}, Family::function, Shapes::operand},
    {{Op::sqrt, "sqrt", 1, 1, kNone, elementwise, singular}, Family::function, Shapes::operand, true},
    {{Op::pow, "pow", 1, 1, kOf<PowAttributes>, elementwise, singular, numbers}, Family::function, Shapes::operand, true},
    {{Op::exp, "exp", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::log, "log", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::sin, "sin", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::cos, "cos", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::min, "min", 1, kAny, kNone, elementwise, kink, numbers}, Family::choice, Shapes::broadcast},
    {{Op::max, "max", 1, kAny, kNone, elementwise, kink, numbers}, Family::choice, Shapes::broadcast},
    {{Op::floor, "floor", 1, 1, kNone, elementwise, jump}, Family::function, Shapes::operand},
    {{Op::ceil, "ceil", 1, 1, kNone, elementwise, jump}, Family::function, Shapes::operand},
    {{Op::round, "round", 1, 1, kNone, elementwise, jump}, Family::function, Shapes::operand},
    {{Op::reciprocal, "reciprocal", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand},
    {{Op::erf, "erf", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::tan, "tan", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::asin, "asin", 1, 1, kNone, elementwise, singular}, Family::function, Shapes::operand, true},
    {{Op::acos, "acos", 1, 1, kNone, elementwise, singular}, Family::function, Shapes::operand, true},
    {{Op::atan, "atan", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::sinh, "sinh", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::cosh, "cosh", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::asinh, "asinh", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::acosh, "acosh", 1, 1, kNone, elementwise, singular}, Family::function, Shapes::operand, true},
    {{Op::atanh, "atanh", 1, 1, kNone, elementwise, smooth}, Family::function, Shapes::operand, true},
    {{Op::mod, "mod", 2, 2, kOf<ModAttributes>, elementwise, jump, numbers}, Family::formula, Shapes::broadcast, true},
    {{Op::power, "power", 2, 2, kNone, elementwise, singular, numbers}, Family::formula, Shapes::broadcast, true},
    {{Op::bitwise_and, "bitwise_and", 2, 2, kNone, elementwise, jump, integers}, Family::discrete, Shapes::broadcast},
    {{Op::bitwise_or, "bitwise_or", 2, 2, kNone, elementwise, jump, integers}, Family::discrete, Shapes::broadcast},
    {{Op::bitwise_xor, "bitwise_xor", 2, 2, kNone, elementwise, jump, integers}, Family::discrete, Shapes::broadcast},
    {{Op::equal, "equal", 2, 2, kNone, elementwise, jump, any}, Family::discrete, Shapes::broadcast},
    {{Op::less, "less", 2, 2, kNone, elementwise, jump, numbers}, Family::discrete, Shapes::broadcast},
    {{Op::less_equal, "less_equal", 2, 2, kNone, elementwise, jump, numbers}, Family::discrete, Shapes::broadcast},
    {{Op::logical_not, "logical_not", 1, 1, kNone, elementwise, jump, booleans}, Family::discrete, Shapes::operand},
    {{Op::logical_and, "logical_and", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete, Shapes::broadcast},
    {{Op::logical_or, "logical_or", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete, Shapes::broadcast},
    {{Op::logical_xor, "logical_xor", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete, Shapes::broadcast},
    {{Op::is_nan, "is_nan", 1, 1, kNone, elementwise, jump}, Family::discrete, Shapes::operand},
    {{Op::is_inf, "is_inf", 1, 1, kOf<IsInfAttributes>, elementwise, jump}, Family::discrete, Shapes::operand},
    {{Op::where, "where", 3, 3, kNone, selection, jump, any}, Family::choice, Shapes::broadcast},
    {{Op::cast, "cast", 1, 1, kOf<CastAttributes>, elementwise, jump, any}, Family::function, Shapes::operand},
    {{Op::max_pool, "max_pool", 1, 1, kOf<WindowAttributes>, selection, kink, numbers}, Family::choice, Shapes::window},
    {{Op::reduce_max, "reduce_max", 1, 1, kOf<ReduceAttributes>, selection, kink, any}, Family::choice, Shapes::reduce},
    {{Op::reduce_min, "reduce_min", 1, 1, kOf<ReduceAttributes>, selection, kink, any}, Family::choice, Shapes::reduce},
    {{Op::arg_max, "arg_max", 1, 1, kOf<ArgAttributes>, selection, jump, numbers}, Family::discrete, Shapes::position},
    {{Op::arg_min, "arg_min", 1, 1, kOf<ArgAttributes>, selection, jump, numbers}, Family::discrete, Shapes::position},
    {{Op::take, "take", 2, 2, kOf<ConcatAttributes>, selection, jump, any}, Family::choice, Shapes::selection},
    {{Op::sort, "sort", 1, 1, kOf<SortAttributes>, selection, kink, numbers}, Family::choice, Shapes::selection},
    {{Op::arg_sort, "arg_sort", 1, 1, kOf<SortAttributes>, selection, jump, numbers}, Family::discrete, Shapes::selection},
    {{Op::step, "step", 1, 1, kNone, elementwise, jump}, Family::function, Shapes::operand},
    {{Op::max_weight, "max_weight", 1, 1, kOf<ReduceAttributes>, selection, jump}, Family::discrete, Shapes::operand},
    {{Op::softmax, "softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth}, Family::formula, Shapes::operand, true},
    {{Op::log_softmax, "log_softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth}, Family::formula, Shapes::operand, true},
    {{Op::log_sum_exp, "log_sum_exp", 1, 1, kOf<ReduceAttributes>, defined, smooth}, Family::formula, Shapes::reduce, true},
    {{Op::softplus, "softplus", 1, 1, kNone, defined, smooth}, Family::function, Shapes::operand, true},
    {{Op::softsign, "softsign", 1, 1, kNone, defined, smooth}, Family::function, Shapes::operand, true},
    {{Op::elu, "elu", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, Shapes::operand, true},
    {{Op::selu, "selu", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, Shapes::operand, true},
    {{Op::celu, "celu", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, Shapes::operand, true},
    {{Op::gelu, "gelu", 1, 1, kOf<GeluAttributes>, defined, smooth}, Family::function, Shapes::operand, true},
    {{Op::silu, "silu", 1, 1, kOf<ActivationAttributes>, defined, smooth}, Family::function, Shapes::operand, true},
    {{Op::mish, "mish", 1, 1, kNone, defined, smooth}, Family::function, Shapes::operand, true},
    {{Op::hard_sigmoid, "hard_sigmoid", 1, 1, kOf<ActivationAttributes>, defined, kink}, Family::function, Shapes::operand, true},
    {{Op::hard_swish, "hard_swish", 1, 1, kNone, defined, kink}, Family::function, Shapes::operand, true},
    {{Op::thresholded_relu, "thresholded_relu", 1, 1, kOf<ActivationAttributes>, defined, jump}, Family::function, Shapes::operand, true},
    {{Op::shrink, "shrink", 1, 1, kOf<ActivationAttributes>, defined, jump}, Family::function, Shapes::operand, true},
    {{Op::prelu, "prelu", 2, 2, kNone, defined, kink}, Family::formula, Shapes::broadcast},
    {{Op::reduce_prod, "reduce_prod", 1, 1, kOf<ReduceAttributes>, defined, smooth, numbers}, Family::formula, Shapes::reduce, true},
    {{Op::normalise, "normalise", 1, 1, kOf<NormaliseAttributes>, defined, singular}, Family::formula, Shapes::normalise, true},
    {{Op::cumprod, "cumprod", 1, 1, kOf<CumulativeAttributes>, defined, smooth, numbers}, Family::formula, Shapes::operand, true},
    {{Op::local_response, "local_response", 1, 1, kOf<LocalResponseAttributes>, defined, smooth}, Family::formula, Shapes::operand, true},
    {{Op::masked_softmax, "masked_softmax", 2, 2, kOf<MaskedSoftmaxAttributes>, defined, jump}, Family::formula, Shapes::masked, true},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const OpRow& row = kTable[i].row;
    if (static_cast<std::size_t>(row.op) != i || row.name.empty()) return false;
    if (row.attributes >= std::variant_size_v<Attributes>) return false;
    const bool is_leaf = row.op_class == OpClass::leaf;
    if ((kTable[i].family == Family::leaf) != is_leaf || (kTable[i].shapes == Shapes::none) != is_leaf) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "one row per op, in the order of enum Op");

}  // namespace

const OpRow& op_row(Op op) { return kTable[static_cast<std::size_t>(op)].row; }
Family family_of(Op op) { return kTable[static_cast<std::size_t>(op)].family; }
Shapes shapes_of(Op op) { return kTable[static_cast<std::size_t>(op)].shapes; }
bool rests_on_mpfr(Op op) { return kTable[static_cast<std::size_t>(op)].rests_on_mpfr; }

}  // namespace assay
