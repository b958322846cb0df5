// Which elementwise items run as one pass.
#include <algorithm>
#include <set>

#include "runtime/compiled/items.h"
#include "runtime/kernels/lanes.h"

namespace assay::runtime::compiled {

namespace {

constexpr std::size_t kMostMembers = 24;  // a pass keeps that many blocks in the cache at most

// Groups so far, and who reads what.
struct Groups {
  std::vector<std::size_t> of;               // by item
  std::vector<std::vector<ItemId>> members;  // by group
  std::vector<std::vector<ItemId>> readers;  // by item
};

// No path from a and b together leads through other groups back to them. A path continues from any member of a group that it
// enters.
bool is_convex(const Groups& groups, std::size_t a, std::size_t b) {
  std::vector<bool> entered(groups.of.size(), false);
  std::vector<std::size_t> open;
  const auto enter_readers = [&](std::size_t group, bool from_start) {
    for (const ItemId member : groups.members[group]) {
      for (const ItemId reader : groups.readers[member]) {
        const std::size_t next = groups.of[reader];
        if (next == a || next == b) {
          if (!from_start) return false;
        } else if (!entered[next]) {
          entered[next] = true;
          open.push_back(next);
        }
      }
    }
    return true;
  };
  enter_readers(a, true);
  enter_readers(b, true);
  while (!open.empty()) {
    const std::size_t group = open.back();
    open.pop_back();
    if (!enter_readers(group, false)) return false;
  }
  return true;
}

// Moves items that one group computes and only another one reads, as a gradient rule begins with results of the forward pass.
// They move there if that saves reads and writes of whole tensors. No path changes, since moved items stand between the two
// groups alone.
class Mover {
 public:
  Mover(const Items& items, Groups& groups) : all_(items), groups_(groups), is_output_(items.items.size(), false) {
    for (const ItemId id : items.outputs) is_output_[id] = true;
  }
  void run() {
    for (ItemId id = all_.items.size(); id-- > 0;) {
      const std::vector<ItemId>& readers = groups_.readers[id];
      if (readers.empty() || !is_elementwise(all_, id)) continue;
      const ItemId reader = readers.front();
      const Item &item = all_.items[id], &after = all_.items[reader];
      if (groups_.of[reader] == groups_.of[id] || !is_elementwise(all_, reader) || after.shape != item.shape) continue;
      try_to_move(id, groups_.of[reader]);
    }
  }

 private:
  [[nodiscard]] bool is_read_in(ItemId id, std::size_t group) const {
    return std::ranges::any_of(groups_.readers[id], [&](ItemId reader) { return groups_.of[reader] == group; });
  }
  [[nodiscard]] bool is_kept(ItemId id) const {
    return is_output_[id] || std::ranges::any_of(groups_.readers[id], [&](ItemId reader) { return groups_.of[reader] != groups_.of[id]; });
  }
  // Returns true if only `to`, and the items that move there, read it.
  [[nodiscard]] bool is_only_for(ItemId id, std::size_t to, const std::set<ItemId>& moving) const {
    return !is_output_[id] &&
           std::ranges::all_of(groups_.readers[id], [&](ItemId reader) { return groups_.of[reader] == to || moving.count(reader) != 0; });
  }
  void try_to_move(ItemId last, std::size_t to) {
    const std::size_t from = groups_.of[last];
    std::set<ItemId> moving, open{last}, read;  // later items first, so that all readers of an item are met before it
    std::size_t saved = 0;
    while (!open.empty()) {
      const ItemId id = *open.rbegin();
      open.erase(id);
      if (groups_.of[id] != from || !is_only_for(id, to, moving)) {
        read.insert(id);
        continue;
      }
      moving.insert(id);
      saved += is_kept(id) ? 2 : 0;
      open.insert(all_.items[id].operands.begin(), all_.items[id].operands.end());
    }
    std::size_t added = 0;
    for (const ItemId id : read) {
      if (groups_.of[id] != to && !is_read_in(id, to)) ++added;
      if (groups_.of[id] == from && !is_kept(id)) ++added;
    }
    if (saved <= added || groups_.members[to].size() + moving.size() > kMostMembers) return;
    std::erase_if(groups_.members[from], [&](ItemId id) { return moving.count(id) != 0; });
    for (const ItemId id : moving) {
      groups_.of[id] = to;
      groups_.members[to].push_back(id);
    }
  }

  const Items& all_;
  Groups& groups_;
  std::vector<bool> is_output_;
};

}  // namespace

bool is_elementwise(const Items& items, ItemId id) {
  const Item& item = items.items[id];
  if (item.constant || !item.pads.empty() || !item.products.empty() || item.operands.empty() || item.operands.size() > 2 ||
      !is_float(item.dtype))
    return false;
  for (const ItemId operand : item.operands) {
    if (items.items[operand].dtype != item.dtype) return false;
  }
  if ((item.op == Op::min || item.op == Op::max) && item.operands.size() != 2) return false;
  return float_lanes(item.op, item.dtype, item.attributes) != nullptr;
}

std::vector<std::size_t> grouped(const Items& items) {
  const std::size_t count = items.items.size();
  Groups groups{std::vector<std::size_t>(count), std::vector<std::vector<ItemId>>(count), std::vector<std::vector<ItemId>>(count)};
  for (ItemId id = 0; id < count; ++id) {
    groups.of[id] = id;
    groups.members[id] = {id};
    for (const ItemId operand : items.items[id].operands) groups.readers[operand].push_back(id);
  }
  const auto join = [&](ItemId earlier, ItemId later) {
    const Item &before = items.items[earlier], &item = items.items[later];
    const std::size_t other = groups.of[earlier], own = groups.of[later];
    if (other == own || !is_elementwise(items, earlier) || !is_elementwise(items, later)) return;
    if (before.shape != item.shape || before.dtype != item.dtype) return;
    if (groups.members[own].size() + groups.members[other].size() > kMostMembers || !is_convex(groups, own, other)) return;
    for (const ItemId member : groups.members[own]) {
      groups.of[member] = other;
      groups.members[other].push_back(member);
    }
    groups.members[own].clear();
  };
  for (ItemId id = 0; id < count; ++id) {
    for (const ItemId operand : items.items[id].operands) join(operand, id);
  }
  for (const Item& sum : items.items) {  // items that are put together are computed together
    for (const ItemId pad : sum.pads) join(items.items[sum.pads[0]].operands[0], items.items[pad].operands[0]);
  }
  Mover(items, groups).run();
  return groups.of;
}

}  // namespace assay::runtime::compiled
