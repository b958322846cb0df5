#include "runtime/tape.h"

#include <utility>

#include "semantics/demand.h"

namespace assay::runtime {

Ref Tape::push(Array value) {
  demand(size_ < kFirstKept - 1, "Tape: fewer than 2^31 values");
  if (size_ / kChunk == chunks_.size()) chunks_.push_back(std::make_unique<Entry[]>(kChunk));
  const Ref ref = size_++;
  Entry& entry = (*this)[ref];
  entry.kind = Entry::Kind::leaf;
  entry.first_operand = entry.operand_count = 0;
  entry.serial = ++serial_;
  entry.value = std::move(value);
  return ref;
}

Ref Tape::keep(Array value) {
  kept_.push_back(std::make_unique<Entry>());
  kept_.back()->serial = ++serial_;
  kept_.back()->value = std::move(value);
  return kFirstKept + static_cast<Ref>(kept_.size() - 1);
}

void Tape::set_operands(Entry& entry, std::span<const Ref> operands) {
  entry.first_operand = static_cast<std::uint32_t>(operands_.size());
  entry.operand_count = static_cast<std::uint32_t>(operands.size());
  operands_.insert(operands_.end(), operands.begin(), operands.end());
}

void Tape::truncate(Ref size) {
  std::size_t operands = operands_.size();
  for (Ref ref = size_; ref-- > size;) {
    Entry& entry = (*this)[ref];
    const Array gone = std::move(entry.value);
    if (entry.attributes.index() != 0) entry.attributes = NoAttributes{};
    if (entry.operand_count > 0) operands = entry.first_operand;
  }
  operands_.resize(operands);
  size_ = size;
}

}  // namespace assay::runtime
