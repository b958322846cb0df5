// Faults of convolutions and pools.
#include "probes/sketch.h"

namespace assay::probes {
namespace {

void add_pad_faults(Collector& c, const WindowAttributes& window) {
  const auto with = [&](WindowAttributes changed) { return [changed](Sketch& s) { return s.fitted(s.again(changed), s.node().shape); }; };
  WindowAttributes w = window;
  w.pads_end = w.pads_begin;
  if (w.pads_end != window.pads_end) c.add("with the first pads at the end, too", with(w), "onnxruntime#29631");
  w = window;
  w.pads_begin = w.pads_end;
  if (w.pads_begin != window.pads_begin) c.add("with the last pads at the beginning, too", with(w));
  const Shape none(window.kernel.size(), 0), ones(window.kernel.size(), 1);
  w = window;
  w.pads_end = none;
  if (window.pads_end != none) c.add("with last pads ignored", with(w));
  w = window;
  w.pads_begin = none;
  if (window.pads_begin != none) c.add("with first pads ignored", with(w));
  w = window;
  w.dilations = ones;
  if (window.dilations != ones) c.add("with dilations ignored", with(w), "onnxruntime#29631");
  w = window;
  w.strides = ones;
  if (window.strides != ones) c.add("with strides ignored", with(w), "pytorch#63314");
  w = window;
  w.ceil_mode = !w.ceil_mode;
  if (c.node().op == Op::max_pool || c.node().op == Op::avg_pool)
    c.add(window.ceil_mode ? "without the windows that hang over" : "with windows that hang over", with(w), "onnxruntime#29629");
  if (w.output_padding != none && !w.output_padding.empty()) {
    w = window;
    w.output_padding = none;
    c.add("with the output padding left at 0", with(w));
  }
}

void add_pool_faults(Collector& c, const WindowAttributes& window) {
  const std::size_t axes = window.kernel.size();
  c.add(
      c.node().op == Op::max_pool ? "with padding that counts as 0" : "with padding that is counted",
      [&](Sketch& s) {
        WindowAttributes bare = window;
        bare.pads_begin = bare.pads_end = Shape(axes, 0);
        PadAttributes pad{Shape(axes + 2, 0), Shape(axes + 2, 0), 0};
        for (std::size_t k = 0; k < axes; ++k) {
          pad.before[k + 2] = window.pads_begin[k];
          pad.after[k + 2] = window.pads_end[k];
        }
        return s.fitted(s.put(s.op(), {s.put(Op::pad, {s.x(0)}, pad)}, bare), s.node().shape);
      },
      "onnxruntime#26708");
  c.add("with windows one short", [&](Sketch& s) {
    WindowAttributes shorter = window;
    --shorter.kernel.back();
    return s.fitted(s.again(shorter), s.node().shape);
  });
  if (c.node().op != Op::avg_pool) return;
  c.add(
      "with padding counted the other way",
      [&](Sketch& s) {
        WindowAttributes other = window;
        other.count_include_pad = !other.count_include_pad;
        return s.again(other);
      },
      "onnxruntime#26708");
  c.add("with sums that are not divided", [&](Sketch& s) {
    WindowAttributes counted = window;
    counted.count_include_pad = true;
    return s.put(Op::scale, {s.again(counted)}, ScaleAttributes{static_cast<double>(element_count(window.kernel))});
  });
}

void add_convolution_faults(Collector& c, const WindowAttributes& window) {
  const Shape weight = c.application().node(c.application().inputs[1]).shape;
  c.add("with the kernel mirrored", [&](Sketch& s) {
    NodeId w = s.x(1);
    for (std::size_t axis = 2; axis < weight.size(); ++axis) w = s.reversed(w, axis);
    return s.again(s.with(1, w));
  });
  for (std::size_t axis = c.node().op == Op::conv ? 1 : 0; axis < weight.size(); axis += axis == 0 ? 2 : 1) {
    if (weight[axis] < 2) continue;
    c.add("without the last entry of the weight's axis " + std::to_string(axis),
          [&](Sketch& s) { return s.again(s.with(1, s.cleared_from(s.x(1), axis, weight[axis] - 1))); });
  }
  if (window.groups > 1) {
    c.add("with each group's weights used by the next", [&](Sketch& s) {
      const std::int64_t block = weight[0] / window.groups;
      return s.again(
          s.with(1, s.put(Op::concat, {s.part(s.x(1), 0, block, weight[0] - block), s.part(s.x(1), 0, 0, block)}, ConcatAttributes{0})));
    });
  }
  if (c.application().inputs.size() < 3) return;
  c.add("without bias", [](Sketch& s) { return s.again(std::vector<NodeId>{s.x(0), s.x(1)}); });
  c.add("with the bias twice", [](Sketch& s) { return s.again(s.with(2, s.put(Op::add, {s.x(2), s.x(2)}))); });
  c.add(
      "with the last channel's bias left out",
      [](Sketch& s) { return s.again(s.with(2, s.cleared_from(s.x(2), 0, s.shape(s.x(2))[0] - 1))); }, "caffe2#1347");
}

}  // namespace

void add_window_faults(Collector& c) {
  const auto* window = std::get_if<WindowAttributes>(&c.node().attributes);
  if (window == nullptr) return;
  add_pad_faults(c, *window);
  if (c.node().op == Op::max_pool || c.node().op == Op::avg_pool) {
    add_pool_faults(c, *window);
  } else {
    add_convolution_faults(c, *window);
  }
}

}  // namespace assay::probes
