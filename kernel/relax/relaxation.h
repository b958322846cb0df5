// Relaxations: linear functions below and above a non-linear op on the operands' boxes.
//
// The caller may name any slopes; the kernel derives every intercept, so a bad slope only weakens the result.
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
//   sum over its terms k of lower[k] * x[index[k]] + lower_intercept[j] <= y_j <= sum of upper[k] * x[index[k]] + upper_intercept[j].
struct Relaxation {
  struct Part {
    NodeId operand = 0;
    std::vector<std::uint32_t> index;       // operand element of each term; empty: term k reads element k
    std::vector<double> lower, upper;       // by term
    std::vector<std::uint32_t> start = {};  // result element j has the terms start[j] .. start[j + 1] - 1; empty: term j alone
    [[nodiscard]] std::size_t first(std::size_t j) const { return start.empty() ? j : start[j]; }
    [[nodiscard]] std::size_t last(std::size_t j) const { return start.empty() ? j + 1 : start[j + 1]; }
    [[nodiscard]] std::size_t element(std::size_t term) const { return index.empty() ? term : index[term]; }
  };
  std::vector<Part> parts;
  std::vector<double> lower_intercept, upper_intercept;
};

constexpr std::size_t kMostTerms = std::size_t{1} << 22;  // of one relaxation: beyond, back-substitution stops at the node's own box

class Choices;   // choices.h: the slopes and all else that a rule is given
struct Formula;  // formula.h: what a node's denotation says

// nullopt: the op has no linear rule here, and back-substitution stops at the node's own box.
// `boxes` are the operands' boxes in order (never empty sets), `result` the node's own box, `formula` the node's own if it was read before.
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
