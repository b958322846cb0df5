// Little-endian building blocks of the writer.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

#include "certificates/format/format.h"
#include "semantics/graph/graph.h"

namespace assay::certificate {

inline void put_byte(std::string& out, std::uint64_t value) { out.push_back(static_cast<char>(static_cast<std::uint8_t>(value))); }

inline void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 128; value >>= 7) put_byte(out, (value & 127) | 128);
  put_byte(out, value);
}

inline std::size_t varint_size(std::uint64_t value) {
  std::size_t size = 1;
  for (; value >= 128; value >>= 7) ++size;
  return size;
}

inline void put_u32(std::string& out, std::uint32_t value) {
  for (int i = 0; i < 4; ++i) put_byte(out, value >> (8 * i));
}

inline void put_u64(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) put_byte(out, value >> (8 * i));
}

inline void put_f32(std::string& out, float value) { put_u32(out, std::bit_cast<std::uint32_t>(value)); }
inline void put_f64(std::string& out, double value) { put_u64(out, std::bit_cast<std::uint64_t>(value)); }

// Writes a split record of the shortest type that keeps the threshold's bits.
inline void put_split(std::string& out, NodeId node, std::uint32_t element, double threshold) {
  const auto narrow = static_cast<float>(threshold);
  const bool zero = std::bit_cast<std::uint64_t>(threshold) == 0;
  const bool exact = std::bit_cast<std::uint64_t>(static_cast<double>(narrow)) == std::bit_cast<std::uint64_t>(threshold);
  put_byte(out, static_cast<std::uint64_t>(zero ? RecordType::split_zero : exact ? RecordType::split_f32 : RecordType::split_f64));
  put_varint(out, node);
  put_varint(out, element);
  if (!zero && exact) put_f32(out, narrow);
  if (!zero && !exact) put_f64(out, threshold);
}

}  // namespace assay::certificate
