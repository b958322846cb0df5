// Gradients of elements chosen by run-time positions or by their order: each cotangent is added where its element was taken. The
// vocabulary adds at constant places only, so positions, or values, are compared: with every element of the axis.
#include <numeric>

#include "runtime/autodiff/families.h"

namespace assay::runtime::autodiff {

namespace {

Term whole_numbers(const Term& like, const Shape& shape, const std::vector<std::int64_t>& values) {
  Emitter& emitter = like.emitter();
  const Term t(emitter, emitter.constant(Tensor::of_ints(shape, values)));
  return like.dtype() == DType::int64 ? t : t.apply(Op::cast, CastAttributes{static_cast<std::uint8_t>(like.dtype())});
}

// Zeros of the extent given, plus g at the places of `index` along `axis`; index and g have one shape.
Term added_at(const Term& index, const Term& g, std::size_t axis, std::int64_t extent) {
  Shape spread = g.shape();
  spread.insert(spread.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  return sum(placed_at(reshape(index, spread), reshape(g, spread), axis + 1, extent), {static_cast<std::int64_t>(axis)}, false);
}

}  // namespace

Term placed_at(const Term& index, const Term& g, std::size_t axis, std::int64_t extent) {
  Shape places(g.shape().size(), 1);
  places[axis] = extent;
  std::vector<std::int64_t> all(static_cast<std::size_t>(extent));
  std::iota(all.begin(), all.end(), 0);
  return choose(index.apply(Op::equal, whole_numbers(index, places, all)), g, g.number(0));
}

Cotangents take_bars(const Applied& a) {
  if (!a.wanted[1]) return {kNone, kNone};
  const auto axis = static_cast<std::size_t>(a.get<ConcatAttributes>().axis);
  const std::int64_t extent = a.x(1).shape()[axis];
  const Term index = a.x(0), zero = whole_numbers(index, {}, {0});
  const Term from_start = choose(index.apply(Op::less, zero), index + whole_numbers(index, {}, {extent}), index);
  return {kNone, added_at(from_start, a.g(), axis, extent).ref()};
}

// Result k came from one element, also where several equal it.
Term sort_bar(const Applied& a) {
  const auto axis = static_cast<std::size_t>(a.get<SortAttributes>().axis);
  const Term from = a.x().apply(Op::arg_sort, a.get<SortAttributes>());
  return added_at(from, a.g(), axis, a.x().shape()[axis]);
}

}  // namespace assay::runtime::autodiff
