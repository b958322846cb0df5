// Fused elementwise ops: the region is computed op by op, with each result rounded, which every model here admits.
//
// An element passes if the bits are equal and its set is narrow. The set may be wider than one number if a product that
// feeds a sum may be fused with it. e bounds the width: each node's set lies within e of the computed value v. e is 0
// as long as nothing is fused whose product is not exact; r is |v - p| for a product p. A rough bound suffices: an
// element passes if 2 e <= 2^-10 |v|.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "kernel/quick/quick_sums.h"
#include "semantics/demand.h"

namespace assay::quick {

namespace {

constexpr std::size_t kBlock = 512;
constexpr double kAnything = std::numeric_limits<double>::infinity(), kLeast = 0x1p-148;

struct Lane {
  std::array<float, kBlock> v;
  std::array<double, kBlock> e, r;
};

// The width after a rounding: members of the set are as far from their exact values as v is.
double grown(double e, double v) { return e == 0 ? 0 : e + 2 * kU * (std::fabs(v) + e) + kLeast; }

bool is_link(const Node& node) {
  switch (node.op) {
    case Op::add:
    case Op::sub:
    case Op::mul:
    case Op::div:
    case Op::neg:
    case Op::abs:
    case Op::relu:
    case Op::step:
      return true;
    default:
      return false;
  }
}

void compute(const Node& node, const Lane& a, const Lane& b, std::size_t count, Lane& y) {
  const auto each = [&](const auto& value, const auto& spread) {
    for (std::size_t i = 0; i < count; ++i) {
      y.v[i] = value(a.v[i], b.v[i]);
      y.r[i] = 0;
      y.e[i] = spread(i);
    }
  };
  const auto of_sum = [&](std::size_t i) { return grown(a.e[i] + b.e[i] + a.r[i] + b.r[i], y.v[i]); };
  const auto of_first = [&](std::size_t i) { return a.e[i]; };
  const auto of_points = [&](std::size_t i) { return a.e[i] + b.e[i] == 0 ? 0 : kAnything; };
  switch (node.op) {
    case Op::add:
      return each([](float x, float z) { return x + z; }, of_sum);
    case Op::sub:
      return each([](float x, float z) { return x - z; }, of_sum);
    case Op::mul:
      return each([](float x, float z) { return x * z; },
                  [&](std::size_t i) {
                    const double x = a.v[i], z = b.v[i];
                    y.r[i] = std::fabs(x * z - static_cast<double>(y.v[i]));
                    return grown(std::fabs(x) * b.e[i] + std::fabs(z) * a.e[i] + a.e[i] * b.e[i], y.v[i]);
                  });
    case Op::div:
      return each([](float x, float z) { return x / z; }, of_points);
    case Op::neg:
      return each([](float x, float) { return -x; },
                  [&](std::size_t i) {
                    y.r[i] = a.r[i];
                    return a.e[i];
                  });
    case Op::abs:
      return each([](float x, float) { return std::fabs(x); }, of_first);
    case Op::relu:
      return each([](float x, float) { return relu_or_open(x); }, of_first);
    default:
      demand(node.op == Op::step, "quick: a link of a chain");
      return each([](float x, float) { return step_or_open(x); }, of_points);
  }
}

// The region as links over one shape. Values are numbered like nodes; an expansion of an input counts as that input.
class Chain {
 public:
  explicit Chain(const Fused& fused) : fused_(fused), source_(fused.region.graph.nodes.size()), shape_(fused.results[0]->shape()) {}

  bool fits() {
    const Graph& graph = fused_.region.graph;
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      source_[id] = id;
      if (node.dtype != DType::float32) return false;
      if (node.op == Op::input) {
        Shape both;
        if (!broadcast(node.shape, shape_, both) || both != shape_) return false;
        continue;
      }
      const bool expands = node.op == Op::expand && graph.node(node.operands[0]).op == Op::input;
      if (expands) source_[id] = node.operands[0];
      if (node.shape != shape_ || !(expands || is_link(node))) return false;
    }
    return std::ranges::all_of(graph.outputs, [&](NodeId output) { return is_link(graph.node(output)); });
  }

