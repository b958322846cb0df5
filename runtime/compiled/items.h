// The data of the passes of compiled programs: the nodes of a graph, with constants as arrays. Private to this folder.
#pragma once

#include <optional>
#include <vector>

#include "runtime/array.h"
#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::runtime::compiled {

using ItemId = std::size_t;

struct Item {
  Op op = Op::input;
  std::vector<ItemId> operands;  // earlier items: what is read
  std::vector<ItemId> meant;     // the op's operands: expansions, where what is read is the tensor before one
  Attributes attributes;
  DType dtype = DType::float32;
  Shape shape;
  std::optional<Array> constant;
  std::vector<ItemId> pads;      // of an add: several, whose sum it is, and which do not meet
  std::vector<ItemId> products;  // of an add: several, whose sum it is, added up in this order
  bool folded = false;           // a constant that was computed: `op` of the constants `meant`
};

struct Items {
  std::vector<Item> items;
  std::vector<ItemId> inputs, outputs;         // as in the graph
  std::vector<std::optional<ItemId>> of_node;  // by node of the graph; none for one that nothing needs
  std::size_t folded = 0, shared = 0;
};

// The live nodes of the graph, simplified: constants folded, equal nodes merged, expansions left to the ops that broadcast anyway.
[[nodiscard]] Outcome<Items> simplified(const Graph& graph);

// Returns true if the item can be part of a pass over elements: float operands and result, of one type, by a lane kernel.
[[nodiscard]] bool is_elementwise(const Items& items, ItemId id);

// For each item the number of its group of elementwise items that run as one pass; items alone have one of their own. A group has one
// shape, and no path leads from it through an item outside back into it.
[[nodiscard]] std::vector<std::size_t> grouped(const Items& items);

}  // namespace assay::runtime::compiled
