// Cursor: a bounds-checked walk over the bytes of one frame. The first fault sticks; later reads give zeros.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "semantics/outcome.h"

namespace assay::certificate {

class Cursor {
 public:
  // `offset` is the position of bytes[0] in the file, for messages.
  explicit Cursor(std::string_view bytes = {}, std::uint64_t offset = 0) : bytes_(bytes), offset_(offset) {}

  std::uint8_t byte();
  std::uint64_t varint();            // LEB128, minimal form
  std::uint32_t varint32();          // ... at most 2^32 - 1
  std::uint64_t count(std::uint64_t bytes_each);  // a varint n with n * bytes_each <= remaining()
  float f32();
  double f64();
  std::string_view take(std::uint64_t count);

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - at_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_ + at_; }

  void fail(const char* code, std::string required, std::string found);
  [[nodiscard]] const std::optional<Rejection>& fault() const { return fault_; }

 private:
  std::uint64_t little_endian(int bytes);
  std::string_view bytes_;
  std::uint64_t offset_ = 0;
  std::size_t at_ = 0;
  std::optional<Rejection> fault_;
};

}  // namespace assay::certificate
