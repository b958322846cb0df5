#include "runtime/compiled/pass.h"

#include <algorithm>
#include <cstring>
#include <map>

#include "runtime/buffers.h"
#include "runtime/threads.h"

namespace assay::runtime::compiled {

namespace {

constexpr std::size_t kBlock = 1 << 11;  // elements: some blocks of 8 or 16 kilobytes stay in the second cache, two or three in the first
constexpr std::size_t kPassGrain = 1 << 15;  // of a task at least: elements times ops
constexpr std::size_t kMostTasks = 64;       // about: a task sets blocks up

}  // namespace

Pass::Lines Pass::lines_of(const Part& part, const Shape& shape) {
  const auto after = shape.begin() + static_cast<std::ptrdiff_t>(part.axis) + 1;
  const std::size_t inner = element_count(Shape(after, shape.end()));
  return {static_cast<std::size_t>(part.start) * inner, static_cast<std::size_t>(part.extent) * inner,
          static_cast<std::size_t>(shape[part.axis]) * inner};
}

Pass::Pass(const Items& items, const std::vector<ItemId>& members, const std::vector<bool>& kept, const PartsInPlace& parts) {
  const Shape& shape = items.items[members[0]].shape;
  width_ = byte_size(items.items[members[0]].dtype);
  ops_ = members.size();
  std::map<ItemId, Place> places;
  std::map<ItemId, std::size_t> last_use;  // by position among the members
  for (std::size_t i = 0; i < members.size(); ++i) {
    for (const ItemId operand : items.items[members[i]].operands) last_use[operand] = i;
  }
  std::vector<std::size_t> free;
  const auto free_block = [&] {
    if (free.empty()) return Place{Place::Kind::block, blocks_++};
    const std::size_t block = free.back();
    free.pop_back();
    return Place{Place::Kind::block, block};
  };
  std::vector<Shape> strides;
  std::vector<bool> writes_in_lines;
  const auto read = [&](ItemId id, bool in_lines) {
    for (std::size_t k = 0; k < reads_.size(); ++k) {
      if (reads_[k] == id && in_lines_[k] == in_lines) return Place{Place::Kind::read, k};
    }
    strides.push_back(in_lines ? Shape(shape.size(), 0) : repeating_strides(items.items[id].shape, shape));
    reads_.push_back(id);
    in_lines_.push_back(in_lines);
    return Place{Place::Kind::read, reads_.size() - 1};
  };
  const auto written = [&](ItemId id, bool in_lines) {
    const auto found = std::ranges::find(writes_, id);
    if (found != writes_.end()) return Place{Place::Kind::write, static_cast<std::size_t>(found - writes_.begin())};
    writes_.push_back(id);
    writes_in_lines.push_back(in_lines);
    return Place{Place::Kind::write, writes_.size() - 1};
  };
  for (std::size_t i = 0; i < members.size(); ++i) {
    const Item& item = items.items[members[i]];
    Instruction instruction{float_lanes(item.op, item.dtype, item.attributes), numbers_of(item.op, item.attributes), {}, {}, {}};
    for (const ItemId operand : item.operands) {
      const auto slice = parts.slices.find(operand);
      if (places.count(operand) == 0 && slice != parts.slices.end() && items.items[operand].shape == shape) {
        const ItemId whole = items.items[operand].operands[0];
        places[operand] = free_block();
        taken_.push_back(operand);
        code_.push_back({nullptr, {}, {read(whole, true)}, places[operand], lines_of(slice->second, items.items[whole].shape)});
      } else if (places.count(operand) == 0) {
        places[operand] = read(operand, false);
      }
      instruction.operands.push_back(places[operand]);
    }
    for (std::size_t k = 0; k < item.operands.size(); ++k) {  // a block is free once its last reader has run; the reader may write it
      const Place& place = places[item.operands[k]];
      const bool twice = k == 1 && item.operands[0] == item.operands[1];
      if (place.kind == Place::Kind::block && last_use[item.operands[k]] == i && !twice) free.push_back(place.index);
    }
    instruction.result = kept[members[i]] ? written(members[i], false) : free_block();
    places[members[i]] = instruction.result;
    code_.push_back(std::move(instruction));
    if (const auto summed = parts.summed.find(members[i]); summed != parts.summed.end()) {
      const auto& [sum, part] = summed->second;
      code_.push_back({float_lanes(Op::add, item.dtype, NoAttributes{}),
                       {},
                       {places[members[i]]},
                       written(sum, true),
                       lines_of(part, items.items[sum].shape)});
      if (last_use.count(members[i]) == 0 && !kept[members[i]]) free.push_back(places[members[i]].index);
    }
  }
  in_lines_.insert(in_lines_.end(), writes_in_lines.begin(), writes_in_lines.end());
  strides.push_back(dense_strides(shape));
  loops_ = merged(shape, std::move(strides));
  if (loops_.extents.empty()) {
    loops_.extents = {1};
    for (Shape& of_tensor : loops_.strides) of_tensor = {1};
  }
}

std::vector<ItemId> Pass::operands() const {
  std::vector<ItemId> operands = taken_;
  for (std::size_t k = 0; k < reads_.size(); ++k) {
    if (!in_lines_[k]) operands.push_back(reads_[k]);
  }
  return operands;
}

bool Pass::has_short_lines() const {
  constexpr std::int64_t kShort = 32, kMany = 256;  // elements of a line; lines
  std::int64_t lines = 1;
  for (const std::int64_t extent : loops_.extents) lines *= extent;
  lines /= std::max<std::int64_t>(loops_.extents.back(), 1);
  return loops_.extents.back() < kShort && lines > kMany;
}

// f(offset in the part, offset in the tensor, count) for the lines of elements begin .. begin + count - 1 of the part.
template <class F>
void for_lines(std::size_t first, std::size_t length, std::size_t apart, std::size_t begin, std::size_t count, const F& f) {
  for (std::size_t i = begin; i < begin + count;) {
    const std::size_t within = i % length, some = std::min(length - within, begin + count - i);
    f(i - begin, first + i / length * apart + within, some);
    i += some;
  }
}

void Pass::take_out(const Instruction& instruction, const std::byte* from, std::byte* to, std::size_t begin, std::size_t count) const {
  const auto& [first, length, apart] = *instruction.lines;
  for_lines(first, length, apart, begin, count, [&](std::size_t here, std::size_t there, std::size_t some) {
    std::memcpy(to + here * width_, from + there * width_, some * width_);
  });
}

// Each element is added to 0 once, as in the sum.
void Pass::put_in(const Instruction& instruction, const std::byte* from, std::byte* to, std::size_t begin, std::size_t count) const {
  const auto& [first, length, apart] = *instruction.lines;
  constexpr std::array<std::byte, sizeof(double)> kZero{};
  for_lines(first, length, apart, begin, count, [&](std::size_t here, std::size_t there, std::size_t some) {
    const std::array<Source, 2> sources = {Source{from + here * width_, false}, Source{kZero.data(), true}};
    instruction.kernel(instruction.numbers, sources.data(), to + there * width_, some);
  });
}

void Pass::run_line(const std::vector<const std::byte*>& reads, const std::vector<std::byte*>& writes, std::byte* blocks, std::size_t begin,
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
    if (instruction.lines) {
      const auto* const from = static_cast<const std::byte*>(sources[0].data);
      instruction.kernel == nullptr ? take_out(instruction, from, result, begin, count) : put_in(instruction, from, result, begin, count);
      continue;
    }
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
      for (std::size_t k = 0; k < writes.size(); ++k) to[k] = writes[k]->raw() + (in_lines_[results + k] ? 0 : at);
      run_line(from, to, blocks.data(), at / width_, count);
    }
  });
}

}  // namespace assay::runtime::compiled
