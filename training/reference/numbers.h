// Tensors of exact numbers or of intervals, and graphs evaluated on them by the reference semantics (semantics/ops). They let a
// training step, captured as a graph, run over other numbers than floats. The runtime sees nothing of this: its kernels are a
// second computation beside that semantics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::reference {

enum class Kind : std::uint8_t {
  exact,     // fractions
  interval,  // closed intervals with double ends, rounded outwards
};

class Numbers {
 public:
  // The numbers that the elements are. Rejection "reference.value": NaN, or for fractions an infinity.
  static Outcome<Numbers> from(Kind kind, const Tensor& tensor);
  [[nodiscard]] const Shape& shape() const;
  [[nodiscard]] std::size_t size() const;
  // Doubles below and above the element, as near as there are; a double nearest to it, or in the middle of an interval.
  [[nodiscard]] double lo(std::size_t i) const;
  [[nodiscard]] double hi(std::size_t i) const;
  [[nodiscard]] double nearest(std::size_t i) const;
  [[nodiscard]] std::string text(std::size_t i) const;  // "1/3"; "[0.5, 0.75]"
  [[nodiscard]] double width() const;                   // the widest interval's; 0 for fractions
  [[nodiscard]] std::size_t length() const;             // characters of the longest fraction; 0 for intervals

 private:
  struct Held;
  friend Outcome<std::vector<Numbers>> evaluate(const Graph& graph, std::span<const Numbers> inputs, Kind kind);
  explicit Numbers(std::shared_ptr<const Held> held) : held_(std::move(held)) {}
  std::shared_ptr<const Held> held_;
};

// The outputs of a valid graph at inputs of its shapes (demanded) and of this kind. Element types of floats mean nothing here:
// nothing is rounded to them. Rejections:
//   "denote.scalar"        an op that has no value of this kind (an exponential has no fraction)
//   "<op>.domain"          an op that has no value at these numbers
//   "reference.value"      a constant, as in Numbers::from
//   "reference.unbounded"  the first op whose intervals have no finite ends
//   "reference.work"       fractions that have become too long
[[nodiscard]] Outcome<std::vector<Numbers>> evaluate(const Graph& graph, std::span<const Numbers> inputs, Kind kind);

}  // namespace assay::reference
