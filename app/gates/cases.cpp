// Cases of what a trace or a run leaves unjudged.
#include <algorithm>
#include <utility>

#include "app/gates/gate.h"
#include "app/queries/file_kind.h"

namespace assay::gates {

GateCase too_large(GateCase one) {
  const Rejection why = queries::beyond_memory(one.name);
  one.findings.push_back({Finding::Kind::undecided, why.code, one.name, reports::sentence(why), {}, 1, {}});
  return one;
}

GateCase nothing_case(const std::string& name, const std::string& message) {
  GateCase one;
  one.name = name;
  one.op = "nothing";
  one.findings.push_back({Finding::Kind::undecided, "gate.nothing", name, message, {}, 1, {}});
  return one;
}

void note_if_nothing(const Trace& trace, GateReport& report) {
  // An audit of results without elements judges their shapes; a gradient without elements says nothing.
  const bool has_results =
      !trace.regions.empty() && std::ranges::none_of(trace.regions, [](const Region& one) { return one.results.empty(); });
  if (has_results && report.verb == "audit") return;
  const GateCase totals = report.totals();
  if (totals.passed + totals.failed + totals.vacuous + totals.unsupported + totals.unsampled > 0) return;
  if (std::ranges::any_of(report.cases, [](const GateCase& one) { return !one.findings.empty(); })) return;
  report.cases.push_back(nothing_case("trace", "the trace has no value that a region gave: nothing was judged"));
}

GateCase interrupted_case(const Rejection& why) {
  GateCase one;
  one.name = "interruption";
  one.op = "not judged";
  one.findings.push_back({Finding::Kind::undecided, why.code, one.name, "interrupted by " + why.found, {}, 1, {}});
  return one;
}

std::vector<GateCase> opaque_cases(const Trace& trace) {
  std::vector<GateCase> cases;
  for (const Trace::Opaque& opaque : trace.opaque) {
    GateCase one;
    one.name = "opaque (" + opaque.name + ")";
    one.op = "opaque";
    for (const TraceTensorId id : opaque.results) one.unsupported += trace.tensors[id].value.size();
    one.findings.push_back({Finding::Kind::undecided,
                            "audit.opaque",
                            trace.tensors[opaque.results[0]].name,
                            "'" + opaque.name + "' could not be judged, so its results are taken as given",
                            {},
                            one.unsupported,
                            {}});
    cases.push_back(std::move(one));
  }
  return cases;
}

}  // namespace assay::gates
