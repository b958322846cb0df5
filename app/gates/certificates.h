// Certificates as cases of a gate, and lists of them: one line MODEL,PROPERTY,CERTIFICATE[,ANSWER] each (docs/reference/gates.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/reports/report.h"
#include "assay/check.h"
#include "search/answer.h"
#include "semantics/outcome.h"

namespace assay::gates {

// The files to check and the answer that is expected, or none.
struct CertificateQuery {
  std::string model, property, certificate;
  std::optional<search::Answer> expect;
};

// Names without a leading slash are relative to the list's folder. Rejections: check.list (malformed), those of files.h.
[[nodiscard]] Outcome<std::vector<CertificateQuery>> read_certificate_list(const std::string& path);

// By the report of its check: the answer, the statement (in full), and whether the answer is the one that was expected and says something.
[[nodiscard]] reports::GateCase certificate_case(const CertificateQuery& query, const check::Report& report, bool allow_vacuous, bool full);

}  // namespace assay::gates
