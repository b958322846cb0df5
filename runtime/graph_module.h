// GraphModule: a graph of the vocabulary (an imported model, a transformed one) as a function on a session's values.
#pragma once

#include <span>
#include <vector>

#include "runtime/session.h"

namespace assay::runtime {

class GraphModule {
 public:
  // Constants become parameters of the session, once. The graph is valid.
  GraphModule(Session& session, Graph graph);
  [[nodiscard]] const Graph& graph() const { return graph_; }
  // The float constants, in the order of their nodes.
  [[nodiscard]] const std::vector<Value>& parameters() const { return parameters_; }

  // The values of all outputs. Rejections: "session.input" for inputs of another number, type or shape, and what the ops refuse.
  [[nodiscard]] Outcome<std::vector<Value>> operator()(std::span<const Value> inputs) const;

 private:
  Session& session_;
  Graph graph_;
  std::vector<Value> constants_;  // by node; failed values elsewhere
  std::vector<Value> parameters_;
};

}  // namespace assay::runtime
