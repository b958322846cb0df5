// Tape: the values of a session in the order in which they were made, each with the op that made it. Private to the session.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "runtime/array.h"
#include "runtime/autodiff/emitter.h"
#include "semantics/graph/op.h"

namespace assay::runtime {

using autodiff::kNone;
using autodiff::Ref;

inline constexpr Ref kFirstKept = Ref{1} << 31;  // names from here on belong to values that outlive clear()

struct Entry {
  enum class Kind : std::uint8_t {
    leaf,  // from outside
    op,
    unrecorded,  // an op's result, of which no more is known
    detached,    // the value of its operand, through which no gradient passes
    checkpoint,
    replayed,  // a compiled function's result, of its arguments and parameters: differentiated inside or not at all
  };
  Kind kind = Kind::leaf;
  Op op = Op::input;
  std::uint32_t first_operand = 0, operand_count = 0;
  std::uint32_t checkpoint = 0;  // which one
  std::uint32_t serial = 0;      // no two values of a session have the same
  std::uint32_t changed_at = 0;  // kept values: the tape's length when the value was replaced last
  Attributes attributes;
  Array value;
};

// Entries never move, and their memory is used again after clear().
class Tape {
 public:
  [[nodiscard]] Ref size() const { return size_; }
  [[nodiscard]] Ref kept_size() const { return static_cast<Ref>(kept_.size()); }
  [[nodiscard]] bool has(Ref ref) const { return ref >= kFirstKept ? ref - kFirstKept < kept_.size() : ref < size_; }
  [[nodiscard]] Entry& operator[](Ref ref) { return ref >= kFirstKept ? *kept_[ref - kFirstKept] : chunks_[ref / kChunk][ref % kChunk]; }
  [[nodiscard]] const Entry& operator[](Ref ref) const { return const_cast<Tape&>(*this)[ref]; }
  [[nodiscard]] std::span<const Ref> operands(const Entry& entry) const {
    return {operands_.data() + entry.first_operand, entry.operand_count};
  }

  Ref push(Array value);
  Ref keep(Array value);
  void set_operands(Entry& entry, std::span<const Ref> operands);
  void truncate(Ref size);  // entries from `size` on are forgotten

 private:
  static constexpr Ref kChunk = 64;
  std::vector<std::unique_ptr<Entry[]>> chunks_;
  std::vector<std::unique_ptr<Entry>> kept_;
  std::vector<Ref> operands_;
  Ref size_ = 0;
  std::uint32_t serial_ = 0;
};

}  // namespace assay::runtime
