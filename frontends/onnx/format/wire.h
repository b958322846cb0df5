// Wire: a bounds-checked reader of the protobuf wire format.
//
// Stricter than protobuf where two readers could disagree: groups, a tag above 2^29 - 1, a varint of more than ten
// bytes or above 2^64 - 1, a known field of another wire type and a singular field given twice are malformed.
// Unknown fields are skipped. Nothing is copied: payloads point into the file. There is no recursion: each message
// type is decoded by its own function (proto.h), and those that could nest without end (subgraphs, sequence types)
// are never entered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace assay::onnx {

using Bytes = std::span<const std::byte>;

// A message or payload with its position in the file, for messages.
struct Slice {
  Bytes bytes;
  std::size_t offset = 0;
};

enum class WireType : std::uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  std::uint32_t number = 0;
  WireType type = WireType::varint;
  std::uint64_t value = 0;  // varint, fixed64, fixed32
  Slice payload;            // bytes
  std::size_t offset = 0;   // of the tag, in the file
};

// Iterates over the fields of one message. Every problem is thrown as Refused with code "onnx.wire" and the offset.
class Message {
 public:
  Message(Slice slice, const char* name) : slice_(slice), name_(name) {}

  bool next(Field& field);

  // The value of a field that must have this wire type; each also refuses a second occurrence of the field.
  std::int64_t single_int(const Field& field);
  std::uint32_t single_fixed32(const Field& field);
  std::string single_string(const Field& field);
  Slice single_bytes(const Field& field);

  // Repeated fields. Numbers may be packed or not.
  Slice repeated_bytes(const Field& field) const;
  std::string repeated_string(const Field& field) const;
  void append_ints(const Field& field, std::vector<std::int64_t>& values) const;
  void append_fixed32(const Field& field, std::vector<std::uint32_t>& values) const;
  void append_fixed64(const Field& field, std::vector<std::uint64_t>& values) const;

 private:
  [[noreturn]] void fail(std::size_t offset, std::string required, std::string found) const;
  void expect(const Field& field, WireType type) const;
  void once(const Field& field);
  std::uint64_t varint(Slice slice, std::size_t& position) const;
  std::uint64_t little_endian(Slice slice, std::size_t& position, std::size_t width) const;

  Slice slice_;
  const char* name_;
  std::size_t position_ = 0;
  std::uint64_t seen_ = 0;  // bit per singular field number below 64
};

}  // namespace assay::onnx
