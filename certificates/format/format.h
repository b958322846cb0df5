// The constants of the certificate format, shared by writer, reader and dump. FORMAT.md is the specification.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "kernel/floats/named_models.h"
#include "semantics/graph/execution_model.h"

namespace assay::certificate {

inline constexpr std::string_view kMagic = "ASSAY";
inline constexpr std::uint8_t kVersion = 1;

enum class FrameType : std::uint8_t { records = 1, end = 2 };

// Every kind of record, in the order of the type numbers: its type, its name, and the member of a RecordVisitor
// (record.h) that receives it. A STEP derives or refutes something in a branch; the others give a proof its
// structure. The three types of splits have the same meaning; they store a threshold that is +0, exactly a
// binary32, or a binary64.
#define ASSAY_RECORDS(RECORD, STEP)            \
  RECORD(1, begin_group, begin_group)          \
  RECORD(2, end_group, end_group)              \
  STEP(3, sweep, sweep)                        \
  STEP(4, box, box)                            \
  STEP(5, tighten, tighten)                    \
  STEP(6, define_hints, define_hints)          \
  STEP(7, conclude, conclude)                  \
  STEP(8, conclude_with, conclude_with)        \
  STEP(9, empty, empty)                        \
  RECORD(10, split_zero, split)                \
  RECORD(11, split_f32, split)                 \
  RECORD(12, split_f64, split)                 \
  RECORD(13, next, next)                       \
  RECORD(14, done, done)                       \
  RECORD(15, witness, witness)                 \
  STEP(16, tighten_by_cases, tighten_by_cases) \
  STEP(17, cut, cut)                           \
  STEP(18, boxes, boxes)

#define ASSAY_TYPE(number, name, member) name = number,
enum class RecordType : std::uint8_t { ASSAY_RECORDS(ASSAY_TYPE, ASSAY_TYPE) };
#undef ASSAY_TYPE

#define ASSAY_ONE(...) +1
inline constexpr std::uint8_t kRecordTypes = 0 ASSAY_RECORDS(ASSAY_ONE, ASSAY_ONE);  // the types are 1 to this number
#undef ASSAY_ONE
[[nodiscard]] constexpr bool is_known(RecordType type) { return RecordType{1} <= type && type <= RecordType{kRecordTypes}; }
// The name of the kind; the three types of splits share one.
[[nodiscard]] const char* to_string(RecordType type);
[[nodiscard]] constexpr bool is_split(RecordType type) {
  return type == RecordType::split_zero || type == RecordType::split_f32 || type == RecordType::split_f64;
}

// The encodings of an array of floats. Every encoding reproduces the same bits.
enum class ArrayKind : std::uint8_t {
  fill,      // one f32 for all elements
  bits,      // one bit per element: +0 or 1
  u8,        // one byte k per element: k / 128
  f32,       // four bytes per element
  list_u8,   // like the base, except for the listed entries (gap, byte)
  list_f32,  // the same with entries (gap, f32)
};
inline constexpr std::uint8_t kArrayKinds = 6;

// Flags. Bits 0..2 and 7 start every block of hints; the others belong to tighten.
inline constexpr std::uint8_t kHasLower = 1;
inline constexpr std::uint8_t kHasUpper = 2;
inline constexpr std::uint8_t kHasBeta = 4;
inline constexpr std::uint8_t kHasCuts = 128;
inline constexpr std::uint8_t kHintFlags = kHasLower | kHasUpper | kHasBeta | kHasCuts;
inline constexpr int kSelectionShift = 3;  // two bits: 0 unstable, 1 all, 2 mask
inline constexpr std::uint8_t kHasClaims = 32;
inline constexpr std::uint8_t kRoundToFloat = 64;
// The tag of a leaf in the tree of tighten_by_cases and cut. The tags of splits are their record types.
inline constexpr std::uint8_t kLeaf = 0;

// Limits, checked before memory is allocated.
inline constexpr std::uint64_t kMaxFrameBytes = std::uint64_t{1} << 30;
// The writer closes a frame once it has this many bytes.
inline constexpr std::size_t kFrameTarget = std::size_t{1} << 16;
inline constexpr std::size_t kMaxNameBytes = 255;  // of the name of the semantics
// The name of the semantics in a header. The digest covers the semantics completely.
[[nodiscard]] inline std::string name_of(const ExecutionModel& model) {
  return model.kind == ExecutionModel::Kind::real ? to_string(model) : floats::semantics_name(model).substr(0, kMaxNameBytes);
}
inline constexpr std::uint64_t kMaxCases = std::uint64_t{1} << 20;        // in one record; also rows of one case
inline constexpr std::uint64_t kMaxNodes = std::uint64_t{1} << 20;        // of a graph that is not known (dump)
inline constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 24;     // of one of its nodes
inline constexpr std::uint64_t kMaxCaseSteps = std::uint64_t{1} << 16;    // of one tree
inline constexpr std::uint64_t kMaxMultipliers = std::uint64_t{1} << 22;  // of rows, in one record
// In all arrays of a record and of the hints in force; or four per element, if more.
inline constexpr std::uint64_t kMaxHeldValues = std::uint64_t{1} << 24;
inline constexpr std::size_t kMaxRationalBytes = 20000;  // of the text of one witness coordinate
// In all of them; an exponent counts as the most digits that it can give.
inline constexpr std::uint64_t kMaxDigits = 100'000'000;
inline constexpr std::uint64_t kExponentDigits = 10000;

// CRC-32C (Castagnoli) of `bytes` continued from `crc` (0 to start).
[[nodiscard]] std::uint32_t crc32c(std::uint32_t crc, std::string_view bytes);

}  // namespace assay::certificate
