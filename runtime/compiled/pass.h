// A pass: elementwise ops of one shape, block by block. Private to this folder.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/compiled/items.h"
#include "runtime/kernels/composed.h"
#include "runtime/kernels/lanes.h"
#include "runtime/kernels/strides.h"

namespace assay::runtime::compiled {

// Parts of tensors that passes read and write in place, in lines, without copies before and after.
struct PartsInPlace {
  std::map<ItemId, Part> slices;                     // items that are this part of their operand
  std::map<ItemId, std::pair<ItemId, Part>> summed;  // members of passes, each this part of a sum of pads
};

class Pass {
 public:
  // Element i of a part, in its order, is element first + i / length * apart + i % length of the tensor.
  struct Lines {
    std::size_t first, length, apart;
  };
  static Lines lines_of(const Part& part, const Shape& shape);

  // The members in order; `kept`: whether an item's value is needed outside.
  Pass(const Items& items, const std::vector<ItemId>& members, const std::vector<bool>& kept, const PartsInPlace& parts);

  [[nodiscard]] const std::vector<ItemId>& reads() const { return reads_; }    // items outside, and wholes of slices
  [[nodiscard]] const std::vector<ItemId>& taken() const { return taken_; }    // slices that it takes out of what it reads
  [[nodiscard]] const std::vector<ItemId>& writes() const { return writes_; }  // members that are kept, and sums of pads
  [[nodiscard]] std::vector<ItemId> operands() const;                          // of its ops: slices, and not their wholes
  [[nodiscard]] std::size_t length() const { return ops_; }
  // Returns true if it has so many short lines, for values that repeat along the next axis, that its ops are faster one by one.
  [[nodiscard]] bool has_short_lines() const;
  // One array per item of reads() and writes().
  void run(const std::vector<const Array*>& reads, const std::vector<Array*>& writes) const;

 private:
  struct Place {
    enum class Kind : std::uint8_t { read, write, block } kind = Kind::block;
    std::size_t index = 0;
  };
  struct Instruction {
    LaneKernel kernel = nullptr;  // none: a copy from lines of what is read
    Numbers numbers;
    std::vector<Place> operands;
    Place result;
    std::optional<Lines> lines;  // of what is read, or else written
  };
  void take_out(const Instruction& instruction, const std::byte* from, std::byte* to, std::size_t begin, std::size_t count) const;
  void put_in(const Instruction& instruction, const std::byte* from, std::byte* to, std::size_t begin, std::size_t count) const;
  void run_line(const std::vector<const std::byte*>& reads, const std::vector<std::byte*>& writes, std::byte* blocks, std::size_t begin,
                std::size_t count) const;

  std::vector<ItemId> reads_, writes_, taken_;
  std::vector<bool> in_lines_;  // by read and then by write: a part of it
  std::vector<Instruction> code_;
  std::size_t ops_ = 0;
  std::size_t blocks_ = 0, width_ = 4;
  Loops loops_;  // of the reads, then of the result
};

}  // namespace assay::runtime::compiled
