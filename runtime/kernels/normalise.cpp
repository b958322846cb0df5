// Ops on groups of elements: softmax, log_softmax, log_sum_exp, masked_softmax, normalise; and batch_norm, local_response.
//
// Groups that are not the innermost axes are laid out as rows first, and the result is laid back.
#include <algorithm>
#include <cmath>
#include <vector>

#include "runtime/buffers.h"
#include "runtime/kernels/call.h"
#include "runtime/kernels/rows.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

using Axes = std::vector<std::int64_t>;

// The axes in an order that has the grouped ones last.
struct Layout {
  Axes order;
  Shape shape;                // in that order
  Shape strides;              // of the original tensor, in that order
  std::size_t rows, columns;  // groups, elements of a group
  bool moves = false;         // the order is another one
};
Layout layout_of(const Shape& shape, const Axes& axes) {
  const Shape dense = dense_strides(shape);
  const auto grouped = [&](std::int64_t axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
  Layout layout{{}, {}, {}, 1, 1};
  std::int64_t previous = -1;
  for (const bool want : {false, true}) {
    for (std::int64_t axis = 0; axis < static_cast<std::int64_t>(shape.size()); ++axis) {
      if (grouped(axis) != want) continue;
      const std::int64_t extent = shape[static_cast<std::size_t>(axis)];
      layout.order.push_back(axis);
      layout.shape.push_back(extent);
      layout.strides.push_back(dense[static_cast<std::size_t>(axis)]);
      (want ? layout.columns : layout.rows) *= static_cast<std::size_t>(extent);
      layout.moves = layout.moves || axis < previous;
      previous = axis;
    }
  }
  return layout;
}

// f(first element of the row in x, in the mask, in y) for every row.
template <class T, class F>
void for_rows(const Layout& layout, const T* x, const std::uint8_t* mask, T* y, std::size_t result_columns, const F& f) {
  parallel_ranges(layout.rows, std::max<std::size_t>((1 << 13) / std::max<std::size_t>(layout.columns, 1), 1),
                  [&](std::size_t first, std::size_t last) {
                    for (std::size_t row = first; row < last; ++row) {
                      f(x + row * layout.columns, mask == nullptr ? nullptr : mask + row * layout.columns, y + row * result_columns);
                    }
                  });
}

// As for_rows, on x as rows; the result has x's shape, or one element per row (result_columns = 1).
template <class T, class F>
void on_groups(const Array& x, const Axes& axes, const Array* mask, bool one_each, Array& result, const F& f) {
  const Layout layout = layout_of(x.shape(), axes);
  if (x.size() == 0) return;
  const Shape dense = dense_strides(layout.shape);
  Scratch<std::uint8_t> gates(mask == nullptr ? 0 : x.size());
  if (mask != nullptr) {
    const Shape repeating = repeating_strides(mask->shape(), x.shape());
    Shape strides;
    for (const std::int64_t axis : layout.order) strides.push_back(repeating[static_cast<std::size_t>(axis)]);
    copy_strided(1, layout.shape, reinterpret_cast<std::byte*>(gates.data()), dense, mask->raw(), strides);
  }
  const std::uint8_t* const rows_of_mask = mask == nullptr ? nullptr : gates.data();
  const T* from = x.data<T>().data();
  T* const to = result.data<T>().data();
  const std::size_t columns = one_each ? 1 : layout.columns;
  if (!layout.moves) return for_rows<T>(layout, from, rows_of_mask, to, columns, f);
  const Scratch<T> rows(x.size()), results(one_each ? 0 : x.size());
  copy_strided(sizeof(T), layout.shape, reinterpret_cast<std::byte*>(rows.data()), dense, x.raw(), layout.strides);
  if (one_each) return for_rows<T>(layout, rows.data(), rows_of_mask, to, columns, f);
  for_rows<T>(layout, rows.data(), rows_of_mask, results.data(), columns, f);
  // Read in the order of the result, so that it is written in one sweep.
  copy_strided(sizeof(T), layout.shape, result.raw(), layout.strides, reinterpret_cast<const std::byte*>(results.data()), dense);
}

// Along an axis that is not the innermost one: columns side by side.
template <class T>
void softmax_along(RowForm form, const Array& x, std::int64_t axis, Array& result) {
  const Shape& shape = x.shape();
  const auto count = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  const std::size_t stride = element_count(Shape(shape.begin() + axis + 1, shape.end())), stripes = (stride + kColumns - 1) / kColumns;
  const std::size_t outer = x.size() / (count * stride);
  const T* const from = x.data<T>().data();
  T* const to = result.data<T>().data();
  parallel_ranges(outer * stripes, std::max<std::size_t>((1 << 13) / (count * std::min(stride, kColumns)), 1),
                  [&](std::size_t first, std::size_t last) {
                    for (std::size_t i = first; i < last; ++i) {
                      const std::size_t column = i % stripes * kColumns, at = i / stripes * count * stride + column;
                      row_kernels<T>().softmax_columns(form, from + at, count, stride, std::min(kColumns, stride - column), to + at);
                    }
                  });
}

template <class T>
void softmax(const Call& call) {
  const RowKernels<T>& kernels = row_kernels<T>();
  if (call.op == Op::masked_softmax) {
    const auto& attributes = call.get<MaskedSoftmaxAttributes>();
    const auto columns = static_cast<std::size_t>(call.operand(0).shape()[static_cast<std::size_t>(attributes.axis)]);
    on_groups<T>(call.operand(0), {attributes.axis}, &call.operand(1), false, call.result, [&](const T* x, const std::uint8_t* mask, T* y) {
      kernels.softmax(RowForm::softmax, x, mask, attributes.empty_is_zero, columns, y);
    });
    return;
  }
  const bool sums = call.op == Op::log_sum_exp;
  const Axes axes = sums ? call.get<ReduceAttributes>().axes : Axes{call.get<SoftmaxAttributes>().axis};
  const RowForm form = sums ? RowForm::log_sum_exp : call.op == Op::softmax ? RowForm::softmax : RowForm::log_softmax;
  const Layout layout = layout_of(call.operand(0).shape(), axes);
  if (!sums && layout.moves && call.operand(0).size() > 0) return softmax_along<T>(form, call.operand(0), axes[0], call.result);
  const std::size_t columns = layout.columns;
  on_groups<T>(call.operand(0), axes, nullptr, sums, call.result,
               [&](const T* x, const std::uint8_t* mask, T* y) { kernels.softmax(form, x, mask, false, columns, y); });
}

template <class T>
void batch_norm(const Call& call) {
  const Shape& shape = call.operand(0).shape();
  const auto channels = static_cast<std::size_t>(shape[1]);
  const std::size_t plane = element_count(Shape(shape.begin() + 2, shape.end()));
  const auto values = [&](std::size_t operand) { return call.operand(operand).data<T>().data(); };
  const T *const scale = values(1), *const bias = values(2), *const mean = values(3), *const variance = values(4);
  const auto epsilon = static_cast<T>(call.get<BatchNormAttributes>().epsilon);
  const T* const x = values(0);
  T* const y = call.result.data<T>().data();
  std::vector<T> factors(channels);
  for (std::size_t c = 0; c < channels; ++c) factors[c] = scale[c] / std::sqrt(variance[c] + epsilon);
  const std::size_t planes = static_cast<std::size_t>(shape[0]) * channels;
  parallel_ranges(planes, std::max<std::size_t>((1 << 14) / std::max<std::size_t>(plane, 1), 1), [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t c = i % channels;
      row_kernels<T>().shift_and_scale(x + i * plane, mean[c], factors[c], bias[c], plane, y + i * plane);
    }
  });
}

