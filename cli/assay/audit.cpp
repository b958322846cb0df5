// `assay audit`: a recorded run, region by region, against the contracts.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

#include "api/check/cost.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "formats/trace.h"
#include "frontends/files.h"
#include "frontends/onnx/import.h"
#include "kernel/audit/audit.h"
#include "kernel/audit/work.h"
#include "probes/faults.h"

namespace assay::cli {
namespace {

constexpr const char* kAuditSchema = "assay.audit/1";

std::string hex(const kernel::Digest& digest) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : digest) text += {kDigits[byte >> 4], kDigits[byte & 15]};
  return text;
}

// The runtime tries them, on operands of a bounded size.
std::vector<std::string> known_faults(const Trace& trace, const Region& region) {
  const LiftedLimit lifted;
  return probes::explanations(trace, region);
}

GateCase judged(const Trace& trace, std::size_t index, const kernel::Sampling& sampling) {
  try {
    return reports::judged_region(trace, index, {sampling, known_faults, thread_cpu_seconds});
  } catch (const std::bad_alloc&) {
    return too_large(reports::case_of(trace, index));
  }
}

}  // namespace

std::string rounded(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
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
                            "'" + opaque.name + "' has no meaning here: what it gave is taken as given",
                            {},
                            one.unsupported,
                            {}});
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<GateCase> audit_regions(const Trace& trace, unsigned jobs, const kernel::Sampling& sampling) {
  std::vector<GateCase> cases(trace.regions.size());
  std::atomic<std::size_t> next{0};
  std::atomic<bool> is_too_large{false};  // no exception leaves a thread
  const auto work = [&] {
    try {
      for (std::size_t i = next++; i < cases.size() && !is_interrupted(); i = next++) {
        cases[i] = judged(trace, i, sampling);
        set_progress(std::to_string(i + 1) + " of " + counted(cases.size(), "region") + " judged");
      }
    } catch (const std::bad_alloc&) {
      is_too_large = true;
    }
  };
  std::vector<std::thread> others;
  others.reserve(jobs);
  try {
    for (unsigned k = 1; k < std::min<std::size_t>(jobs, cases.size()); ++k) others.emplace_back(work);
  } catch (const std::system_error&) {  // no room for another stack: those that there are do its work
  }
  work();
  for (std::thread& other : others) other.join();
  if (is_too_large) throw std::bad_alloc();
  if (is_interrupted()) std::erase_if(cases, [](const GateCase& one) { return one.name.empty(); });
  return cases;
}

namespace {

// What judging a trace may take follows from its length: values inside of regions have any size.
//
//   elements of all nodes of a region   2^20 + 16 L, or if that is more one for each 128 bytes of --memory
//   work of all regions                 2^23 + 64 (L / 4)^1.5, or --budget; a product of recorded matrices takes at most (L / 4)^1.5
//
// for L bytes of trace.
Outcome<Done> check_cost(const Trace& trace, const std::string& path, std::uint64_t length, const Limits& limits) {
  constexpr double kBytesPerElement = 128;
  const auto bytes = static_cast<double>(length);
  const double most_elements = std::fmax(0x1p20 + 16 * bytes, static_cast<double>(limits.memory.value_or(0)) / kBytesPerElement);
  const double most_work = limits.work.value_or(0x1p23 + 64 * std::pow(bytes / 4, 1.5));
  double work = 0;
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    const auto refuse_region = [&](const char* code, const char* unit, double most, double found, const char* option) {
      return Rejection{Rejection::Kind::declined,
                       code,
                       path + ", " + reports::case_of(trace, r).name,
                       "at most " + rounded(most) + " " + unit + ", by the trace's length",
                       "about " + rounded(found) + " up to here",
                       std::string("allow more with ") + option};
    };
    const double elements = kernel::elements_of(trace.regions[r].graph);
    work += kernel::work_of_region(trace.regions[r].graph);
    if (!(elements <= most_elements))
      return refuse_region("gate.memory", "elements inside of a region", most_elements, elements, "--memory");
    if (!(work <= most_work)) return refuse_region("gate.work", "terms and elements in all regions", most_work, work, "--budget");
  }
  return Done{};
}

}  // namespace

Outcome<Trace> open_trace(const std::string& path, const Limits& limits, GateReport& report) {
  if (file_bytes(path) > memory_rule(limits).most) return beyond_memory(path);
  const auto file = read_file(path);
  if (!file) return unread(file.rejection(), path);
  auto trace = formats::read_trace(file.value().bytes);
  if (!trace) return recognised(in_file(trace.rejection(), path), path, FileKind::trace);
  if (auto fits = check_cost(trace.value(), path, file.value().bytes.size(), limits); !fits) return fits.rejection();
  report.file = path;
  report.facts = {{"sha256", hex(file.value().sha256)}};
  add_facts(trace.value(), report);
  return trace;
}

void add_facts(const Trace& trace, GateReport& report) {
  report.facts.emplace_back("writer", trace.writer);
  report.facts.emplace_back("regions", std::to_string(trace.regions.size()));
  report.facts.emplace_back("tensors", std::to_string(trace.tensors.size()));
  std::vector<std::string> names;
  for (const TraceTensorId id : trace.detached)
    names.push_back(id < trace.tensors.size() ? "'" + trace.tensors[id].name + "'" : std::to_string(id));
  if (!names.empty())
    report.facts.emplace_back("detached",
                              counted(names.size(), "tensor") + " through which no gradient is expected to flow: " + listed(names));
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

bool write_trace_file(const Trace& trace, const std::string& path) {
  return write_file(path, [&trace](const files::Sink& sink) { formats::write_trace(trace, sink); });
}

bool is_continuous(const Trace& trace, GateReport& report) {
  const auto whole = kernel::check_continuity(trace);
  if (whole) return true;
  GateCase one;
  one.name = "continuity";
  one.op = "trace";
  one.findings.push_back({Finding::Kind::failure, whole.rejection().code, whole.rejection().place, whole.rejection().to_text(), {}, 1, {}});
  report.cases.push_back(std::move(one));
  return false;
}

Outcome<Done> add_model(const Trace& trace, const std::string& path, const Limits& limits, GateReport& report) {
  const auto file = read_file(path);
  if (!file) return unread(file.rejection(), path);
  const auto model = import_model_file(path, limits);
  if (!model) return unread(model.rejection(), path);
  GateCase one;
  one.name = "model " + path;
  one.op = "model";
  const double start = thread_cpu_seconds();
  const auto run = kernel::check_model(trace, model.value().graph);
  one.seconds = thread_cpu_seconds() - start;
  if (run) {
    one.passed = run.value().nodes;
    std::string names;
    const Graph& graph = model.value().graph;
    for (std::size_t i = 0; i < run.value().outputs.size(); ++i)
      names += (i == 0 ? "" : ", ") + graph.output_names[i] + " is '" + trace.tensors[run.value().outputs[i]].name + "'";
    report.facts.emplace_back("model", path + ", sha256 " + hex(file.value().sha256) + ": this is a run of it; " + names);
  } else {
    one.findings.push_back({Finding::Kind::undecided, run.rejection().code, path, run.rejection().to_text(), {}, 1, {}});
  }
  report.cases.push_back(std::move(one));
  return Done{};
}

namespace {

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
