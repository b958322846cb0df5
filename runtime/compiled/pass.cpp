#include "runtime/compiled/pass.h"

#include <algorithm>
#include <map>

#include "runtime/buffers.h"
#include "runtime/threads.h"

namespace assay::runtime::compiled {

namespace {

constexpr std::size_t kBlock = 1 << 11;  // elements: some blocks of 8 or 16 kilobytes stay in the second cache, two or three in the first
constexpr std::size_t kPassGrain = 1 << 15;  // of a task at least: elements times ops
constexpr std::size_t kMostTasks = 64;       // about: a task sets blocks up

}  // namespace

Pass::Pass(const Items& items, const std::vector<ItemId>& members, const std::vector<bool>& kept) {
  const Shape& shape = items.items[members[0]].shape;
  width_ = byte_size(items.items[members[0]].dtype);
  std::map<ItemId, Place> places;
  std::map<ItemId, std::size_t> last_use;  // by position among the members
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const ItemId operand : items.items[members[i]].operands) last_use[operand] = i;
  }
  std::vector<std::size_t> free;
  std::vector<Shape> strides;
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Item& item = items.items[members[i]];
    Instruction instruction{float_lanes(item.op, item.dtype, item.attributes), numbers_of(item.op, item.attributes), {}, {}};
    for (const ItemId operand : item.operands) {
      if (places.count(operand) == 0) {
        places[operand] = {Place::Kind::read, reads_.size()};
        reads_.push_back(operand);
        strides.push_back(repeating_strides(items.items[operand].shape, shape));
      }
      instruction.operands.push_back(places[operand]);
    }
    for (std::size_t k = 0; k < item.operands.size(); ++k) {  // a block is free once its last reader has run; the reader may write it
      const Place& place = places[item.operands[k]];
      const bool twice = k == 1 && item.operands[0] == item.operands[1];
      if (place.kind == Place::Kind::block && last_use[item.operands[k]] == i && !twice) free.push_back(place.index);
    }
    if (kept[members[i]]) {
      instruction.result = {Place::Kind::write, writes_.size()};
      writes_.push_back(members[i]);
    } else if (free.empty()) {
      instruction.result = {Place::Kind::block, blocks_++};
    } else {
      instruction.result = {Place::Kind::block, free.back()};
      free.pop_back();
    }
    places[members[i]] = instruction.result;
    code_.push_back(std::move(instruction));
  }
  strides.push_back(dense_strides(shape));
  loops_ = merged(shape, std::move(strides));
  if (loops_.extents.empty()) {
    loops_.extents = {1};
    for (Shape& of_tensor : loops_.strides) of_tensor = {1};
  }
}

bool Pass::has_short_lines() const {
  constexpr std::int64_t kShort = 32, kMany = 256;  // elements of a line; lines
  std::int64_t lines = 1;
  for (const std::int64_t extent : loops_.extents) lines *= extent;
  lines /= std::max<std::int64_t>(loops_.extents.back(), 1);
  return loops_.extents.back() < kShort && lines > kMany;
}

void Pass::run_line(const std::vector<const std::byte*>& reads, const std::vector<std::byte*>& writes, std::byte* blocks,
                    std::size_t count) const {
  const auto block = [&](std::size_t index) { return blocks + index * kBlock * width_; };
  for (const Instruction& instruction : code_) {
    std::array<Source, 2> sources{};
    for (std::size_t k = 0; k < instruction.operands.size(); ++k) {
      const Place& place = instruction.operands[k];
      if (place.kind == Place::Kind::read) {
        sources[k] = {reads[place.index], loops_.strides[place.index].back() == 0};
      } else {
        sources[k] = {place.kind == Place::Kind::write ? writes[place.index] : block(place.index), false};
      }
    }
    std::byte* const result =
        instruction.result.kind == Place::Kind::write ? writes[instruction.result.index] : block(instruction.result.index);
    instruction.kernel(instruction.numbers, sources.data(), result, count);
  }
}

void Pass::run(const std::vector<const Array*>& reads, const std::vector<Array*>& writes) const {
  const std::size_t axes = loops_.extents.size() - 1, results = reads.size();
  const auto length = static_cast<std::size_t>(loops_.extents.back());
  if (length == 0) return;
  std::size_t lines = 1;
  for (std::size_t axis = 0; axis < axes; ++axis) lines *= static_cast<std::size_t>(loops_.extents[axis]);
  const std::size_t pieces = (length + kBlock - 1) / kBlock, work = std::min(length, kBlock) * std::max<std::size_t>(code_.size(), 2);
  const std::size_t grain = std::max<std::size_t>({kPassGrain / work, lines * pieces / kMostTasks, 1});
  parallel_ranges(lines * pieces, grain, [&](std::size_t first, std::size_t last) {
    const Scratch<std::byte> blocks(blocks_ * kBlock * width_);
    std::vector<const std::byte*> from(reads.size());
    std::vector<std::byte*> to(writes.size());
    for (std::size_t i = first; i < last; ++i) {
      const std::size_t begin = i % pieces * kBlock, count = std::min(kBlock, length - begin);
      const auto offset = [&](std::size_t tensor) {
        std::size_t line = i / pieces;
        std::int64_t elements = static_cast<std::int64_t>(begin) * loops_.strides[tensor].back();
        for (std::size_t axis = axes; axis-- > 0;) {
          const auto extent = static_cast<std::size_t>(loops_.extents[axis]);
          elements += static_cast<std::int64_t>(line % extent) * loops_.strides[tensor][axis];
          line /= extent;
        }
        return static_cast<std::size_t>(elements) * width_;
      };
      for (std::size_t k = 0; k < reads.size(); ++k) from[k] = reads[k]->raw() + offset(k);
      const std::size_t at = offset(results);
      for (std::size_t k = 0; k < writes.size(); ++k) to[k] = writes[k]->raw() + at;
      run_line(from, to, blocks.data(), count);
    }
  });
}

}  // namespace assay::runtime::compiled
