// Gradients of convolutions and pools. Letters: s strides, r dilations, p pads, K kernel, I and O extents of operand and result.
#include <limits>

#include "runtime/autodiff/families.h"

namespace assay::runtime::autodiff {

namespace {

using Extents = std::vector<std::int64_t>;

Extents spatial(const Shape& shape) { return {shape.begin() + 2, shape.end()}; }

// The conv_transpose that sends the result's extents of `w` back to those of its operand.
WindowAttributes back_to(const WindowAttributes& w, const Extents& operand, const Extents& result) {
  WindowAttributes back = w;
  back.count_include_pad = back.ceil_mode = false;
  back.output_padding.assign(operand.size(), 0);
  for (std::size_t i = 0; i < operand.size(); ++i) {
    const std::int64_t reach = w.strides[i] * (result[i] - 1) + w.dilations[i] * (w.kernel[i] - 1) + 1;
    const std::int64_t over = reach - w.pads_begin[i] - operand[i];  // the part of the last window behind the operand
    back.pads_end[i] = over > 0 ? over : 0;
    back.output_padding[i] = over > 0 ? 0 : -over;
  }
  return back;
}

// w_bar[m, c, k] = sum over n and o of g[n, m, o] x[n, c, o s - p + k r]: a convolution again, of x with the channels for a batch and
// the batch for channels, with kernel g, stride r and dilation s. x [N, G C, I...], g [N, G M, O...] -> [G M, C, K...].
Term weight_bar(const Term& x, const Term& g, const WindowAttributes& w) {
  const Shape &from = x.shape(), &to = g.shape();  // read before the next op
  const std::int64_t batch = from[0], channels = from[1] / w.groups;
  WindowAttributes swapped = w;
  swapped.kernel = spatial(to);
  swapped.strides = w.dilations;
  swapped.dilations = w.strides;
  swapped.output_padding.clear();
  Shape grouped{batch, w.groups, channels}, ahead{channels, w.groups * batch};
  std::vector<std::int64_t> axes{2, 1, 0}, exchange{1, 0}, none(from.size(), 0), crop(from.size(), 0);
  for (std::size_t i = 2; i < from.size(); ++i) {
    const std::size_t k = i - 2;
    const std::int64_t over = w.dilations[k] * (w.kernel[k] - 1) + w.strides[k] * (to[i] - 1) + 1 - from[i] - w.pads_begin[k];
    swapped.pads_end[k] = over > 0 ? over : 0;
    crop[i] = over > 0 ? 0 : over;
    grouped.push_back(from[i] + crop[i]);
    ahead.push_back(from[i] + crop[i]);
    axes.push_back(static_cast<std::int64_t>(i) + 1);
    exchange.push_back(static_cast<std::int64_t>(i));
  }
  const Term read = reshape(permute(reshape(pad(x, none, crop), grouped), axes), ahead);
  return permute(read.apply(Op::conv, permute(g, exchange), swapped), exchange);
}

Term bias_bar(const Term& g) {
  std::vector<std::int64_t> axes{0};
  for (std::size_t i = 2; i < g.shape().size(); ++i) axes.push_back(static_cast<std::int64_t>(i));
  return sum(g, axes, false);
}

}  // namespace

Cotangents conv_bars(const Applied& a) {
  const auto& w = a.get<WindowAttributes>();
  Cotangents bars(a.operands.size(), kNone);
  if (a.wanted[0]) bars[0] = a.g().apply(Op::conv_transpose, a.x(1), back_to(w, spatial(a.x(0).shape()), spatial(a.g().shape()))).ref();
  if (a.wanted[1]) bars[1] = weight_bar(a.x(0), a.g(), w).ref();
  if (bars.size() == 3 && a.wanted[2]) bars[2] = bias_bar(a.g()).ref();
  return bars;
}

Cotangents conv_transpose_bars(const Applied& a) {
  const auto& w = a.get<WindowAttributes>();
  const Shape shape = a.x().shape();
  Cotangents bars(a.operands.size(), kNone);
  if (a.wanted[0]) {
    WindowAttributes back = w;
    back.output_padding.clear();
    Term bar = a.g().apply(Op::conv, a.x(1), back);
    const Shape& found = bar.shape();                              // read before the next op
    std::vector<std::int64_t> none(shape.size(), 0), crop = none;  // output padding of a stride and more makes further windows
    for (std::size_t i = 2; i < shape.size(); ++i) crop[i] = shape[i] - found[i];
    bars[0] = pad(bar, none, crop).ref();
  }
  if (a.wanted[1]) bars[1] = weight_bar(a.g(), a.x(), w).ref();
  if (bars.size() == 3 && a.wanted[2]) bars[2] = bias_bar(a.g()).ref();
  return bars;
}

namespace {

// Windows laid out: positions and taps in row-major order.
struct Taps {
  Taps(const WindowAttributes& w, const Extents& operand, const Extents& result);
  std::vector<std::int64_t> places;  // per position and tap: the operand's position, or `outside`
  std::int64_t outside = 0, positions = 1, taps = 1;
  bool pads = false;
};

// Along each axis the places of all positions and taps; over several axes their products.
Taps::Taps(const WindowAttributes& w, const Extents& operand, const Extents& result) {
  places = {0};
  outside = extent_product(operand, 0, operand.size());
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    std::vector<std::int64_t> finer;
    for (std::int64_t position = 0; position < positions; ++position) {
      for (std::int64_t o = 0; o < result[axis]; ++o) {
        for (std::int64_t tap = 0; tap < taps; ++tap) {
          const std::int64_t so_far = places[static_cast<std::size_t>(position * taps + tap)];
          for (std::int64_t k = 0; k < w.kernel[axis]; ++k) {
            const std::int64_t i = o * w.strides[axis] - w.pads_begin[axis] + k * w.dilations[axis];
            const bool inside = so_far != outside && i >= 0 && i < operand[axis];
            finer.push_back(inside ? so_far * operand[axis] + i : outside);
            pads = pads || !inside;
          }
        }
      }
    }
    places = std::move(finer);
    positions *= result[axis];
    taps *= w.kernel[axis];
  }
}

// The number of positions of each window that count, [1, 1, O...].
Term counts(const Term& like, const WindowAttributes& w, const Extents& operand, const Extents& result) {
  Shape shape{1, 1};
  std::vector<double> numbers{1};
  for (std::size_t axis = 0; axis < operand.size(); ++axis) {
    const std::int64_t more = w.count_include_pad ? w.pads_end[axis] : 0, first = w.count_include_pad ? -w.pads_begin[axis] : 0;
    std::vector<double> finer;
    for (const double so_far : numbers) {
      for (std::int64_t o = 0; o < result[axis]; ++o) {
        double met = 0;
        for (std::int64_t k = 0; k < w.kernel[axis]; ++k) {
          const std::int64_t i = o * w.strides[axis] - w.pads_begin[axis] + k * w.dilations[axis];
          if (i >= first && i < operand[axis] + more) ++met;
        }
        finer.push_back(so_far * met);
      }
    }
    numbers = std::move(finer);
    shape.push_back(result[axis]);
  }
  Emitter& emitter = like.emitter();
  if (like.dtype() == DType::float64) return {emitter, emitter.constant(Tensor::of_doubles(shape, numbers))};
  return {emitter, emitter.constant(Tensor::of_floats(shape, std::vector<float>(numbers.begin(), numbers.end())))};
}

}  // namespace

