// Sums at constant positions: place and weighted_gather.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>
#include <vector>

#include "runtime/kernels/call.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

template <class T>
void place(const Call& call) {
  const std::vector<std::int64_t>& indices = call.get<PlaceAttributes>().indices;
  const auto x = call.operand(0).data<T>();
  const auto y = call.result.data<T>();
  std::fill(y.begin(), y.end(), T(0));
  for (std::size_t i = 0; i < indices.size(); ++i) {
    T& sum = y[static_cast<std::size_t>(indices[i])];
    if constexpr (std::is_integral_v<T>) {
      sum = static_cast<T>(static_cast<std::uint64_t>(sum) + static_cast<std::uint64_t>(x[i]));
    } else {
      sum += x[i];
    }
  }
}

// The number of the format nearest to the fraction, ties to even: decided between its two neighbours by exact differences.
template <class T>
T nearest(const Rational& value) {
  constexpr std::int64_t kExact = 1 << 24;  // integers up to here are numbers of either format
  if (const std::optional<std::int64_t> whole = value.to_int64(); whole && -kExact <= *whole && *whole <= kExact)
    return static_cast<T>(*whole);
  auto down = static_cast<T>(value.double_down());
  constexpr T kInfinity = std::numeric_limits<T>::infinity();
  if (std::isfinite(down) && *Rational::from_double(static_cast<double>(down)) > value) down = std::nextafter(down, -kInfinity);
  if (!std::isfinite(down)) return down;
  const T up = std::nextafter(down, kInfinity);
  if (!std::isfinite(up)) return down;
  const Rational below = value - *Rational::from_double(static_cast<double>(down));
  const Rational above = *Rational::from_double(static_cast<double>(up)) - value;
  if (below == above) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    return (std::bit_cast<Bits>(down) & 1U) == 0 ? down : up;
  }
  return below < above ? down : up;
}

template <class T>
void gather_weighted(const Call& call) {
  const auto& [axis, starts, indices, weights] = call.get<WeightedGatherAttributes>();
  const Shape& shape = call.operand(0).shape();
  const std::size_t outer = element_count(Shape(shape.begin(), shape.begin() + axis));
  const std::size_t inner = element_count(Shape(shape.begin() + axis + 1, shape.end()));
  const auto extent = static_cast<std::size_t>(shape[static_cast<std::size_t>(axis)]);
  const std::size_t positions = starts.size() - 1;
  std::vector<T> factors;
  for (const Rational& weight : weights) factors.push_back(nearest<T>(weight));
  const T* const x = call.operand(0).data<T>().data();
  T* const y = call.result.data<T>().data();
  const std::vector<std::int64_t>&from = indices, &bounds = starts;
  parallel_ranges(outer * positions, std::max<std::size_t>((1 << 13) / std::max<std::size_t>(inner, 1), 1),
                  [&](std::size_t first, std::size_t last) {
                    std::size_t o = first / positions, j = first % positions;
                    for (std::size_t i = first; i < last; ++i, ++j) {
                      if (j == positions) j = 0, ++o;
                      if (inner == 1) {
                        const T* const line = x + o * extent;
                        T sum(0);
                        for (auto k = static_cast<std::size_t>(bounds[j]); k < static_cast<std::size_t>(bounds[j + 1]); ++k) {
                          sum += factors[k] * line[from[k]];
                        }
                        y[i] = sum;
                        continue;
                      }
                      T* const to = y + i * inner;
                      std::fill(to, to + inner, T(0));
                      for (auto k = static_cast<std::size_t>(bounds[j]); k < static_cast<std::size_t>(bounds[j + 1]); ++k) {
                        const T* const line = x + (o * extent + static_cast<std::size_t>(from[k])) * inner;
                        for (std::size_t r = 0; r < inner; ++r) to[r] += factors[k] * line[r];
                      }
                    }
                  });
}

}  // namespace

Outcome<Done> run_scatter(const Call& call) {
  if (call.op == Op::place) {
    with_real(call.result.dtype(), [&](auto type) { place<typename decltype(type)::type>(call); });
  } else {
    with_float(call.result.dtype(), [&](auto type) { gather_weighted<typename decltype(type)::type>(call); });
  }
  return Done{};
}

}  // namespace assay::runtime
