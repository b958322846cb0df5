// The gates of continuous integration (audit, gradcheck, probe, check) share this code between their command line and their
// output. It has traces with their facts, cases with their judgements, waivers and a baseline that act on a report, and the
// report as text, JSON and Markdown.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "api/reports/report.h"
#include "kernel/audit/dead.h"
#include "kernel/audit/gradients.h"
#include "semantics/graph/trace.h"
#include "semantics/outcome.h"

namespace assay::gates {

using reports::Finding;
using reports::GateCase;
using reports::GateReport;

using Stop = std::function<bool()>;  // asked between steps; true: what is left is not judged

// --- Traces (trace_file.cpp, model_case.cpp)

// A trace file, with its facts in the report; the facts of one that was recorded here.
[[nodiscard]] Outcome<Trace> open_trace(const std::string& path, const check::Limits& limits, GateReport& report);
void add_facts(const Trace& trace, GateReport& report);
// If not, the report has the finding.
[[nodiscard]] bool is_continuous(const Trace& trace, GateReport& report);
// Adds a case to the report: the trace is a run of the model, or is not. Rejects a model that cannot be read.
[[nodiscard]] Outcome<Done> add_model(const Trace& trace, const std::string& path, const check::Limits& limits, GateReport& report);

// --- Cases (cases.cpp, gradients.cpp, shrink.cpp)

// A case whose judgement asks for more memory than there is: undecided.
[[nodiscard]] GateCase too_large(GateCase one);
// An undecided case where nothing was judged: no pass on nothing.
[[nodiscard]] GateCase nothing_case(const std::string& name, const std::string& message);
void note_if_nothing(const Trace& trace, GateReport& report);
// Of a run that was interrupted: what was not judged leaves it undecided, unless something failed already.
[[nodiscard]] GateCase interrupted_case(const Rejection& why);
// One per opaque operation, undecided.
[[nodiscard]] std::vector<GateCase> opaque_cases(const Trace& trace);
// The products and sums of its gradients; the report gets a fact about kinks.
[[nodiscard]] std::vector<GateCase> gradient_cases(const Trace& trace, std::uint64_t seed, const Stop& stop,
                                                   audit::KinkConvention convention = audit::KinkConvention::any,
                                                   GateReport* report = nullptr);
// Forward mode: a case per tensor that the claims say moves.
[[nodiscard]] std::vector<GateCase> tangent_cases(const Trace& trace, std::uint64_t seed, bool allow_dead, const Stop& stop);
// A case per product that read or gave zeros only. One that does so for every input is right for every input, and not undecided.
// `draws`: of random inputs, each of which left something dead.
[[nodiscard]] std::vector<GateCase> dead_cases(const Trace& trace, const audit::Liveness& life, std::size_t draws, bool allowed);
// Every tensor that a run was given, with any finite float32 as its elements.
[[nodiscard]] audit::TraceDomain any_inputs(const Trace& trace);
// "2 of 12 products", and whether every input of the domain gives that.
[[nodiscard]] std::string dead_text(const audit::Liveness& life);
// The first failing region of the run, cut down, and run again by "eager" or "compiled" (not at all for ""). shrink() returns
// nothing if no region fails.
struct Shrunk {
  Trace trace;
  std::string text;  // which region, and what is left of it; empty: it could not be cut down
};
[[nodiscard]] std::optional<Shrunk> shrink(const Trace& trace, const std::vector<GateCase>& cases, const std::string& rerun);

// --- Reports (waivers.cpp, formats.cpp; JUnit XML and SARIF are in api/reports)

[[nodiscard]] Outcome<Done> apply_waivers(GateReport& report, const std::string& path, const std::string& today);
[[nodiscard]] Outcome<Done> compare_baseline(GateReport& report, const std::string& path);
[[nodiscard]] std::string baseline_json(const GateReport& report);
[[nodiscard]] std::string percent(double share);  // "38.1 %"
[[nodiscard]] std::string date_of_today();        // YYYY-MM-DD
[[nodiscard]] bool is_date(const std::string& text);
[[nodiscard]] std::string gate_text(const GateReport& report, double most_undecided);
[[nodiscard]] std::string gate_json(const GateReport& report, double most_undecided);
[[nodiscard]] std::string markdown(const GateReport& report, double most_undecided);

}  // namespace assay::gates
