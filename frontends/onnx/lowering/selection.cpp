// Operators that pick, place and repeat elements by constant indices: index maps, and sums where several updates meet.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

// Flat positions in x of the elements that GatherND takes: q index numbers behind `batch` common axes, then the rest of x.
struct Picks {
  Ints positions;
  Shape shape;  // of the positions
};

Picks picks_of(const Call& call, const Shape& x, const Shape& index_shape, const Ints& indices, std::size_t batch) {
  const bool fits = !index_shape.empty() && batch < index_shape.size() && batch <= x.size() && index_shape.back() >= 0 &&
                    static_cast<std::size_t>(index_shape.back()) <= x.size() - batch &&
                    std::equal(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(batch), index_shape.begin());
  if (!fits)
    call.malformed("onnx.shape", "indices [batch..., outer..., n] with n axes of the data", to_string(x) + ", " + to_string(index_shape));
  const auto q = static_cast<std::size_t>(index_shape.back());
  const Ints strides = strides_of(x);
  Picks picks{{}, Shape(index_shape.begin(), index_shape.end() - 1)};
  const Shape slice(x.begin() + static_cast<std::ptrdiff_t>(batch + q), x.end());
  picks.shape.insert(picks.shape.end(), slice.begin(), slice.end());
  call.limit_fold(picks.shape, DType::int64);
  const auto inner = static_cast<std::int64_t>(element_count(slice));
  const std::size_t tuples = element_count(Shape(index_shape.begin(), index_shape.end() - 1));
  const std::size_t per_batch = std::max<std::size_t>(
      tuples / std::max<std::size_t>(element_count(Shape(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(batch))), 1), 1);
  const auto batch_stride = static_cast<std::int64_t>(element_count(Shape(x.begin() + static_cast<std::ptrdiff_t>(batch), x.end())));
  for (std::size_t tuple = 0; tuple < tuples; ++tuple) {
    std::int64_t start = static_cast<std::int64_t>(tuple / per_batch) * batch_stride;
    for (std::size_t k = 0; k < q; ++k) start += resolved_index(call, indices[tuple * q + k], x[batch + k]) * strides[batch + k];
    for (std::int64_t r = 0; r < inner; ++r) picks.positions.push_back(start + r);
  }
  return picks;
}

// Flat positions in x of the elements that GatherElements takes.
Ints element_picks(const Call& call, const Shape& x, const Shape& index_shape, const Ints& indices, std::size_t axis) {
  bool fits = index_shape.size() == x.size();
  for (std::size_t i = 0; fits && i < x.size(); ++i) fits = i == axis || index_shape[i] <= x[i];
  if (!fits)
    call.malformed("onnx.shape", "indices of the data's rank, no longer than it on the other axes",
                   to_string(x) + ", " + to_string(index_shape));
  const Ints strides = strides_of(x);
  Ints index(x.size(), 0), positions;
  for (const std::int64_t given : indices) {
    std::int64_t at = 0;
    for (std::size_t i = 0; i < x.size(); ++i) at += (i == axis ? resolved_index(call, given, x[axis]) : index[i]) * strides[i];
    positions.push_back(at);
    (void)next_index(index, index_shape);
  }
  return positions;
}

// For each element of the data the updates that it takes, in order.
std::vector<Ints> updates_per_element(std::size_t count, const Ints& positions) {
  std::vector<Ints> lists(count);
  for (std::size_t i = 0; i < positions.size(); ++i) lists[static_cast<std::size_t>(positions[i])].push_back(static_cast<std::int64_t>(i));
  return lists;
}

void check_reduction(const Call& call) {
  const std::string how = call.attribute("reduction", "none");
  if (how != "none" && how != "add" && how != "mul" && how != "max" && how != "min")
    call.malformed("onnx.attribute", "reduction none, add, mul, max or min", printable(how));
}

