// read_tree(): groups and splits from records, each with the leaves below it.

#include "certificates/edit/tree.h"

#include <algorithm>

namespace assay::certificate {
namespace {

using Part = ProofTree::Part;

// Takes the records in their order.
class Builder {
 public:
  explicit Builder(ProofTree& tree) : tree_(tree) {}

  void take(const Record& record) {
    const auto type = static_cast<std::size_t>(record.type);
    ++tree_.summary.records[type];
    tree_.summary.bytes[type] += record.bytes;
    visit(record, *this);
    if (!open_.empty()) tree_.parts[open_.back()].bytes += record.bytes;
  }

  void begin_group(const Record& record) { open({-1, 0, record.group}); }
  void end_group(const Record& record) { done(record); }
  void next(const Record&) { close_side(); }
  void done(const Record&) {
    close_side();
    pop();
  }
  void witness(const Record& record) {
    tree_.has_witness = true;
    tree_.witness = record.witness;
  }
  void conclude(const Record&) {
    if (!open_.empty()) ++tree_.parts[open_.back()].conclusions;
  }
  void conclude_with(const Record& record) { conclude(record); }
  void empty(const Record& record) { conclude(record); }
  void sweep(const Record&) {
    if (!open_.empty()) ++tree_.parts[open_.back()].steps;
  }
  void boxes(const Record& record) { sweep(record); }
  void box(const Record& record) { sweep(record); }
  void tighten(const Record& record) { sweep(record); }
  void tighten_by_cases(const Record& record) { sweep(record); }
  void cut(const Record& record) { sweep(record); }
  void define_hints(const Record& record) { sweep(record); }
  void split(const Record& record) {
    ++tree_.splits;
    Part part;
    if (!open_.empty()) {
      is_split_.back() = true;
      const Part& above = tree_.parts[open_.back()];
      part.parent = static_cast<std::int64_t>(open_.back());
      part.depth = above.depth + 1;
      part.group = above.group;
    }
    part.node = record.node;
    part.element = record.element;
    part.threshold = record.threshold;
    open(part);
  }

 private:
  void open(Part part) {
    part.first_leaf = tree_.leaves;
    open_.push_back(tree_.parts.size());
    is_split_.push_back(false);
    tree_.summary.depth = std::max(tree_.summary.depth, part.depth);
    tree_.parts.push_back(part);
  }

  // A side of a split, or a whole group, that is not split itself is a leaf.
  void close_side() {
    if (open_.empty()) return;
    if (!is_split_.back()) {
      const std::size_t depth = tree_.parts[open_.back()].depth;
      if (tree_.leaves_at.size() <= depth) tree_.leaves_at.resize(depth + 1, 0);
      ++tree_.leaves_at[depth];
      ++tree_.leaves;
    }
    is_split_.back() = false;
  }

  void pop() {
    if (open_.empty()) return;
    Part& part = tree_.parts[open_.back()];
    part.leaves = tree_.leaves - part.first_leaf;
    open_.pop_back();
    is_split_.pop_back();
  }

  ProofTree& tree_;
  std::vector<std::size_t> open_;  // the groups and splits that the next record is in
  std::vector<bool> is_split_;     // of each: its present side has a split
};

}  // namespace

Outcome<ProofTree> read_tree(Reader& reader) {
  ProofTree tree;
  tree.header = reader.header();
  Builder builder(tree);
  while (true) {
    const auto next = reader.next(nullptr);
    if (!next) return next.rejection();
    if (next.value() == nullptr) break;
    builder.take(*next.value());
  }
  tree.summary.frames = reader.frames();
  tree.summary.file_bytes = reader.bytes_read();
  return tree;
}

}  // namespace assay::certificate
