#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/audit/quick_sums.h"

namespace assay::kernel::quick {

double power_of_two(int q) { return std::bit_cast<double>(static_cast<std::uint64_t>(q + 1023) << 52); }

bool within(double y, double c, double size, double m, int q) {
  if (y == c) return true;  // Q1; false for NaN
  return m >= 2 && q < kMostGrid && size > kTiny && size > power_of_two(q + 25) && std::fabs(y - c) <= m * kU * size * kShrunk &&
         std::isfinite(size);
}

bool all_finite(std::span<const float> values) {
  std::uint32_t others = 0;
  for (const float value : values) others += (std::bit_cast<std::uint32_t>(value) & 0x7f800000) == 0x7f800000 ? 1 : 0;
  return others == 0;
}

int lowest_bit(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t field = bits >> 23 & 0xff, fraction = bits & 0x7fffff;
  const std::uint32_t significand = field == 0 ? fraction : fraction | 0x800000;
  return std::countr_zero(significand) + static_cast<int>(field == 0 ? 1 : field) - 150;
}

// Sums of numbers. Whole sums are few and long, so they are summed with everything Q2 wants.
std::optional<Judged> judge_reduction(const Problem& problem) {
  const bool mean = problem.node.op == Op::reduce_mean;
  if (problem.node.op != Op::reduce_sum && !mean) return std::nullopt;
  const std::span<const float> x = floats(problem.operands[0]), y = floats(problem.result);
  if (x.empty() || y.empty() || !all_finite(x)) return std::nullopt;
  const std::size_t count = x.size() / y.size();
  if (count > kMostSummed || count < 2) return std::nullopt;
  // Only sums over trailing or leading axes: element i of the result has its terms at i count + k, or at i + k size.
  const Shape& shape = problem.operands[0].shape();
  const auto& axes = std::get<ReduceAttributes>(problem.node.attributes).axes;
  std::vector<bool> reduced(shape.size(), false);
  for (const std::int64_t axis : axes) reduced[static_cast<std::size_t>(axis)] = true;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) reduced[axis] = reduced[axis] && shape[axis] != 1;
  std::size_t changes = 0;
  for (std::size_t axis = 1; axis < shape.size(); ++axis) changes += reduced[axis] != reduced[axis - 1] ? 1 : 0;
  if (changes > 1) return std::nullopt;
  const bool leading = !reduced.empty() && reduced[0];
  const std::size_t step = leading ? y.size() : 1, stride = leading ? 1 : count;
  Judged judged;
  for (std::size_t i = 0; i < y.size(); ++i) {
    double c = 0, size = 0, m = 0;
    int q = kNoGrid;
    for (std::size_t k = 0; k < count; ++k) {
      const float term = x[i * stride + k * step];
      if (term == 0) continue;
      c += static_cast<double>(term);
      size += std::fabs(static_cast<double>(term));
      m += 1;
      q = std::min(q, lowest_bit(term));
    }
    const double n = mean ? static_cast<double>(count) : 1, received = static_cast<double>(y[i]);
    const bool fine = mean ? size / n > kTiny && size > power_of_two(q + 25) && m >= 3 &&
                                 std::fabs(received - c / n) <= (m - 1) * kU * (size / n) * kShrunk
                           : within(received, c, size, m - 1, q);
    const bool wide = count > kMostTerms;  // vacuous, if m says so beyond doubt
    if (!fine || (wide && m < kSurelyVacuous)) {
      judged.open.push_back(i);
    } else if (wide) {
      ++judged.vacuous;
    }
  }
  judged.terms = count;
  judged.single = [problem, x, count, step, stride](std::size_t element) {
    std::vector<float> terms;
    for (std::size_t k = 0; k < count; ++k) terms.push_back(x[element * stride + k * step]);
    Single single;
    single.operands = {Tensor::of_floats({static_cast<std::int64_t>(count)}, terms)};
    single.graph = graph_of(problem.node.op, ReduceAttributes{{0}, true}, single.operands);
    return single;
  };
  return judged;
}

}  // namespace assay::kernel::quick
