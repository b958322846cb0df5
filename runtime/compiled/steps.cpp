#include "runtime/compiled/steps.h"

#include <algorithm>
#include <map>
#include <optional>

#include "runtime/kernels/convolution.h"
#include "runtime/kernels/kernels.h"

namespace assay::runtime::compiled {

namespace {

// The item whose elements, as [b, a, rest], are those of `id` as [a, b, rest]: a permutation, beside which axes of extent 1 may be moved
// and inserted.
std::optional<ItemId> exchanged(const Items& all, ItemId id, std::int64_t a, std::int64_t b, std::int64_t rest) {
  while (all.items[id].op == Op::reshape && !all.items[id].constant) id = all.items[id].operands[0];
  const Item& item = all.items[id];
  if (item.op != Op::permute || item.constant) return std::nullopt;
  const Shape from = dense_strides(all.items[item.operands[0]].shape);
  Shape strides;
  for (const std::int64_t axis : std::get<PermuteAttributes>(item.attributes).axes) strides.push_back(from[static_cast<std::size_t>(axis)]);
  const Loops loops = merged(item.shape, {strides, dense_strides(item.shape)});
  if (loops.extents != Shape{a, b, rest} || loops.strides[0] != Shape{rest, a * rest, 1}) return std::nullopt;
  return item.operands[0];
}

std::int64_t spatial_size(const Shape& shape) { return static_cast<std::int64_t>(element_count(Shape(shape.begin() + 2, shape.end()))); }

// The places that a weighted_gather adds up are those that the gather took, each product in the order of the gather, but those taken from
// beyond its own extent.
bool gives_back(const WeightedGatherAttributes& sums, const GatherAttributes& taken) {
  const auto extent = static_cast<std::int64_t>(sums.starts.size()) - 1;
  std::size_t inside = 0;
  for (const std::int64_t place : taken.indices) inside += place < extent ? 1 : 0;
  if (sums.indices.size() != inside || !std::ranges::all_of(sums.weights, [](const Rational& w) { return w == Rational(1); })) return false;
  for (std::int64_t j = 0; j < extent; ++j) {
    for (auto k = static_cast<std::size_t>(sums.starts[static_cast<std::size_t>(j)]);
         k < static_cast<std::size_t>(sums.starts[static_cast<std::size_t>(j) + 1]); ++k) {
      const auto from = static_cast<std::size_t>(sums.indices[k]);
      const bool ordered = k == static_cast<std::size_t>(sums.starts[static_cast<std::size_t>(j)]) || sums.indices[k - 1] < sums.indices[k];
      if (from >= taken.indices.size() || taken.indices[from] != j || !ordered) return false;
    }
  }
  return true;
}

constexpr std::size_t kShortestLine = 16;  // elements: shorter lines of parts take longer in a pass than copies of the parts

bool has_long_lines(const Part& part, const Shape& whole) { return Pass::lines_of(part, whole).length >= kShortestLine; }

class Scheduler {
 public:
  Scheduler(const Items& items, bool in_place)
      : all_(items), group_(grouped(items)), done_(items.items.size(), false), kept_(items.items.size(), false) {
    members_.resize(items.items.size());
    for (ItemId id = 0; id < items.items.size(); ++id) {
      members_[group_[id]].push_back(id);
      for (const ItemId operand : items.items[id].operands) kept_[operand] = kept_[operand] || group_[operand] != group_[id];
    }
    for (const ItemId id : items.outputs) kept_[id] = true;
    if (in_place) find_parts();
  }
  std::vector<Step> run() {
    for (const ItemId id : all_.outputs) need(id);
    return std::move(steps_);
  }

