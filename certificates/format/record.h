// Record: one record of a certificate, as it was decoded. RecordVisitor: a program's action on a record of each kind.
//
// visit() is the only place that tells the kinds apart. A visitor has a member for each kind of ASSAY_RECORDS (format.h). One
// that lacks a member does not compile, so that no reader of certificates can omit a new kind. A visitor that treats all steps
// alike, or everything else alike, says so by StepsAlike and StructureAlike.
#pragma once

#include <cstdint>
#include <vector>

#include "certificates/format/case_step.h"
#include "certificates/format/format.h"
#include "kernel/logic/api.h"
#include "semantics/demand.h"

namespace assay::certificate {

// The members that a record's type does not use are empty.
struct Record {
  RecordType type = RecordType::empty;
  std::uint64_t number = 0;                   // from 1
  std::uint64_t offset = 0, bytes = 0;        // in the file
  std::uint64_t values = 0;                   // of all arrays: a few bytes may stand for many
  std::uint64_t group = 0;                    // begin_group
  NodeId node = 0;                            // sweep and boxes (first), box, both kinds of tighten, splits
  std::uint32_t element = 0;                  // splits
  double threshold = 0;                       // splits; finite
  bool round_to_float = false;                // sweep, both kinds of tighten
  bool claimed = false;                       // tighten
  logic::Selection selection;                 // both kinds of tighten
  logic::Claims claims;                       // tighten
  std::uint32_t hints_id = 0;                 // define_hints, conclude_with
  logic::Hints hints;                         // tighten, conclude, define_hints; conclude_with: the defined ones with their own beta
  std::vector<CaseStep> tree;                 // tighten_by_cases, cut
  std::vector<logic::Cut::Term> terms;        // cut
  std::vector<logic::CaseMultipliers> cases;  // conclude, conclude_with
  logic::Witness witness;

  // Of a split: its left half.
  [[nodiscard]] logic::Literal at_most() const { return {node, element, false, threshold}; }
};

#define ASSAY_VISITS(number, name, member) visitor.member(record);
template <class Visitor>
concept RecordVisitor = requires(Visitor& visitor, const Record& record) {
  ASSAY_RECORDS(ASSAY_VISITS, ASSAY_VISITS)
};
#undef ASSAY_VISITS

// Of a record that is well-formed: no other leaves the reader, unless it skims.
template <RecordVisitor Visitor>
auto visit(const Record& record, Visitor&& visitor) {
  switch (record.type) {
#define ASSAY_CASE(number, name, member) \
  case RecordType::name:                 \
    return visitor.member(record);
    ASSAY_RECORDS(ASSAY_CASE, ASSAY_CASE)
#undef ASSAY_CASE
  }
  demand_failed("visit: a record of an unknown type");
}

#define ASSAY_ALIKE(name, to) \
  auto name(const Record& record) { return static_cast<Visitor*>(this)->to(record); }
#define ASSAY_STEP_ALIKE(number, name, member) ASSAY_ALIKE(member, step)
#define ASSAY_NONE(...)
// A visitor that derives from this one has a member step() for all steps.
template <class Visitor>
struct StepsAlike {
  ASSAY_RECORDS(ASSAY_NONE, ASSAY_STEP_ALIKE)
};
#undef ASSAY_NONE
#undef ASSAY_STEP_ALIKE

// ... structure() for what is no step: groups, splits and their branches, the witness.
template <class Visitor>
struct StructureAlike {
  ASSAY_ALIKE(begin_group, structure)
  ASSAY_ALIKE(end_group, structure)
  ASSAY_ALIKE(split, structure)
  ASSAY_ALIKE(next, structure)
  ASSAY_ALIKE(done, structure)
  ASSAY_ALIKE(witness, structure)
};
#undef ASSAY_ALIKE

}  // namespace assay::certificate
