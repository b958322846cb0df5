// conv and conv_transpose over any number of spatial axes: windows laid out as the columns of a matrix, then a product of matrices.
//
// Padding is zero, and a tap outside x is no term of the sum. A product of 0 with the weight changes nothing, unless that is infinite or
// NaN: convolutions that read padding through such a weight are computed tap by tap.
#include <algorithm>
#include <vector>

#include "runtime/buffers.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

Convolution convolution_of(const Call& call) {
  const auto& w = call.get<WindowAttributes>();
  const bool transposed = call.op == Op::conv_transpose;
  const Shape &x = call.operand(0).shape(), &y = call.result.shape();
  const Shape &coarse = transposed ? x : y, &fine = transposed ? y : x;
  Convolution c;
  c.images = static_cast<std::size_t>(x[0]);
  c.groups = static_cast<std::size_t>(w.groups);
  c.coarse_channels = static_cast<std::size_t>(coarse[1]) / c.groups;
  c.fine_channels = static_cast<std::size_t>(fine[1]) / c.groups;
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis) {
    c.axes.emplace_back(w, axis, fine[axis + 2], coarse[axis + 2]);
    c.coarse_size *= static_cast<std::size_t>(coarse[axis + 2]);
    c.fine_size *= static_cast<std::size_t>(fine[axis + 2]);
    c.kernel_size *= static_cast<std::size_t>(w.kernel[axis]);
  }
  return c;
}

namespace {

// f(fine line or nullptr, offset of the line's first tap, coarse line) for each line of windows along the last axis, at one kernel
// position.
template <class F>
void for_lines(const Convolution& c, std::size_t kernel_position, const F& f) {
  const std::size_t rank = c.axes.size();
  std::vector<std::int64_t> offset(rank);
  for (std::size_t axis = rank; axis-- > 0;) {
    offset[axis] = static_cast<std::int64_t>(kernel_position) % c.axes[axis].kernel * c.axes[axis].dilation - c.axes[axis].pad;
    kernel_position /= static_cast<std::size_t>(c.axes[axis].kernel);
  }
  const WindowAxis& last = c.axes.back();
  const std::size_t lines = c.coarse_size / static_cast<std::size_t>(last.result);
  std::vector<std::int64_t> at(rank, 0);
  for (std::size_t line = 0; line < lines; ++line) {
    std::int64_t start = 0;
    bool inside = true;
    for (std::size_t axis = 0; axis + 1 < rank; ++axis) {
      const std::int64_t i = at[axis] * c.axes[axis].stride + offset[axis];
      inside = inside && i >= 0 && i < c.axes[axis].operand;
      start = start * c.axes[axis].operand + i;
    }
    f(inside, start * last.operand, offset[rank - 1], line * static_cast<std::size_t>(last.result));
    for (std::size_t axis = rank - 1; axis-- > 0;) {
      if (++at[axis] < c.axes[axis].result) break;
      at[axis] = 0;
    }
  }
}

// columns[(channel, k), o] = x[channel, o stride - pad + k dilation], 0 outside
template <class T>
void lay_out(const Convolution& c, const T* x, T* columns) {
  const WindowAxis& last = c.axes.back();
  for (std::size_t row = 0; row < c.column_rows(); ++row) {
    const T* const plane = x + row / c.kernel_size * c.fine_size;
    T* const to = columns + row * c.coarse_size;
    for_lines(c, row % c.kernel_size, [&](bool inside, std::int64_t start, std::int64_t offset, std::size_t coarse) {
      T* const line = to + coarse;
      const std::int64_t first = inside ? last.first_result(offset) : last.result, end = inside ? last.end_result(offset) : last.result;
      const T* const from = plane + start + offset;
      std::fill(line, line + std::min(first, last.result), T(0));
      if (last.stride == 1) {
        if (first < end) std::copy(from + first, from + end, line + first);
      } else {
        for (std::int64_t o = first; o < end; ++o) line[o] = from[o * last.stride];
      }
      std::fill(line + std::max(end, first), line + last.result, T(0));
    });
  }
}

// y[channel, o stride - pad + k dilation] += columns[(channel, k), o]
template <class T>
void add_up(const Convolution& c, const T* columns, T* y) {
  const WindowAxis& last = c.axes.back();
  for (std::size_t row = 0; row < c.column_rows(); ++row) {
    T* const plane = y + row / c.kernel_size * c.fine_size;
    const T* const from = columns + row * c.coarse_size;
    for_lines(c, row % c.kernel_size, [&](bool inside, std::int64_t start, std::int64_t offset, std::size_t coarse) {
      if (!inside) return;
      T* const line = plane + start + offset;
      const std::int64_t end = last.end_result(offset);
      for (std::int64_t o = last.first_result(offset); o < end; ++o) line[o * last.stride] += from[coarse + static_cast<std::size_t>(o)];
    });
  }
}

template <class T>
void convolve(const Call& call, const Convolution& c, std::size_t image, std::size_t group) {
  const std::size_t rows = c.column_rows(), part = image * c.groups + group;
  const T* const x = call.operand(0).data<T>().data() + part * c.fine_channels * c.fine_size;
  const T* const w = call.operand(1).data<T>().data() + group * c.coarse_channels * rows;
  const T* const bias = call.operands.size() < 3 ? nullptr : call.operand(2).data<T>().data() + group * c.coarse_channels;
  T* const y = call.result.data<T>().data() + part * c.coarse_channels * c.coarse_size;
  const Start<T> start = bias == nullptr ? Start<T>{} : Start<T>{Start<T>::Kind::rows, bias};
  const Scratch<T> columns(rows * c.coarse_size);
  lay_out(c, x, columns.data());
  multiply<T>(c.coarse_channels, c.coarse_size, rows, {w, static_cast<std::int64_t>(rows), 1},
              {columns.data(), static_cast<std::int64_t>(c.coarse_size), 1}, start, y, c.coarse_size);
}

template <class T>
bool all_finite(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](T value) { return value - value == 0; });
}

