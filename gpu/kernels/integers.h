// Arithmetic of integers: elementwise ops, matmul, reductions.
//
// Meaning.   The ops of docs/ops on int64, int32, int8 and uint8 (extrema: of truth values, too). Division drops the fraction; mod has the
//            divisor's sign, truncated the dividend's.
// Layout.    One thread per element of the result, in a loop over the grid; it walks through its sum or group by itself.
// Order.     From first to last: bit-reproducible, and no other order would differ.
// Error.     Exact modulo 2^bits. A divisor of 0 and a negative exponent are refused (gpu.operand) before anything is written.
// NaN, inf.  There are none.
#pragma once

#include "gpu/call.h"
#include "gpu/kernels/find.h"

namespace assay::gpu {

template <class T>
ASSAY_BOTH T negated(T x) {
  return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
}
// y is not 0; the least integer by -1 leaves the type, and wraps around.
template <class T>
ASSAY_BOTH T quotient(T x, T y) {
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) return negated(x);
  return static_cast<T>(x / y);
}
template <class T>
ASSAY_BOTH T remainder_of(T x, T y, bool truncated) {
  if (std::is_signed_v<T> && y == static_cast<T>(-1)) return 0;
  const T rest = static_cast<T>(x % y);
  return !truncated && rest != 0 && is_negative(rest) != is_negative(y) ? static_cast<T>(rest + y) : rest;
}
template <class T>
ASSAY_BOTH T integer_power(T x, std::uint64_t n) {
  std::uint64_t result = 1;
  for (auto base = static_cast<std::uint64_t>(x); n != 0; n >>= 1U, base *= base) result = (n & 1U) != 0 ? result * base : result;
  return static_cast<T>(result);
}

template <class T>
struct IntegerKernel {
  static constexpr const char* kName = "integers";
  static constexpr unsigned kThreads = 128;

  View<const T> a, b;  // of one operand both are the same
  Strided a_at, b_at;
  View<T> y;
  Op op = Op::add;
  bool truncated = false;      // of mod
  std::uint64_t exponent = 0;  // of pow

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) y[i] = applied(a[a_at.offset(i)], b[b_at.offset(i)]);
  }

 private:
  [[nodiscard]] ASSAY_BOTH T applied(T p, T q) const {
    switch (op) {
      case Op::add:
        return added(p, q);
      case Op::sub:
        return added(p, negated(q));
      case Op::mul:
        return multiplied(p, q);
      case Op::div:
        return quotient(p, q);
      case Op::mod:
        return remainder_of(p, q, truncated);
      case Op::power:
        return integer_power(p, static_cast<std::uint64_t>(q));
      case Op::pow:
        return integer_power(p, exponent);
      case Op::min:
        return q < p ? q : p;
      case Op::max:
        return q > p ? q : p;
      case Op::bitwise_and:
        return static_cast<T>(p & q);
      case Op::bitwise_or:
        return static_cast<T>(p | q);
      case Op::bitwise_xor:
        return static_cast<T>(p ^ q);
      case Op::neg:
        return negated(p);
      case Op::abs:
        return is_negative(p) ? negated(p) : p;
      case Op::sign:
        return static_cast<T>((p > 0 ? 1 : 0) - (is_negative(p) ? 1 : 0));
      default:  // relu; the launcher refuses all others
        return p > 0 ? p : T{0};
    }
  }
};

template <class T>
struct IntegerProductKernel {
  static constexpr const char* kName = "integer_product";
  static constexpr unsigned kThreads = 128;

  View<const T> a, b;
  View<T> y;
  std::size_t rows = 1, columns = 1, depth = 1;
  Strided a_batch, b_batch;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t batch = i / (rows * columns), row = i / columns % rows, column = i % columns;
      const std::size_t left = a_batch.offset(batch) + row * depth, right = b_batch.offset(batch) + column;
      T sum = 0;
      for (std::size_t q = 0; q < depth; ++q) sum = added(sum, multiplied(a[left + q], b[right + q * columns]));
      y[i] = sum;
    }
  }
};