// Update i goes to element positions[i] of the data. Round r combines each element with the r-th update that it takes.
Operand scatter(Call& call, const Operand& data, const Ints& positions, const Operand& updates) {
  const std::string how = call.attribute("reduction", "none");
  if (positions.size() != element_count(updates->shape))
    call.malformed("onnx.shape", "as many updates as indices: " + std::to_string(positions.size()), to_string(updates->shape));
  const auto count = static_cast<std::int64_t>(element_count(data->shape));
  const std::vector<Ints> lists = updates_per_element(static_cast<std::size_t>(count), positions);
  std::size_t rounds = 0;
  for (const Ints& list : lists) rounds = std::max(rounds, list.size());
  if (how == "none" && rounds > 1)
    call.unsupported("onnx.index", "distinct indices", "several updates of one element",
                     "give a reduction: without one their order is open");
  const Op op = how == "add" ? Op::add : how == "mul" ? Op::mul : how == "max" ? Op::max : Op::min;
  Operand result = data;
  for (std::size_t round = 0; round < rounds; ++round) {
    const bool keeps = op == Op::max || op == Op::min;  // an element without an update meets itself; sums and products meet 0 and 1
    Ints from(lists.size());
    for (std::size_t i = 0; i < lists.size(); ++i)
      from[i] = round < lists[i].size() ? lists[i][round] + (keeps ? count : 0) : (keeps ? static_cast<std::int64_t>(i) : -1);
    if (!keeps) {
      result = call.emit(op, {result, select_flat(call, updates, std::move(from), data->shape, op == Op::mul ? 1 : 0)});
      continue;
    }
    const Operand both =
        concat(call, {call.reshape(data, {count}), call.reshape(updates, {static_cast<std::int64_t>(positions.size())})}, 0);
    const Operand chosen = select_flat(call, both, std::move(from), data->shape);
    result = how == "none" ? chosen : call.emit(op, {result, chosen});
  }
  return result;
}

std::size_t axis_attribute(const Call& call, std::int64_t otherwise, std::size_t rank) {
  return static_cast<std::size_t>(call.axis(call.attribute("axis", otherwise), rank));
}

}  // namespace

Results lower_tile(Call& call) {
  const Shape& x = call.shape(0);
  const Ints repeats = call.ints(1, "repeats");
  bool fits = repeats.size() == x.size();
  for (const std::int64_t one : repeats) fits = fits && one >= 0 && one <= kLargestExtent;
  if (!fits) call.malformed("onnx.shape", "one repeat from 0 to 2^31 - 1 per axis of " + to_string(x), to_string(repeats));
  Shape apart, wide, result;
  for (std::size_t axis = 0; axis < x.size(); ++axis) {
    for (Shape* shape : {&apart, &wide}) {
      shape->push_back(shape == &wide ? repeats[axis] : 1);
      shape->push_back(x[axis]);
    }
    result.push_back(repeats[axis] * x[axis]);
  }
  if (result == x) return {call.in(0)};
  return {call.reshape(expand(call, call.reshape(call.in(0), apart), wide), result)};
}

// The upper or lower triangles of the last two axes; the k-th diagonal is the last one kept.
Results lower_trilu(Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 2) call.malformed("onnx.shape", "at least two axes", to_string(x));
  const bool upper = call.attribute("upper", std::int64_t{1}) != 0;
  const Ints k = call.has(1) ? call.ints(1, "a diagonal") : Ints{0};
  if (k.size() != 1) call.malformed("onnx.input", "one diagonal", to_string(k));
  call.limit_fold(x, DType::int64);
  Ints from(element_count(x)), index(x.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i, (void)next_index(index, x)) {
    const std::int64_t diagonal = index[x.size() - 1] - index[x.size() - 2];
    from[i] = (upper ? diagonal >= k[0] : diagonal <= k[0]) ? static_cast<std::int64_t>(i) : -1;
  }
  return {select_flat(call, call.in(0), std::move(from), x)};
}

Results lower_reverse_sequence(Call& call) {
  const Shape& x = call.shape(0);
  const std::int64_t batch = call.attribute("batch_axis", std::int64_t{1}), time = call.attribute("time_axis", std::int64_t{0});
  if (x.size() < 2 || batch + time != 1 || batch * time != 0)
    call.malformed("onnx.axis", "batch_axis and time_axis 0 and 1, in some order, of two or more axes",
                   std::to_string(batch) + " and " + std::to_string(time));
  const auto t = static_cast<std::size_t>(time), b = static_cast<std::size_t>(batch);
  const Ints lengths = call.ints(1, "lengths of the sequences"), strides = strides_of(x);
  bool fits = static_cast<std::int64_t>(lengths.size()) == x[b];
  for (const std::int64_t length : lengths) fits = fits && length >= 0 && length <= x[t];
  if (!fits) call.malformed("onnx.input", "one length from 0 to " + std::to_string(x[t]) + " per sequence", to_string(lengths));
  call.limit_fold(x, DType::int64);
  Ints from(element_count(x)), index(x.size(), 0);
  for (std::size_t i = 0; i < from.size(); ++i, (void)next_index(index, x)) {
    const std::int64_t length = lengths[static_cast<std::size_t>(index[b])], at = index[t];
    from[i] = static_cast<std::int64_t>(i) + (at < length ? length - 1 - 2 * at : 0) * strides[t];
  }
  return {select_flat(call, call.in(0), std::move(from), x)};
}

