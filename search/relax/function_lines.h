// Lines below and above any function that has a record (semantics/functions), with one box per element. The pieces are
// the kernel's own. The touching point of a slope comes from a closed form, or else from a few values of the denotation
// that are computed once, so that a new slope costs no evaluation. In double arithmetic, not rigorous.
//
// A function is cut at its record's turning and inflection points into pieces that are convex or concave. A line of a
// given slope below a convex piece touches it; below a concave piece it passes through the lower of the ends. The line
// of the whole function is the lowest of these.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/relax/lines.h"
#include "semantics/functions/unary_function.h"

namespace assay::search {

// Whether f jumps between two of its pieces: sign, step, thresholded_relu, shrink, and the staircases floor, ceil,
// round and casts to integers.
[[nodiscard]] bool jumps(const UnaryFunction& f);
// The jump strictly between l and u that is nearest to their middle. None if there is no jump, if l or u is not finite,
// or if a staircase is too long.
[[nodiscard]] std::optional<double> jump_inside(const UnaryFunction& f, double l, double u);

struct Formula;

class FunctionLines {
 public:
  // Whether the function has pieces.
  [[nodiscard]] static bool knows(const UnaryFunction& f);

  // Elements with the same boxes as in the last call keep their pieces: a search asks for most enclosures of f more
  // than once.
  void prepare(const UnaryFunction& f, std::size_t size, const double* lo, const double* hi);

  // The highest line of the given slope below element j's function on its box (the lowest line above), as the kernel
  // will find it.
  [[nodiscard]] Line below(std::size_t j, double slope) const { return line(elements_[j], slope, true); }
  [[nodiscard]] Line above(std::size_t j, double slope) const { return line(elements_[j], slope, false); }
  // The slope of the line that is nearest to the function at the middle of the box.
  [[nodiscard]] double first_slope_below(std::size_t j) const { return first_slope(elements_[j], true); }
  [[nodiscard]] double first_slope_above(std::size_t j) const { return first_slope(elements_[j], false); }
  // The range of slopes worth trying: the range of the derivative, and the slopes of lines over jumps.
  [[nodiscard]] double least_slope(std::size_t j) const { return elements_[j].least; }
  [[nodiscard]] double most_slope(std::size_t j) const { return elements_[j].most; }

 private:
  struct Sample {
    double z, value, derivative;
  };
  struct Part {
    Curve curve;
    // Samples from one end of the piece to the other; only the two ends if a formula gives the touching point.
    std::uint32_t first, last;
    // Only for pieces known by bounds of their derivative:
    double middle, low, high;                  // at the middle, f lies between low and high
    double least_derivative, most_derivative;  // f' on the piece
  };
  struct Element {
    double lo = 0, hi = 0, middle = 0, least = 0, most = 0;
    std::uint32_t first = 0, last = 0;  // range of the element's pieces; empty: no line is known
  };
  void prepare(const UnaryFunction& f, bool has_jumps, Element& element);
  void add(const UnaryFunction& f, const Piece& piece, Element& element);
  void add_curve(const UnaryFunction& f, const Piece& piece, Element& element);
  void add_slopes_of_jumps(Element& element) const;
  [[nodiscard]] Line line(const Element& element, double slope, bool below) const;
  [[nodiscard]] Line line(const Part& part, double slope, bool below) const;
  [[nodiscard]] double first_slope(const Element& element, bool below) const;

  const Formula* formula_ = nullptr;  // null: touching points come from samples
  Constants constants_;
  std::vector<Element> elements_;
  std::vector<Part> parts_;
  std::vector<Sample> samples_;
};

}  // namespace assay::search
