#include "runtime/compiled/program.h"

#include <algorithm>
#include <limits>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "runtime/buffers.h"
#include "runtime/compiled/device_replay.h"
#include "runtime/compiled/step_region.h"
#include "runtime/kernels/composed.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/kernels.h"

namespace assay::runtime {

using compiled::Item;
using compiled::ItemId;
using compiled::Step;

struct Program::State {
  compiled::Items items;
  std::vector<Step> steps;
  std::vector<ItemId> root;                                 // whose memory an item uses: its own, or that of what it is another shape of
  std::vector<Array> values;                                // constants, and intermediate values in the planned memory
  std::vector<std::size_t> offset;                          // of intermediate values in that memory; else kNowhere
  std::vector<bool> is_returned;                            // roots that leave with the caller: new memory in every replay
  std::map<ItemId, std::pair<ItemId, std::size_t>> placed;  // sums of pads that lie where a sum of them begins at this element
  std::shared_ptr<void> memory;
  ProgramSummary summary;
  std::mutex replaying;

  std::vector<ProgramRegion> regions;  // of the steps; made for the first observer or device
  compiled::DeviceReplay on_device;
  std::unique_ptr<State> there;  // the same items in steps of a device; made for the first one

  void prepare(compiled::Items of_graph, bool in_place);
  void find_roots();
  void place_parts();
  void plan_memory();
  void find_regions();
  [[nodiscard]] Array alias_of(const Step& step) const;
  Outcome<Done> execute(const Step& step);
  Outcome<std::vector<Array>> replay_on(Mirror& device, std::span<const Array> inputs, ProgramObserver* observer);
  Outcome<std::vector<Array>> run_on(Mirror& device, std::span<const Array> inputs, ProgramObserver* observer);
  void show(const ProgramRegion& region, ProgramObserver& observer, std::vector<bool>& shown, const std::vector<Array>& from);
  [[nodiscard]] std::vector<ItemId> inside(const Step& step) const;
  Outcome<Done> show_inside(const Step& step, ProgramObserver& observer, std::vector<bool>& shown);
  void show_constant(ItemId id, ProgramObserver& observer, std::vector<bool>& shown);
};

void Program::State::find_roots() {
  root.resize(items.items.size());
  for (ItemId id = 0; id < root.size(); ++id) root[id] = id;
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::alias) root[step.item] = root[step.operands[0]];
  }
  is_returned.assign(root.size(), false);
  for (const ItemId id : items.outputs) is_returned[root[id]] = true;
}

// A sum of pads whose parts are sums of pads themselves (in which no element is -0), each in one piece of it, needs no step where those are
// computed in their places.
void Program::State::place_parts() {
  for (const Step& step : steps) {
    if (step.kind != Step::Kind::sum_of_pads || is_returned[step.item]) continue;
    const Item& sum = items.items[step.item];
    std::map<ItemId, std::pair<ItemId, std::size_t>> parts;
    std::int64_t covered = 0;
    for (std::size_t k = 0; k < step.operands.size(); ++k) {
      const ItemId whole = root[step.operands[k]];
      const Part part = *part_of(std::get<PadAttributes>(items.items[sum.pads[k]].attributes), sum.shape);
      const auto axis = static_cast<std::ptrdiff_t>(part.axis);
      const std::size_t first = static_cast<std::size_t>(part.start) * element_count(Shape(sum.shape.begin() + axis + 1, sum.shape.end()));
      const bool has_parts = std::ranges::any_of(placed, [&](const auto& one) { return one.second.first == whole; });
      const bool fits = !items.items[whole].pads.empty() && !is_returned[whole] && placed.count(whole) == 0 && !has_parts &&
                        element_count(items.items[whole].shape) == element_count(items.items[step.operands[k]].shape) &&
                        element_count(Shape(sum.shape.begin(), sum.shape.begin() + axis)) == 1 &&
                        first * byte_size(sum.dtype) % kAlignment == 0;
      if (!fits) break;
      parts[whole] = {step.item, first};
      covered += part.extent;
      if (k + 1 < step.operands.size() || parts.size() < step.operands.size() || covered < sum.shape[part.axis]) continue;
      for (ItemId& of : root) of = parts.count(of) != 0 ? step.item : of;
      placed.insert(parts.begin(), parts.end());
    }
  }
}

