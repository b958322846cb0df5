// `assay gradcheck`: the gradients of a recorded run, or of a model that is run first. Every recorded value lies within its contract
// (audit), every product is the adjoint of the derivative of its region's meaning, and every cotangent is the sum of all that flow into it.
#include <utility>

#include "cli/assay/gate.h"
#include "cli/assay/report.h"
#include "kernel/audit/gradients.h"

namespace assay::cli {
namespace {

GateCase case_of(const Trace& trace, const kernel::GradientStep& step) {
  GateCase one;
  one.name = step.place;
  const Region& region = trace.regions[step.region];
  one.op = step.kinks > 0 || (step.failure && step.failure->code == "gradient.kink")       ? "kinks of " + ops_of(region.graph)
           : step.proof || (step.failure && step.failure->code != "gradient.accumulation") ? "vjp of " + ops_of(region.graph)
                                                                                           : "sum of cotangents";
  one.model = to_string(region.model);
  if (!step.failure) {
    one.passed = step.kinks > 0 ? step.kinks : trace.tensors[region.results[step.result]].value.size();
    return one;
  }
  const bool decided = step.failure->kind == Rejection::Kind::rejected;
  Finding finding{decided ? Finding::Kind::failure : Finding::Kind::undecided,
                  step.failure->code,
                  step.failure->place.empty() ? step.place : step.failure->place,
                  {},
                  {},
                  1,
                  {}};
  finding.message = "required " + step.failure->required + "; found " + step.failure->found;
  one.failed = 1;
  one.findings.push_back(std::move(finding));
  return one;
}

}  // namespace

std::vector<GateCase> gradient_cases(const Trace& trace, std::uint64_t seed, kernel::KinkConvention convention) {
  std::vector<GateCase> cases;
  for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
    for (const kernel::GradientStep& step : kernel::check_gradient(trace, g, seed, convention)) cases.push_back(case_of(trace, step));
  }
  return cases;
}

namespace {

bool is_model(const GradcheckOptions& options) { return options.trace.ends_with(".onnx"); }

// Of a model: a run of it, on random inputs or those of --values, with all its gradients.
Outcome<Trace> run_of(const GradcheckOptions& options, GateReport& report) {
  if (!is_model(options)) return open_trace(options.trace, report);
  RecordOptions run = options.run;
  run.model = options.trace;
  run.seed = options.seed;
  run.weighted = true;
  auto trace = record_model(run);
  if (!trace) return trace;
  report.file = options.trace;
  add_facts(trace.value(), report);
  return trace;
}

}  // namespace

int gradcheck(const GradcheckOptions& options) {
  GateReport report;
  report.verb = "gradcheck";
  const auto trace = run_of(options, report);
  if (!trace) return refuse("assay.gradcheck/1", options.gate.json, trace.rejection());
  if (is_model(options) && !options.run.trace.empty() && !write_trace_file(trace.value(), options.run.trace)) return kExitUnwritten;
  if (trace.value().gradients.empty()) {
    return refuse(
        "assay.gradcheck/1", options.gate.json,
        {Rejection::Kind::malformed, "gradcheck.gradients", options.trace, "\"gradients\" of an output", "none", "docs/trace-format.md"});
  }
  const auto convention = options.kinks == "pytorch" ? kernel::KinkConvention::pytorch : kernel::KinkConvention::any;
  const double start = wall_seconds();
  if (is_continuous(trace.value(), report)) {
    report.cases = audit_regions(trace.value(), options.jobs);
    for (GateCase& one : gradient_cases(trace.value(), options.seed, convention)) report.cases.push_back(std::move(one));
    const std::string model = options.model.empty() && is_model(options) ? options.trace : options.model;
    if (auto done = model.empty() ? Outcome<Done>(Done{}) : add_model(trace.value(), model, report); !done)
      return refuse("assay.gradcheck/1", options.gate.json, done.rejection());
  }
  report.seconds = wall_seconds() - start;
  return conclude_gate(report, options.gate);
}

}  // namespace assay::cli
