#include "cli/assay/certificate_list.h"

#include <algorithm>
#include <sstream>

#include "frontends/files.h"

namespace assay::cli {

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) {
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(line);
  }
  return lines;
}

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
    const auto answer = fields.size() == 4 ? search::answer_named(fields[3]) : std::nullopt;
    if ((fields.size() != 3 && !search::is_decided(answer)) || std::ranges::any_of(fields, &std::string::empty))
      return Rejection{Rejection::Kind::malformed,
                       "check.list",
                       path + " line " + std::to_string(number),
                       "MODEL,PROPERTY,CERTIFICATE, and perhaps sat or unsat",
                       line,
                       "docs/gates.md"};
    const auto located = [&](const std::string& name) { return name.starts_with('/') ? name : folder + name; };
    queries.push_back({located(fields[0]), located(fields[1]), located(fields[2]), answer});
  }
  if (queries.empty())
    return Rejection{Rejection::Kind::malformed, "check.list", path, "at least one certificate", "none", "docs/gates.md"};
  return queries;
}

}  // namespace assay::cli
