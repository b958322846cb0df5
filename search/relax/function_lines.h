// Lines below and above any function that has a record (semantics/functions), one box per element:
// the kernel's own pieces, with what a line of a slope touches in closed form, or else a few values
// of the denotation, so that a slope costs no evaluation. In double arithmetic, not rigorous.
//
// A function is cut at its record's turning and inflection points into parts that are convex or
// concave. A line of a slope below a convex part touches it; below a concave one it goes through
// the lower of the ends. The line of the whole is the lowest.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/relax/lines.h"
#include "semantics/functions/unary_function.h"

namespace assay::search {

// Between two of its pieces f jumps: sign, step, thresholded_relu, shrink, and the staircases
// floor, ceil, round, casts to integers.
[[nodiscard]] bool jumps(const UnaryFunction& f);
// Of the jumps strictly between l and u the one nearest to their middle; none where l or u is not
// finite or a staircase is too long.
[[nodiscard]] std::optional<double> jump_inside(const UnaryFunction& f, double l, double u);

class FunctionLines {
 public:
  // Functions with pieces.
  [[nodiscard]] static bool knows(const UnaryFunction& f);

  // Elements whose boxes are those of the last time keep what is known of them: most enclosures of
  // f that a search asks for are asked for again.
  void prepare(const UnaryFunction& f, std::size_t size, const double* lo, const double* hi);

  // The highest line of the slope below element j's function on its box (the lowest above), as the
  // kernel will find it.
  [[nodiscard]] Line below(std::size_t j, double slope) const { return line(elements_[j], slope, true); }
  [[nodiscard]] Line above(std::size_t j, double slope) const { return line(elements_[j], slope, false); }
  // The slope of the line that is nearest to the function at the middle of the box.
  [[nodiscard]] double first_slope_below(std::size_t j) const { return first_slope(elements_[j], true); }
  [[nodiscard]] double first_slope_above(std::size_t j) const { return first_slope(elements_[j], false); }
  // Between these lie the slopes that are worth trying: the derivative's range, and those of lines
  // over jumps.
  [[nodiscard]] double least_slope(std::size_t j) const { return elements_[j].least; }
  [[nodiscard]] double most_slope(std::size_t j) const { return elements_[j].most; }

 private:
  struct Sample {
    double z, value, derivative;
  };
  struct Part {
    Curve curve;
    std::uint32_t first, last;  // samples from one end of the piece to the other; two where a formula says where a line touches
    // by_derivative only
    double middle, low, high;                  // f there lies between low and high
    double least_derivative, most_derivative;  // f' on the piece
  };
  struct Element {
    double lo = 0, hi = 0, middle = 0, least = 0, most = 0;
    std::uint32_t first = 0, last = 0;  // parts; none: no line is known
  };
  void prepare(const UnaryFunction& f, bool has_jumps, Element& element);
  void add(const UnaryFunction& f, const Piece& piece, Element& element);
  void add_curve(const UnaryFunction& f, const Piece& piece, Element& element);
  void add_slopes_of_jumps(Element& element) const;
  [[nodiscard]] Line line(const Element& element, double slope, bool below) const;
  [[nodiscard]] Line line(const Part& part, double slope, bool below) const;
  [[nodiscard]] double first_slope(const Element& element, bool below) const;

  Op op_ = Op::input;
  double exponent_ = 0;  // pow
  std::vector<Element> elements_;
  std::vector<Part> parts_;
  std::vector<Sample> samples_;
};

}  // namespace assay::search
