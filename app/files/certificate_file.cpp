#include "app/files/certificate_file.h"

#include <cerrno>
#include <cstring>
#include <utility>

namespace assay::files {

Rejection unwritten_certificate(const std::string& proof, const std::string& found) {
  return {Rejection::Kind::declined,
          "certificate.io",
          proof,
          "a file that can be written",
          found,
          "check the path, permissions and free space"};
}

Outcome<std::unique_ptr<Certificate>> Certificate::open(const std::string& path, const logic::Problem& problem) {
  std::unique_ptr<Certificate> certificate;
  if (path.empty()) return certificate;
  certificate.reset(new Certificate(path));
  if (certificate->file_.name().empty()) return unwritten_certificate(path, std::strerror(errno));
  auto opened = certificate::Writer::open(certificate->file_.name(), problem);
  if (!opened) return unwritten_certificate(path, opened.rejection().found);
  certificate->writer_ = std::move(opened).value();
  return certificate;
}

Outcome<std::uint64_t> Certificate::take_place() {
  if (!file_.take_place()) return unwritten_certificate(path_, std::strerror(errno));
  return writer_->bytes_written();
}

}  // namespace assay::files
