#include "certificates/format/format.h"

#include <array>

namespace assay::certificate {
namespace {

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t remainder = i;
    for (int bit = 0; bit < 8; ++bit) remainder = (remainder >> 1) ^ ((remainder & 1) != 0 ? 0x82F63B78u : 0u);
    table[i] = remainder;
  }
  return table;
}

constexpr std::array<std::uint32_t, 256> kTable = make_table();

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes) {
  crc = ~crc;
  for (const char byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<std::uint8_t>(byte)) & 0xFF];
  return ~crc;
}

const char* to_string(RecordType type) {
  switch (type) {
    case RecordType::begin_group: return "begin_group";
    case RecordType::end_group: return "end_group";
    case RecordType::sweep: return "sweep";
    case RecordType::box: return "box";
    case RecordType::refine: return "refine";
    case RecordType::define_hints: return "define_hints";
    case RecordType::conclude: return "conclude";
    case RecordType::conclude_with: return "conclude_with";
    case RecordType::empty: return "empty";
    case RecordType::split_zero:
    case RecordType::split_f32:
    case RecordType::split_f64: return "split";
    case RecordType::next: return "next";
    case RecordType::done: return "done";
    case RecordType::witness: return "witness";
  }
  return "?";
}

}  // namespace assay::certificate
