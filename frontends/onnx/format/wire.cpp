#include "frontends/onnx/format/wire.h"

#include "frontends/onnx/lowering/refusal.h"

namespace assay::onnx {
namespace {

constexpr std::size_t kLongestVarint = 10;                           // bytes, ceil(64 / 7)
constexpr std::uint64_t kLargestTag = (std::uint64_t{1} << 32) - 1;  // field number 2^29 - 1, wire type 7

const char* name_of(WireType type) {
  switch (type) {
    case WireType::varint:
      return "varint";
    case WireType::fixed64:
      return "64-bit value";
    case WireType::bytes:
      return "length-delimited value";
    case WireType::fixed32:
      return "32-bit value";
  }
  return "value";
}

}  // namespace

void Message::fail(std::size_t offset, std::string required, std::string found) const {
  refuse_malformed("onnx.wire", std::string("byte ") + std::to_string(offset) + " in " + name_, std::move(required), std::move(found),
                   "the file is damaged or is not an ONNX model; fetch or export it again");
}

std::uint64_t Message::varint(Slice slice, std::size_t& position) const {
  const std::size_t start = position;
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < kLongestVarint; ++i) {
    if (position >= slice.bytes.size()) fail(slice.offset + start, "a complete varint", "the end of the message");
    const auto byte = static_cast<std::uint64_t>(slice.bytes[position++]);
    if (i + 1 == kLongestVarint && byte > 1) break;
    value |= (byte & 0x7f) << (7 * i);
    if ((byte & 0x80) == 0) return value;
  }
  fail(slice.offset + start, "a varint below 2^64 in at most ten bytes", "one of more bytes, or of 2^64 and more");
}

std::uint64_t Message::little_endian(Slice slice, std::size_t& position, std::size_t width) const {
  if (slice.bytes.size() - position < width) fail(slice.offset + position, std::to_string(width) + " bytes", "the end of the message");
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < width; ++i) value |= static_cast<std::uint64_t>(slice.bytes[position + i]) << (8 * i);
  position += width;
  return value;
}

bool Message::next(Field& field) {
  if (position_ == slice_.bytes.size()) return false;
  field = Field{};
  field.offset = slice_.offset + position_;
  const std::uint64_t tag = varint(slice_, position_);
  if (tag > kLargestTag || tag >> 3 == 0) fail(field.offset, "a field number from 1 to 2^29 - 1", std::to_string(tag >> 3));
  field.number = static_cast<std::uint32_t>(tag >> 3);
  switch (tag & 7) {
    case 0:
      field.value = varint(slice_, position_);
      break;
    case 1:
      field.value = little_endian(slice_, position_, 8);
      break;
    case 5:
      field.value = little_endian(slice_, position_, 4);
      break;
    case 2: {
      const std::uint64_t length = varint(slice_, position_);
      const std::size_t left = slice_.bytes.size() - position_;
      if (length > left) fail(field.offset, "a length of at most " + std::to_string(left) + " bytes", std::to_string(length));
      field.payload = {slice_.bytes.subspan(position_, static_cast<std::size_t>(length)), slice_.offset + position_};
      position_ += static_cast<std::size_t>(length);
      break;
    }
    default:
      fail(field.offset, "wire type 0, 1, 2 or 5", std::to_string(tag & 7));
  }
  field.type = static_cast<WireType>(tag & 7);
  return true;
}

void Message::expect(const Field& field, WireType type) const {
  if (field.type != type)
    fail(field.offset, "field " + std::to_string(field.number) + " as a " + name_of(type), std::string("a ") + name_of(field.type));
}

void Message::once(const Field& field) {
  const std::uint64_t bit = std::uint64_t{1} << (field.number & 63);
  if ((seen_ & bit) != 0) fail(field.offset, "field " + std::to_string(field.number) + " at most once", "a second one");
  seen_ |= bit;
}

std::int64_t Message::single_int(const Field& field) {
  once(field);
  expect(field, WireType::varint);
  return static_cast<std::int64_t>(field.value);
}

std::uint32_t Message::single_fixed32(const Field& field) {
  once(field);
  expect(field, WireType::fixed32);
  return static_cast<std::uint32_t>(field.value);
}

Slice Message::single_bytes(const Field& field) {
  once(field);
  return repeated_bytes(field);
}

std::string Message::single_string(const Field& field) {
  once(field);
  return repeated_string(field);
}

Slice Message::repeated_bytes(const Field& field) const {
  expect(field, WireType::bytes);
  return field.payload;
}

std::string Message::repeated_string(const Field& field) const {
  const Slice text = repeated_bytes(field);
  return {reinterpret_cast<const char*>(text.bytes.data()), text.bytes.size()};
}

void Message::append_ints(const Field& field, std::vector<std::int64_t>& values) const {
  if (field.type == WireType::varint) return values.push_back(static_cast<std::int64_t>(field.value));
  const Slice packed = repeated_bytes(field);
  for (std::size_t position = 0; position < packed.bytes.size();) values.push_back(static_cast<std::int64_t>(varint(packed, position)));
}

void Message::append_fixed32(const Field& field, std::vector<std::uint32_t>& values) const {
  if (field.type == WireType::fixed32) return values.push_back(static_cast<std::uint32_t>(field.value));
  const Slice packed = repeated_bytes(field);
  values.reserve(values.size() + packed.bytes.size() / 4);
  for (std::size_t position = 0; position < packed.bytes.size();)
    values.push_back(static_cast<std::uint32_t>(little_endian(packed, position, 4)));
}

void Message::append_fixed64(const Field& field, std::vector<std::uint64_t>& values) const {
  if (field.type == WireType::fixed64) return values.push_back(field.value);
  const Slice packed = repeated_bytes(field);
  values.reserve(values.size() + packed.bytes.size() / 8);
  for (std::size_t position = 0; position < packed.bytes.size();) values.push_back(little_endian(packed, position, 8));
}

}  // namespace assay::onnx