// y_c = x_c / (bias + alpha/size * s_c)^beta, s_c the sum of the squares of the channels around c.
template <class T>
void local_response(const Call& call) {
  const auto& attributes = call.get<LocalResponseAttributes>();
  const Shape& shape = call.operand(0).shape();
  const std::int64_t channels = shape[1], before = (attributes.size - 1) / 2, after = attributes.size - 1 - before;
  const std::size_t plane = element_count(Shape(shape.begin() + 2, shape.end()));
  const auto share = static_cast<T>(attributes.alpha) / static_cast<T>(attributes.size);
  const auto bias = static_cast<T>(attributes.bias);
  const T* const x = call.operand(0).data<T>().data();
  T* const y = call.result.data<T>().data();
  parallel_for(static_cast<std::size_t>(shape[0] * channels), [&](std::size_t i) {
    const auto c = static_cast<std::int64_t>(i) % channels;
    const T* const own = x + i * plane;
    T* const to = y + i * plane;
    std::fill(to, to + plane, T(0));
    for (std::int64_t k = std::max<std::int64_t>(c - before, 0); k <= std::min(c + after, channels - 1); ++k) {
      const T* const other = own + (k - c) * static_cast<std::int64_t>(plane);
      for (std::size_t p = 0; p < plane; ++p) to[p] += other[p] * other[p];
    }
    for (std::size_t p = 0; p < plane; ++p) {
      const T base = bias + share * to[p];
      to[p] = own[p] / static_cast<T>(std::pow(static_cast<double>(base), attributes.beta));
    }
  });
}

}  // namespace

Outcome<Done> run_softmax(const Call& call) {
  with_float(call.result.dtype(), [&](auto type) { softmax<typename decltype(type)::type>(call); });
  return Done{};
}

Outcome<Done> run_normalise(const Call& call) {
  const auto& attributes = call.get<NormaliseAttributes>();
  const std::size_t columns = layout_of(call.operand(0).shape(), attributes.axes).columns;
  with_float(call.result.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    on_groups<T>(call.operand(0), attributes.axes, nullptr, false, call.result, [&](const T* x, const std::uint8_t*, T* y) {
      row_kernels<T>().normalise(attributes.form, static_cast<T>(attributes.epsilon), x, columns, y);
    });
  });
  return Done{};
}

Outcome<Done> run_batch_norm(const Call& call) {
  with_float(call.result.dtype(), [&](auto type) { batch_norm<typename decltype(type)::type>(call); });
  return Done{};
}

Outcome<Done> run_local_response(const Call& call) {
  with_float(call.result.dtype(), [&](auto type) { local_response<typename decltype(type)::type>(call); });
  return Done{};
}

}  // namespace assay::runtime
