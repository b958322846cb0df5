// The op table: every primitive and defined op of the vocabulary, one row each; ops.def holds the rows.
//
// Switches over OpKind name every kind and have no default branch, so the compiler warns where one forgets a kind.
#pragma once

#include <cstdint>
#include <string_view>
#include <variant>
#include <vector>

#include "semantics/numbers/rational.h"

namespace assay {

enum class Op : std::uint8_t {
#define ASSAY_OP(op, ...) op,
#include "semantics/graph/ops.def"
};

#define ASSAY_OP(...) +1
inline constexpr int kOpCount = 0
#include "semantics/graph/ops.def"
    ;

// Tables, one row each, in columns.
// clang-format off
enum class OpClass : std::uint8_t { leaf, layout, linear, bilinear, elementwise, selection, defined };
// The element types that an op takes. All its operands have one type, except for the condition of where and the mask of
// masked_softmax (boolean), and the index of take (int64 or int32). The result has that type, except for truth values
// (boolean), positions (int64) and cast.
// Floats; floats and integers; integers; truth values; all types.
enum class Elements : std::uint8_t { reals, numbers, integers, booleans, any };
enum class Smoothness : std::uint8_t { smooth, kink, jump, singular };

// Attributes. Shape inference (graph.h) validates integers. Axes are already non-negative.
struct NoAttributes {};
struct ShapeAttributes { std::vector<std::int64_t> shape; };          // reshape, expand: the full result shape
struct PermuteAttributes { std::vector<std::int64_t> axes; };       // result axis i = operand axis axes[i]
struct SliceAttributes {                                             // per axis of the operand, steps != 0;
  std::vector<std::int64_t> starts, steps, extents;                  // element i = start + i*step, 0 <= i < extent
};
struct ConcatAttributes { std::int64_t axis = 0; };                    // concat, take
struct PadAttributes {                                               // constant padding; negative pads crop
  std::vector<std::int64_t> before, after;
  double value = 0;
};
struct GatherAttributes {                                            // constant, resolved indices (0 <= index < extent)
  std::int64_t axis = 0;
  std::vector<std::int64_t> indices;                                 // row-major over index_shape
  std::vector<std::int64_t> index_shape;                             // result: before axis, index_shape, after axis
};
struct PlaceAttributes {                                             // zeros, then y[indices[i]] += x[i], row-major
  std::vector<std::int64_t> indices;
  std::vector<std::int64_t> shape;
};
struct ScaleAttributes { double factor = 1; };                       // y = factor * x, factor exact
struct GemmAttributes {                                              // y = alpha * A' B' + beta * C, operands a, b[, c]
  double alpha = 1, beta = 1;
  bool transpose_a = false, transpose_b = false;
};
struct WindowAttributes {                                            // conv, conv_transpose, pools; per spatial axis
  std::vector<std::int64_t> kernel;                                  // kernel extents (conv: as in the weight)
  std::vector<std::int64_t> strides, dilations, pads_begin, pads_end;
  std::vector<std::int64_t> output_padding;                          // conv_transpose
  std::int64_t groups = 1;
  bool count_include_pad = false;                                    // avg_pool
  bool ceil_mode = false;                                            // pools
};
struct BatchNormAttributes { double epsilon = 1e-5; };               // exact; x, scale, bias, mean, var; channel axis 1
struct ReduceAttributes { std::vector<std::int64_t> axes; bool keep_dims = true; };
struct LeakyReluAttributes { double slope = 0.01; };
struct ClipAttributes { double lo, hi; };                            // may be infinite; lo <= hi
struct PowAttributes { Rational exponent; };                         // constant exponent
struct SoftmaxAttributes { std::int64_t axis = 0; };                 // softmax, log_softmax
struct ActivationAttributes { double alpha = 1, beta = 0; };         // the two numbers in ops/activation.h; exact
struct GeluAttributes { bool tanh_form = false; };                   // the approximation by tanh instead of erf
struct IsInfAttributes { bool positive = true, negative = true; };   // the infinities that is_inf detects
struct CastAttributes { std::uint8_t to = 0; };                      // the result's DType (tensor.h)
struct CumulativeAttributes { std::int64_t axis = 0; bool exclusive = false, reverse = false; };
struct WeightedGatherAttributes {                                    // position j has terms starts[j] .. starts[j+1]-1
  std::int64_t axis = 0;
  std::vector<std::int64_t> starts, indices;
  std::vector<Rational> weights;
};
// Sort, arg_sort: the first `count`.
struct SortAttributes { std::int64_t axis = 0, count = 0; bool descending = true; };
struct ArgAttributes { std::int64_t axis = 0; bool keep_dims = true, last = false; };
struct NormaliseAttributes {
  enum class Form : std::uint8_t { centered, deviation, root_mean, l2, l1 };
  std::vector<std::int64_t> axes;
  double epsilon = 0;
  Form form = Form::centered;
};
struct LocalResponseAttributes {                                     // semantics/ops/local_response.h; exact numbers
  std::int64_t size = 1;
  double alpha = 1e-4, beta = 0.75, bias = 1;
};
struct MaskedSoftmaxAttributes { std::int64_t axis = 0; bool empty_is_zero = false; };
struct ModAttributes { bool truncated = false; };                    // sign of the dividend (fmod); else of the divisor
// clang-format on

using Attributes =
    std::variant<NoAttributes, PermuteAttributes, SliceAttributes, ConcatAttributes, PadAttributes, GatherAttributes, ScaleAttributes,
                 GemmAttributes, WindowAttributes, BatchNormAttributes, ReduceAttributes, LeakyReluAttributes, ClipAttributes,
                 PowAttributes, SoftmaxAttributes, ShapeAttributes, ActivationAttributes, GeluAttributes, ModAttributes, IsInfAttributes,
                 CastAttributes, CumulativeAttributes, ArgAttributes, NormaliseAttributes, LocalResponseAttributes, MaskedSoftmaxAttributes,
                 PlaceAttributes, WeightedGatherAttributes, SortAttributes>;

struct OpRow {
  Op op;
  std::string_view name;     // the name in messages, docs and FORMAT.md
  int arity_min, arity_max;  // -1: any number >= arity_min
  std::size_t attributes;    // index of the alternative of Attributes
  OpClass op_class;
  Smoothness smoothness;
  Elements elements = Elements::reals;
};

[[nodiscard]] const OpRow& op_row(Op op);

}  // namespace assay
