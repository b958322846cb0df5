#include "cli/assay/names.h"

#include <algorithm>
#include <cctype>
#include <sstream>

#include "cli/assay/op_reference.h"
#include "frontends/onnx/import.h"

namespace assay::cli {
namespace {

// Optimal string alignment distance: Levenshtein's with swaps of neighbours.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<std::size_t>> d(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

// Lower case, without underscores and hyphens: "MaxPool" and "max_pool" are one.
std::string folded(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c != '_' && c != '-') text += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return text;
}

bool becomes(const OpReference& reference, const std::string& operation) {
  std::istringstream words{std::string(reference.onnx)};
  for (std::string word; words >> word;) {
    if (folded(word) == operation) return true;
  }
  return false;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongest = 64;  // of a word that somebody mistyped
  if (word.size() > kLongest) return "";
  std::string best;
  std::size_t least = std::max<std::size_t>(1, (word.size() + 1) / 3) + 1;
  for (const std::string& each : candidates) {
    const std::size_t d = distance(folded(word), folded(each));
    if (d >= least) continue;
    least = d;
    best = each;
  }
  return best;
}

std::string meant(const std::string& word, const std::vector<std::string>& candidates) {
  const std::string best = nearest(word, candidates);
  return best.empty() ? "" : "; did you mean " + best + "?";
}

std::vector<Op> computing_ops() {
  std::vector<Op> ops;
  for (int k = 0; k < kOpCount; ++k) {
    const OpRow& row = op_row(static_cast<Op>(k));
    if (row.op_class != OpClass::leaf) ops.push_back(row.op);
  }
  return ops;
}

std::vector<Op> ops_named(const std::string& name) {
  const std::string wanted = folded(name);
  if (wanted.empty()) return {};
  std::vector<Op> ops;
  for (int k = 0; k < kOpCount; ++k) {
    const Op op = static_cast<Op>(k);
    if (folded(op_row(op).name) == wanted) return {op};
    if (becomes(op_reference(op), wanted)) ops.push_back(op);
  }
  return ops;
}

std::string unknown_op(const std::string& name) {
  std::vector<std::string> candidates;
  for (const Op op : computing_ops()) candidates.emplace_back(op_row(op).name);
  for (const onnx::OperatorSupport& support : onnx::supported_operators()) {
    if (folded(support.op) == folded(name))
      return "the ONNX operator " + support.op + " becomes several ops, depending on its attributes; docs/onnx.md says which";
    candidates.push_back(support.op);
  }
  return "no op is named " + name + meant(name, candidates) + "; `assay ops` lists them";
}

std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > kMost ? " and " + std::to_string(names.size() - kMost) + " more" : "");
}

}  // namespace assay::cli
