// Cursor: reads the bytes of one frame with bounds checks. The first fault is kept; all later reads give zeros.
#pragma once

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "semantics/outcome.h"
#include "semantics/statement/words.h"

namespace assay::certificate {

class Cursor {
 public:
  // `offset` is the position of bytes[0] in the file, for messages.
  explicit Cursor(std::string_view bytes = {}, std::uint64_t offset = 0) : bytes_(bytes), offset_(offset) {}

  [[nodiscard]] bool at_end() const { return at_ == bytes_.size(); }
  [[nodiscard]] std::uint64_t remaining() const { return bytes_.size() - at_; }
  [[nodiscard]] std::uint64_t offset() const { return offset_ + at_; }
  // The bytes from a position in the file up to the current one.
  [[nodiscard]] std::string_view since(std::uint64_t offset) const { return bytes_.substr(offset - offset_, offset_ + at_ - offset); }
  [[nodiscard]] const std::optional<Rejection>& fault() const { return fault_; }

  void fail(const char* code, std::string required, std::string found, Rejection::Kind kind = Rejection::Kind::malformed,
            const char* advice = "") {
    if (!fault_) fault_ = Rejection{kind, code, "byte " + std::to_string(offset()), std::move(required), std::move(found), advice};
    at_ = bytes_.size();
  }
  // Names the step of the fault, once.
  void locate(std::uint64_t step, const char* name) {
    if (!fault_->place.starts_with("byte ")) return;
    fault_->place.insert(0, "step " + std::to_string(step) + " (" + name + "), ");
    if (fault_->advice.empty()) fault_->advice = statement::advice_to_writer(step);
  }

  std::string_view take(std::uint64_t count) {
    if (!(count <= remaining())) {
      fail("certificate.frame", "a record that ends inside of its frame",
           std::to_string(count) + " bytes wanted, " + std::to_string(remaining()) + " left");
      return {};
    }
    at_ += count;
    return bytes_.substr(at_ - count, count);
  }

  // Skips `count` entries: a varint and `bytes_each` bytes each.
  void skip_listed(std::uint64_t count, std::uint64_t bytes_each) {
    std::uint64_t at = at_;
    for (; count > 0 && at < bytes_.size(); --count, at += 1 + bytes_each)
      while (at < bytes_.size() && static_cast<std::uint8_t>(bytes_[at]) >= 128) ++at;
    take(count > 0 ? remaining() + 1 : at - at_);
  }

  // A LEB128 number in its shortest form.
  std::uint64_t varint() {
    if (at_ < bytes_.size() && static_cast<std::uint8_t>(bytes_[at_]) < 128) return byte();  // the most frequent case
    std::uint64_t value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      const std::uint64_t read = byte();
      if (fault_) return 0;
      if ((shift > 0 && read == 0) || (shift == 63 && read > 1)) break;
      value |= (read & 127) << shift;
      if (read < 128) return value;
    }
    fail("certificate.varint", "a varint in its shortest form, below 2^64", "a longer form, or a greater number");
    return 0;
  }

  std::uint32_t varint32() {
    const std::uint64_t value = varint();
    if (value >> 32 != 0) fail("certificate.value", "an index below 2^32", std::to_string(value));
    return static_cast<std::uint32_t>(value);
  }

  // A varint n with n * bytes_each <= remaining().
  std::uint64_t count(std::uint64_t bytes_each, const char* required = "as many entries as the frame has room for") {
    const std::uint64_t value = varint();
    if (value <= remaining() / bytes_each) return value;
    fail("certificate.length", required, std::to_string(value));
    return 0;
  }

  std::uint8_t byte() {
    if (at_ < bytes_.size()) return static_cast<std::uint8_t>(bytes_[at_++]);
    take(1);
    return 0;
  }
  float f32() { return std::bit_cast<float>(static_cast<std::uint32_t>(little_endian<4>())); }
  double f64() { return std::bit_cast<double>(little_endian<8>()); }

 private:
  template <std::size_t kSize>
  std::uint64_t little_endian() {
    const std::string_view taken = take(kSize);
    std::uint64_t value = 0;
    if (taken.size() == kSize)
      for (std::size_t i = 0; i < kSize; ++i) value |= static_cast<std::uint64_t>(static_cast<std::uint8_t>(taken[i])) << (8 * i);
    return value;
  }

  std::string_view bytes_;
  std::uint64_t offset_ = 0;
  std::size_t at_ = 0;
  std::optional<Rejection> fault_;
};

}  // namespace assay::certificate