// Crops or pads with zeros round the centre; the odd element goes to the end.
Results lower_center_crop_pad(Call& call) {
  const Shape& x = call.shape(0);
  const Ints target = call.ints(1, "a shape");
  Ints axes(x.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (const auto given = call.attribute_ints("axes")) axes = *given;
  (void)call.distinct_axes(axes, x.size());
  bool fits = target.size() == axes.size();
  for (const std::int64_t extent : target) fits = fits && extent >= 0 && extent <= kLargestExtent;
  if (!fits) call.malformed("onnx.shape", "one extent per axis", to_string(target) + " for axes " + to_string(axes));
  PadAttributes pads{Ints(x.size(), 0), Ints(x.size(), 0), 0};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const auto axis = static_cast<std::size_t>(call.axis(axes[i], x.size()));
    const std::int64_t more = target[i] - x[axis];
    pads.before[axis] = more / 2;
    pads.after[axis] = more - more / 2;
  }
  return {call.emit(Op::pad, {call.in(0)}, std::move(pads))};
}

Results lower_compress(Call& call) {
  const Tensor& condition = call.constant(1, "a condition");
  if (condition.dtype() != DType::boolean || condition.shape().size() != 1)
    call.malformed("onnx.input", "a boolean condition of rank 1", to_string(condition.dtype()) + to_string(condition.shape()));
  const bool flat = call.find("axis", AttributeKind::integer) == nullptr;
  const Operand x = flat ? call.reshape(call.in(0), {static_cast<std::int64_t>(element_count(call.shape(0)))}) : call.in(0);
  const std::size_t axis = flat ? 0 : axis_attribute(call, 0, x->shape.size());
  if (static_cast<std::int64_t>(condition.size()) > x->shape[axis])
    call.malformed("onnx.shape", "a condition no longer than the axis",
                   std::to_string(condition.size()) + " for " + std::to_string(x->shape[axis]));
  Ints kept;
  for (std::size_t i = 0; i < condition.size(); ++i) {
    if (condition.as_int(i) != 0) kept.push_back(static_cast<std::int64_t>(i));
  }
  return {gather_axis(call, x, static_cast<std::int64_t>(axis), std::move(kept))};
}

Results lower_gather_nd(Call& call) {
  const std::int64_t batch = call.attribute("batch_dims", std::int64_t{0});
  if (batch < 0) call.malformed("onnx.attribute", "batch_dims >= 0", std::to_string(batch));
  if (!call.in(1)->constant && batch == 0) return {gather_at_places(call)};
  Picks picks = picks_of(call, call.shape(0), call.shape(1), whole_numbers(call, 1, "indices"), static_cast<std::size_t>(batch));
  return {select_flat(call, call.in(0), std::move(picks.positions), picks.shape)};
}

Results lower_gather_elements(Call& call) {
  const std::size_t axis = axis_attribute(call, 0, call.shape(0).size());
  if (!call.in(1)->constant) {
    Operand x = call.in(0);
    for (std::size_t i = 0; i < x->shape.size() && call.shape(1).size() == x->shape.size(); ++i) {
      if (i != axis && call.shape(1)[i] < x->shape[i]) x = slice_axis(call, x, i, 0, call.shape(1)[i]);
    }
    return {call.emit(Op::take, {call.in(1), x}, ConcatAttributes{static_cast<std::int64_t>(axis)})};
  }
  Ints picks = element_picks(call, call.shape(0), call.shape(1), whole_numbers(call, 1, "indices"), axis);
  return {select_flat(call, call.in(0), std::move(picks), call.shape(1))};
}

Results lower_scatter_nd(Call& call) {
  check_reduction(call);
  if (!call.in(1)->constant) return {scatter_at_places(call)};
  const Picks picks = picks_of(call, call.shape(0), call.shape(1), whole_numbers(call, 1, "indices"), 0);
  return {scatter(call, call.in(0), picks.positions, call.in(2))};
}

