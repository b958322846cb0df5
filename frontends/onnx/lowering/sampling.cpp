// Sampling at places that a network computes: GridSample, AffineGrid, DeformConv, RoiAlign.
//
// The weight of element i at the coordinate x is a function of x - i: the hat of linear interpolation, the cubic convolution kernel,
// or equality with the rounded coordinate. So a sample is a product of weights per axis with the operand, exact in the reals and a
// graph of ordinary ops; its size is samples times elements.
#include <algorithm>
#include <array>
#include <cmath>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

enum class Kernel : std::uint8_t { nearest, linear, cubic };
enum class Outside : std::uint8_t { zeros, border, reflection };

Operand real(Call& call, const Operand& like, double value) { return call.make_real_like(like, value); }
Operand plus(Call& call, const Operand& x, double value) { return call.emit(Op::add, {x, real(call, x, value)}); }

// first, first + 1, ... as reals.
Operand counting(Call& call, const Operand& like, std::int64_t first, std::int64_t count) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>(first + i));
  return reals_like(call, like, {count}, values);
}

// With d = |x - i|, c(d) = near(min(d, 1)) + far(clip(d, 1, 2)): near(1) = far(1) = far(2) = 0.
Operand cubic_weights(Call& call, const Operand& distance) {
  constexpr double a = -0.75;
  const Operand n = call.emit(Op::clip, {distance}, ClipAttributes{0, 1}), f = call.emit(Op::clip, {distance}, ClipAttributes{1, 2});
  const auto times = [&](const Operand& x, const Operand& y) { return call.emit(Op::mul, {x, y}); };
  const Operand near = plus(call, times(plus(call, scaled(call, n, a + 2), -(a + 3)), times(n, n)), 1);
  const Operand far = plus(call, times(plus(call, times(plus(call, scaled(call, f, a), -5 * a), f), 8 * a), f), -4 * a);
  return call.emit(Op::add, {near, far});
}

// Coordinates [B, P] to weights [B, P, count] of the elements first, first + 1, ...
Operand weights_of(Call& call, Kernel kernel, const Operand& x, std::int64_t first, std::int64_t count) {
  const Operand column = call.reshape(x, {x->shape[0], x->shape[1], 1}), places = counting(call, x, first, count);
  if (kernel == Kernel::nearest) return call.emit(Op::where, {call.emit(Op::equal, {column, places}), real(call, x, 1), real(call, x, 0)});
  const Operand distance = call.emit(Op::abs, {call.emit(Op::sub, {column, places})});
  if (kernel == Kernel::cubic) return cubic_weights(call, distance);
  return call.emit(Op::relu, {call.emit(Op::sub, {real(call, x, 1), distance})});
}

// Samples of x [B, C, extents...] by one weight table [B, P, extent] per spatial axis: [B, C, P].
Operand sampled(Call& call, const Operand& x, const std::vector<Operand>& weights) {
  const std::int64_t batch = x->shape[0], samples = weights.front()->shape[1];
  std::int64_t elements = 1;
  Operand all;
  for (const Operand& axis : weights) {
    const std::int64_t extent = axis->shape[2];
    elements *= extent;
    call.limit_fold({batch, samples, elements}, DType::float64);
    all = all ? call.reshape(call.emit(Op::mul, {call.reshape(all, {batch, samples, elements / extent, 1}),
                                                 call.reshape(axis, {batch, samples, 1, extent})}),
                             {batch, samples, elements})
              : axis;
  }
  return call.emit(Op::matmul, {call.reshape(x, {batch, x->shape[1], elements}), permute(call, all, {0, 2, 1})});
}

struct Place {
  bool corners = false;  // -1 and 1 are the centres of the outer elements, not their far sides
  Outside outside = Outside::zeros;
};

// From [-1, 1] to element numbers.
Operand element_numbers(Call& call, const Operand& grid, std::int64_t extent, const Place& place) {
  const auto n = static_cast<double>(extent);
  return place.corners ? scaled(call, plus(call, grid, 1), (n - 1) / 2)
                       : scaled(call, plus(call, scaled(call, plus(call, grid, 1), n), -1), 0.5);
}

