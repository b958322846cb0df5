// The quick judgement of reductions along axes.

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/quick/quick_sums.h"

namespace assay::quick {

double power_of_two(int q) { return std::bit_cast<double>(static_cast<std::uint64_t>(q + 1023) << 52); }

double height_of(const ExecutionModel& model) {
  const bool is_tree = model.accumulator == ExecutionModel::Accumulator::tree;
  return is_tree ? static_cast<double>(model.tree_height) : std::numeric_limits<double>::infinity();
}

void Sum::add(float term) {
  if (term == 0) return;
  c += static_cast<double>(term);
  size += std::fabs(static_cast<double>(term));
  m += 1;
  q = std::min(q, lowest_bit(term));
}

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

namespace {

bool is_one(const Rational& weight) { return weight == Rational(1); }

// Sums of some elements along an axis, each taken once, such as the products of max_pool and gather.
std::optional<Judged> judge_gathered(const Problem& problem) {
  const auto& [axis, starts, indices, weights] = std::get<WeightedGatherAttributes>(problem.node.attributes);
  const std::span<const float> x = floats(problem.operands[0]), y = floats(problem.result);
  if (x.empty() || y.empty() || !all_finite(x) || !std::ranges::all_of(weights, is_one)) return std::nullopt;
  const Shape& shape = problem.operands[0].shape();
  const auto along = static_cast<std::size_t>(axis), extent = static_cast<std::size_t>(shape[along]), positions = starts.size() - 1;
  const std::size_t inner = element_count(Shape(shape.begin() + axis + 1, shape.end()));
  // The element of x at index k of the line that y[i] is on.
  const auto at = [=](std::size_t i, std::int64_t k) {
    return (i / (positions * inner) * extent + static_cast<std::size_t>(k)) * inner + i % inner;
  };
  Judged judged;
  std::size_t most = 1;
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t position = i / inner % positions;
    const auto begin = static_cast<std::size_t>(starts[position]), end = static_cast<std::size_t>(starts[position + 1]);
    Sum sum;
    for (std::size_t k = begin; k < end; ++k) sum.add(x[at(i, indices[k])]);
    most = std::max(most, end - begin);
    const double k = std::fmin(sum.m - 1, height_of(problem.model));
    const bool fine = begin == end ? certainly(y[i], 0) == 1 : within(static_cast<double>(y[i]), sum.c, sum.size, k, sum.q);
    if (!fine) judged.open.push_back(i);
  }
  if (most > kMostTerms) return std::nullopt;
  judged.terms = most;
  judged.single = [problem, x, at, positions, inner](std::size_t element) {
    const auto& attributes = std::get<WeightedGatherAttributes>(problem.node.attributes);
    const std::size_t position = element / inner % positions;
    std::vector<float> terms;
    WeightedGatherAttributes own{0, {0, attributes.starts[position + 1] - attributes.starts[position]}, {}, {}};
    for (std::int64_t k = attributes.starts[position]; k < attributes.starts[position + 1]; ++k) {
      own.indices.push_back(static_cast<std::int64_t>(terms.size()));
      own.weights.emplace_back(1);
      terms.push_back(x[at(element, attributes.indices[static_cast<std::size_t>(k)])]);
    }
    if (terms.empty()) terms.push_back(0);  // an element of which none is gathered
    Single single;
    single.operands = {Tensor::of_floats({static_cast<std::int64_t>(terms.size())}, terms)};
    single.graph = graph_of(Op::weighted_gather, std::move(own), single.operands);
    return single;
  };
  return judged;
}

// The places of the terms of element i: first[i] plus each of the terms.
struct Offsets {
  std::vector<std::size_t> first = {0}, terms = {0};
};
Offsets offsets_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  Offsets result;
  std::size_t step = element_count(shape);
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const auto extent = static_cast<std::size_t>(shape[axis]);
    step /= extent;
    const bool reduced = std::ranges::find(axes, static_cast<std::int64_t>(axis)) != axes.end();
    std::vector<std::size_t>& list = reduced ? result.terms : result.first;
    std::vector<std::size_t> longer;
    longer.reserve(list.size() * extent);
    for (const std::size_t at : list) {
      for (std::size_t k = 0; k < extent; ++k) longer.push_back(at + k * step);
    }
    list = std::move(longer);
  }
  return result;
}

}  // namespace

// Whole sums are few and long.
std::optional<Judged> judge_reduction(const Problem& problem) {
  if (problem.node.op == Op::weighted_gather) return judge_gathered(problem);
  const bool mean = problem.node.op == Op::reduce_mean;
  if (problem.node.op != Op::reduce_sum && !mean) return std::nullopt;
  const std::span<const float> x = floats(problem.operands[0]), y = floats(problem.result);
  if (x.empty() || y.empty() || !all_finite(x)) return std::nullopt;
  const std::size_t count = x.size() / y.size();
  if (count > kMostSummed || count < 2) return std::nullopt;
  const Offsets at = offsets_of(problem.operands[0].shape(), std::get<ReduceAttributes>(problem.node.attributes).axes);
  Judged judged;
  const double height = height_of(problem.model);
  const bool narrow = height <= kSurelyNarrow;
  for (std::size_t i = 0; i < y.size(); ++i) {
    Sum sum;
    for (const std::size_t term : at.terms) sum.add(x[at.first[i] + term]);
    const auto [c, size, m, q] = sum;
    const double n = mean ? static_cast<double>(count) : 1, received = static_cast<double>(y[i]), k = std::fmin(m - 1, height);
    const bool fine =
        mean ? size / n > kTiny && size > power_of_two(q + 25) && m >= 3 && std::fabs(received - c / n) <= k * kU * (size / n) * kShrunk
             : within(received, c, size, k, q);
    // Vacuous if m certainly shows it; narrow if that is certain.
    const bool wide = count > kMostTerms;
    if (!fine || (wide && (narrow ? k < kManyRoundings : m < kSurelyVacuous))) {
      judged.open.push_back(i);
    } else if (wide && !narrow) {
      ++judged.vacuous;
    }
  }
  judged.terms = count;
  judged.single = [problem, x, at](std::size_t element) {
    std::vector<float> line;
    for (const std::size_t term : at.terms) line.push_back(x[at.first[element] + term]);
    Single single;
    single.operands = {Tensor::of_floats({static_cast<std::int64_t>(line.size())}, line)};
    single.graph = graph_of(problem.node.op, ReduceAttributes{{0}, true}, single.operands);
    return single;
  };
  return judged;
}

}  // namespace assay::quick
