#include "frontends/onnx/lowering/masks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace assay::onnx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

bool has_negative_infinity(const Tensor& tensor) {
  for (std::size_t i = 0; is_float(tensor.dtype()) && i < tensor.size(); ++i) {
    if (tensor.as_double(i) == -kInfinity) return true;
  }
  return false;
}

bool all_constant(const std::vector<Operand>& operands) {
  return std::all_of(operands.begin(), operands.end(), [](const Operand& x) { return !x || x->constant; });
}

Operand inverted(Call& call, const Operand& truth) {
  if (!truth->constant) return call.emit(Op::logical_not, {truth});
  Ints values = truth->constant->to_ints();
  for (std::int64_t& value : values) value = 1 - value;
  return call.make_ints(DType::boolean, truth->shape, values);
}

// One value again; a constant where both parts are.
Operand joined(Call& call, const Operand& numbers, const Operand& open) {
  if (!open) return numbers;
  const Operand wide = expand(call, open, numbers->shape);
  if (numbers->constant && wide->constant) {
    std::vector<double> values = numbers->constant->to_doubles();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = wide->constant->as_int(i) != 0 ? values[i] : -kInfinity;
    return reals_like(call, numbers, numbers->shape, values);
  }
  Value value = *numbers;
  if (value.constant) value.id = call.lowering.in_graph(*numbers, place_of(call.node));
  value.constant.reset();
  value.open = wide;
  return std::make_shared<Value>(std::move(value));
}

Call with_inputs(const Call& call, std::vector<Operand> inputs) { return {call.lowering, call.node, call.opset, std::move(inputs)}; }

// The handler on the numbers and on the truth values of inputs first .. last - 1.
Results lower_moves(Call& call, Handler plain, std::size_t first, std::size_t last) {
  std::vector<Operand> numbers = call.inputs, open = call.inputs;
  for (std::size_t i = first; i < last; ++i) {
    const Masked parts = split_mask(call, call.in(i));
    numbers[i] = parts.numbers;
    open[i] = parts.open ? parts.open : truths(call, 1, parts.numbers->shape);
  }
  Call for_numbers = with_inputs(call, std::move(numbers)), for_open = with_inputs(call, std::move(open));
  Results results = plain(for_numbers);
  const Results truth = plain(for_open);
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i]) results[i] = joined(call, results[i], truth[i]);
  }
  return results;
}

Results lower_moved(Call& call, Handler plain) { return lower_moves(call, plain, 0, 1); }
Results lower_chosen(Call& call, Handler plain) { return lower_moves(call, plain, 1, 3); }
Results lower_joined(Call& call, Handler plain) { return lower_moves(call, plain, 0, call.inputs.size()); }

Results lower_padded(Call& call, Handler plain) {
  if (call.attribute("mode", "constant") != std::string("constant") || call.opset < 11) return lower_moved(call, plain);
  const Masked data = split_mask(call, call.in(0));
  const bool shuts = call.has(2) && call.real(2, "a padding value") == -kInfinity;
  std::vector<Operand> numbers = call.inputs, open = call.inputs;
  numbers.resize(std::max<std::size_t>(numbers.size(), 3));
  open.resize(numbers.size());
  numbers[0] = data.numbers;
  if (shuts) numbers[2] = call.make_real_like(data.numbers, 0);
  open[0] = data.open ? data.open : truths(call, 1, data.numbers->shape);
  open[2] = call.make_ints(DType::boolean, {}, {shuts ? 0 : 1});
  Call for_numbers = with_inputs(call, std::move(numbers)), for_open = with_inputs(call, std::move(open));
  return {joined(call, plain(for_numbers).front(), plain(for_open).front())};
}

// To another float type.
Results lower_converted(Call& call, Handler plain) {
  const Masked parts = split_mask(call, call.in(0));
  std::vector<Operand> numbers = call.inputs;
  numbers[0] = parts.numbers;
  Call for_numbers = with_inputs(call, std::move(numbers));
  const Operand result = plain(for_numbers).front();
  if (!is_float(result->dtype))
    call.unsupported("onnx.nonfinite", "a cast of -infinity to a float type", to_string(result->dtype), "mask after the cast");
  return {joined(call, result, parts.open)};
}

