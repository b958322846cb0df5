// Certificate files as they are, checksums and all. The mutator renews digest and checksums of most of what it makes, so that what is behind
// them is reached; some it leaves broken.
#include <random>

#include "tests/fuzz/targets/proofs.h"

using namespace assay;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr std::size_t kDigestAt = 6, kLengthAt = 38;

const fuzz::Decided& named_by(std::string_view file) {
  for (const fuzz::Decided& one : fuzz::statements()) {
    const auto& digest = one.problem->digest();
    if (file.size() >= kLengthAt &&
        std::equal(digest.begin(), digest.end(), file.begin() + kDigestAt, [](auto a, char b) { return static_cast<char>(a) == b; }))
      return one;
  }
  return fuzz::statements().front();
}

void renew(std::string& file, std::size_t begin, std::size_t end) {
  if (end + 4 <= file.size()) file.replace(end, 4, fuzz::checksum(file.substr(begin, end - begin)));
}

// Digest of one of the statements, checksums of the header and of every frame that ends inside the file.
void repair(std::string& file, std::size_t which) {
  if (file.size() <= kLengthAt) return;
  const auto& digest = fuzz::statements()[which % fuzz::statements().size()].problem->digest();
  std::copy(digest.begin(), digest.end(), file.begin() + kDigestAt);
  std::size_t at = kLengthAt + 1 + static_cast<std::uint8_t>(file[kLengthAt]);
  renew(file, 0, at);
  for (at += 4; at + 2 < file.size();) {
    const std::size_t begin = at++;
    std::uint64_t length = 0;
    for (int shift = 0; at < file.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(file[at++]);
      length |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) break;
    }
    if (length > file.size() - at) return;
    at += static_cast<std::size_t>(length);
    renew(file, begin, at);
    at += 4;
  }
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const std::size_t changed = LLVMFuzzerMutate(data, size, max_size);
  if (random() % 8 == 0) return changed;
  std::string file(fuzz::text_of(data, changed));
  const bool other = random() % 4 == 0;
  repair(file, other ? random() : static_cast<std::size_t>(&named_by(file) - fuzz::statements().data()));
  std::copy(file.begin(), file.end(), data);
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile kFile;
  (void)fuzz::statements();
  const fuzz::Bounded bounded;
  const std::string_view bytes = fuzz::text_of(data, size);
  const std::string& path = kFile.put(bytes);
  const bool accepted = fuzz::expect_truth(fuzz::replayed(path, named_by(bytes).problem), named_by(bytes));
  auto reader = certificate::Reader::open(path);
  if (!reader) return 0;
  std::size_t length = 0;
  const auto summary = certificate::dump(*reader.value(), [&length](const std::string& line) { length += line.size(); });
  fuzz::expect(summary.ok() || !accepted, "what replay accepts can be dumped");
  fuzz::expect(!summary.ok() || summary.value().file_bytes == size, "a certificate is read to its end");
  return 0;
}
