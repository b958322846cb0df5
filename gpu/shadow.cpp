#include "gpu/shadow.h"

#include <algorithm>
#include <utility>

#include "gpu/program.h"

namespace assay::gpu::shadow {

namespace {

constexpr std::size_t kWordBytes = 4;
constexpr unsigned kWarpThreads = 32;

bool holds(const Region& region, std::uintptr_t address) { return address >= region.first && address - region.first < region.bytes; }

std::string at_line(const void* pc) {
  const std::string line = program::line_of(pc);
  return line.empty() ? "" : " at " + line;
}

// "element 12 of y (4 bytes at 48)"; of a shared variable by its own name.
std::string place_of(const Region& region, const Access& access) {
  std::size_t offset = access.address - region.first;
  std::string name = region.name;
  if (region.space == Region::Space::shared && region.name.empty()) {
    name = "shared memory";
    if (const auto variable = program::thread_local_at(offset)) {
      name = "the shared variable " + variable->name;
      offset -= variable->first;
    }
  } else {
    offset -= region.from;
  }
  if (offset % access.bytes == 0) return "element " + std::to_string(offset / access.bytes) + " of " + name;
  return "byte " + std::to_string(offset) + " of " + name;
}

const char* verb_of(Kind kind) { return kind == Kind::read ? "reads" : kind == Kind::write ? "writes" : "updates"; }

// Returns true if the access of the stamp came before, for every schedule. `handed_over`: blocks of this launch that fenced, by
// number.
bool is_ordered(const Stamp& stamp, const Now& now, const std::vector<bool>& handed_over) {
  if (stamp.epoch < now.first_epoch) return true;
  if (stamp.epoch != now.epoch) {
    const std::size_t other = stamp.epoch - now.first_epoch, own = now.epoch - now.first_epoch;
    return other < handed_over.size() && own < handed_over.size() && handed_over[other] && handed_over[own];
  }
  if (stamp.thread == now.thread || stamp.interval != now.interval) return true;
  return stamp.thread / kWarpThreads == now.thread / kWarpThreads && stamp.warp_interval != now.warp_interval;
}

// Where a race was found: the other access.
struct Conflict {
  const Stamp* with = nullptr;
  const char* does = "";
};

Conflict conflict_of(const Word& word, const Stamp& stamp, Kind kind, const Now& now, const std::vector<bool>& handed_over) {
  const auto meets = [&](const Stamp& other) {
    return (other.bytes & stamp.bytes) != 0 && !(other.atomic && stamp.atomic) && !is_ordered(other, now, handed_over);
  };
  if (meets(word.written)) return {&word.written, "writes"};
  if (kind == Kind::read) return {};
  if (meets(word.read)) return {&word.read, "reads"};
  if (meets(word.read_before)) return {&word.read_before, "reads"};
  return {};
}

void note(Word& word, const Stamp& stamp, Kind kind) {
  if (kind == Kind::read) {
    if (word.read.thread != stamp.thread || word.read.epoch != stamp.epoch) word.read_before = word.read;
    word.read = stamp;
    return;
  }
  word.written = stamp;
  word.initialised = static_cast<std::uint8_t>(word.initialised | stamp.bytes);
}

Fault race(const Region& region, const Access& access, const Conflict& conflict, const Now& now) {
  const bool same_block = conflict.with->epoch == now.epoch;
  const std::string other = same_block ? "thread " + std::to_string(conflict.with->thread)
                                       : "thread " + std::to_string(conflict.with->thread) + " of block " +
                                             std::to_string(conflict.with->epoch - now.first_epoch) + " in the order of the schedule";
  return {"gpu.race", std::string(verb_of(access.kind)) + " " + place_of(region, access) + at_line(access.pc) + ", which " + other + " " +
                          conflict.does + at_line(conflict.with->pc) +
                          (same_block ? " between the same two barriers" : ": nothing orders blocks of a launch")};
}

}  // namespace

void Memory::add(Region region) {
  if (region.to == 0 && region.from == 0) region.to = region.bytes;
  region.words.resize((region.bytes + kWordBytes - 1) / kWordBytes);
  const std::uintptr_t first = region.first;
  buffers_[first] = std::move(region);
  last_ = nullptr;
}

void Memory::remove(std::uintptr_t first) {
  buffers_.erase(first);
  last_ = nullptr;
}

Region* Memory::find(std::uintptr_t address) {
  auto next = buffers_.upper_bound(address);
  if (next == buffers_.begin()) return nullptr;
  Region& region = std::prev(next)->second;
  return holds(region, address) ? &region : nullptr;
}

void Memory::initialise(std::uintptr_t first, std::size_t bytes) {
  Region* const region = find(first);
  if (region == nullptr) return;
  const std::size_t from = first - region->first, to = std::min(from + bytes, region->bytes);
  for (std::size_t byte = from; byte < to; ++byte) {
    std::uint8_t& bits = region->words[byte / kWordBytes].initialised;
    bits = static_cast<std::uint8_t>(bits | 1U << byte % kWordBytes);
  }
}

void Memory::set_shared(std::uintptr_t first, std::size_t bytes, std::size_t room) {
  shared_ = {Region::Space::shared, "dynamic shared memory", first, room, 0, bytes, false, {}};
  shared_.words.resize((bytes + kWordBytes - 1) / kWordBytes);
  last_ = nullptr;
}

Region* Memory::region_of(const Access& access) {
  if (last_ != nullptr && holds(*last_, access.address)) return last_;
  last_ = nullptr;
  if (holds(shared_, access.address)) last_ = &shared_;
  if (last_ == nullptr) last_ = find(access.address);
  if (last_ != nullptr) return last_;
  auto next = statics_.upper_bound(access.address);
  if (next != statics_.begin() && holds(std::prev(next)->second, access.address)) return last_ = &std::prev(next)->second;
  if (const auto piece = program::thread_locals(access.address)) {
    Region region{Region::Space::shared, "", piece->first, piece->bytes, 0, piece->bytes, false, {}};
    region.words.resize((piece->bytes + kWordBytes - 1) / kWordBytes);
    return last_ = &(statics_[piece->first] = std::move(region));
  }
  if (const auto piece = program::statics(access.address))
    return last_ =
               &(statics_[piece->first] = {Region::Space::variable, "the program", piece->first, piece->bytes, 0, piece->bytes, false, {}});
  return nullptr;
}

std::string Memory::nearest(const Access& access) const {
  std::string words = "an address that lies in no memory of the device";
  constexpr std::uintptr_t kNear = std::uintptr_t{1} << 20;
  std::uintptr_t least = kNear;
  const auto look = [&](const Region& region) {
    const std::uintptr_t first = region.first + region.from, end = region.first + region.to;
    const std::uintptr_t away = access.address >= end ? access.address - end : first - access.address;
    if (away >= least || region.to == region.from) return;
    least = away;
    const std::size_t count = (region.to - region.from) / access.bytes;
    words = access.address >= end
                ? "element " + std::to_string(count + away / access.bytes) + " of " + region.name + ", which has " + std::to_string(count)
                : "element -" + std::to_string((away + access.bytes - 1) / access.bytes) + " of " + region.name;
  };
  for (const auto& [first, region] : buffers_) look(region);
  look(shared_);
  return words;
}

Fault Memory::touch(const Access& access, const Now& now, const std::vector<bool>& handed_over) {
  Region* const region = region_of(access);
  const std::size_t offset = region == nullptr ? 0 : access.address - region->first;
  if (region == nullptr || offset < region->from || offset + access.bytes > region->to)
    return {"gpu.bounds", std::string(verb_of(access.kind)) + " " + nearest(access) + at_line(access.pc)};
  if (region->space == Region::Space::variable) return {};
  if (region->read_only && access.kind != Kind::read)
    return {"gpu.operand",
            std::string(verb_of(access.kind)) + " " + place_of(*region, access) + at_line(access.pc) + ", which is an operand"};
  const bool is_shared = region->space == Region::Space::shared;
  for (std::size_t byte = offset; byte < offset + access.bytes;) {
    const std::size_t end = std::min((byte / kWordBytes + 1) * kWordBytes, offset + access.bytes);
    Word& word = region->words[byte / kWordBytes];
    if (is_shared && word.epoch != now.epoch) {
      word = {};
      word.epoch = now.epoch;
    }
    std::uint8_t bits = 0;
    for (; byte < end; ++byte) bits = static_cast<std::uint8_t>(bits | 1U << byte % kWordBytes);
    const Stamp stamp{now.epoch, now.interval, now.warp_interval, now.thread, bits, access.kind == Kind::atomic, access.pc};
    // A race first: it is why the word was not written yet.
    if (now.detect_races)
      if (const Conflict conflict = conflict_of(word, stamp, access.kind, now, handed_over); conflict.with != nullptr)
        return race(*region, access, conflict, now);
    if (access.kind != Kind::write && (word.initialised & bits) != bits)
      return {"gpu.uninitialised", "reads " + place_of(*region, access) + at_line(access.pc) + ", which was never written"};
    note(word, stamp, access.kind);
  }
  return {};
}

}  // namespace assay::gpu::shadow