// lo + r - | (x - lo) mod 2r - r |: the zigzag between lo and lo + r.
Operand brought_inside(Call& call, const Operand& x, std::int64_t extent, const Place& place) {
  const double lo = place.corners ? 0 : -0.5, r = static_cast<double>(extent) - 1 - 2 * lo;
  if (place.outside == Outside::zeros) return x;
  if (place.outside == Outside::border) return call.emit(Op::clip, {x}, ClipAttributes{0, static_cast<double>(extent - 1)});
  if (r == 0) return call.emit(Op::clip, {x}, ClipAttributes{lo, lo});
  const Operand wave = call.emit(Op::mod, {plus(call, x, -lo), real(call, x, 2 * r)}, ModAttributes{});
  return plus(call, call.emit(Op::neg, {call.emit(Op::abs, {plus(call, wave, -r)})}), lo + r);
}

// The element at position i of an axis that is continued beyond its ends.
std::int64_t element_at(std::int64_t i, std::int64_t extent, const Place& place) {
  if (place.outside == Outside::border || extent == 1) return std::clamp<std::int64_t>(i, 0, extent - 1);
  const std::int64_t period = place.corners ? 2 * extent - 2 : 2 * extent, at = ((i % period) + period) % period;
  return at < extent ? at : (place.corners ? period : period - 1) - at;
}

Kernel kernel_of(const Call& call) {
  const std::string mode = call.attribute("mode", call.opset < 20 ? "bilinear" : "linear");
  if (mode == "nearest") return Kernel::nearest;
  if (mode == (call.opset < 20 ? "bilinear" : "linear")) return Kernel::linear;
  if (mode == (call.opset < 20 ? "bicubic" : "cubic")) return Kernel::cubic;
  call.malformed("onnx.attribute", "mode nearest, linear or cubic", printable(mode));
}

Place place_of_grid(const Call& call) {
  Place place{call.attribute("align_corners", std::int64_t{0}) != 0, Outside::zeros};
  const std::string padding = call.attribute("padding_mode", "zeros");
  if (padding != "zeros" && padding != "border" && padding != "reflection")
    call.malformed("onnx.attribute", "padding_mode zeros, border or reflection", printable(padding));
  place.outside = padding == "zeros" ? Outside::zeros : padding == "border" ? Outside::border : Outside::reflection;
  return place;
}

}  // namespace

Results lower_grid_sample(Call& call) {
  const Shape x = call.shape(0), grid = call.shape(1);
  const std::size_t axes = x.size() < 3 ? 0 : x.size() - 2;
  const bool fits = axes > 0 && grid.size() == x.size() && grid.back() == static_cast<std::int64_t>(axes) && grid[0] == x[0] &&
                    std::find(x.begin(), x.end(), 0) == x.end();
  if (!fits)
    call.malformed("onnx.shape", "x [N, C, extents...] and a grid [N, extents..., number of extents]",
                   to_string(x) + ", " + to_string(grid));
  const Kernel kernel = kernel_of(call);
  const Place place = place_of_grid(call);
  const auto samples = static_cast<std::int64_t>(element_count(Shape(grid.begin() + 1, grid.end() - 1)));
  Operand elements = call.in(0);
  std::vector<Operand> weights;
  for (std::size_t axis = 0; axis < axes; ++axis) {
    const std::int64_t extent = x[axis + 2];
    const Operand column = slice_axis(call, call.in(1), axes + 1, static_cast<std::int64_t>(axes - 1 - axis), 1);
    Operand at = element_numbers(call, call.reshape(column, {x[0], samples}), extent, place);
    if (kernel == Kernel::nearest) at = call.emit(Op::round, {at});
    // Beyond a border each cubic tap moves inside by itself: two elements further out all of them are the outer element.
    const bool taps_move = kernel == Kernel::cubic && place.outside == Outside::border;
    at = taps_move ? call.emit(Op::clip, {at}, ClipAttributes{-2, static_cast<double>(extent + 1)})
                   : brought_inside(call, at, extent, place);
    const std::int64_t margin = place.outside == Outside::zeros || kernel == Kernel::nearest ? 0 : taps_move ? 3 : 2;
    weights.push_back(weights_of(call, kernel, at, -margin, extent + 2 * margin));
    if (margin == 0) continue;
    Ints around;
    for (std::int64_t i = -margin; i < extent + margin; ++i) around.push_back(element_at(i, extent, place));
    elements = gather_axis(call, elements, static_cast<std::int64_t>(axis + 2), std::move(around));
  }
  Shape result = {x[0], x[1]};
  result.insert(result.end(), grid.begin() + 1, grid.end() - 1);
  return {call.reshape(sampled(call, elements, weights), std::move(result))};
}