namespace {

// Windows that lie side by side: x, cut where no window reaches, seen as [planes, O, K, O, K, ...], so that a window is a set of axes.
struct Tiles {
  Tiles(const WindowAttributes& w, const Shape& operand, const Shape& result);
  bool fit = true;
  std::vector<std::int64_t> crop;  // per axis of x, at its end, not above 0
  Shape cropped, tiled, kept;      // x without the rest; its tiles; one element per tile
};

Tiles::Tiles(const WindowAttributes& w, const Shape& operand, const Shape& result)
    : crop(operand.size(), 0), cropped(operand), tiled{operand[0] * operand[1]}, kept(tiled) {
  for (std::size_t k = 0; k < w.kernel.size(); ++k) {
    const std::int64_t reach = result[k + 2] * w.kernel[k];
    fit = fit && w.strides[k] == w.kernel[k] && w.dilations[k] == 1 && w.pads_begin[k] == 0 && reach <= operand[k + 2];
    crop[k + 2] = reach - operand[k + 2];
    cropped[k + 2] = reach;
    tiled.insert(tiled.end(), {result[k + 2], w.kernel[k]});
    kept.insert(kept.end(), {result[k + 2], 1});
  }
}

// A value of the shape `tiles.tiled` in the place of x; 0 where no window reaches.
Term untiled(const Term& value, const Tiles& tiles) {
  std::vector<std::int64_t> rest = tiles.crop;
  for (std::int64_t& n : rest) n = -n;
  return pad(reshape(value, tiles.cropped), Shape(rest.size(), 0), rest);
}

}  // namespace

