// Writer: writes a certificate (certificates/FORMAT.md) from front to back, depth first.
//
// Order of calls:  begin_group, steps..., { split, <left branch>, next, <right branch>, done }, ..., end_group, finish.
// A branch consists of steps, and then either nothing more (all its open cases are concluded) or one
// split. The steps have to be calls that the kernel accepted, since the reader replays exactly these
// calls (certificates/check/replay.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "certificates/format/case_step.h"
#include "kernel/inspect/selection.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::certificate {

enum class RecordType : std::uint8_t;

// Encoded steps of one branch, so that search threads can encode leaves independently and append them later.
class Fragment {
 public:
  // propagate_box for every non-constant node in order from `first`, and tighten(unstable, policy) on every
  // pre-activation among them, rounded outward to float32 if `round_to_float`.
  void sweep(NodeId first, bool round_to_float);
  void boxes(NodeId first);  // the same without tighten
  void box(NodeId node);
  // Claims, if any, are one pair per selected element.
  void tighten(NodeId node, const inspect::Selection& selection, const logic::Hints& hints, const logic::Claims* claims,
               bool round_to_float);
  void tighten_by_cases(NodeId node, const inspect::Selection& selection, std::span<const certificate::CaseStep> tree, bool round_to_float);
  void cut(std::span<const logic::Cut::Term> terms, std::span<const certificate::CaseStep> tree);
  void conclude(std::span<const logic::CaseMultipliers> cases, const logic::Hints& hints);
  void empty();
  // define_hints(): hints to which later conclude and tighten steps of this branch and its descendants refer by id, so
  // that leaves stay small. The caller gives ids in ascending order; an id is in force in the branch that defines it.
  void define_hints(std::uint32_t id, const logic::Hints& hints);
  void conclude_with(std::span<const logic::CaseMultipliers> cases, std::uint32_t hints_id, std::span<const float> beta);
  // States that an enclosing branch defines these hints, so that arrays of this fragment may be written as differences.
  void refer_to(std::uint32_t id, std::shared_ptr<const logic::Hints> hints);
  // Copies a record of another certificate about the same graph. The hints that it refers to have to be in force
  // wherever this fragment is appended.
  void copy(std::string_view record);
  // Appends steps that refer to no hints by id.
  void append(const Fragment& more);
  [[nodiscard]] std::size_t byte_size() const { return bytes_.size(); }
  [[nodiscard]] std::uint64_t records() const { return records_; }
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  // The places in bytes() where a frame may end, ascending: one for each full frame, before a record.
  [[nodiscard]] const std::vector<std::size_t>& frame_ends() const { return frame_ends_; }

 private:
  struct Definition {
    std::uint32_t id;
    std::shared_ptr<const logic::Hints> hints;
    std::shared_ptr<const Definition> previous;
  };
  void may_end_frame();
  void begin(RecordType type);
  void put_selection(const inspect::Selection& selection);
  void put_tree(std::span<const certificate::CaseStep> tree);
  std::string bytes_;
  std::vector<std::size_t> frame_ends_;
  std::uint64_t records_ = 0;
  std::shared_ptr<const Definition> known_;  // newest first; copies share the list, so they are cheap
  friend class HintEncoder;
};

// A certificate being written. Calls have to follow the order above (demanded). A Writer that is destroyed before
// finish() removes its file. No prefix of a certificate is a certificate, since the reader requires the end frame.
class Writer {
 public:
  // `cube`: evidence for a part of a proof names its cube (certificates/FORMAT.md, section 7) in place of
  // the statement.
  static Outcome<std::unique_ptr<Writer>> open(const std::string& path, const logic::Problem& problem,
                                               const statement::Digest* cube = nullptr);
  ~Writer();
  void begin_group(std::size_t group);
  void append(const Fragment& steps);
  void split(NodeId node, std::uint32_t element, double threshold);  // opens the branch element <= threshold
  // Closes it and opens the branch element >= threshold.
  void next();
  void done();  // closes that branch
  void end_group();
  void witness(const logic::Witness& witness);
  Outcome<std::uint64_t> finish();  // returns the bytes written; fails on I/O errors
  // The same, without a complete proof: a cube is the beginning of a proof, up to an open branch.
  Outcome<std::uint64_t> finish_open();
  [[nodiscard]] std::uint64_t records() const;  // so far
  [[nodiscard]] std::uint64_t bytes_written() const;

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::certificate
