// Reports of gates: cases with findings, from an audited run or from a kernel's probes. `assay` and assay::testing write the same
// files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "kernel/audit/audit.h"
#include "semantics/graph/trace.h"

namespace assay::reports {

struct Finding {
  enum class Kind : std::uint8_t { failure, undecided, vacuous, unsupported } kind = Kind::failure;
  std::string rule;     // the clause that was broken, stable: "contract.softmax", "audit.operand", "gradient.accumulation"
  std::string subject;  // the tensor
  std::string message;  // one line: required and found
  std::vector<std::string> details;
  std::size_t elements = 1;
  std::string waiver;  // id of the waiver that covers it; empty: none
  struct Place {
    std::string name;  // "first", "worst"
    Shape index;
    audit::Violation violation;
  };
  std::vector<Place> places = {};
  std::size_t opening = 0;                  // so many of the details, the first ones, say in a reader's words what the message says exactly
  std::string exact = {};                   // the numbers as they were compared: fractions, residues; for JSON
  std::vector<std::size_t> failed_at = {};  // the failed elements, row-major, or the first kMostFailedAt of them

  [[nodiscard]] const char* word() const;                // of its kind: "fail", "undecided", "vacuous", "unsupported"
  [[nodiscard]] std::string headline() const;            // the opening in one line; without one, the message
  [[nodiscard]] std::vector<std::string> below() const;  // the other details, and the message if the headline is not it
};

// The words of a rejection for a finding, whose rule is the code already.
[[nodiscard]] std::string sentence(Rejection why);

// More elements than these are counted, but not listed.
inline constexpr std::size_t kMostFailedAt = std::size_t{1} << 16;

// The rule of findings about elements that are within sets too wide to mean anything. Of a kind of operation with so many elements or more,
// a single one is no share.
inline constexpr const char* kVacuousRule = "contract.vacuous";
inline constexpr std::size_t kShareOfOne = 20;

struct GateCase {
  std::string name;   // place in the run
  std::string op;     // "gemm", or the ops of a fused region joined by "+"
  std::string model;  // execution model
  double seconds = 0;
  std::size_t passed = 0, failed = 0, vacuous = 0, unsupported = 0;  // elements
  std::size_t unsampled = 0;                                         // elements that were not looked at, as asked
  double head_room_used = 0;
  std::vector<Finding> findings;
  std::string file;                    // the report's, if empty
  std::vector<std::string> statement;  // the theorem in lines: of certificates
  std::string share;  // of probes: the kind among which its elements count ("dense"); empty: among none, if others have one

  [[nodiscard]] bool is_failed() const;  // a failure, or undecided, that is not waived
  void add(const GateCase& one);         // its counts and seconds, and the larger share of head-room
};

// rule, op and model: what stays the same when regions are renamed or shapes change.
[[nodiscard]] std::string fingerprint(const GateCase& one, const Finding& finding);

struct GateReport {
  [[nodiscard]] std::string schema_name() const { return schema.empty() ? "assay." + verb + "/1" : schema; }

  std::string verb;    // "audit"
  std::string schema;  // of the JSON form; empty: "assay.<verb>/1"
  std::string file;
  std::vector<std::pair<std::string, std::string>> facts;  // about the run: writer, digest, ...
  std::vector<GateCase> cases;
  std::vector<std::string> troubles;      // unused and expired waivers, a baseline that is exceeded: each fails the gate
  std::size_t waived = 0;                 // findings
  std::optional<std::size_t> kinks;       // recorded cotangents at kinks, of a gate that judges gradients
  std::vector<std::string> limited = {};  // products that are right only with functions at their limits, where operands are far from 0
  double seconds = 0;
  bool counts_by_op = true;  // the share of vacuous and unsupported elements: of each kind of op, or of each kind of probe

  [[nodiscard]] GateCase totals() const;  // elements of all cases, the greatest head-room
  // Kinds of op of whose elements more than this share are vacuous or unsupported and not waived.
  [[nodiscard]] std::vector<std::string> undecided_ops(double most_undecided) const;
  // The word of the last line: "passed", "passed with waivers", "failed", "undecided".
  [[nodiscard]] std::string verdict(double most_undecided) const;
};

// "gemm+relu": what it computes, constants apart. Of more than four operations the first and the last, how many they are, and a
// digest of all: "softmax+...+mul(5:d428b5)", which stays while these operations do. shapes_of: "[128, 784], [512, 784] -> [128,
// 512]".
[[nodiscard]] std::string ops_of(const Graph& graph);
// Calls a case, in its op and its rules, by the name of the composition that it computes: two may have the same operations.
void call(GateCase& one, const std::string& name);
// What ops_of gives, alone or in other words, for people: "softmax ... mul (5 operations)".
[[nodiscard]] std::string without_digest(const std::string& ops);
[[nodiscard]] std::string shapes_of(const Trace& trace, const Region& region);

// The caller's settings for the judgement of a region.
struct Judging {
  audit::Sampling sampling = {};
  std::function<std::vector<std::string>(const Trace&, const Region&)> known_faults = {};  // of the bank (probes/faults.h); none: not asked
  std::function<double()> seconds = {};                                                    // of the processor; none: not measured
  std::function<GateCase(GateCase)> too_large = {};  // the case of a judgement that needs more memory than there is; none: bad_alloc
};
// The name, ops and model of a region of a continuous trace.
[[nodiscard]] GateCase case_of(const Trace& trace, std::size_t region);
// The regions of a continuous trace, judged on so many threads and handed over by the one that judged each, until `take` says
// false. With one thread they come in order.
void judge_regions(const Trace& trace, const Judging& judging, unsigned jobs,
                   const std::function<bool(std::size_t region, GateCase)>& take);

// Names of files, regions, tensors and writers in a text for people, and in Markdown, in which they are no markup either.
[[nodiscard]] std::string plain(const std::string& text);
[[nodiscard]] std::string plain_markdown(const std::string& text);
// "0.125"
[[nodiscard]] std::string seconds_text(double seconds);
// Kinds of operations with a larger share of undecided elements than `most_undecided` have a failure of their own.
[[nodiscard]] std::string junit_xml(const GateReport& report, double most_undecided);
[[nodiscard]] std::string sarif_json(const GateReport& report, double most_undecided);

}  // namespace assay::reports
