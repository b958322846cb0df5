// Lists of certificates to check (`assay check --list`): one line MODEL,PROPERTY,CERTIFICATE[,ANSWER] each (docs/gates.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/answer.h"
#include "semantics/outcome.h"

namespace assay::cli {

// What has to be checked: the files and the answer that is expected, or none.
struct CertificateQuery {
  std::string model, property, certificate;
  std::optional<search::Answer> expect;
};

// Names without a leading slash are relative to the list's folder. Rejections: check.list (malformed), those of files.h.
[[nodiscard]] Outcome<std::vector<CertificateQuery>> read_certificate_list(const std::string& path);

// The text's lines, without their ends.
[[nodiscard]] std::vector<std::string> lines_of(const std::string& text);

}  // namespace assay::cli
