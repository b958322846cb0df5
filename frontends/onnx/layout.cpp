// Layout operators: index maps whose parameters are constants.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/handlers.h"

namespace assay::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kFarStep = std::int64_t{1} << 40;  // beyond every extent; a longer step selects the same elements

std::int64_t product(Ints::const_iterator first, Ints::const_iterator last) {
  return static_cast<std::int64_t>(element_count(Shape(first, last)));
}

SliceAttributes whole(const Shape& shape) { return {Ints(shape.size(), 0), Ints(shape.size(), 1), shape}; }

// start:end:step on one axis of this extent, clamped as ONNX says (a start below the axis reads as its first element).
void restrict_axis(SliceAttributes& slice, std::size_t axis, std::int64_t extent, std::int64_t start, std::int64_t end, std::int64_t step) {
  if (extent == 0) return;
  const std::int64_t lowest = step > 0 ? 0 : -1;
  const std::int64_t highest = step > 0 ? extent : extent - 1;
  start = std::clamp(start < 0 ? start + extent : start, std::int64_t{0}, highest);
  end = std::clamp(end < 0 ? end + extent : end, lowest, highest);
  step = std::clamp(step, -kFarStep, kFarStep);
  const std::int64_t span = step > 0 ? end - start : start - end;
  const std::int64_t stride = step > 0 ? step : -step;
  slice.starts[axis] = start;
  slice.steps[axis] = step;
  slice.extents[axis] = span > 0 ? (span + stride - 1) / stride : 0;
}

Ints split_sizes(const Call& call, std::int64_t extent) {
  const auto pieces = static_cast<std::int64_t>(call.node.outputs.size());
  if (auto given = call.attribute_ints("split")) return *given;
  if (call.has(1)) return call.ints(1, "sizes of the pieces");
  if (call.opset >= 18 && call.attribute("num_outputs", pieces) != pieces) {
    call.malformed("onnx.attribute", "num_outputs = " + std::to_string(pieces), std::to_string(call.attribute("num_outputs", pieces)));
  }
  if (call.opset < 18 && extent % pieces != 0) {
    call.malformed("onnx.shape", "an extent that " + std::to_string(pieces) + " pieces divide", std::to_string(extent));
  }
  const std::int64_t size = (extent + pieces - 1) / pieces;
  Ints sizes(static_cast<std::size_t>(pieces), size);
  sizes.back() = extent - size * (pieces - 1);
  return sizes;
}

// The index [I] and the operand [o, axis, r] meet as [o, I, r] and [o, axis, r].
Operand gather_at_run_time(Call& call, std::size_t axis) {
  const Shape &x = call.shape(0), &index = call.shape(1);
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const std::int64_t outer = product(x.begin(), x.begin() + at), inner = product(x.begin() + at + 1, x.end());
  const auto count = static_cast<std::int64_t>(element_count(index));
  const Operand places = call.emit(Op::expand, {call.reshape(call.in(1), {1, count, 1})}, ShapeAttributes{{outer, count, inner}});
  const Operand y = call.emit(Op::take, {places, call.reshape(call.in(0), {outer, x[axis], inner})}, ConcatAttributes{1});
  Shape shape(x.begin(), x.begin() + at);
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), x.begin() + at + 1, x.end());
  return call.reshape(y, shape);
}

}  // namespace

Operand gather_axis(Call& call, const Operand& operand, std::int64_t axis, Ints indices) {
  const auto count = static_cast<std::int64_t>(indices.size());
  return call.emit(Op::gather, {operand}, GatherAttributes{axis, std::move(indices), {count}});
}

Results lower_identity(Call& call) { return {call.in(0)}; }

// Inference: the identity. The mask is no result here; using it is refused as an undefined value.
Results lower_dropout(Call& call) {
  if (call.has(2)) {
    const Tensor& training = call.constant(2, "a training mode");
    if (training.dtype() != DType::boolean || training.size() != 1)
      call.malformed("onnx.input", "training_mode as one boolean", to_string(training.dtype()));
    if (training.as_int(0) != 0)
      call.unsupported("onnx.training", "a Dropout in inference mode", "training_mode = true", "export the model after model.eval()");
  }
  if (call.node.outputs.size() < 2 || call.node.outputs[1].empty()) return {call.in(0)};
  const Operand kept = call.make_ints(DType::boolean, {}, {1});  // the mask: nothing is dropped
  return {call.in(0), call.emit(Op::expand, {kept}, ShapeAttributes{call.shape(0)})};
}

