#include "semantics/statement/words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "semantics/printable.h"
#include "semantics/statement/statement_text.h"

namespace assay::statement {
namespace {

constexpr std::size_t kShownBytes = 200;

}  // namespace

std::string exact(double value) {
  char text[80];
  std::snprintf(text, sizeof text, "%.17g (%a)", value, value);
  return text;
}

std::string about(double value) { return exact(value).substr(0, exact(value).find(' ')); }

std::string name_of(const Graph& graph, NodeId node) {
  return "node " + std::to_string(node) + (node < graph.nodes.size() ? " '" + printable(graph.node(node).name) + "'" : "");
}

std::string at(const Graph& graph, NodeId node, std::size_t element) {
  return name_of(graph, node) + ", element " + std::to_string(element);
}

std::string where_text(std::span<const std::string> halves) {
  std::string text;
  for (const std::string& half : halves.first(std::min(kShownSplits, halves.size()))) text += (text.empty() ? " where " : " and ") + half;
  return text + (halves.size() > kShownSplits ? " and so on" : "");
}

std::string short_row_text(const Graph& graph, const Row& row) { return row_text(graph, row).substr(0, kShownBytes); }

std::string values_text(const Graph& graph, const Row& row, std::span<const double> values) {
  std::string text;
  double off = -row.bound.double_up();
  for (std::size_t k = 0; k < row.terms.size(); ++k) {
    const auto& [coefficient, variable] = row.terms[k];
    off += coefficient.double_up() * values[k];
    if (text.size() < kShownBytes) text += variable_text(graph, variable) + " = " + about(values[k]) + ", ";
  }
  return text + "off by " + about(std::fabs(off));
}

}  // namespace assay::statement
