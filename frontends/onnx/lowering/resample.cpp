// Padding and block moves: index maps along single axes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "frontends/onnx/lowering/handlers.h"

namespace assay::onnx {
namespace {

using Ints = std::vector<std::int64_t>;

constexpr std::int64_t kLargestFactor = (std::int64_t{1} << 31) - 1;  // pads, block sizes, factors

struct Pads {
  Ints before, after;  // per axis of the operand
};

Pads pads_of(const Call& call, std::size_t rank) {
  const bool as_inputs = call.opset >= 11;
  if (!as_inputs && !call.attribute_ints("pads")) call.malformed("onnx.attribute", "pads", "none");
  const Ints given = as_inputs ? call.ints(1, "pads") : *call.attribute_ints("pads");
  Ints axes(rank);
  std::iota(axes.begin(), axes.end(), 0);
  if (call.has(3)) axes = call.ints(3, "axes");
  (void)call.distinct_axes(axes, rank);
  if (given.size() != 2 * axes.size())
    call.malformed("onnx.shape", std::to_string(2 * axes.size()) + " pads", std::to_string(given.size()));
  Pads pads{Ints(rank, 0), Ints(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], rank));
    pads.before[axis] = given[i];
    pads.after[axis] = given[i + axes.size()];
    if (std::max(std::abs(given[i] / 2), std::abs(given[i + axes.size()] / 2)) > kLargestFactor)
      call.malformed("onnx.shape", "pads below 2^32", to_string(given));
  }
  return pads;
}

double finite(const Call& call, double value) {
  if (!std::isfinite(value))
    call.unsupported("onnx.nonfinite", "a finite padding value", std::to_string(value), "pad with a finite number");
  return value;
}

double pad_value(const Call& call) {
  if (call.opset < 11) return finite(call, static_cast<double>(call.attribute("value", 0.0F)));
  if (!call.has(2)) return 0;
  if (is_float(call.in(0)->dtype)) return finite(call, call.real(2, "a padding value"));
  const Ints value = call.ints(2, "a padding value");
  constexpr std::int64_t kExact = std::int64_t{1} << 53;  // integers up to here are doubles
  if (value.size() != 1 || value.front() < -kExact || value.front() > kExact || !fits(call.in(0)->dtype, value.front())) {
    call.malformed("onnx.input", "one padding value of the operand's type", to_string(value));
  }
  return static_cast<double>(value.front());
}

// The source index of position i of an axis of this extent, i in [-before, extent + after).
std::int64_t mirrored(const std::string& mode, std::int64_t i, std::int64_t extent) {
  if (mode == "edge") return std::clamp(i, std::int64_t{0}, extent - 1);
  if (mode == "wrap") return ((i % extent) + extent) % extent;
  const std::int64_t period = std::max(2 * (extent - 1), std::int64_t{1});  // reflect: 0 1 2 .. extent-1 .. 2 1 0 1 ..
  const std::int64_t phase = ((i % period) + period) % period;
  return std::min(phase, period - phase);
}

Operand pad_by_index(Call& call, const std::string& mode, const Pads& pads) {
  Operand result = call.in(0);
  for (std::size_t axis = 0; axis < pads.before.size(); ++axis) {
    const std::int64_t extent = call.shape(0)[axis], before = pads.before[axis], after = pads.after[axis];
    if (before == 0 && after == 0) continue;
    if (before < 0 || after < 0 || extent == 0)
      call.unsupported("onnx.pad", "pads >= 0 of a non-empty axis in mode " + mode, to_string(call.shape(0)), "crop with Slice");
    call.limit_fold({before + extent + after}, DType::int64);
    Ints indices(static_cast<std::size_t>(before + extent + after));
    for (std::size_t i = 0; i < indices.size(); ++i) indices[i] = mirrored(mode, static_cast<std::int64_t>(i) - before, extent);
    result = gather_axis(call, result, static_cast<std::int64_t>(axis), std::move(indices));
  }
  return result;
}

std::int64_t block_size(const Call& call) {
  const std::int64_t size = call.attribute("blocksize", std::int64_t{0});
  if (size < 1 || size > 32768 || call.shape(0).size() != 4) {
    call.malformed("onnx.shape", "blocksize from 1 to 32768 and an operand [N, C, H, W]",
                   std::to_string(size) + " and " + to_string(call.shape(0)));
  }
  return size;
}

bool depth_first(const Call& call) {
  const std::string mode = call.attribute("mode", "DCR");
  if (mode != "DCR" && mode != "CRD") call.malformed("onnx.attribute", "mode DCR or CRD", printable(mode));
  return mode == "DCR";
}

}  // namespace

Results lower_pad(Call& call) {
  const std::string mode = call.attribute("mode", "constant");
  const Pads pads = pads_of(call, call.shape(0).size());
  if (mode == "reflect" || mode == "edge" || mode == "wrap") return {pad_by_index(call, mode, pads)};
  if (mode != "constant") call.malformed("onnx.attribute", "mode constant, reflect, edge or wrap", printable(mode));
  const auto is_zero = [](std::int64_t pad) { return pad == 0; };
  const double value = pad_value(call);
  if (std::all_of(pads.before.begin(), pads.before.end(), is_zero) && std::all_of(pads.after.begin(), pads.after.end(), is_zero))
    return {call.in(0)};
  return {call.emit(Op::pad, {call.in(0)}, PadAttributes{pads.before, pads.after, value})};
}

Results lower_depth_to_space(Call& call) {
  const std::int64_t b = block_size(call);
  const Shape& x = call.shape(0);
  const std::int64_t c = x[1] / (b * b);
  const bool dcr = depth_first(call);
  const Operand blocks = call.reshape(call.in(0), dcr ? Shape{x[0], b, b, c, x[2], x[3]} : Shape{x[0], c, b, b, x[2], x[3]});
  const Operand moved = call.emit(Op::permute, {blocks}, PermuteAttributes{dcr ? Ints{0, 3, 4, 1, 5, 2} : Ints{0, 1, 4, 2, 5, 3}});
  return {call.reshape(moved, {x[0], c, x[2] * b, x[3] * b})};
}

Results lower_space_to_depth(Call& call) {
  const std::int64_t b = block_size(call);
  const Shape& x = call.shape(0);
  const Operand blocks = call.reshape(call.in(0), {x[0], x[1], x[2] / b, b, x[3] / b, b});
  const Operand moved =
      call.emit(Op::permute, {blocks}, PermuteAttributes{depth_first(call) ? Ints{0, 3, 5, 1, 2, 4} : Ints{0, 1, 3, 5, 2, 4}});
  return {call.reshape(moved, {x[0], x[1] * b * b, x[2] / b, x[3] / b})};
}

}  // namespace assay::onnx