Results lower_scatter_elements(Call& call) {
  const std::size_t axis = axis_attribute(call, 0, call.shape(0).size());
  check_reduction(call);
  if (call.shape(2) != call.shape(1)) call.malformed("onnx.shape", "updates of the shape of the indices", to_string(call.shape(2)));
  if (!call.in(1)->constant) return {scatter_along(call, axis)};
  const Ints picks = element_picks(call, call.shape(0), call.shape(1), whole_numbers(call, 1, "indices"), axis);
  return {scatter(call, call.in(0), picks, call.in(2))};
}

// Places each element of X at the position that a MaxPool reported; zeros elsewhere.
Results lower_max_unpool(Call& call) {
  const Shape& x = call.shape(0);
  const auto kernel = call.attribute_ints("kernel_shape");
  const std::size_t spatial = x.size() < 3 ? 0 : x.size() - 2;
  const Ints strides = call.attribute_ints("strides").value_or(Ints(spatial, 1)),
             pads = call.attribute_ints("pads").value_or(Ints(2 * spatial, 0));
  bool fits =
      spatial > 0 && kernel && kernel->size() == spatial && strides.size() == spatial && pads.size() == 2 * spatial && call.shape(1) == x;
  Shape pooled(x.begin(), x.begin() + std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(x.size())));
  for (std::size_t axis = 0; fits && axis < spatial; ++axis) {
    const std::int64_t parts[] = {(*kernel)[axis], strides[axis], pads[axis], pads[axis + spatial]};
    fits = std::all_of(std::begin(parts), std::end(parts), [](std::int64_t part) { return part >= 0 && part <= kLargestExtent; });
    pooled.push_back(fits ? (x[axis + 2] - 1) * parts[1] - parts[2] - parts[3] + parts[0] : 0);
  }
  if (!fits) call.malformed("onnx.window", "kernel_shape, strides and pads for each spatial axis of " + to_string(x), "other numbers");
  call.limit_fold(pooled, DType::int64);
  Ints from(element_count(pooled), -1);
  const Ints places = whole_numbers(call, 1, "indices");
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (places[i] < 0 || places[i] >= static_cast<std::int64_t>(from.size()) || from[static_cast<std::size_t>(places[i])] >= 0)
      call.malformed("onnx.index", "distinct positions in " + to_string(pooled), std::to_string(places[i]));
    from[static_cast<std::size_t>(places[i])] = static_cast<std::int64_t>(i);
  }
  const Operand y = select_flat(call, call.in(0), std::move(from), pooled);
  if (!call.has(2)) return {y};
  const Shape wanted = call.ints(2, "an output shape");
  PadAttributes grow{Ints(pooled.size(), 0), {}, 0};
  for (std::size_t axis = 0; axis < pooled.size(); ++axis) {
    if (wanted.size() != pooled.size() || wanted[axis] < pooled[axis] || wanted[axis] > kLargestExtent)
      call.malformed("onnx.shape", "an output shape of at least " + to_string(pooled), to_string(wanted));
    grow.after.push_back(wanted[axis] - pooled[axis]);
  }
  return {wanted == pooled ? y : call.emit(Op::pad, {y}, std::move(grow))};
}

// The places of the elements other than 0, one per column. Their count is the result's shape, so the elements have to be known.
Results lower_non_zero(Call& call) {
  const Operand& x = call.in(0);
  if (!x->constant) {
    call.unsupported("onnx.not_constant", "a mask whose values the file holds: the result has one column per element other than 0",
                     "one that is computed when the network runs", "fold the mask into a constant (onnxsim), or end the network before it");
  }
  const std::int64_t rank = static_cast<std::int64_t>(x->shape.size());
  Ints index(x->shape.size(), 0);
  std::vector<Ints> places(x->shape.size());
  std::int64_t count = 0;
  for (std::size_t i = 0; i < x->constant->size(); ++i, (void)next_index(index, x->shape)) {
    if (is_float(x->dtype) ? x->constant->as_double(i) == 0 : x->constant->as_int(i) == 0) continue;
    for (std::size_t axis = 0; axis < places.size(); ++axis) places[axis].push_back(index[axis]);
    ++count;
  }
  call.limit_fold({rank, count}, DType::int64);
  Ints rows;
  for (const Ints& row : places) rows.insert(rows.end(), row.begin(), row.end());
  return {call.make_ints(DType::int64, {rank, count}, rows)};
}

