// The interface by which the rules receive the choices that they do not make: slopes, tangent points,
// weights, candidates.
//
// A rule derives intercepts that are sound for whatever it receives: NaN and infinities, lists of any length, weights
// of any sign and sum, positions beyond the candidates. A bad choice only weakens a bound. The policy (policy/) makes
// the choices; no rule depends on it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "semantics/functions/unary_function.h"

namespace assay::relax {

// For the lines below and above a function, or the planes below and above a product.
struct ChosenSides {
  double below = 0, above = 0;
};

// The slope of a line, and for each curved piece (at most three) the point where the line touches it.
struct ChosenLine {
  double slope = 0;
  std::array<double, 3> touch{};
};

// The choices for log sum exp of some numbers: `common` is subtracted from the exponents (0 if not finite); one weight
// per number.
struct ExponentialWeights {
  double common = 0;
  std::vector<double> weights;
};

// The linear part first x_p + second x_q of a plane above a maximum.
struct Weighted {
  std::size_t p = 0, q = 0;
  double first = 0, second = 0;
};

// The choices for one node; j is the index of a result element.
class Choices {
 public:
  virtual ~Choices() = default;
  // Whether a line or plane below (above) replaces the node's own box even where the box is nearer at the centre.
  [[nodiscard]] virtual bool insists(bool lower) const = 0;
  // The slopes of the lines for relu on [l, u], l < 0 < u.
  [[nodiscard]] virtual ChosenSides relu_slopes(std::size_t j, double l, double u) const = 0;
  // A line for f over the range from pieces[0].b to pieces.back().c, and the same where f is a step of a formula.
  [[nodiscard]] virtual ChosenLine line(std::size_t j, const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const = 0;
  [[nodiscard]] virtual ChosenLine line_of_step(const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const = 0;
  // The mixes of the McCormick planes.
  [[nodiscard]] virtual ChosenSides mixes(std::size_t j) const = 0;
  // The weights for the lower bound of log sum exp of numbers in these ranges.
  [[nodiscard]] virtual ExponentialWeights weights(std::span<const Interval> ranges) const = 0;
  // The shift h for the upper bound. The sum of the exponentials, with `common` subtracted, lies between low and high.
  [[nodiscard]] virtual double shift(double common, const Interval& low, const Interval& high) const = 0;
  // The slope of the chord from (x0, y0) to (x1, y1).
  [[nodiscard]] virtual double chord(const Interval& x0, const Interval& y0, const Interval& x1, const Interval& y1) const = 0;
  // Planes above the maximum of x. The maximum is one of the candidates in `left`, which are sorted by falling
  // upper end.
  [[nodiscard]] virtual std::vector<Weighted> weighted(std::span<const Interval> x, std::span<const std::size_t> left) const = 0;
  // The candidate to use as the lower bound of the maximum, or none if no candidate improves on `bound`. If `lower` is
  // false, x are the negated candidates of a minimum.
  [[nodiscard]] virtual std::optional<std::size_t> candidate(std::size_t j, std::span<const Interval> x, std::span<const std::size_t> left,
                                                             double bound, bool lower) const = 0;
};

}  // namespace assay::relax
