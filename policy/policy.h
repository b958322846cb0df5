// Policy: the slopes that the kernel gives its rules, as a step proposes them or by its own choices.
//
// Untrusted: no verdict's truth rests on this folder. For every result of it the rules derive intercepts that hold
// (kernel/relax/choices.h). A bug here can make a valid certificate without hints fail to check. The folder therefore keeps
// nothing from one node to the next, and computes as the semantics does. Exceptions are the weights of exponentials and the lines
// of exp, log, sigmoid and tanh, which are the C library's.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "kernel/relax/choices.h"
#include "semantics/graph/graph.h"

namespace assay::policy {

// Slopes proposed for one node, by element; empty = none.
struct SlopeHints {
  std::span<const float> lower, upper;
};

class Policy final : public relax::Choices {
 public:
  explicit Policy(const SlopeHints& hints) : hints_(hints) {}

  [[nodiscard]] bool insists(bool lower) const override { return !proposed(lower).empty(); }
  // The slope below of least area, and the chord above.
  [[nodiscard]] relax::ChosenSides relu_slopes(std::size_t j, double l, double u) const override;
  [[nodiscard]] relax::ChosenLine line(std::size_t j, const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const override;
  [[nodiscard]] relax::ChosenLine line_of_step(const UnaryFunction& f, std::span<const Piece> pieces, bool lower) const override;
  [[nodiscard]] relax::ChosenSides mixes(std::size_t j) const override;
  // exp(middle - common).
  [[nodiscard]] relax::ExponentialWeights weights(std::span<const Interval> ranges) const override;
  [[nodiscard]] double shift(double common, const Interval& low, const Interval& high) const override;
  // 0 if it is not finite.
  [[nodiscard]] double chord(const Interval& x0, const Interval& y0, const Interval& x1, const Interval& y1) const override;
  [[nodiscard]] std::vector<relax::Weighted> weighted(std::span<const Interval> x, std::span<const std::size_t> left) const override;
  // The proposed one, else the one with the greatest middle if that reaches the bound.
  [[nodiscard]] std::optional<std::size_t> candidate(std::size_t j, std::span<const Interval> x, std::span<const std::size_t> left,
                                                     double bound, bool lower) const override;

 private:
  [[nodiscard]] std::span<const float> proposed(bool lower) const { return lower ? hints_.lower : hints_.upper; }
  [[nodiscard]] double proposed(bool lower, std::size_t j, double own) const {
    return proposed(lower).empty() ? own : static_cast<double>(proposed(lower)[j]);
  }
  SlopeHints hints_;
};

// For a row of coefficients a over the points of a box with sum of q x^2 + p x <= b (squares), or sum of |q x + p| <= b, q >= 0.
// Gives nearly the multiplier of that constraint where a x is least, that place, and tangents of the terms there. Multiplier 0:
// the constraint does not matter there, or numbers are too large.
struct Tangents {
  double multiplier = 0, least = 0;      // and nearly the least value of a x; not rigorous
  std::vector<double> place, touches{};  // of squares, where tangents touch: the place; of |y| their slopes in y, from -1 to 1
};
[[nodiscard]] Tangents tangents(std::span<const double> a, bool of_squares, std::span<const double> q, std::span<const double> p, double b,
                                std::span<const double> lo, std::span<const double> hi);

// Which bounds are worth deriving by rows.
struct PreActivations {
  std::vector<NodeId> nodes;       // whose elements enter a non-linear op and are not those of inputs, in order
  std::vector<bool> kink_at_zero;  // by node: every non-linear op that the node enters is exactly linear on either side of 0
};
// `active`: nodes on the way to an output, in order. `bends`, by node: depends on an input, and is not affine.
[[nodiscard]] PreActivations pre_activations(const Graph& graph, std::span<const NodeId> active, const std::vector<bool>& bends);
// The elements of a box where such an op is not linear.
[[nodiscard]] std::vector<std::uint32_t> unstable(std::span<const double> lo, std::span<const double> hi, bool kink_at_zero);

}  // namespace assay::policy