// theta times (x, y[, z], 1) at the places of a regular grid over [-1, 1].
Results lower_affine_grid(Call& call) {
  const Ints size = call.ints(1, "a size");
  const Shape& theta = call.shape(0);
  const std::size_t axes = size.size() < 4 ? 0 : size.size() - 2;
  const auto rows = static_cast<std::int64_t>(axes);
  bool fits = (axes == 2 || axes == 3) && theta == Shape{size[0], rows, rows + 1};
  for (const std::int64_t extent : size) fits = fits && extent > 0 && extent <= kLargestExtent;
  if (!fits)
    call.malformed("onnx.shape", "theta [N, 2, 3] with a size [N, C, H, W], or [N, 3, 4] with [N, C, D, H, W]",
                   to_string(theta) + ", " + to_string(size));
  const bool corners = call.attribute("align_corners", std::int64_t{0}) != 0;
  const Shape extents(size.begin() + 2, size.end());
  if (corners && std::find(extents.begin(), extents.end(), 1) != extents.end())
    call.unsupported("onnx.attribute", "extents of at least 2 with align_corners", to_string(extents),
                     "programs differ on where a single place is");
  const auto places = static_cast<std::int64_t>(element_count(extents));
  call.limit_fold({places, rows + 1}, DType::float64);
  std::vector<double> above, below;
  for (std::size_t axis = axes; axis-- > 0;)
    below.push_back(static_cast<double>(corners ? std::max<std::int64_t>(extents[axis] - 1, 1) : extents[axis]));
  below.push_back(1);
  Ints index(axes, 0);
  for (std::int64_t p = 0; p < places; ++p, (void)next_index(index, extents)) {
    for (std::size_t axis = axes; axis-- > 0;)
      above.push_back(static_cast<double>(2 * index[axis] + 1 - extents[axis]));  // times 1 / extent, or 1 / (extent - 1)
    above.push_back(1);
  }
  const Operand& t = call.in(0);
  const Operand base = call.emit(Op::div, {reals_like(call, t, {places, rows + 1}, above), reals_like(call, t, {rows + 1}, below)});
  Shape result = {size[0]};
  result.insert(result.end(), extents.begin(), extents.end());
  result.push_back(rows);
  return {call.reshape(call.emit(Op::matmul, {base, permute(call, t, {0, 2, 1})}), std::move(result))};
}

namespace {

struct Deformed {
  std::array<std::int64_t, 2> kernel{}, strides{}, dilations{}, pads{}, extents{}, results{};
  std::int64_t groups = 1, offset_groups = 1;
};

Deformed deformed_window(const Call& call) {
  const Shape &x = call.shape(0), &w = call.shape(1), &offset = call.shape(2);
  if (x.size() != 4 || w.size() != 4 || offset.size() != 4) call.unsupported("onnx.shape", "x [N, C, H, W]", to_string(x), "deform images");
  Deformed d;
  const Ints strides = call.attribute_ints("strides").value_or(Ints{1, 1}),
             dilations = call.attribute_ints("dilations").value_or(Ints{1, 1}),
             pads = call.attribute_ints("pads").value_or(Ints{0, 0, 0, 0}),
             kernel = call.attribute_ints("kernel_shape").value_or(Ints{w[2], w[3]});
  d.groups = call.attribute("group", std::int64_t{1});
  d.offset_groups = call.attribute("offset_group", std::int64_t{1});
  bool fits =
      strides.size() == 2 && dilations.size() == 2 && pads.size() == 4 && kernel == Ints{w[2], w[3]} && d.groups > 0 && d.offset_groups > 0;
  for (std::size_t axis = 0; fits && axis < 2; ++axis) {
    for (const std::int64_t part : {strides[axis], dilations[axis]}) fits = fits && part > 0 && part <= kLargestExtent;
    for (const std::int64_t part : {pads[axis], pads[axis + 2]}) fits = fits && part >= 0 && part <= kLargestExtent;
    d.kernel[axis] = kernel[axis];
    d.strides[axis] = strides[axis];
    d.dilations[axis] = dilations[axis];
    d.pads[axis] = pads[axis];
    d.extents[axis] = x[axis + 2];
    const std::int64_t room = fits ? x[axis + 2] + pads[axis] + pads[axis + 2] - (kernel[axis] - 1) * dilations[axis] - 1 : -1;
    d.results[axis] = room < 0 ? 0 : room / strides[axis] + 1;
  }
  const std::int64_t taps = d.kernel[0] * d.kernel[1];
  fits = fits && x[1] % d.offset_groups == 0 && w[0] % d.groups == 0 && w[1] * d.groups == x[1] &&
         offset == Shape{x[0], 2 * d.offset_groups * taps, d.results[0], d.results[1]} &&
         (!call.has(4) || call.shape(4) == Shape{x[0], d.offset_groups * taps, d.results[0], d.results[1]});
  if (!fits)
    call.malformed("onnx.shape", "a window whose offsets and mask have one entry per tap and result",
                   to_string(x) + ", " + to_string(w) + ", " + to_string(offset));
  return d;
}

// Where the taps stand without offsets, along one axis: [taps, results], a constant.
Operand tap_places(Call& call, const Deformed& d, std::size_t axis) {
  std::vector<double> values;
  for (std::int64_t k = 0; k < d.kernel[0] * d.kernel[1]; ++k) {
    for (std::int64_t p = 0; p < d.results[0] * d.results[1]; ++p) {
      const std::int64_t tap = axis == 0 ? k / d.kernel[1] : k % d.kernel[1], at = axis == 0 ? p / d.results[1] : p % d.results[1];
      values.push_back(static_cast<double>(at * d.strides[axis] - d.pads[axis] + tap * d.dilations[axis]));
    }
  }
  return reals_like(call, call.in(2), {d.kernel[0] * d.kernel[1], d.results[0] * d.results[1]}, values);
}

// The elements under the taps of one offset group: [N, C / groups, taps * results].
Operand seen(Call& call, const Deformed& d, std::int64_t group) {
  const std::int64_t batch = call.shape(0)[0], taps = d.kernel[0] * d.kernel[1], results = d.results[0] * d.results[1];
  const Operand pairs = call.reshape(slice_axis(call, call.in(2), 1, 2 * taps * group, 2 * taps), {batch, taps, 2, results});
  std::vector<Operand> weights;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const Operand moves = call.reshape(slice_axis(call, pairs, 2, static_cast<std::int64_t>(axis), 1), {batch, taps, results});
    const Operand at = call.reshape(call.emit(Op::add, {moves, tap_places(call, d, axis)}), {batch, taps * results});
    weights.push_back(weights_of(call, Kernel::linear, at, 0, d.extents[axis]));
  }
  const std::int64_t channels = call.shape(0)[1] / d.offset_groups;
  const Operand values = sampled(call, slice_axis(call, call.in(0), 1, channels * group, channels), weights);
  if (!call.has(4)) return values;
  return call.emit(Op::mul, {values, call.reshape(slice_axis(call, call.in(4), 1, taps * group, taps), {batch, 1, taps * results})});
}

}  // namespace

