// The names of record types, and the checksum CRC-32C.

#include "certificates/format/format.h"

#include <array>

namespace assay::certificate {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    table[i] = i;
    for (int bit = 0; bit < 8; ++bit) table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? 0x82F63B78u : 0u);
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();
constexpr std::array<const char*, kRecordTypes + 1> kNames{
    "?",     "begin_group", "end_group", "sweep", "box",  "tighten", "define_hints",     "conclude", "conclude_with", "empty",
    "split", "split",       "split",     "next",  "done", "witness", "tighten_by_cases", "cut",      "boxes"};

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  return ~crc;
}

const char* to_string(RecordType type) { return kNames.at(static_cast<std::size_t>(type)); }

}  // namespace assay::certificate