 private:
  // Depth is that of the graph's longest path: passes and ops call need() for what they read.
  void need(ItemId id) {
    if (done_[id]) return;
    const Item& item = all_.items[id];
    if (item.constant || item.op == Op::input) {
      done_[id] = true;
      return;
    }
    if (is_elementwise(all_, id)) return need_pass(group_[id]);
    if (const auto pass = writes_sum_.find(id); pass != writes_sum_.end()) return need_pass(pass->second);
    auto composed = weight_gradient_at(id);
    if (!composed) composed = greatest_of_windows_at(id);
    if (!item.pads.empty()) composed = sum_at(id, Step::Kind::sum_of_pads, item.pads);
    if (!item.products.empty()) composed = sum_at(id, Step::Kind::sum_of_products, item.products);
    Step step = composed.value_or(Step{first_in_operand(all_, id) ? Step::Kind::alias : Step::Kind::op, item.operands, {id}, id, nullptr});
    for (const ItemId operand : step.operands) need(operand);
    done_[id] = true;
    steps_.push_back(std::move(step));
  }
  void need_pass(std::size_t group) {
    auto pass = std::make_shared<const Pass>(all_, members_[group], kept_, parts_);
    for (const ItemId operand : pass->reads()) need(operand);
    if (pass->has_short_lines()) return need_one_by_one(group, pass->writes());
    for (const ItemId member : members_[group]) done_[member] = true;
    for (const ItemId result : pass->writes()) done_[result] = true;
    steps_.push_back({Step::Kind::pass, pass->reads(), pass->writes(), 0, pass});
  }
  void need_one_by_one(std::size_t group, const std::vector<ItemId>& writes) {
    for (const ItemId member : members_[group]) {
      for (const ItemId operand : all_.items[member].operands) need(operand);
      done_[member] = true;
      steps_.push_back({Step::Kind::op, all_.items[member].operands, {member}, member, nullptr});
    }
    for (const ItemId id : writes) {
      if (done_[id]) continue;
      done_[id] = true;
      steps_.push_back(sum_at(id, Step::Kind::sum_of_pads, all_.items[id].pads));
    }
  }
  // Slices that passes alone read, and sums of pads of what one pass gives and nothing else reads.
  void find_parts() {
    std::vector<std::vector<ItemId>> readers(all_.items.size());
    for (ItemId id = 0; id < all_.items.size(); ++id) {
      for (const ItemId operand : all_.items[id].operands) readers[operand].push_back(id);
    }
    std::vector<bool> is_output(all_.items.size(), false);
    for (const ItemId id : all_.outputs) is_output[id] = true;
    for (ItemId id = 0; id < all_.items.size(); ++id) {
      const Item& item = all_.items[id];
      const bool is_read = !is_output[id] && std::ranges::all_of(readers[id], [&](ItemId reader) {
        return is_elementwise(all_, reader) && all_.items[reader].shape == item.shape;
      });
      if (item.op == Op::slice && !item.constant && is_float(item.dtype) && is_read && !first_in_operand(all_, id)) {
        const Shape& whole = all_.items[item.operands[0]].shape;
        const auto pad = pad_of(std::get<SliceAttributes>(item.attributes), whole);
        const auto part = pad ? part_of(*pad, whole) : std::nullopt;
        if (part && has_long_lines(*part, whole)) parts_.slices.emplace(id, *part);
      }
      if (item.pads.empty()) continue;
      std::int64_t covered = 0;
      std::map<ItemId, std::pair<ItemId, Part>> terms;
      const std::size_t group = group_[all_.items[item.pads[0]].operands[0]];
      for (const ItemId pad : item.pads) {
        const ItemId term = all_.items[pad].operands[0];
        const Part part = *part_of(std::get<PadAttributes>(all_.items[pad].attributes), item.shape);
        if (!is_elementwise(all_, term) || group_[term] != group || is_output[term] || readers[term].size() != 1) break;
        if (all_.items[term].shape != all_.items[members_[group][0]].shape || !has_long_lines(part, item.shape)) break;
        terms[term] = {id, part};
        covered += part.extent;
        if (covered < item.shape[part.axis] || terms.size() != item.pads.size()) continue;
        for (const auto& [one, place] : terms) kept_[one] = false;
        parts_.summed.insert(terms.begin(), terms.end());
        writes_sum_[id] = group;
      }
    }
  }
  // permute(conv(exchanged x, exchanged g)) with the first two axes exchanged back: a convolution's gradient in its weights.
  [[nodiscard]] std::optional<Step> weight_gradient_at(ItemId id) const {
    const Item& item = all_.items[id];
    if (item.op != Op::permute || item.dtype != DType::float32) return std::nullopt;
    const ItemId conv_id = item.operands[0];
    const Item& conv = all_.items[conv_id];
    const bool plain = conv.op == Op::conv && conv.operands.size() == 2;
    if (!plain || exchanged(all_, id, item.shape[0], item.shape[1], spatial_size(item.shape)) != conv_id) return std::nullopt;
    const Shape &x = all_.items[conv.operands[0]].shape, &g = all_.items[conv.operands[1]].shape;
    const std::optional<ItemId> of_x = exchanged(all_, conv.operands[0], x[0], x[1], spatial_size(x));
    const std::optional<ItemId> of_g = exchanged(all_, conv.operands[1], g[0], g[1], spatial_size(g));
    if (!of_x || !of_g) return std::nullopt;
    Shape plain_x = x, plain_g = g;
    std::swap(plain_x[0], plain_x[1]);
    std::swap(plain_g[0], plain_g[1]);
    const auto& w = std::get<WindowAttributes>(conv.attributes);
    if (spatial_size(g) < 2 * spatial_size(item.shape) || !has_weight_gradient(w, plain_x, plain_g, item.shape)) return std::nullopt;
    return Step{Step::Kind::weight_gradient, {*of_x, *of_g}, {id}, conv_id, nullptr};
  }

