// BranchTree: records of open nodes, and the joining of refutations up to the root.
//
// The scope of a record is made when it is first needed, from the nearest ancestor that has one. close() goes up as
// long as both halves of a split are refuted, and the kernel joins their refutations.
//
// Source: the tree of any branch and bound. How this version differs: refutations are values of the kernel.

#include "search/bab/branch_tree.h"

#include <utility>
#include <vector>

#include "certificates/check/refutations.h"

namespace assay::search {

BranchTree::BranchTree(const logic::Scope& root) : root_(std::make_shared<BranchRecord>()), proof_(std::make_unique<ProofTree>()) {
  root_->scope_ = std::make_shared<const logic::Scope>(root);
}

// Makes missing scopes from the nearest ancestor that has one, literal by literal. Most nodes of a batch are split
// before they need one.
std::shared_ptr<const logic::Scope> BranchTree::scope_of(const Record& record) {
  const std::lock_guard lock(mutex_);
  std::vector<BranchRecord*> missing;
  BranchRecord* at = record.get();
  for (; at != nullptr && !at->scope_; at = at->parent.get()) missing.push_back(at);
  if (at == nullptr) return nullptr;
  for (; !missing.empty(); missing.pop_back()) {
    logic::Scope scope = *missing.back()->parent->scope_;
    if (!scope.assume(missing.back()->literal).ok()) return nullptr;
    missing.back()->scope_ = std::make_shared<const logic::Scope>(std::move(scope));
  }
  return record->scope_;
}

void BranchTree::append(const Record& record, const certificate::Fragment& steps) {
  const std::lock_guard lock(mutex_);
  if (steps.byte_size() > 0) proof_->append(record->tree_node, steps);
}

void BranchTree::set_scope(const Record& record, logic::Scope scope) {
  const std::lock_guard lock(mutex_);
  record->scope_ = std::make_shared<const logic::Scope>(std::move(scope));
}

bool BranchTree::hand_down(const Record& record, const std::array<Record, 2>& halves) {
  for (const Record& half : halves)
    if (scope_of(half) == nullptr) return false;
  const std::lock_guard lock(mutex_);
  record->scope_.reset();
  return true;
}

std::array<BranchTree::Record, 2> BranchTree::split(const Record& record, const logic::Literal& at_most) {
  const std::lock_guard lock(mutex_);
  const std::uint32_t first = proof_->split(record->tree_node, {at_most.node, at_most.element, at_most.threshold});
  std::array<Record, 2> children;
  for (const std::uint32_t side : {0U, 1U}) {
    children[side] = std::make_shared<BranchRecord>();
    children[side]->parent = record;
    children[side]->literal = at_most;
    children[side]->literal.at_least = side == 1;
    children[side]->depth = record->depth + 1;
    children[side]->tree_node = first + side;
  }
  return children;
}

// Goes upwards as long as both halves of a split are refuted. The own refutations of inner nodes are merged on the way.
BranchTree::Closed BranchTree::close(Record record, std::optional<logic::Refutation> refutation, const certificate::Fragment& steps) {
  const std::lock_guard lock(mutex_);
  if (steps.byte_size() > 0) proof_->append(record->tree_node, steps);
  const auto refused = [&](const Rejection& why) {
    refusal_ = why.to_text();
    return Closed::refused;
  };
  while (true) {
    if (record->own) {
      if (auto merged = certificate::merge_into(refutation, *record->own); !merged) return refused(merged.rejection());
    }
    record->scope_.reset();
    const Record parent = record->parent;
    if (!parent) break;
    parent->child_[record->literal.at_least ? 1 : 0] = std::move(refutation);
    if (!parent->child_[0] || !parent->child_[1]) return Closed::below;
    Outcome<logic::Refutation> joined = logic::join(*parent->child_[0], *parent->child_[1]);
    if (!joined.ok()) return refused(joined.rejection());
    refutation = std::move(joined).value();
    parent->child_[0].reset();
    parent->child_[1].reset();
    record = parent;
  }
  refutation_ = std::move(refutation);
  return Closed::root;
}

}  // namespace assay::search
