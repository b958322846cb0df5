// Convolutions and pools: ONNX's window attributes become explicit pads.
#include <numeric>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

constexpr std::int64_t kLargestExtent = (std::int64_t{1} << 31) - 1;  // extents, strides, pads; keeps products below 2^62

Ints entries(const Call& call, const char* name, std::size_t count, std::int64_t least, const Ints& otherwise) {
  const Ints given = call.attribute_ints(name).value_or(otherwise);
  bool fine = given.size() == count;
  for (const std::int64_t one : given) fine = fine && one >= least && one <= kLargestExtent;
  if (!fine) {
    call.malformed("onnx.window",
                   std::string(name) + " as " + std::to_string(count) + " numbers from " + std::to_string(least) + " to 2^31 - 1",
                   to_string(given));
  }
  return given;
}

enum class AutoPad : std::uint8_t { explicit_pads, valid, same_upper, same_lower };

AutoPad auto_pad_of(const Call& call) {
  const std::string word = call.attribute("auto_pad", "NOTSET");
  if (word == "NOTSET" || word.empty()) return AutoPad::explicit_pads;
  if (word == "VALID") return AutoPad::valid;
  if (word == "SAME_UPPER") return AutoPad::same_upper;
  if (word == "SAME_LOWER") return AutoPad::same_lower;
  call.malformed("onnx.window", "auto_pad NOTSET, VALID, SAME_UPPER or SAME_LOWER", printable(word));
}

// Pads of one axis that add up to `total`; SAME_UPPER puts the odd one at the end.
void split_pads(WindowAttributes& window, std::size_t axis, std::int64_t total, bool odd_at_end) {
  const std::int64_t small = total / 2;
  window.pads_begin[axis] = odd_at_end ? small : total - small;
  window.pads_end[axis] = odd_at_end ? total - small : small;
}

std::int64_t covered(const WindowAttributes& window, std::size_t axis) { return (window.kernel[axis] - 1) * window.dilations[axis] + 1; }

// Kernel, strides, dilations and explicit pads; auto_pad is left to the caller.
WindowAttributes common_window(const Call& call, const Ints& kernel) {
  const std::size_t axes = kernel.size();
  WindowAttributes window;
  window.kernel = entries(call, "kernel_shape", axes, 1, kernel);
  window.strides = entries(call, "strides", axes, 1, Ints(axes, 1));
  window.dilations = entries(call, "dilations", axes, 1, Ints(axes, 1));
  window.pads_begin.assign(axes, 0);
  window.pads_end.assign(axes, 0);
  const Ints pads = entries(call, "pads", 2 * axes, 0, Ints(2 * axes, 0));  // no negative ones, whoever reads them
  if (auto_pad_of(call) == AutoPad::explicit_pads) {
    for (std::size_t i = 0; call.node.op_type.ends_with("Pool") && i < pads.size(); ++i) {
      if (pads[i] >= covered(window, i % axes)) call.malformed("onnx.window", "pads below the extent of the kernel", to_string(pads));
    }
    window.pads_begin.assign(pads.begin(), pads.begin() + static_cast<std::ptrdiff_t>(axes));
    window.pads_end.assign(pads.begin() + static_cast<std::ptrdiff_t>(axes), pads.end());
  } else if (!call.node.op_type.ends_with("Pool") && pads != Ints(2 * axes, 0)) {
    call.malformed("onnx.window", "auto_pad or pads", "both of them");
  }
  return window;
}

// SAME: the result extent is ceil(extent / stride).
void pad_same(const Call& call, WindowAttributes& window) {
  const AutoPad mode = auto_pad_of(call);
  if (mode != AutoPad::same_upper && mode != AutoPad::same_lower) return;
  for (std::size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const std::int64_t extent = call.shape(0)[axis + 2];
    const std::int64_t stride = window.strides[axis];
    const std::int64_t results = (extent + stride - 1) / stride;
    const std::int64_t total = (results - 1) * stride + covered(window, axis) - extent;
    split_pads(window, axis, total > 0 ? total : 0, mode == AutoPad::same_upper);
    const bool dilated = call.node.op_type.ends_with("Pool") && window.dilations[axis] != 1 && window.kernel[axis] != 1;
    if (!dilated && (call.node.op_type != "LpPool" || total >= 0)) continue;
    call.lowering.note(place_of(call.node) + ": ONNX Runtime pads otherwise, without regard to dilations, or less than nothing");
    call.real_only(false, "explicit pads",
                   "auto_pad with dilations, or with strides beyond the kernel, which ONNX Runtime computes otherwise");
  }
}

