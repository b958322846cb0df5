// The text of a statement: semantics, graph, region, unsafe set, digests.

#include "semantics/statement/statement_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>

#include "semantics/printable.h"
#include "semantics/statement/elements.h"

namespace assay::statement {

Element copied_from(const Graph& graph, Element e) {
  for (;;) {
    const Node& node = graph.node(e.node);
    const bool is_vector = node.shape.size() == 1;
    if (std::ranges::count(graph.outputs, e.node) > 0) return e;
    if (node.op == Op::reshape) {
      e.node = node.operands[0];
    } else if (node.op == Op::gather && is_vector && graph.node(node.operands[0]).shape.size() == 1) {
      e = {node.operands[0], static_cast<std::uint64_t>(std::get<GatherAttributes>(node.attributes).indices[e.element])};
    } else if (node.op == Op::concat && is_vector) {
      std::size_t part = 0;
      for (; e.element >= graph.size(node.operands[part]); ++part) e.element -= graph.size(node.operands[part]);
      e.node = node.operands[part];
    } else {
      return e;
    }
  }
}

Shifted shifted_from(const Graph& graph, Element e) {
  e = copied_from(graph, e);
  const Node& node = graph.node(e.node);
  const bool shifts = node.op == Op::sub && is_float(node.dtype) && graph.node(node.operands[1]).op == Op::constant &&
                      graph.size(node.operands[0]) == graph.size(e.node) && graph.size(node.operands[1]) == graph.size(e.node);
  if (!shifts) return {e};
  return {copied_from(graph, {node.operands[0], e.element}), graph.node(node.operands[1]).value.as_double(e.element)};
}

namespace {

// The part of a property that is printed: its beginning, or all of it.
struct Shown {
  std::size_t cases = 12, rows = 12, inputs = 8;
};
constexpr Shown kEverything{SIZE_MAX, SIZE_MAX, SIZE_MAX};

// Whether the output is a product, or a magnitude of inputs minus constants. Their text names their operands, also if a
// statement file has no names.
bool is_of_property(const Graph& graph, std::size_t output) {
  const Node& node = graph.node(graph.outputs[output]);
  if (node.op == Op::abs)
    return output > 0 && element_count(node.shape) > 0 && graph.node(shifted_from(graph, {node.operands[0], 0}).of.node).op == Op::input;
  return node.op == Op::mul && graph.output_names[output].starts_with(kProductsName);
}

std::string tensor_name(const std::vector<std::string>& names, std::size_t count, std::size_t tensor, const char* only) {
  return count == 1 ? only : printable(names[tensor]);
}

// The text of a variable. For a product or a magnitude it names the operands, for at most `left` of them.
std::string variable_text(const Graph& graph, const Variable& v, std::size_t& left) {
  const std::string element = "_" + std::to_string(v.element);
  if (v.side == Variable::Side::input) return tensor_name(graph.input_names, graph.input_names.size(), v.tensor, "X") + element;
  if (is_of_property(graph, v.tensor) && left > 0) {
    --left;
    std::string text;
    const Node& node = graph.node(graph.outputs[v.tensor]);
    for (const NodeId factor : node.operands) {
      const auto [one, by] =
          node.op == Op::abs ? shifted_from(graph, {factor, v.element}) : Shifted{copied_from(graph, {factor, v.element})};
      const auto place = [node_read = one.node](const std::vector<NodeId>& ids) {
        return static_cast<std::uint32_t>(std::ranges::find(ids, node_read) - ids.begin());
      };
      text += text.empty() ? "" : " * ";
      if (place(graph.inputs) < graph.inputs.size())
        text += variable_text(graph, {Variable::Side::input, place(graph.inputs), one.element}, left);
      else if (place(graph.outputs) < graph.outputs.size())
        text += variable_text(graph, {Variable::Side::output, place(graph.outputs), one.element}, left);
      else
        text += "node " + std::to_string(one.node) + " [" + std::to_string(one.element) + "]";
      const auto off = Rational::from_double(std::fabs(by));
      if (by != 0) text += (by < 0 ? " + " : " - ") + (off ? off->to_decimal() : "a constant that is no number");
    }
    return node.op == Op::abs ? "|" + text + "|" : text;
  }
  std::size_t count = graph.output_names.size();
  while (count > 1 && is_of_property(graph, count - 1)) --count;
  return tensor_name(graph.output_names, count, v.tensor, "Y") + element;
}

}  // namespace

std::string variable_text(const Graph& graph, const Variable& v) {
  std::size_t most = 32;
  return variable_text(graph, v, most);
}

static std::string box_text(const Graph& graph, const InputBox& box, std::size_t most) {
  std::string text;
  std::size_t fixed = 0, at = 0;
  for (std::size_t i = 0; i < box.lo.size(); ++i) fixed += box.lo[i] == box.hi[i] ? 1 : 0;
  for (std::uint32_t tensor = 0; tensor < graph.inputs.size(); ++tensor) {
    for (std::size_t i = 0; i < graph.size(graph.inputs[tensor]) && at < most; ++i, ++at) {
      const DType dtype = graph.node(graph.inputs[tensor]).dtype;
      text += "    " + variable_text(graph, {Variable::Side::input, tensor, i}) + " in " +
              (is_float(dtype) ? "" : std::string("the ") + to_string(dtype) + " values of ") + "[" + box.lo[at].to_decimal() + ", " +
              box.hi[at].to_decimal() + "]\n";
    }
  }
  if (box.lo.size() > most) text += "    ... and " + std::to_string(box.lo.size() - most) + " more inputs\n";
  return text + "    " + std::to_string(box.lo.size()) + " inputs, " + std::to_string(fixed) + " of them fixed\n";
}

// Terms with negative coefficients are moved to the other side with positive ones; a row with only such terms
// is reversed.
std::string row_text(const Graph& graph, const Row& row) {
  std::string left, right;
  for (const Term& term : row.terms) {
    std::string& text = term.coefficient.sign() < 0 ? right : left;
    const Rational magnitude = term.coefficient.sign() < 0 ? -term.coefficient : term.coefficient;
    text += text.empty() ? "" : " + ";
    if (!(magnitude == Rational(1))) text += magnitude.to_decimal() + " ";
    text += variable_text(graph, term.variable);
  }
  if (left.empty() && !right.empty()) return right + (row.strict ? " > " : " >= ") + (-row.bound).to_decimal();
  if (right.empty()) return (left.empty() ? "0" : left) + (row.strict ? " < " : " <= ") + row.bound.to_decimal();
  if (row.bound.sign() != 0) right += row.bound.sign() < 0 ? " - " + (-row.bound).to_decimal() : " + " + row.bound.to_decimal();
  return left + (row.strict ? " < " : " <= ") + right;
}

std::string statement_text(const Statement& s, const Digest& graph_digest, const Digest& digest, bool full) {
  const Graph& graph = s.graph;
  const Shown most = full ? kEverything : Shown{};
  std::string text = "semantics: " + to_string(s.semantics) + "\n";
  if (std::ranges::any_of(graph.nodes, [](const Node& node) { return is_integer(node.dtype) && node.op != Op::constant; }))
    text += "integers: exact; a network has no value where a result leaves its type's range\n";
  text += "graph: " + summary(graph) + "\n";
  std::set<const InputBox*> boxes;
  for (const Case& one : s.property.cases) boxes.insert(one.box.get());
  text += "property: " + std::to_string(s.property.cases.size()) + (s.property.cases.size() == 1 ? " case" : " cases") + " over " +
          std::to_string(boxes.size()) + (boxes.size() == 1 ? " input box\n" : " input boxes\n");
  const InputBox* shown = nullptr;
  for (std::size_t c = 0; c < std::min(s.property.cases.size(), most.cases); ++c) {
    const Case& one = s.property.cases[c];
    if (one.box.get() != shown) text += "  box:\n" + box_text(graph, *one.box, most.inputs);
    shown = one.box.get();
    text += "  case " + std::to_string(c) + ":";
    for (std::size_t r = 0; r < std::min(one.rows.size(), most.rows); ++r) text += (r == 0 ? " " : " and ") + row_text(graph, one.rows[r]);
    if (one.rows.empty()) text += " every point of the box";
    if (one.rows.size() > most.rows) text += " and " + std::to_string(one.rows.size() - most.rows) + " more rows";
    text += "\n";
  }
  if (s.property.cases.size() > most.cases) text += "  ... and " + std::to_string(s.property.cases.size() - most.cases) + " more cases\n";
  for (const Source& source : s.sources)
    text += "sha256 of " + source.role + " '" + printable(source.name, SIZE_MAX) + "': " + to_hex(source.sha256) + "\n";
  text += "sha256 of the canonical graph: " + to_hex(graph_digest) + "\n";
  return text + "sha256 of the statement: " + to_hex(digest) + "\n";
}

}  // namespace assay::statement
