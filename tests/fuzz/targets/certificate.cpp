// Certificate files as they are, checksums and all. The mutator renews digest and checksums of most of what it makes, so that
// what is behind them is reached; some it leaves broken.
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

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const std::size_t changed = LLVMFuzzerMutate(data, size, max_size);
  if (random() % 8 == 0) return changed;
  std::string file(fuzz::text_of(data, changed));
  const bool other = random() % 4 == 0;
  const fuzz::Decided& about = other ? fuzz::statements()[random() % fuzz::statements().size()] : named_by(file);
  fuzz::repair(file, about.problem->digest());
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
