// Records of certificates, written again after a change: the benders and the fuzz targets share this. No test framework.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <string>
#include <vector>

#include "certificates/format/record.h"
#include "certificates/format/writer.h"

namespace assay::fuzz {

inline std::string varint(std::uint64_t value) {
  std::string out;
  for (; value > 127; value >>= 7) out += static_cast<char>(value & 127 | 128);
  return out + static_cast<char>(value);
}

inline void put_byte(std::string& out, std::uint64_t byte) { out += static_cast<char>(byte); }

// The bytes of each kind of record; a split's threshold as a binary64, whatever it was.
struct Written {
  using Record = certificate::Record;
  certificate::Fragment steps;

  static std::string type(const Record& record) { return std::string(1, static_cast<char>(record.type)); }
  static std::string begin_group(const Record& record) { return type(record) + varint(record.group); }
  static std::string end_group(const Record& record) { return type(record); }
  static std::string next(const Record& record) { return type(record); }
  static std::string done(const Record& record) { return type(record); }
  static std::string split(const Record& record) {
    std::string out(1, static_cast<char>(certificate::RecordType::split_f64));
    out += varint(record.node) + varint(record.element);
    const auto bits = std::bit_cast<std::uint64_t>(record.threshold);
    for (int i = 0; i < 8; ++i) put_byte(out, bits >> (8 * i) & 255);
    return out;
  }
  static std::string witness(const Record& record) {
    std::string out = type(record) + varint(record.witness.case_index) + varint(record.witness.inputs.size());
    for (const Rational& x : record.witness.inputs) out += varint(x.to_string().size()) + x.to_string();
    return out;
  }
  std::string sweep(const Record& record) { return steps.sweep(record.node, record.round_to_float), steps.bytes(); }
  std::string boxes(const Record& record) { return steps.boxes(record.node), steps.bytes(); }
  std::string box(const Record& record) { return steps.box(record.node), steps.bytes(); }
  std::string tighten(const Record& record) {
    const logic::Claims* claims = record.claimed ? &record.claims : nullptr;
    return steps.tighten(record.node, record.selection, record.hints, claims, record.round_to_float), steps.bytes();
  }
  std::string tighten_by_cases(const Record& record) {
    return steps.tighten_by_cases(record.node, record.selection, record.tree, record.round_to_float), steps.bytes();
  }
  std::string cut(const Record& record) { return steps.cut(record.terms, record.tree), steps.bytes(); }
  std::string define_hints(const Record& record) { return steps.define_hints(record.hints_id, record.hints), steps.bytes(); }
  std::string conclude(const Record& record) { return steps.conclude(record.cases, record.hints), steps.bytes(); }
  std::string conclude_with(const Record& record) {
    return steps.conclude_with(record.cases, record.hints_id, record.hints.beta), steps.bytes();
  }
  std::string empty(const Record&) { return steps.empty(), steps.bytes(); }
};

inline std::string written(const certificate::Record& record) { return visit(record, Written{}); }

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
inline std::string certificate_of(const statement::Digest& digest, const std::string& semantics, const std::string& records) {
  std::string header(certificate::kMagic);
  put_byte(header, certificate::kVersion);
  for (const auto byte : digest) put_byte(header, static_cast<std::uint8_t>(byte));
  header += varint(semantics.size()) + semantics;
  return header + checksum(header) + frame(certificate::FrameType::records, records) + frame(certificate::FrameType::end, varint(1));
}

// Digest, and checksums of the header and of every frame that ends inside the file.
inline void repair(std::string& file, const statement::Digest& digest) {
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
