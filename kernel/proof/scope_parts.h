// What the two sources of Scope share: the shape of a back-substitution and the words of its rejections. Private to kernel/.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "kernel/kernel.h"

namespace assay::kernel {

inline Rejection reject(std::string code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::rejected, std::move(code), std::move(place), std::move(required), std::move(found), "certificates/FORMAT.md"};
}

inline Rejection stopped(std::string place) {
  return {Rejection::Kind::declined, "kernel.stopped", std::move(place), "time to finish", "a stop was requested", {}};
}

inline std::string exact(double value) {
  char text[80];
  std::snprintf(text, sizeof text, "%a (%.17g)", value, value);
  return text;
}

inline std::string at(const Graph& graph, NodeId node, std::size_t element) {
  const std::string name = node < graph.nodes.size() ? " '" + graph.node(node).name + "'" : "";
  return "node " + std::to_string(node) + name + ", element " + std::to_string(element);
}

inline bool usable(const std::vector<float>& multipliers) {
  return std::all_of(multipliers.begin(), multipliers.end(), [](float m) { return m >= 0 && std::isfinite(m); });
}

// The highest node that an entry or a priced literal speaks of.
inline NodeId top(NodeId start, const std::vector<Literal>& priced, const Hints& hints) {
  for (std::size_t i = 0; i < priced.size(); ++i) start = hints.beta[i] > 0 ? std::max(start, priced[i].node) : start;
  return start;
}

// Rule box for an affine node: bias + sum of M x over the operands' boxes, every rounding covered by the penalty or outward.
[[nodiscard]] Box affine_box(const AffineForm& form, const Boxes& boxes, const Penalty& penalty);
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
};

struct Scope::Bound {
  double lower;            // rigorous
  double estimate, slack;  // of the filter; slack 0 on the exact path
};

// Rule back-substitution: the blocks of all nodes from `start` down are consumed one by one. False: a premise is missing.
template <class Rows>
bool Scope::walk(Rows& rows, NodeId start, const Hints& hints, const std::vector<std::shared_ptr<const Line>>& lines) const {
  const std::vector<Literal> context = priced_literals(hints);
  for (NodeId node = start + 1; node-- > 0;) {
    for (std::size_t i = 0; i < context.size(); ++i) {
      if (context[i].node != node || hints.beta[i] == 0) continue;
      if (!boxes_[node]) return false;
      rows.literal(node, context[i].element, context[i].at_least, context[i].threshold, hints.beta[i]);
    }
    if (!rows.has(node)) continue;
    const AffineForm* form = problem_->affine(node);
    if (form != nullptr) {
      if (!penalties_[node]) return false;
      for (const AffineForm::Part& part : form->parts) {
        if (!boxes_[part.operand]) return false;
      }
      const std::optional<GridForm>& grid = problem_->grids_[node];
      rows.through(node, {form, penalties_[node].get(), grid ? &*grid : nullptr});
    } else if (lines[node]) {
      rows.relax(node, *lines[node]);
    } else {
      if (!boxes_[node]) return false;
      rows.concretize(node);
    }
  }
  return true;
}

}  // namespace assay::kernel
