#include "cli/assay/gate.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/file_kind.h"
#include "cli/assay/common_options.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "formats/trace.h"
#include "probes/faults.h"

namespace assay::cli {

int within_memory(const std::string& schema, const JsonTarget& json, const std::string& place, const Limits& limits,
                  const std::function<int()>& body) {
  limit_memory(memory_rule(limits).most);
  try {
    return body();
  } catch (const std::bad_alloc&) {  // the allocated memory is free again by now
    return refuse(schema, json, queries::beyond_memory(place));
  }
}

namespace {

// An empty name is one that a script did not set: without this check, the gate would leave the file out and pass.
std::string refuse_empty(const std::string& text) { return text.empty() ? "the name of a file is missing" : ""; }

}  // namespace

int conclude_gate(GateReport& report, const GateOptions& options) {
  const std::string schema = report.schema_name(), today = options.today.empty() ? gates::date_of_today() : options.today;
  if (!gates::is_date(today)) {
    std::fprintf(stderr, "assay %s: --today: expected a day as YYYY-MM-DD\n", report.verb.c_str());
    return kExitUsage;
  }
  if (!options.waivers.empty()) {
    if (auto done = gates::apply_waivers(report, options.waivers, today); !done) return refuse(schema, options.json, done.rejection());
  }
  if (!options.baseline.empty()) {
    if (auto done = gates::compare_baseline(report, options.baseline); !done) return refuse(schema, options.json, done.rejection());
  }
  if (is_interrupted()) report.cases.push_back(gates::interrupted_case(interruption()));
  conclude();
  const std::string verdict = report.verdict(options.most_undecided);
  if (options.json != "-") std::fputs(gates::gate_text(report, options.most_undecided).c_str(), stdout);
  bool written = write_json(options.json, gates::gate_json(report, options.most_undecided));
  if (!options.junit.empty()) written = write_file(options.junit, reports::junit_xml(report, options.most_undecided)) && written;
  if (!options.sarif.empty()) written = write_file(options.sarif, reports::sarif_json(report, options.most_undecided)) && written;
  if (!options.markdown.empty()) written = write_file(options.markdown, gates::markdown(report, options.most_undecided)) && written;
  if (!options.write_baseline.empty()) written = write_file(options.write_baseline, gates::baseline_json(report)) && written;
  if (verdict == "failed") return kExitNo;
  return verdict == "undecided" ? kExitUndecided : written ? kExitYes : kExitUnwritten;
}

std::vector<GateCase> audit_regions(const Trace& trace, unsigned jobs, const audit::Sampling& sampling) {
  reports::Judging judging{.sampling = sampling, .seconds = thread_cpu_seconds, .too_large = gates::too_large};
  judging.known_faults = [](const Trace& run, const Region& region) {
    const LiftedLimit lifted;  // the runtime tries them, on operands of a bounded size
    return probes::explanations(run, region);
  };
  std::vector<GateCase> cases(trace.regions.size());
  reports::judge_regions(trace, judging, jobs, [&cases](std::size_t region, GateCase one) {
    cases[region] = std::move(one);
    set_progress(std::to_string(region + 1) + " of " + counted(cases.size(), "region") + " judged");
    return !is_interrupted();
  });
  if (is_interrupted()) std::erase_if(cases, [](const GateCase& one) { return one.name.empty(); });
  return cases;
}

bool write_trace_file(const Trace& trace, const std::string& path) {
  return write_file(path, [&trace](const files::Sink& sink) { formats::write_trace(trace, sink); });
}

void add_gate_files(CLI::App* verb, GateOptions& gate) {
  verb->add_option("--junit", gate.junit, "write the report to FILE as JUnit XML")->type_name("FILE")->check(refuse_empty);
  verb->add_option("--sarif", gate.sarif, "write the report to FILE as SARIF 2.1.0")->type_name("FILE")->check(refuse_empty);
  verb->add_option("--markdown", gate.markdown, "write a summary of the report to FILE in Markdown")
      ->type_name("FILE")
      ->check(refuse_empty);
  CLI::Option* waivers =
      verb->add_option("--waivers", gate.waivers, "accept the findings that FILE lists, each until its date (docs/reference/gates.md)")
          ->type_name("FILE")
          ->check(refuse_empty);
  verb->add_option("--today", gate.today, "the date on which a waiver must not have expired yet; default: today")
      ->type_name("YYYY-MM-DD")
      ->needs(waivers);
  verb->add_option("--most-undecided", gate.most_undecided,
                   "largest share of elements (or of certificates) that may stay undecided because they are vacuous or unsupported; if\n"
                   "the share is larger, exit with 3")
      ->check(CLI::Range(0.0, 1.0))
      ->check(refuse_nan)
      ->capture_default_str();
  add_json(verb, gate.json);
}

void add_gate(CLI::App* verb, GateOptions& gate) {
  verb->add_option("--baseline", gate.baseline, "fail if an op uses over 25 % more of its allowed error than the baseline FILE says")
      ->type_name("FILE")
      ->check(refuse_empty);
  verb->add_option("--write-baseline", gate.write_baseline,
                   "write a baseline to FILE: for each op, the share of the allowed error that it uses")
      ->type_name("FILE")
      ->check(refuse_empty);
  add_gate_files(verb, gate);
}

}  // namespace assay::cli
