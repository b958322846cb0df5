// The pack of a run: what its index names is looked up, and the pack is written again beside a certificate that is a file.
#include "app/runs/pack.h"

#include <set>

#include "app/runs/store.h"
#include "semantics/statement/statement.h"
#include "tests/fuzz/targets/target.h"

using namespace assay;

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kEntry = 48, kEnd = 16, kDigest = 32, kMostEntries = 16;

std::string digest_of(std::string_view bytes) { return statement::to_hex(statement::sha256(fuzz::bytes_of(bytes))); }

// Of the certificates that are found under a digest which is theirs.
bool is_whole(const std::string& folder, const std::string& digest) {
  const auto kept = runs::KeptCertificate::find(folder, digest);
  return kept && runs::file_digest(kept->path()) == digest;
}

// The digests of the last entries, wherever the index begins.
std::set<std::string> named_in(std::string_view pack) {
  std::set<std::string> digests;
  for (std::size_t k = 1; k <= kMostEntries && kEnd + k * kEntry <= pack.size(); ++k) {
    statement::Digest digest{};
    std::copy_n(pack.end() - static_cast<std::ptrdiff_t>(kEnd + k * kEntry), kDigest, reinterpret_cast<char*>(digest.data()));
    digests.insert(statement::to_hex(digest));
  }
  return digests;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile kFile;
  static const std::string kOwn = "a certificate that is a file", kOwnDigest = digest_of(kOwn);
  const std::string folder = fs::path(kFile.path()).parent_path().string(), own = runs::certificate_path(folder, kOwnDigest);
  fs::create_directories(fs::path(own).parent_path());
  kFile.put_beside(fs::relative(own, folder).string(), kOwn);
  const std::string_view bytes = fuzz::text_of(data, size);
  kFile.put_beside("certificates.pack", bytes);
  const std::string before = digest_of(bytes);

  const fuzz::Bounded bounded;
  std::set<std::string> whole{kOwnDigest};
  for (const std::string& digest : named_in(bytes)) {
    if (is_whole(folder, digest)) whole.insert(digest);
  }
  const auto packed = runs::pack(folder);
  fuzz::expect(fs::exists(own) != packed.ok(), "the file goes when the pack has it, and not before");
  if (!packed) fuzz::expect(runs::file_digest(folder + "/certificates.pack") == before, "a pack that is refused stays as it was");
  for (const std::string& digest : whole) fuzz::expect(is_whole(folder, digest), "what could be read before can be read now");
  if (!packed) return 0;
  const std::uint64_t now = fs::file_size(folder + "/certificates.pack");
  fuzz::expect(packed.value().bytes == now, "the pack has as many bytes as is said");
  fuzz::expect(now <= 2 * size + kOwn.size() + 2 * kEntry, "a pack does not grow by being written again");
  const auto again = runs::pack(folder);
  fuzz::expect(again.ok() && again.value().damaged == 0 && again.value().bytes == now, "a pack of ours is kept as it is");
  return 0;
}
