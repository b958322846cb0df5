// Writer: the append-only certificate stream (certificates/FORMAT.md), depth first.
//
// Call order:  begin_group, steps..., { split, <left branch>, next, <right branch>, done }, ..., end_group, finish.
// A branch is: steps, then either nothing more (all its open cases concluded) or one split. Each step is what the kernel
// accepted: the reader replays exactly these calls (replay.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "certificates/format/case_step.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

enum class RecordType : std::uint8_t;

// Encoded steps of one branch, so that search threads can encode leaves independently and append them later.
class Fragment {
 public:
  // propagate_box for every non-constant node in order from `first`, and tighten(unstable, policy) on every pre-activation
  // node among them, rounded outward to float32 if `round_to_float`.
  void sweep(NodeId first, bool round_to_float);
  void boxes(NodeId first);  // ... without the second
  void box(NodeId node);
  // Claims, if any, are one pair per selected element.
  void tighten(NodeId node, const logic::Selection& selection, const logic::Hints& hints, const logic::Claims* claims, bool round_to_float);
  void tighten_by_cases(NodeId node, const logic::Selection& selection, std::span<const certificate::CaseStep> tree, bool round_to_float);
  void cut(std::span<const logic::Cut::Term> terms, std::span<const certificate::CaseStep> tree);
  void conclude(std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints);
  void empty();
  // Hints that later conclude and tighten steps of this branch and its descendants refer to by id, to keep leaves small.
  // Ids are given in order by the caller, scoped to the branch that defines them.
  void define_hints(std::uint32_t id, const logic::Hints& hints);
  void conclude_with(std::span<const logic::CaseMultipliers> cases, std::uint32_t hints_id, std::span<const float> beta);
  // Says that an enclosing branch defines these hints: arrays of this fragment may then be written as differences.
  void refer_to(std::uint32_t id, std::shared_ptr<const logic::Hints> hints);
  // A record of another certificate about the same graph, as it is; hints that it refers to are in force wherever this fragment goes.
  void copy(std::string_view record);
  // Steps that refer to no hints by id, behind these.
  void append(const Fragment& more);
  [[nodiscard]] std::size_t byte_size() const { return bytes_.size(); }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // Where a record begins before which a frame may end, ascending: one for each that is full.
  [[nodiscard]] const std::vector<std::size_t>& frame_ends() const { return frame_ends_; }

 private:
  struct Definition {
    std::uint32_t id;
    std::shared_ptr<const logic::Hints> hints;
    std::shared_ptr<const Definition> previous;
  };
  void may_end_frame();
  void begin(RecordType type);
  void put_selection(const logic::Selection& selection);
  void put_tree(std::span<const certificate::CaseStep> tree);
  std::string bytes_;
  std::vector<std::size_t> frame_ends_;
  std::uint64_t records_ = 0;
  std::shared_ptr<const Definition> known_;  // newest first; values share it, so copies stay cheap
  friend class HintEncoder;
};

// A certificate being written. Every call must follow the order above (demanded). A Writer that is destroyed before
// finish() removes its file, and no prefix of a certificate is a certificate: the reader asks for the end frame.
class Writer {
 public:
  // Evidence for a part of a proof names its cube (certificates/FORMAT.md, section 7) where others name the statement.
  static Outcome<std::unique_ptr<Writer>> open(const std::string& path, const logic::Problem& problem,
                                               const statement::Digest* cube = nullptr);
  ~Writer();
  void begin_group(std::size_t group);
  void append(const Fragment& steps);
  void split(NodeId node, std::uint32_t element, double threshold);  // opens the branch element <= threshold
  void next();                                                       // ... closes it, opens element >= threshold
  void done();                                                       // ... closes that
  void end_group();
  void witness(const logic::Witness& witness);
  Outcome<std::uint64_t> finish();  // bytes written; fails on I/O errors
  // The same wherever the records end: a cube is the beginning of a proof, up to a branch that is open.
  Outcome<std::uint64_t> finish_open();
  [[nodiscard]] std::uint64_t records() const;  // so far
  [[nodiscard]] std::uint64_t bytes_written() const;

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::certificate
