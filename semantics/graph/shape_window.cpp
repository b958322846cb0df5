// Shape rules of convolutions and pools (side conditions: semantics/ops/{conv,conv_transpose,pool}.cpp).
#include "semantics/graph/shape_rules.h"

namespace assay::shape_rules {

namespace {

std::string text_of(const WindowAttributes& w) {
  return "kernel " + to_string(w.kernel) + ", strides " + to_string(w.strides) + ", dilations " + to_string(w.dilations) + ", pads " +
         to_string(w.pads_begin) + " and " + to_string(w.pads_end) + ", output padding " + to_string(w.output_padding) + ", groups " +
         std::to_string(w.groups);
}

// All `rank` entries lie in [least, 2^31).
bool entries_from(const std::vector<std::int64_t>& entries, std::size_t rank, std::int64_t least) {
  bool fine = entries.size() == rank;
  for (const std::int64_t entry : entries) fine = fine && entry >= least && entry <= static_cast<std::int64_t>(kMaximumElements);
  return fine;
}

// Whether the entries are all zero or absent.
bool is_unused(const std::vector<std::int64_t>& entries) {
  for (const std::int64_t entry : entries) {
    if (entry != 0) return false;
  }
  return true;
}

// Whether the attributes used by the op lie in their ranges, and the others have their defaults.
bool attributes_fit(Op op, const WindowAttributes& w, std::size_t rank) {
  const bool pools = op == Op::max_pool || op == Op::avg_pool;
  const bool common = entries_from(w.kernel, rank, 1) && entries_from(w.strides, rank, 1) && entries_from(w.dilations, rank, 1) &&
                      entries_from(w.pads_begin, rank, 0) && entries_from(w.pads_end, rank, 0);
  const bool output_padding = is_unused(w.output_padding) || (op == Op::conv_transpose && entries_from(w.output_padding, rank, 0));
  const bool groups = pools ? w.groups == 1 : w.groups >= 1;
  return common && output_padding && groups && (pools || !w.ceil_mode) && (op == Op::avg_pool || !w.count_include_pad);
}

// The extent that the dilated kernel covers; both factors are below 2^31.
Wide covered(const WindowAttributes& w, std::size_t axis) { return static_cast<Wide>(w.dilations[axis]) * (w.kernel[axis] - 1) + 1; }

// The number of window positions along one axis; 0 if the window does not fit.
Wide positions(Op op, const WindowAttributes& w, std::size_t axis, std::int64_t extent) {
  const Wide stride = w.strides[axis];
  const Wide pads = static_cast<Wide>(w.pads_begin[axis]) + w.pads_end[axis];
  if (op == Op::conv_transpose) {
    const std::int64_t more = w.output_padding.empty() ? 0 : w.output_padding[axis];
    return extent == 0 ? 0 : stride * (extent - 1) + more + covered(w, axis) - pads;
  }
  const Wide room = extent + pads - covered(w, axis);
  if (room < 0) return 0;
  if (!w.ceil_mode) return room / stride + 1;
  const Wide count = (room + stride - 1) / stride + 1;
  // A last window that starts in the padding at the end is not counted.
  return (count - 1) * stride >= static_cast<Wide>(extent) + w.pads_begin[axis] ? count - 1 : count;
}

// Whether window position o has a kernel position inside the operand: the first k whose index is >= 0 has an
// index < extent.
bool window_meets_the_operand(const WindowAttributes& w, std::size_t axis, std::int64_t extent, std::int64_t o) {
  const std::int64_t start = o * w.strides[axis] - w.pads_begin[axis];  // below 2^63: o and the stride are below 2^31
  const std::int64_t k = start >= 0 ? 0 : (-start + w.dilations[axis] - 1) / w.dilations[axis];
  return k < w.kernel[axis] && start + k * w.dilations[axis] < extent;
}

// Whether every window position has a kernel position inside the operand. For positions that start inside the operand
// or after it, the last one is the worst. For those that start before it, the first needs the largest k. The index met
// there is start modulo the dilation, which is inside if extent >= dilation; otherwise these residues repeat with a
// period, and extent + 1 distinct ones cannot all be < extent.
bool every_window_meets_the_operand(const WindowAttributes& w, std::size_t axis, std::int64_t extent, std::int64_t count) {
  const std::int64_t different = extent >= w.dilations[axis] ? 1 : extent + 1;
  for (std::int64_t o = 0; o < count && o < different; ++o) {
    if (!window_meets_the_operand(w, axis, extent, o)) return false;
  }
  return window_meets_the_operand(w, axis, extent, count - 1);
}

// S1 .. S5: ranks, attributes, weights, channels, bias. Returns the result's channels.
Outcome<std::int64_t> check_convolution(const Call& call) {
  const Shape &x = call.shape(0), &w = call.shape(1);
  const auto& attributes = call.get<WindowAttributes>();
  if (x.size() < 3 || w.size() != x.size()) {
    return violated(call, 1, "x is [N, C, spatial...], the weight has the same rank", to_string(x) + " and " + to_string(w));
  }
  if (!attributes_fit(call.op, attributes, x.size() - 2)) {
    return violated(call, 2, "one kernel extent, stride, dilation >= 1 and pads >= 0 per spatial axis, groups >= 1", text_of(attributes));
  }
  if (Shape(w.begin() + 2, w.end()) != attributes.kernel) {
    return violated(call, 3, "the kernel attribute is the weight's spatial shape", text_of(attributes) + ", weight " + to_string(w));
  }
  const std::int64_t groups = attributes.groups;
  const bool transposed = call.op == Op::conv_transpose;
  const std::int64_t channels_of_weight = transposed ? w[0] : w[0] / groups * groups;
  const bool channels_agree =
      transposed ? w[0] == x[1] && x[1] % groups == 0 : x[1] % groups == 0 && w[1] == x[1] / groups && channels_of_weight == w[0];
  if (!channels_agree) {
    return violated(call, 4,
                    transposed ? "weight [C, M/groups, ...], groups divides C" : "weight [M, C/groups, ...], groups divides C and M",
                    to_string(x) + " and " + to_string(w) + ", groups " + std::to_string(groups));
  }
  const Wide features = transposed ? static_cast<Wide>(w[1]) * groups : w[0];
  if (features > static_cast<Wide>(kMaximumElements)) return violated(call, 4, "fewer than 2^31 channels", text_of(attributes));
  const auto channels = static_cast<std::int64_t>(features);
  if (call.operands.size() == 3 && call.shape(2) != Shape{channels}) {
    return violated(call, 5, "a bias of shape [" + std::to_string(channels) + "]", to_string(call.shape(2)));
  }
  return channels;
}

// S1, S2 of the pools. Returns the result's channels.
Outcome<std::int64_t> check_pool(const Call& call) {
  const Shape& x = call.shape(0);
  const auto& attributes = call.get<WindowAttributes>();
  if (x.size() < 3) return violated(call, 1, "x is [N, C, spatial...]", to_string(x));
  if (!attributes_fit(call.op, attributes, x.size() - 2)) {
    return violated(call, 2, "one kernel extent, stride, dilation >= 1 and pads >= 0 per spatial axis, no groups", text_of(attributes));
  }
  return x[1];
}

}  // namespace

Outcome<Shape> window_shape(const Call& call) {
  const bool pools = call.op == Op::max_pool || call.op == Op::avg_pool;
  const int fits = pools ? 3 : 6;  // the number of the condition that the window fits
  Outcome<std::int64_t> channels = pools ? check_pool(call) : check_convolution(call);
  if (!channels) return channels.rejection();
  const Shape& x = call.shape(0);
  const auto& attributes = call.get<WindowAttributes>();
  Shape result = {x[0], channels.value()};
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis) {
    const Wide count = positions(call.op, attributes, axis, x[axis + 2]);
    if (count < 1 || count > static_cast<Wide>(kMaximumElements)) {
      return violated(call, fits, "at least one window position and fewer than 2^31 along each axis",
                      "spatial axis " + std::to_string(axis) + " of " + to_string(x) + " with " + text_of(attributes));
    }
    result.push_back(static_cast<std::int64_t>(count));
  }
  std::size_t elements = 0;
  if (!checked_element_count(result, kMaximumElements, elements))
    return violated(call, fits, "at most 2^31 - 1 elements", to_string(result));
  for (std::size_t axis = 0; pools && axis + 2 < x.size(); ++axis) {
    if (!every_window_meets_the_operand(attributes, axis, x[axis + 2], result[axis + 2])) {
      return violated(call, 4, "every window holds an element of x",
                      "spatial axis " + std::to_string(axis) + " of " + to_string(x) + " with " + text_of(attributes));
    }
  }
  return result;
}

}  // namespace assay::shape_rules