Results lower_reshape(Call& call) {
  const Shape& old = call.shape(0);
  Shape target = call.ints(1, "a shape");
  const Ints given = target;
  const bool zero_is_zero = call.attribute("allowzero", std::int64_t{0}) != 0;
  std::ptrdiff_t open = -1;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !zero_is_zero) {
      if (i >= old.size()) call.malformed("onnx.shape", "a 0 only where the operand has an axis", to_string(given));
      target[i] = old[i];
    }
    if (target[i] < -1 || (target[i] == -1 && open >= 0)) call.malformed("onnx.shape", "extents >= 0 and at most one -1", to_string(given));
    if (target[i] == -1) open = static_cast<std::ptrdiff_t>(i);
  }
  if (open >= 0) {
    target[static_cast<std::size_t>(open)] = 1;
    std::size_t known = 0;
    const auto all = static_cast<std::size_t>(element_count(old));
    if (!checked_element_count(target, std::size_t{1} << 31, known) || known == 0 || all % known != 0) {
      call.malformed("onnx.shape", "a shape that " + std::to_string(all) + " elements fill", to_string(given));
    }
    target[static_cast<std::size_t>(open)] = static_cast<std::int64_t>(all / known);
  }
  return {call.reshape(call.in(0), target)};
}

Results lower_flatten(Call& call) {
  const Shape& shape = call.shape(0);
  const std::int64_t given = call.attribute("axis", std::int64_t{1});
  const auto rank = static_cast<std::int64_t>(shape.size());
  const std::int64_t axis = given == rank ? rank : call.axis(given, shape.size());  // the rank itself is allowed
  return {call.reshape(call.in(0), {product(shape.begin(), shape.begin() + axis), product(shape.begin() + axis, shape.end())})};
}

Results lower_transpose(Call& call) {
  Ints axes(call.shape(0).size());
  std::iota(axes.rbegin(), axes.rend(), 0);
  if (auto given = call.attribute_ints("perm")) axes = *given;
  return {call.emit(Op::permute, {call.in(0)}, PermuteAttributes{axes})};
}

Results lower_squeeze(Call& call) {
  const Shape& shape = call.shape(0);
  Ints axes;
  if (const auto given = axes_of(call, 1)) {
    axes = call.distinct_axes(*given, shape.size());
  } else {
    for (std::size_t i = 0; i < shape.size(); ++i) {
      if (shape[i] == 1) axes.push_back(static_cast<std::int64_t>(i));
    }
  }
  Shape target;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const bool drop = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(i));
    if (drop && shape[i] != 1) call.malformed("onnx.shape", "extent 1 on every squeezed axis", to_string(shape));
    if (!drop) target.push_back(shape[i]);
  }
  return {call.reshape(call.in(0), target)};
}

Results lower_unsqueeze(Call& call) {
  const auto given = axes_of(call, 1);
  if (!given) call.malformed("onnx.attribute", "axes", "none");
  Shape target = call.shape(0);
  for (const std::int64_t axis : call.distinct_axes(*given, target.size() + given->size())) target.insert(target.begin() + axis, 1);
  return {call.reshape(call.in(0), target)};
}

Results lower_slice(Call& call) {
  const Shape& shape = call.shape(0);
  const bool as_inputs = call.opset >= 10;
  if (!as_inputs && (!call.attribute_ints("starts") || !call.attribute_ints("ends")))
    call.malformed("onnx.attribute", "starts and ends", "none");
  const Ints starts = as_inputs ? call.ints(1, "starts") : *call.attribute_ints("starts");
  const Ints ends = as_inputs ? call.ints(2, "ends") : *call.attribute_ints("ends");
  Ints axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (as_inputs && call.has(3)) axes = call.ints(3, "axes");
  if (const auto given = call.attribute_ints("axes")) axes = *given;
  const Ints steps = as_inputs && call.has(4) ? call.ints(4, "steps") : Ints(starts.size(), 1);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    call.malformed("onnx.shape", "starts, ends, axes and steps of one length",
                   to_string(starts) + ", " + to_string(ends) + ", " + to_string(axes) + ", " + to_string(steps));
  }
  (void)call.distinct_axes(axes, shape.size());
  SliceAttributes slice = whole(shape);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == 0) call.malformed("onnx.shape", "steps other than 0", to_string(steps));
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], shape.size()));
    restrict_axis(slice, axis, shape[axis], starts[i], ends[i], steps[i]);
  }
  return {call.emit(Op::slice, {call.in(0)}, slice)};
}

