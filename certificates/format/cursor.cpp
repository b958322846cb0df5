#include "certificates/format/cursor.h"

#include <bit>
#include <utility>

namespace assay::certificate {

void Cursor::fail(const char* code, std::string required, std::string found) {
  if (fault_) return;
  fault_ = Rejection{Rejection::Kind::malformed, code, "byte " + std::to_string(offset()), std::move(required), std::move(found),
                     "the file is damaged or was written by another program: see certificates/FORMAT.md"};
  at_ = bytes_.size();
}

std::string_view Cursor::take(std::uint64_t count) {
  if (count > remaining()) {
    fail("certificate.frame", "the record ends inside its frame", std::to_string(count) + " bytes wanted, " + std::to_string(remaining()) + " left");
    return {};
  }
  const std::string_view taken = bytes_.substr(at_, count);
  at_ += count;
  return taken;
}

std::uint8_t Cursor::byte() {
  const std::string_view taken = take(1);
  return taken.empty() ? std::uint8_t{0} : static_cast<std::uint8_t>(taken[0]);
}

std::uint64_t Cursor::varint() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const std::uint64_t byte_read = byte();
    if (fault_) return 0;
    if ((shift > 0 && byte_read == 0) || (shift == 63 && byte_read > 1)) break;
    value |= (byte_read & 127) << shift;
    if (byte_read < 128) return value;
  }
  fail("certificate.varint", "a varint in its shortest form, below 2^64", "a longer one");
  return 0;
}

std::uint32_t Cursor::varint32() {
  const std::uint64_t value = varint();
  if (value <= 0xFFFFFFFFu) return static_cast<std::uint32_t>(value);
  fail("certificate.value", "an index below 2^32", std::to_string(value));
  return 0;
}

std::uint64_t Cursor::count(std::uint64_t bytes_each) {
  const std::uint64_t value = varint();
  if (value <= remaining() / bytes_each) return value;
  fail("certificate.length", "as many entries as the frame has room for",
       std::to_string(value) + " entries in " + std::to_string(remaining()) + " bytes");
  return 0;
}

std::uint64_t Cursor::little_endian(int bytes) {
  const std::string_view taken = take(static_cast<std::uint64_t>(bytes));
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < taken.size(); ++i) value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(taken[i])) << (8 * i);
  return value;
}

float Cursor::f32() { return std::bit_cast<float>(static_cast<std::uint32_t>(little_endian(4))); }
double Cursor::f64() { return std::bit_cast<double>(little_endian(8)); }

}  // namespace assay::certificate
