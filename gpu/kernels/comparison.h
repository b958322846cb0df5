// equal, less, less_equal, is_nan, is_inf, logical ops, where, cast.
//
// Meaning.   As docs/ops. Truth values are bytes, 0 or 1. cast to integers drops the fraction.
// Layout.    One thread per element of the result, in a loop over the grid; operands are repeated by their strides.
// Order.     None.
// Error.     Exact; cast to float rounds to nearest. Beyond an integer type cast gives its end, of NaN 0: of these elements the meaning
//            says nothing. Between integers it keeps the low bits.
// NaN, inf.  Comparisons with NaN are false.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

enum class Question : std::uint8_t { equal, less, less_equal, both, either, one_of, negated, nan, infinite };

template <class T>
struct CompareKernel {
  static constexpr const char* kName = "compare";
  static constexpr unsigned kThreads = 128;

  View<const T> a, b;  // of one operand both are the same
  Strided a_at, b_at;
  View<std::uint8_t> y;
  Question question = Question::equal;
  bool positive = true, negative = true;  // which infinities

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) y[i] = holds(a[a_at.offset(i)], b[b_at.offset(i)]) ? 1 : 0;
  }

 private:
  [[nodiscard]] ASSAY_BOTH bool holds(T p, T q) const {
    switch (question) {
      case Question::equal:
        return p == q;
      case Question::less:
        return p < q;
      case Question::less_equal:
        return p <= q;
      case Question::both:
        return p != 0 && q != 0;
      case Question::either:
        return p != 0 || q != 0;
      case Question::one_of:
        return (p != 0) != (q != 0);
      case Question::negated:
        return p == 0;
      case Question::nan:
        return is_nan(p);
      case Question::infinite:
        return (positive && static_cast<float>(p) == kInfinity) || (negative && static_cast<float>(p) == -kInfinity);
    }
    return false;
  }
};

template <class T>
struct WhereKernel {
  static constexpr const char* kName = "where";
  static constexpr unsigned kThreads = 128;

  View<const std::uint8_t> condition;
  View<const T> yes, no;
  Strided condition_at, yes_at, no_at;
  View<T> y;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size))
      y[i] = condition[condition_at.offset(i)] != 0 ? yes[yes_at.offset(i)] : no[no_at.offset(i)];
  }
};

template <class To, class From>
ASSAY_BOTH To converted(From x) {
  if constexpr (std::is_same_v<From, float> && std::is_integral_v<To>) {
    // The ends as doubles: the lower one is exact, the upper one of 64 bits is rounded up to a power of two.
    const auto value = static_cast<double>(x);
    if (is_nan(value)) return 0;
    if (value <= static_cast<double>(kLeast<To>)) return kLeast<To>;
    if (value >= static_cast<double>(kMost<To>)) return kMost<To>;
  }
  return static_cast<To>(x);
}

template <class From, class To>
struct CastKernel {
  static constexpr const char* kName = "cast";
  static constexpr unsigned kThreads = 128;

  View<const From> x;
  View<To> y;
  bool truth = false;  // to truth values

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) y[i] = truth ? static_cast<To>(x[i] != 0 ? 1 : 0) : converted<To>(x[i]);
  }
};

[[nodiscard]] inline Question question_of(Op op) {
  return op == Op::equal         ? Question::equal
         : op == Op::less        ? Question::less
         : op == Op::less_equal  ? Question::less_equal
         : op == Op::logical_and ? Question::both
         : op == Op::logical_or  ? Question::either
         : op == Op::logical_xor ? Question::one_of
         : op == Op::logical_not ? Question::negated
         : op == Op::is_nan      ? Question::nan
                                 : Question::infinite;
}

template <class Queue>
Outcome<Done> run_comparison(Queue& queue, const Call& call) {
  return with_elements(call.op, call.dtype(), [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    const std::size_t last = call.operands.size() - 1;
    const auto a_at = strided(call.shape, repeating_strides(call.shape_of(0), call.shape)),
               b_at = strided(call.shape, repeating_strides(call.shape_of(last), call.shape));
    if (!a_at || !b_at) return refused(call.op, "too many axes to repeat over");
    if (call.result.size == 0) return Done{};
    CompareKernel<T> kernel{call.operands[0].data.template as<T>(), call.operands[last].data.template as<T>(), *a_at, *b_at,
                            call.result.template as<std::uint8_t>()};
    kernel.question = question_of(call.op);
    if (const auto* which = std::get_if<IsInfAttributes>(&call.attributes)) {
      kernel.positive = which->positive;
      kernel.negative = which->negative;
    }
    return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
  });
}

template <class Queue>
Outcome<Done> run_where(Queue& queue, const Call& call) {
  return with_width(call.op, call.result.dtype, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    const auto at = [&](std::size_t k) { return strided(call.shape, repeating_strides(call.shape_of(k), call.shape)); };
    const auto condition_at = at(0), yes_at = at(1), no_at = at(2);
    if (!condition_at || !yes_at || !no_at) return refused(call.op, "too many axes to repeat over");
    if (call.result.size == 0) return Done{};
    const WhereKernel<T> kernel{call.operands[0].data.template as<std::uint8_t>(),
                                call.operands[1].data.template as<T>(),
                                call.operands[2].data.template as<T>(),
                                *condition_at,
                                *yes_at,
                                *no_at,
                                call.result.template as<T>()};
    return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
  });
}

template <class Queue>
Outcome<Done> run_cast(Queue& queue, const Call& call) {
  return with_elements(call.op, call.dtype(), [&](auto from) -> Outcome<Done> {
    using From = typename decltype(from)::type;
    return with_elements(call.op, call.result.dtype, [&](auto to) -> Outcome<Done> {
      using To = typename decltype(to)::type;
      if (call.result.size == 0) return Done{};
      const CastKernel<From, To> kernel{call.operands[0].data.template as<From>(), call.result.template as<To>(),
                                        call.result.dtype == DType::boolean};
      return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
    });
  });
}

}  // namespace assay::gpu