  [[nodiscard]] Step sum_at(ItemId id, Step::Kind kind, const std::vector<ItemId>& terms) const {
    Step step{kind, {}, {id}, id, nullptr};
    for (const ItemId term : terms)
      step.operands.insert(step.operands.end(), all_.items[term].operands.begin(), all_.items[term].operands.end());
    return step;
  }
  // The item that gives `id` by an op of this kind, if it is no constant.
  [[nodiscard]] const Item* made_by(ItemId id, Op op) const {
    const Item& item = all_.items[id];
    return item.op == op && !item.constant ? &item : nullptr;
  }
  // Numbers 0, 1, ... along the last axis.
  [[nodiscard]] bool counts_up(ItemId id, std::int64_t extent) const {
    const Item& item = all_.items[id];
    if (!item.constant || item.dtype != DType::int64 || item.shape != Shape{1, 1, extent}) return false;
    const auto numbers = item.constant->data<std::int64_t>();
    for (std::int64_t k = 0; k < extent; ++k) {
      if (numbers[static_cast<std::size_t>(k)] != k) return false;
    }
    return true;
  }
  [[nodiscard]] bool is_zero(ItemId id) const {
    const auto& constant = all_.items[id].constant;
    return constant && constant->size() == 1 && constant->to_tensor().as_double(0) == 0;
  }
  // weighted_gather(where(arg_max(gather(x)) = place, g, 0)) back to the places of x: a maximum over windows, backwards.
  [[nodiscard]] std::optional<Step> greatest_of_windows_at(ItemId id) const {
    const Item* const sums = made_by(id, Op::weighted_gather);
    const Item* const flat = sums == nullptr ? nullptr : made_by(sums->operands[0], Op::reshape);
    const Item* const chosen = flat == nullptr ? nullptr : made_by(flat->operands[0], Op::where);
    const Item* const hit = chosen == nullptr ? nullptr : made_by(chosen->operands[0], Op::equal);
    const Item* const first = hit == nullptr ? nullptr : made_by(hit->operands[0], Op::arg_max);
    const Item* const windows = first == nullptr ? nullptr : made_by(first->operands[0], Op::gather);
    if (windows == nullptr || windows->shape.size() != 3) return std::nullopt;
    const Shape &shape = windows->shape, g = all_.items[chosen->operands[1]].shape;
    const auto& greatest = std::get<ArgAttributes>(first->attributes);
    const auto& taken = std::get<GatherAttributes>(windows->attributes);
    const auto& back = std::get<WeightedGatherAttributes>(sums->attributes);
    const bool fits = taken.axis == 1 && back.axis == 1 && greatest.axis == 2 && greatest.keep_dims && !greatest.last &&
                      counts_up(hit->operands[1], shape[2]) && is_zero(chosen->operands[2]) && g == Shape{shape[0], shape[1], 1} &&
                      flat->shape == Shape{shape[0], shape[1] * shape[2]} && shape[2] > 0;
    constexpr std::int64_t kMostPlaces = std::int64_t{1} << 31;  // that the kernel counts in 32 bits
    if (!fits || sums->shape[1] >= kMostPlaces || shape[1] * shape[2] >= kMostPlaces || !gives_back(back, taken)) return std::nullopt;
    const Item* const padded = made_by(windows->operands[0], Op::pad);
    const ItemId x = padded == nullptr ? windows->operands[0] : padded->operands[0];
    if (all_.items[x].shape != sums->shape) return std::nullopt;
    if (padded != nullptr) {
      const auto& pad = std::get<PadAttributes>(padded->attributes);
      if (pad.before != Shape{0, 0} || pad.after != Shape{0, 1}) return std::nullopt;
    }
    return Step{Step::Kind::greatest_of_windows,
                {x, chosen->operands[1], hit->operands[1], chosen->operands[2]},
                {id},
                first->operands[0],
                nullptr};
  }

  const Items& all_;
  std::vector<std::size_t> group_;
  std::vector<std::vector<ItemId>> members_;
  std::vector<bool> done_, kept_;
  PartsInPlace parts_;
  std::map<ItemId, std::size_t> writes_sum_;  // the group whose pass gives a sum of pads
  std::vector<Step> steps_;
};

}  // namespace

std::optional<std::size_t> first_in_operand(const Items& items, ItemId id) {
  const Item& item = items.items[id];
  if (item.op == Op::reshape) return 0;
  if (item.op != Op::slice) return std::nullopt;
  return first_of_part(std::get<SliceAttributes>(item.attributes), items.items[item.operands[0]].shape, item.dtype);
}

std::vector<Step> scheduled(const Items& items, bool in_place) { return Scheduler(items, in_place).run(); }

}  // namespace assay::runtime::compiled