template <class T>
struct IntegerReduceKernel {
  static constexpr const char* kName = "integer_reduce";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<T> y;
  Groups groups;
  Op op = Op::reduce_sum;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) {
      const std::size_t first = groups.kept.offset(i);
      T value = start();
      for (std::size_t k = 0; k < groups.size; ++k) {
        const T next = x[first + groups.within.offset(k)];
        value = op == Op::reduce_sum    ? added(value, next)
                : op == Op::reduce_prod ? multiplied(value, next)
                : op == Op::reduce_max  ? (next > value ? next : value)
                                        : (next < value ? next : value);
      }
      y[i] = value;
    }
  }

 private:
  // The result of a reduction of no elements.
  [[nodiscard]] ASSAY_BOTH T start() const {
    if (op == Op::reduce_sum) return 0;
    if (op == Op::reduce_prod) return 1;
    return op == Op::reduce_max ? kLeast<T> : kMost<T>;
  }
};

// f(Type<T>()) for integers other than truth values.
template <class F>
Outcome<Done> with_integers(const Call& call, const F& f) {
  if (call.result.dtype == DType::boolean) return refused(call.op, call.result.dtype);
  return with_elements(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    if constexpr (std::is_same_v<typename decltype(type)::type, float>) {
      return refused(call.op, DType::float32);
    } else {
      return f(type);
    }
  });
}

template <class T, class Queue>
Outcome<Done> integers_of(Queue& queue, const Call& call, std::span<const Operand> operands) {
  const Operand &first = operands.front(), &last = operands.back();
  const auto a_at = strided(call.shape, repeating_strides(*first.shape, call.shape)),
             b_at = strided(call.shape, repeating_strides(*last.shape, call.shape));
  if (!a_at || !b_at) return refused(call.op, "too many axes to repeat over");
  IntegerKernel<T> kernel{first.data.template as<T>(), last.data.template as<T>(), *a_at, *b_at, call.result.template as<T>()};
  kernel.op = call.op;
  if (const auto* mod = std::get_if<ModAttributes>(&call.attributes)) kernel.truncated = mod->truncated;
  if (const auto* pow = std::get_if<PowAttributes>(&call.attributes)) {
    const std::optional<std::int64_t> exponent = pow->exponent.to_int64();
    if (!exponent || *exponent < 0) return refused(call.op, "an exponent that is no whole number from 0 on");
    kernel.exponent = static_cast<std::uint64_t>(*exponent);
  }
  const bool divides = call.op == Op::div || call.op == Op::mod;
  if (divides || call.op == Op::power) {
    const Wanted wanted{0, std::numeric_limits<std::int64_t>::max(), divides};
    if (auto fits = check_numbers(queue, call.op, divides ? "divisor" : "exponent", kernel.b, wanted); !fits) return fits;
  }
  if (call.result.size == 0) return Done{};
  return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
}

// min and max of many operands: the result so far is the first operand of the next launch.
template <class Queue>
Outcome<Done> run_integers(Queue& queue, const Call& call) {
  return with_integers(call, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    std::vector<Operand> pair(call.operands.begin(), call.operands.begin() + (call.operands.size() > 1 ? 2 : 1));
    if (auto done = integers_of<T>(queue, call, pair); !done) return done;
    for (std::size_t k = 2; k < call.operands.size(); ++k) {
      pair = {{{call.result.data, call.result.size, call.result.dtype}, &call.shape}, call.operands[k]};
      if (auto done = integers_of<T>(queue, call, pair); !done) return done;
    }
    return Done{};
  });
}

template <class Queue>
Outcome<Done> run_integer_reduction(Queue& queue, const Call& call) {
  if (call.op == Op::reduce_mean || call.op == Op::max_weight) return refused(call.op, call.result.dtype);
  return with_elements(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    const auto groups = groups_of(call.shape_of(), call.get<ReduceAttributes>().axes);
    if (!groups) return refused(call.op, "too many axes");
    if (call.result.size == 0) return Done{};
    if constexpr (std::is_same_v<T, float>) {
      return refused(call.op, DType::float32);
    } else {
      const IntegerReduceKernel<T> kernel{call.operands[0].data.template as<T>(), call.result.template as<T>(), *groups, call.op};
      return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
    }
  });
}

}  // namespace assay::gpu