Results lower_eye_like(Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() != 2) call.malformed("onnx.shape", "a matrix", to_string(x));
  DType dtype = call.in(0)->dtype;
  const std::int64_t code = call.attribute("dtype", std::int64_t{0});
  if (code != 0 && (!dtype_of(code, dtype) || code == kFloat16 || code == kBfloat16))
    call.unsupported("onnx.cast", "a result of float, double, an integer type of 8 to 64 bits, or bool", element_type_name(code),
                     "export in float32");
  const std::int64_t k = call.attribute("k", std::int64_t{0});
  call.limit_fold(x, dtype);
  Ints ones(element_count(x), 0);
  for (std::size_t i = 0; i < ones.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i) / x[1], column = static_cast<std::int64_t>(i) % x[1];
    ones[i] = column - row == k ? 1 : 0;
  }
  if (!is_float(dtype)) return {call.make_ints(dtype, x, ones)};
  const Value typed{dtype, {}, std::nullopt, std::nullopt, {}};
  return {reals_like(call, std::make_shared<Value>(typed), x, std::vector<double>(ones.begin(), ones.end()))};
}

Results lower_top_k(Call& call) {
  const std::size_t axis = axis_attribute(call, -1, call.shape(0).size());
  const Ints k = call.ints(1, "k");
  if (k.size() != 1) call.malformed("onnx.input", "one k", to_string(k));
  if (call.attribute("sorted", std::int64_t{1}) == 0 && k[0] > 1)
    call.unsupported("onnx.attribute", "sorted = 1", "0, which leaves the order open", "export TopK with sorted = 1");
  const SortAttributes order{static_cast<std::int64_t>(axis), k[0], call.attribute("largest", std::int64_t{1}) != 0};
  return {call.emit(Op::sort, {call.in(0)}, order), call.emit(Op::arg_sort, {call.in(0)}, order)};
}

// Row b of the update goes to the places from write_indices[b] on, along the axis; round its end in circular mode.
Results lower_tensor_scatter(Call& call) {
  const Shape &cache = call.shape(0), &update = call.shape(1);
  const std::size_t axis = static_cast<std::size_t>(call.axis(call.attribute("axis", std::int64_t{-2}), cache.size()));
  const std::string mode = call.attribute("mode", "linear");
  if (mode != "linear" && mode != "circular") call.malformed("onnx.attribute", "mode linear or circular", printable(mode));
  Shape wide = update;
  if (wide.size() == cache.size()) wide[axis] = cache[axis];
  if (axis == 0 || wide != cache || update[axis] > cache[axis])
    call.malformed("onnx.shape", "an update as the cache, no longer along the axis, which is not the first one", to_string(update));
  const Ints first = call.has(2) ? call.ints(2, "places to write at") : Ints(static_cast<std::size_t>(cache[0]), 0);
  if (static_cast<std::int64_t>(first.size()) != cache[0]) call.malformed("onnx.input", "one place per batch", to_string(first));
  call.limit_fold(update, DType::int64);
  const Ints strides = strides_of(cache);
  Ints index(update.size(), 0), positions;
  for (std::size_t i = 0; i < element_count(update); ++i, (void)next_index(index, update)) {
    std::int64_t at = 0, place = first[static_cast<std::size_t>(index[0])];
    if (place < 0 || place > kLargestExtent || (mode == "linear" && place + index[axis] >= cache[axis]))
      call.malformed("onnx.index", "places in the cache", std::to_string(place));
    place = (place + index[axis]) % cache[axis];
    for (std::size_t k = 0; k < index.size(); ++k) at += (k == axis ? place : index[k]) * strides[k];
    positions.push_back(at);
  }
  return {scatter(call, call.in(0), positions, call.in(1))};
}

