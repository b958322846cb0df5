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
  OpKind kind;
  Shapes shapes;
  bool rests_on_mpfr = false;
};

constexpr Row row(const OpRow& op, Family family, OpKind kind, Shapes shapes, bool rests_on_mpfr = false) {
  return {op, family, kind, shapes, rests_on_mpfr};
}
// Of one variable, element by element.
constexpr Row function(const OpRow& op, OpKind kind, bool rests_on_mpfr = false) {
  return {op, Family::function, kind, Shapes::operand, rests_on_mpfr};
}

// name, arity, attributes, class, smoothness (on the op's domain), element types (reals if none are named); family, kind, shape rule, MPFR
constexpr std::array<Row, kOpCount> kTable = {{
    row({Op::input, "input", 0, 0, kNone, leaf, smooth}, Family::leaf, OpKind::leaf, Shapes::none),
    row({Op::constant, "constant", 0, 0, kNone, leaf, smooth}, Family::leaf, OpKind::leaf, Shapes::none),
    row({Op::reshape, "reshape", 1, 1, kOf<ShapeAttributes>, layout, smooth, any}, Family::layout, OpKind::layout, Shapes::layout),
    row({Op::permute, "permute", 1, 1, kOf<PermuteAttributes>, layout, smooth, any}, Family::layout, OpKind::layout, Shapes::layout),
    row({Op::slice, "slice", 1, 1, kOf<SliceAttributes>, layout, smooth, any}, Family::layout, OpKind::layout, Shapes::layout),
    row({Op::concat, "concat", 1, kAny, kOf<ConcatAttributes>, layout, smooth, any}, Family::layout, OpKind::layout, Shapes::layout),
    row({Op::pad, "pad", 1, 1, kOf<PadAttributes>, layout, smooth, any}, Family::layout, OpKind::layout, Shapes::layout),
    row({Op::gather, "gather", 1, 1, kOf<GatherAttributes>, layout, smooth, any}, Family::layout, OpKind::layout, Shapes::layout),
    row({Op::expand, "expand", 1, 1, kOf<ShapeAttributes>, layout, smooth, any}, Family::layout, OpKind::layout, Shapes::layout),
    row({Op::add, "add", 2, 2, kNone, linear, smooth, numbers}, Family::linear, OpKind::arithmetic, Shapes::broadcast),
    row({Op::sub, "sub", 2, 2, kNone, linear, smooth, numbers}, Family::linear, OpKind::arithmetic, Shapes::broadcast),
    row({Op::neg, "neg", 1, 1, kNone, linear, smooth, numbers}, Family::linear, OpKind::arithmetic, Shapes::operand),
    row({Op::scale, "scale", 1, 1, kOf<ScaleAttributes>, linear, smooth}, Family::linear, OpKind::arithmetic, Shapes::operand),
    row({Op::gemm, "gemm", 2, 3, kOf<GemmAttributes>, linear, smooth}, Family::formula, OpKind::product, Shapes::product),
    row({Op::matmul, "matmul", 2, 2, kNone, linear, smooth, numbers}, Family::formula, OpKind::product, Shapes::product),
    row({Op::conv, "conv", 2, 3, kOf<WindowAttributes>, linear, smooth}, Family::formula, OpKind::convolution, Shapes::window),
    row({Op::conv_transpose, "conv_transpose", 2, 3, kOf<WindowAttributes>, linear, smooth}, Family::formula, OpKind::convolution,
        Shapes::window),
    row({Op::batch_norm, "batch_norm", 5, 5, kOf<BatchNormAttributes>, linear, smooth}, Family::formula, OpKind::batch_norm,
        Shapes::batch_norm, true),
    row({Op::reduce_sum, "reduce_sum", 1, 1, kOf<ReduceAttributes>, linear, smooth, numbers}, Family::linear, OpKind::sum, Shapes::reduce),
    row({Op::reduce_mean, "reduce_mean", 1, 1, kOf<ReduceAttributes>, linear, smooth}, Family::linear, OpKind::sum, Shapes::reduce),
    row({Op::avg_pool, "avg_pool", 1, 1, kOf<WindowAttributes>, linear, smooth}, Family::linear, OpKind::pool, Shapes::window),
    row({Op::cumsum, "cumsum", 1, 1, kOf<CumulativeAttributes>, linear, smooth, numbers}, Family::linear, OpKind::running_sum,
        Shapes::operand),
    row({Op::place, "place", 1, 1, kOf<PlaceAttributes>, linear, smooth, numbers}, Family::linear, OpKind::place, Shapes::layout),
    row({Op::weighted_gather, "weighted_gather", 1, 1, kOf<WeightedGatherAttributes>, linear, smooth}, Family::linear,
        OpKind::weighted_gather, Shapes::selection),
    row({Op::mul, "mul", 2, 2, kNone, bilinear, smooth, numbers}, Family::formula, OpKind::arithmetic, Shapes::broadcast),
    row({Op::div, "div", 2, 2, kNone, bilinear, smooth, numbers}, Family::formula, OpKind::arithmetic, Shapes::broadcast),
    function({Op::relu, "relu", 1, 1, kNone, elementwise, kink, numbers}, OpKind::piecewise),
    function({Op::leaky_relu, "leaky_relu", 1, 1, kOf<LeakyReluAttributes>, elementwise, kink}, OpKind::piecewise),
    function({Op::sigmoid, "sigmoid", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::tanh, "tanh", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::abs, "abs", 1, 1, kNone, elementwise, kink, numbers}, OpKind::piecewise),
    function({Op::sign, "sign", 1, 1, kNone, elementwise, jump, numbers}, OpKind::piecewise),
    function({Op::clip, "clip", 1, 1, kOf<ClipAttributes>, elementwise, kink}, OpKind::piecewise),
    function({Op::sqrt, "sqrt", 1, 1, kNone, elementwise, singular}, OpKind::power, true),
    function({Op::pow, "pow", 1, 1, kOf<PowAttributes>, elementwise, singular, numbers}, OpKind::power, true),
    function({Op::exp, "exp", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::log, "log", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::sin, "sin", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::cos, "cos", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    row({Op::min, "min", 1, kAny, kNone, elementwise, kink, numbers}, Family::choice, OpKind::min_max, Shapes::broadcast),
    row({Op::max, "max", 1, kAny, kNone, elementwise, kink, numbers}, Family::choice, OpKind::min_max, Shapes::broadcast),
    function({Op::floor, "floor", 1, 1, kNone, elementwise, jump}, OpKind::rounding),
    function({Op::ceil, "ceil", 1, 1, kNone, elementwise, jump}, OpKind::rounding),
    function({Op::round, "round", 1, 1, kNone, elementwise, jump}, OpKind::rounding),
    function({Op::reciprocal, "reciprocal", 1, 1, kNone, elementwise, smooth}, OpKind::arithmetic),
    function({Op::erf, "erf", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::tan, "tan", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::asin, "asin", 1, 1, kNone, elementwise, singular}, OpKind::function, true),
    function({Op::acos, "acos", 1, 1, kNone, elementwise, singular}, OpKind::function, true),
    function({Op::atan, "atan", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::sinh, "sinh", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::cosh, "cosh", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::asinh, "asinh", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    function({Op::acosh, "acosh", 1, 1, kNone, elementwise, singular}, OpKind::function, true),
    function({Op::atanh, "atanh", 1, 1, kNone, elementwise, smooth}, OpKind::function, true),
    row({Op::mod, "mod", 2, 2, kOf<ModAttributes>, elementwise, jump, numbers}, Family::formula, OpKind::rounding, Shapes::broadcast, true),
    row({Op::power, "power", 2, 2, kNone, elementwise, singular, numbers}, Family::formula, OpKind::power, Shapes::broadcast, true),
    row({Op::bitwise_and, "bitwise_and", 2, 2, kNone, elementwise, jump, integers}, Family::discrete, OpKind::bitwise, Shapes::broadcast),
    row({Op::bitwise_or, "bitwise_or", 2, 2, kNone, elementwise, jump, integers}, Family::discrete, OpKind::bitwise, Shapes::broadcast),
    row({Op::bitwise_xor, "bitwise_xor", 2, 2, kNone, elementwise, jump, integers}, Family::discrete, OpKind::bitwise, Shapes::broadcast),
    row({Op::equal, "equal", 2, 2, kNone, elementwise, jump, any}, Family::discrete, OpKind::comparison, Shapes::broadcast),
    row({Op::less, "less", 2, 2, kNone, elementwise, jump, numbers}, Family::discrete, OpKind::comparison, Shapes::broadcast),
    row({Op::less_equal, "less_equal", 2, 2, kNone, elementwise, jump, numbers}, Family::discrete, OpKind::comparison, Shapes::broadcast),
    row({Op::logical_not, "logical_not", 1, 1, kNone, elementwise, jump, booleans}, Family::discrete, OpKind::logic, Shapes::operand),
    row({Op::logical_and, "logical_and", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete, OpKind::logic, Shapes::broadcast),
    row({Op::logical_or, "logical_or", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete, OpKind::logic, Shapes::broadcast),
    row({Op::logical_xor, "logical_xor", 2, 2, kNone, elementwise, jump, booleans}, Family::discrete, OpKind::logic, Shapes::broadcast),
    row({Op::is_nan, "is_nan", 1, 1, kNone, elementwise, jump}, Family::discrete, OpKind::comparison, Shapes::operand),
    row({Op::is_inf, "is_inf", 1, 1, kOf<IsInfAttributes>, elementwise, jump}, Family::discrete, OpKind::comparison, Shapes::operand),
    row({Op::where, "where", 3, 3, kNone, selection, jump, any}, Family::choice, OpKind::where, Shapes::broadcast),
    function({Op::cast, "cast", 1, 1, kOf<CastAttributes>, elementwise, jump, any}, OpKind::cast),
    row({Op::max_pool, "max_pool", 1, 1, kOf<WindowAttributes>, selection, kink, numbers}, Family::choice, OpKind::pool, Shapes::window),
    row({Op::reduce_max, "reduce_max", 1, 1, kOf<ReduceAttributes>, selection, kink, any}, Family::choice, OpKind::extremum,
        Shapes::reduce),
    row({Op::reduce_min, "reduce_min", 1, 1, kOf<ReduceAttributes>, selection, kink, any}, Family::choice, OpKind::extremum,
        Shapes::reduce),
    row({Op::arg_max, "arg_max", 1, 1, kOf<ArgAttributes>, selection, jump, numbers}, Family::discrete, OpKind::position, Shapes::position),
    row({Op::arg_min, "arg_min", 1, 1, kOf<ArgAttributes>, selection, jump, numbers}, Family::discrete, OpKind::position, Shapes::position),
    row({Op::take, "take", 2, 2, kOf<ConcatAttributes>, selection, jump, any}, Family::choice, OpKind::order, Shapes::selection),
    row({Op::sort, "sort", 1, 1, kOf<SortAttributes>, selection, kink, numbers}, Family::choice, OpKind::order, Shapes::selection),
    row({Op::arg_sort, "arg_sort", 1, 1, kOf<SortAttributes>, selection, jump, numbers}, Family::discrete, OpKind::ranking,
        Shapes::selection),
    function({Op::step, "step", 1, 1, kNone, elementwise, jump}, OpKind::step),
    row({Op::max_weight, "max_weight", 1, 1, kOf<ReduceAttributes>, selection, jump}, Family::discrete, OpKind::max_weight,
        Shapes::operand),
    row({Op::softmax, "softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth}, Family::formula, OpKind::softmax, Shapes::operand, true),
    row({Op::log_softmax, "log_softmax", 1, 1, kOf<SoftmaxAttributes>, defined, smooth}, Family::formula, OpKind::softmax, Shapes::operand,
        true),
    row({Op::log_sum_exp, "log_sum_exp", 1, 1, kOf<ReduceAttributes>, defined, smooth}, Family::formula, OpKind::softmax, Shapes::reduce,
        true),
    function({Op::softplus, "softplus", 1, 1, kNone, defined, smooth}, OpKind::function, true),
    function({Op::softsign, "softsign", 1, 1, kNone, defined, smooth}, OpKind::activation, true),
    function({Op::elu, "elu", 1, 1, kOf<ActivationAttributes>, defined, kink}, OpKind::activation, true),
    function({Op::selu, "selu", 1, 1, kOf<ActivationAttributes>, defined, kink}, OpKind::activation, true),
    function({Op::celu, "celu", 1, 1, kOf<ActivationAttributes>, defined, kink}, OpKind::activation, true),
    function({Op::gelu, "gelu", 1, 1, kOf<GeluAttributes>, defined, smooth}, OpKind::activation, true),
    function({Op::silu, "silu", 1, 1, kOf<ActivationAttributes>, defined, smooth}, OpKind::activation, true),
    function({Op::mish, "mish", 1, 1, kNone, defined, smooth}, OpKind::activation, true),
    function({Op::hard_sigmoid, "hard_sigmoid", 1, 1, kOf<ActivationAttributes>, defined, kink}, OpKind::activation, true),
    function({Op::hard_swish, "hard_swish", 1, 1, kNone, defined, kink}, OpKind::activation, true),
    function({Op::thresholded_relu, "thresholded_relu", 1, 1, kOf<ActivationAttributes>, defined, jump}, OpKind::activation, true),
    function({Op::shrink, "shrink", 1, 1, kOf<ActivationAttributes>, defined, jump}, OpKind::activation, true),
    row({Op::prelu, "prelu", 2, 2, kNone, defined, kink}, Family::formula, OpKind::activation, Shapes::broadcast),
    row({Op::reduce_prod, "reduce_prod", 1, 1, kOf<ReduceAttributes>, defined, smooth, numbers}, Family::formula, OpKind::reduced_product,
        Shapes::reduce, true),
    row({Op::normalise, "normalise", 1, 1, kOf<NormaliseAttributes>, defined, singular}, Family::formula, OpKind::normalise,
        Shapes::normalise, true),
    row({Op::cumprod, "cumprod", 1, 1, kOf<CumulativeAttributes>, defined, smooth, numbers}, Family::formula, OpKind::running_product,
        Shapes::operand, true),
    row({Op::local_response, "local_response", 1, 1, kOf<LocalResponseAttributes>, defined, smooth}, Family::formula,
        OpKind::local_response, Shapes::operand, true),
    row({Op::masked_softmax, "masked_softmax", 2, 2, kOf<MaskedSoftmaxAttributes>, defined, jump}, Family::formula, OpKind::masked_softmax,
        Shapes::masked, true),
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    const OpRow& row = kTable[i].row;
    if (static_cast<std::size_t>(row.op) != i || row.name.empty()) return false;
    if (row.attributes >= std::variant_size_v<Attributes>) return false;
    const bool is_leaf = row.op_class == OpClass::leaf;
    if ((kTable[i].family == Family::leaf) != is_leaf || (kTable[i].kind == OpKind::leaf) != is_leaf) return false;
    if ((kTable[i].shapes == Shapes::none) != is_leaf) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "one row per op, in the order of enum Op");

}  // namespace

const OpRow& op_row(Op op) { return kTable[static_cast<std::size_t>(op)].row; }
Family family_of(Op op) { return kTable[static_cast<std::size_t>(op)].family; }
OpKind kind_of(Op op) { return kTable[static_cast<std::size_t>(op)].kind; }
Shapes shapes_of(Op op) { return kTable[static_cast<std::size_t>(op)].shapes; }
bool rests_on_mpfr(Op op) { return kTable[static_cast<std::size_t>(op)].rests_on_mpfr; }

bool gives_integers(Op op, DType dtype) {
  return is_integer(dtype) || dtype == DType::boolean || op == Op::floor || op == Op::ceil || op == Op::round || op == Op::sign;
}

}  // namespace assay
