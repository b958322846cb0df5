// The kernel's own choices where a step proposes none: slopes, points where a line touches, candidates, weights.
//
// No verdict's truth rests on this folder: whatever it returns, NaN included, the rules derive intercepts that hold, and a bad choice only
// weakens a bound. That a certificate without hints is accepted again does rest on it: it has no state, and computes as the semantics does, but
// for the weights of exponentials, which are the C library's.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "semantics/functions/unary_function.h"
#include "semantics/numbers/interval.h"

namespace assay::kernel {

// Of relu on [l, u] with l < 0 < u: the slope below of least area, and the chord above.
struct ReluSlopes {
  double below, above;
};
[[nodiscard]] ReluSlopes relu_slopes(double l, double u);

// A line for f over pieces[0].b .. pieces.back().c: its slope, and the point of each curved piece (at most three) where it is to touch.
struct ChosenLine {
  double slope = 0;
  std::array<double, 3> touch{};
};
// `proposed`: the slope, if the step has one.
[[nodiscard]] ChosenLine choose_line(const UnaryFunction& f, std::span<const Piece> pieces, bool lower, std::optional<double> proposed);

// The mix of McCormick's planes.
inline constexpr double kMix = 0.5;

// For log sum exp of numbers in these ranges: `common` is to be taken off the exponents, weights exp(middle - common).
struct ExponentialWeights {
  double common = 0;
  std::vector<double> weights;
};
[[nodiscard]] ExponentialWeights choose_weights(std::span<const Interval> ranges);
// h for the bound above; the sum of the exponentials less `common` is between low and high.
[[nodiscard]] double choose_shift(double common, const Interval& low, const Interval& high);
// The slope from (x0, y0) to (x1, y1), 0 if it is not finite.
[[nodiscard]] double chord(const Interval& x0, const Interval& y0, const Interval& x1, const Interval& y1);

// first x_p + second x_q, to be made a plane above the maximum of the candidates `left`, which are by falling upper ends.
struct Weighted {
  std::size_t p = 0, q = 0;
  double first = 0, second = 0;
};
[[nodiscard]] std::vector<Weighted> choose_weighted(std::span<const Interval> x, std::span<const std::size_t> left);
// The candidate to stay above: the proposed one, else the one with the greatest middle if that reaches the bound.
[[nodiscard]] std::optional<std::size_t> choose_candidate(std::span<const Interval> x, std::span<const std::size_t> left, double bound,
                                                          std::optional<double> proposed);

}  // namespace assay::kernel
