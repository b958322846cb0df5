// `assay gradcheck`: the gradients of a recorded run, or of a model that is run first. Every recorded value lies within its contract
// (audit), every product is the adjoint of the derivative of its region's meaning, and every cotangent is the sum of all that flow into it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <utility>

#include "cli/assay/common_options.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/option_forms.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"

namespace assay::cli {

bool is_model(const GradcheckOptions& options) {
  return options.trace.ends_with(".onnx") || options.trace.ends_with(".onnx.gz") || kind_of_file(options.trace) == FileKind::onnx;
}

namespace {

constexpr const char* kGradcheckSchema = "assay.gradcheck/1";

// Of a model: a run of it, on random inputs or those of --values, with all its gradients.
Outcome<models::ModelTrace> run_of(const GradcheckOptions& options, GateReport& report) {
  if (!is_model(options)) {
    auto trace = open_trace(options.trace, options.run.limits, report);
    if (!trace) return trace.rejection();
    return models::ModelTrace{std::move(trace).value(), {}, {}, 0};
  }
  RecordOptions run = options.run;
  run.model = options.trace;
  run.seed = options.seed;
  run.weighted = true;
  run.kept = 18;  // measured: products are judged on copies of the records
  auto trace = models::run_model(run, this_program());
  if (!trace) return trace;
  report.file = options.trace;
  add_facts(trace.value().trace, report);
  report.facts.emplace_back("inputs",
                            trace.value().inputs + (trace.value().draws > 1 ? ", draw " + std::to_string(trace.value().draws) : ""));
  return trace;
}

int check_gradients(const GradcheckOptions& options) {
  GateReport report;
  report.verb = "gradcheck";
  const auto run = run_of(options, report);
  if (!run) return refuse(kGradcheckSchema, options.gate.json, run.rejection());
  const Trace& trace = run.value().trace;
  const bool written = !is_model(options) || options.run.trace.empty() || write_trace_file(trace, options.run.trace);
  if (trace.gradients.empty() && trace.tangents.empty()) {
    return refuse(kGradcheckSchema, options.gate.json,
                  {Rejection::Kind::malformed, "gradcheck.gradients", options.trace, "\"gradients\" of an output, or \"tangents\"", "none",
                   "docs/reference/trace-format.md"});
  }
  const auto convention = options.kinks == "pytorch" ? audit::KinkConvention::pytorch : audit::KinkConvention::any;
  const double start = wall_seconds();
  if (is_continuous(trace, report)) {
    report.cases = audit_regions(trace, options.jobs);
    for (GateCase& one : opaque_cases(trace)) report.cases.push_back(std::move(one));
    for (GateCase& one : gates::gradient_cases(trace, options.seed, is_interrupted, convention, &report))
      report.cases.push_back(std::move(one));
    for (GateCase& one : gates::tangent_cases(trace, options.seed, options.allow_dead, is_interrupted))
      report.cases.push_back(std::move(one));
    const audit::Liveness life = is_model(options) ? run.value().life : audit::liveness(trace, gates::any_inputs(trace));
    report.facts.emplace_back("dead cotangents", gates::dead_text(life));
    for (GateCase& one : gates::dead_cases(trace, life, run.value().draws, options.allow_dead)) report.cases.push_back(std::move(one));
    const auto surrogates =
        static_cast<std::size_t>(std::ranges::count_if(trace.vjps, [](const Trace::Vjp& vjp) { return vjp.surrogate.has_value(); }));
    if (surrogates > 0)
      report.facts.emplace_back("surrogates", counted(surrogates, "product") + " declared to be of another function: not the derivative");
    const std::string model = options.model.empty() && is_model(options) ? options.trace : options.model;
    if (auto done = model.empty() ? Outcome<Done>(Done{}) : add_model(trace, model, options.run.limits, report); !done)
      return refuse(kGradcheckSchema, options.gate.json, done.rejection());
  }
  note_if_nothing(trace, report);
  report.seconds = wall_seconds() - start;
  const int exit = conclude_gate(report, options.gate);
  return written || exit != kExitYes ? exit : kExitUnwritten;
}

}  // namespace

int gradcheck(const GradcheckOptions& options) {
  return within_memory(kGradcheckSchema, options.gate.json, options.trace, options.run.limits, [&] { return check_gradients(options); });
}

void add_gradcheck(CLI::App& app, int& exit) {
  static GradcheckOptions options;
  CLI::App* verb =
      app.add_subcommand("gradcheck", "Decide whether the gradients of a recorded run are right; a MODEL.onnx is run and recorded first");
  verb->add_option("FILE", options.trace, "a trace, or a MODEL.onnx that is run first")->required();
  add_recorded_model(verb, options.model);
  add_run(verb, options.run);
  add_draws(verb, options.run);
  verb->add_option("--save", options.run.trace, "for a model: write the recorded run to TRACE")->type_name("TRACE");
  refuse_wrapped(verb->add_option("--seed", options.seed, "seed of the random points"))->capture_default_str();
  verb->add_option("--kinks", options.kinks,
                   "gradient to accept at a kink: any element of the Clarke derivative (any), or the one that PyTorch gives")
      ->check(CLI::IsMember({"any", "pytorch"}))
      ->capture_default_str();
  verb->add_flag("--allow-dead", options.allow_dead,
                 "report vector-Jacobian products that read or gave only zeros, but do not count them as undecided");
  verb->add_option("--jobs", options.jobs, "regions (recorded computations) to judge at the same time")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_trace_budget(verb, options.run.limits);
  add_gate(verb, options.gate);
  verb->callback([&exit, verb] {
    refuse_unread_by_gradcheck(*verb, options);
    exit = gradcheck(options);
  });
}

}  // namespace assay::cli
