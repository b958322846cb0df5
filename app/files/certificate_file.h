// A certificate on its way to its place, which it takes when it is complete.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "app/files/output_file.h"
#include "certificates/format/writer.h"
#include "semantics/outcome.h"

namespace assay::files {

// Of a certificate that could not be written.
[[nodiscard]] Rejection unwritten_certificate(const std::string& proof, const std::string& found);

class Certificate {
 public:
  // Null where no file is named.
  [[nodiscard]] static Outcome<std::unique_ptr<Certificate>> open(const std::string& path, const logic::Problem& problem);
  [[nodiscard]] certificate::Writer& writer() { return *writer_; }
  // The bytes of the finished certificate.
  [[nodiscard]] Outcome<std::uint64_t> take_place();

 private:
  explicit Certificate(const std::string& path) : path_(path), file_(path) {}
  std::string path_;
  Replacement file_;
  std::unique_ptr<certificate::Writer> writer_;
};

[[nodiscard]] inline certificate::Writer* writer_of(const std::unique_ptr<Certificate>& certificate) {
  return certificate ? &certificate->writer() : nullptr;
}

}  // namespace assay::files
