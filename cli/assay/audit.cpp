// `assay audit`: a recorded run, region by region, against the contracts.
#include <algorithm>
#include <utility>

#include "cli/assay/gate.h"
#include "cli/assay/report.h"

namespace assay::cli {
namespace {

constexpr const char* kAuditSchema = "assay.audit/1";

// The first failing region, cut down, into options.shrink; a run without one writes nothing. False if that failed.
bool write_shrunk(const Trace& trace, const AuditOptions& options, GateReport& report) {
  const auto shrunk = gates::shrink(trace, report.cases, options.rerun);
  if (!shrunk) return true;
  if (shrunk->text.empty() || !write_trace_file(shrunk->trace, options.shrink)) return false;
  report.facts.emplace_back("shrunk", options.shrink + ": " + shrunk->text);
  return true;
}

int audit_run(const AuditOptions& options) {
  GateReport report;
  report.verb = "audit";
  const auto trace = open_trace(options.trace, options.limits, report);
  if (!trace) return refuse(kAuditSchema, options.gate.json, trace.rejection());
  const double start = wall_seconds();
  if (is_continuous(trace.value(), report)) {
    if (options.sample > 0)
      report.facts.emplace_back(
          "sampled", std::to_string(options.sample) + " elements of each result of long sums, seed " + std::to_string(options.seed));
    report.cases = audit_regions(trace.value(), options.jobs, {options.sample, options.seed});
    for (GateCase& one : opaque_cases(trace.value())) report.cases.push_back(std::move(one));
    if (auto done = options.model.empty() ? Outcome<Done>(Done{}) : add_model(trace.value(), options.model, options.limits, report); !done)
      return refuse(kAuditSchema, options.gate.json, done.rejection());
  }
  note_if_nothing(trace.value(), report);
  report.seconds = wall_seconds() - start;
  const bool written = options.shrink.empty() || write_shrunk(trace.value(), options, report);
  const int exit = conclude_gate(report, options.gate);
  return written || exit != kExitYes ? exit : kExitUnwritten;
}

}  // namespace

int audit(const AuditOptions& options) {
  return within_memory(kAuditSchema, options.gate.json, options.trace, options.limits, [&] { return audit_run(options); });
}

}  // namespace assay::cli
