// Dead, constant and equal nodes; expansions.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "runtime/compiled/items.h"
#include "runtime/kernels/composed.h"
#include "runtime/kernels/kernels.h"

namespace assay::runtime::compiled {

namespace {

constexpr std::size_t kSmall = 1 << 12;  // elements: a constant that is larger than its operands is folded up to here

std::vector<bool> live_nodes(const Graph& graph) {
  std::vector<bool> live(graph.nodes.size(), false);
  for (const NodeId id : graph.outputs) live[id] = true;
  for (std::size_t id = graph.nodes.size(); id-- > 0;) {
    if (!live[id]) continue;
    for (const NodeId operand : graph.nodes[id].operands) live[operand] = true;
  }
  for (const NodeId id : graph.inputs) live[id] = true;
  return live;
}

// Two items with the same key have the same value. The attributes' part is the canonical form of a graph with this one op.
std::string key_of(const Items& all, const Item& item) {
  std::string key(op_row(item.op).name);
  key.append(" ").append(to_string(item.dtype)).append(to_string(item.shape));
  for (const ItemId operand : item.operands) key.append(" ").append(std::to_string(operand));
  if (std::holds_alternative<NoAttributes>(item.attributes)) return key;
  Graph graph;
  std::vector<NodeId> ids;
  for (const ItemId operand : item.operands) ids.push_back(graph.append_input(all.items[operand].dtype, all.items[operand].shape, "x"));
  const Outcome<NodeId> node = graph.append(item.op, std::move(ids), item.attributes);
  if (!node) return key.append("!").append(std::to_string(all.items.size()));  // an operand was widened: equal to nothing
  graph.mark_output(node.value(), "y");
  const std::vector<std::byte> bytes = canonical_bytes(graph);
  return key.append("|").append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool broadcasts(Op op) {
  return op == Op::add || op == Op::sub || op == Op::mul || op == Op::div || op == Op::min || op == Op::max || op == Op::prelu ||
         op == Op::equal || op == Op::less || op == Op::less_equal || op == Op::where;
}

// An operand that is expanded, where the op would broadcast it to the same shape: the tensor before it.
void read_before_expansion(const Items& all, Item& item) {
  if (!broadcasts(item.op)) return;
  for (std::size_t k = 0; k < item.operands.size(); ++k) {
    const Item& operand = all.items[item.operands[k]];
    if (operand.op != Op::expand || operand.constant) continue;
    Shape shape = all.items[operand.operands[0]].shape;
    for (std::size_t other = 0; other < item.operands.size(); ++other) {
      if (other != k && !broadcast(shape, all.items[item.operands[other]].shape, shape)) return;
    }
    if (shape == item.shape) item.operands[k] = operand.operands[0];
  }
}

bool can_fold(const Items& all, const Item& item) {
  if (item.operands.empty()) return false;
  std::size_t size = 0;
  for (const ItemId operand : item.operands) {
    if (!all.items[operand].constant) return false;
    size += all.items[operand].constant->size();
  }
  return element_count(item.shape) <= std::max(size, kSmall);
}

Outcome<Done> fold(const Items& all, Item& item) {
  std::vector<const Array*> operands;
  for (const ItemId operand : item.operands) operands.push_back(&*all.items[operand].constant);
  Array result = Array::empty(item.dtype, item.shape);
  if (Outcome<Done> done = run(item.op, item.attributes, operands, result); !done) return done;
  item.constant = std::move(result);
  item.operands.clear();
  item.folded = true;
  return Done{};
}

// The pads that a sum adds up, if it adds nothing else and nothing else reads them or the sums on the way, which `partial` gets.
// A value that several sums read stays a value that claims of gradients can name.
std::vector<ItemId> added_pads(const Items& all, const std::vector<std::size_t>& readers, ItemId sum, std::vector<ItemId>& partial) {
  std::vector<ItemId> pads, open{sum};
  std::vector<Part> parts;
  while (!open.empty()) {
    const ItemId id = open.back();
    const Item& item = all.items[id];
    open.pop_back();
    if (item.constant || item.shape != all.items[sum].shape) return {};
    if (item.op == Op::add && (id == sum || readers[id] == 1)) {
      open.insert(open.end(), item.operands.begin(), item.operands.end());
      if (id != sum) partial.push_back(id);
      continue;
    }
    const auto part = item.op == Op::pad ? part_of(std::get<PadAttributes>(item.attributes), item.shape) : std::nullopt;
    if (!part || readers[id] != 1) return {};
    pads.push_back(id);
    parts.push_back(*part);
  }
  return are_apart(parts) ? pads : std::vector<ItemId>();
}

// The products that a sum adds up one after the other, under the same conditions: the gradient of a weight that several steps used.
std::vector<ItemId> added_products(const Items& all, const std::vector<std::size_t>& readers, ItemId sum, std::vector<ItemId>& partial) {
  const auto factor_shape = [&](ItemId id, std::size_t k) -> const Shape& { return all.items[all.items[id].operands[k]].shape; };
  std::vector<ItemId> products;
  const auto is_product = [&](ItemId id) {
    const Item& item = all.items[id];
    if (item.op != Op::gemm || item.constant || item.operands.size() != 2 || readers[id] != 1 || item.shape != all.items[sum].shape)
      return false;
    const auto& attributes = std::get<GemmAttributes>(item.attributes);
    if (!can_add_products(attributes, factor_shape(id, 0), factor_shape(id, 1))) return false;
    if (products.empty()) return true;
    const ItemId first = products[0];
    return transpose_alike(attributes, std::get<GemmAttributes>(all.items[first].attributes)) &&
           factor_shape(id, 0) == factor_shape(first, 0) && factor_shape(id, 1) == factor_shape(first, 1);
  };
  ItemId id = sum;
  while (all.items[id].op == Op::add && !all.items[id].constant && (id == sum || readers[id] == 1)) {
    const std::size_t last = is_product(all.items[id].operands[1]) ? 1 : 0;
    if (!is_product(all.items[id].operands[last])) return {};
    if (id != sum) partial.push_back(id);
    products.push_back(all.items[id].operands[last]);
    id = all.items[id].operands[1 - last];
  }
  if (!is_product(id)) return {};
  products.push_back(id);
  std::ranges::reverse(products);
  return products;
}

void find_sums(Items& all) {
  std::vector<std::size_t> readers(all.items.size(), 0);
  for (const Item& item : all.items) {
    for (const ItemId operand : item.operands) ++readers[operand];
  }
  for (const ItemId output : all.outputs) ++readers[output];
  std::vector<bool> inside(all.items.size(), false);
  for (ItemId id = all.items.size(); id-- > 0;) {
    Item& item = all.items[id];
    if (item.op != Op::add || !is_float(item.dtype) || inside[id]) continue;
    std::vector<ItemId> partial;
    item.pads = added_pads(all, readers, id, partial);
    if (item.pads.empty()) {
      partial.clear();
      item.products = added_products(all, readers, id, partial);
    }
    if (item.pads.empty() && item.products.empty()) continue;
    for (const ItemId one : partial) inside[one] = true;
  }
}

}  // namespace

Outcome<Items> simplified(const Graph& graph) {
  const std::vector<bool> live = live_nodes(graph);
  Items all;
  std::vector<ItemId> item_of(graph.nodes.size(), 0);
  std::map<std::string, ItemId> seen;
  all.of_node.resize(graph.nodes.size());
  for (NodeId id = 0; id < graph.nodes.size(); ++id) {
    if (!live[id]) continue;
    const Node& node = graph.nodes[id];
    Item item{node.op, {}, {}, node.attributes, node.dtype, node.shape, std::nullopt, {}, {}};
    for (const NodeId operand : node.operands) item.operands.push_back(item_of[operand]);
    item.meant = item.operands;
    read_before_expansion(all, item);
    if (node.op == Op::constant) item.constant = Array::from(node.value);
    if (can_fold(all, item)) {
      if (Outcome<Done> done = fold(all, item); !done) return done.rejection();
      ++all.folded;
    }
    const bool computed = !item.operands.empty();
    const auto [found, is_new] = computed ? seen.try_emplace(key_of(all, item), all.items.size()) : std::pair(seen.end(), true);
    item_of[id] = is_new ? all.items.size() : found->second;
    all.of_node[id] = item_of[id];
    if (is_new) {
      all.items.push_back(std::move(item));
    } else {
      ++all.shared;
    }
  }
  for (const NodeId id : graph.inputs) all.inputs.push_back(item_of[id]);
  for (const NodeId id : graph.outputs) all.outputs.push_back(item_of[id]);
  find_sums(all);
  return all;
}

}  // namespace assay::runtime::compiled