namespace {

// Pieces of a line of memory that are free, by offset. The smallest that fits is taken.
class Places {
 public:
  std::size_t take(std::size_t size) {
    auto best = free_.end();
    for (auto at = free_.begin(); at != free_.end(); ++at) {
      if (at->second >= size && (best == free_.end() || at->second < best->second)) best = at;
    }
    if (best == free_.end()) return std::exchange(end_, end_ + size);
    const auto [offset, room] = *best;
    free_.erase(best);
    if (room > size) free_[offset + size] = room - size;
    return offset;
  }
  void give(std::size_t offset, std::size_t size) {
    auto [at, is_new] = free_.emplace(offset, size);
    if (const auto next = std::next(at); next != free_.end() && at->first + at->second == next->first) {
      at->second += next->second;
      free_.erase(next);
    }
    if (at != free_.begin()) {
      if (const auto before = std::prev(at); before->first + before->second == at->first) {
        before->second += at->second;
        free_.erase(at);
      }
    }
  }
  [[nodiscard]] std::size_t end() const { return end_; }

 private:
  std::map<std::size_t, std::size_t> free_;
  std::size_t end_ = 0;
};

std::size_t bytes_of(const Item& item) {
  const std::size_t bytes = element_count(item.shape) * byte_size(item.dtype);
  return std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment, 1) * kAlignment;
}

}  // namespace

// Results get their places before the operands of the step give theirs back, so that no step writes what it reads.
void Program::State::plan_memory() {
  constexpr std::size_t kNone = compiled::kNowhere;
  std::vector<std::size_t> last_use(root.size(), kNone);
  offset.assign(root.size(), kNone);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const ItemId operand : steps[i].operands) last_use[root[operand]] = i;
  }
  Places places;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    for (const ItemId result : steps[i].results) {
      const ItemId whole = placed.count(result) != 0 ? root[result] : result;
      if (root[result] != whole || is_returned[whole] || offset[whole] != kNone) continue;
      offset[whole] = places.take(bytes_of(items.items[whole]));
      summary.memory_alone += bytes_of(items.items[whole]);
      if (last_use[whole] == kNone) last_use[whole] = i;  // written by a pass and never read
    }
    for (ItemId id = 0; id < root.size(); ++id) {
      if (offset[id] != kNone && last_use[id] == i) places.give(offset[id], bytes_of(items.items[id]));
    }
  }
  summary.memory = places.end();
  memory = acquire_buffer(summary.memory);
  for (ItemId id = 0; id < root.size(); ++id) {
    const Item& item = items.items[id];
    if (offset[id] == kNone) continue;
    values[id] = Array::over(item.dtype, item.shape, {memory, static_cast<std::byte*>(memory.get()) + offset[id]});
  }
  for (const auto& [part, place] : placed) values[part] = values[place.first].part(place.second, items.items[part].shape);
  for (const Step& step : steps) {
    if (step.kind == Step::Kind::alias && offset[root[step.item]] != kNone) {
      values[step.item] = alias_of(step);
    }
  }
}

Array Program::State::alias_of(const Step& step) const {
  const Array& whole = values[step.operands[0]];
  const Shape& shape = items.items[step.item].shape;
  return compiled::is_reshape(items, step) ? whole.reshaped(shape) : whole.part(*compiled::first_in_operand(items, step.item), shape);
}

Outcome<Done> Program::State::execute(const Step& step) {
  for (const ItemId result : step.results) {
    if (is_returned[result] && step.kind != Step::Kind::alias)
      values[result] = Array::empty(items.items[result].dtype, items.items[result].shape);
  }
  const Item& item = items.items[step.item];
  if (step.kind == Step::Kind::alias) {
    if (offset[root[step.item]] == compiled::kNowhere) values[step.item] = alias_of(step);  // else it is where it always is
    return Done{};
  }
  if (step.kind == Step::Kind::weight_gradient) {
    const auto as = [&](std::size_t k) {  // the operand before its first two axes were exchanged
      Shape shape = items.items[item.operands[k]].shape;
      std::swap(shape[0], shape[1]);
      return values[step.operands[k]].reshaped(std::move(shape));
    };
    weight_gradient(std::get<WindowAttributes>(item.attributes), as(0), as(1), values[step.results[0]]);
    return Done{};
  }
  if (step.kind == Step::Kind::greatest_of_windows) {
    const Item& source = items.items[item.operands[0]];
    const auto* const pad = std::get_if<PadAttributes>(&source.attributes);
    hand_to_greatest(
        {std::get<GatherAttributes>(item.attributes).indices, static_cast<std::size_t>(item.shape[2]), pad == nullptr ? 0 : pad->value},
        values[step.operands[0]], values[step.operands[1]], values[step.results[0]]);
    return Done{};
  }
  std::vector<const Array*> operands;
  for (const ItemId operand : step.operands) operands.push_back(&values[operand]);
  if (step.kind == Step::Kind::sum_of_pads) {
    if (root[step.operands[0]] == step.item) return Done{};  // its parts lie there
    std::vector<Part> parts;
    for (const ItemId pad : item.pads) parts.push_back(*part_of(std::get<PadAttributes>(items.items[pad].attributes), item.shape));
    put_together(parts, operands, values[step.item]);
    return Done{};
  }
  if (step.kind == Step::Kind::sum_of_products) {
    add_products(std::get<GemmAttributes>(items.items[item.products[0]].attributes), operands, false, values[step.item]);
    return Done{};
  }
  if (step.kind == Step::Kind::op) return run(item.op, item.attributes, operands, values[step.item]);
  std::vector<Array*> results;
  for (const ItemId result : step.results) results.push_back(&values[result]);
  step.pass->run(operands, results);
  return Done{};
}

