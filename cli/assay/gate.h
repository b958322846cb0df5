// What the gates of continuous integration (audit, gradcheck, check) do with a report (api/reports): waivers and the baseline act on it;
// text, JSON, JUnit XML, SARIF and Markdown are written from it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "api/reports/report.h"
#include "cli/assay/options.h"
#include "kernel/audit/audit.h"
#include "kernel/audit/dead.h"
#include "kernel/audit/gradients.h"
#include "runtime/array.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::cli {

using reports::Finding;
using reports::fingerprint;
using reports::GateCase;
using reports::GateReport;
using reports::junit_xml;
using reports::kMostFailedAt;
using reports::kShareOfOne;
using reports::kVacuousRule;
using reports::ops_of;
using reports::sarif_json;
using reports::shapes_of;

// The body's exit code, in a process that the system gives no more memory than the limits say; refused (declined, code "gate.memory") where
// the body asks for more.
[[nodiscard]] int within_memory(const std::string& schema, const JsonTarget& json, const std::string& place, const Limits& limits,
                                const std::function<int()>& body);
[[nodiscard]] Rejection beyond_memory(const std::string& place);
// A case whose judgement asks for more memory than there is: undecided.
[[nodiscard]] GateCase too_large(GateCase one);
// Why a file was not read, as that where it was for want of memory.
[[nodiscard]] Rejection unread(const Rejection& why, const std::string& path);

// Reads the options' waivers and baseline and acts on them; writes all files that were asked for. The exit code of the gate.
int conclude_gate(GateReport& report, const GateOptions& options);

// A trace file, with its facts in the report; the facts of one that was recorded here.
[[nodiscard]] Outcome<Trace> open_trace(const std::string& path, const Limits& limits, GateReport& report);
void add_facts(const Trace& trace, GateReport& report);
// An undecided case where nothing was judged: no pass on nothing.
[[nodiscard]] GateCase nothing_case(const std::string& name, const std::string& message);
void note_if_nothing(const Trace& trace, GateReport& report);
// The numbers of a file as an input of the runtime: points, and integers for integers, rounded to the input's type.
[[nodiscard]] Outcome<runtime::Array> given_values(const Node& node, const std::string& name, const std::vector<Interval>& values);
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
// The regions of a continuous trace, judged on that many threads.
[[nodiscard]] std::vector<GateCase> audit_regions(const Trace& trace, unsigned jobs, const kernel::Sampling& sampling = {});
// One per opaque operation, undecided.
[[nodiscard]] std::vector<GateCase> opaque_cases(const Trace& trace);
// The products and sums of its gradients; the report gets a fact about kinks.
[[nodiscard]] std::vector<GateCase> gradient_cases(const Trace& trace, std::uint64_t seed,
                                                   kernel::KinkConvention convention = kernel::KinkConvention::any,
                                                   GateReport* report = nullptr);
// "0.333": in words.
[[nodiscard]] std::string rounded(double value);

// Whether several certificates are checked, or one as a gate; a FILE of gradcheck that is run first.
[[nodiscard]] bool is_check_gate(const CheckOptions& options);
[[nodiscard]] bool is_model(const GradcheckOptions& options);

// Parts of conclude_gate.
[[nodiscard]] Outcome<Done> apply_waivers(GateReport& report, const std::string& path, const std::string& today);
[[nodiscard]] Outcome<Done> compare_baseline(GateReport& report, const std::string& path);
[[nodiscard]] std::string baseline_json(const GateReport& report);
[[nodiscard]] std::string gate_text(const GateReport& report, double most_undecided);
[[nodiscard]] std::string gate_json(const GateReport& report, double most_undecided);
[[nodiscard]] std::string markdown(const GateReport& report, double most_undecided);

}  // namespace assay::cli
