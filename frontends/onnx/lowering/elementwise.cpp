// Elementwise operators, softmax and log-softmax.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "frontends/onnx/lowering/compose.h"
#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {
namespace {

Operand sum_of(Call& call) {
  Operand total = call.in(0);
  for (std::size_t i = 1; i < call.inputs.size(); ++i) total = call.emit(Op::add, {total, call.in(i)});
  return total;
}

// The one value of all elements of a constant exponent tensor; nullopt: it varies, or depends on the inputs.
std::optional<Rational> common_exponent(const Call& call) {
  if (!call.in(1)->constant) return std::nullopt;
  const Tensor& tensor = *call.in(1)->constant;
  if (tensor.size() == 0) return std::nullopt;
  const auto at = [&](std::size_t i) {
    return is_float(tensor.dtype()) ? Rational::from_double(tensor.as_double(i)) : std::optional<Rational>(tensor.as_int(i));
  };
  const std::optional<Rational> exponent = at(0);
  if (!exponent) call.unsupported("onnx.nonfinite", "finite exponents", std::to_string(tensor.as_double(0)), "repair the exponent");
  for (std::size_t i = 1; i < tensor.size(); ++i) {
    if (at(i) != exponent) return std::nullopt;
  }
  return exponent;
}

std::int64_t product(const Shape& shape, std::size_t first, std::size_t last) {
  return static_cast<std::int64_t>(
      element_count(Shape(shape.begin() + static_cast<std::ptrdiff_t>(first), shape.begin() + static_cast<std::ptrdiff_t>(last))));
}

}  // namespace

Results lower_by(Call& call, Op op) {
  if (call.all_integers()) return fold_integer_op(call);
  if (call.inputs.size() == 1 && op_row(op).arity_max != 1) return {call.in(0)};
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) operands.push_back(call.in(i));
  return {call.emit(op, operands)};
}

// A constant that is the operation's unit everywhere, -infinity of Max and +infinity of Min, adds nothing but its shape.
Results lower_extreme(Call& call) {
  const Op op = call.node.op_type == "Max" ? Op::max : Op::min;
  const double unit = op == Op::max ? -std::numeric_limits<double>::infinity() : std::numeric_limits<double>::infinity();
  Shape shape;
  std::vector<Operand> others;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Operand& x = call.in(i);
    std::size_t units = 0, size = x->constant && is_float(x->dtype) ? x->constant->size() : 0;
    while (units < size && x->constant->as_double(units) == unit) ++units;
    if (size == 0 || units < size) others.push_back(x);
    if (!broadcast(shape, x->shape, shape)) return lower_by(call, op);  // which says why it does not
  }
  if (others.empty() || others.size() == call.inputs.size()) return lower_by(call, op);
  return {expand(call, others.size() == 1 ? others[0] : call.emit(op, others), shape)};
}

Results lower_sum(Call& call) {
  if (call.all_integers()) return fold_integer_op(call);
  const Operand total = sum_of(call);
  if (call.node.op_type == "Sum" || call.inputs.size() == 1) return {total};
  return {call.emit(Op::div, {total, call.make_real_like(total, static_cast<double>(call.inputs.size()))})};
}

// Constant bounds of floats in order are a clip; anything else is min(max(x, lo), hi), the definition.
Results lower_clip(Call& call) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  ClipAttributes bounds{-kInfinity, kInfinity};
  if (call.opset < 11) {
    bounds.lo = static_cast<double>(call.attribute("min", std::numeric_limits<float>::lowest()));
    bounds.hi = static_cast<double>(call.attribute("max", std::numeric_limits<float>::max()));
    if (!(bounds.lo <= bounds.hi)) {
      call.unsupported("onnx.clip", "min <= max", std::to_string(bounds.lo) + " and " + std::to_string(bounds.hi),
                       "replace the Clip by a constant");
    }
    return {call.emit(Op::clip, {call.in(0)}, bounds)};
  }
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    if (call.has(i) && (call.shape(i).size() > 1 || element_count(call.shape(i)) != 1))
      call.malformed("onnx.input", "a bound of one element", "shape " + to_string(call.shape(i)));
  }
  bool constant = is_float(call.in(0)->dtype);
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) constant = constant && (!call.has(i) || call.in(i)->constant.has_value());
  if (constant) {
    if (call.has(1)) bounds.lo = call.real(1, "a lower bound");
    if (call.has(2)) bounds.hi = call.real(2, "an upper bound");
    if (bounds.lo <= bounds.hi) return {call.emit(Op::clip, {call.in(0)}, bounds)};
  }
  Operand y = call.in(0);
  if (call.has(1)) y = call.emit(Op::max, {y, call.in(1)});
  if (call.has(2)) y = call.emit(Op::min, {y, call.in(2)});
  return {y};
}

