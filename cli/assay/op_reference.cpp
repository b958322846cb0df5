#include "cli/assay/op_reference.h"

#include <algorithm>
#include <array>

namespace assay::cli {
namespace {

using namespace std::string_view_literals;
using enum Bound;

// Shapes.
constexpr auto
    kSame = "S -> S"sv,
    kBroadcast = "S_1, ..., S_n -> their broadcast"sv, kPair = "S_x, S_y -> their broadcast"sv,
    kReduced = "[d_1, ..., d_r] -> the extents off `axes`; with `keep_dims` 1 on them"sv,
    kWindow =
        "[N, C, d_1, ..., d_k] -> [N, C, e_1, ..., e_k], e = floor((d + pads - dilation (kernel - 1) - 1) / stride) + 1 (ceil_mode: ceil)"sv;
// Domains.
constexpr auto kReals = "all reals"sv, kAll = "all values"sv, kIntegers = "integers; a result outside the type is undefined"sv,
               kTruths = "truth values"sv, kNumbers = "all reals; on integers a result outside the type is undefined"sv;
// Derivatives.
constexpr auto kNone = "0 by convention"sv, kMoved = "g at the place that each element came from, 0 elsewhere"sv,
               kNoneInteger = "none: integers and truth values"sv;
// Enclosures.
constexpr auto kExact = "the exact image, element by element"sv, kMonotone = "from the ends of the box, each rounded outward"sv,
               kPieces = "from the ends and the break points inside, each rounded outward"sv,
               kSums = "interval sum of products, each rounded outward: the exact image up to rounding where every operand occurs once"sv,
               kDecided = "the truth where all points agree, else {0, 1}"sv,
               kLocus = "{0}, or the undefined value over a set with a jump"sv, kMoves = "each element's own"sv,
               kWide = "from the ends and the extrema inside, at 257 bits, then rounded outward once"sv;

constexpr std::array<OpReference, kOpCount> kTable = {{
    {Op::input, "a value given from outside", "any", kAll, "the gradient that is asked for", "the box that is given", leaf, ""},
    {Op::constant, "these bits", "any", kAll, kNone, "the number itself", leaf, "Constant ConstantOfShape Shape Size EyeLike Range"},
    {Op::reshape, "the same elements in row-major order", "S -> the shape given, of as many elements", kAll, "g reshaped", kMoves, exact,
     "Reshape Flatten Squeeze Unsqueeze"},
    {Op::permute, "axis i of y is axis axes[i] of x", "S -> its extents in the order of `axes`", kAll, "g with the axes put back", kMoves,
     exact, "Transpose"},
    {Op::slice, "y_i = x at start + i step, per axis", "S -> `extents`", kAll, kMoved, kMoves, exact, "Slice Split"},
    {Op::concat, "the operands one after the other along an axis", "equal off the axis -> the sum of their extents on it", kAll,
     "the part of g that came from each operand", kMoves, exact, "Concat"},
    {Op::pad, "x with `value` round it; a negative pad crops", "S -> S + before + after", kAll,
     "g inside, cropped; what was cropped gets 0", kMoves, exact, "Pad CenterCropPad"},
    {Op::gather, "the elements `indices` of one axis", "before the axis, the shape of the indices, behind the axis", kAll,
     "the sum of g over the places that took an element", kMoves, exact,
     "Gather GatherND GatherElements Compress Tile Trilu ReverseSequence"},
    {Op::expand, "x repeated along axes of extent 1 and new ones in front", "S -> the shape given", kAll, "the sum of g over the copies",
     kMoves, exact, "Expand Tile"},
    {Op::add, "x + y", kPair, kNumbers, "g to both, summed over what was broadcast", "x + y, rounded outward", exact, "Add Sum Mean"},
    {Op::sub, "x - y", kPair, kNumbers, "g and -g, summed over what was broadcast", "x - y, rounded outward", exact, "Sub"},
    {Op::neg, "-x", kSame, kNumbers, "-g", kExact, exact, "Neg"},
    {Op::scale, "factor x", kSame, kReals, "factor g", kMonotone, exact, "Attention"},
    {Op::gemm, "alpha A B + beta C, A and B perhaps transposed", "[M, K], [K, N], C that broadcasts to [M, N] -> [M, N]", kReals,
     "alpha g B^T, alpha A^T g, beta times the sums of g", kSums, product, "Gemm"},
    {Op::matmul, "sum over k of x_ik y_kj, batched over the other axes",
     "[..., M, K], [..., K, N] -> [..., M, N]; rank 1 as a row or a column", kNumbers, "g y^T and x^T g, summed over what was broadcast",
     kSums, product, "MatMul Attention Einsum RNN GRU LSTM"},
    {Op::conv, "sum over channels and taps of w x, by groups, plus the bias", "[N, C, d...], [M, C / groups, k...], [M] -> [N, M, e...]",
     kReals, "conv_transpose of g with w; correlation of x with g; sums of g", kSums, product, "Conv"},
    {Op::conv_transpose, "the adjoint of conv in x, plus the bias", "[N, C, d...], [C, M / groups, k...], [M] -> [N, M, e...]", kReals,
     "conv of g with w; correlation of g with x; sums of g", kSums, product, "ConvTranspose"},
    {Op::batch_norm, "scale (x - mean) / sqrt(var + epsilon) + bias, per channel", "[N, C, ...], four of [C] -> [N, C, ...]",
     "var + epsilon > 0", "g times the channel's slope; the parameters by the quotient rule", "an affine map per channel, rounded outward",
     product, "BatchNormalization"},
    {Op::reduce_sum, "the sum over `axes`", kReduced, kNumbers, "g at every element that it sums", "sum of the ends, rounded outward",
     exact, "ReduceSum ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSum"},
    {Op::reduce_mean, "the sum over `axes` divided by their number", kReduced, "at least one element", "g / n at every element",
     "sum of the ends over n, rounded outward", exact, "ReduceMean GlobalAveragePool"},
    {Op::avg_pool, "the mean over a window; padding counts with count_include_pad", kWindow, "a window with at least one element",
     "g / n at every element of the window", "sum of the ends over n, rounded outward", exact, "AveragePool"},
    {Op::cumsum, "the sum of the elements up to this one along an axis", kSame, kNumbers, "the running sum of g the other way",
     "sum of the ends, rounded outward", exact, "CumSum"},
    {Op::place, "0, plus x_i at place indices[i]", "n elements -> the shape given", kNumbers, "g at the places",
     "sums of the ends, rounded outward", exact, "Col2Im"},
    {Op::weighted_gather, "weighted sums of the elements of one axis, with rational weights",
     "S -> S with as many elements on the axis as there are sums", kReals, "the weights transposed times g", kSums, exact,
     "Resize Upsample"},
    {Op::mul, "x y", kPair, kNumbers, "g y and g x, summed over what was broadcast",
     "the extreme corner products, rounded outward; a square where both operands are one", product, "Mul"},
    {Op::div, "x / y; of integers rounded to 0", kPair, "y != 0", "g / y and -g x / y^2, summed over what was broadcast",
     "the extreme corner quotients, rounded outward; undefined where y may be 0", product, "Div Mean"},
    {Op::relu, "max(x, 0)", kSame, kNumbers, "g step(x); [0, g] at 0", kExact, line, "Relu"},
    {Op::leaky_relu, "x above 0, slope x below", kSame, kReals, "g (slope + (1 - slope) step(x))", kPieces, line, "LeakyRelu"},
    {Op::sigmoid, "1 / (1 + exp(-x))", kSame, kReals, "g y (1 - y)", kMonotone, line, "Sigmoid"},
    {Op::tanh, "tanh(x)", kSame, kReals, "g (1 - y^2)", kMonotone, line, "Tanh"},
    {Op::abs, "|x|", kSame, kNumbers, "g (2 step(x) - 1); [-g, g] at 0", kExact, line, "Abs"},
    {Op::sign, "-1, 0 or 1", kSame, kNumbers, kNone, "from the ends", line, "Sign"},
    {Op::clip, "min(max(x, lo), hi)", kSame, kReals, "g step(x - lo) step(hi - x)", kExact, line, "Clip"},
    {Op::sqrt, "the root >= 0", kSame, "x >= 0", "g / (2 y); singular at 0", kMonotone, line, "Sqrt"},
    {Op::pow, "x^r for the exact number r", kSame, "x >= 0 unless r is an integer; x != 0 for r < 0", "g r x^(r-1)", kPieces, line, "Pow"},
    {Op::exp, "exp(x)", kSame, kReals, "g y", kMonotone, line, "Exp"},
    {Op::log, "the natural logarithm", kSame, "x > 0", "g / x", kMonotone, line, "Log"},
    {Op::sin, "sin(x)", kSame, kReals, "g cos(x)", kPieces, line, "Sin"},
    {Op::cos, "cos(x)", kSame, kReals, "-g sin(x)", kPieces, line, "Cos"},
    {Op::min, "the least operand", kBroadcast, kNumbers, "g to the least; shared at ties, any convex share", kExact, plane, "Min"},
    {Op::max, "the greatest operand", kBroadcast, kNumbers, "g to the greatest; shared at ties, any convex share", kExact, plane, "Max"},
    {Op::floor, "the greatest integer <= x", kSame, kReals, kNone, kExact, line, "Floor"},
    {Op::ceil, "the least integer >= x", kSame, kReals, kNone, kExact, line, "Ceil"},
    {Op::round, "the nearest integer, ties to even", kSame, kReals, kNone, kExact, line, "Round QuantizeLinear"},
    {Op::reciprocal, "1 / x", kSame, "x != 0", "-g y^2", "from the ends; undefined where x may be 0", line, "Reciprocal"},
    {Op::erf, "2 / sqrt(pi) times the integral of exp(-t^2) from 0 to x", kSame, kReals, "g 2 / sqrt(pi) exp(-x^2)", kMonotone, line,
     "Erf"},
    {Op::tan, "tan(x)", kSame, "no odd multiple of pi / 2", "g (1 + y^2)", "from the ends between two poles, else undefined", line, "Tan"},
    {Op::asin, "in [-pi/2, pi/2]", kSame, "|x| <= 1", "g / sqrt(1 - x^2)", kMonotone, line, "Asin"},
    {Op::acos, "in [0, pi]", kSame, "|x| <= 1", "-g / sqrt(1 - x^2)", kMonotone, line, "Acos"},
    {Op::atan, "in (-pi/2, pi/2)", kSame, kReals, "g / (1 + x^2)", kMonotone, line, "Atan"},
    {Op::sinh, "sinh(x)", kSame, kReals, "g cosh(x)", kMonotone, line, "Sinh"},
    {Op::cosh, "cosh(x)", kSame, kReals, "g sinh(x)", kPieces, line, "Cosh"},
    {Op::asinh, "the inverse of sinh", kSame, kReals, "g / sqrt(x^2 + 1)", kMonotone, line, "Asinh"},
    {Op::acosh, "the inverse of cosh that is >= 0", kSame, "x >= 1", "g / (sqrt(x - 1) sqrt(x + 1))", kMonotone, line, "Acosh"},
    {Op::atanh, "the inverse of tanh", kSame, "|x| < 1", "g / (1 - x^2)", kMonotone, line, "Atanh"},
    {Op::mod, "x - y floor(x / y); truncated: x - y trunc(x / y)", kPair, "y != 0", "g and -g times the quotient",
     "exact where the quotient is known, else the range of remainders", plane, "Mod"},
    {Op::power, "x^y with a tensor y", kPair, "x > 0, or y an integer and x != 0 or y >= 0", "g y x^(y-1) and g x^y log x",
     "from the corners, rounded outward", plane, "Pow BitShift"},
    {Op::bitwise_and, "bit by bit, two's complement", kPair, kIntegers, kNoneInteger,
     "exact between two numbers, else by the sizes of the operands", box, "BitwiseAnd"},
    {Op::bitwise_or, "bit by bit, two's complement", kPair, kIntegers, kNoneInteger,
     "exact between two numbers, else by the sizes of the operands", box, "BitwiseOr"},
    {Op::bitwise_xor, "bit by bit, two's complement", kPair, kIntegers, kNoneInteger,
     "exact between two numbers, else by the sizes of the operands", box, "BitwiseXor"},
    {Op::equal, "x = y", kPair, kAll, kNoneInteger, kDecided, box, "Equal OneHot Hardmax"},
    {Op::less, "x < y", kPair, kReals, kNoneInteger, kDecided, box, "Less Greater"},
    {Op::less_equal, "x <= y", kPair, kReals, kNoneInteger, kDecided, box, "LessOrEqual GreaterOrEqual"},
    {Op::logical_not, "not x", kSame, kTruths, kNoneInteger, kDecided, box, "Not"},
    {Op::logical_and, "x and y", kPair, kTruths, kNoneInteger, kDecided, box, "And"},
    {Op::logical_or, "x or y", kPair, kTruths, kNoneInteger, kDecided, box, "Or"},
    {Op::logical_xor, "x or y, not both", kPair, kTruths, kNoneInteger, kDecided, box, "Xor"},
    {Op::is_nan, "false on every real number", kSame, kReals, kNoneInteger, kDecided, box, "IsNaN"},
    {Op::is_inf, "false on every real number", kSame, kReals, kNoneInteger, kDecided, box, "IsInf"},
    {Op::where, "y where the condition holds, else z; the other one is discarded, defined or not", "S_c, S_y, S_z -> their broadcast", kAll,
     "g to the operand that was chosen", "the operand's where the condition is decided, else the hull of both", plane, "Where"},
    {Op::cast, "x as another type: to integers rounded to 0, to truth x != 0", kSame, "to integers: within the type",
     "g between float types, else 0 by convention", kMonotone, line, "Cast CastLike BitCast DequantizeLinear"},
    {Op::max_pool, "the greatest element of a window", kWindow, "a window with at least one element",
     "g to the greatest; shared at ties, any convex share", kExact, plane, "MaxPool GlobalMaxPool"},
    {Op::reduce_max, "the greatest element over `axes`", kReduced, "at least one element",
     "g to the greatest; shared at ties, any convex share", kExact, plane, "ReduceMax"},
    {Op::reduce_min, "the least element over `axes`", kReduced, "at least one element", "g to the least; shared at ties, any convex share",
     kExact, plane, "ReduceMin"},
    {Op::arg_max, "the place of the greatest element along an axis; of equal ones the first, or the last", kReduced, "at least one element",
     kNoneInteger, "the hull of the places that some point makes the greatest", box, "ArgMax Hardmax"},
    {Op::arg_min, "the place of the least element along an axis; of equal ones the first, or the last", kReduced, "at least one element",
     kNoneInteger, "the hull of the places that some point makes the least", box, "ArgMin"},
    {Op::take, "element indices[i] of the axis of y, with indices that depend on an input; x are the indices",
     "S_x equal to S_y off the axis -> S_x", "-extent <= index < extent", "g added at the places taken",
     "the hull of the elements that the index may name", plane, "Gather GatherElements"},
    {Op::sort, "the first k elements of each row in order", "S -> S with k on the axis", kReals, "g at the places that arg_sort names",
     "order statistics of the ends: the exact image", plane, "TopK"},
    {Op::arg_sort, "the places of the first k elements of each row in order; of equal ones the first", "S -> S with k on the axis", kReals,
     kNoneInteger, "the hull of the places that each rank may have", box, "TopK"},
    {Op::step, "1 above 0, 0 below, 1/2 at 0: the derivative of relu", kSame, kReals, kNone,
     "{0}, {1}, or [0, 1] over a set with 0: the Clarke derivative", line, ""},
    {Op::max_weight, "1/k for each of the k greatest elements over `axes`, 0 for the others: the derivative of a maximum", kSame, kReals,
     kNone, "{0}, {1}, or [0, 1] where the greatest is not known", box, ""},
    {Op::softmax, "exp(x_i) / sum of exp(x_j) along an axis", kSame, "at least one element", "y (g - sum of g y)",
     "1 / (1 + sum of exp(x_j - x_i)): each variable once, so exact up to rounding", plane, "Softmax Attention"},
    {Op::log_softmax, "x_i - log of the sum of exp(x_j) along an axis", kSame, "at least one element", "g - softmax(x) sum of g",
     "monotone in each operand: exact up to rounding", plane, "LogSoftmax NegativeLogLikelihoodLoss SoftmaxCrossEntropyLoss"},
    {Op::log_sum_exp, "log of the sum of exp(x_j) over `axes`", kReduced, "at least one element", "g exp(x - y)",
     "monotone in each operand: exact up to rounding", plane, "ReduceLogSumExp"},
    {Op::softplus, "log(1 + exp(x))", kSame, kReals, "g sigmoid(x)", kMonotone, line, "Softplus"},
    {Op::softsign, "x / (1 + |x|)", kSame, kReals, "g / (1 + |x|)^2", kMonotone, line, "Softsign"},
    {Op::elu, "x above 0, alpha (exp(x) - 1) below", kSame, kReals, "g, or g alpha exp(x) below 0", kWide, line, "Elu"},
    {Op::selu, "beta times elu", kSame, kReals, "beta times that of elu", kWide, line, "Selu"},
    {Op::celu, "max(x, 0) + alpha (exp(min(x, 0) / alpha) - 1)", kSame, kReals, "g, or g exp(x / alpha) below 0", kWide, line, "Celu"},
    {Op::gelu, "x times the normal distribution function; tanh form: x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3))", kSame, kReals,
     "g times the derivative of the form", kWide, line, "Gelu"},
    {Op::silu, "x sigmoid(alpha x)", kSame, kReals, "g (s + alpha x s (1 - s)), s = sigmoid(alpha x)", kWide, line,
     "Swish SwiGLU CausalConvWithState"},
    {Op::mish, "x tanh(softplus(x))", kSame, kReals, "g (t + x (1 - t^2) sigmoid(x)), t = tanh(softplus(x))", kWide, line, "Mish"},
    {Op::hard_sigmoid, "min(max(alpha x + beta, 0), 1)", kSame, kReals, "g alpha between the kinks", kPieces, line, "HardSigmoid"},
    {Op::hard_swish, "x min(max(x + 3, 0), 6) / 6", kSame, kReals, "g (2 x + 3) / 6 between the kinks, g above, 0 below", kWide, line,
     "HardSwish"},
    {Op::thresholded_relu, "x above alpha, else 0", kSame, kReals, "g step(x - alpha)", "the hull of both pieces", line, "ThresholdedRelu"},
    {Op::shrink, "x + beta below -alpha, x - beta above alpha, else 0", kSame, kReals, "g off [-alpha, alpha], 0 inside",
     "the hull of the pieces", line, "Shrink"},
    {Op::prelu, "x above 0, y x below", "S_x, S_y that broadcasts to S_x -> S_x", kReals,
     "g (y + (1 - y) step(x)) and the sums of g min(x, 0)", kPieces, plane, "PRelu"},
    {Op::reduce_prod, "the product over `axes`", kReduced, kNumbers, "g times the product of the others",
     "product of the intervals, rounded outward", plane, "ReduceProd"},
    {Op::normalise,
     "per group: (x - mean) / sqrt(var + epsilon); or / (sqrt(var) + epsilon); or x / sqrt(mean of x^2 + epsilon); or by the l2 or l1 norm",
     kSame, "a divisor above 0", "the quotient rule through mean and divisor",
     "as a function of the element and of one number that sums up the others; met with the mean value form in small boxes", plane,
     "LayerNormalization InstanceNormalization GroupNormalization RMSNormalization LpNormalization MeanVarianceNormalization"},
    {Op::cumprod, "the product of the elements up to this one along an axis", kSame, kNumbers, "g times the products without each factor",
     "products of the intervals, rounded outward", plane, "CumProd"},
    {Op::local_response, "x (bias + alpha / size sum of x_c^2 over neighbouring channels)^-beta", "[N, C, ...] -> the same",
     "a base above 0", "the product rule", "as a function of the element and of the sum over the others: exact up to rounding", plane,
     "LRN"},
    {Op::masked_softmax, "softmax over what the mask lets through; elsewhere 0", "S_x, a mask that broadcasts to it -> S_x",
     "a row with nothing open is undefined, or 0", "y (g - sum of g y)",
     "that of softmax where the mask is decided, else with [0, exp(x_j)] for an open question", plane, "Attention Softmax"},
}};

constexpr bool rows_are_in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].op) != i || kTable[i].meaning.empty() || kTable[i].enclosure.empty()) return false;
  }
  return true;
}
static_assert(rows_are_in_order(), "one reference row per op, in the order of enum Op");

}  // namespace

