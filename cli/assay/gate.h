// What the gates of continuous integration (audit, gradcheck, check) report, in one form: cases with findings. Waivers and the
// baseline act on it; text, JSON, JUnit XML, SARIF and Markdown are written from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cli/assay/options.h"
#include "kernel/audit/audit.h"
#include "kernel/audit/dead.h"
#include "kernel/audit/gradients.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::cli {

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
    kernel::Violation violation;
  };
  std::vector<Place> places = {};
  std::size_t opening = 0;                  // so many of the details, the first ones, say in a reader's words what the message says exactly
  std::vector<std::size_t> failed_at = {};  // the failed elements, row-major, or the first kMostFailedAt of them

  [[nodiscard]] std::string headline() const;            // the opening in one line; without one, the message
  [[nodiscard]] std::vector<std::string> below() const;  // what follows the headline: the other details, and the message if it was not it
};

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
  std::vector<std::string> statement;  // what was shown, in lines: of certificates

  [[nodiscard]] bool is_failed() const;  // a failure, or undecided, that is not waived
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
  std::vector<std::string> troubles;  // unused and expired waivers, a baseline that is exceeded: each fails the gate
  std::size_t waived = 0;             // findings
  double seconds = 0;
  bool counts_by_op = true;  // the share of vacuous and unsupported elements: of each kind of op, or of all together

  [[nodiscard]] GateCase totals() const;  // elements of all cases, the greatest head-room
  // Kinds of op of whose elements more than this share are vacuous or unsupported and not waived.
  [[nodiscard]] std::vector<std::string> undecided_ops(double most_undecided) const;
  // The word of the last line: "passed", "passed with waivers", "failed", "undecided".
  [[nodiscard]] std::string verdict(double most_undecided) const;
};

// The body's exit code, in a process that the system gives no more memory than the limits say; refused (declined, code "gate.memory") where
// the body asks for more.
[[nodiscard]] int within_memory(const std::string& schema, const JsonTarget& json, const std::string& place, const Limits& limits,
                                const std::function<int()>& body);
[[nodiscard]] Rejection beyond_memory(const std::string& place);
// Why a file was not read, as that where it was for want of memory.
[[nodiscard]] Rejection unread(const Rejection& why, const std::string& path);

// Reads the options' waivers and baseline and acts on them; writes all files that were asked for. The exit code of the gate.
int conclude_gate(GateReport& report, const GateOptions& options);

// A trace file, with its facts in the report; the facts of one that was recorded here.
[[nodiscard]] Outcome<Trace> open_trace(const std::string& path, const Limits& limits, GateReport& report);
void add_facts(const Trace& trace, GateReport& report);
// A run of the model (options.trace is not written), on the inputs that leave the fewest products dead.
struct ModelTrace {
  Trace trace;
  kernel::Liveness life;
  std::string inputs;     // in words: where they come from
  std::size_t draws = 0;  // of random inputs that were tried
};
[[nodiscard]] Outcome<ModelTrace> record_model(const RecordOptions& options);
// "2 of 12 products", and whether every input of the domain gives that.
[[nodiscard]] std::string dead_text(const kernel::Liveness& life);
// The first failing region of the run, cut down, into options.shrink; a run without one writes nothing. False if that failed.
[[nodiscard]] bool write_shrunk(const Trace& trace, const AuditOptions& options, GateReport& report);
// False after a message on stderr.
[[nodiscard]] bool write_trace_file(const Trace& trace, const std::string& path);
// If not, the report has the finding.
[[nodiscard]] bool is_continuous(const Trace& trace, GateReport& report);
// Whether the trace is a run of the model: a case of the report. The rejection is of a model that cannot be read.
[[nodiscard]] Outcome<Done> add_model(const Trace& trace, const std::string& path, const Limits& limits, GateReport& report);
[[nodiscard]] std::string ops_of(const Graph& graph);                           // "gemm+relu": what it computes, constants apart
[[nodiscard]] std::string shapes_of(const Trace& trace, const Region& region);  // "[128, 784], [512, 784] -> [128, 512]"
// The regions of a continuous trace, judged on that many threads.
[[nodiscard]] std::vector<GateCase> audit_regions(const Trace& trace, unsigned jobs, const kernel::Sampling& sampling = {});
// One per opaque operation, undecided.
[[nodiscard]] std::vector<GateCase> opaque_cases(const Trace& trace);
// The products and sums of its gradients.
[[nodiscard]] std::vector<GateCase> gradient_cases(const Trace& trace, std::uint64_t seed,
                                                   kernel::KinkConvention convention = kernel::KinkConvention::any);

// Parts of conclude_gate.
[[nodiscard]] Outcome<Done> apply_waivers(GateReport& report, const std::string& path, const std::string& today);
[[nodiscard]] Outcome<Done> compare_baseline(GateReport& report, const std::string& path);
[[nodiscard]] std::string baseline_json(const GateReport& report);
[[nodiscard]] std::string gate_text(const GateReport& report, double most_undecided);
[[nodiscard]] std::string gate_json(const GateReport& report, double most_undecided);
[[nodiscard]] std::string junit_xml(const GateReport& report);
[[nodiscard]] std::string sarif_json(const GateReport& report);
[[nodiscard]] std::string markdown(const GateReport& report, double most_undecided);

}  // namespace assay::cli
