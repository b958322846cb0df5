// The vocabulary of the certificate file, shared by writer, reader and dump. FORMAT.md is the specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernel/executions/named_models.h"
#include "semantics/graph/execution_model.h"

namespace assay::certificate {

inline constexpr std::string_view kMagic = "ASSAY";
inline constexpr std::uint8_t kVersion = 1;

enum class FrameType : std::uint8_t { records = 1, end = 2 };

enum class RecordType : std::uint8_t {
  begin_group = 1,
  end_group,
  sweep,
  box,
  tighten,
  define_hints,
  conclude,
  conclude_with,
  empty,
  split_zero,  // threshold +0
  split_f32,   // threshold exactly a binary32
  split_f64,
  next,
  done,
  witness,
  tighten_by_cases,
  cut,
  boxes,
};
inline constexpr std::uint8_t kRecordTypes = 18;
[[nodiscard]] const char* to_string(RecordType type);
[[nodiscard]] constexpr bool is_split(RecordType type) {
  return type == RecordType::split_zero || type == RecordType::split_f32 || type == RecordType::split_f64;
}

// How an array of floats is stored; every encoding gives back the same bits.
enum class ArrayKind : std::uint8_t {
  fill,      // one f32: all elements
  bits,      // one bit per element: +0 or 1
  u8,        // one byte k per element: k / 128
  f32,       // four bytes per element
  list_u8,   // as in the base, except the listed (gap, byte)
  list_f32,  // ... (gap, f32)
};
inline constexpr std::uint8_t kArrayKinds = 6;

// Flags: bits 0..2 and 7 open every block of hints, the others belong to tighten.
inline constexpr std::uint8_t kHasLower = 1;
inline constexpr std::uint8_t kHasUpper = 2;
inline constexpr std::uint8_t kHasBeta = 4;
inline constexpr std::uint8_t kHasCuts = 128;
inline constexpr std::uint8_t kHintFlags = kHasLower | kHasUpper | kHasBeta | kHasCuts;
inline constexpr int kSelectionShift = 3;  // two bits: 0 unstable, 1 all, 2 mask
inline constexpr std::uint8_t kHasClaims = 32;
inline constexpr std::uint8_t kRoundToFloat = 64;
// The tag of a leaf in the tree of tighten_by_cases and cut; those of splits are their record types.
inline constexpr std::uint8_t kLeaf = 0;

// Limits, checked before anything is allocated.
inline constexpr std::uint64_t kMaxFrameBytes = std::uint64_t{1} << 30;
inline constexpr std::size_t kFrameTarget = std::size_t{1} << 16;  // the writer closes a frame that has reached this many bytes
inline constexpr std::size_t kMaxNameBytes = 255;                  // semantics name
// How a header names the semantics; the digest covers all of it.
[[nodiscard]] inline std::string name_of(const ExecutionModel& model) {
  return model.kind == ExecutionModel::Kind::real ? to_string(model) : executions::semantics_name(model).substr(0, kMaxNameBytes);
}
inline constexpr std::uint64_t kMaxCases = std::uint64_t{1} << 20;        // in one record, and rows of one case
inline constexpr std::uint64_t kMaxNodes = std::uint64_t{1} << 20;        // of a graph that is not known (dump)
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 24;     // of one of its nodes
inline constexpr std::uint64_t kMaxCaseSteps = std::uint64_t{1} << 16;    // of one tree
inline constexpr std::uint64_t kMaxMultipliers = std::uint64_t{1} << 22;  // of rows, in one record
inline constexpr std::uint64_t kMaxHeldValues = std::uint64_t{1}
                                                << 24;    // of the arrays of a record, of the hints in force; or four per element
inline constexpr std::size_t kMaxRationalBytes = 20000;   // text of one witness coordinate
inline constexpr std::uint64_t kMaxDigits = 100'000'000;  // of all of them; an exponent counts as the most that it can give
inline constexpr std::uint64_t kExponentDigits = 10000;

// CRC-32C (Castagnoli) of `bytes` continued from `crc` (0 to start).
[[nodiscard]] std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes);

}  // namespace assay::certificate
