// BranchTree: what is open in a branch and bound on one group, from the kernel's side: scopes,
// refutations and the proof.
//
// A record stands for a node below which something may be open. Closing a record joins its
// refutation with its sibling's and so on upwards; records below a closed one are void, whatever
// was still open there.
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
  logic::Literal literal;  // that led here; unused at the root
  std::uint32_t depth = 0, tree_node = ProofTree::kRoot;
  std::optional<logic::Refutation> own;  // of the cases concluded at this very node; written by whoever treats it

 private:
  std::shared_ptr<const logic::Scope> scope_;  // made when first needed
  std::optional<logic::Refutation> child_[2];
  bool closed_ = false, is_split_ = false;
  friend class BranchTree;
};

// Thread-safe; each record is treated by one thread at a time.
class BranchTree {
 public:
  using Record = std::shared_ptr<BranchRecord>;

  explicit BranchTree(const logic::Scope& root);

  [[nodiscard]] const Record& root() const { return root_; }
  // Null if the kernel refuses a literal, or the record is void.
  [[nodiscard]] std::shared_ptr<const logic::Scope> scope_of(const Record& record);
  // A record at or below a closed one.
  [[nodiscard]] bool is_void(const Record& record) const;
  void append(const Record& record, const certificate::Fragment& steps);
  // In place of the record's scope: one in which more is derived. For records below it.
  void set_scope(const Record& record, logic::Scope scope);
  // Makes the scopes of both halves, and forgets the record's own: nothing above the queue is kept.
  // False: the kernel refuses a literal.
  [[nodiscard]] bool hand_down(const Record& record, const std::array<Record, 2>& halves);
  // The records of element <= t and element >= t.
  std::array<Record, 2> split(const Record& record, const logic::Literal& at_most);

  // All cases of the record are refuted: by `refutation` (whose steps these are), by its own, or by
  // both together.
  enum class Closed : std::uint8_t { below, root, refused };
  Closed close(Record record, std::optional<logic::Refutation> refutation, const certificate::Fragment& steps);

  [[nodiscard]] const std::optional<logic::Refutation>& refutation() const { return refutation_; }  // of the root
  [[nodiscard]] const std::string& refusal() const { return refusal_; }  // the kernel's words behind Closed::refused
  [[nodiscard]] std::uint64_t memory() const { return proof_->byte_size() + kNodeBytes * proof_->size(); }  // nearly
  [[nodiscard]] std::unique_ptr<ProofTree> take_proof() { return std::move(proof_); }

 private:
  [[nodiscard]] bool is_void_locked(const BranchRecord* record) const;
  static constexpr std::uint64_t kNodeBytes = 200;
  mutable std::mutex mutex_;
  Record root_;
  std::unique_ptr<ProofTree> proof_;
  std::optional<logic::Refutation> refutation_;
  std::string refusal_;
  bool has_jumped_ = false;  // a split record was closed from outside: only then is anything open below a closed one
};

}  // namespace assay::search