// Spatial extents of the weight; the weight has the rank of x.
Ints weight_kernel(const Call& call) {
  const Shape &x = call.shape(0), &w = call.shape(1);
  if (x.size() < 3 || w.size() != x.size()) {
    call.malformed("onnx.shape", "x [N, C, spatial...] and a weight of the same rank", to_string(x) + " and " + to_string(w));
  }
  return {w.begin() + 2, w.end()};
}

Results emit_conv(Call& call, Op op, WindowAttributes window) {
  window.groups = call.attribute("group", std::int64_t{1});
  std::vector<Operand> operands = {call.in(0), call.in(1)};
  if (call.has(2)) operands.push_back(call.in(2));
  return {call.emit(op, operands, std::move(window))};
}

// output_shape fixes the total padding of each axis: stride * (extent - 1) + output_padding + covered - output_shape.
void pad_to_output_shape(const Call& call, WindowAttributes& window) {
  const std::size_t axes = window.kernel.size();
  const AutoPad mode = auto_pad_of(call);
  const bool same = mode == AutoPad::same_upper || mode == AutoPad::same_lower;
  if (!same && !call.attribute_ints("output_shape")) return;
  Ints wanted;
  for (std::size_t axis = 0; axis < axes; ++axis) wanted.push_back(call.shape(0)[axis + 2] * window.strides[axis]);
  if (call.attribute_ints("output_shape")) wanted = entries(call, "output_shape", axes, 1, {});
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t unpadded =
        window.strides[axis] * (call.shape(0)[axis + 2] - 1) + window.output_padding[axis] + covered(window, axis);
    const std::int64_t total = unpadded - wanted[axis];
    if (total < 0) {
      call.unsupported("onnx.window", "an output shape of at most " + std::to_string(unpadded) + " along each axis",
                       std::to_string(wanted[axis]), "give pads and output_padding instead of output_shape");
    }
    if (!same && total % 2 != 0) {
      call.unsupported("onnx.window", "an even total padding, or auto_pad, with output_shape", std::to_string(total),
                       "give pads instead of output_shape: versions of ONNX differ on which side the odd one goes");
    }
    split_pads(window, axis, total, mode == AutoPad::same_upper);
  }
}

// ceil_mode: a last window that starts inside the operand or its padding is completed by padding.
void pad_last_window(const Call& call, WindowAttributes& window) {
  for (std::size_t axis = 0; axis < window.kernel.size(); ++axis) {
    const std::int64_t extent = call.shape(0)[axis + 2], stride = window.strides[axis];
    const std::int64_t room = extent + window.pads_begin[axis] + window.pads_end[axis] - covered(window, axis);
    if (room < 0) continue;  // refused by the shape rule
    const std::int64_t last = (room + stride - 1) / stride * stride;
    if (last < extent + window.pads_begin[axis]) window.pads_end[axis] += last - room;
  }
}

// Where each maximum stands in x, seen as a vector: the first of equal ones. Taps in the padding repeat the window's first element.
Operand places_of_maxima(Call& call, const Operand& y, const WindowAttributes& window) {
  const Shape x = call.shape(0), result(y->shape.begin() + 2, y->shape.end()), extents(x.begin() + 2, x.end());
  const bool by_columns = call.attribute("storage_order", std::int64_t{0}) != 0;
  const auto planes = x[0] * x[1], outputs = static_cast<std::int64_t>(element_count(result)),
             taps = static_cast<std::int64_t>(element_count(window.kernel)), elements = static_cast<std::int64_t>(element_count(extents));
  call.limit_fold({planes, outputs, taps}, DType::int64);
  const Ints strides = strides_of(extents);
  Ints from, at(extents.size(), 0), tap(extents.size(), 0), turned;
  for (std::int64_t o = 0; o < outputs; ++o, (void)next_index(at, result)) {
    Ints inside;
    for (std::int64_t t = 0; t < taps; ++t, (void)next_index(tap, window.kernel)) {
      std::int64_t place = 0, column = 0, height = 1;
      for (std::size_t axis = 0; axis < extents.size(); ++axis) {
        const std::int64_t i = at[axis] * window.strides[axis] - window.pads_begin[axis] + tap[axis] * window.dilations[axis];
        place = place < 0 || i < 0 || i >= extents[axis] ? -1 : place + i * strides[axis];
        column += i * height;
        height *= extents[axis];
      }
      from.push_back(place);
      turned.push_back(by_columns ? column : place);
      if (place >= 0) inside.push_back(static_cast<std::int64_t>(from.size()) - 1);
    }
    for (auto i = static_cast<std::size_t>(o * taps); i < from.size(); ++i) {
      if (from[i] >= 0) continue;
      from[i] = from[static_cast<std::size_t>(inside.front())];
      turned[i] = turned[static_cast<std::size_t>(inside.front())];
    }
  }
  const Operand rows = call.reshape(call.in(0), {planes, elements});
  const Operand windows = call.emit(Op::gather, {rows}, GatherAttributes{1, std::move(from), {outputs, taps}});
  Ints table;
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    for (const std::int64_t place : turned) table.push_back(plane * elements + place);
  }
  const Operand best = call.emit(Op::arg_max, {windows}, ArgAttributes{2, true, false});
  return call.reshape(call.emit(Op::take, {best, call.make_ints(DType::int64, {planes, outputs, taps}, table)}, ConcatAttributes{2}),
                      y->shape);
}

}  // namespace

