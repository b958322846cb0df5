// What the sources of scopes and refutations share: the shape of a back-substitution and the words of rejections. Private to kernel/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernel/logic/api.h"
#include "semantics/numbers/directed.h"
#include "semantics/printable.h"

namespace assay::kernel {

inline Rejection reject(std::string code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::rejected, std::move(code), std::move(place), std::move(required), std::move(found), "certificates/FORMAT.md"};
}

inline Rejection declined(std::string code, std::string place, std::string required, std::string found, std::string advice = {}) {
  return {Rejection::Kind::declined, std::move(code), std::move(place), std::move(required), std::move(found), std::move(advice)};
}

inline Rejection stopped(std::string place) {
  return declined("kernel.stopped", std::move(place), "time to finish", "a stop was requested");
}

inline std::string exact(double value) {
  char text[80];
  std::snprintf(text, sizeof text, "%a (%.17g)", value, value);
  return text;
}

inline std::string at(const Graph& graph, NodeId node, std::size_t element) {
  const std::string name = node < graph.nodes.size() ? " '" + printable(graph.node(node).name) + "'" : "";
  return "node " + std::to_string(node) + name + ", element " + std::to_string(element);
}

inline Box box_of(const Array<Interval>& values) {
  const std::size_t size = values.values.size();
  Box box{std::vector<double>(size), std::vector<double>(size)};
  for (std::size_t i = 0; i < size; ++i) {
    box.lo[i] = values.values[i].lo();
    box.hi[i] = values.values[i].hi();
  }
  return box;
}

// By as much on either side, where there is anything to add.
inline void widen(Box& box, const std::vector<double>& errors) {
  for (std::size_t i = 0; i < errors.size(); ++i) {
    box.lo[i] = sub_down(box.lo[i], errors[i]);
    box.hi[i] = add_up(box.hi[i], errors[i]);
  }
}

constexpr std::size_t kElementsTogether = 16;  // of a feature map, whose rows touch windows

inline bool usable(const std::vector<float>& multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return m >= 0 && std::isfinite(m); });
}

// S1: both contexts extend the parent (identity). S2: same node, element and threshold. S3: opposite closed halves, <= first. Every real value
// of the element then satisfies one of the two literals.
[[nodiscard]] Outcome<Done> check_halves(const std::string& rule, const Context* parent, const Context& at_most, const Context& at_least);

// Rule box for an affine node: bias + sum of M x over the operands' boxes, every rounding covered by the error bound or outward.
[[nodiscard]] Box affine_box(const AffineForm& form, const Boxes& boxes, const ErrorBound& error_bound);
// The same for a node of integers or truth values, which an affine form only copies: exact, so that integers stay integers.
[[nodiscard]] Box copied_box(const AffineForm& form, const Boxes& boxes);

// Linear forms to bound from below; all entries of a row lie at nodes <= start.
struct Scope::Targets {
  struct Entry {
    std::size_t row;
    NodeId node;
    std::uint32_t element;
    double coefficient, error;
  };
  NodeId start = 0;
  std::size_t rows = 0;
  std::vector<Entry> entries;  // by ascending row
  bool windows = false;        // rows start at elements of a feature map, neighbours at one position or near it
};

struct Scope::Bound {
  double lower;                  // rigorous
  double estimate, error_bound;  // of the filter; error_bound 0 on the exact path
};

}  // namespace assay::kernel
