// `assay gradcheck`: the gradients of a recorded run, or of a model that is run first. Every recorded value lies within its contract
// (audit), every product is the adjoint of the derivative of its region's meaning, and every cotangent is the sum of all that flow into it.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <limits>
#include <map>
#include <new>
#include <utility>

#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "explain/explain.h"
#include "kernel/audit/gradients.h"
#include "kernel/audit/tangents.h"

namespace assay::cli {
namespace {

constexpr const char* kGradcheckSchema = "assay.gradcheck/1";

// The first sentence of an explanation, with the pattern that is told in an indented line below it.
std::size_t opening_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return 0;
  return lines.size() > 1 && lines[1].starts_with("  it is ") ? 2 : 1;
}

// An entry of the Jacobian in words. Residues only show that the two sides differ.
std::string message_of(const Rejection& why) {
  const std::size_t entry = why.found.find(", d y["), end = why.found.find("]: ", entry);
  if (entry == std::string::npos || end == std::string::npos) return "required " + why.required + "; found " + why.found;
  const bool is_residue = why.found.find(" modulo ", end) != std::string::npos;
  return "at random points of the recorded ranges " + why.found.substr(entry + 2, end - entry - 1) +
         " is another number by the recorded product than by the meaning of the region (" +
         (is_residue ? "residues, which can only be compared: " : "") + why.found.substr(end + 3) + ")";
}

// What stands for a whole gradient, and no region, in the list of cases.
bool is_of_gradient(const kernel::GradientStep& step) {
  if (!step.failure) return false;
  return step.failure->code == "gradient.nothing" || step.failure->code == "gradient.detached" || step.failure->code == "gradient.finite";
}

bool is_of_kinks(const std::string& code) { return code == "gradient.kink" || code == "gradient.convention"; }

GateCase case_of(const Trace& trace, std::size_t gradient, const kernel::GradientStep& step) {
  GateCase one;
  one.name = step.place;
  const Region none, &region = step.region < trace.regions.size() ? trace.regions[step.region] : none;
  const std::string product = step.is_surrogate ? "surrogate vjp of " : "vjp of ";
  if (step.is_surrogate) one.statement = {"surrogate, not the derivative: the product is judged as that of the function that it declares"};
  one.op = is_of_gradient(step)                                                            ? "gradient"
           : step.kinks > 0 || (step.failure && is_of_kinks(step.failure->code))           ? "kinks of " + ops_of(region.graph)
           : step.proof || (step.failure && step.failure->code != "gradient.accumulation") ? product + ops_of(region.graph)
                                                                                           : "sum of cotangents";
  one.model = is_of_gradient(step) ? "" : to_string(region.model);
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
  finding.message = message_of(*step.failure);
  finding.details = explain::gradient_lines(trace, gradient, step);
  finding.opening = opening_of(finding.details);
  if (step.failure->code == "gradient.convention") {
    finding.details = {finding.subject + ": " + finding.message};
    finding.opening = 1;
  }
  if (decided && finding.opening == 0 && step.failure->code == "gradient.product") {
    finding.details.insert(finding.details.begin(),
                           std::string("the recorded product computes something else than the vector-Jacobian product of ") +
                               (step.is_surrogate ? "the function that it declares" : "its region") +
                               ": at random points of the recorded ranges the two differ");
    finding.opening = 1;
  }
  one.failed = decided ? 1 : 0;
  one.findings.push_back(std::move(finding));
  return one;
}

}  // namespace

namespace {

// How many recorded cotangents sat on kinks, by what was judged there and how.
class Kinks {
 public:
  void note(const Trace& trace, const kernel::GradientStep& step) {
    if (step.kinks == 0 && step.corners == 0) return;
    const Graph& graph = trace.regions[step.region].graph;
    const std::string ops = ops_of(graph);
    const bool is_one = graph.nodes.size() == graph.inputs.size() + 1;  // its kinks have a step of their own
    if (step.corners > 0 && !is_one) counts_[ops + " by the derivatives on all sides"] += step.corners;
    if (step.kinks > 0 && step.weights)
      counts_[ops + " in [" + rounded(step.weights->lo()) + ", " + rounded(step.weights->hi()) + "]"] += step.kinks;
  }
  [[nodiscard]] std::string text(kernel::KinkConvention convention) const {
    std::string words;
    std::size_t all = 0;
    for (const auto& [how, count] : counts_) {
      words += (words.empty() ? ": " : ", ") + std::to_string(count) + " of " + how;
      all += count;
    }
    return counted(all, "recorded cotangent") + " at kinks" + words +
           (all == 0                                        ? ""
            : convention == kernel::KinkConvention::pytorch ? " and by PyTorch's convention"
                                                            : "");
  }