// Each window hands g / count to its elements: a transposed convolution with ones, plane by plane.
Term avg_pool_bar(const Applied& a) {
  const auto& w = a.get<WindowAttributes>();
  const Shape shape = a.x().shape(), result = a.g().shape();
  const Tiles tiles(w, shape, result);
  if (tiles.fit) {  // no padding, so all counts are equal
    const Term share = a.g() / a.g().exact(static_cast<double>(extent_product(w.kernel, 0, w.kernel.size())));
    return untiled(expand(reshape(share, tiles.kept), tiles.tiled), tiles);
  }
  Shape planes = result, ones{1, 1};
  planes[0] = result[0] * result[1];
  planes[1] = 1;
  ones.insert(ones.end(), w.kernel.begin(), w.kernel.end());
  const Term share = reshape(a.g(), planes) / counts(a.g(), w, spatial(shape), spatial(result));
  const Term bar = share.apply(Op::conv_transpose, expand(share.number(1), ones), back_to(w, spatial(shape), spatial(result)));
  return reshape(bar, shape);
}

// The windows laid out as [planes, positions, taps]; in each, g to the first of the greatest elements. Padding is the least finite number.
Term max_pool_bar(const Applied& a) {
  const auto& w = a.get<WindowAttributes>();
  const Shape shape = a.x().shape();
  const Taps taps(w, spatial(shape), spatial(a.g().shape()));
  const std::int64_t planes = shape[0] * shape[1];
  Term flat = reshape(a.x(), {planes, taps.outside});
  const double least = a.x().dtype() == DType::float64 ? std::numeric_limits<double>::lowest() : std::numeric_limits<float>::lowest();
  if (taps.pads) flat = flat.apply(Op::pad, PadAttributes{{0, 0}, {0, 1}, least});
  const Term windows = flat.apply(Op::gather, GatherAttributes{1, taps.places, {taps.positions, taps.taps}});
  const Term first = windows.apply(Op::arg_max, ArgAttributes{2, true, false});
  const Term bar = placed_at(first, reshape(a.g(), {planes, taps.positions, 1}), 2, taps.taps);
  WeightedGatherAttributes back = turned(selection(1, taps.places), taps.outside + (taps.pads ? 1 : 0));
  if (taps.pads) {  // the part in the padding is dropped
    back.starts.pop_back();
    back.indices.resize(static_cast<std::size_t>(back.starts.back()));
    back.weights.resize(back.indices.size());
  }
  return reshape(reshape(bar, {planes, taps.positions * taps.taps}).apply(Op::weighted_gather, std::move(back)), shape);
}

}  // namespace assay::runtime::autodiff