// -infinity + x = -infinity for finite x.
Results lower_sum(Call& call, Handler plain) {
  std::vector<Operand> numbers;
  Operand open;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Masked parts = split_mask(call, call.in(i));
    numbers.push_back(parts.numbers);
    open = both_open(call, open, parts.open);
  }
  Call for_numbers = with_inputs(call, std::move(numbers));
  return {joined(call, plain(for_numbers).front(), open)};
}

// -infinity times, or divided by, a positive number.
Results lower_factor(Call& call, Handler plain) {
  const std::size_t masked = is_masked(call.in(0)) ? 0 : 1;
  const Tensor* factor = call.in(1 - masked)->constant ? &*call.in(1 - masked)->constant : nullptr;
  bool fits = factor != nullptr && (masked == 0 || call.node.op_type == "Mul");
  for (std::size_t i = 0; fits && i < factor->size(); ++i) fits = factor->as_double(i) > 0 && std::isfinite(factor->as_double(i));
  if (!fits) call.unsupported("onnx.nonfinite", "-infinity times constants above 0", "another factor", "mask after scaling");
  const Masked parts = split_mask(call, call.in(masked));
  std::vector<Operand> numbers = call.inputs;
  numbers[masked] = parts.numbers;
  Call for_numbers = with_inputs(call, std::move(numbers));
  return {joined(call, plain(for_numbers).front(), parts.open)};
}

Results lower_masked_softmax(Call& call, Handler) {
  const Masked parts = split_mask(call, call.in(0));
  const std::size_t rank = parts.numbers->shape.size();
  const std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{call.opset >= 13 ? -1 : 1}), rank);
  if (call.opset < 13 && axis + 1 != static_cast<std::int64_t>(rank))
    call.unsupported("onnx.nonfinite", "a masked softmax over the last axis", std::to_string(axis), "export with opset 13 or later");
  return {call.emit(Op::masked_softmax, {parts.numbers, parts.open}, MaskedSoftmaxAttributes{axis, false})};
}

// The maximum of what is open; shut where nothing is.
Results lower_masked_maximum(Call& call, Handler plain) {
  const Masked parts = split_mask(call, call.in(0));
  Ints axes(parts.numbers->shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  const Operand least = call.emit(Op::reduce_min, {parts.numbers}, ReduceAttributes{axes, true});
  std::vector<Operand> numbers = call.inputs, open = call.inputs;
  numbers[0] = call.emit(Op::where, {parts.open, parts.numbers, least});
  const bool known = parts.open->constant.has_value();
  open[0] = known ? call.make_ints(DType::int64, parts.open->shape, parts.open->constant->to_ints()) : call.cast(parts.open, DType::int64);
  Call for_numbers = with_inputs(call, std::move(numbers)), for_open = with_inputs(call, std::move(open));
  const Operand any = plain(for_open).front();
  const Operand truth =
      any->constant ? call.make_ints(DType::boolean, any->shape, any->constant->to_ints()) : call.cast(any, DType::boolean);
  return {joined(call, plain(for_numbers).front(), truth)};
}

bool is_shut(const Operand& open) {
  if (!open || !open->constant) return false;
  const Ints values = open->constant->to_ints();
  return std::all_of(values.begin(), values.end(), [](std::int64_t value) { return value == 0; });
}

// Equal: both shut, or both open and equal.
Results lower_masked_equal(Call& call, Handler plain) {
  const Masked a = split_mask(call, call.in(0)), b = split_mask(call, call.in(1));
  Shape shape;
  if (!broadcast(a.numbers->shape, b.numbers->shape, shape))
    call.malformed("onnx.shape", "operands that broadcast", to_string(a.numbers->shape) + " and " + to_string(b.numbers->shape));
  const auto shut = [&](const Masked& x) { return x.open ? inverted(call, x.open) : truths(call, 0, x.numbers->shape); };
  if (is_shut(a.open) || is_shut(b.open)) return {expand(call, is_shut(b.open) ? shut(a) : shut(b), shape)};
  Call for_numbers = with_inputs(call, {a.numbers, b.numbers});
  const Operand neither = both_open(call, shut(a), shut(b));
  const Operand same = both_open(call, plain(for_numbers).front(), both_open(call, a.open, b.open));
  return {call.emit(Op::logical_or, {neither, same})};
}

Results lower_masked_infinity(Call& call, Handler) {
  const Masked parts = split_mask(call, call.in(0));
  const bool told = call.node.op_type == "IsInf" && call.attribute("detect_negative", std::int64_t{1}) != 0;
  return {told ? inverted(call, parts.open) : truths(call, 0, parts.numbers->shape)};
}

struct Rule {
  std::string_view op;
  Results (*lower)(Call&, Handler);
  bool folds;  // the plain handler carries it out on constants
};

constexpr Rule kRules[] = {
    {"Add", lower_sum, false},
    {"Sum", lower_sum, false},
    {"Mul", lower_factor, false},
    {"Div", lower_factor, false},
    {"Softmax", lower_masked_softmax, false},
    {"ReduceMax", lower_masked_maximum, false},
    {"Equal", lower_masked_equal, false},
    {"IsInf", lower_masked_infinity, false},
    {"IsNaN", lower_masked_infinity, false},
    {"Pad", lower_padded, false},
    {"Where", lower_chosen, true},
    {"Concat", lower_joined, true},
    {"Cast", lower_converted, true},
    {"CastLike", lower_converted, true},
    {"Reshape", lower_moved, true},
    {"Flatten", lower_moved, true},
    {"Transpose", lower_moved, true},
    {"Squeeze", lower_moved, true},
    {"Unsqueeze", lower_moved, true},
    {"Slice", lower_moved, true},
    {"Split", lower_moved, true},
    {"Gather", lower_moved, true},
    {"Expand", lower_moved, true},
    {"Tile", lower_moved, true},
    {"Identity", lower_moved, true},
    {"Dropout", lower_moved, true},
};

}  // namespace