 private:
  std::map<std::string, std::size_t> counts_;
};

}  // namespace

std::vector<GateCase> gradient_cases(const Trace& trace, std::uint64_t seed, kernel::KinkConvention convention, GateReport* report) {
  std::vector<GateCase> cases;
  Kinks kinks;
  std::vector<bool> judged(trace.vjps.size(), false);
  const auto append = [&](const std::string& name, std::size_t g, const std::function<std::vector<kernel::GradientStep>()>& steps) {
    if (is_interrupted()) return;
    try {
      for (const kernel::GradientStep& step : steps()) {
        kinks.note(trace, step);
        cases.push_back(case_of(trace, g, step));
      }
    } catch (const std::bad_alloc&) {
      GateCase one;
      one.name = name;
      one.op = "gradient";
      cases.push_back(too_large(std::move(one)));
    }
  };
  for (std::size_t g = 0; g < trace.gradients.size(); ++g)
    append("gradient of '" + trace.tensors[trace.gradients[g].output].name + "'", g,
           [&] { return kernel::check_gradient(trace, g, seed, convention, &judged); });
  if (!trace.gradients.empty())
    append("products that no gradient needs", 0, [&] { return kernel::check_other_products(trace, judged, seed, convention); });
  if (report != nullptr) report->facts.emplace_back("kinks", kinks.text(convention));
  return cases;
}

namespace {

GateCase case_of(const Trace& trace, const kernel::TangentStep& step) {
  const Region& region = trace.regions[step.region];
  GateCase one;
  one.name = step.place;
  one.op = "jvp to " + ops_of(region.graph);
  one.model = to_string(region.model);
  const Trace::Entry& tangent = trace.tensors[step.tangent];
  if (!step.failure) {
    one.passed = tangent.value.size();
    return one;
  }
  const bool decided = step.failure->kind == Rejection::Kind::rejected;
  Finding finding{decided ? Finding::Kind::failure : Finding::Kind::undecided, step.failure->code, step.failure->place, {}, {}, 1, {}};
  finding.message = "required " + step.failure->required + "; found " + step.failure->found;
  if (decided && step.failure->code == "tangent.product") {
    finding.details = {"the recorded tangent '" + tangent.name + "' is not the derivative of what gave its tensor (region " +
                       std::to_string(step.region) + (region.name.empty() ? "" : ", " + region.name) +
                       "): at random points of the recorded ranges the two differ"};
    finding.opening = 1;
  }
  one.failed = decided ? 1 : 0;
  one.findings.push_back(std::move(finding));
  return one;
}

GateCase dead_case(const Trace& trace, const kernel::TangentStep& step, bool allowed) {
  const Trace::Entry& tangent = trace.tensors[step.tangent];
  GateCase one;
  one.name = step.place;
  one.op = "dead tangents";
  one.model = to_string(trace.regions[step.region].model);
  one.findings.push_back({allowed ? Finding::Kind::vacuous : Finding::Kind::undecided,
                          "gradient.dead",
                          tangent.name,
                          "'" + tangent.name + "' is 0 in all " + std::to_string(tangent.value.size()) +
                              " elements, where the derivative is not: no mistake in what computed it could show",
                          {},
                          tangent.value.size(),
                          {}});
  return one;
}

// Forward mode: a case per tensor that the claims say moves.
std::vector<GateCase> tangent_cases(const Trace& trace, std::uint64_t seed, bool allow_dead) {
  std::vector<GateCase> cases;
  for (std::size_t k = 0; k < trace.tangents.size() && !is_interrupted(); ++k) {
    if (trace.tangents[k].to.empty())
      cases.push_back(nothing_case("tangents " + std::to_string(k), "the tangents of no tensor were asked for"));
    try {
      for (const kernel::TangentStep& step : kernel::check_tangents(trace, k, seed)) {
        cases.push_back(case_of(trace, step));
        if (step.is_dead) cases.push_back(dead_case(trace, step, allow_dead));
      }
    } catch (const std::bad_alloc&) {
      GateCase one;
      one.name = "tangents " + std::to_string(k);
      one.op = "jvp";
      cases.push_back(too_large(std::move(one)));
    }
  }
  return cases;
}

}  // namespace