Results lower_pow(Call& call) {
  const Operand &x = call.in(0), &y = call.in(1);
  if (!is_float(x->dtype) && is_float(y->dtype)) {  // computed in reals, then rounded towards zero
    return {call.cast(call.emit(Op::power, {call.cast(x, y->dtype), y}), x->dtype)};
  }
  const std::optional<Rational> exponent = common_exponent(call);
  if (!exponent || (!is_float(x->dtype) && exponent->sign() < 0)) return {call.emit(Op::power, {x, call.cast(y, x->dtype)})};
  const Operand power = call.emit(Op::pow, {x}, PowAttributes{*exponent});
  Shape shape;
  if (!broadcast(power->shape, y->shape, shape)) {
    call.malformed("onnx.shape", "operands that broadcast", to_string(power->shape) + " and " + to_string(y->shape));
  }
  if (shape == power->shape) return {power};
  return {call.emit(Op::expand, {power}, ShapeAttributes{shape})};
}

// Comparisons, logic, tests of special values.
Results lower_truth(Call& call) {
  const std::string& type = call.node.op_type;
  const bool is_logic = type == "And" || type == "Or" || type == "Xor" || type == "Not";
  if (is_logic && call.in(0)->dtype != DType::boolean) call.malformed("onnx.input", "booleans", to_string(call.in(0)->dtype));
  if (call.all_integers()) return fold_integer_op(call);
  if (type == "Not") return {call.emit(Op::logical_not, {call.in(0)})};
  if (type == "IsNaN") return {call.emit(Op::is_nan, {call.in(0)})};
  if (type == "IsInf") {
    const bool positive = call.attribute("detect_positive", std::int64_t{1}) != 0,
               negative = call.attribute("detect_negative", std::int64_t{1}) != 0;
    return {call.emit(Op::is_inf, {call.in(0)}, IsInfAttributes{positive, negative})};
  }
  const Operand &a = call.in(0), &b = call.in(1);
  if (type == "And") return {call.emit(Op::logical_and, {a, b})};
  if (type == "Or") return {call.emit(Op::logical_or, {a, b})};
  if (type == "Xor") return {call.emit(Op::logical_xor, {a, b})};
  if (type == "Equal") return {call.emit(Op::equal, {a, b})};
  if (type == "Less") return {call.emit(Op::less, {a, b})};
  if (type == "LessOrEqual") return {call.emit(Op::less_equal, {a, b})};
  if (type == "Greater") return {call.emit(Op::less, {b, a})};
  return {call.emit(Op::less_equal, {b, a})};  // GreaterOrEqual
}

Attributes numbers_of(Op op, double first, double second) {
  const std::size_t form = op_row(op).attributes;
  if (form == Attributes(NoAttributes{}).index()) return NoAttributes{};
  if (form == Attributes(LeakyReluAttributes{}).index()) return LeakyReluAttributes{first};
  return ActivationAttributes{first, second};
}

// Attributes are floats: their exact values. The defaults are the standard's decimals as float32, as a runtime reads them.
Results lower_numbers(Call& call) {
  struct Row {
    std::string_view type;
    Op op;
    std::string_view one;
    float one_default;
    std::string_view two;
    float two_default;
  };
  static constexpr Row kRows[] = {
#define ASSAY_ONNX_NUMBERS(op, name, first, one, one_default, two, two_default) {name, Op::op, one, one_default, two, two_default},
#include "semantics/graph/ops.def"
  };
  const Row& row = *std::ranges::find(kRows, call.node.op_type, &Row::type);  // the table of operators has no others with this handler
  const auto number = [&](std::string_view name, float otherwise) {
    return static_cast<double>(name.empty() ? otherwise : call.attribute(name, otherwise));
  };
  return {call.emit(row.op, {call.in(0)}, numbers_of(row.op, number(row.one, row.one_default), number(row.two, row.two_default)))};
}

// ~x = -1 - x of signed integers, the largest number - x of unsigned ones.
Results lower_bitwise(Call& call) {
  const std::string& type = call.node.op_type;
  if (type != "BitwiseNot") {
    const Op op = type == "BitwiseAnd" ? Op::bitwise_and : type == "BitwiseOr" ? Op::bitwise_or : Op::bitwise_xor;
    return {call.emit(op, {call.in(0), call.in(1)})};
  }
  const DType dtype = call.in(0)->dtype;
  if (is_float(dtype) || dtype == DType::boolean) call.malformed("onnx.input", "integers", to_string(dtype));
  if (dtype == DType::uint64) call.unsupported("onnx.element_type", "integers of another type", "uint64", "use BitwiseXor");
  const std::int64_t ones = is_unsigned(dtype) ? (std::int64_t{1} << 8 * byte_size(dtype)) - 1 : -1;
  return {call.emit(Op::sub, {call.make_ints(dtype, {}, {ones}), call.in(0)})};
}

