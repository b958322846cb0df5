// Quick judgements: which elements of a region's result certainly pass, by a computation in float or double that is much cheaper than
// the contract's sets. What stays open is judged by its contract, element by element. Private to this folder.
//
// Nothing here decides that an element fails, and nothing passes that the contract does not admit or that would be vacuous.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "semantics/graph/trace.h"

namespace assay::kernel::quick {

// A region of one element (or of few), whose contract is that of the element.
struct Single {
  Graph graph;
  std::vector<Tensor> operands;
};

struct Judged {
  std::size_t vacuous = 0;                            // of those that are not open: within sets that are too wide to mean anything
  std::vector<std::size_t> open;                      // elements, ascending
  std::size_t terms = 1;                              // of one element, about
  std::function<Single(std::size_t element)> single;  // for an open one; reads what the caller gave
};

// One op of float32, in any order, rounded to nearest, no flushing.
struct Problem {
  const Node& node;
  std::span<const Tensor> operands;
  const Tensor& result;
};

// nullopt: not for this op, or not worth it.
[[nodiscard]] std::optional<Judged> judge_elementwise(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_layout(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_reduction(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_dots(const Problem& problem);

[[nodiscard]] inline std::span<const float> floats(const Tensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.bytes().data()), tensor.size()};
}

// The exponent of the lowest bit of a finite number that is not 0: it is an odd multiple of 2^that.
[[nodiscard]] int lowest_bit(float value);

// The graph of one op on inputs of these types, with its output.
[[nodiscard]] Graph graph_of(Op op, const Attributes& attributes, std::span<const Tensor> operands);

}  // namespace assay::kernel::quick