Results lower_split(Call& call) {
  const Shape& shape = call.shape(0);
  const auto axis = static_cast<std::size_t>(call.axis(call.attribute("axis", std::int64_t{0}), shape.size()));
  const Ints sizes = split_sizes(call, shape[axis]);
  std::int64_t left = shape[axis];
  bool fine = sizes.size() == call.node.outputs.size();
  for (const std::int64_t size : sizes) {
    fine = fine && size >= 0 && size <= left;
    if (fine) left -= size;
  }
  if (!fine || left != 0)
    call.malformed("onnx.shape", "one size per output, adding up to " + std::to_string(shape[axis]), to_string(sizes));
  Results results;
  SliceAttributes slice = whole(shape);
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    slice.extents[axis] = sizes[i];
    results.push_back(call.node.outputs[i].empty() ? nullptr : call.emit(Op::slice, {call.in(0)}, slice));
    slice.starts[axis] += sizes[i];
  }
  return results;
}

Results lower_concat(Call& call) {
  if (call.find("axis", AttributeKind::integer) == nullptr) call.malformed("onnx.attribute", "axis", "none");
  std::vector<Operand> operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) operands.push_back(call.in(i));
  const std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{0}), call.shape(0).size());
  if (operands.size() == 1) return {operands.front()};
  return {call.emit(Op::concat, operands, ConcatAttributes{axis})};
}

Results lower_gather(Call& call) {
  const Shape& shape = call.shape(0);
  const std::int64_t axis = call.axis(call.attribute("axis", std::int64_t{0}), shape.size());
  const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
  if (!call.in(1)->constant) return {gather_at_run_time(call, static_cast<std::size_t>(axis))};
  const Tensor& given = call.constant(1, "indices");
  if (is_float(given.dtype())) call.malformed("onnx.input", "integer indices", to_string(given.dtype()));
  Ints indices = given.to_ints();
  for (std::int64_t& index : indices) {
    if (index < -extent || index >= extent)
      call.malformed("onnx.index", std::to_string(-extent) + " <= index < " + std::to_string(extent), std::to_string(index));
    if (index < 0) index += extent;
  }
  return {call.emit(Op::gather, {call.in(0)}, GatherAttributes{axis, std::move(indices), given.shape()})};
}

Results lower_expand(Call& call) {
  const Shape given = call.ints(1, "a shape");
  Shape target;
  if (!broadcast(call.shape(0), given, target))
    call.malformed("onnx.shape", "a shape that broadcasts", to_string(call.shape(0)) + " and " + to_string(given));
  if (target == call.shape(0)) return {call.in(0)};
  return {call.emit(Op::expand, {call.in(0)}, ShapeAttributes{target})};
}

Results lower_where(Call& call) {
  if (call.in(0)->dtype != DType::boolean) call.malformed("onnx.input", "a boolean condition", to_string(call.in(0)->dtype));
  return {choose(call, call.in(0), call.in(1), call.in(2))};
}

// With a constant condition: both branches laid end to end, and a gather that takes each element from its branch.
Operand choose(Call& call, const Operand& condition, const Operand& a, const Operand& b) {
  if (!condition->constant) return call.emit(Op::where, {condition, a, b});
  Shape shape;
  if (!broadcast(a->shape, b->shape, shape) || !broadcast(shape, condition->shape, shape)) {
    call.malformed("onnx.shape", "operands that broadcast",
                   to_string(condition->shape) + ", " + to_string(a->shape) + ", " + to_string(b->shape));
  }
  call.limit_fold(shape, DType::int64);
  const auto count = static_cast<std::int64_t>(element_count(shape));
  std::vector<Operand> branches;
  for (const Operand& branch : {a, b}) {
    const Operand wide = branch->shape == shape ? branch : call.emit(Op::expand, {branch}, ShapeAttributes{shape});
    branches.push_back(call.reshape(wide, {count}));
  }
  const Operand mask = call.emit(Op::expand, {condition}, ShapeAttributes{shape});
  const Ints chosen = mask->constant->to_ints();
  if (std::find(chosen.begin(), chosen.end(), 0) == chosen.end()) return call.reshape(branches[0], shape);
  if (std::find(chosen.begin(), chosen.end(), 1) == chosen.end()) return call.reshape(branches[1], shape);
  Ints indices(chosen.size());
  for (std::size_t i = 0; i < chosen.size(); ++i) indices[i] = static_cast<std::int64_t>(i) + (chosen[i] != 0 ? 0 : count);
  const Operand both = call.emit(Op::concat, branches, ConcatAttributes{0});
  return call.reshape(gather_axis(call, both, 0, std::move(indices)), shape);
}

}  // namespace assay::onnx
