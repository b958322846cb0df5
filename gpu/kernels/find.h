// Operands without a result: an index outside its axis, a divisor of 0 among integers, a negative exponent.
//
// Meaning.   The first integer of a tensor that lies outside [lo, hi], or is 0.
// Layout.    One block; each thread writes the first such position among its own to the device's memory, where the host reads them.
// Order.     None: the host takes the least.
// Error.     Exact. NaN, inf: there are none among integers.
#pragma once

#include "gpu/call.h"

namespace assay::gpu {

struct Wanted {
  std::int64_t lo = 0, hi = 0;
  bool not_zero = false;  // instead of the range
};

template <class T>
struct FindKernel {
  static constexpr const char* kName = "find";
  static constexpr unsigned kThreads = 128;

  View<const T> x;
  View<std::int64_t> found;  // per thread, x.size if there is none
  Wanted wanted;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    std::size_t i = t.index();
    while (i < x.size && fits(static_cast<std::int64_t>(x[i]))) i += t.count();
    found[t.index()] = static_cast<std::int64_t>(i < x.size ? i : x.size);
  }

 private:
  [[nodiscard]] ASSAY_BOTH bool fits(std::int64_t value) const {
    return wanted.not_zero ? value != 0 : wanted.lo <= value && value <= wanted.hi;
  }
};

// Rejection gpu.operand names the first number that is not wanted.
template <class Queue, class T>
Outcome<Done> check_numbers(Queue& queue, Op op, const char* what, View<const T> x, const Wanted& wanted) {
  auto found = queue.template scratch<std::int64_t>(FindKernel<T>::kThreads);
  if (!found) return found.rejection();
  if (auto done = queue.launch({FindKernel<T>::kName, 1, FindKernel<T>::kThreads, 0}, FindKernel<T>{x, found.value(), wanted}); !done)
    return done;
  const auto positions = queue.download(View<const std::int64_t>{found.value().data, found.value().size});
  if (!positions) return positions.rejection();
  const auto first = static_cast<std::size_t>(*std::ranges::min_element(positions.value()));
  if (first == x.size) return Done{};
  const auto value = queue.download(View<const T>{x.data + first, 1});
  if (!value) return value.rejection();
  return Rejection{
      Rejection::Kind::rejected,
      "gpu.operand",
      std::string(op_row(op).name) + ", " + what + ", element " + std::to_string(first),
      wanted.not_zero ? "an integer other than 0" : std::to_string(wanted.lo) + " <= " + what + " <= " + std::to_string(wanted.hi),
      std::to_string(static_cast<std::int64_t>(value.value()[0])),
      "see docs/ops/" + std::string(op_row(op).name) + ".md"};
}

}  // namespace assay::gpu
