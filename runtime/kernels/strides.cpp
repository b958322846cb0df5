#include "runtime/kernels/strides.h"

#include <algorithm>
#include <complex>
#include <cstring>
#include <type_traits>

#include "runtime/kernels/gemm.h"
#include "runtime/threads.h"
#include "semantics/demand.h"

namespace assay::runtime {

Shape dense_strides(const Shape& shape) {
  Shape strides(shape.size(), 1);
  for (std::size_t axis = shape.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * shape[axis];
  return strides;
}

Shape repeating_strides(const Shape& from, const Shape& to) {
  const Shape dense = dense_strides(from);
  Shape strides(to.size(), 0);
  const std::size_t missing = to.size() - from.size();
  for (std::size_t axis = 0; axis < from.size(); ++axis) {
    if (from[axis] != 1) strides[missing + axis] = dense[axis];
  }
  return strides;
}

Loops merged(const Shape& extents, std::vector<Shape> strides) {
  Loops loops{{}, std::vector<Shape>(strides.size())};
  if (std::find(extents.begin(), extents.end(), 0) != extents.end()) {
    loops.extents = {0};
    for (Shape& of_tensor : loops.strides) of_tensor = {1};
    return loops;
  }
  for (std::size_t axis = 0; axis < extents.size(); ++axis) {
    if (extents[axis] == 1) continue;
    bool continues = !loops.extents.empty();
    for (std::size_t t = 0; t < strides.size() && continues; ++t) {
      continues = loops.strides[t].back() == strides[t][axis] * extents[axis];
    }
    if (continues) {
      loops.extents.back() *= extents[axis];
      for (std::size_t t = 0; t < strides.size(); ++t) loops.strides[t].back() = strides[t][axis];
    } else {
      loops.extents.push_back(extents[axis]);
      for (std::size_t t = 0; t < strides.size(); ++t) loops.strides[t].push_back(strides[t][axis]);
    }
  }
  return loops;
}

namespace {

constexpr std::size_t kCopyGrain = 1 << 15;  // elements of a task

template <class T>
void copy_line(T* to, std::int64_t to_stride, const T* from, std::int64_t from_stride, std::size_t count) {
  if (to_stride == 1 && from_stride == 1) {
    std::memcpy(to, from, count * sizeof(T));
  } else if (to_stride == 1 && from_stride == 0) {
    std::fill(to, to + count, *from);
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      to[static_cast<std::int64_t>(i) * to_stride] = from[static_cast<std::int64_t>(i) * from_stride];
    }
  }
}

constexpr std::int64_t kStripe = 64;  // rows of a transposition that are one task

// Elements of 4 and 8 bytes as floats and doubles: they are moved, never computed with.
template <class Float, class T>
void transpose_as(T* to, std::int64_t to_row, const T* from, std::int64_t from_column, std::int64_t rows, std::int64_t columns) {
  gemm_kernel<Float>().transpose(reinterpret_cast<const Float*>(from), from_column, static_cast<std::size_t>(columns),
                                 static_cast<std::size_t>(rows), reinterpret_cast<Float*>(to), static_cast<std::size_t>(to_row));
}

// The two innermost axes in tiles, so that neither side is read or written far apart: a transposition.
template <class T>
void copy_tiled(T* to, std::int64_t to_row, std::int64_t to_column, const T* from, std::int64_t from_row, std::int64_t from_column,
                std::int64_t rows, std::int64_t columns) {
  constexpr std::int64_t kTile = 16, kWide = 32;
  if constexpr (sizeof(T) >= 4) {
    if (to_column == 1 && from_row == 1) {
      using Float = std::conditional_t<sizeof(T) == 4, float, double>;
      for (std::int64_t c = 0; c < columns; c += kWide) {
        transpose_as<Float>(to + c, to_row, from + c * from_column, from_column, rows, std::min(kWide, columns - c));
      }
      return;
    }
  }
  for (std::int64_t r0 = 0; r0 < rows; r0 += kTile) {
    const std::int64_t r1 = std::min(r0 + kTile, rows);
    for (std::int64_t c0 = 0; c0 < columns; c0 += kTile) {
      const std::int64_t c1 = std::min(c0 + kTile, columns);
      for (std::int64_t r = r0; r < r1; ++r) {
        for (std::int64_t c = c0; c < c1; ++c) to[r * to_row + c * to_column] = from[r * from_row + c * from_column];
      }
    }
  }
}

// Puts the axis with the smallest operand stride next to the last one: the pair that a tile should cover.
void prepare_transposition(Loops& loops) {
  const std::size_t last = loops.extents.size() - 1;
  std::size_t best = last;
  for (std::size_t axis = 0; axis <= last; ++axis) {
    if (std::abs(loops.strides[1][axis]) < std::abs(loops.strides[1][best]) && loops.strides[1][axis] != 0) best = axis;
  }
  if (best == last) best = last - 1;
  const auto to_front_of_last = [&](Shape& values) { std::rotate(values.begin() + best, values.begin() + best + 1, values.end() - 1); };
  to_front_of_last(loops.extents);
  for (Shape& strides : loops.strides) to_front_of_last(strides);
}

// The two innermost axes are exchanged; stripes of rows are the tasks.
template <class T>
void transpose_all(const Loops& loops, T* to, const T* from) {
  const std::size_t row_axis = loops.extents.size() - 2, column_axis = row_axis + 1;
  const std::int64_t rows = loops.extents[row_axis], columns = loops.extents[column_axis];
  const auto stripes = static_cast<std::size_t>((rows + kStripe - 1) / kStripe);
  const auto stripe_size = static_cast<std::size_t>(std::min(rows, kStripe) * columns);
  const Odometer<2> start(loops, 2);
  parallel_ranges(start.count() * stripes, std::max<std::size_t>(kCopyGrain / stripe_size, 1), [&](std::size_t first, std::size_t last) {
    Odometer<2> at = start;
    at.seek(first / stripes);
    for (std::size_t task = first; task < last; ++task) {
      const auto row = static_cast<std::int64_t>(task % stripes) * kStripe;
      copy_tiled(to + at.offset(0) + row * loops.strides[0][row_axis], loops.strides[0][row_axis], loops.strides[0][column_axis],
                 from + at.offset(1) + row * loops.strides[1][row_axis], loops.strides[1][row_axis], loops.strides[1][column_axis],
                 std::min(kStripe, rows - row), columns);
      if ((task + 1) % stripes == 0) at.next();
    }
  });
}

template <class T>
void copy_all(Loops& loops, T* to, const T* from) {
  if (loops.extents.empty()) {
    *to = *from;
    return;
  }
  const std::size_t rank = loops.extents.size();
  if (loops.extents.back() == 0) return;
  const bool transposes = rank >= 2 && loops.strides[1].back() != 1 && loops.strides[1].back() != 0;
  if (transposes) prepare_transposition(loops);
  if (transposes) return transpose_all(loops, to, from);
  const auto inner = static_cast<std::size_t>(loops.extents.back());
  const Odometer<2> start(loops, 1);
  parallel_ranges(start.count(), std::max<std::size_t>(kCopyGrain / inner, 1), [&](std::size_t first, std::size_t last) {
    Odometer<2> at = start;
    at.seek(first);
    for (std::size_t line = first; line < last; ++line, at.next()) {
      copy_line(to + at.offset(0), loops.strides[0].back(), from + at.offset(1), loops.strides[1].back(), inner);
    }
  });
}

}  // namespace

void copy_strided(std::size_t width, const Shape& extents, std::byte* to, const Shape& to_strides, const std::byte* from,
                  const Shape& from_strides) {
  Loops loops = merged(extents, {to_strides, from_strides});
  const auto copy = [&](auto element) {
    using T = decltype(element);
    copy_all(loops, reinterpret_cast<T*>(to), reinterpret_cast<const T*>(from));
  };
  switch (width) {
    case 1:
      return copy(std::uint8_t());
    case 2:
      return copy(std::uint16_t());
    case 4:
      return copy(std::uint32_t());
    default:
      demand(width == 8, "copy_strided: elements of 1, 2, 4 or 8 bytes");
      return copy(std::uint64_t());
  }
}

}  // namespace assay::runtime
