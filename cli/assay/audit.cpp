// `assay audit`: a recorded run, region by region, against the contracts.
#include <algorithm>
#include <atomic>
#include <new>
#include <system_error>
#include <thread>
#include <tuple>
#include <utility>

#include "assay/check/cost.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/output_file.h"
#include "cli/assay/report.h"
#include "explain/explain.h"
#include "formats/trace.h"
#include "frontends/files.h"
#include "frontends/onnx/import.h"
#include "kernel/audit/audit.h"
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

// Words joined by a separator.
class Joined {
 public:
  explicit Joined(const char* separator) : separator_(separator) {}
  void add(std::string_view word) {
    if (!text_.empty()) text_ += separator_;
    text_ += word;
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  const char* separator_;
  std::string text_;
};

// The runtime tries them, on operands of a bounded size.
std::vector<std::string> known_faults(const Trace& trace, const Region& region) {
  const LiftedLimit lifted;
  return probes::explanations(trace, region);
}

void add_violations(const Trace& trace, std::size_t index, const kernel::RegionAudit& audit, GateCase& one) {
  const Region& region = trace.regions[index];
  for (std::size_t i = 0; i < audit.results.size(); ++i) {
    if (audit.results[i].failed == 0) continue;
    Finding finding{
        Finding::Kind::failure, "contract." + one.op, trace.tensors[region.results[i]].name, {}, {}, audit.results[i].failed, {}};
    finding.message = std::to_string(audit.results[i].failed) + " of " + std::to_string(trace.tensors[region.results[i]].value.size()) +
                      " elements of '" + finding.subject + "' are outside their contract";
    const std::vector<std::size_t>& failed = audit.failed_at[i];
    finding.failed_at.assign(failed.begin(), failed.begin() + static_cast<std::ptrdiff_t>(std::min(failed.size(), kMostFailedAt)));
    finding.details = {"shapes " + shapes_of(trace, region)};
    for (const std::string& line : known_faults(trace, region)) finding.details.push_back("the result " + line);
    for (const auto& [name, violation] : {std::pair("first", &audit.first), std::pair("worst", &audit.worst)}) {
      if (!*violation || (*violation)->result != i) continue;
      finding.places.push_back(
          {name, explain::index_of(trace.tensors[region.results[i]].value.shape(), (*violation)->element), **violation});
    }
    for (std::string& line : explain::failure_lines(trace, index, audit, i)) finding.details.push_back(std::move(line));
    one.findings.push_back(std::move(finding));
  }
}

// Result by result: one of whose elements more than half are vacuous was not judged.
void add_vacuous(const Trace& trace, const Region& region, const kernel::RegionAudit& audit, GateCase& one) {
  for (std::size_t i = 0; i < audit.results.size(); ++i) {
    const kernel::RegionAudit::Counts& counts = audit.results[i];
    if (counts.vacuous == 0) continue;
    const std::size_t judged = counts.passed + counts.failed + counts.vacuous;
    const auto kind = counts.vacuous > judged / 2 ? Finding::Kind::undecided : Finding::Kind::vacuous;
    const std::string& name = trace.tensors[region.results[i]].name;
    Finding finding{kind, kVacuousRule, name, {}, {}, counts.vacuous, {}};
    finding.message =
        std::to_string(counts.vacuous) + " of " + std::to_string(judged) + " elements of '" + name + "' have sets too wide to say anything";
    one.findings.push_back(std::move(finding));
  }
}

// Of a region whose judgement asks for more memory than there is.
GateCase too_large(GateCase one) {
  const Rejection why = beyond_memory(one.name);
  one.findings.push_back({Finding::Kind::undecided, why.code, one.name, why.to_text(), {}, 1, {}});
  return one;
}

GateCase judged_region(const Trace& trace, std::size_t index, const kernel::Sampling& sampling, GateCase one) {
  const Region& region = trace.regions[index];
  const double start = thread_cpu_seconds();
  const auto audit = kernel::audit_region(trace, index, sampling);
  one.seconds = thread_cpu_seconds() - start;
  if (!audit) {
    one.findings.push_back({Finding::Kind::undecided, audit.rejection().code, one.name, audit.rejection().to_text(), {}, 1, {}});
    return one;
  }
  const kernel::RegionAudit::Counts counts = audit.value().total();
  std::tie(one.passed, one.failed, one.vacuous, one.unsupported) =
      std::tie(counts.passed, counts.failed, counts.vacuous, counts.unsupported);
  one.unsampled = counts.unsampled;
  one.head_room_used = audit.value().head_room_used;
  add_violations(trace, index, audit.value(), one);
  add_vacuous(trace, region, audit.value(), one);
  if (audit.value().unsupported)
    one.findings.push_back({Finding::Kind::unsupported,
                            audit.value().unsupported->code,
                            one.name,
                            audit.value().unsupported->to_text(),
                            {},
                            counts.unsupported,
                            {}});
  return one;
}

GateCase judged(const Trace& trace, std::size_t index, const kernel::Sampling& sampling) {
  const Region& region = trace.regions[index];
  GateCase one;
  one.name = "region " + std::to_string(index) + (region.name.empty() ? "" : " (" + region.name + ")");
  one.op = ops_of(region.graph);
  one.model = to_string(region.model);
  try {
    return judged_region(trace, index, sampling, one);
  } catch (const std::bad_alloc&) {
    return too_large(std::move(one));
  }
}

}  // namespace

std::string shapes_of(const Trace& trace, const Region& region) {
  Joined operands(", "), results(", ");
  for (const TraceTensorId id : region.operands) operands.add(to_string(trace.tensors[id].value.shape()));
  for (const TraceTensorId id : region.results) results.add(to_string(trace.tensors[id].value.shape()));
  return operands.text() + " -> " + results.text();
}

std::string ops_of(const Graph& graph) {
  Joined ops("+");
  for (const Node& node : graph.nodes) {
    if (node.op != Op::input && node.op != Op::constant) ops.add(op_row(node.op).name);
  }
  return ops.text().empty() ? "none" : ops.text();
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

Outcome<Trace> open_trace(const std::string& path, const Limits& limits, GateReport& report) {
  if (file_bytes(path) > memory_rule(limits).most) return beyond_memory(path);
  const auto file = read_file(path);
  if (!file) return unread(file.rejection(), path);
  auto trace = formats::read_trace(file.value().bytes);
  if (!trace) return recognised(in_file(trace.rejection(), path), path, FileKind::trace);
  report.file = path;
  report.facts = {{"sha256", hex(file.value().sha256)}};
  add_facts(trace.value(), report);
  return trace;
}

void add_facts(const Trace& trace, GateReport& report) {
  report.facts.emplace_back("writer", trace.writer);
  report.facts.emplace_back("regions", std::to_string(trace.regions.size()));
  report.facts.emplace_back("tensors", std::to_string(trace.tensors.size()));
}

bool write_trace_file(const Trace& trace, const std::string& path) {
  return write_file(path, [&trace](const Sink& sink) { formats::write_trace(trace, sink); });
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
    Joined names(", ");
    const Graph& graph = model.value().graph;
    for (std::size_t i = 0; i < run.value().outputs.size(); ++i)
      names.add(graph.output_names[i] + " is '" + trace.tensors[run.value().outputs[i]].name + "'");
    report.facts.emplace_back("model", path + ", sha256 " + hex(file.value().sha256) + ": this is a run of it; " + names.text());
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
