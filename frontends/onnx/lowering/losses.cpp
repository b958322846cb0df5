// Classes and losses: Hardmax, NegativeLogLikelihoodLoss, SoftmaxCrossEntropyLoss. A class index picks its element by comparison
// with 0 .. C-1 and a sum of which one term is not 0, so that nothing is rounded and the index may depend on an input.
#include <numeric>

#include "frontends/onnx/lowering/handlers.h"

namespace assay::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::size_t kClassAxis = 1;

// 0 .. count-1 along `axis` of a tensor of this rank.
Operand positions(Call& call, DType dtype, std::int64_t count, std::size_t axis, std::size_t rank) {
  Shape shape(rank, 1);
  shape[axis] = count;
  Ints values(static_cast<std::size_t>(count));
  std::iota(values.begin(), values.end(), 0);
  return call.make_ints(dtype, shape, values);
}

Operand one_of(Call& call, double value, const Operand& like, const Shape& shape) {
  return call.emit(Op::expand, {call.make_real_like(like, value)}, ShapeAttributes{shape});
}

struct Target {
  Operand hit;      // [N, C, d...]: is c the target?
  Operand ignored;  // [N, d...]; null: none is
  bool constant = false;
};

// A constant target: every class is checked here; an ignored one hits nothing.
Target constant_target(Call& call, const Shape& x, std::optional<std::int64_t> ignore) {
  const Ints classes = call.in(1)->constant->to_ints();
  const std::int64_t count = x[kClassAxis];
  std::size_t inner = 1;
  for (std::size_t axis = 2; axis < x.size(); ++axis) inner *= static_cast<std::size_t>(x[axis]);
  call.limit_fold(x, DType::int64);
  Ints hit(element_count(x), 0), ignored(classes.size(), 0);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    ignored[i] = classes[i] == ignore ? 1 : 0;
    if (ignored[i] != 0) continue;
    if (classes[i] < 0 || classes[i] >= count)
      call.malformed("onnx.index", "classes from 0 to " + std::to_string(count - 1), std::to_string(classes[i]));
    hit[(i / inner * static_cast<std::size_t>(count) + static_cast<std::size_t>(classes[i])) * inner + i % inner] = 1;
  }
  return {call.make_ints(DType::boolean, x, hit), ignore ? call.make_ints(DType::boolean, call.shape(1), ignored) : nullptr, true};
}

Target target_of(Call& call, const Shape& x) {
  const Operand& target = call.in(1);
  Shape expected = x;
  if (x.size() < 2) call.malformed("onnx.shape", "scores as [N, C, ...]", to_string(x));
  expected.erase(expected.begin() + kClassAxis);
  if (target->shape != expected) call.malformed("onnx.shape", "a target of shape " + to_string(expected), to_string(target->shape));
  if (target->dtype != DType::int64 && target->dtype != DType::int32)
    call.malformed("onnx.input", "classes as int32 or int64", to_string(target->dtype));
  std::optional<std::int64_t> ignore;
  if (const AttributeProto* given = call.find("ignore_index", AttributeKind::integer)) ignore = given->integer;
  if (target->constant) return constant_target(call, x, ignore);
  Shape beside = x;
  beside[kClassAxis] = 1;
  const Operand classes = positions(call, target->dtype, x[kClassAxis], kClassAxis, x.size());
  Target result;
  result.hit = call.emit(Op::equal, {call.reshape(target, beside), classes});
  if (ignore && fits(target->dtype, *ignore)) result.ignored = call.emit(Op::equal, {target, call.make_ints(target->dtype, {}, {*ignore})});
  return result;
}

// The element of `values` [N, C, d...] at the target, 0 where there is none.
Operand picked(Call& call, const Target& target, const Operand& values, const Operand& zero) {
  const Operand chosen = choose(call, target.hit, values, zero);
  return call.emit(Op::reduce_sum, {chosen}, ReduceAttributes{{static_cast<std::int64_t>(kClassAxis)}, false});
}

Operand reduced(Call& call, const Operand& loss, const Operand& weight) {
  const std::string how = call.attribute("reduction", "mean");
  Ints axes(loss->shape.size());
  std::iota(axes.begin(), axes.end(), 0);
  const ReduceAttributes all{axes, false};
  if (how == "none") return loss;
  if (how == "sum") return call.emit(Op::reduce_sum, {loss}, all);
  if (how != "mean") call.malformed("onnx.attribute", "reduction none, sum or mean", how);
  if (!weight) return call.emit(Op::reduce_mean, {loss}, all);
  return call.emit(Op::div, {call.emit(Op::reduce_sum, {loss}, all), call.emit(Op::reduce_sum, {weight}, all)});
}

// -weight[t] * x[t] for the target t of each element; 0 where it is ignored. A target that is no class and not ignored divides
// by the number of its hits, which is 0: a domain fault.
Operand negative_log_likelihood(Call& call, const Operand& x) {
  const Target target = target_of(call, x->shape);
  const Operand zero = call.make_real_like(x, 0);
  Operand loss = call.emit(Op::neg, {picked(call, target, x, zero)});
  Operand weight;
  if (call.has(2)) {
    if (call.shape(2) != Shape{x->shape[kClassAxis]}) call.malformed("onnx.shape", "one weight per class", to_string(call.shape(2)));
    Shape beside(x->shape.size(), 1);
    beside[kClassAxis] = x->shape[kClassAxis];
    weight = picked(call, target, call.reshape(call.in(2), beside), zero);
    loss = call.emit(Op::mul, {loss, weight});
  } else if (target.ignored) {
    weight = one_of(call, 1, x, loss->shape);
  }
  if (!target.constant) loss = call.emit(Op::div, {loss, picked(call, target, call.make_real_like(x, 1), zero)});
  if (target.ignored) {
    loss = choose(call, target.ignored, zero, loss);
    weight = choose(call, target.ignored, zero, weight);
  }
  return reduced(call, loss, weight);
}

}  // namespace

Results lower_negative_log_likelihood(Call& call) { return {negative_log_likelihood(call, call.in(0))}; }

Results lower_cross_entropy(Call& call) {
  if (call.shape(0).size() < 2) call.malformed("onnx.shape", "scores as [N, C, ...]", to_string(call.shape(0)));
  const Operand log_probabilities = call.emit(Op::log_softmax, {call.in(0)}, SoftmaxAttributes{static_cast<std::int64_t>(kClassAxis)});
  return {negative_log_likelihood(call, log_probabilities), log_probabilities};
}

// 1 at the first largest element. Before version 13 over all axes from `axis` on, taken together.
Results lower_hardmax(Call& call) {
  Operand x = call.in(0);
  const std::size_t rank = x->shape.size();
  std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{call.opset < 13 ? 1 : -1}), rank);
  if (call.opset < 13) {
    const Shape before(x->shape.begin(), x->shape.begin() + axis), behind(x->shape.begin() + axis, x->shape.end());
    x = call.reshape(x, {static_cast<std::int64_t>(element_count(before)), static_cast<std::int64_t>(element_count(behind))});
    axis = 1;
  }
  const auto at = static_cast<std::size_t>(axis);
  const Operand first = call.emit(Op::arg_max, {x}, ArgAttributes{axis, true, false});
  const Operand hit = call.emit(Op::equal, {first, positions(call, DType::int64, x->shape[at], at, x->shape.size())});
  return {call.reshape(call.cast(hit, x->dtype), call.shape(0))};
}

}  // namespace assay::onnx
