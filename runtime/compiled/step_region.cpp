#include "runtime/compiled/step_region.h"

#include <map>
#include <utility>

#include "semantics/demand.h"

namespace assay::runtime::compiled {

namespace {

// The graph between what is read and what is given: ops on what they mean to read, which brings back the expansions that were left out.
class Builder {
 public:
  explicit Builder(const Items& items) : items_(items) {}
  void read(ItemId id) {
    if (nodes_.count(id) != 0) return;
    const Item& item = items_.items[id];
    nodes_[id] = region_.graph.append_input(item.dtype, item.shape, name_of(id));
    region_.operands.push_back(id);
    region_.values.push_back(id);
  }
  void give(ItemId id) {
    region_.graph.mark_output(node_of(id), name_of(id));
    region_.results.push_back(id);
  }
  ProgramRegion finish(std::string name) {
    region_.name = std::move(name);
    return std::move(region_);
  }

 private:
  static std::string name_of(ItemId id) { return std::string("v").append(std::to_string(id)); }
  NodeId node_of(ItemId id) {
    if (const auto known = nodes_.find(id); known != nodes_.end()) return known->second;
    const Item& item = items_.items[id];
    std::vector<NodeId> operands;
    for (const ItemId operand : item.meant) operands.push_back(node_of(operand));
    const Outcome<NodeId> node = region_.graph.append(item.op, std::move(operands), item.attributes);
    demand(node.ok(), "region_of: the graph that was compiled has types");
    region_.values.push_back(id);
    return nodes_[id] = node.value();
  }

  const Items& items_;
  ProgramRegion region_;
  std::map<ItemId, NodeId> nodes_;
};

std::string name_of(const Items& items, const Step& step) {
  switch (step.kind) {
    case Step::Kind::weight_gradient:
      return "weight gradient";
    case Step::Kind::greatest_of_windows:
      return "greatest of windows";
    case Step::Kind::sum_of_pads:
      return "sum of pads";
    case Step::Kind::pass:
      if (step.pass->length() > 1) return "fused pass";
      break;
    case Step::Kind::op:
    case Step::Kind::alias:
    case Step::Kind::sum_of_products:
      break;
  }
  return std::string(op_row(items.items[step.results[0]].op).name);
}

}  // namespace

ProgramRegion region_of(const Items& items, const Step& step) {
  Builder builder(items);
  const bool is_sum = step.kind == Step::Kind::sum_of_products;  // shown as its last sum
  for (const ItemId id : step.pass ? step.pass->operands() : is_sum ? items.items[step.item].operands : step.operands) builder.read(id);
  for (const ItemId id : step.results) builder.give(id);
  return builder.finish(name_of(items, step));
}

ProgramRegion region_of_folded(const Items& items, ItemId id) {
  Builder builder(items);
  for (const ItemId operand : items.items[id].meant) builder.read(operand);
  builder.give(id);
  ProgramRegion region = builder.finish(std::string(op_row(items.items[id].op).name).append(", folded"));
  region.is_folded = true;
  return region;
}

}  // namespace assay::runtime::compiled
