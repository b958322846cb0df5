// `assay check`: certificates, one as assay-check reports it, or several as a gate.
#include <algorithm>
#include <utility>

#include "app/gates/certificates.h"
#include "app/queries/gap.h"
#include "app/queries/theorem_json.h"
#include "cli/assay/codes.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "cli/check.h"

namespace assay::cli {
namespace {

LoadOptions load_options(const CheckOptions& options) {
  LoadOptions load;
  load.semantics = options.semantics;
  load.exact = options.exact;
  load.limits = options.limits;
  return load;
}

std::string to_json(const CheckReport& report, const CheckOptions& options) {
  Json json = opened("assay.check/1");
  json["verdict"] = check::word(report.verdict);
  json["exit"] = exit_code(report);
  if (options.files[1].empty()) {
    json["statement_file"] = options.files[0];
  } else {
    json["model"] = options.files[0];
    json["property"] = options.files[1];
  }
  json["certificate"] = {{"file", options.files[2]}, {"bytes", report.certificate_bytes}};
  json["exact"] = options.exact;
  json["statistics"] = {{"cpu_seconds", report.cpu_seconds},
                        {"load_cpu_seconds", report.load_seconds},
                        {"steps", report.statistics.steps},
                        {"splits", report.statistics.splits},
                        {"conclusions", report.statistics.conclusions},
                        {"depth", report.statistics.depth},
                        {"multiply_adds", report.statistics.work},
                        {"budget", report.statistics.budget},
                        {"branch_bytes", report.statistics.memory}};
  if (report.theorem) {
    json["statement"] = queries::statement_json(*report.theorem->problem());
    json["notes"] = report.notes;
    json["theorem"] = queries::theorem_json(*report.theorem, is_full(options.statement));
  }
  if (report.why) json["rejection"] = rejection(*report.why);
  return json_text(json);
}

// An interrupted check of one certificate declines.
void prepare_to_decline(const CheckOptions& options) {
  set_last_words([options](const Rejection& why) {
    CheckReport report;
    report.why = why;
    if (options.gate.json != "-") print_report("assay", report, is_full(options.statement), report.why ? meaning_of(*report.why) : "");
    (void)write_json(options.gate.json, to_json(report, options));
  });
}

// check_files, with what the files are instead.
CheckReport checked(const std::string& model, const std::string& property, const std::string& certificate, const LoadOptions& options) {
  CheckReport report = check_files(model, property, certificate, options);
  queries::name_gap(report, certificate);
  if (report.why && report.why->place.starts_with(certificate)) report.why = recognised(*report.why, certificate, FileKind::certificate);
  if (report.why && !property.empty()) report.why = recognised_input(*report.why, model, property);
  if (report.why && property.empty() && report.why->place.starts_with(model))
    report.why = recognised(*report.why, model, FileKind::statement);
  return report;
}

int check_one(const CheckOptions& options) {
  prepare_to_decline(options);
  const CheckReport report = checked(options.files[0], options.files[1], options.files[2], load_options(options));
  const std::string wrong_use =
      exit_code(report) == kExitBadInput ? misplaced("assay check", options.files[0], options.files[1], options.files[2]) : "";
  if (!wrong_use.empty()) return usage("check", wrong_use);
  conclude();
  if (options.gate.json != "-") print_report("assay", report, is_full(options.statement), report.why ? meaning_of(*report.why) : "");
  const bool written = !report.problem || write_statement(options.statement, *report.problem);
  return write_json(options.gate.json, to_json(report, options)) && written ? exit_code(report) : kExitUnwritten;
}

// As for one certificate: what could not be read is told apart from what is undecided.
int exit_of(const GateReport& report, int exit) {
  const bool unreadable = std::ranges::any_of(report.cases, [](const GateCase& one) { return one.unsupported > 0 && one.is_failed(); });
  return exit != kExitNo && unreadable ? kExitBadInput : exit;
}

int check_all(const CheckOptions& options) {
  GateReport report;
  report.verb = "check";
  report.schema = "assay.check-gate/1";
  report.file = options.list.empty() ? options.files[2] : options.list;
  std::vector<gates::CertificateQuery> queries;
  if (!options.list.empty()) {
    auto read = gates::read_certificate_list(options.list);
    if (!read) return refuse(report.schema, options.gate.json, read.rejection());
    queries = std::move(read).value();
  }
  const auto expected = search::answer_named(options.expect);
  for (const gates::CertificateQuery& query : queries) {
    if (expected && query.expect && query.expect != expected)
      return usage("check", "--expect " + options.expect + " contradicts the line of " + query.certificate + " in " + options.list +
                                ", which expects " + search::word_of(*query.expect));
  }
  for (std::size_t i = 0; i < options.files.size(); i += 3)
    queries.push_back({options.files[i], options.files[i + 1], options.files[i + 2], {}});
  const double start = wall_seconds();
  for (gates::CertificateQuery& query : queries) {
    if (is_interrupted()) break;
    if (!query.expect) query.expect = expected;
    const CheckReport one = checked(query.model, query.property, query.certificate, load_options(options));
    report.cases.push_back(gates::certificate_case(query, one, options.allow_vacuous, is_full(options.statement)));
    set_progress(std::to_string(report.cases.size()) + " of " + counted(queries.size(), "certificate") + " checked");
  }
  report.seconds = wall_seconds() - start;
  const int exit = conclude_gate(report, options.gate);
  return exit_of(report, exit);
}

}  // namespace

bool is_check_gate(const CheckOptions& options) {
  const GateOptions& gate = options.gate;
  return !options.list.empty() || options.files.size() > 3 || !options.expect.empty() || !gate.junit.empty() || !gate.sarif.empty() ||
         !gate.markdown.empty() || !gate.waivers.empty();
}

int check_verb(const CheckOptions& options) {
  if (!is_check_gate(options)) return check_one(options);
  if (!is_file(options.statement)) return check_all(options);
  std::fprintf(stderr, "assay check: --statement FILE goes with one certificate; --statement full prints every statement\n");
  return kExitUsage;
}

}  // namespace assay::cli
