// One failed element with what its contract says of it. Private to this folder.
#pragma once

#include <string>
#include <vector>

#include "explain/part.h"
#include "kernel/contracts/contract.h"
#include "semantics/ops/denote.h"

namespace assay::explain {

struct View {
  Part part;
  contracts::Admissible sets;         // of the part's result
  std::vector<Array<double>> values;  // of every node, in double, factors rounded as the model says; empty where that is not defined
  double received = 0;

  [[nodiscard]] const contracts::FloatSet& set() const { return sets.sets.values[part.element]; }
  [[nodiscard]] const Interval& exact() const { return sets.exact[part.element]; }
  [[nodiscard]] contracts::Format format() const { return contracts::format_of(sets.sets.dtype); }
  [[nodiscard]] NodeId output() const { return part.graph.outputs[part.result]; }
  [[nodiscard]] const Node& node() const { return part.graph.node(output()); }
  [[nodiscard]] double exact_value() const { return exact().lo() / 2 + exact().hi() / 2; }
  // The error from which on the element fails, about; 0 for single values.
  [[nodiscard]] double allowance() const;
  // Element i of a node, by the name of its tensor and its index there: "x[3, 5]".
  [[nodiscard]] std::string place(NodeId id, std::size_t i) const;
  [[nodiscard]] std::string number(double value) const;
  // Operand k of a node as the node reads it.
  [[nodiscard]] Array<double> operand(const Node& node, std::size_t k) const;
  [[nodiscard]] bool rounds_factors(const Node& node) const;
};

[[nodiscard]] Outcome<View> view_of(const Trace& trace, std::size_t region, std::size_t result, std::size_t element);

// The formula of the contract with its numbers: what the op of node `id` reads for the element, and how far it may be off.
[[nodiscard]] std::vector<std::string> formula_lines(const View& view, NodeId id, std::size_t element);
// A step of a fused region that gives one number, and what it read.
[[nodiscard]] std::string step_text(const View& view, NodeId id);
// A sum: its formula, its condition, the largest terms, and those that match the error.
[[nodiscard]] std::vector<std::string> sum_lines(const View& view, NodeId id, std::size_t element);

}  // namespace assay::explain
