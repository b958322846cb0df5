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

std::string in_format(const char* before) {
  return std::string(before) + "certificates/FORMAT.md, on the site reference/certificate-format";
}

std::string unusable(const Graph& graph, NodeId node, std::size_t element) {
  if (!(node < graph.nodes.size())) return "a number that no node has";
  if (!(element < graph.size(node))) return "a node without this element, of " + std::to_string(graph.size(node)) + " in all";
  return "a constant";
}

std::string advice_to_writer() {
  return in_format(
      "the checksums fit, so the writer made a mistake in this step or in the one before it: compare the last step that `assay inspect` "
      "prints with section 2 of ");
}

std::string advice_to_box(NodeId node) {
  return "write a box record of node " + std::to_string(node) + " before this step, or one sweep record" + in_format(" (section 2 of ") +
         ")";
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

std::string point_text(std::span<const Rational> point, std::size_t most) {
  std::string text;
  const std::size_t shown = std::min(most, point.size());
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "X_" : ", X_") + std::to_string(i) + " = " + point[i].to_decimal();
  return text + (shown < point.size() ? " and " + std::to_string(point.size() - shown) + " more inputs" : "");
}

std::string row_at(std::size_t case_index, std::size_t row, std::span<const Rational> point) {
  return "case " + std::to_string(case_index) + ", row " + std::to_string(row) + ", at " + printable(point_text(point), kShownBytes);
}

}  // namespace assay::statement
