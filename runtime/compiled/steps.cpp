#include "runtime/compiled/steps.h"

#include <algorithm>
#include <optional>

#include "runtime/kernels/convolution.h"

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

class Scheduler {
 public:
  explicit Scheduler(const Items& items)
      : all_(items), group_(grouped(items)), done_(items.items.size(), false), kept_(items.items.size(), false) {
    members_.resize(items.items.size());
    for (ItemId id = 0; id < items.items.size(); ++id) {
      members_[group_[id]].push_back(id);
      for (const ItemId operand : items.items[id].operands) kept_[operand] = kept_[operand] || group_[operand] != group_[id];
    }
    for (const ItemId id : items.outputs) kept_[id] = true;
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
    Step step = weight_gradient_at(id).value_or(
        Step{item.op == Op::reshape ? Step::Kind::alias : Step::Kind::op, item.operands, {id}, id, nullptr});
    for (const ItemId operand : step.operands) need(operand);
    done_[id] = true;
    steps_.push_back(std::move(step));
  }
  void need_pass(std::size_t group) {
    const auto pass = std::make_shared<const Pass>(all_, members_[group], kept_);
    for (const ItemId operand : pass->reads()) need(operand);
    for (const ItemId member : members_[group]) done_[member] = true;
    steps_.push_back({Step::Kind::pass, pass->reads(), pass->writes(), 0, pass});
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

  const Items& all_;
  std::vector<std::size_t> group_;
  std::vector<std::vector<ItemId>> members_;
  std::vector<bool> done_, kept_;
  std::vector<Step> steps_;
};

}  // namespace

std::vector<Step> scheduled(const Items& items) { return Scheduler(items).run(); }

}  // namespace assay::runtime::compiled
