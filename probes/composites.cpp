#include "probes/composites.h"

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "kernel/contracts/contract.h"
#include "kernel/gradients/adjointness/adjointness.h"
#include "probes/layout.h"
#include "semantics/compositions/compositions.h"
#include "semantics/demand.h"

namespace assay::probes {
namespace {

using gradients::derivatives::Builder;
using gradients::derivatives::Value;

struct Application {
  std::string region, name;
  Graph graph;
};

class Composing {
 public:
  Value input(const Shape& shape, DType dtype = DType::float32) {
    return builder_.node(graph_.append_input(dtype, shape, std::string("x").append(std::to_string(graph_.inputs.size()))));
  }
  Graph take(const Value& y) {
    demand(!builder_.rejection(), "composites: shapes that fit");
    graph_.mark_output(y.id(), "y");
    return std::move(graph_);
  }

 private:
  Graph graph_;
  Builder builder_{graph_};
};

// q [heads, s, d], k [heads, t, d], v [heads, t, e]; masked: a truth value per query and key.
Graph attention(std::int64_t heads, std::int64_t s, std::int64_t t, std::int64_t d, std::int64_t e, bool masked) {
  Composing c;
  const Value q = c.input({heads, s, d}), k = c.input({heads, t, d}), v = c.input({heads, t, e});
  const std::optional<Value> open = masked ? std::optional(c.input({s, t}, DType::boolean)) : std::nullopt;
  return c.take(compositions::attention(q, k, v, open));
}

// A third of it and two thirds: the value with a few roundings more, and its cotangent, too.
Value with_roundings(const Value& x) {
  const auto count = static_cast<std::int64_t>(element_count(x.shape()));
  const WeightedGatherAttributes thirds{1, {0, 2}, {0, 0}, {Rational(1, 3), Rational(2, 3)}};
  return reshaped(apply(Op::weighted_gather, reshaped(x, {count, 1}), thirds), x.shape());
}

// x [rows, n] over its last axis, times a weight, and for layer norm plus a bias. Backward kernels merge a mean from means of
// parts, which round where the sum is exact, and multiply by a rounded reciprocal of the root, where the derivative divides:
// those roundings are admitted.
Graph normalised(std::int64_t rows, std::int64_t n, NormaliseAttributes::Form form, bool for_backward = false) {
  Composing c;
  const Value x = c.input({rows, n}), weight = c.input({n});
  const Value y = apply(Op::normalise, for_backward ? with_roundings(x) : x, NormaliseAttributes{{1}, 1e-5, form}) * weight;
  return form == NormaliseAttributes::Form::centered ? c.take(y + c.input({n})) : c.take(y);
}

Graph softmax_of(std::int64_t rows, std::int64_t n, Op op) {
  Composing c;
  return c.take(apply(op, c.input({rows, n}), SoftmaxAttributes{1}));
}

Graph backward(const Graph& graph) {
  auto product = gradients::reverse_of(graph);
  demand(product.ok(), "composites: a derivative");
  return std::move(product).value();
}

std::vector<Application> applications_of(const std::string& region, bool large) {
  using Form = NormaliseAttributes::Form;
  std::vector<Application> all;
  const auto add = [&](const std::string& name, const std::function<Graph()>& graph) {
    if (name.substr(0, name.find(',')) == region) all.push_back({region, name, graph()});
  };
  for (const auto& [size, s, t] : {std::tuple("small", 3, 5), std::tuple("one query", 1, 7), std::tuple("beyond a tile", 33, 65)}) {
    if (t > 60 && !large) continue;
    const std::string where = std::string(", ") + size;
    add("attention" + where, [&, s = s, t = t] { return attention(2, s, t, 8, 6, false); });
    add("attention" + where + ", masked", [&, s = s, t = t] { return attention(2, s, t, 8, 6, true); });
    if (t < 60) add("attention backward" + where, [&, s = s, t = t] { return backward(attention(1, s, t, 4, 3, false)); });
  }
  for (const std::int64_t n : {std::int64_t{5}, std::int64_t{33}, std::int64_t{129}}) {
    if (n > 60 && !large) continue;
    const std::string where = ", " + std::to_string(n);
    add("layer norm" + where, [&] { return normalised(3, n, Form::centered); });
    add("rms norm" + where, [&] { return normalised(3, n, Form::root_mean); });
    add("layer norm backward" + where, [&] { return backward(normalised(3, n, Form::centered, true)); });
    add("rms norm backward" + where, [&] { return backward(normalised(3, n, Form::root_mean, true)); });
    add("softmax backward" + where, [&] { return backward(softmax_of(3, n, Op::softmax)); });
    add("log softmax backward" + where, [&] { return backward(softmax_of(3, n, Op::log_softmax)); });
  }
  return all;
}

Tensor drawn(const Node& node, ProbeKind kind, std::size_t operand, std::mt19937_64& random, ExecutionModel::Storage storage) {
  std::normal_distribution<double> normal;
  const std::size_t count = element_count(node.shape);
  if (node.dtype == DType::boolean) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    for (std::size_t i = 0; i < count; ++i) bytes->push_back(static_cast<std::byte>(random() % 4 == 0 ? 0 : 1));
    return {DType::boolean, node.shape, std::move(bytes)};
  }
  std::vector<float> values;
  const std::size_t hot = count == 0 ? 0 : random() % count;
  for (std::size_t i = 0; i < count; ++i) {
    double value = normal(random);
    if (kind == ProbeKind::integers) value = static_cast<double>(random() % 5) - 2;
    if (kind == ProbeKind::one_hot && operand == 0) value = i == hot ? 3 + std::fabs(value) : 0;
    if (kind == ProbeKind::shifted && operand == 0) value += 8;
    if (kind == ProbeKind::ties && operand == 0) value = i % 2 == 0 ? 1 : -1;
    values.push_back(static_cast<float>(contracts::rounded_to(storage, value)));
  }
  return Tensor::of_floats(node.shape, values);
}

}  // namespace

std::vector<std::string> composite_regions() {
  return {"attention", "attention backward", "layer norm",       "layer norm backward",
          "rms norm",  "rms norm backward",  "softmax backward", "log softmax backward"};
}

std::vector<RegionProbe> region_plan(const std::string& region, const PlanOptions& options) {
  demand(options.dtype == DType::float32, "region_plan: float32");
  std::vector<RegionProbe> plan;
  std::mt19937_64 random(options.seed * 1000003);
  for (const Application& one : applications_of(region, options.large)) {
    const auto add = [&](ProbeKind kind, Layout layout) {
      std::string name = one.name + ": " + to_string(kind) + " " + contracts::name_of(options.storage);
      if (layout != Layout::dense) name += std::string(", ") + to_string(layout) + " in memory";
      RegionProbe probe{one.region, std::move(name), one.graph, {}, layout};
      for (std::size_t k = 0; k < one.graph.inputs.size(); ++k)
        probe.operands.push_back(repeated(drawn(one.graph.node(one.graph.inputs[k]), kind, k, random, options.storage), layout));
      plan.push_back(std::move(probe));
    };
    for (const ProbeKind kind : {ProbeKind::integers, ProbeKind::dense, ProbeKind::one_hot, ProbeKind::shifted, ProbeKind::ties})
      add(kind, Layout::dense);
    if (!options.strided) continue;
    for (const Layout layout : {Layout::transposed, Layout::stepped, Layout::broadcast_first, Layout::broadcast_last})
      add(ProbeKind::dense, layout);
  }
  return plan;
}

}  // namespace assay::probes