// x 2^s modulo 2^bits to the left, floor(x / 2^s) to the right; a shift of the whole width or backwards leaves 0, to the right the
// sign. In int64: of 64-bit numbers those whose product leaves the type are undefined.
Results lower_bit_shift(Call& call) {
  const DType type = call.in(0)->dtype;
  const std::string direction = call.attribute("direction", "");
  if (direction != "LEFT" && direction != "RIGHT") call.malformed("onnx.attribute", "direction LEFT or RIGHT", printable(direction));
  if (!is_integer(type) || call.in(1)->dtype != type) call.malformed("onnx.input", "integers of one type", to_string(type));
  const bool left = direction == "LEFT";
  const auto bits = static_cast<std::int64_t>(8 * byte_size(type));
  const auto number = [&](std::int64_t value) { return call.make_ints(DType::int64, {}, {value}); };
  const Operand x = call.cast(call.in(0), DType::int64), by = call.cast(call.in(1), DType::int64);
  const Operand below = call.emit(Op::less, {by, number(!left && bits == 64 ? 63 : bits)});
  const Operand inside = call.emit(Op::logical_and, {call.emit(Op::less_equal, {number(0), by}), below});
  const Operand power = call.emit(Op::power, {number(2), call.emit(Op::where, {inside, by, number(0)})});
  if (!left) {
    const Operand rest = call.emit(Op::mod, {x, power}, ModAttributes{});
    const Operand quotient = call.emit(Op::div, {call.emit(Op::sub, {x, rest}), power});
    const Operand sign = call.emit(Op::where, {call.emit(Op::less, {x, number(0)}), number(-1), number(0)});
    return {call.cast(call.emit(Op::where, {inside, quotient, sign}), type)};
  }
  Operand product = call.emit(Op::mul, {x, power});
  if (bits < 64) {
    const std::int64_t all = std::int64_t{1} << bits;
    product = call.emit(Op::mod, {product, number(all)}, ModAttributes{});
    if (!is_unsigned(type)) {
      const Operand low = call.emit(Op::less, {product, number(all / 2)});
      product = call.emit(Op::where, {low, product, call.emit(Op::sub, {product, number(all)})});
    }
  }
  return {call.cast(call.emit(Op::where, {inside, product, number(0)}), type)};
}

// The bits of an integer under the other sign: between types of one width they differ by 2^width, below 0 or from 2^(width - 1) on.
Results lower_bit_cast(Call& call) {
  const Operand& x = call.in(0);
  const std::int64_t code = call.attribute("to", std::int64_t{0});
  DType to = DType::float32;
  const bool known = dtype_of(code, to) && code != kFloat16 && code != kBfloat16;
  if (known && to == x->dtype) return {x};
  const bool fits = known && !is_float(to) && !is_float(x->dtype) && byte_size(to) == byte_size(x->dtype) && byte_size(to) <= 4;
  if (!fits || to == DType::boolean) {
    call.unsupported("onnx.cast", "a BitCast between integers of one width, at most 32 bits",
                     std::string(to_string(x->dtype)) + " to " + element_type_name(code), "keep the numbers in one type");
  }
  if (x->dtype == DType::boolean || is_unsigned(x->dtype) == is_unsigned(to)) return {call.cast(x, to)};
  const std::int64_t all = std::int64_t{1} << 8 * byte_size(to);
  const Operand wide = call.cast(x, DType::int64), limit = call.make_ints(DType::int64, {}, {is_unsigned(to) ? 0 : all / 2});
  const Operand other = call.emit(is_unsigned(to) ? Op::add : Op::sub, {wide, call.make_ints(DType::int64, {}, {all})});
  const Operand low = call.emit(Op::less, {wide, limit});
  return {call.cast(call.emit(Op::where, {low, is_unsigned(to) ? other : wide, is_unsigned(to) ? wide : other}), to)};
}

Results lower_gelu(Call& call) {
  const std::string form = call.attribute("approximate", "none");
  if (form != "none" && form != "tanh") call.malformed("onnx.attribute", "approximate = none or tanh", printable(form));
  return {call.emit(Op::gelu, {call.in(0)}, GeluAttributes{form == "tanh"})};
}

Results lower_mod(Call& call) {
  const bool truncated = call.attribute("fmod", std::int64_t{0}) != 0;
  if (call.all_integers()) return fold_integer_op(call);
  if (!truncated && is_float(call.in(0)->dtype) && call.opset < 28) call.malformed("onnx.attribute", "fmod = 1 for floats", "0");
  return {call.emit(Op::mod, {call.in(0), call.in(1)}, ModAttributes{truncated})};
}

// From version 13 along one axis; before, over all axes from `axis` on, taken together.
Results lower_softmax(Call& call) {
  const Operand& x = call.in(0);
  const std::size_t rank = x->shape.size();
  const Op op = call.node.op_type == "Softmax" ? Op::softmax : Op::log_softmax;
  const std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{call.opset < 13 ? 1 : -1}), rank);
  if (call.opset >= 13 || axis + 1 == static_cast<std::int64_t>(rank)) return {call.emit(op, {x}, SoftmaxAttributes{axis})};
  const auto split = static_cast<std::size_t>(axis);
  const Operand matrix = call.reshape(x, {product(x->shape, 0, split), product(x->shape, split, rank)});
  return {call.reshape(call.emit(op, {matrix}, SoftmaxAttributes{1}), x->shape)};
}

}  // namespace assay::onnx
