// Elementwise functions by the C library, and everything elementwise on integers: plain loops.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "runtime/kernels/call.h"
#include "runtime/kernels/lanes.h"

namespace assay::runtime {

namespace {

template <class T, class F>
void unary(const F& f, const Source* sources, void* result, std::size_t count) {
  const T* const x = static_cast<const T*>(sources[0].data);
  T* const y = static_cast<T*>(result);
  const std::size_t step = sources[0].single ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<T>(f(x[i * step]));
}
template <class T, class F>
void binary(const F& f, const Source* sources, void* result, std::size_t count) {
  const T *const a = static_cast<const T*>(sources[0].data), *const b = static_cast<const T*>(sources[1].data);
  T* const y = static_cast<T*>(result);
  const std::size_t step_a = sources[0].single ? 0 : 1, step_b = sources[1].single ? 0 : 1;
  for (std::size_t i = 0; i < count; ++i) y[i] = static_cast<T>(f(a[i * step_a], b[i * step_b]));
}

template <class T, auto F>
void unary_lanes(const Numbers&, const Source* sources, void* result, std::size_t count) {
  unary<T>(F, sources, result, count);
}
template <class T, auto F>
void binary_lanes(const Numbers&, const Source* sources, void* result, std::size_t count) {
  binary<T>(F, sources, result, count);
}

template <class T>
T float_remainder(T x, T y, bool truncated) {
  const T rest = std::fmod(x, y);
  return !truncated && rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

// x^r, r = a + b. In double a float's power is as good as exact; of doubles the exponent's tail b is put right to the first order.
double power(double x, double a, double b) {
  const double y = std::pow(x, a);
  if (b == 0 || !std::isfinite(y) || y == 0) return y;
  return y + y * (b * std::log(x));
}
template <class T>
void constant_power(const Numbers& numbers, const Source* sources, void* result, std::size_t count) {
  const double a = numbers.a, b = numbers.b;
  if (b == 0 && a == 0) return unary<T>([](T) { return T(1); }, sources, result, count);
  if (b == 0 && a == 1) return unary<T>([](T x) { return x; }, sources, result, count);
  if (b == 0 && a == 3) return unary<T>([](T x) { return x * x * x; }, sources, result, count);
  if (b == 0 && a == 0.5) return unary<T>([](T x) { return std::sqrt(x); }, sources, result, count);
  if (b == 0 && a == -1) return unary<T>([](T x) { return 1 / x; }, sources, result, count);
  unary<T>([=](T x) { return power(static_cast<double>(x), a, b); }, sources, result, count);
}

template <class T>
LaneKernel library(Op op) {
  switch (op) {
    case Op::sin:
      return &unary_lanes<T, [](T x) { return std::sin(x); }>;
    case Op::cos:
      return &unary_lanes<T, [](T x) { return std::cos(x); }>;
    case Op::tan:
      return &unary_lanes<T, [](T x) { return std::tan(x); }>;
    case Op::asin:
      return &unary_lanes<T, [](T x) { return std::asin(x); }>;
    case Op::acos:
      return &unary_lanes<T, [](T x) { return std::acos(x); }>;
    case Op::atan:
      return &unary_lanes<T, [](T x) { return std::atan(x); }>;
    case Op::sinh:
      return &unary_lanes<T, [](T x) { return std::sinh(x); }>;
    case Op::cosh:
      return &unary_lanes<T, [](T x) { return std::cosh(x); }>;
    case Op::asinh:
      return &unary_lanes<T, [](T x) { return std::asinh(x); }>;
    case Op::acosh:
      return &unary_lanes<T, [](T x) { return std::acosh(x); }>;
    case Op::atanh:
      return &unary_lanes<T, [](T x) { return std::atanh(x); }>;
    case Op::mod:
      return [](const Numbers& numbers, const Source* sources, void* result, std::size_t count) {
        const bool truncated = numbers.a != 0;
        binary<T>([=](T x, T y) { return float_remainder(x, y, truncated); }, sources, result, count);
      };
    case Op::pow:
      return &constant_power<T>;
    case Op::power:
      return [](const Numbers&, const Source* sources, void* result, std::size_t count) {
        binary<T>([](T x, T y) { return std::pow(static_cast<double>(x), static_cast<double>(y)); }, sources, result, count);
      };
    default:
      return nullptr;
  }
}

// Integers wrap around: all arithmetic is done on the unsigned type of 64 bits and cut off.
template <class T>
std::uint64_t bits(T x) {
  return static_cast<std::uint64_t>(static_cast<std::int64_t>(x));
}

template <class T>
T quotient(T x, T y) {  // y != 0
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return static_cast<T>(std::uint64_t{0} - bits(x));
  }
  return static_cast<T>(x / y);
}
template <class T>
T integer_remainder(T x, T y, bool truncated) {  // y != 0
  if constexpr (std::is_signed_v<T>) {
    if (y == -1) return 0;
    const T rest = static_cast<T>(x % y);
    return !truncated && rest != 0 && (rest < 0) != (y < 0) ? static_cast<T>(rest + y) : rest;
  } else {
    return static_cast<T>(x % y);
  }
}
template <class T>
T integer_power(T x, std::uint64_t n) {
  std::uint64_t result = 1;
  for (std::uint64_t base = bits(x); n != 0; n >>= 1U, base *= base) {
    if (n & 1U) result *= base;
  }
  return static_cast<T>(result);
}

template <class T>
LaneKernel integers(Op op) {
  switch (op) {
    case Op::add:
      return &binary_lanes<T, [](T x, T y) { return bits(x) + bits(y); }>;
    case Op::sub:
      return &binary_lanes<T, [](T x, T y) { return bits(x) - bits(y); }>;
    case Op::mul:
      return &binary_lanes<T, [](T x, T y) { return bits(x) * bits(y); }>;
    case Op::div:
      return &binary_lanes<T, [](T x, T y) { return quotient(x, y); }>;
    case Op::min:
      return &binary_lanes<T, [](T x, T y) { return std::min(x, y); }>;
    case Op::max:
      return &binary_lanes<T, [](T x, T y) { return std::max(x, y); }>;
    case Op::bitwise_and:
      return &binary_lanes<T, [](T x, T y) { return x & y; }>;
    case Op::bitwise_or:
      return &binary_lanes<T, [](T x, T y) { return x | y; }>;
    case Op::bitwise_xor:
      return &binary_lanes<T, [](T x, T y) { return x ^ y; }>;
    case Op::logical_and:
      return &binary_lanes<T, [](T x, T y) { return x & y; }>;
    case Op::logical_or:
      return &binary_lanes<T, [](T x, T y) { return x | y; }>;
    case Op::logical_xor:
      return &binary_lanes<T, [](T x, T y) { return x ^ y; }>;
    case Op::power:
      return &binary_lanes<T, [](T x, T y) { return integer_power(x, bits(y)); }>;
    case Op::logical_not:
      return &unary_lanes<T, [](T x) { return x ^ 1; }>;
    case Op::neg:
      return &unary_lanes<T, [](T x) { return std::uint64_t{0} - bits(x); }>;
    case Op::abs:
      return &unary_lanes<T, [](T x) { return x < T(0) ? std::uint64_t{0} - bits(x) : bits(x); }>;
    case Op::sign:
      return &unary_lanes<T, [](T x) { return (x > T(0)) - (x < T(0)); }>;
    case Op::relu:
      return &unary_lanes<T, [](T x) { return std::max(x, T(0)); }>;
    case Op::mod:
      return [](const Numbers& numbers, const Source* sources, void* result, std::size_t count) {
        const bool truncated = numbers.a != 0;
        binary<T>([=](T x, T y) { return integer_remainder(x, y, truncated); }, sources, result, count);
      };
    case Op::pow:
      return [](const Numbers& numbers, const Source* sources, void* result, std::size_t count) {
        const auto n = static_cast<std::uint64_t>(numbers.a);
        unary<T>([=](T x) { return integer_power(x, n); }, sources, result, count);
      };
    default:
      return nullptr;
  }
}

// The double nearest to the number.
double nearest_double(const Rational& value) {
  const double down = value.double_down(), up = value.double_up();
  if (!std::isfinite(down) || !std::isfinite(up)) return std::isfinite(down) ? down : up;
  const Rational to_down = value - *Rational::from_double(down), to_up = *Rational::from_double(up) - value;
  return to_down <= to_up ? down : up;
}

}  // namespace

LaneKernel library_lanes(Op op, DType dtype) { return dtype == DType::float32 ? library<float>(op) : library<double>(op); }

LaneKernel integer_lanes(Op op, DType dtype) {
  return with_integer(dtype, [&](auto type) { return integers<typename decltype(type)::type>(op); });
}

LaneKernel float_lanes(Op op, DType dtype, const Attributes& attributes) {
  if (op == Op::pow) {
    return std::get<PowAttributes>(attributes).exponent == Rational(2) ? arithmetic_lanes(op, dtype) : library_lanes(op, dtype);
  }
  if (op == Op::gelu && std::get<GeluAttributes>(attributes).tanh_form) return tanh_gelu_lanes(dtype);
  if (const LaneKernel kernel = arithmetic_lanes(op, dtype)) return kernel;
  if (const LaneKernel kernel = function_lanes(op, dtype)) return kernel;
  return library_lanes(op, dtype);
}

Numbers numbers_of(Op op, const Attributes& attributes) {
  if (const auto* scale = std::get_if<ScaleAttributes>(&attributes)) return {scale->factor, 0};
  if (const auto* leaky = std::get_if<LeakyReluAttributes>(&attributes)) return {leaky->slope, 0};
  if (const auto* clip = std::get_if<ClipAttributes>(&attributes)) return {clip->lo, clip->hi};
  if (const auto* activation = std::get_if<ActivationAttributes>(&attributes)) return {activation->alpha, activation->beta};
  if (const auto* mod = std::get_if<ModAttributes>(&attributes)) return {mod->truncated ? 1.0 : 0.0, 0};
  if (op != Op::pow) return {};
  const Rational& exponent = std::get<PowAttributes>(attributes).exponent;
  const double head = nearest_double(exponent);
  const std::optional<Rational> exact = Rational::from_double(head);
  return {head, exact ? nearest_double(exponent - *exact) : 0};
}

}  // namespace assay::runtime
