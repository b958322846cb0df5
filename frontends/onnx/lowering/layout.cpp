// Layout operators: index maps, and windows that the network places.
#include <algorithm>
#include <cstdlib>
#include <numeric>

#include "frontends/onnx/lowering/compose.h"
#include "frontends/onnx/lowering/origins.h"

namespace assay::onnx {
namespace {

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
  if (const bool counts = call.find("num_outputs", AttributeKind::integer) != nullptr; call.opset >= 18 && counts == call.has(1))
    call.malformed("onnx.attribute", "num_outputs or the sizes of the pieces", counts ? "both of them" : "neither of them");
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

// The elements start, start + step, ... before start + length along an axis. For a start where ONNX would clamp (the result would be
// shorter) or count from the end, every position lies beyond the axis: there the result has no value.
Operand window_at(Call& call, const Operand& x, std::size_t axis, const Operand& start, std::int64_t length, std::int64_t step) {
  const std::int64_t extent = x->shape[axis];
  const bool moves = length != 0 && (length > 0) == (step > 0) && length >= -extent && length <= extent && step >= -kLargestExtent &&
                     step <= kLargestExtent;
  const std::int64_t count = moves ? (std::abs(length) - 1) / std::abs(step) + 1 : 0;
  if (!moves) {
    call.unsupported("onnx.shape", "ends that lie behind the starts and a piece no longer than the axis, of " + std::to_string(extent),
                     "a piece of " + std::to_string(length) + " in steps of " + std::to_string(step), "cut a piece that fits");
  }
  const auto number = [&](std::int64_t value) { return call.make_ints(DType::int64, {}, {value}); };
  const std::int64_t least = step > 0 ? 0 : -length, most = step > 0 ? extent - 1 - (count - 1) * step : extent - 1;
  const Operand first = call.cast(call.reshape(start, {}), DType::int64);
  const Operand fits =
      call.emit(Op::logical_and, {call.emit(Op::less_equal, {number(least), first}), call.emit(Op::less_equal, {first, number(most)})});
  const Operand from = call.emit(Op::where, {fits, first, number(extent + count * std::abs(step))});
  Ints moved;
  for (std::int64_t k = 0; k < count; ++k) moved.push_back(k * step);
  return take_axis(call, x, axis, call.emit(Op::add, {from, call.make_ints(DType::int64, {count}, moved)}));
}

// The request of Slice, entry by entry: an axis, a step, and its start and end.
struct Cuts {
  Ints axes, steps;
  std::vector<Origin> starts, ends;
};

Cuts cuts_of(const Call& call) {
  Cuts cuts;
  const bool as_inputs = call.opset >= 10;
  for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
    std::vector<Origin>& places = i == 1 ? cuts.starts : cuts.ends;
    if (!as_inputs) {
      const auto given = call.attribute_ints(i == 1 ? "starts" : "ends");
      if (!given) call.malformed("onnx.attribute", "starts and ends", "none");
      for (const std::int64_t value : *given) places.push_back({std::nullopt, 0, value});
      continue;
    }
    const Operand& given = call.in(i);
    if (!is_integer(given->dtype) || given->shape.size() > 1)
      call.malformed("onnx.input", "starts and ends as integers of rank 0 or 1",
                     std::string(to_string(given->dtype)) + to_string(given->shape));
    for (std::int64_t k = 0; k < static_cast<std::int64_t>(element_count(given->shape)); ++k) places.push_back(origin_of(call, given, k));
  }
  cuts.axes.resize(cuts.starts.size());
  std::iota(cuts.axes.begin(), cuts.axes.end(), 0);
  if (as_inputs && call.has(3)) cuts.axes = call.ints(3, "axes");
  if (const auto given = call.attribute_ints("axes")) cuts.axes = *given;
  cuts.steps = as_inputs && call.has(4) ? call.ints(4, "steps") : Ints(cuts.starts.size(), 1);
  if (cuts.ends.size() != cuts.starts.size() || cuts.axes.size() != cuts.starts.size() || cuts.steps.size() != cuts.starts.size()) {
    call.malformed("onnx.shape", "starts, ends, axes and steps of one length",
                   std::to_string(cuts.starts.size()) + ", " + std::to_string(cuts.ends.size()) + ", " + std::to_string(cuts.axes.size()) +
                       " and " + std::to_string(cuts.steps.size()) + " of them");
  }
  return cuts;
}

}  // namespace

// The index [I] and the operand [o, axis, r] meet as [o, I, r] and [o, axis, r].
Operand take_axis(Call& call, const Operand& operand, std::size_t axis, const Operand& indices) {
  const Shape &x = operand->shape, &index = indices->shape;
  const auto at = static_cast<std::ptrdiff_t>(axis);
  const std::int64_t outer = product(x.begin(), x.begin() + at), inner = product(x.begin() + at + 1, x.end());
  const auto count = static_cast<std::int64_t>(element_count(index));
  const Operand places = call.emit(Op::expand, {call.reshape(indices, {1, count, 1})}, ShapeAttributes{{outer, count, inner}});
  const Operand y = call.emit(Op::take, {places, call.reshape(operand, {outer, x[axis], inner})}, ConcatAttributes{1});
  Shape shape(x.begin(), x.begin() + at);
  shape.insert(shape.end(), index.begin(), index.end());
  shape.insert(shape.end(), x.begin() + at + 1, x.end());
  return call.reshape(y, shape);
}

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

// Constant entries are one slice; then one window per axis whose start the network computes.
Results lower_slice(Call& call) {
  const Shape& shape = call.shape(0);
  const Cuts cuts = cuts_of(call);
  (void)call.distinct_axes(cuts.axes, shape.size());
  SliceAttributes slice = whole(shape);
  std::vector<std::size_t> windows;
  for (std::size_t i = 0; i < cuts.starts.size(); ++i) {
    if (cuts.steps[i] == 0) call.malformed("onnx.shape", "steps other than 0", to_string(cuts.steps));
    const auto axis = static_cast<std::size_t>(call.axis(cuts.axes[i], shape.size()));
    if (cuts.starts[i].node || cuts.ends[i].node)
      windows.push_back(i);
    else
      restrict_axis(slice, axis, shape[axis], cuts.starts[i].plus, cuts.ends[i].plus, cuts.steps[i]);
  }
  Operand x = windows.size() < cuts.starts.size() || windows.empty() ? call.emit(Op::slice, {call.in(0)}, slice) : call.in(0);
  for (const std::size_t i : windows) {
    const auto length = constant_difference(call, cuts.ends[i], cuts.starts[i]);
    if (!length) {
      call.unsupported("onnx.not_constant", "ends that are constant, as the starts are, or the starts plus a constant",
                       "entry " + std::to_string(i) + ", whose extent depends on the network's inputs",
                       "compute the end as start + extent, or use Gather with start + Range(extent)");
    }
    const Operand start =
        slice_axis(call, call.reshape(call.in(1), {static_cast<std::int64_t>(cuts.starts.size())}), 0, static_cast<std::int64_t>(i), 1);
    x = window_at(call, x, static_cast<std::size_t>(call.axis(cuts.axes[i], shape.size())), start, *length, cuts.steps[i]);
  }
  return {x};
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
  if (!call.in(1)->constant) return {take_axis(call, call.in(0), static_cast<std::size_t>(axis), call.in(1))};
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
