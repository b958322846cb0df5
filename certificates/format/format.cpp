// The names of record types, and the checksum CRC-32C.

#include "certificates/format/format.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay::certificate {
namespace {

constexpr std::size_t kSlices = 8;  // bytes that the checksum processes at once
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

// [k][b]: the remainder of byte b followed by k zero bytes.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::size_t k = 0; k < kSlices; ++k) {
    for (std::uint32_t i = 0; i < 256; ++i) {
      std::uint32_t& remainder = tables[k][i];
      remainder = k > 0 ? tables[k - 1][i] : i;
      for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0x82F63B78u : 0u);
    }
  }
  return tables;
}

constexpr Tables kTables = make_tables();

#define ASSAY_NAME(number, name, member) {number, #member},
constexpr std::array<std::pair<std::size_t, const char*>, kRecordTypes + 1> kNames{{{0, "?"}, ASSAY_RECORDS(ASSAY_NAME, ASSAY_NAME)}};
#undef ASSAY_NAME
static_assert(std::ranges::all_of(kNames, [](const auto& name) { return &name == &kNames[name.first]; }),
              "types are counted without a gap");

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  for (; bytes.size() >= kSlices; bytes.remove_prefix(kSlices)) {
    std::uint32_t next = 0;
    for (std::size_t k = 0; k < kSlices; ++k) {
      const std::uint32_t before = k < 4 ? crc >> 8 * k : 0;
      next ^= kTables[kSlices - 1 - k][(before ^ static_cast<std::uint8_t>(bytes[k])) & 0xFF];
    }
    crc = next;
  }
  for (const char byte : bytes) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  return ~crc;
}

const char* to_string(RecordType type) { return kNames.at(static_cast<std::size_t>(type)).second; }

}  // namespace assay::certificate