  Judged judge() const {
    const Graph& graph = fused_.region.graph;
    std::vector<std::vector<float>> inputs;
    for (const Tensor& operand : fused_.operands)
      inputs.push_back(operand.shape() == shape_ ? std::vector<float>() : broadcast_to(operand, shape_));
    std::vector<Lane> lanes(graph.nodes.size());
    for (const NodeId input : graph.inputs) {
      lanes[input].e.fill(0);
      lanes[input].r.fill(0);
    }
    Judged judged;
    const std::size_t count = element_count(shape_);
    for (std::size_t first = 0; first < count; first += kBlock) {
      const std::size_t some = std::min(kBlock, count - first);
      std::array<bool, kBlock> open{};
      for (std::size_t i = 0; i < inputs.size(); ++i) {
        const float* from = inputs[i].empty() ? floats(fused_.operands[i]).data() : inputs[i].data();
        std::copy_n(from + first, some, lanes[graph.inputs[i]].v.begin());
      }
      for (NodeId id = 0; id < graph.nodes.size(); ++id) {
        const Node& node = graph.node(id);
        if (node.op == Op::input || source_[id] != id) continue;
        const Lane &a = lanes[source_[node.operands[0]]], &b = lanes[source_[node.operands.back()]];
        compute(node, a, b, some, lanes[id]);
        for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
          if (graph.outputs[k] == id) compare(floats(*fused_.results[k]).data() + first, some, lanes[id], open);
        }
      }
      for (std::size_t i = 0; i < some; ++i) {
        if (open[i]) judged.open.push_back(first + i);
      }
    }
    judged.terms = graph.nodes.size();
    judged.single = [*this](std::size_t element) { return single(element); };
    return judged;
  }

 private:
  // Compares; later nodes read the received values.
  void compare(const float* received, std::size_t count, Lane& lane, std::array<bool, kBlock>& open) const {
    for (std::size_t i = 0; i < count; ++i) {
      const bool narrow = 2 * lane.e[i] <= 0x1p-10 * std::fabs(static_cast<double>(lane.v[i]));
      if (certainly(received[i], lane.v[i]) == 0 || !narrow) open[i] = true;
    }
    if (fused_.results.size() == 1) return;
    std::copy_n(received, count, lane.v.begin());
    lane.e.fill(0);
  }

  [[nodiscard]] Single single(std::size_t element) const {
    const Graph& graph = fused_.region.graph;
    Single single;
    std::vector<NodeId> ids(graph.nodes.size());
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      single.operands.push_back(element_of(fused_.operands[i], shape_, element));
      ids[graph.inputs[i]] = single.graph.append_input(DType::float32, {1}, "x");
    }
    for (NodeId id = 0; id < graph.nodes.size(); ++id) {
      const Node& node = graph.node(id);
      if (source_[id] != id) ids[id] = ids[source_[id]];
      if (node.op == Op::input || source_[id] != id) continue;
      std::vector<NodeId> operands;
      for (const NodeId operand : node.operands) operands.push_back(ids[operand]);
      const auto added = single.graph.append(node.op, std::move(operands), node.attributes);
      demand(added.ok(), "quick: ops of a chain fit one element");
      ids[id] = added.value();
    }
    for (const NodeId output : graph.outputs) single.graph.mark_output(ids[output], "y");
    return single;
  }

  Fused fused_;
  std::vector<NodeId> source_;
  Shape shape_;
};

}  // namespace

std::optional<Judged> judge_chain(const Fused& fused) {
  Chain chain(fused);
  if (!chain.fits()) return std::nullopt;
  return chain.judge();
}

}  // namespace assay::quick
