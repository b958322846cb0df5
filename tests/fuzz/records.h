// Records of certificates, written again after somebody changed them: what the benders and the fuzz targets share. No test framework.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "certificates/format/reader.h"
#include "certificates/format/writer.h"

namespace assay::fuzz {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>(value & 127 | 128);
  return out + static_cast<char>(value);
}

inline void put_byte(std::string& out, std::uint64_t byte) { out += static_cast<char>(byte); }

inline std::string written(const certificate::Record& record) {
  std::string out;
  certificate::Fragment step;
  const kernel::Claims* claims = record.claimed ? &record.claims : nullptr;
  put_byte(out, static_cast<std::uint64_t>(record.type));
  switch (record.type) {
    case certificate::RecordType::begin_group:
      return out + varint(record.group);
    case certificate::RecordType::end_group:
    case certificate::RecordType::next:
    case certificate::RecordType::done:
    case certificate::RecordType::empty:
      return out;
    case certificate::RecordType::sweep:
      step.sweep(record.node, record.round_to_float);
      return step.bytes();
    case certificate::RecordType::boxes:
      step.boxes(record.node);
      return step.bytes();
    case certificate::RecordType::box:
      step.box(record.node);
      return step.bytes();
    case certificate::RecordType::tighten:
      step.tighten(record.node, record.selection, record.hints, claims, record.round_to_float);
      return step.bytes();
    case certificate::RecordType::tighten_by_cases:
      step.tighten_by_cases(record.node, record.selection, record.tree, record.round_to_float);
      return step.bytes();
    case certificate::RecordType::cut:
      step.cut(record.terms, record.tree);
      return step.bytes();
    case certificate::RecordType::define_hints:
      step.define_hints(record.hints_id, record.hints);
      return step.bytes();
    case certificate::RecordType::conclude:
      step.conclude(record.cases, record.hints);
      return step.bytes();
    case certificate::RecordType::conclude_with:
      step.conclude_with(record.cases, record.hints_id, record.hints.beta);
      return step.bytes();
    case certificate::RecordType::split_zero:
    case certificate::RecordType::split_f32:
    case certificate::RecordType::split_f64: {
      out[0] = static_cast<char>(certificate::RecordType::split_f64);
      out += varint(record.node) + varint(record.element);
      const auto bits = std::bit_cast<std::uint64_t>(record.threshold);
      for (int i = 0; i < 8; ++i) put_byte(out, bits >> (8 * i) & 255);
      return out;
    }
    case certificate::RecordType::witness:
      out += varint(record.witness.case_index) + varint(record.witness.inputs.size());
      for (const Rational& x : record.witness.inputs) out += varint(x.to_string().size()) + x.to_string();
      return out;
  }
  return out;
}

inline std::string written(const std::vector<certificate::Record>& records) {
  std::string out;
  for (const certificate::Record& record : records) out += written(record);
  return out;
}

// A frame of the file with its checksum, and the checksum of any bytes as the file has it.
inline std::string checksum(const std::string& bytes) {
  const std::uint32_t crc = certificate::crc32c(0, bytes);
  std::string out;
  for (int i = 0; i < 4; ++i) put_byte(out, crc >> (8 * i) & 255);
  return out;
}
inline std::string frame(certificate::FrameType type, const std::string& payload) {
  const std::string bytes = std::string(1, static_cast<char>(type)) + varint(payload.size()) + payload;
  return bytes + checksum(bytes);
}
// Header, one frame of records, end.
inline std::string certificate_of(const kernel::Digest& digest, const std::string& semantics, const std::string& records) {
  std::string header(certificate::kMagic);
  put_byte(header, certificate::kVersion);
  for (const auto byte : digest) put_byte(header, static_cast<std::uint8_t>(byte));
  header += varint(semantics.size()) + semantics;
  return header + checksum(header) + frame(certificate::FrameType::records, records) + frame(certificate::FrameType::end, varint(1));
}

// Digest, and checksums of the header and of every frame that ends inside the file.
inline void repair(std::string& file, const kernel::Digest& digest) {
  constexpr std::size_t kDigestAt = 6, kLengthAt = 38;
  if (file.size() <= kLengthAt) return;
  const auto renew = [&file](std::size_t begin, std::size_t end) {
    if (end + 4 <= file.size()) file.replace(end, 4, checksum(file.substr(begin, end - begin)));
  };
  std::copy(digest.begin(), digest.end(), file.begin() + kDigestAt);
  std::size_t at = kLengthAt + 1 + static_cast<std::uint8_t>(file[kLengthAt]);
  renew(0, at);
  for (at += 4; at + 2 < file.size();) {
    const std::size_t begin = at++;
    std::uint64_t length = 0;
    for (int shift = 0; at < file.size() && shift < 64; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(file[at++]);
      length |= std::uint64_t{byte & 127U} << shift;
      if (byte < 128) break;
    }
    if (length > file.size() - at) return;
    at += static_cast<std::size_t>(length);
    renew(begin, at);
    at += 4;
  }
}

}  // namespace assay::fuzz
