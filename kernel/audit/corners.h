// The derivative of an elementwise function at a corner, where its branches meet. Private to this folder.
#pragma once

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/interval.h"
#include "semantics/ops/denote.h"

namespace assay::audit {

// The position, in a tensor of shape `from`, of the element that is broadcast to `element` of shape `to`.
[[nodiscard]] std::size_t place_in(const Shape& from, const Shape& to, std::size_t element);

class Corners {
 public:
  // `reference`: a graph from operands and y_bar, its last input, to a cotangent for each real operand.
  explicit Corners(const Graph& reference) : reference_(reference) {}

  // Whether a choice is undecided at the element of output k. `nodes` are the reference's values over a neighbourhood
  // of the recorded point.
  [[nodiscard]] bool is_open(const std::vector<Array<Interval>>& nodes, std::size_t k, std::size_t element);
  [[nodiscard]] bool is_any_open(const std::vector<Array<Interval>>& nodes) const;
  [[nodiscard]] bool has_choices() const;
  // The possible values of output k at the element: the hull of the one-sided derivatives, times y_bar. `point` holds
  // the recorded operands and y_bar. nullopt if they are not known.
  [[nodiscard]] std::optional<Interval> cotangent(const std::vector<Array<Interval>>& point, std::size_t k, std::size_t element);

 private:
  struct Part {
    bool is_elementwise = false;
    std::vector<bool> is_read;  // by node of the reference
  };
  [[nodiscard]] const Part& part(std::size_t k);
  [[nodiscard]] const Shape& shape(std::size_t k) const { return reference_.node(reference_.outputs[k]).shape; }
  // The part as a function of single numbers, with its constants' values at the element.
  [[nodiscard]] std::optional<Graph> single(std::size_t k, std::size_t element);
  // The same for the cotangent 1.
  [[nodiscard]] std::optional<Interval> slope(const std::vector<Array<Interval>>& point, std::size_t k, std::size_t element);
  [[nodiscard]] std::optional<Interval> judged(const std::vector<double>& numbers, std::size_t k, std::size_t element);

  const Graph& reference_;
  std::map<std::size_t, Part> parts_;
  std::map<std::pair<std::size_t, std::vector<double>>, std::optional<Interval>> known_;  // by output and operands
};

}  // namespace assay::audit
