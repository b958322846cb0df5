// What the rules are given and do not choose: slopes, points where a line touches, weights, candidates.
//
// A rule derives intercepts that hold for whatever it is given: NaN and infinities, lists of any length, weights of any sign and sum,
// positions beyond the candidates. A bad choice only weakens a bound. The policy (policy/) makes the choices; no rule knows of it.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "semantics/functions/unary_function.h"

namespace assay::relax {

// Of the lines below and above a function, or the planes below and above a product.
struct ChosenSides {
  double below = 0, above = 0;
};

// A line's slope, and the point of each curved piece (at most three) where it is to touch.
struct ChosenLine {
  double slope = 0;
  std::array<double, 3> touch{};
};

// For log sum exp of some numbers: `common` is to be taken off the exponents (0 if it is not finite); one weight of each.
struct ExponentialWeights {
  double common = 0;
  std::vector<double> weights;
};

// first x_p + second x_q, to be made a plane above a maximum.
struct Weighted {
  std::size_t p = 0, q = 0;
  double first = 0, second = 0;
};

// The choices for one node; j is a result element.
class Choices {
 public:
  virtual ~Choices() = default;
  // A line or plane below (above) takes the place of the node's own box even where that is nearer at the centre.
  [[nodiscard]] virtual bool insists(bool lower) const = 0;
  // The slopes of the lines for relu on [l, u], l < 0 < u.
  [[nodiscard]] virtual ChosenSides relu_slopes(std::size_t j, double l, double u) const = 0;
  // A line for f over pieces[0].b .. pieces.back().c; and one where f is a step of a formula.
  [[nodiscard]] virtual ChosenLine line(std::size_t j, const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const = 0;
  [[nodiscard]] virtual ChosenLine line_of_step(const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const = 0;
  // The mixes of McCormick's planes.
  [[nodiscard]] virtual ChosenSides mixes(std::size_t j) const = 0;
  // For the bound below log sum exp of numbers in these ranges.
  [[nodiscard]] virtual ExponentialWeights weights(std::span<const Interval> ranges) const = 0;
  // h for the bound above; the sum of the exponentials less `common` is between low and high.
  [[nodiscard]] virtual double shift(double common, const Interval& low, const Interval& high) const = 0;
  // The slope from (x0, y0) to (x1, y1).
  [[nodiscard]] virtual double chord(const Interval& x0, const Interval& y0, const Interval& x1, const Interval& y1) const = 0;
  // The maximum of x is one of those in `left`, which are by falling upper ends: planes above it.
  [[nodiscard]] virtual std::vector<Weighted> weighted(std::span<const Interval> x, std::span<const std::size_t> left) const = 0;
  // And the candidate to stay above, if one says more than `bound`. Without `lower` x are the negated candidates of a minimum.
  [[nodiscard]] virtual std::optional<std::size_t> candidate(std::size_t j, std::span<const Interval> x, std::span<const std::size_t> left,
                                                             double bound, bool lower) const = 0;
};

}  // namespace assay::relax