bool is_model(const GradcheckOptions& options) {
  return options.trace.ends_with(".onnx") || options.trace.ends_with(".onnx.gz") || kind_of_file(options.trace) == FileKind::onnx;
}

namespace {

// Every tensor that a run was given, with any finite float32 as its elements.
kernel::TraceDomain anything(const Trace& trace) {
  constexpr double kMost = std::numeric_limits<float>::max();
  kernel::TraceDomain domain;
  for (TraceTensorId id = 0; id < trace.tensors.size(); ++id) {
    const Trace::Entry& entry = trace.tensors[id];
    if (entry.origin != Trace::Origin::result && is_float(entry.value.dtype())) domain.emplace_back(id, Interval(-kMost, kMost));
  }
  return domain;
}

// A case per product that read or gave zeros only. One that does so for every input is right for every input, and not undecided.
// `draws`: of random inputs, each of which left something dead.
std::vector<GateCase> dead_cases(const Trace& trace, const kernel::Liveness& life, std::size_t draws, bool allowed) {
  std::vector<GateCase> cases;
  for (const kernel::DeadProduct& dead : life.dead) {
    const Region& region = trace.regions[dead.region];
    GateCase one;
    one.name = "region " + std::to_string(dead.region) + (region.name.empty() ? "" : " (" + region.name + ")");
    one.op = "dead cotangents";
    one.model = to_string(region.model);
    std::string message =
        std::string(dead.is_read ? "its product reads" : "its product gives") + " '" + dead.cotangent + "', which is 0 in " +
        (dead.elements == 1 ? "its element" : "all " + std::to_string(dead.elements) + " elements") + ": no mistake in it could show";
    if (dead.is_always)
      message += "; it is 0 for every input of the domain, by interval bounds";
    else if (draws > 1)
      message += "; the best of " + counted(draws, "draw") + " of random inputs";
    one.findings.push_back({allowed || dead.is_always ? Finding::Kind::vacuous : Finding::Kind::undecided,
                            "gradient.dead",
                            dead.cotangent,
                            std::move(message),
                            {},
                            dead.elements,
                            {}});
    cases.push_back(std::move(one));
  }
  return cases;
}

// Of a model: a run of it, on random inputs or those of --values, with all its gradients.
Outcome<ModelTrace> run_of(const GradcheckOptions& options, GateReport& report) {
  if (!is_model(options)) {
    auto trace = open_trace(options.trace, options.run.limits, report);
    if (!trace) return trace.rejection();
    return ModelTrace{std::move(trace).value(), {}, {}, 0};
  }
  RecordOptions run = options.run;
  run.model = options.trace;
  run.seed = options.seed;
  run.weighted = true;
  auto trace = record_model(run);
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
                   "docs/trace-format.md"});
  }
  const auto convention = options.kinks == "pytorch" ? kernel::KinkConvention::pytorch : kernel::KinkConvention::any;
  const double start = wall_seconds();
  if (is_continuous(trace, report)) {
    report.cases = audit_regions(trace, options.jobs);
    for (GateCase& one : opaque_cases(trace)) report.cases.push_back(std::move(one));
    for (GateCase& one : gradient_cases(trace, options.seed, convention, &report)) report.cases.push_back(std::move(one));
    for (GateCase& one : tangent_cases(trace, options.seed, options.allow_dead)) report.cases.push_back(std::move(one));
    const kernel::Liveness life = is_model(options) ? run.value().life : kernel::liveness(trace, anything(trace));
    report.facts.emplace_back("dead cotangents", dead_text(life));
    for (GateCase& one : dead_cases(trace, life, run.value().draws, options.allow_dead)) report.cases.push_back(std::move(one));
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
  if (is_model(options) && options.kinks == "pytorch") {
    std::fprintf(
        stderr,
        "assay gradcheck: --kinks pytorch: a model is run by this program's runtime, which gives each side of a kink an equal share "
        "(relu at 0: 1/2), not what PyTorch gives; ask it of a trace that assay.torch recorded, or leave the option out\n");
    return kExitUsage;
  }
  return within_memory(kGradcheckSchema, options.gate.json, options.trace, options.run.limits, [&] { return check_gradients(options); });
}

}  // namespace assay::cli