// Shows the values that the region reads before it, constants at their first use; nothing twice.
void Program::State::show(const ProgramRegion& region, ProgramObserver& observer, std::vector<bool>& shown,
                          const std::vector<Array>& from) {
  if (shown[region.results[0]]) return;
  for (const ItemId id : region.results) shown[id] = true;
  for (const ItemId id : region.operands) show_constant(id, observer, shown);
  std::vector<Array> results;
  for (const ItemId id : region.results) results.push_back(from[id]);
  observer.ran(region, results);
}

// Values that a step computes and does not keep, though other steps may mean them: slices that a pass takes out, products that
// are added up, and their sums so far. They are computed once more and shown before the step as steps of their own, and the step
// as their consequence.
std::vector<ItemId> Program::State::inside(const Step& step) const {
  if (step.pass) return step.pass->taken();
  if (step.kind != Step::Kind::sum_of_products) return {};
  std::vector<ItemId> found = items.items[step.item].products;
  const auto is_product = [&](ItemId id) {
    return std::ranges::find(items.items[step.item].products, id) != items.items[step.item].products.end();
  };
  for (std::optional<ItemId> sum = step.item; sum;) {
    const std::vector<ItemId>& terms = items.items[*sum].operands;
    const auto before = std::ranges::find_if_not(terms, is_product);
    sum = before == terms.end() ? std::nullopt : std::optional(*before);
    if (sum) found.push_back(*sum);
  }
  std::ranges::sort(found);  // operands first
  return found;
}

// In memory of their own: some also have a step, before this one or behind it, and a place in the program's memory.
Outcome<Done> Program::State::show_inside(const Step& step, ProgramObserver& observer, std::vector<bool>& shown) {
  const std::vector<ItemId> ids = inside(step);
  if (std::ranges::all_of(ids, [&](ItemId id) { return shown[id]; })) return Done{};
  std::vector<Array> places;
  Outcome<Done> done = Done{};
  for (const ItemId id : ids) {
    const Item& item = items.items[id];
    std::vector<const Array*> operands;
    for (const ItemId operand : item.operands) operands.push_back(&values[operand]);
    places.push_back(std::exchange(values[id], Array::empty(item.dtype, item.shape)));
    done = run(item.op, item.attributes, operands, values[id]);
    if (!done) break;
    if (!shown[id]) show(compiled::region_of(items, {Step::Kind::op, item.operands, {id}, id, nullptr}), observer, shown, values);
  }
  for (std::size_t k = 0; k < places.size(); ++k) values[ids[k]] = std::move(places[k]);
  return done;
}

void Program::State::show_constant(ItemId id, ProgramObserver& observer, std::vector<bool>& shown) {
  if (!items.items[id].constant || shown[id]) return;
  if (items.items[id].folded) return show(compiled::region_of_folded(items, id), observer, shown, values);
  shown[id] = true;
  observer.held(id, values[id]);
}

void Program::State::find_regions() {
  if (!regions.empty()) return;
  for (const Step& step : steps) regions.push_back(compiled::region_of(items, step));
}

// Results that an observer reads are copied here before it is told; a copy that fails is the replay's failure.
Outcome<std::vector<Array>> Program::State::replay_on(Mirror& device, std::span<const Array> inputs, ProgramObserver* observer) {
  if (there == nullptr) {
    compiled::Items alone = items;
    for (Item& item : alone.items) item.products.clear();
    there = std::make_unique<State>();
    there->prepare(std::move(alone), false);
  }
  return there->run_on(device, inputs, observer);
}

