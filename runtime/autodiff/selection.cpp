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
  Shape spread = g.shape(), places(spread.size() + 1, 1);
  spread.insert(spread.begin() + static_cast<std::ptrdiff_t>(axis) + 1, 1);
  places[axis + 1] = extent;
  std::vector<std::int64_t> all(static_cast<std::size_t>(extent));
  std::iota(all.begin(), all.end(), 0);
  const Term hit = reshape(index, spread).apply(Op::equal, whole_numbers(index, places, all));
  return sum(choose(hit, reshape(g, spread), g.number(0)), {static_cast<std::int64_t>(axis)}, false);
}

}  // namespace

Cotangents take_bars(const Applied& a) {
  if (!a.wanted[1]) return {kNone, kNone};
  const auto axis = static_cast<std::size_t>(a.get<ConcatAttributes>().axis);
  const std::int64_t extent = a.x(1).shape()[axis];
  const Term index = a.x(0), zero = whole_numbers(index, {}, {0});
  const Term from_start = choose(index.apply(Op::less, zero), index + whole_numbers(index, {}, {extent}), index);
  return {kNone, added_at(from_start, a.g(), axis, extent).ref()};
}

// Result k came from the elements that equal it; several share g_k. A position found by arg_sort would be a convention at ties.
Term sort_bar(const Applied& a) {
  const std::int64_t axis = a.get<SortAttributes>().axis;
  Shape elements = a.x().shape(), results = a.g().shape();
  elements.insert(elements.begin() + axis, 1);
  results.insert(results.begin() + axis + 1, 1);
  const Term apart = (reshape(a.x(), elements) - reshape(a.y(), results)).apply(Op::abs);
  const Term share = (-apart).apply(Op::max_weight, ReduceAttributes{{axis + 1}, true});
  return sum(share * reshape(a.g(), results), {axis}, false);
}

}  // namespace assay::runtime::autodiff
