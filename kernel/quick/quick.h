// Quick judgements: find elements of a region's result that certainly pass, by a computation in float or double that is
// much cheaper than the contract's sets. The other elements stay open, and the contract judges them one by one. Private
// to this folder.
//
// A quick judgement never decides that an element fails. It passes no element that the contract would not admit, or
// that would be vacuous.
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

// A region of one element (or a few), whose contract is that of the element.
struct Single {
  Graph graph;
  std::vector<Tensor> operands;
};

struct Judged {
  // Number of elements, not open, whose sets are too wide to mean anything.
  std::size_t vacuous = 0;
  std::size_t unsampled = 0;                          // number of elements, not open, that were not looked at
  std::vector<std::size_t> open;                      // elements
  std::size_t terms = 1;                              // approximate number of terms of one element
  std::function<Single(std::size_t element)> single;  // makes the region of an open element; reads the caller's data
  std::vector<std::size_t> place;                     // position of each element in the region's result, if it differs
};

// One op on float32: sums in any order or as a tree, rounding to nearest, no flushing.
struct Problem {
  const Node& node;
  std::span<const Tensor> operands;
  const Tensor& result;
  // For long sums of products: the elements to judge; empty: all.
  std::span<const std::size_t> sample;
  const ExecutionModel& model;
};

// A region of several ops, and its results.
struct Fused {
  const Region& region;
  std::span<const Tensor> operands;
  std::vector<const Tensor*> results;
};

// The only op of a region that computes; the others only move elements. It has its own operands and its own result,
// which follow exactly from the recorded values. Its contract is the region's, but a set is too wide to mean anything
// by its own scale.
struct Core {
  Node node;
  std::vector<Tensor> operands;
  Tensor result;
  std::vector<std::size_t> place;  // Judged::place
};
[[nodiscard]] std::optional<Core> core_of(const Fused& fused);

// The computation between recorded values inside a region: one result, from operands, earlier results and constants,
// which are operands here.
struct Piece {
  Region region;
  std::vector<Tensor> operands;
  Trace::Entry result;
};
// The pieces of a region that computes in float32 and has more than one op or constant, in the order of its results.
// Empty if a result is an operand, occurs twice, or is stored in 16 bits.
[[nodiscard]] std::vector<Piece> pieces_of(const Region& region, std::span<const Tensor> operands, std::span<const Trace::Entry> results);

// For elementwise ops on one shape. An element is open if it is open in any of the results.
[[nodiscard]] std::optional<Judged> judge_chain(const Fused& fused);

// The region of one element of an op whose operands broadcast: that element of each operand.
[[nodiscard]] Single single_of(const Problem& problem, std::size_t element);

// nullopt: not for this op, or not worth the time.
[[nodiscard]] std::optional<Judged> judge_elementwise(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_function(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_softmax(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_layout(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_reduction(const Problem& problem);
[[nodiscard]] std::optional<Judged> judge_dots(const Problem& problem);

[[nodiscard]] inline std::span<const float> floats(const Tensor& tensor) {
  return {reinterpret_cast<const float*>(tensor.bytes().data()), tensor.size()};
}

// 1 if the bits are equal and the number is normal or zero; otherwise 0. It has no branches, so that lists of elements
// are vectorised.
[[nodiscard]] inline std::uint32_t certainly(float received, float computed) {
  const auto bits = std::bit_cast<std::uint32_t>(received);
  const std::uint32_t exponent = bits & 0x7f800000;
  const std::uint32_t normal = exponent - 0x00800000 < 0x7f000000 ? 1 : 0, zero = bits << 1 == 0 ? 1 : 0;
  return (bits == std::bit_cast<std::uint32_t>(computed) ? 1U : 0U) & (normal | zero);
}

// NaN, which equals nothing with certainty, where contracts treat zeros specially.
[[nodiscard]] inline float relu_or_open(float a) { return a > 0 ? a : a < 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN(); }
[[nodiscard]] inline float step_or_open(float a) { return a > 0 ? 1.0F : a < 0 ? 0.0F : std::numeric_limits<float>::quiet_NaN(); }

// For an operand that is broadcast to a shape: the value that one element reads, and all of them.
[[nodiscard]] Tensor element_of(const Tensor& operand, const Shape& shape, std::size_t element);
[[nodiscard]] std::vector<float> broadcast_to(const Tensor& operand, const Shape& shape);
// The result of a reshape, expand or permute; nullopt for other ops.
[[nodiscard]] std::optional<std::vector<float>> moved_by_strides(const Node& node, const Tensor& operand);

// The exponent q of the lowest bit of a finite non-zero number: the number is an odd multiple of 2^q.
[[nodiscard]] int lowest_bit(float value);

// The graph of one op on inputs with these types, with its output.
[[nodiscard]] Graph graph_of(Op op, const Attributes& attributes, std::span<const Tensor> operands);

}  // namespace assay::quick
