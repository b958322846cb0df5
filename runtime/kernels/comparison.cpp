// Comparisons, tests for NaN and infinities, the choice between two tensors, conversions of the element type.
//
// Comparisons with NaN are false. Conversions to a float type round to nearest; to integers they drop the fraction and saturate, NaN
// gives 0; between integers they keep the low bits; to booleans they ask whether x != 0.
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/call.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

template <class T, auto F>
void compare_lanes(const Numbers&, const Source* sources, void* result, std::size_t count) {
  const T *const a = static_cast<const T*>(sources[0].data), *const b = static_cast<const T*>(sources[1].data);
  auto* const y = static_cast<std::uint8_t*>(result);
  const std::size_t step_a = sources[0].single ? 0 : 1, step_b = sources[1].single ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) y[i] = F(a[i * step_a], b[i * step_b]) ? 1 : 0;
}
template <class T, auto F>
void test_lanes(const Numbers& numbers, const Source* sources, void* result, std::size_t count) {
  const T* const x = static_cast<const T*>(sources[0].data);
  auto* const y = static_cast<std::uint8_t*>(result);
  const std::size_t step = sources[0].single ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) y[i] = F(x[i * step], numbers) ? 1 : 0;
}

template <class T>
LaneKernel comparison_of(Op op) {
  if (op == Op::equal) return &compare_lanes<T, [](T x, T y) { return x == y; }>;
  if constexpr (!std::is_same_v<T, std::complex<float>>) {
    if (op == Op::less) return &compare_lanes<T, [](T x, T y) { return x < y; }>;
    if (op == Op::less_equal) return &compare_lanes<T, [](T x, T y) { return x <= y; }>;
  }
  if constexpr (std::is_floating_point_v<T>) {
    constexpr T kInfinity = std::numeric_limits<T>::infinity();
    if (op == Op::is_nan) return &test_lanes<T, [](T x, const Numbers&) { return x != x; }>;
    if (op == Op::is_inf)
      return &test_lanes<T,
                         [](T x, const Numbers& which) { return (x == kInfinity && which.a != 0) || (x == -kInfinity && which.b != 0); }>;
  }
  return nullptr;
}

template <class From, class To>
To converted(From x) {
  if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
    // The ends as doubles: the lower one is exact, the upper one may be rounded up to a power of two.
    const auto value = static_cast<double>(x);
    if (!(value == value)) return 0;
    if (value <= static_cast<double>(std::numeric_limits<To>::min())) return std::numeric_limits<To>::min();
    if (value >= static_cast<double>(std::numeric_limits<To>::max())) return std::numeric_limits<To>::max();
  }
  return static_cast<To>(x);
}

template <class From, class To>
void cast_lanes(const Numbers&, const Source* sources, void* result, std::size_t count) {
  const From* const x = static_cast<const From*>(sources[0].data);
  To* const y = static_cast<To*>(result);
  for (std::size_t i = 0; i < count; ++i) y[i] = converted<From, To>(x[i]);
}

template <class T>
void choose_line(const std::uint8_t* which, std::int64_t which_step, const T* a, std::int64_t a_step, const T* b, std::int64_t b_step, T* y,
                 std::size_t count) {
  for (std::size_t k = 0; k < count; ++k) {
    const auto i = static_cast<std::int64_t>(k);
    y[i] = which[i * which_step] != 0 ? a[i * a_step] : b[i * b_step];
  }
}

template <class T>
void choose(const Call& call) {
  const Shape& shape = call.result.shape();
  std::vector<Shape> strides;
  for (const Array* operand : call.operands) strides.push_back(repeating_strides(operand->shape(), shape));
  strides.push_back(dense_strides(shape));
  Loops loops = merged(shape, std::move(strides));
  if (loops.extents.empty()) {
    loops.extents = {1};
    for (Shape& of_tensor : loops.strides) of_tensor = {0};
  }
  const auto* const which = reinterpret_cast<const std::uint8_t*>(call.operand(0).raw());
  const T *const a = reinterpret_cast<const T*>(call.operand(1).raw()), *const b = reinterpret_cast<const T*>(call.operand(2).raw());
  T* const y = reinterpret_cast<T*>(call.result.raw());
  const auto length = static_cast<std::size_t>(loops.extents.back());
  if (length == 0) return;
  const Odometer<4> start(loops, 1);
  parallel_ranges(start.count(), std::max<std::size_t>((1 << 14) / length, 1), [&](std::size_t first, std::size_t last) {
    Odometer<4> at = start;
    at.seek(first);
    for (std::size_t line = first; line < last; ++line, at.next()) {
      choose_line(which + at.offset(0), loops.strides[0].back(), a + at.offset(1), loops.strides[1].back(), b + at.offset(2),
                  loops.strides[2].back(), y + at.offset(3), length);
    }
  });
}

Outcome<Done> run_where(const Call& call) {
  switch (byte_size(call.result.dtype())) {
    case 1:
      choose<std::uint8_t>(call);
      break;
    case 2:
      choose<std::uint16_t>(call);
      break;
    case 4:
      choose<std::uint32_t>(call);
      break;
    default:
      choose<std::uint64_t>(call);
  }
  return Done{};
}

}  // namespace

Outcome<Done> run_comparison(const Call& call) {
  if (call.op == Op::where) return run_where(call);
  const DType dtype = call.operand(0).dtype();
  const auto find = [&](auto type) { return comparison_of<typename decltype(type)::type>(call.op); };
  const LaneKernel kernel = dtype == DType::complex64 ? find(Type<std::complex<float>>()) : with_real(dtype, find);
  if (kernel == nullptr) return not_real(call);
  Numbers numbers;
  if (call.op == Op::is_inf) {
    const auto& [positive, negative] = call.get<IsInfAttributes>();
    numbers = {positive ? 1.0 : 0.0, negative ? 1.0 : 0.0};
  }
  run_lanes(kernel, numbers, call.operands, call.result);
  return Done{};
}

Outcome<Done> run_conversion(const Call& call) {
  const Array& x = call.operand(0);
  if (x.dtype() == DType::complex64) return not_real(call);
  const bool to_truth = call.result.dtype() == DType::boolean;
  const LaneKernel kernel = with_real(x.dtype(), [&](auto from) -> LaneKernel {
    using From = typename decltype(from)::type;
    if (to_truth) return &test_lanes<From, [](From value, const Numbers&) { return value != From(0); }>;
    return with_real(call.result.dtype(), [](auto to) -> LaneKernel { return &cast_lanes<From, typename decltype(to)::type>; });
  });
  run_lanes(kernel, {}, call.operands, call.result);
  return Done{};
}

}  // namespace assay::runtime
