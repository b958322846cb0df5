// The table that selects the rule of an op.

#include "kernel/relax/relaxation.h"
#include "semantics/functions/unary_function.h"
#include "semantics/graph/family.h"

namespace assay::relax {

std::optional<Relaxation> relax(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result,
                                const Choices& choices, const Formula* formula) {
  if (node.op == Op::relu) return relu_line(node, *boxes[0], choices);
  if (UnaryFunction::is_one(node)) return unary_line(node, *boxes[0], result, choices);
  const Family family = family_of(node.op);  // linear ops are substituted exactly where they are linear
  if (family == Family::choice) return selection_plane(graph, node, boxes, result, choices);
  if (family == Family::formula) return denoted_plane(graph, node, boxes, result, choices, formula);
  return std::nullopt;
}

}  // namespace assay::relax