Results lower_deform_conv(Call& call) {
  const Deformed d = deformed_window(call);
  const Shape x = call.shape(0), w = call.shape(1);
  const std::int64_t taps = d.kernel[0] * d.kernel[1], results = d.results[0] * d.results[1];
  std::vector<Operand> parts;
  for (std::int64_t group = 0; group < d.offset_groups; ++group) parts.push_back(seen(call, d, group));
  const Operand columns = call.reshape(concat(call, parts, 1), {x[0], x[1] * taps, results});
  parts.clear();
  for (std::int64_t group = 0; group < d.groups; ++group) {
    const Operand rows =
        call.reshape(slice_axis(call, call.in(1), 0, w[0] / d.groups * group, w[0] / d.groups), {w[0] / d.groups, w[1] * taps});
    parts.push_back(call.emit(Op::matmul, {rows, slice_axis(call, columns, 1, w[1] * taps * group, w[1] * taps)}));
  }
  const Operand y = call.reshape(concat(call, parts, 1), {x[0], w[0], d.results[0], d.results[1]});
  return {call.has(3) ? call.emit(Op::add, {y, call.reshape(call.in(3), {w[0], 1, 1})}) : y};
}

namespace {

// RoiAlign along one axis. Sample k of `samples` in each region is at first + size (k + 1/2) / samples, and reads the two
// elements around it. At places up to 1 beyond the ends it reads the end, further out zeros. Weights [regions, pieces, extent] of
// the means of samples / pieces samples each.
Operand region_weights(Call& call, const Operand& first, const Operand& size, std::int64_t extent, std::int64_t pieces,
                       std::int64_t samples) {
  const std::int64_t regions = first->shape[0];
  call.limit_fold({regions, samples, extent}, DType::float64);
  std::vector<double> odd;
  for (std::int64_t k = 0; k < samples; ++k) odd.push_back(static_cast<double>(2 * k + 1));
  const Operand moved = call.emit(Op::mul, {size, reals_like(call, first, {1, samples}, odd)});
  const Operand at = call.emit(Op::add, {first, call.emit(Op::div, {moved, real(call, first, 2 * static_cast<double>(samples))})});
  const Operand inside = call.emit(Op::logical_and, {call.emit(Op::less_equal, {real(call, at, -1), at}),
                                                     call.emit(Op::less_equal, {at, real(call, at, static_cast<double>(extent))})});
  const Operand clamped = call.emit(Op::clip, {at}, ClipAttributes{0, static_cast<double>(extent - 1)});
  const Operand read = weights_of(call, Kernel::linear, clamped, 0, extent);
  const Operand counted = call.emit(Op::where, {call.reshape(inside, {regions, samples, 1}), read, real(call, read, 0)});
  return call.emit(Op::reduce_mean, {call.reshape(counted, {regions, pieces, samples / pieces, extent})}, ReduceAttributes{{2}, false});
}

}  // namespace

