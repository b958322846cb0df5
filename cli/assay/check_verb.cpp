// `assay check`: certificates, one as assay-check reports it, or several as a gate.
#include <algorithm>
#include <utility>

#include "api/check/vacuity.h"
#include "cli/assay/certificate_list.h"
#include "cli/assay/file_kind.h"
#include "cli/assay/gate.h"
#include "cli/assay/interruption.h"
#include "cli/assay/report.h"
#include "kernel/logic/theorem_text.h"

namespace assay::cli {
namespace {

LoadOptions load_options(const CheckOptions& options) {
  LoadOptions load;
  load.semantics = options.semantics;
  load.exact = options.exact;
  load.limits = options.limits;
  return load;
}

// An interrupted check of one certificate declines.
void prepare_to_decline(const CheckOptions& options) {
  set_last_words([options](const Rejection& why) {
    CheckReport report;
    report.why = why;
    if (options.gate.json != "-") print_report("assay", report, is_full(options.statement));
    (void)write_json(options.gate.json, to_json(report, options));
  });
}

// check_files, with what the files are instead.
CheckReport checked(const std::string& model, const std::string& property, const std::string& certificate, const LoadOptions& options) {
  CheckReport report = check_files(model, property, certificate, options);
  if (report.why && report.why->place.starts_with(certificate)) report.why = recognised(*report.why, certificate, FileKind::certificate);
  if (report.why && !property.empty()) report.why = recognised_input(*report.why, model, property);
  return report;
}

int check_one(const CheckOptions& options) {
  prepare_to_decline(options);
  const CheckReport report = checked(options.files[0], options.files[1], options.files[2], load_options(options));
  conclude();
  if (options.gate.json != "-") print_report("assay", report, is_full(options.statement));
  const bool written = !report.problem || write_statement(options.statement, *report.problem);
  return write_json(options.gate.json, to_json(report, options)) && written ? exit_code(report) : kExitUnwritten;
}

void add_rejection(const Rejection& why, int exit, const CertificateQuery& query, GateCase& one) {
  using Kind = Finding::Kind;
  const bool unreadable = exit == kExitBadInput;
  Finding finding{exit == kExitNo ? Kind::failure : Kind::undecided, why.code, query.certificate, {}, {}, 1, {}};
  finding.message = why.place + ": required " + why.required + "; found " + why.found;
  if (!why.advice.empty()) finding.details.push_back(why.advice);
  (unreadable ? one.unsupported : one.failed) = 1;
  one.findings.push_back(std::move(finding));
}

void add_theorem(const CheckReport& report, const CertificateQuery& query, const CheckOptions& options, GateCase& one) {
  const search::Answer answer = search::answer_of(*report.theorem);
  one.op = search::word_of(answer);
  one.statement = lines_of(kernel::theorem_text(*report.theorem, is_full(options.statement)));
  for (const std::string& note : report.notes) one.statement.push_back("note: " + note);
  if (query.expect && query.expect != answer) {
    one.failed = 1;
    one.findings.push_back({Finding::Kind::failure,
                            "check.answer",
                            query.certificate,
                            "the certificate proves " + one.op + ", expected " + search::word_of(*query.expect),
                            {},
                            1,
                            {}});
    return;
  }
  const std::string vacuous = check::vacuity(*report.theorem);
  (vacuous.empty() || options.allow_vacuous ? one.passed : one.failed) = 1;
  if (!vacuous.empty())
    one.findings.push_back({options.allow_vacuous ? Finding::Kind::vacuous : Finding::Kind::failure,
                            "check.vacuous",
                            query.certificate,
                            "the proof is vacuous: " + vacuous,
                            {"mend the property, or allow it with --allow-vacuous"},
                            1,
                            {}});
}

GateCase case_of(const CertificateQuery& query, const CheckOptions& options) {
  const CheckReport report = checked(query.model, query.property, query.certificate, load_options(options));
  GateCase one;
  one.name = query.model + " " + query.property + " " + query.certificate;
  one.op = "certificate";
  one.model = "real";
  one.file = query.certificate;
  one.seconds = report.cpu_seconds;
  if (report.theorem)
    add_theorem(report, query, options, one);
  else if (report.why)
    add_rejection(*report.why, exit_code(report), query, one);
  return one;
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
  std::vector<CertificateQuery> queries;
  if (!options.list.empty()) {
    auto read = read_certificate_list(options.list);
    if (!read) return refuse(report.schema, options.gate.json, read.rejection());
    queries = std::move(read).value();
  }
  for (std::size_t i = 0; i < options.files.size(); i += 3)
    queries.push_back({options.files[i], options.files[i + 1], options.files[i + 2], {}});
  const double start = wall_seconds();
  for (CertificateQuery& query : queries) {
    if (is_interrupted()) break;
    if (!query.expect) query.expect = search::answer_named(options.expect);
    report.cases.push_back(case_of(query, options));
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
