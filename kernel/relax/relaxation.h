// Relaxations: linear functions below and above a non-linear op on the operands' boxes.
//
// The caller may choose any slopes. The kernel derives every intercept, so a bad slope only weakens the result.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "kernel/relax/box.h"
#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"

namespace assay::relax {

// For every result element j and every point of the box:
//   sum of lower[k] * x[index[k]] + lower_intercept[j] <= y_j <= sum of upper[k] * x[index[k]] + upper_intercept[j],
// where both sums run over the terms k of element j.
struct Relaxation {
  struct Part {
    NodeId operand = 0;
    std::vector<std::uint32_t> index;  // operand element of each term; empty: term k reads element k
    std::vector<double> lower, upper;  // by term
    // Result element j has the terms start[j] .. start[j + 1] - 1; empty: it has term j alone.
    std::vector<std::uint32_t> start = {};
    [[nodiscard]] std::size_t first(std::size_t j) const { return start.empty() ? j : start[j]; }
    [[nodiscard]] std::size_t last(std::size_t j) const { return start.empty() ? j + 1 : start[j + 1]; }
    [[nodiscard]] std::size_t element(std::size_t term) const { return index.empty() ? term : index[term]; }
  };
  std::vector<Part> parts;
  std::vector<double> lower_intercept, upper_intercept;
};

// The most terms of one relaxation; with more, back-substitution stops at the node's own box.
constexpr std::size_t kMostTerms = std::size_t{1} << 22;

class Choices;   // choices.h: the slopes and other choices that a rule receives
struct Formula;  // formula.h: the formula of a node

// nullopt: no linear rule exists for the op, and back-substitution stops at the node's own box. `boxes` are the
// operands' boxes in order (none is empty), `result` is the node's own box, and `formula` the node's formula if it
// was kept.
[[nodiscard]] std::optional<Relaxation> relax(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result,
                                              const Choices& choices, const Formula* formula = nullptr);

// The rules, one per family.
[[nodiscard]] Relaxation relu_line(const Node& node, const Box& x, const Choices& choices);
[[nodiscard]] Relaxation unary_line(const Node& node, const Box& x, const Box& result, const Choices& choices);
[[nodiscard]] Relaxation selection_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result,
                                         const Choices& choices);
[[nodiscard]] std::optional<Relaxation> denoted_plane(const Graph& graph, const Node& node, std::span<const Box* const> boxes,
                                                      const Box& result, const Choices& choices, const Formula* formula);

}  // namespace assay::relax
