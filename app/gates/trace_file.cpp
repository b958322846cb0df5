// Trace files: what judging one may take, its facts, and whether it is a run of a model.
#include <algorithm>
#include <cmath>
#include <utility>

#include "api/check/cost.h"
#include "app/gates/gate.h"
#include "app/queries/file_kind.h"
#include "app/words.h"
#include "formats/trace.h"
#include "frontends/files.h"
#include "frontends/onnx/import.h"
#include "kernel/audit/audit.h"
#include "kernel/audit/work.h"
#include "semantics/statement/statement.h"

namespace assay::gates {
namespace {

// The length of a trace limits the work of judging it, since values inside of regions have any size. For L bytes of trace:
//
//   elements of all nodes of a region   2^20 + 16 L, or if that is more one for each 128 bytes of --memory
//   work of all regions                 2^23 + 64 (L / 4)^1.5, or --budget; a product of recorded matrices takes at most (L / 4)^1.5
Outcome<Done> check_cost(const Trace& trace, const std::string& path, std::uint64_t length, const check::Limits& limits) {
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
    const double elements = audit::elements_of(trace.regions[r].graph);
    work += audit::work_of_region(trace.regions[r].graph);
    if (!(elements <= most_elements))
      return refuse_region("gate.memory", "elements inside of a region", most_elements, elements, "--memory");
    if (!(work <= most_work)) return refuse_region("gate.work", "terms and elements in all regions", most_work, work, "--budget");
  }
  return Done{};
}

}  // namespace

Outcome<Trace> open_trace(const std::string& path, const check::Limits& limits, GateReport& report) {
  if (check::file_bytes(path) > check::memory_rule(limits).most) return queries::beyond_memory(path);
  // A digest names a file for a later reader. The memory of a program that records is no file, and hashing it takes a
  // fifth of a gate's time.
  const bool is_memory = path.starts_with("/proc/self/fd/");
  const auto file = read_file(path, {.hashed = !is_memory});
  if (!file) return queries::unread(file.rejection(), path);
  auto trace = formats::read_trace(file.value().bytes);
  if (!trace) return queries::recognised(check::in_file(trace.rejection(), path), path, queries::FileKind::trace);
  if (auto fits = check_cost(trace.value(), path, file.value().bytes.size(), limits); !fits) return fits.rejection();
  report.file = path;
  report.facts.clear();
  if (!is_memory) report.facts.emplace_back("sha256", statement::to_hex(file.value().sha256));
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
    report.facts.emplace_back("no gradient",
                              counted(names.size(), "tensor") + " through which no gradient is expected to flow: " + listed(names));
}

bool is_continuous(const Trace& trace, GateReport& report) {
  const auto whole = audit::check_continuity(trace);
  if (whole) return true;
  GateCase one;
  one.name = "continuity";
  one.op = "trace";
  one.findings.push_back(
      {Finding::Kind::failure, whole.rejection().code, whole.rejection().place, reports::sentence(whole.rejection()), {}, 1, {}});
  report.cases.push_back(std::move(one));
  return false;
}

Outcome<Done> add_model(const Trace& trace, const std::string& path, const check::Limits& limits, GateReport& report) {
  const auto file = read_file(path);
  if (!file) return queries::unread(file.rejection(), path);
  const auto model = queries::import_model_file(path, limits);
  if (!model) return queries::unread(model.rejection(), path);
  GateCase one;
  one.name = "model " + path;
  one.op = "model";
  const double start = check::thread_cpu_seconds();
  const auto run = audit::check_model(trace, model.value().graph);
  one.seconds = check::thread_cpu_seconds() - start;
  if (run) {
    one.passed = run.value().nodes;
    std::string names;
    const Graph& graph = model.value().graph;
    for (std::size_t i = 0; i < run.value().outputs.size(); ++i)
      names += (i == 0 ? "" : ", ") + graph.output_names[i] + " is '" + trace.tensors[run.value().outputs[i]].name + "'";
    report.facts.emplace_back("model", path + ", sha256 " + statement::to_hex(file.value().sha256) + ": this is a run of it" +
                                           (limits.edits.empty() ? "" : " with " + limits.edits.to_text()) + "; " + names);
  } else {
    one.findings.push_back({Finding::Kind::undecided, run.rejection().code, path, reports::sentence(run.rejection()), {}, 1, {}});
  }
  report.cases.push_back(std::move(one));
  return Done{};
}

}  // namespace assay::gates
