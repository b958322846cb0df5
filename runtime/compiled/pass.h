// A pass: elementwise ops of one shape, block by block. Private to this folder.
#pragma once

#include <array>
#include <memory>
#include <vector>

#include "runtime/compiled/items.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/strides.h"

namespace assay::runtime::compiled {

class Pass {
 public:
  // The members in order; `kept`: whether an item's value is needed outside.
  Pass(const Items& items, const std::vector<ItemId>& members, const std::vector<bool>& kept);

  [[nodiscard]] const std::vector<ItemId>& reads() const { return reads_; }    // items outside
  [[nodiscard]] const std::vector<ItemId>& writes() const { return writes_; }  // members that are kept
  [[nodiscard]] std::size_t length() const { return code_.size(); }
  // Whether it has so many short lines, for what is repeated along the next axis, that its ops are faster one by one.
  [[nodiscard]] bool has_short_lines() const;
  // One array per item of reads() and writes().
  void run(const std::vector<const Array*>& reads, const std::vector<Array*>& writes) const;

 private:
  struct Place {
    enum class Kind : std::uint8_t { read, write, block } kind = Kind::block;
    std::size_t index = 0;
  };
  struct Instruction {
    LaneKernel kernel = nullptr;
    Numbers numbers;
    std::vector<Place> operands;
    Place result;
  };
  void run_line(const std::vector<const std::byte*>& reads, const std::vector<std::byte*>& writes, std::byte* blocks,
                std::size_t count) const;

  std::vector<ItemId> reads_, writes_;
  std::vector<Instruction> code_;
  std::size_t blocks_ = 0, width_ = 4;
  Loops loops_;  // of the reads, then of the result
};

}  // namespace assay::runtime::compiled