Outcome<std::vector<Array>> Program::State::run_on(Mirror& device, std::span<const Array> inputs, ProgramObserver* observer) {
  find_regions();
  const compiled::DeviceProgram program{items, steps, regions, offset, summary.memory};
  if (observer == nullptr) return on_device.run(program, device, inputs, {});
  std::vector<bool> shown(values.size(), false);
  const auto tell = [&](std::size_t step, const std::vector<Array>& there) -> Outcome<Done> {
    for (const ItemId result : regions[step].results) {
      if (auto done = there[result].fetch(); !done) return done;
    }
    show(regions[step], *observer, shown, there);
    return Done{};
  };
  auto outputs = on_device.run(program, device, inputs, tell);
  if (!outputs) return outputs;
  for (const ItemId id : items.outputs) show_constant(id, *observer, shown);
  return outputs;
}

void Program::State::prepare(compiled::Items of_graph, bool in_place) {
  items = std::move(of_graph);
  steps = compiled::scheduled(items, in_place);
  values.resize(items.items.size());
  for (ItemId id = 0; id < values.size(); ++id) {
    if (items.items[id].constant) values[id] = *items.items[id].constant;
  }
  summary.folded = items.folded;
  summary.shared = items.shared;
  summary.steps = steps.size();
  for (const Step& step : steps) {
    if (step.pass) summary.fused += step.pass->length() > 1 ? step.pass->length() : 0;
    summary.composed += step.kind >= Step::Kind::weight_gradient ? 1 : 0;
  }
  find_roots();
  if (in_place) place_parts();
  plan_memory();
}

Outcome<Program> Program::compile(const Graph& graph) {
  Outcome<compiled::Items> items = compiled::simplified(graph);
  if (!items) return items.rejection();
  auto state = std::make_shared<State>();
  state->summary.nodes = graph.nodes.size();
  state->prepare(std::move(items).value(), true);
  Program program;
  program.state_ = std::move(state);
  return program;
}

Outcome<std::vector<Array>> Program::replay(std::span<const Array> inputs, ProgramObserver* observer, Mirror* device) const {
  State& state = *state_;
  for (const Array& input : inputs) {  // before the lock: what computes one may be a replay of this program
    if (auto done = device == nullptr ? input.fetch() : Outcome<Done>(Done{}); !done) return done.rejection();
  }
  const std::lock_guard lock(state.replaying);
  demand(inputs.size() == state.items.inputs.size(), "Program::replay: one array per input");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ItemId id = state.items.inputs[i];
    const Item& item = state.items.items[id];
    demand(inputs[i].dtype() == item.dtype && inputs[i].shape() == item.shape, "Program::replay: inputs of the graph's types and shapes");
    if (device == nullptr) state.values[id] = inputs[i];
  }
  if (device != nullptr) return state.replay_on(*device, inputs, observer);
  std::vector<bool> shown(state.values.size(), false);
  if (observer != nullptr) state.find_regions();
  for (std::size_t i = 0; i < state.steps.size(); ++i) {
    if (Outcome<Done> done = state.execute(state.steps[i]); !done) return done.rejection();
    if (observer == nullptr) continue;
    if (Outcome<Done> done = state.show_inside(state.steps[i], *observer, shown); !done) return done.rejection();
    state.show(state.regions[i], *observer, shown, state.values);
  }
  std::vector<Array> outputs;
  for (const ItemId id : state.items.outputs) {
    outputs.push_back(state.values[id]);
    if (observer != nullptr) state.show_constant(id, *observer, shown);
  }
  // Values that the caller owns are not kept, nor other shapes or parts of a value.
  for (ItemId id = 0; id < state.values.size(); ++id) {
    const ItemId root = state.root[id];
    const bool is_theirs = state.is_returned[root] || state.items.items[root].op == Op::input;
    if (is_theirs && !state.items.items[id].constant) state.values[id] = Array();
  }
  return outputs;
}

const std::vector<ProgramValue>& Program::inputs() const { return state_->items.inputs; }
const std::vector<ProgramValue>& Program::outputs() const { return state_->items.outputs; }
std::optional<ProgramValue> Program::value_of(NodeId node) const { return state_->items.of_node[node]; }
const ProgramSummary& Program::summary() const { return state_->summary; }

}  // namespace assay::runtime
