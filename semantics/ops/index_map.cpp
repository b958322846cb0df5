// index_map(): runs a layout op on indices.
#include <utility>

#include "semantics/demand.h"
#include "semantics/ops/layout.h"

namespace assay {
namespace ops {
namespace {

// The origin of an element: element `index` of the operand of interest, or for -1 the constant `fill`.
struct Origin {
  std::int64_t index = -1;
  double fill = 0;
};

}  // namespace
}  // namespace ops

IndexMap index_map(const Graph& graph, NodeId id, std::size_t which) {
  const Node& node = graph.nodes[id];
  demand(op_row(node.op).op_class == OpClass::layout && which < node.operands.size(), "index_map: not an operand of a layout op");
  std::vector<Array<ops::Origin>> origins;
  for (std::size_t position = 0; position < node.operands.size(); ++position) {
    const Node& operand = graph.nodes[node.operands[position]];
    Array<ops::Origin> origin{operand.shape, std::vector<ops::Origin>(element_count(operand.shape))};
    for (std::size_t i = 0; i < origin.values.size(); ++i) {
      if (position == which) origin.values[i].index = static_cast<std::int64_t>(i);
      if (position != which && operand.op == Op::constant && is_float(node.dtype)) origin.values[i].fill = operand.value.as_double(i);
    }
    origins.push_back(std::move(origin));
  }
  std::vector<const Array<ops::Origin>*> operands;
  for (const Array<ops::Origin>& origin : origins) operands.push_back(&origin);
  const std::vector<ops::Origin> moved =
      ops::layout::move_elements<ops::Origin>(node, operands, ops::Origin{-1, ops::layout::padding_value(node)});
  IndexMap map;
  for (const ops::Origin& origin : moved) {
    map.index.push_back(origin.index);
    map.fill.push_back(origin.fill);
  }
  return map;
}

}  // namespace assay