// Means over a regular grid of bilinear samples in each piece of each region: weights of the rows times x times weights of the columns.
Results lower_roi_align(Call& call) {
  const Shape &x = call.shape(0), &rois = call.shape(1);
  const Operand& batch = call.in(2);
  const std::int64_t regions = rois.empty() ? 0 : rois[0], ratio = call.attribute("sampling_ratio", std::int64_t{0});
  const std::array<std::int64_t, 2> pieces = {call.attribute("output_height", std::int64_t{1}),
                                              call.attribute("output_width", std::int64_t{1})};
  const std::string mode = call.attribute("mode", "avg");
  const std::string frame = call.attribute("coordinate_transformation_mode", call.opset < 16 ? "output_half_pixel" : "half_pixel");
  if (x.size() != 4 || rois != Shape{regions, 4} || batch->shape != Shape{regions} || !is_integer(batch->dtype) || x[2] < 1 || x[3] < 1)
    call.malformed("onnx.shape", "x [N, C, H, W], regions [n, 4] and n integers, the image of each one",
                   to_string(x) + ", " + to_string(rois) + ", " + to_string(batch->dtype) + to_string(batch->shape));
  if (mode != "avg") {
    call.unsupported("onnx.attribute", "mode avg", printable(mode), "pool averages: runtimes differ on what is the greatest of a sample");
  }
  if (frame != "half_pixel" && frame != "output_half_pixel")
    call.malformed("onnx.attribute", "coordinate_transformation_mode half_pixel or output_half_pixel", printable(frame));
  if (ratio < 1 || ratio > kLargestExtent || std::min(pieces[0], pieces[1]) < 1 || std::max(pieces[0], pieces[1]) > kLargestExtent) {
    call.unsupported("onnx.attribute", "sampling_ratio and output extents of at least 1", std::to_string(ratio),
                     "export with a fixed sampling_ratio, such as 2: 0 takes as many samples as the region is large");
  }
  const Operand scaled_rois = scaled(call, call.in(1), static_cast<double>(call.attribute("spatial_scale", 1.0F)));
  std::array<Operand, 2> weights;
  for (std::size_t axis = 0; axis < 2; ++axis) {
    const auto corner = static_cast<std::int64_t>(1 - axis);  // x before y
    const Operand from = slice_axis(call, scaled_rois, 1, corner, 1), to = slice_axis(call, scaled_rois, 1, corner + 2, 1);
    Operand size = call.emit(Op::sub, {to, from});
    if (frame != "half_pixel") size = call.emit(Op::max, {size, real(call, size, 1)});
    const Operand first = frame == "half_pixel" ? plus(call, from, -0.5) : from;
    weights[axis] = region_weights(call, first, size, x[axis + 2], pieces[axis], pieces[axis] * ratio);
  }
  Operand images;
  if (batch->constant) {
    const Ints indices = batch->constant->to_ints();
    for (const std::int64_t index : indices) {
      if (index < 0 || index >= x[0]) call.malformed("onnx.index", "images from 0 to " + std::to_string(x[0] - 1), std::to_string(index));
    }
    images = gather_axis(call, call.in(0), 0, indices);
  } else {  // an index below 0 has no meaning here: it goes beyond the axis
    const Operand index = call.cast(batch, DType::int64);
    const auto number = [&](std::int64_t value) { return call.make_ints(DType::int64, {}, {value}); };
    images = take_axis(call, call.in(0), 0, call.emit(Op::where, {call.emit(Op::less, {index, number(0)}), number(x[0]), index}));
  }
  const Operand rows = call.reshape(weights[0], {regions, 1, pieces[0], x[2]});
  const Operand columns = permute(call, call.reshape(weights[1], {regions, 1, pieces[1], x[3]}), {0, 1, 3, 2});
  return {call.emit(Op::matmul, {call.emit(Op::matmul, {rows, images}), columns})};
}

}  // namespace assay::onnx
