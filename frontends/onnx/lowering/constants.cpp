// Constants, shapes and integer arithmetic: everything here is carried out exactly at import.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "frontends/onnx/lowering/compose.h"
#include "frontends/onnx/lowering/origins.h"
#include "semantics/demand.h"

namespace assay::onnx {
namespace {

using Maybe = std::optional<std::int64_t>;  // nullopt: overflow, division by zero

template <bool (*Overflows)(std::int64_t, std::int64_t, std::int64_t*)>
Maybe checked(std::int64_t a, std::int64_t b) {
  std::int64_t result = 0;
  if (Overflows(a, b, &result)) return std::nullopt;
  return result;
}
bool add_overflows(std::int64_t a, std::int64_t b, std::int64_t* result) { return __builtin_add_overflow(a, b, result); }
bool sub_overflows(std::int64_t a, std::int64_t b, std::int64_t* result) { return __builtin_sub_overflow(a, b, result); }
bool mul_overflows(std::int64_t a, std::int64_t b, std::int64_t* result) { return __builtin_mul_overflow(a, b, result); }

bool divides(std::int64_t a, std::int64_t b) { return b != 0 && !(b == -1 && a == std::numeric_limits<std::int64_t>::min()); }

// Rounds towards zero.
Maybe quotient(std::int64_t a, std::int64_t b) {
  if (!divides(a, b)) return std::nullopt;
  return a / b;
}

// Sign of the divisor.
Maybe modulo(std::int64_t a, std::int64_t b) {
  if (!divides(a, b)) return std::nullopt;
  const std::int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

// Sign of the dividend.
Maybe remainder(std::int64_t a, std::int64_t b) {
  if (!divides(a, b)) return std::nullopt;
  return a % b;
}

struct BinaryRow {
  std::string_view name;
  Maybe (*apply)(std::int64_t, std::int64_t);
  bool gives_boolean;
};

constexpr std::array<BinaryRow, 16> kBinary = {{
    {"Add", checked<add_overflows>, false},
    {"Sum", checked<add_overflows>, false},
    {"Sub", checked<sub_overflows>, false},
    {"Mul", checked<mul_overflows>, false},
    {"Div", quotient, false},
    {"Mod", modulo, false},
    {"Min", [](std::int64_t a, std::int64_t b) -> Maybe { return std::min(a, b); }, false},
    {"Max", [](std::int64_t a, std::int64_t b) -> Maybe { return std::max(a, b); }, false},
    {"Equal", [](std::int64_t a, std::int64_t b) -> Maybe { return a == b ? 1 : 0; }, true},
    {"Less", [](std::int64_t a, std::int64_t b) -> Maybe { return a < b ? 1 : 0; }, true},
    {"Greater", [](std::int64_t a, std::int64_t b) -> Maybe { return a > b ? 1 : 0; }, true},
    {"LessOrEqual", [](std::int64_t a, std::int64_t b) -> Maybe { return a <= b ? 1 : 0; }, true},
    {"GreaterOrEqual", [](std::int64_t a, std::int64_t b) -> Maybe { return a >= b ? 1 : 0; }, true},
    {"And", [](std::int64_t a, std::int64_t b) -> Maybe { return a & b; }, true},
    {"Or", [](std::int64_t a, std::int64_t b) -> Maybe { return a | b; }, true},
    {"Xor", [](std::int64_t a, std::int64_t b) -> Maybe { return a ^ b; }, true},
}};

Maybe negated(std::int64_t a) {
  if (a == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  return -a;
}

struct UnaryRow {
  std::string_view name;
  Maybe (*apply)(std::int64_t);
};

constexpr std::array<UnaryRow, 4> kUnary = {{{"Neg", negated},
                                             {"Abs", [](std::int64_t a) -> Maybe { return a < 0 ? negated(a) : Maybe(a); }},
                                             {"Sign", [](std::int64_t a) -> Maybe { return a > 0 ? 1 : (a < 0 ? -1 : 0); }},
                                             {"Not", [](std::int64_t a) -> Maybe { return a == 0 ? 1 : 0; }}}};

std::int64_t defined(const Call& call, Maybe value) {
  if (!value)
    call.malformed("onnx.integer_overflow", "integer results within 64 bits, divisors other than 0", "an overflow or a zero divisor");
  return *value;
}

// Both operands at the shape that they broadcast to, element by element.
Operand fold_binary(Call& call, const BinaryRow& row, const Operand& a, const Operand& b) {
  Shape shape;
  if (!broadcast(a->shape, b->shape, shape))
    call.malformed("onnx.shape", "operands that broadcast", to_string(a->shape) + " and " + to_string(b->shape));
  if (a->dtype != b->dtype)
    call.malformed("onnx.input", "operands of one type", std::string(to_string(a->dtype)) + " and " + to_string(b->dtype));
  call.limit_fold(shape, DType::int64);
  const auto wide = [&](const Operand& operand) {
    return operand->shape == shape ? operand->constant->to_ints()
                                   : call.emit(Op::expand, {operand}, ShapeAttributes{shape})->constant->to_ints();
  };
  Ints left = wide(a);
  const Ints right = wide(b);
  const bool truncates = row.name == "Mod" && call.attribute("fmod", std::int64_t{0}) != 0;
  for (std::size_t i = 0; i < left.size(); ++i)
    left[i] = defined(call, truncates ? remainder(left[i], right[i]) : row.apply(left[i], right[i]));
  return call.make_ints(row.gives_boolean ? DType::boolean : a->dtype, shape, left);
}

// Number of elements of a range: ceil((limit - start) / delta), at least 0. Differences are taken modulo 2^64, where
// they are exact because the larger end comes first.
std::uint64_t range_count(std::int64_t start, std::int64_t limit, std::int64_t delta) {
  if (delta > 0 ? limit <= start : limit >= start) return 0;
  const auto low = static_cast<std::uint64_t>(start), high = static_cast<std::uint64_t>(limit), step = static_cast<std::uint64_t>(delta);
  return ((delta > 0 ? high - low : low - high) - 1) / (delta > 0 ? step : std::uint64_t{0} - step) + 1;
}

// The values in type T where it holds each of them.
template <class T>
std::optional<std::vector<T>> exact_reals(const Tensor& tensor) {
  std::vector<T> values(tensor.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t whole = is_float(tensor.dtype()) ? 0 : tensor.as_int(i);
    values[i] = is_float(tensor.dtype()) ? static_cast<T>(tensor.as_double(i)) : static_cast<T>(whole);
    const bool same = is_float(tensor.dtype()) ? static_cast<double>(values[i]) == tensor.as_double(i) || std::isnan(tensor.as_double(i))
                                               : std::abs(values[i]) < T(0x1p62) && static_cast<std::int64_t>(values[i]) == whole;
    if (!same) return std::nullopt;
  }
  return values;
}

// Rounded towards zero; nullopt beyond 2^62, NaN included.
std::optional<Ints> truncated(const Tensor& tensor) {
  if (!is_float(tensor.dtype())) return tensor.to_ints();
  Ints values(tensor.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = tensor.as_double(i);
    if (!(std::abs(value) < 0x1p62)) return std::nullopt;
    values[i] = static_cast<std::int64_t>(value);
  }
  return values;
}

// A constant where its values are exact in the new type; null otherwise.
Operand cast_constant(Call& call, const Tensor& tensor, DType to) {
  if (to == DType::float32) {
    const auto values = exact_reals<float>(tensor);
    return values ? call.make(Tensor::of_floats(tensor.shape(), *values)) : nullptr;
  }
  if (to == DType::float64) {
    const auto values = exact_reals<double>(tensor);
    return values ? call.make(Tensor::of_doubles(tensor.shape(), *values)) : nullptr;
  }
  if (to == DType::boolean) {
    Ints values(tensor.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = (is_float(tensor.dtype()) ? tensor.as_double(i) != 0 : tensor.as_int(i) != 0) ? 1 : 0;
    return call.make_ints(to, tensor.shape(), values);
  }
  const std::optional<Ints> values = truncated(tensor);
  if (!values) call.malformed("onnx.integer_overflow", std::string("values of ") + to_string(to), "a value beyond 2^62");
  return call.make_ints(to, tensor.shape(), *values);
}

// The index of the result element that each operand element falls into.
std::vector<std::size_t> reduction_targets(const Shape& shape, const Ints& axes) {
  std::vector<std::size_t> targets(element_count(shape), 0);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::size_t rest = i, stride = 1;
    for (std::size_t axis = shape.size(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(shape[axis]);
      if (!std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis))) {
        targets[i] += rest % extent * stride;
        stride *= extent;
      }
      rest /= extent;
    }
  }
  return targets;
}

}  // namespace

Results fold_integer_op(Call& call) {
  const std::string& type = call.node.op_type;
  for (const UnaryRow& row : kUnary) {
    if (row.name != type) continue;
    Ints values = call.constant(0, "an integer").to_ints();
    for (std::int64_t& value : values) value = defined(call, row.apply(value));
    return {call.make_ints(call.in(0)->dtype, call.shape(0), values)};
  }
  for (const BinaryRow& row : kBinary) {
    if (row.name != type) continue;
    Operand result = call.in(0);
    for (std::size_t i = 1; i < call.inputs.size(); ++i) result = fold_binary(call, row, result, call.in(i));
    return {result};
  }
  call.unsupported("onnx.element_type", type + " of floats", std::string(to_string(call.in(0)->dtype)) + " operands",
                   "export the model in float32");
}

Results fold_integer_reduction(Call& call, const Ints& axes, bool keep_dims) {
  const std::string& type = call.node.op_type;
  const std::string_view name = type == "ReduceSum"    ? "Add"
                                : type == "ReduceProd" ? "Mul"
                                : type == "ReduceMax"  ? "Max"
                                : type == "ReduceMin"  ? "Min"
                                                       : "";
  const auto row = std::find_if(kBinary.begin(), kBinary.end(), [&](const BinaryRow& one) { return one.name == name; });
  if (row == kBinary.end()) call.unsupported("onnx.element_type", type + " of floats", "integers", "export the model in float32");
  const Ints values = call.constant(0, "an integer").to_ints();
  const std::vector<std::size_t> targets = reduction_targets(call.shape(0), axes);
  Shape kept, flat;
  for (std::size_t axis = 0; axis < call.shape(0).size(); ++axis) {
    const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
    if (!reduced) flat.push_back(call.shape(0)[axis]);
    kept.push_back(reduced ? 1 : call.shape(0)[axis]);
  }
  std::vector<Maybe> totals(element_count(kept));
  if (name == "Add" || name == "Mul") std::fill(totals.begin(), totals.end(), Maybe(name == "Mul" ? 1 : 0));
  for (std::size_t i = 0; i < values.size(); ++i) {
    Maybe& total = totals[targets[i]];
    total = total ? defined(call, row->apply(*total, values[i])) : values[i];
  }
  Ints results;
  for (const Maybe& total : totals) results.push_back(defined(call, total));  // an empty maximum is undefined
  return {call.make_ints(call.in(0)->dtype, keep_dims ? kept : flat, results)};
}

Results lower_constant(Call& call) {
  if (call.node.attributes.size() != 1) call.malformed("onnx.attribute", "exactly one value", std::to_string(call.node.attributes.size()));
  const AttributeProto& value = call.node.attributes.front();
  const auto real = [](std::uint32_t bits) { return std::bit_cast<float>(bits); };
  if (value.name == "value") {
    const AttributeProto* tensor = call.find("value", AttributeKind::tensor);
    demand(tensor != nullptr, "Constant: the attribute was there");
    return {call.make(call.lowering.read(tensor->tensor))};
  }
  if (value.name == "value_float" && value.kind == AttributeKind::real)
    return {call.make(Tensor::of_floats({}, std::vector<float>{real(value.real)}))};
  if (value.name == "value_int" && value.kind == AttributeKind::integer) return {call.make_ints(DType::int64, {}, {value.integer})};
  if (value.name == "value_ints" && value.kind == AttributeKind::integers) {
    return {call.make_ints(DType::int64, {static_cast<std::int64_t>(value.integers.size())}, value.integers)};
  }
  if (value.name == "value_floats" && value.kind == AttributeKind::reals) {
    std::vector<float> floats;
    for (const std::uint32_t bits : value.reals) floats.push_back(real(bits));
    return {call.make(Tensor::of_floats({static_cast<std::int64_t>(floats.size())}, floats))};
  }
  call.unsupported("onnx.attribute", "value, value_float, value_floats, value_int or value_ints",
                   printable(value.name) + " of type " + value.kind_name, "store the constant as a dense tensor");
}

Results lower_constant_of_shape(Call& call) {
  const Shape shape = call.ints(0, "a shape");
  const AttributeProto* value = call.find("value", AttributeKind::tensor);
  Tensor one = value != nullptr ? call.lowering.read(value->tensor) : Tensor::of_floats({}, std::vector<float>{0.0F});
  if (one.size() != 1) call.malformed("onnx.attribute", "a value of one element", to_string(one.shape()));
  const Operand scalar = call.make(one.reshaped({}));
  return {call.emit(Op::expand, {scalar}, ShapeAttributes{shape})};
}

Results lower_shape(Call& call) {
  const Shape& shape = call.shape(0);
  const auto rank = static_cast<std::int64_t>(shape.size());
  const auto bound = [&](const char* name, std::int64_t otherwise) {
    const std::int64_t given = call.attribute(name, otherwise);
    return std::clamp(given < 0 ? given + rank : given, std::int64_t{0}, rank);
  };
  const std::int64_t start = bound("start", 0);
  const std::int64_t end = std::max(start, bound("end", rank));
  const Ints part(shape.begin() + start, shape.begin() + end);
  return {call.make_ints(DType::int64, {end - start}, part)};
}

Results lower_size(Call& call) { return {call.make_ints(DType::int64, {}, {static_cast<std::int64_t>(element_count(call.shape(0)))})}; }

// To a float type a cast is the identity on the reals: constants that would round stay what they are, behind a cast node.
Results lower_cast(Call& call) {
  DType to = DType::float32;
  const Operand& x = call.in(0);
  if (call.node.op_type == "CastLike") {
    to = call.in(1)->dtype;
  } else {
    const std::int64_t code = call.attribute("to", std::int64_t{0});
    if (!dtype_of(code, to)) {
      call.unsupported("onnx.cast", "a cast to float, double, float16, bfloat16, an integer type of 8 to 64 bits, or bool",
                       element_type_name(code), "export the model in float32");
    }
  }
  if (x->dtype == to) return {x};
  if (x->constant) {
    if (Operand folded = cast_constant(call, *x->constant, to)) return {folded};
  }
  return {call.cast(x, to)};
}

namespace {

bool is_exact_in(DType type, const Rational& value) {
  const double near = value.double_down();
  const bool holds = type != DType::float32 || static_cast<double>(static_cast<float>(near)) == near;
  return holds && Rational::from_double(near) == std::optional(value);
}

// The number that arithmetic on constants gives where no step of it rounds, so that every execution gives that number; nullopt where
// a step does, depends on an input, or is another op. `steps` bounds the work.
std::optional<Rational> unrounded_value(const Graph& graph, NodeId id, int& steps) {
  const Node& node = graph.node(id);
  if (--steps < 0 || graph.size(id) != 1) return std::nullopt;
  if (node.op == Op::constant)
    return is_float(node.dtype) ? Rational::from_double(node.value.as_double(0)) : Rational(node.value.as_int(0));
  std::vector<Rational> x;
  for (const NodeId operand : node.operands) {
    const std::optional<Rational> value = unrounded_value(graph, operand, steps);
    if (!value) return std::nullopt;
    x.push_back(*value);
  }
  std::optional<Rational> y;
  if (node.op == Op::add) y = x[0] + x[1];
  if (node.op == Op::sub) y = x[0] - x[1];
  if (node.op == Op::mul) y = x[0] * x[1];
  if (node.op == Op::div && x[1].sign() != 0) y = x[0] / x[1];
  if (node.op == Op::neg) y = -x[0];
  if (node.op == Op::floor) y = floor(x[0]);
  if (node.op == Op::ceil) y = -floor(-x[0]);
  if (node.op == Op::reshape || node.op == Op::cast) y = x[0];
  return y && is_float(node.dtype) && is_exact_in(node.dtype, *y) ? y : std::nullopt;
}

Rational bound_of_range(const Call& call, std::size_t i) {
  const Operand& bound = call.in(i);
  std::optional<Rational> value;
  if (!bound->constant) {
    int steps = 100;
    value = unrounded_value(call.lowering.graph, *bound->id, steps);
    if (!value) {
      call.unsupported("onnx.not_constant", "bounds of the range that are constants, or arithmetic on constants that rounds nowhere",
                       "another one, which may give another count in another execution", "store the bounds as constants (onnxsim)");
    }
  } else {
    value = Rational::from_double(call.real(i, "a bound of the range"));
    if (!value) call.malformed("onnx.input", "finite bounds", "NaN or an infinity");
  }
  return *value;
}

}  // namespace

// start + i delta as nodes; how many there are follows from the exact values.
Results lower_real_range(Call& call) {
  std::vector<Rational> parameters;
  for (std::size_t i = 0; i < 3; ++i) parameters.push_back(bound_of_range(call, i));
  if (parameters[2].sign() == 0) call.malformed("onnx.input", "delta other than 0", "0");
  const Rational count = -floor((parameters[0] - parameters[1]) / parameters[2]);
  constexpr std::int64_t kMost = std::int64_t{1} << 24;  // counts below are exact in both float types
  if (count > Rational(kMost)) call.unsupported("onnx.limit", "a Range of at most 2^24 numbers", count.to_string(), "make it shorter");
  std::vector<double> counts;
  for (std::int64_t i = 0; i < count.to_int64().value_or(0); ++i) counts.push_back(static_cast<double>(i));
  const auto scalar = [&](std::size_t i) { return call.reshape(call.in(i), {}); };
  const Operand steps = reals_like(call, call.in(0), {static_cast<std::int64_t>(counts.size())}, counts);
  return {call.emit(Op::add, {scalar(0), call.emit(Op::mul, {steps, scalar(2)})})};
}

namespace {

// start, start + delta, ... from a start that the network computes, up to a limit at a constant distance.
Operand range_at_run_time(Call& call) {
  const Operand &start = call.in(0), &limit = call.in(1);
  const Ints delta = call.ints(2, "a step of the range");
  const bool fits = is_integer(start->dtype) && limit->dtype == start->dtype && element_count(start->shape) == 1 &&
                    element_count(limit->shape) == 1 && delta.size() == 1 && delta[0] != 0;
  if (!fits) {
    call.malformed("onnx.input", "start, limit and delta as scalars of one integer type, delta other than 0",
                   std::string(to_string(start->dtype)) + to_string(start->shape) + ", " + to_string(limit->dtype) +
                       to_string(limit->shape) + ", " + to_string(delta));
  }
  const auto span = constant_difference(call, origin_of(call, limit, 0), origin_of(call, start, 0));
  if (!span) {
    call.unsupported("onnx.not_constant", "a limit that is the start plus a constant, or both constant",
                     "a count that depends on the network's inputs", "compute the limit as start + count");
  }
  const std::uint64_t count = range_count(0, *span, delta[0]);
  if (count > static_cast<std::uint64_t>(kLargestExtent))
    call.unsupported("onnx.limit", "a Range below 2^31 numbers", std::to_string(count), "make it shorter");
  call.limit_fold({static_cast<std::int64_t>(count)}, DType::int64);
  Ints moved(count);
  for (std::size_t k = 0; k < moved.size(); ++k) moved[k] = static_cast<std::int64_t>(k) * delta[0];  // within the span
  return call.emit(Op::add, {call.reshape(start, {}), call.make_ints(start->dtype, {static_cast<std::int64_t>(count)}, moved)});
}

}  // namespace

Results lower_range(Call& call) {
  if (is_float(call.in(0)->dtype)) return lower_real_range(call);
  if (!call.in(0)->constant || !call.in(1)->constant) return {range_at_run_time(call)};
  Ints parameters;
  for (std::size_t i = 0; i < 3; ++i) {
    const Ints one = call.ints(i, "a bound of the range");
    if (one.size() != 1) call.malformed("onnx.input", "start, limit and delta as scalars", to_string(one));
    parameters.push_back(one.front());
  }
  const auto [start, limit, delta] = std::array<std::int64_t, 3>{parameters[0], parameters[1], parameters[2]};
  if (delta == 0) call.malformed("onnx.input", "delta other than 0", "0");
  const std::uint64_t count = range_count(start, limit, delta);
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const Shape shape = {static_cast<std::int64_t>(std::min(count, kMost))};
  call.limit_fold(shape, DType::int64);
  Ints values(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < values.size(); ++i) {  // every element lies between start and limit: no overflow, modulo 2^64
    values[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(start) + i * static_cast<std::uint64_t>(delta));
  }
  return {call.make_ints(call.in(0)->dtype, shape, values)};
}

}  // namespace assay::onnx
