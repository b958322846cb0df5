#include "app/gates/certificates.h"

#include <algorithm>
#include <sstream>

#include "api/assay/check.h"
#include "api/check/vacuity.h"
#include "frontends/files.h"

namespace assay::gates {
namespace {

using reports::Finding;
using reports::GateCase;

// The text's lines, without their ends.
std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

void add_rejection(const Rejection& why, const CertificateQuery& query, GateCase& one) {
  using Kind = Finding::Kind;
  Finding finding{why.kind == Rejection::Kind::rejected ? Kind::failure : Kind::undecided, why.code, query.certificate, {}, {}, 1, {}};
  finding.message = reports::sentence({why.kind, {}, why.place, why.required, why.found, {}});
  if (!why.advice.empty()) finding.details.push_back(why.advice);
  const bool is_unreadable = why.kind == Rejection::Kind::malformed || why.kind == Rejection::Kind::unsupported;
  (is_unreadable ? one.unsupported : one.failed) = 1;
  one.findings.push_back(std::move(finding));
}

void add_theorem(const check::Report& report, const CertificateQuery& query, bool allow_vacuous, bool full, GateCase& one) {
  const search::Answer answer = search::answer_of(*report.theorem);
  one.op = search::word_of(answer);
  one.statement = lines_of(check::theorem_text(*report.theorem, full));
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
  (vacuous.empty() || allow_vacuous ? one.passed : one.failed) = 1;
  if (!vacuous.empty())
    one.findings.push_back({allow_vacuous ? Finding::Kind::vacuous : Finding::Kind::failure,
                            "check.vacuous",
                            query.certificate,
                            "the proof is vacuous: " + vacuous,
                            {"mend the property, or allow it with --allow-vacuous"},
                            1,
                            {}});
}

}  // namespace

Outcome<std::vector<CertificateQuery>> read_certificate_list(const std::string& path) {
  const auto file = read_file(path);
  if (!file) return file.rejection();
  const auto* text = reinterpret_cast<const char*>(file.value().bytes.data());
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "" : path.substr(0, slash + 1);
  std::vector<CertificateQuery> queries;
  std::size_t number = 0;
  for (const std::string& line : lines_of({text, file.value().bytes.size()})) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    std::vector<std::string> fields;
    std::istringstream stream(line);
    for (std::string field; std::getline(stream, field, ',');) fields.push_back(field);
    if (line.ends_with(',')) fields.emplace_back();  // an answer that is missing is not the same as none
    const auto answer = fields.size() == 4 ? search::answer_named(fields[3]) : std::nullopt;
    if ((fields.size() != 3 && !search::is_decided(answer)) || std::ranges::any_of(fields, &std::string::empty) ||
        line.find('\0') != std::string::npos)
      return Rejection{Rejection::Kind::malformed,
                       "check.list",
                       path + " line " + std::to_string(number),
                       "MODEL,PROPERTY,CERTIFICATE, and perhaps sat or unsat",
                       line,
                       "docs/reference/gates.md"};
    const auto located = [&](const std::string& name) { return name.starts_with('/') ? name : folder + name; };
    queries.push_back({located(fields[0]), located(fields[1]), located(fields[2]), answer});
  }
  if (queries.empty())
    return Rejection{Rejection::Kind::malformed, "check.list", path, "at least one certificate", "none", "docs/reference/gates.md"};
  return queries;
}

GateCase certificate_case(const CertificateQuery& query, const check::Report& report, bool allow_vacuous, bool full) {
  GateCase one;
  one.name = query.model + " " + query.property + " " + query.certificate;
  one.op = "certificate";
  one.model = "real";
  one.file = query.certificate;
  one.seconds = report.cpu_seconds;
  if (report.theorem)
    add_theorem(report, query, allow_vacuous, full, one);
  else if (report.why)
    add_rejection(*report.why, query, one);
  return one;
}

}  // namespace assay::gates
