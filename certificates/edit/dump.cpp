// Dump: the text of each record.

#include "certificates/edit/dump.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <set>
#include <vector>

#include "semantics/graph/family.h"

namespace assay::certificate {
namespace {

constexpr std::size_t kMaxIndent = 40;  // columns; deeper records show their depth as a number

std::string plural(std::uint64_t count, const char* noun) { return std::to_string(count) + " " + noun + (count == 1 ? "" : "s"); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string side_text(const char* name, const logic::Slopes& side) {
  std::string text;
  for (const auto& [node, slopes] : side) {
    if (!slopes.empty()) text += std::string(", ") + name + " of node " + std::to_string(node) + " (" + std::to_string(slopes.size()) + ")";
  }
  return text;
}

std::string hints_text(const logic::Hints& hints) {
  std::string text = side_text("lower", hints.lower) + side_text("upper", hints.upper);
  if (!hints.beta.empty()) text += ", " + plural(hints.beta.size(), "beta");
  if (!hints.cuts.empty()) text += ", multipliers of " + plural(hints.cuts.size(), "cut");
  return text;
}

std::string tree_text(const std::vector<CaseStep>& tree) {
  const auto is_leaf = [](const CaseStep& step) { return !step.split; };
  return tree.empty() ? "" : ", " + plural(static_cast<std::uint64_t>(std::ranges::count_if(tree, is_leaf)), "case");
}

std::string cases_text(const Record& record) {
  std::string text = record.cases.empty() ? " no cases" : " cases";
  for (std::size_t i = 0; i < record.cases.size() && i < 12; ++i) {
    text.append(" ").append(std::to_string(record.cases[i].position));
    if (!record.cases[i].rows.empty()) text.append("*").append(std::to_string(record.cases[i].rows.size()));
  }
  if (record.cases.size() > 12) text += " ... (" + std::to_string(record.cases.size()) + ")";
  return text;
}

std::string tighten_text(const Record& record) {
  std::string text = std::string(to_string(record.type)) + " node " + std::to_string(record.node);
  switch (record.selection.kind) {
    case inspect::Selection::Kind::unstable:
      text += " unstable";
      break;
    case inspect::Selection::Kind::all:
      text += " all";
      break;
    case inspect::Selection::Kind::mask:
      text += " mask of " + std::to_string(std::ranges::count(record.selection.mask, true)) + "/" +
              std::to_string(record.selection.mask.size());
  }
  text += tree_text(record.tree);
  if (record.claimed) text += ", " + plural(record.claims.lo.size(), "claim");
  if (record.round_to_float) text += ", rounded to float32";
  return text + hints_text(record.hints);
}

// By node, whether it takes no slopes: constants, inputs, and nodes that are affine in their other operands. A node that is affine for
// other reasons may be left out.
std::vector<bool> without_slopes(const Graph& graph) {
  std::vector<bool> constant(graph.nodes.size()), none(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.node(id);
    const auto variables = std::ranges::count_if(node.operands, [&](NodeId operand) { return !constant[operand]; });
    constant[id] = node.op != Op::input && variables == 0;
    const OpClass kind = op_row(node.op).op_class;
    const bool divides = node.op == Op::div && !constant[node.operands[1]];
    const bool is_product = family_of(node.op) == Family::formula && (kind == OpClass::linear || kind == OpClass::bilinear);
    none[id] = node.op == Op::input || constant[id] || family_of(node.op) == Family::layout || family_of(node.op) == Family::linear ||
               (is_product && variables == 1 && !divides);
  }
  return none;
}

// What of the records has no effect in this graph.
struct Ignored {
  explicit Ignored(const Graph& graph) : nodes(graph), without(without_slopes(graph)), read(graph.nodes.size()) {
    for (NodeId id = 0; id < graph.nodes.size(); ++id)
      for (const NodeId operand : graph.node(id).operands) read[operand] = read[operand] || !without[id];
  }
  [[nodiscard]] bool is_relu(NodeId node) const { return node < nodes.nodes.size() && nodes.node(node).op == Op::relu; }
  [[nodiscard]] std::string operand(NodeId node) const { return "node " + std::to_string(nodes.node(node).operands[0]); }

  const Graph& nodes;
  std::vector<bool> without;  // by node: whether it takes no slopes
  std::vector<bool> read;     // by node: whether one that takes slopes reads it
};

// "; node 4 is the result of a relu, ...": for a split or bounds of it, which belong to its operand.
std::string misplaced_text(const Record& record, const Ignored& of) {
  std::set<NodeId> split;
  const bool is_split =
      record.type == RecordType::split_zero || record.type == RecordType::split_f32 || record.type == RecordType::split_f64;
  if (is_split && of.is_relu(record.node)) split.insert(record.node);
  for (const CaseStep& step : record.tree)
    if (step.split && of.is_relu(step.split->node)) split.insert(step.split->node);
  std::string text;
  for (const NodeId node : split)
    text += "; node " + std::to_string(node) + " is the result of a relu: split its operand, " + of.operand(node);
  const bool bounds = record.type == RecordType::tighten || record.type == RecordType::tighten_by_cases;
  if (bounds && of.is_relu(record.node) && !of.read[record.node])
    text += "; node " + std::to_string(record.node) + " is the result of a relu, whose line the bounds of its operand improve: tighten " +
            of.operand(record.node);
  return text;
}

// "; node 3 takes no slopes, ...": what a record gives such nodes.
std::string ignored_text(const Record& record, const Ignored& of) {
  const std::vector<bool>& without = of.without;
  std::set<NodeId> ignored;
  const auto add = [&](const logic::Hints& hints) {
    for (const logic::Slopes* side : {&hints.lower, &hints.upper})
      for (const auto& [node, slopes] : *side)
        if (node < without.size() && without[node] && !slopes.empty()) ignored.insert(node);
  };
  add(record.hints);
  for (const CaseStep& step : record.tree) add(step.hints);
  std::string text = misplaced_text(record, of);
  for (const NodeId node : ignored) text += "; node " + std::to_string(node) + " takes no slopes, since it is no result of a non-linear op";
  return text;
}

// The line of each kind.
struct Words {
  static std::string name(const Record& record) { return to_string(record.type); }
  static std::string begin_group(const Record& record) { return name(record) + " " + std::to_string(record.group); }
  static std::string end_group(const Record& record) { return name(record); }
  static std::string sweep(const Record& record) { return boxes(record) + (record.round_to_float ? ", rounded to float32" : ""); }
  static std::string boxes(const Record& record) { return name(record) + " from node " + std::to_string(record.node); }
  static std::string box(const Record& record) { return name(record) + " node " + std::to_string(record.node); }
  static std::string tighten(const Record& record) { return tighten_text(record); }
  static std::string tighten_by_cases(const Record& record) { return tighten_text(record); }
  static std::string cut(const Record& record) {
    return name(record) + " of " + plural(record.terms.size(), "term") + tree_text(record.tree);
  }
  static std::string define_hints(const Record& record) {
    return name(record) + " " + std::to_string(record.hints_id) + hints_text(record.hints);
  }
  static std::string conclude(const Record& record) { return name(record) + cases_text(record) + hints_text(record.hints); }
  static std::string conclude_with(const Record& record) {
    return name(record) + cases_text(record) + " hints " + std::to_string(record.hints_id) + ", " +
           plural(record.hints.beta.size(), "beta");
  }
  static std::string empty(const Record& record) { return name(record); }
  static std::string split(const Record& record) {
    return name(record) + " node " + std::to_string(record.node) + "[" + std::to_string(record.element) + "] at " +
           number(record.threshold);
  }
  static std::string next(const Record& record) { return name(record); }
  static std::string done(const Record& record) { return name(record); }
  static std::string witness(const Record& record) {
    return name(record) + " for case " + std::to_string(record.witness.case_index) + ", " +
           plural(record.witness.inputs.size(), "coordinate");
  }
};

// The columns before each line, by the splits that are open.
struct Indent : StepsAlike<Indent> {
  std::size_t depth = 0;
  static std::size_t begin_group(const Record&) { return 0; }
  static std::size_t end_group(const Record&) { return 0; }
  static std::size_t witness(const Record&) { return 0; }
  [[nodiscard]] std::size_t step(const Record&) const { return 2 * (depth + 1); }
  std::size_t split(const Record&) { return 2 * ++depth; }
  [[nodiscard]] std::size_t next(const Record&) const { return 2 * std::max<std::size_t>(depth, 1); }
  std::size_t done(const Record& record) {
    const std::size_t columns = next(record);
    depth -= depth > 0 ? 1 : 0;
    return columns;
  }
};

}  // namespace

std::string header_text(const Header& header) {
  std::string name;
  for (const char c : header.semantics) name += c >= 32 && c < 127 ? c : '?';
  return "certificate version " + std::to_string(header.version) + ", " + name + ", statement " + statement::to_hex(header.digest);
}

std::string record_text(const Record& record) { return visit(record, Words{}); }

std::string summary_text(const Summary& summary) {
  std::string text;
  char line[128];
  for (std::size_t type = 1; type <= kRecordTypes; ++type) {
    if (summary.records[type] == 0) continue;
    std::string name = to_string(static_cast<RecordType>(type));
    if (static_cast<RecordType>(type) == RecordType::split_zero) name += " (at 0)";
    if (static_cast<RecordType>(type) == RecordType::split_f32) name += " (float32)";
    if (static_cast<RecordType>(type) == RecordType::split_f64) name += " (float64)";
    std::snprintf(line, sizeof line, "%-16s %12llu records %14llu bytes\n", name.c_str(),
                  static_cast<unsigned long long>(summary.records[type]), static_cast<unsigned long long>(summary.bytes[type]));
    text += line;
  }
  return text + "depth " + std::to_string(summary.depth) + ", " + plural(summary.frames, "frame") + ", " +
         plural(summary.file_bytes, "byte") + "\n";
}

Outcome<Summary> dump(Reader& reader, const std::function<void(const std::string&)>& line, const Graph* graph,
                      const std::function<std::vector<std::string>(const Record&)>& below) {
  std::optional<Ignored> ignored;
  if (graph != nullptr) ignored.emplace(*graph);
  Summary summary;
  Indent indent;
  while (true) {
    const auto next = reader.next(graph);
    if (!next) return next.rejection();
    if (next.value() == nullptr) break;
    const Record& record = *next.value();
    const auto type = static_cast<std::size_t>(record.type);
    ++summary.records[type];
    summary.bytes[type] += record.bytes;
    const std::size_t depth = indent.depth, columns = visit(record, indent);
    std::string text(std::min(columns, kMaxIndent), ' ');
    if (columns > kMaxIndent) text.append("(").append(std::to_string(depth)).append(") ");
    if (line) line(text.append(record_text(record)).append(ignored ? ignored_text(record, *ignored) : ""));
    if (line && below)
      for (const std::string& more : below(record)) line(std::string(std::min(columns, kMaxIndent) + 4, ' ') + more);
    summary.depth = std::max(summary.depth, indent.depth);
  }
  summary.frames = reader.frames();
  summary.file_bytes = reader.bytes_read();
  return summary;
}

}  // namespace assay::certificate