Results lower_conv(Call& call) {
  WindowAttributes window = common_window(call, weight_kernel(call));
  pad_same(call, window);
  return emit_conv(call, Op::conv, std::move(window));
}

Results lower_conv_transpose(Call& call) {
  WindowAttributes window = common_window(call, weight_kernel(call));
  const std::size_t axes = window.kernel.size();
  window.output_padding = entries(call, "output_padding", axes, 0, Ints(axes, 0));
  pad_to_output_shape(call, window);
  return emit_conv(call, Op::conv_transpose, std::move(window));
}

Results lower_pool(Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 3) call.malformed("onnx.shape", "x as [N, C, spatial...]", to_string(x));
  if (!call.attribute_ints("kernel_shape")) call.malformed("onnx.attribute", "kernel_shape", "none");
  WindowAttributes window = common_window(call, entries(call, "kernel_shape", x.size() - 2, 1, {}));
  pad_same(call, window);
  window.ceil_mode = call.attribute("ceil_mode", std::int64_t{0}) != 0;
  call.lowering.inference_may_differ |= window.ceil_mode;  // it counts windows that start behind the operand
  const bool averages = call.node.op_type == "AveragePool";
  if (averages) window.count_include_pad = call.attribute("count_include_pad", std::int64_t{0}) != 0;
  const Operand y = call.emit(averages ? Op::avg_pool : Op::max_pool, {call.in(0)}, window);
  if (call.node.outputs.size() < 2 || call.node.outputs[1].empty()) return {y};
  return {y, places_of_maxima(call, y, window)};
}

Results lower_global_max_pool(Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 3) call.malformed("onnx.shape", "x as [N, C, spatial...]", to_string(x));
  WindowAttributes window;
  window.kernel.assign(x.begin() + 2, x.end());
  window.strides.assign(x.size() - 2, 1);
  window.dilations = window.strides;
  window.pads_begin.assign(x.size() - 2, 0);
  window.pads_end = window.pads_begin;
  return {call.emit(Op::max_pool, {call.in(0)}, std::move(window))};
}

// (sum of |x|^p)^(1/p) over each window, as a convolution with ones: what is padded counts 0.
Results lower_lp_pool(Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 3) call.malformed("onnx.shape", "x as [N, C, spatial...]", to_string(x));
  const std::int64_t p = call.attribute("p", std::int64_t{2});
  if (p < 1 || p > 1024) call.unsupported("onnx.attribute", "p from 1 to 1024", std::to_string(p), "use a p-norm with a small whole p");
  Operand powers = p % 2 == 0 ? call.in(0) : call.emit(Op::abs, {call.in(0)});
  if (p > 1) powers = call.emit(Op::pow, {powers}, PowAttributes{Rational(p)});
  Operand sums;
  if (call.node.op_type == "GlobalLpPool") {
    Ints axes(x.size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    sums = call.emit(Op::reduce_sum, {powers}, ReduceAttributes{axes, true});
  } else {
    if (!call.attribute_ints("kernel_shape")) call.malformed("onnx.attribute", "kernel_shape", "none");
    WindowAttributes window = common_window(call, entries(call, "kernel_shape", x.size() - 2, 1, {}));
    pad_same(call, window);
    if (call.attribute("ceil_mode", std::int64_t{0}) != 0) pad_last_window(call, window);
    window.groups = x[1];
    Shape weight = {x[1], 1};
    weight.insert(weight.end(), window.kernel.begin(), window.kernel.end());
    call.limit_fold(weight, DType::float64);
    const Operand ones = expand(call, reals_like(call, powers, {}, {1}), weight);
    sums = call.emit(Op::conv, {powers, ones}, std::move(window));
  }
  if (p == 1) return {sums};
  if (p == 2) return {call.emit(Op::sqrt, {sums})};
  return {call.emit(Op::pow, {sums}, PowAttributes{Rational(1, p)})};
}

}  // namespace assay::onnx
