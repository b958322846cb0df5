// A step of an optimiser as formulas over nodes: a graph of elementwise float32 ops, for Mirror::run_pass. Private to the layer.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "semantics/demand.h"
#include "semantics/graph/graph.h"

namespace assay::training {

class Pass {
 public:
  explicit Pass(const Shape& shape) : shape_(shape) {}
  NodeId operand() { return graph_.append_input(DType::float32, shape_, "x" + std::to_string(graph_.inputs.size())); }
  NodeId number(double value) {
    const auto narrow = static_cast<float>(value);
    return graph_.append_constant(Tensor::of_floats({}, std::span(&narrow, 1)));
  }
  NodeId of(Op op, std::vector<NodeId> operands) { return add(op, std::move(operands), NoAttributes{}); }
  NodeId times(NodeId x, double factor) { return factor == 1 ? x : add(Op::scale, {x}, ScaleAttributes{factor}); }
  Graph take(const std::vector<NodeId>& results) {
    for (const NodeId result : results) graph_.mark_output(result, "y" + std::to_string(graph_.outputs.size()));
    return std::move(graph_);
  }

 private:
  NodeId add(Op op, std::vector<NodeId> operands, Attributes attributes) {
    const auto node = graph_.append(op, std::move(operands), std::move(attributes));
    demand(node.ok(), "Optimiser: elementwise ops of one shape");
    return node.value();
  }

  Graph graph_;
  const Shape& shape_;
};

}  // namespace assay::training
