// Which elementwise items run as one pass.
#include <algorithm>

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

// No path from a and b together leads through other groups back to them. A path goes on from any member of a group that it enters.
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

}  // namespace

bool is_elementwise(const Items& items, ItemId id) {
  const Item& item = items.items[id];
  if (item.constant || !item.pads.empty() || item.operands.empty() || item.operands.size() > 2 || !is_float(item.dtype)) return false;
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
  for (ItemId id = 0; id < count; ++id) {
    if (!is_elementwise(items, id)) continue;
    for (const ItemId operand : items.items[id].operands) {
      const Item &before = items.items[operand], &item = items.items[id];
      const std::size_t other = groups.of[operand], own = groups.of[id];
      if (other == own || !is_elementwise(items, operand) || before.shape != item.shape || before.dtype != item.dtype) continue;
      if (groups.members[own].size() + groups.members[other].size() > kMostMembers || !is_convex(groups, own, other)) continue;
      for (const ItemId member : groups.members[own]) {
        groups.of[member] = other;
        groups.members[other].push_back(member);
      }
      groups.members[own].clear();
    }
  }
  return groups.of;
}

}  // namespace assay::runtime::compiled