bool is_masked(const Operand& operand) {
  return operand && (operand->open || (operand->constant && has_negative_infinity(*operand->constant)));
}

Masked split_mask(Call& call, const Operand& operand) {
  if (!operand->constant || !has_negative_infinity(*operand->constant)) {
    Value numbers = *operand;
    numbers.open = nullptr;
    return {operand->open ? std::make_shared<Value>(std::move(numbers)) : operand, operand->open};
  }
  std::vector<double> numbers = operand->constant->to_doubles();
  Ints open(numbers.size());
  for (std::size_t i = 0; i < open.size(); ++i) {
    open[i] = numbers[i] == -kInfinity ? 0 : 1;
    if (open[i] == 0) numbers[i] = 0;
  }
  return {reals_like(call, operand, operand->shape, numbers), call.make_ints(DType::boolean, operand->shape, open)};
}

Operand both_open(Call& call, const Operand& a, const Operand& b) {
  if (!a || !b) return a ? a : b;
  if (!a->constant || !b->constant) return call.emit(Op::logical_and, {a, b});
  Shape shape;
  if (!broadcast(a->shape, b->shape, shape))
    call.malformed("onnx.shape", "masks that broadcast", to_string(a->shape) + " and " + to_string(b->shape));
  Ints values = expand(call, a, shape)->constant->to_ints();
  const Ints others = expand(call, b, shape)->constant->to_ints();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] &= others[i];
  return call.make_ints(DType::boolean, shape, values);
}

Operand truths(Call& call, std::int64_t value, const Shape& shape) {
  return expand(call, call.make_ints(DType::boolean, {}, {value}), shape);
}

std::optional<Results> lower_masked(Call& call, Handler plain) {
  if (std::none_of(call.inputs.begin(), call.inputs.end(), is_masked)) return std::nullopt;
  for (const Rule& rule : kRules) {
    if (rule.op != call.node.op_type) continue;
    if (rule.folds && all_constant(call.inputs)) return std::nullopt;
    return rule.lower(call, plain);
  }
  const bool needs_rule = std::any_of(call.inputs.begin(), call.inputs.end(), [](const Operand& x) { return x && x->open; });
  if (!needs_rule || call.node.op_type == "Attention") return std::nullopt;  // constants: the handler gives -infinity its meaning
  call.unsupported("onnx.nonfinite", "-infinity in masks before a softmax only", "in an operand of " + call.node.op_type,
                   "mask right before the softmax");
}

}  // namespace assay::onnx