// One image and group, the taps inside x only.
template <class T>
void convolve_by_taps(const Call& call, const Convolution& c, std::size_t image, std::size_t group) {
  const std::size_t part = image * c.groups + group;
  const T* const x = call.operand(0).data<T>().data() + part * c.fine_channels * c.fine_size;
  const T* const w = call.operand(1).data<T>().data() + group * c.coarse_channels * c.column_rows();
  T* const y = call.result.data<T>().data() + part * c.coarse_channels * c.coarse_size;
  for (std::size_t m = 0; m < c.coarse_channels; ++m) {
    const T bias = call.operands.size() < 3 ? T(0) : call.operand(2).data<T>()[group * c.coarse_channels + m];
    T* const plane = y + m * c.coarse_size;
    std::fill(plane, plane + c.coarse_size, bias);
    for (std::size_t row = 0; row < c.column_rows(); ++row) {
      const T factor = w[m * c.column_rows() + row];
      const T* const from = x + row / c.kernel_size * c.fine_size;
      for_lines(c, row % c.kernel_size, [&](bool inside, std::int64_t start, std::int64_t offset, std::size_t coarse) {
        const WindowAxis& last = c.axes.back();
        const std::int64_t end = inside ? last.end_result(offset) : 0;
        for (std::int64_t o = last.first_result(offset); o < end; ++o) {
          plane[coarse + static_cast<std::size_t>(o)] += factor * from[start + offset + o * last.stride];
        }
      });
    }
  }
}

template <class T>
void convolve_transposed(const Call& call, const Convolution& c, std::size_t image, std::size_t group) {
  const std::size_t rows = c.column_rows(), part = image * c.groups + group;
  const T* const x = call.operand(0).data<T>().data() + part * c.coarse_channels * c.coarse_size;
  const T* const w = call.operand(1).data<T>().data() + group * c.coarse_channels * rows;
  T* const y = call.result.data<T>().data() + part * c.fine_channels * c.fine_size;
  for (std::size_t channel = 0; channel < c.fine_channels; ++channel) {
    const T bias = call.operands.size() < 3 ? T(0) : call.operand(2).data<T>()[group * c.fine_channels + channel];
    std::fill(y + channel * c.fine_size, y + (channel + 1) * c.fine_size, bias);
  }
  const Scratch<T> columns(rows * c.coarse_size);
  multiply<T>(rows, c.coarse_size, c.coarse_channels, {w, 1, static_cast<std::int64_t>(rows)},
              {x, static_cast<std::int64_t>(c.coarse_size), 1}, {}, columns.data(), c.coarse_size);
  add_up(c, columns.data(), y);
}

}  // namespace

Outcome<Done> run_convolution(const Call& call) {
  const Convolution c = convolution_of(call);
  if (call.result.size() == 0) return Done{};
  with_float(call.result.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const bool by_taps = call.op == Op::conv && !all_finite(call.operand(1).data<T>());
    if constexpr (std::is_same_v<T, float>) {
      if (!by_taps && convolve_directly(call, c)) return;
    }
    const auto one = [&](std::size_t part) {
      if (by_taps) {
        convolve_by_taps<T>(call, c, part / c.groups, part % c.groups);
      } else if (call.op == Op::conv) {
        convolve<T>(call, c, part / c.groups, part % c.groups);
      } else {
        convolve_transposed<T>(call, c, part / c.groups, part % c.groups);
      }
    };
    const std::size_t parts = c.images * c.groups;
    if (parts >= 4) {
      parallel_for(parts, one);
    } else {
      for (std::size_t part = 0; part < parts; ++part) one(part);
    }
  });
  return Done{};
}

}  // namespace assay::runtime
