// Lines below and above any function that has a record (semantics/functions), one box per element: the kernel's own pieces, with a few
// values of the denotation where a line can touch, so that a slope costs no evaluation. In double arithmetic, not rigorous.
#pragma once

#include <cstdint>
#include <vector>

#include "certificates/search/network/lines.h"
#include "semantics/functions/unary_function.h"

namespace assay::search {

class FunctionLines {
 public:
  // Functions without steps and jumps, for which a slope is worth choosing. The bends of hard_sigmoid are no doubles: a line that is neither
  // of its tangents touches them badly in the kernel, too.
  [[nodiscard]] static bool knows(const UnaryFunction& f);

  void prepare(const UnaryFunction& f, std::size_t size, const double* lo, const double* hi);
  [[nodiscard]] bool is_prepared() const { return !elements_.empty(); }
  void clear() { elements_.clear(); }

  // The highest line of the slope below element j's function on its box (the lowest above), as the kernel will find it.
  [[nodiscard]] Line below(std::size_t j, double slope) const { return line(elements_[j], slope, true); }
  [[nodiscard]] Line above(std::size_t j, double slope) const { return line(elements_[j], slope, false); }
  // The slope of the line that is nearest to the function at the middle of the box.
  [[nodiscard]] double first_slope_below(std::size_t j) const { return first_slope(elements_[j], true); }
  [[nodiscard]] double first_slope_above(std::size_t j) const { return first_slope(elements_[j], false); }
  // Between these lie the slopes that are worth trying: the derivative's range.
  [[nodiscard]] double least_slope(std::size_t j) const { return elements_[j].least; }
  [[nodiscard]] double most_slope(std::size_t j) const { return elements_[j].most; }

 private:
  struct Sample {
    double z, value, derivative;
  };
  struct Part {
    Curve curve;
    std::uint32_t first, last;                 // samples from one end of the piece to the other; by_derivative: the two ends and the middle
    double least_derivative, most_derivative;  // by_derivative only
  };
  struct Element {
    double middle = 0, least = 0, most = 0;
    std::uint32_t first = 0, last = 0;  // parts; none: no line is known
  };
  void add(const UnaryFunction& f, const Piece& piece, Element& element);
  [[nodiscard]] Line line(const Element& element, double slope, bool below) const;
  [[nodiscard]] Line line(const Part& part, double slope, bool below) const;
  [[nodiscard]] double first_slope(const Element& element, bool below) const;

  std::vector<Element> elements_;
  std::vector<Part> parts_;
  std::vector<Sample> samples_;
};

}  // namespace assay::search
