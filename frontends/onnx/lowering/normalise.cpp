// Normalisations with statistics of the data: the op normalise, then scale and bias.
#include <numeric>

#include "frontends/onnx/lowering/handlers.h"

namespace assay::onnx {
namespace {

using Form = NormaliseAttributes::Form;
using Ints = std::vector<std::int64_t>;

Ints axes_from(std::size_t first, std::size_t rank) {
  Ints axes(rank - first);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(first));
  return axes;
}

double epsilon_of(const Call& call) { return static_cast<double>(call.attribute("epsilon", 1e-5F)); }

// x * scale + bias; the operands broadcast to x.
Operand scaled(Call& call, const Operand& x, const Operand& scale, const Operand& bias) {
  const Operand y = scale ? call.emit(Op::mul, {x, scale}) : x;
  const Operand z = bias ? call.emit(Op::add, {y, bias}) : y;
  if (z->shape != x->shape) call.malformed("onnx.shape", "scale and bias that broadcast to " + to_string(x->shape), to_string(z->shape));
  return z;
}

// One number per channel, beside `axes_behind` further axes.
Operand per_channel(Call& call, const Operand& values, std::int64_t channels, std::size_t axes_behind) {
  if (values->shape != Shape{channels}) call.malformed("onnx.shape", "[" + std::to_string(channels) + "]", to_string(values->shape));
  Shape shape(axes_behind + 1, 1);
  shape[0] = channels;
  return call.reshape(values, shape);
}

bool gives(const Call& call, std::size_t output) { return call.node.outputs.size() > output && !call.node.outputs[output].empty(); }

}  // namespace

// The statistics that LayerNormalization can also give are computed as they are defined.
Results lower_layer_norm(Call& call) {
  const Operand& x = call.in(0);
  const bool is_rms = call.node.op_type == "RMSNormalization";
  const std::size_t rank = x->shape.size();
  const Ints axes = axes_from(static_cast<std::size_t>(call.axis(call.attribute("axis", std::int64_t{-1}), rank)), rank);
  const double epsilon = epsilon_of(call);
  const Operand core = call.emit(Op::normalise, {x}, NormaliseAttributes{axes, epsilon, is_rms ? Form::root_mean : Form::centered});
  Results results = {scaled(call, core, call.in(1), call.has(2) ? call.in(2) : nullptr)};
  if (is_rms || (!gives(call, 1) && !gives(call, 2))) return results;
  const ReduceAttributes reduce{axes, true};
  const Operand mean = call.emit(Op::reduce_mean, {x}, reduce);
  const Operand square = call.emit(Op::pow, {call.emit(Op::sub, {x, mean})}, PowAttributes{Rational(2)});
  const Operand variance = call.emit(Op::reduce_mean, {square}, reduce);
  const Operand deviation = call.emit(Op::sqrt, {call.emit(Op::add, {variance, call.make_real_like(x, epsilon)})});
  results.push_back(mean);
  results.push_back(call.emit(Op::reciprocal, {deviation}));
  return results;
}

Results lower_instance_norm(Call& call) {
  const Operand& x = call.in(0);
  const std::size_t rank = x->shape.size();
  if (rank < 3) call.malformed("onnx.shape", "[N, C, spatial...]", to_string(x->shape));
  const Operand core = call.emit(Op::normalise, {x}, NormaliseAttributes{axes_from(2, rank), epsilon_of(call), Form::centered});
  return {scaled(call, core, per_channel(call, call.in(1), x->shape[1], rank - 2), per_channel(call, call.in(2), x->shape[1], rank - 2))};
}

// Versions before 21 have one scale and bias per group, later ones one per channel.
Results lower_group_norm(Call& call) {
  const Operand& x = call.in(0);
  const std::size_t rank = x->shape.size();
  const std::int64_t groups = call.attribute("num_groups", std::int64_t{0});
  if (rank < 2 || groups <= 0 || x->shape[1] % groups != 0) {
    call.malformed("onnx.shape", "[N, C, ...] with num_groups dividing C", to_string(x->shape) + ", num_groups " + std::to_string(groups));
  }
  std::int64_t inner = x->shape[1] / groups;
  for (std::size_t axis = 2; axis < rank; ++axis) inner *= x->shape[axis];
  const Operand grouped = call.reshape(x, {x->shape[0], groups, inner});
  const Operand core = call.emit(Op::normalise, {grouped}, NormaliseAttributes{{2}, epsilon_of(call), Form::centered});
  if (call.opset < 21) {
    return {call.reshape(scaled(call, core, per_channel(call, call.in(1), groups, 1), per_channel(call, call.in(2), groups, 1)), x->shape)};
  }
  return {scaled(call, call.reshape(core, x->shape), per_channel(call, call.in(1), x->shape[1], rank - 2),
                 per_channel(call, call.in(2), x->shape[1], rank - 2))};
}

Results lower_lp_norm(Call& call) {
  const std::int64_t p = call.attribute("p", std::int64_t{2});
  if (p != 1 && p != 2) call.malformed("onnx.attribute", "p = 1 or 2", std::to_string(p));
  const std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{-1}), call.shape(0).size());
  const Operand& x = call.in(0);
  const Operand y = call.emit(Op::normalise, {x}, NormaliseAttributes{{axis}, 0, p == 1 ? Form::l1 : Form::l2});
  const Operand zero = call.make_real_like(x, 0);
  const Operand sizes = call.emit(Op::reduce_sum, {call.emit(Op::abs, {x})}, ReduceAttributes{{axis}, true});
  return {call.emit(Op::where, {call.emit(Op::equal, {sizes, zero}), zero, y})};  // a norm of 0 gives 0
}

// The standard's function body: (x - mean) / (deviation + 1e-9), the number as float32.
Results lower_mean_variance_norm(Call& call) {
  const Ints axes = call.distinct_axes(call.attribute_ints("axes").value_or(Ints{0, 2, 3}), call.shape(0).size());
  call.real_only(false, "a LayerNormalization or InstanceNormalization",
                 "a divisor to which ONNX Runtime adds nothing, and the standard 1e-9");
  return {call.emit(Op::normalise, {call.in(0)}, NormaliseAttributes{axes, static_cast<double>(1e-9F), Form::deviation})};
}

Results lower_local_response(Call& call) {
  const std::int64_t size = call.attribute("size", std::int64_t{0});
  const auto number = [&](const char* name, float otherwise) { return static_cast<double>(call.attribute(name, otherwise)); };
  return {call.emit(Op::local_response, {call.in(0)},
                    LocalResponseAttributes{size, number("alpha", 1e-4F), number("beta", 0.75F), number("bias", 1.0F)})};
}

}  // namespace assay::onnx
