// Files of numbers: npy, npz, IDX and separated values, chosen by the first byte. What is read is written, and read again as the same.
#include "formats/tables.h"

#include <algorithm>

#include "formats/npy.h"
#include "tests/fuzz/targets/target.h"

using namespace assay;

namespace {

constexpr std::size_t kMost = std::size_t{1} << 20;  // bytes that an archive may ask for

void same(const Tensor& a, const Tensor& b) {
  fuzz::expect(a.dtype() == b.dtype() && a.shape() == b.shape() && std::ranges::equal(a.bytes(), b.bytes()),
               "one tensor was read twice as the same");
}

void arrays(std::span<const std::byte> file) {
  const auto read = formats::read_npy(file);
  if (!read) return;
  const std::string again = formats::write_npy(read.value());
  same(fuzz::expect_ok(formats::read_npy(fuzz::bytes_of(again)), "what was written can be read"), read.value());
}

void archives(std::span<const std::byte> file) {
  const auto read = formats::read_npz(file, kMost);
  if (!read) return;
  const std::string again = formats::write_npz(read.value());
  const auto second = formats::read_npz(fuzz::bytes_of(again), kMost);
  // Of two bytes each: names and numbers of members that were read fit again.
  const auto& members = fuzz::expect_ok(second, "what was written can be read");
  for (const auto& [name, tensor] : members)
    fuzz::expect(read.value().count(name) == 1 || read.value().count(name + ".npy") == 1, "names stay");
  fuzz::expect(members.size() <= read.value().size(), "no member is new");
}

void values(std::string_view text) {
  const auto read = formats::read_csv(text, false);
  if (!read) return;
  const std::string again = formats::write_csv(read.value());
  fuzz::expect(fuzz::expect_ok(formats::read_csv(again, false), "what was written can be read").rows == read.value().rows, "rows stay");
  const std::size_t first = 0;
  (void)formats::numbers_of(read.value(), std::span(&first, 1));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bounded bounded;
  if (size == 0) return 0;
  const std::string_view rest = fuzz::text_of(data + 1, size - 1);
  switch (data[0] % 4) {
    case 0:
      arrays(fuzz::bytes_of(rest));
      break;
    case 1:
      archives(fuzz::bytes_of(rest));
      break;
    case 2:
      values(rest);
      break;
    default:
      (void)formats::read_idx(fuzz::bytes_of(rest));
      break;
  }
  return 0;
}
