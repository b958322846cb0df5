// Quick judgements: which elements of a region's result certainly pass, by a computation in float or double that is much cheaper than
// the contract's sets. What stays open is judged by its contract, element by element. Private to this folder.
//
// Nothing here decides that an element fails, and nothing passes that the contract does not admit or that would be vacuous.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "semantics/graph/trace.h"

namespace assay::quick {

// A region of one element (or of few), whose contract is that of the element.
struct Single {
  Graph graph;
  std::vector<Tensor> operands;
};

struct Judged {
  std::size_t vacuous = 0;                            // of those that are not open: within sets that are too wide to mean anything
  std::size_t unsampled = 0;                          // of those that are not open: not looked at
  std::vector<std::size_t> open;                      // elements
  std::size_t terms = 1;                              // of one element, about
  std::function<Single(std::size_t element)> single;  // for an open one; reads what the caller gave
  std::vector<std::size_t> place;                     // of an element in the region's result, if that is elsewhere
};

// One op of float32, sums in any order or as a tree, rounded to nearest, no flushing.
struct Problem {
  const Node& node;
  std::span<const Tensor> operands;
  const Tensor& result;
  std::span<const std::size_t> sample;  // for long sums of products: the elements that are looked at; none: all
  const ExecutionModel& model;
};

// A region of several ops, and its results.
struct Fused {
  const Region& region;
  std::span<const Tensor> operands;
  std::vector<const Tensor*> results;
};

// The one op of a region beside which others only move elements: on its own operands, and with what it gave, which follow exactly. Its
// contract is the region's; whether its sets are too wide to mean anything is a question of its own scale.
struct Core {
  Node node;
  std::vector<Tensor> operands;
  Tensor result;
  std::vector<std::size_t> place;  // Judged::place
};
[[nodiscard]] std::optional<Core> core_of(const Fused& fused);

// What a region computes between recorded values: one result, from operands, results that came before and constants, which are operands
// here.
struct Piece {
  Region region;
  std::vector<Tensor> operands;
  Trace::Entry result;
};
// Of a region that computes in float32 and more than one op or constant: in the order of its results. None where a result is an operand or
// stands twice, or is stored in 16 bits.
[[nodiscard]] std::vector<Piece> pieces_of(const Region& region, std::span<const Tensor> operands, std::span<const Trace::Entry> results);

// Elementwise ops on one shape; an element is open if it is in any of the results.
[[nodiscard]] std::optional<Judged> judge_chain(const Fused& fused);

// One element of an op whose operands broadcast: that element of each operand.
[[nodiscard]] Single single_of(const Problem& problem, std::size_t element);

// nullopt: not for this op, or not worth it.
[[nodiscard]] std::optional<Judged> judge_elementwise(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_function(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_softmax(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_layout(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_reduction(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_dots(const Problem& problem);

[[nodiscard]] inline std::span<const float> floats(const Tensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.bytes().data()), tensor.size()};
}

// 1 for equal bits of a normal number, or of a zero; else 0. Without branches: lists of elements are looked at in lanes.
[[nodiscard]] inline std::uint32_t certainly(float received, float computed) {
  const auto bits = std::bit_cast<std::uint32_t>(received);
  const std::uint32_t exponent = bits & 0x7f800000;
  const std::uint32_t normal = exponent - 0x00800000 < 0x7f000000 ? 1 : 0, zero = bits << 1 == 0 ? 1 : 0;
  return (bits == std::bit_cast<std::uint32_t>(computed) ? 1U : 0U) & (normal | zero);
}

// NaN, which nothing certainly equals, where contracts have policies for zeros.
[[nodiscard]] inline float relu_or_open(float a) { return a > 0 ? a : a < 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN(); }
[[nodiscard]] inline float step_or_open(float a) { return a > 0 ? 1.0F : a < 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN(); }

// An operand that is broadcast to a shape: the value that one element reads, and all of them.
[[nodiscard]] Tensor element_of(const Tensor& operand, const Shape& shape, std::size_t element);
[[nodiscard]] std::vector<float> broadcast_to(const Tensor& operand, const Shape& shape);
// What a reshape, expand or permute gives; nullopt for other ops.
[[nodiscard]] std::optional<std::vector<float>> moved_by_strides(const Node& node, const Tensor& operand);

// The exponent of the lowest bit of a finite number that is not 0: it is an odd multiple of 2^that.
[[nodiscard]] int lowest_bit(float value);

// The graph of one op on inputs of these types, with its output.
[[nodiscard]] Graph graph_of(Op op, const Attributes& attributes, std::span<const Tensor> operands);

}  // namespace assay::quick
