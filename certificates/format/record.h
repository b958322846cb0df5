// Record: one decoded record of a certificate. RecordVisitor: a program's action for each kind of record.
//
// Only visit() distinguishes the kinds. A visitor has one member for each kind of ASSAY_RECORDS (format.h), and without
// one of them it does not compile, so that no reader of certificates can omit a new kind. A visitor that treats all
// steps alike derives from StepsAlike, and one that treats all other records alike from StructureAlike.
#pragma once

#include <cstdint>
#include <vector>

#include "certificates/format/case_step.h"
#include "certificates/format/format.h"
#include "kernel/inspect/selection.h"
#include "kernel/logic/api.h"
#include "semantics/demand.h"

namespace assay::certificate {

// Members that a record's type does not use are empty.
struct Record {
  RecordType type = RecordType::empty;
  std::uint64_t number = 0;             // from 1
  std::uint64_t offset = 0, bytes = 0;  // in the file
  std::uint64_t values = 0;             // number of values in all arrays: a few bytes may encode many
  std::uint64_t group = 0;              // begin_group
  NodeId node = 0;                      // sweep and boxes (first node), box, both kinds of tighten, splits
  std::uint32_t element = 0;            // splits
  double threshold = 0;                 // splits; finite
  bool round_to_float = false;          // sweep, both kinds of tighten
  bool claimed = false;                 // tighten
  inspect::Selection selection;         // both kinds of tighten
  logic::Claims claims;                 // tighten
  std::uint32_t hints_id = 0;           // define_hints, conclude_with
  // Tighten, conclude, define_hints; conclude_with: the defined hints with the record's own beta.
  logic::Hints hints;
  std::vector<CaseStep> tree;                 // tighten_by_cases, cut
  std::vector<logic::Cut::Term> terms;        // cut
  std::vector<logic::CaseMultipliers> cases;  // conclude, conclude_with
  logic::Witness witness;

  // The left half of a split.
  [[nodiscard]] logic::Literal at_most() const { return {node, element, false, threshold}; }
};

#define ASSAY_VISITS(number, name, member) visitor.member(record);
template <class Visitor>
concept RecordVisitor = requires(Visitor& visitor, const Record& record) {
  ASSAY_RECORDS(ASSAY_VISITS, ASSAY_VISITS)
};
#undef ASSAY_VISITS

// The record has to be well-formed. The reader returns no other record, except when it skims.
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
// A visitor that derives from this class has a member step() for all steps.
template <class Visitor>
struct StepsAlike {
  ASSAY_RECORDS(ASSAY_NONE, ASSAY_STEP_ALIKE)
};
#undef ASSAY_NONE
#undef ASSAY_STEP_ALIKE

// A visitor that derives from this class has a member structure() for all other records: groups, splits and their
// branches, the witness.
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
