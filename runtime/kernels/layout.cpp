// Layout ops: elements are moved, whatever they mean. Everything but gather is a strided copy.
#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/buffers.h"
#include "runtime/kernels/call.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

std::int64_t dot(const Shape& a, const Shape& b) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void copy_into(const Call& call, const Array& from, const Shape& extents, std::int64_t to_start, const Shape& to_strides,
               std::int64_t from_start, const Shape& from_strides) {
  const auto width = static_cast<std::int64_t>(byte_size(from.dtype()));
  if (element_count(extents) == 0) return;
  copy_strided(static_cast<std::size_t>(width), extents, call.result.raw() + to_start * width, to_strides, from.raw() + from_start * width,
               from_strides);
}

void run_slice(const Call& call) {
  const auto& [starts, steps, extents] = call.get<SliceAttributes>();
  const Shape strides = dense_strides(call.operand(0).shape());
  Shape stepped = strides;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) stepped[axis] *= steps[axis];
  copy_into(call, call.operand(0), extents, 0, dense_strides(extents), dot(starts, strides), stepped);
}

void run_permute(const Call& call) {
  const Shape strides = dense_strides(call.operand(0).shape());
  Shape permuted;
  for (const std::int64_t axis : call.get<PermuteAttributes>().axes) permuted.push_back(strides[static_cast<std::size_t>(axis)]);
  copy_into(call, call.operand(0), call.result.shape(), 0, dense_strides(call.result.shape()), 0, permuted);
}

constexpr std::size_t kConcatGrain = 1 << 15;  // elements of a result below which one thread copies all operands

void run_concat(const Call& call) {
  const auto axis = static_cast<std::size_t>(call.get<ConcatAttributes>().axis);
  const Shape to = dense_strides(call.result.shape());
  std::vector<std::int64_t> positions;
  std::int64_t position = 0;
  for (const Array* operand : call.operands) {
    positions.push_back(position);
    position += operand->shape()[axis];
  }
  parallel_ranges(positions.size(), call.result.size() < kConcatGrain ? positions.size() : 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t k = first; k < last; ++k) {
      const Array& operand = *call.operands[k];
      copy_into(call, operand, operand.shape(), positions[k] * to[axis], to, 0, dense_strides(operand.shape()));
    }
  });
}

template <class T>
T fill_value(double value) {
  if constexpr (std::is_same_v<T, std::complex<float>>) {
    return {static_cast<float>(value), 0};
  } else {
    return static_cast<T>(value);
  }
}

void fill(Array& result, double value) {
  const auto with = [&](auto type) {
    using T = typename decltype(type)::type;
    const std::span<T> elements = result.data<T>();
    parallel_ranges(elements.size(), 1 << 16, [&](std::size_t first, std::size_t last) {
      std::fill(elements.begin() + static_cast<std::ptrdiff_t>(first), elements.begin() + static_cast<std::ptrdiff_t>(last),
                fill_value<T>(value));
    });
  };
  if (result.dtype() == DType::complex64) return with(Type<std::complex<float>>());
  if (result.dtype() == DType::boolean) value = value != 0 ? 1 : 0;
  with_real(result.dtype(), with);
}

void run_pad(const Call& call) {
  const auto& [before, after, value] = call.get<PadAttributes>();
  const Shape& from = call.operand(0).shape();
  const Shape to_strides = dense_strides(call.result.shape()), from_strides = dense_strides(from);
  fill(call.result, value);
  Shape extents, to_start, from_start;
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    const std::int64_t first = std::max<std::int64_t>(-before[axis], 0), last = from[axis] + std::min<std::int64_t>(after[axis], 0);
    extents.push_back(std::max<std::int64_t>(last - first, 0));
    from_start.push_back(first);
    to_start.push_back(first + before[axis]);
  }
  copy_into(call, call.operand(0), extents, dot(to_start, to_strides), to_strides, dot(from_start, from_strides), from_strides);
}

void run_gather(const Call& call) {
  const auto& attributes = call.get<GatherAttributes>();
  const Array& x = call.operand(0);
  const auto axis = static_cast<std::size_t>(attributes.axis);
  const std::size_t outer = element_count(Shape(x.shape().begin(), x.shape().begin() + attributes.axis));
  const std::size_t inner = element_count(Shape(x.shape().begin() + attributes.axis + 1, x.shape().end()));
  const auto extent = static_cast<std::size_t>(x.shape()[axis]);
  const std::size_t count = attributes.indices.size(), width = byte_size(x.dtype());
  if (outer * count * inner == 0) return;
  const std::byte* const from = x.raw();
  std::byte* const to = call.result.raw();
  const auto gather = [&](auto element) {
    using T = decltype(element);
    const T* const source = reinterpret_cast<const T*>(from);
    T* const target = reinterpret_cast<T*>(to);
    parallel_ranges(outer * count, std::max<std::size_t>((1 << 15) / inner, 1), [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last;) {  // to the end of the piece or of the axis
        const T* const lines = source + i / count * extent * inner;
        const std::int64_t* index = attributes.indices.data() + i % count;
        const std::size_t end = std::min(last, i + count - i % count);
        if (inner == 1) {
          for (; i < end; ++i) target[i] = lines[*index++];
        } else {
          for (; i < end; ++i) std::memcpy(target + i * inner, lines + static_cast<std::size_t>(*index++) * inner, inner * sizeof(T));
        }
      }
    });
  };
  if (width == 1) return gather(std::uint8_t());
  if (width == 2) return gather(std::uint16_t());
  return width == 4 ? gather(std::uint32_t()) : gather(std::uint64_t());
}

}  // namespace

std::optional<std::size_t> first_of_part(const SliceAttributes& slice, const Shape& shape, DType dtype) {
  const Shape strides = dense_strides(shape), together = dense_strides(slice.extents);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const std::int64_t extent = slice.extents[axis];
    if (extent == 0 || (extent > 1 && slice.steps[axis] * strides[axis] != together[axis])) return std::nullopt;
  }
  const auto first = static_cast<std::size_t>(dot(slice.starts, strides));
  return first * byte_size(dtype) % kAlignment == 0 ? std::optional(first) : std::nullopt;
}

Outcome<Done> run_layout(const Call& call) {
  const Array& x = call.operand(0);
  if (call.op == Op::slice) {
    run_slice(call);
  } else if (call.op == Op::permute) {
    run_permute(call);
  } else if (call.op == Op::concat) {
    run_concat(call);
  } else if (call.op == Op::pad) {
    run_pad(call);
  } else if (call.op == Op::gather) {
    run_gather(call);
  } else if (call.op == Op::expand) {
    copy_into(call, x, call.result.shape(), 0, dense_strides(call.result.shape()), 0, repeating_strides(x.shape(), call.result.shape()));
  } else {
    demand(call.op == Op::reshape, "run_layout: a layout op");
    if (x.bytes() > 0) std::memcpy(call.result.raw(), x.raw(), x.bytes());
  }
  return Done{};
}

}  // namespace assay::runtime