const OpReference& op_reference(Op op) { return kTable[static_cast<std::size_t>(op)]; }

const OpReference* find_op(std::string_view name) {
  const auto row = std::find_if(kTable.begin(), kTable.end(), [&](const OpReference& one) { return op_row(one.op).name == name; });
  return row == kTable.end() ? nullptr : &*row;
}

const std::vector<std::string_view>& lowered_operators() {
  static const std::vector<std::string_view> kLowered = {"AffineGrid",
                                                         "BitwiseNot",
                                                         "ConvInteger",
                                                         "DFT",
                                                         "DeformConv",
                                                         "DepthToSpace",
                                                         "Det",
                                                         "Dropout",
                                                         "DynamicQuantizeLinear",
                                                         "GlobalLpPool",
                                                         "GridSample",
                                                         "Identity",
                                                         "LinearAttention",
                                                         "LpPool",
                                                         "MatMulInteger",
                                                         "MaxUnpool",
                                                         "QLinearConv",
                                                         "QLinearMatMul",
                                                         "RotaryEmbedding",
                                                         "STFT",
                                                         "Scatter",
                                                         "ScatterElements",
                                                         "ScatterND",
                                                         "SpaceToDepth",
                                                         "TensorScatter"};
  return kLowered;
}

}  // namespace assay::cli
