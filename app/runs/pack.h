// Certificates of a run in one file, for file systems and archives that are slow with millions of small ones.
//
//   FOLDER/certificates.pack    "ASSAYPK1", the certificates one after the other, an index, its count (u64, little endian), "ASSAYPK1"
//   an entry of the index       SHA-256 of the certificate (32 bytes), offset (u64), length (u64); ascending by SHA-256, each once
//
// Each certificate of a pack is compared with its digest, as a file would be, so a damaged pack affects only the certificates in
// its damaged bytes. A certificate of more than 1 GiB stays a file, since one from a pack is held in memory during its check.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "semantics/outcome.h"

namespace assay::runs {

constexpr std::uint64_t kMostPacked = std::uint64_t{1} << 30;  // bytes of a certificate in a pack

// A certificate wherever the run keeps it: a file of its own, or in the pack, and then a file in memory for as long as this lives.
class KeptCertificate {
 public:
  // Returns nothing if the run has no certificate of this digest.
  [[nodiscard]] static std::optional<KeptCertificate> find(const std::string& folder, const std::string& digest);
  KeptCertificate(KeptCertificate&& other) noexcept;
  KeptCertificate& operator=(KeptCertificate&&) = delete;
  ~KeptCertificate();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  KeptCertificate(std::string path, int memory) : path_(std::move(path)), memory_(memory) {}
  std::string path_;
  int memory_ = -1;
};

struct Packed {
  std::uint64_t certificates = 0, bytes = 0;  // of the whole pack
  std::uint64_t damaged = 0;  // files that are not what their names say: they stay where they are; entries alike: they are left out
};

// Moves the certificates that are files into the pack. The pack takes its place before they are removed. Codes store.*.
[[nodiscard]] Outcome<Packed> pack(const std::string& folder);

}  // namespace assay::runs
