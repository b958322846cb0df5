// Dump: the text of each record.

#include "certificates/edit/dump.h"

#include <algorithm>
#include <cstdio>

namespace assay::certificate {
namespace {

constexpr std::size_t kMaxIndent = 40;  // columns; deeper records show their depth as a number

std::string plural(std::uint64_t count, const char* noun) { return std::to_string(count) + " " + noun + (count == 1 ? "" : "s"); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.17g", value);
  return text;
}

std::string side_text(const char* name, const kernel::Slopes& side) {
  std::string text;
  for (const auto& [node, slopes] : side) {
    if (!slopes.empty()) text += std::string(", ") + name + " of node " + std::to_string(node) + " (" + std::to_string(slopes.size()) + ")";
  }
  return text;
}

std::string hints_text(const kernel::Hints& hints) {
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
  std::string text = " cases";
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
    case kernel::Selection::Kind::unstable:
      text += " unstable";
      break;
    case kernel::Selection::Kind::all:
      text += " all";
      break;
    case kernel::Selection::Kind::mask:
      text += " mask of " + std::to_string(std::ranges::count(record.selection.mask, true)) + "/" +
              std::to_string(record.selection.mask.size());
  }
  text += tree_text(record.tree);
  if (record.claimed) text += ", " + plural(record.claims.lo.size(), "claim");
  if (record.round_to_float) text += ", rounded to float32";
  return text + hints_text(record.hints);
}

}  // namespace

std::string header_text(const Header& header) {
  std::string name;
  for (const char c : header.semantics) name += c >= 32 && c < 127 ? c : '?';
  return "certificate version " + std::to_string(header.version) + ", " + name + ", statement " + kernel::to_hex(header.digest);
}

std::string record_text(const Record& record) {
  const std::string name = to_string(record.type);
  switch (record.type) {
    case RecordType::begin_group:
      return name + " " + std::to_string(record.group);
    case RecordType::sweep:
    case RecordType::boxes:
      return name + " from node " + std::to_string(record.node) + (record.round_to_float ? ", rounded to float32" : "");
    case RecordType::box:
      return name + " node " + std::to_string(record.node);
    case RecordType::tighten:
    case RecordType::tighten_by_cases:
      return tighten_text(record);
    case RecordType::cut:
      return name + " of " + plural(record.terms.size(), "term") + tree_text(record.tree);
    case RecordType::define_hints:
      return name + " " + std::to_string(record.hints_id) + hints_text(record.hints);
    case RecordType::conclude:
      return name + cases_text(record) + hints_text(record.hints);
    case RecordType::conclude_with:
      return name + cases_text(record) + " hints " + std::to_string(record.hints_id) + ", " + plural(record.hints.beta.size(), "beta");
    case RecordType::split_zero:
    case RecordType::split_f32:
    case RecordType::split_f64:
      return name + " node " + std::to_string(record.node) + "[" + std::to_string(record.element) + "] at " + number(record.threshold);
    case RecordType::witness:
      return name + " for case " + std::to_string(record.witness.case_index) + ", " + plural(record.witness.inputs.size(), "coordinate");
    case RecordType::end_group:
    case RecordType::empty:
    case RecordType::next:
    case RecordType::done:
      return name;
  }
  return name;
}

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

Outcome<Summary> dump(Reader& reader, const std::function<void(const std::string&)>& line) {
  Summary summary;
  std::size_t depth = 0, indent = 0;
  while (true) {
    const auto next = reader.next(nullptr);
    if (!next) return next.rejection();
    if (next.value() == nullptr) break;
    const Record& record = *next.value();
    const auto type = static_cast<std::size_t>(record.type);
    ++summary.records[type];
    summary.bytes[type] += record.bytes;
    const bool splits = record.type >= RecordType::split_zero && record.type <= RecordType::split_f64;
    const bool side_ends = record.type == RecordType::next || record.type == RecordType::done;
    const bool group_edge =
        record.type == RecordType::begin_group || record.type == RecordType::end_group || record.type == RecordType::witness;
    indent = group_edge ? 0 : 2 * (depth + 1) - (side_ends && depth > 0 ? 2 : 0);
    std::string text(std::min(indent, kMaxIndent), ' ');
    if (indent > kMaxIndent) text.append("(").append(std::to_string(depth)).append(") ");
    if (line) line(text.append(record_text(record)));
    if (splits) ++depth;
    if (record.type == RecordType::done && depth > 0) --depth;
    summary.depth = std::max(summary.depth, depth);
  }
  summary.frames = reader.frames();
  summary.file_bytes = reader.bytes_read();
  return summary;
}

}  // namespace assay::certificate