// On where the index, counted from the front, is the place along the new axis; off elsewhere and for indices outside.
Results lower_one_hot(Call& call) {
  const Ints depth = whole_numbers(call, 1, "a depth");
  if (depth.size() != 1 || depth[0] < 0 || depth[0] > kLargestExtent)
    call.malformed("onnx.input", "one depth from 0 to 2^31 - 1", to_string(depth));
  if (call.shape(2) != Shape{2}) call.malformed("onnx.shape", "two values, off and on", to_string(call.shape(2)));
  Shape shape = call.shape(0);
  const auto axis = call.axis(call.attribute("axis", std::int64_t{-1}), shape.size() + 1);
  shape.insert(shape.begin() + axis, 1);
  const Operand places = call.cast(call.reshape(call.in(0), shape), DType::float64);
  call.limit_fold({depth[0]}, DType::float64, 0);
  std::vector<double> classes;
  for (std::int64_t i = 0; i < depth[0]; ++i) classes.push_back(static_cast<double>(i));
  const Operand wrapped = call.emit(Op::add, {places, call.make_real_like(places, static_cast<double>(depth[0]))});
  const Operand from_end = call.emit(Op::less, {places, call.make_real_like(places, 0)});
  Shape along(shape.size(), 1);
  along[static_cast<std::size_t>(axis)] = depth[0];
  const Operand hit = call.emit(Op::equal, {call.emit(Op::where, {from_end, wrapped, places}), reals_like(call, places, along, classes)});
  const auto value = [&](std::int64_t i) { return call.reshape(slice_axis(call, call.in(2), 0, i, 1), {}); };
  return {call.emit(Op::where, {hit, value(1), value(0)})};
}

// The adjoint of cutting an image into blocks: each element is added at its place; elements in the padding are dropped.
Results lower_col2im(Call& call) {
  const Shape& x = call.shape(0);
  const Ints image = call.ints(1, "an image shape"), block = call.ints(2, "a block shape");
  const std::size_t axes = image.size();
  const Ints strides = call.attribute_ints("strides").value_or(Ints(axes, 1)),
             dilations = call.attribute_ints("dilations").value_or(Ints(axes, 1)),
             pads = call.attribute_ints("pads").value_or(Ints(2 * axes, 0));
  bool fits =
      axes > 0 && block.size() == axes && strides.size() == axes && dilations.size() == axes && pads.size() == 2 * axes && x.size() == 3;
  Shape positions;
  std::int64_t block_size = 1, blocks = 1;
  for (std::size_t axis = 0; fits && axis < axes; ++axis) {
    for (const std::int64_t part : {image[axis], block[axis], strides[axis], dilations[axis]})
      fits = fits && part > 0 && part <= (kLargestExtent >> 8);
    for (const std::int64_t part : {pads[axis], pads[axis + axes]}) fits = fits && part >= 0 && part <= (kLargestExtent >> 8);
    const std::int64_t room = fits ? image[axis] + pads[axis] + pads[axis + axes] - (block[axis] - 1) * dilations[axis] - 1 : -1;
    fits = fits && room >= 0;
    positions.push_back(fits ? room / strides[axis] + 1 : 0);
    block_size *= block[axis];
    blocks *= positions.back();
    fits = fits && block_size <= kLargestExtent && blocks <= kLargestExtent;
  }
  if (!fits || x[1] % block_size != 0 || x[2] != blocks)
    call.malformed("onnx.shape", "x [N, C * block size, blocks] with windows that fit", to_string(x) + ", image " + to_string(image));
  Shape result = {x[0], x[1] / block_size};
  result.insert(result.end(), image.begin(), image.end());
  call.limit_fold(result, DType::int64);
  call.limit_fold(x, DType::int64);
  const Ints steps = strides_of(image);
  const auto pixels = static_cast<std::int64_t>(element_count(image));
  Ints from, to, tap(axes, 0), at(axes, 0);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(element_count(x)); ++i) {
    std::int64_t pixel = i / (block_size * blocks) * pixels;
    bool inside = true;
    for (std::size_t axis = 0; axis < axes; ++axis) {
      const std::int64_t where = at[axis] * strides[axis] + tap[axis] * dilations[axis] - pads[axis];
      inside = inside && where >= 0 && where < image[axis];
      pixel += where * steps[axis];
    }
    if (inside) {
      from.push_back(i);
      to.push_back(pixel);
    }
    if (!next_index(at, positions)) (void)next_index(tap, block);
  }
  const Shape kept = {static_cast<std::int64_t>(from.size())};
  return {call.emit(Op::place, {select_flat(call, call.in(0), std::move(from), kept)}, PlaceAttributes{std::move(to), std::move(result)})};
}

}  // namespace assay::onnx
