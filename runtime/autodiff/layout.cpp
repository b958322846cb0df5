// Gradients of index maps and weighted sums along an axis: each element's cotangent goes back to where the element came from.
#include <numeric>

#include "runtime/autodiff/families.h"
#include "semantics/demand.h"

namespace assay::runtime::autodiff {

// "Position i of the result is element indices[i]", as weighted sums.
WeightedGatherAttributes selection(std::int64_t axis, const std::vector<std::int64_t>& indices) {
  WeightedGatherAttributes w{axis, std::vector<std::int64_t>(indices.size() + 1), indices,
                             std::vector<Rational>(indices.size(), Rational(1))};
  std::iota(w.starts.begin(), w.starts.end(), 0);
  return w;
}

WeightedGatherAttributes turned(const WeightedGatherAttributes& w, std::int64_t extent) {
  WeightedGatherAttributes back{w.axis, std::vector<std::int64_t>(static_cast<std::size_t>(extent) + 1, 0), {}, {}};
  for (const std::int64_t index : w.indices) ++back.starts[static_cast<std::size_t>(index) + 1];
  std::partial_sum(back.starts.begin(), back.starts.end(), back.starts.begin());
  back.indices.resize(w.indices.size());
  back.weights.resize(w.indices.size());
  std::vector<std::int64_t> next(back.starts.begin(), back.starts.end() - 1);
  for (std::size_t j = 0; j + 1 < w.starts.size(); ++j) {
    for (auto k = static_cast<std::size_t>(w.starts[j]); k < static_cast<std::size_t>(w.starts[j + 1]); ++k) {
      const auto at = static_cast<std::size_t>(next[static_cast<std::size_t>(w.indices[k])]++);
      back.indices[at] = static_cast<std::int64_t>(j);
      back.weights[at] = w.weights[k];
    }
  }
  return back;
}

namespace {

Term permute_bar(const Applied& a) {
  const std::vector<std::int64_t>& axes = a.get<PermuteAttributes>().axes;
  std::vector<std::int64_t> inverse(axes.size());
  for (std::size_t i = 0; i < axes.size(); ++i) inverse[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
  return permute(a.g(), inverse);
}

// Steps of 1 by padding, all axes at once; other steps axis by axis.
Term slice_bar(const Applied& a) {
  const auto& [starts, steps, extents] = a.get<SliceAttributes>();
  const Shape shape = a.x().shape();
  std::vector<std::int64_t> before(shape.size(), 0), after(shape.size(), 0);
  Term bar = a.g();
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (steps[i] == 1) {
      before[i] = starts[i];
      after[i] = shape[i] - starts[i] - extents[i];
      continue;
    }
    std::vector<std::int64_t> indices;
    for (std::int64_t k = 0; k < extents[i]; ++k) indices.push_back(starts[i] + k * steps[i]);
    bar = bar.apply(Op::weighted_gather, turned(selection(static_cast<std::int64_t>(i), indices), shape[i]));
  }
  return pad(bar, before, after);
}

Cotangents concat_bars(const Applied& a) {
  const auto axis = static_cast<std::size_t>(a.get<ConcatAttributes>().axis);
  Cotangents bars(a.operands.size(), kNone);
  std::int64_t start = 0;
  for (std::size_t i = 0; i < bars.size(); ++i) {
    const Shape part = a.x(i).shape();
    SliceAttributes ith{Shape(part.size(), 0), Shape(part.size(), 1), part};
    ith.starts[axis] = start;
    start += part[axis];
    if (a.wanted[i]) bars[i] = a.g().apply(Op::slice, std::move(ith)).ref();
  }
  return bars;
}

Term pad_bar(const Applied& a) {
  std::vector<std::int64_t> before = a.get<PadAttributes>().before, after = a.get<PadAttributes>().after;
  for (std::int64_t& n : before) n = -n;
  for (std::int64_t& n : after) n = -n;
  return pad(a.g(), before, after);
}

Term gather_bar(const Applied& a) {
  const auto& [axis, indices, index_shape] = a.get<GatherAttributes>();
  const Shape shape = a.x().shape();
  Shape flat = shape;
  flat[static_cast<std::size_t>(axis)] = static_cast<std::int64_t>(indices.size());
  return reshape(a.g(), flat).apply(Op::weighted_gather, turned(selection(axis, indices), shape[static_cast<std::size_t>(axis)]));
}

}  // namespace

Cotangents layout_bars(const Applied& a) {
  switch (a.op) {
    case Op::reshape:
      return one(reshape(a.g(), Shape(a.x().shape())));
    case Op::permute:
      return one(permute_bar(a));
    case Op::slice:
      return one(slice_bar(a));
    case Op::concat:
      return concat_bars(a);
    case Op::pad:
      return one(pad_bar(a));
    case Op::gather:
      return one(gather_bar(a));
    default:
      demand(a.op == Op::expand, "layout_bars: not one of these ops");
      return one(sum_to(a.g(), Shape(a.x().shape())));
  }
}

Term place_bar(const Applied& a) {
  const Shape shape = a.x().shape();
  const Term flat = reshape(a.g(), {extent_product(a.g().shape(), 0, a.g().shape().size())});
  return flat.apply(Op::gather, GatherAttributes{0, a.get<PlaceAttributes>().indices, shape});
}

Term weighted_gather_bar(const Applied& a) {
  const auto& w = a.get<WeightedGatherAttributes>();
  return a.g().apply(Op::weighted_gather, turned(w, a.x().shape()[static_cast<std::size_t>(w.axis)]));
}

}  // namespace assay::runtime::autodiff
