// GatherND and scatter at places that the network computes. A place outside of its axis is a domain fault, as for Gather.
#include <numeric>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

constexpr std::size_t kMostMeetings = std::size_t{1} << 22;  // of updates with elements

Operand multiples(Call& call, std::int64_t count, std::int64_t step) {
  call.limit_fold({count}, DType::int64);
  Ints numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::int64_t>(i) * step;
  return call.make_ints(DType::int64, {count}, numbers);
}

// The data with its first q axes as one, and the places along it that rows of q indices name.
struct Flat {
  Operand data, places;
};

Flat flat_of(Call& call) {
  const Shape &x = call.shape(0), &indices = call.shape(1);
  if (indices.empty() || indices.back() < 1 || static_cast<std::size_t>(indices.back()) > x.size())
    call.malformed("onnx.shape", "indices [outer..., n] with n axes of the data", to_string(x) + ", " + to_string(indices));
  const auto q = static_cast<std::ptrdiff_t>(indices.back());
  const Shape outer(x.begin(), x.begin() + q), tuples(indices.begin(), indices.end() - 1);
  Shape flat(x.begin() + q, x.end());
  flat.insert(flat.begin(), static_cast<std::int64_t>(element_count(outer)));
  const Ints strides = strides_of(outer);
  Operand places;
  for (std::size_t k = 0; k < outer.size(); ++k) {
    const Operand one = call.reshape(slice_axis(call, call.in(1), tuples.size(), static_cast<std::int64_t>(k), 1), tuples);
    const Operand moved = take_axis(call, multiples(call, outer[k], strides[k]), 0, one);
    places = places ? call.emit(Op::add, {places, moved}) : moved;
  }
  return {call.reshape(call.in(0), flat), places};
}

// Every update meets every element along the axis, and counts where its place is the element's. Places and updates have the axis of the
// updates in front of those of the data, of which `axis` has the extent 1.
Operand scattered(Call& call, const Operand& data, const Operand& places, const Operand& updates, std::size_t axis) {
  const std::string how = call.attribute("reduction", "none");
  const std::int64_t count = updates->shape[0];
  if (how == "none" && count != 1)
    call.unsupported("onnx.not_constant", "a reduction, where the network computes the places of several updates",
                     "none, which leaves the order of updates of one element open", "make the indices constants (--set)");
  const std::size_t most = kMostMeetings / std::max<std::size_t>(element_count(data->shape), 1);
  if (static_cast<std::size_t>(count) > most)
    call.unsupported("onnx.limit", "at most " + std::to_string(most) + " updates at places that the network computes",
                     std::to_string(count), "make the indices constants (--set)");
  Shape along(data->shape.size(), 1), one = data->shape;
  along[axis] = data->shape[axis];
  one.insert(one.begin(), 1);
  const Operand numbers = multiples(call, data->shape[axis], 1);
  const Operand hit = call.emit(Op::equal, {take_axis(call, numbers, 0, places), call.reshape(numbers, along)});
  Operand rest = data;  // an element without the update meets itself; in sums and products 0 and 1
  if (how == "add" || how == "mul") {
    const std::int64_t neutral = how == "mul" ? 1 : 0;
    rest = is_float(data->dtype) ? call.make_real_like(data, static_cast<double>(neutral)) : call.make_ints(data->dtype, {}, {neutral});
  }
  const Operand chosen = choose(call, hit, updates, rest);
  if (how == "none") return call.reshape(chosen, data->shape);
  const Op op = how == "add" ? Op::reduce_sum : how == "mul" ? Op::reduce_prod : how == "max" ? Op::reduce_max : Op::reduce_min;
  return call.emit(op, {concat(call, {call.reshape(data, one), chosen}, 0)}, ReduceAttributes{{0}, false});
}

}  // namespace

Operand gather_at_places(Call& call) {
  const Flat flat = flat_of(call);
  return take_axis(call, flat.data, 0, flat.places);
}

Operand scatter_at_places(Call& call) {
  const Flat flat = flat_of(call);
  Shape updates = flat.data->shape, places(flat.data->shape.size() + 1, 1);
  updates[0] = 1;
  updates.insert(updates.begin(), static_cast<std::int64_t>(element_count(flat.places->shape)));
  places[0] = updates[0];
  Shape required = flat.places->shape;
  required.insert(required.end(), updates.begin() + 2, updates.end());
  if (call.shape(2) != required) call.malformed("onnx.shape", "updates " + to_string(required), to_string(call.shape(2)));
  return call.reshape(scattered(call, flat.data, call.reshape(flat.places, places), call.reshape(call.in(2), updates), 0), call.shape(0));
}

Operand scatter_along(Call& call, std::size_t axis) {
  Shape shape = call.shape(0);
  Ints order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  order.erase(order.begin() + static_cast<std::ptrdiff_t>(axis));
  order.insert(order.begin(), static_cast<std::int64_t>(axis));
  const std::int64_t count = call.shape(1).size() == shape.size() ? call.shape(1)[axis] : -1;
  shape[axis] = count;
  if (call.shape(1) != shape)
    call.unsupported("onnx.not_constant", "computed indices as long as the data on the other axes, " + to_string(shape),
                     to_string(call.shape(1)), "make the indices constants (--set)");
  shape[axis] = 1;
  shape.insert(shape.begin(), count);
  const auto in_front = [&](std::size_t i) { return call.reshape(permute(call, call.in(i), order), shape); };
  return scattered(call, call.in(0), in_front(1), in_front(2), axis);
}

}  // namespace assay::onnx
