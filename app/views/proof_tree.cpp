#include "app/views/proof_tree.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "api/check/load.h"
#include "app/pages/chart.h"
#include "app/queries/file_kind.h"
#include "app/words.h"

namespace assay::views {
namespace {

using certificate::ProofTree;
using certificate::RecordType;
using Part = ProofTree::Part;

std::string leaves_text(std::uint64_t leaves) { return std::to_string(leaves) + (leaves == 1 ? " leaf" : " leaves"); }

// Parts that are wider than half a pixel, the widest first, and so deep that they can be seen.
std::string drawn(const ProofTree& tree) {
  constexpr std::size_t kMostParts = 6000, kMostDepth = 60;
  constexpr double kLeast = 0.0005;  // of the width
  if (tree.leaves == 0) return "";
  const auto all = static_cast<double>(tree.leaves);
  std::vector<pages::Icicle> shown;
  std::size_t left_out = 0;
  for (const Part& part : tree.parts) {
    const double from = static_cast<double>(part.first_leaf) / all, to = static_cast<double>(part.first_leaf + part.leaves) / all;
    if (to - from < kLeast || part.depth >= kMostDepth || shown.size() >= kMostParts) {
      ++left_out;
      continue;
    }
    const std::string below = leaves_text(part.leaves) + " below";
    shown.push_back({from, to, part.depth, part.depth == 0 ? "open" : "yes",
                     part.depth == 0 ? "box " + std::to_string(part.group) + ", " + below
                                     : "node " + std::to_string(part.node) + "[" + std::to_string(part.element) + "] at " +
                                           pages::shown(part.threshold, "%.6g") + ", depth " + std::to_string(part.depth) + ", " + below});
  }
  return pages::icicle_chart(
             "The tree of splits: boxes of inputs above, each split below the one whose side it splits, as wide as it has leaves", shown) +
         "<p class=\"quiet\">Each bar is a split, as wide as the leaves below it; grey bars are input boxes." +
         (left_out > 0 ? " " + std::to_string(left_out) + " splits are too narrow or too deep to be drawn; the list has them." : "") +
         "</p>\n";
}

pages::Table splits(const ProofTree& tree) {
  constexpr std::size_t kMostRows = 20000;
  pages::Table table{
      "splits", "Splits", {"split", "depth", "box", "node", "element", "threshold", "leaves", "steps", "conclusions", "bytes"}, {}};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < tree.parts.size(); ++i)
    if (tree.parts[i].depth > 0) order.push_back(i);
  if (order.size() > kMostRows) {
    std::ranges::nth_element(order, order.begin() + kMostRows, std::greater<>(), [&](std::size_t i) { return tree.parts[i].leaves; });
    table.note = "The " + std::to_string(kMostRows) + " splits of " + std::to_string(order.size()) + " with the most leaves below them.";
    order.resize(kMostRows);
    std::ranges::sort(order);
  }
  for (const std::size_t i : order) {
    const Part& part = tree.parts[i];
    table.rows.push_back(
        {i, part.depth, part.group, part.node, part.element, part.threshold, part.leaves, part.steps, part.conclusions, part.bytes});
  }
  return table;
}

// Which nodes are split, and how often.
pages::Table split_nodes(const ProofTree& tree) {
  struct Count {
    std::size_t splits = 0;
    std::set<std::uint32_t> elements;
  };
  std::map<NodeId, Count> counts;
  for (const Part& part : tree.parts) {
    if (part.depth == 0) continue;
    ++counts[part.node].splits;
    counts[part.node].elements.insert(part.element);
  }
  pages::Table table{"split_nodes", "Splits by node", {"node", "splits", "different elements"}, {}};
  for (const auto& [node, count] : counts) table.rows.push_back({node, count.splits, count.elements.size()});
  return table;
}

pages::Table depths(const ProofTree& tree) {
  pages::Table table{"depths", "Leaves by depth", {"depth", "leaves"}, {}};
  for (std::size_t depth = 0; depth < tree.leaves_at.size(); ++depth) table.rows.push_back({depth, tree.leaves_at[depth]});
  return table;
}

pages::Table records(const certificate::Summary& summary) {
  pages::Table table{"records", "Records of the file", {"record", "count", "bytes"}, {}};
  for (std::size_t type = 1; type <= certificate::kRecordTypes; ++type)
    if (summary.records[type] > 0)
      table.rows.push_back({to_string(static_cast<RecordType>(type)), summary.records[type], summary.bytes[type]});
  return table;
}

pages::Table witness_table(const logic::Witness& witness) {
  pages::Table table{"witness", "Witness: a point of case " + std::to_string(witness.case_index), {"coordinate", "exactly", "about"}, {}};
  for (std::size_t i = 0; i < witness.inputs.size(); ++i)
    table.rows.push_back({i, witness.inputs[i].to_string(), pages::number(witness.inputs[i].double_down())});
  return table;
}

}  // namespace

Outcome<ProofTree> read_proof_tree(const std::string& path) {
  auto reader = certificate::Reader::open(path);
  if (!reader) return queries::recognised(check::in_file(reader.rejection(), path), path, queries::FileKind::certificate);
  auto tree = certificate::read_tree(*reader.value());
  if (!tree) return check::in_file(tree.rejection(), path);
  return tree;
}

Sheet sheet_of(const ProofTree& tree, const std::string& path) {
  Sheet sheet;
  sheet.title = "Certificate " + path;
  sheet.facts = {{"file", path},
                 {"kind", "certificate"},
                 {"header", certificate::header_text(tree.header)},
                 {"size", counted(tree.summary.file_bytes, "byte") + ", " + counted(tree.summary.frames, "frame")},
                 {"tree", counted(tree.parts.size() - tree.splits, "input box", "es") + ", " + counted(tree.splits, "split") + ", " +
                              leaves_text(tree.leaves) + ", depth " + std::to_string(tree.summary.depth)}};
  if (tree.splits > 0) sheet.charts.push_back(drawn(tree));
  if (tree.has_witness) sheet.tables.push_back(witness_table(tree.witness));
  if (tree.splits > 0) {
    sheet.tables.push_back(splits(tree));
    sheet.tables.push_back(split_nodes(tree));
    sheet.tables.push_back(depths(tree));
  }
  sheet.tables.push_back(records(tree.summary));
  return sheet;
}

Outcome<Sheet> sheet_of_certificate(const std::string& file) {
  const auto tree = read_proof_tree(file);
  if (!tree) return tree.rejection();
  return sheet_of(tree.value(), file);
}

}  // namespace assay::views
