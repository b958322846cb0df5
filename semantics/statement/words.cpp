#include "semantics/statement/words.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string_view>

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

std::string in_format(const char* section, const char* before) {
  std::string anchor;  // as the site makes it of a heading
  for (const char c : std::string_view(section)) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0 || c == ' ' || c == '-')
      anchor += c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return std::string(before) + "the section \"" + section + "\" of certificates/FORMAT.md, on the site reference/certificate-format.html#" +
         anchor;
}

std::string advice_on(const std::string& code, std::string advice) {
  struct Known {
    const char *code, *section, *advice;
  };
  // The beginning of a code; the first entry counts.
  constexpr Known kKnown[] = {
      {"assume", "Split", ""},
      {"back_substitution", "Back-substitution of a row", ""},
      {"conclude.S1", "Conclude, for a case", "number cases from 0 within their group, and write one multiplier for each row of a case; "},
      {"conclude", "Conclude, for a case", ""},
      {"cut", "Cut by cases", ""},
      {"empty", "Empty", "refute the cases by conclude; "},
      {"hints.beta", "Slopes and multipliers",
       "write absolute values: the checker adds beta * (z - threshold) in the half <=, and beta * (threshold - z) in the half >=; "},
      {"hints", "Slopes and multipliers", ""},
      {"propagate_box", "Box of a node", ""},
      {"satisfiable.S1", "Witness", "number the case among all cases of the property, and write one coordinate for each input element; "},
      {"satisfiable.S2", "Rule of a witness", "give a point in the box, to which the check adds no tolerance; "},
      {"satisfiable", "Rule of a witness", ""},
      {"tighten.S2", "Flags", "write one pair of bounds for each selected element: by the selection 0 the unstable elements, by 1 all; "},
      {"tighten", "Tighten", ""},
      {"", "3. Rules", ""},
  };
  const Known& known = *std::ranges::find_if(kKnown, [&](const Known& one) { return code.starts_with(one.code); });
  return advice.empty() ? known.advice + in_format(known.section) : std::move(advice);
}

std::string unusable(const Graph& graph, NodeId node, std::size_t element) {
  if (!(node < graph.nodes.size())) return "a number that no node has";
  if (!(element < graph.size(node))) return "a node without this element, of " + std::to_string(graph.size(node)) + " in all";
  return "a constant";
}

std::string unusable(std::span<const float> multipliers) {
  const auto found = std::ranges::find_if(multipliers, [](float m) { return !(m >= 0 && std::isfinite(m)); });
  return found == multipliers.end() ? "none"
                                    : about(*found) + " as number " + std::to_string(found - multipliers.begin()) + ", counted from 0";
}

std::string case_of(const char* whole, std::size_t cases) {
  return std::string("a case of the ") + whole + ", which has " + std::to_string(cases) + ", numbered from 0";
}

std::string advice_to_writer(std::uint64_t step) {
  const std::string where = step > 1 ? "in this step or in the one before it: compare the last step that `assay inspect` prints with "
                                     : "in this step, the first one: compare its bytes with ";
  return in_format("2. Records", ("the checksums fit, so the writer made a mistake " + where).c_str());
}

std::string advice_to_box(NodeId node) {
  return "write a box record of node " + std::to_string(node) + " before this step, or one sweep record" + in_format("2. Records", " (") +
         ")";
}

std::string split_of_relu(const Graph& graph, NodeId node) {
  return name_of(graph, node) + " is the result of a relu, whose split leaves the box of its operand as it is: split " +
         name_of(graph, graph.node(node).operands[0]) + " instead";
}

std::string short_row_text(const Graph& graph, const Row& row) { return printable(row_text(graph, row), kShownBytes); }

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
