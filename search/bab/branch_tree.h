// BranchTree: the open part of a branch and bound on one group, as the kernel sees it: scopes, refutations and
// the proof.
//
// A record stands for a node whose subtree may hold open nodes. Closing a record joins its refutation with that of its
// sibling, and so on upwards.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "kernel/logic/api.h"
#include "search/bab/proof_tree.h"

namespace assay::search {

struct BranchRecord {
  std::shared_ptr<BranchRecord> parent;
  logic::Literal literal;  // leads from the parent to this record; unused at the root
  std::uint32_t depth = 0, tree_node = ProofTree::kRoot;
  // Of the cases concluded at this very node; written by the worker that treats the node.
  std::optional<logic::Refutation> own;

 private:
  std::shared_ptr<const logic::Scope> scope_;  // made when first needed
  std::optional<logic::Refutation> child_[2];
  friend class BranchTree;
};

// Thread-safe; only one thread at a time treats a record.
class BranchTree {
 public:
  using Record = std::shared_ptr<BranchRecord>;

  explicit BranchTree(const logic::Scope& root);

  [[nodiscard]] const Record& root() const { return root_; }
  // Null if the kernel refuses a literal.
  [[nodiscard]] std::shared_ptr<const logic::Scope> scope_of(const Record& record);
  void append(const Record& record, const certificate::Fragment& steps);
  // Replaces the scope of the record by one in which more is derived, for the records below.
  void set_scope(const Record& record, logic::Scope scope);
  // Makes the scopes of both halves and drops the record's own scope, so that only nodes in the queue keep one. Returns
  // false if the kernel refuses a literal.
  [[nodiscard]] bool hand_down(const Record& record, const std::array<Record, 2>& halves);
  // The records of element <= t and element >= t.
  std::array<Record, 2> split(const Record& record, const logic::Literal& at_most);

  // Closes a record whose cases are all refuted: by `refutation`, which belongs to `steps`, by its own refutation, or
  // by both together.
  enum class Closed : std::uint8_t { below, root, refused };
  Closed close(Record record, std::optional<logic::Refutation> refutation, const certificate::Fragment& steps);

  [[nodiscard]] const std::optional<logic::Refutation>& refutation() const { return refutation_; }  // of the root
  [[nodiscard]] const std::string& refusal() const { return refusal_; }  // why the kernel refused, for Closed::refused
  // approximate.
  [[nodiscard]] std::uint64_t memory() const { return proof_->byte_size() + kNodeBytes * proof_->size(); }
  [[nodiscard]] std::unique_ptr<ProofTree> take_proof() { return std::move(proof_); }

 private:
  static constexpr std::uint64_t kNodeBytes = 200;
  mutable std::mutex mutex_;
  Record root_;
  std::unique_ptr<ProofTree> proof_;
  std::optional<logic::Refutation> refutation_;
  std::string refusal_;
};

}  // namespace assay::search
