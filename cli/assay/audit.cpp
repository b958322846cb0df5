// `assay audit`: a recorded run, region by region, against the contracts.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/assay/common_options.h"
#include "cli/assay/gate.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"

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

void add_audit(CLI::App& app, int& exit) {
  static AuditOptions options;
  CLI::App* verb =
      app.add_subcommand("audit", "Judge every recorded value of a run by its contract, the set of results that rounding can explain");
  verb->add_option("TRACE", options.trace, "the trace of a run")->required();
  add_recorded_model(verb, options.model);
  CLI::Option* shrink =
      verb->add_option(
              "--shrink", options.shrink,
              "write a small trace of the first region (recorded computation) that fails: its worst element, and the values from which\n"
              "this element is computed")
          ->type_name("FILE");
  verb->add_option("--jobs", options.jobs, "regions (recorded computations) to judge at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  CLI::Option* sample = verb->add_option("--sample", options.sample,
                                         "judge only N elements of each result whose elements are long sums, as in matrix products");
  refuse_wrapped(sample)->type_name("N");
  refuse_wrapped(verb->add_option("--seed", options.seed, "seed of the sample"))->capture_default_str()->needs(sample);
  verb->add_option("--rerun", options.rerun,
                   "with --shrink: set values to 0 as long as the region still fails when this backend runs it again")
      ->check(CLI::IsMember({"eager", "compiled"}))
      ->needs(shrink);
  add_edits(verb, options.limits);
  add_memory(verb, options.limits, "memory that the run may take, e.g. 512MiB; default: 8GiB");
  add_trace_budget(verb, options.limits);
  add_gate(verb, options.gate);
  verb->callback([&exit, verb] {
    if (options.model.empty()) refuse_unread_edits(*verb, "a trace without --model");
    exit = audit(options);
  });
}

}  // namespace assay::cli
