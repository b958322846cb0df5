// Gradients of the representative applications, recorded.
#include <cmath>
#include <optional>
#include <random>
#include <utility>

#include "kernel/gradients/adjointness/cases.h"
#include "probes/launch.h"
#include "runtime/autodiff/transform.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"

namespace assay::probes {
namespace {

using gradients::AdjointCase;
using runtime::Array;

// Of the operands and the cotangent: whole numbers, on which much is exact; full precision; a cotangent of 0, for which every gradient
// is 0; kinks.
enum class Point : std::uint8_t { whole, dense, zero, kinks };

std::vector<Point> points_of(const AdjointCase& one) {
  std::vector<Point> points = {Point::whole, Point::dense, Point::zero};
  if (!one.kinks.empty()) points.push_back(Point::kinks);
  return points;
}

// Pieces and choices need many: an element of a window counts only where it is the greatest.
std::vector<Point> many_points_of(const AdjointCase& one) {
  constexpr int kMore = 24;
  std::vector<Point> points = points_of(one);
  for (int k = 0; k < kMore; ++k) points.push_back(k % 3 == 1 ? Point::whole : Point::dense);
  return points;
}

double drawn(std::mt19937_64& random, const gradients::Domain& domain, Point point, const std::vector<double>& kinks) {
  const double inside = std::uniform_real_distribution<double>(domain.lo, domain.hi)(random), whole = std::round(inside);
  if (point == Point::kinks && random() % 2 == 0) {
    const double kink = kinks[random() % kinks.size()];
    if (kink >= domain.lo && kink <= domain.hi) return kink;
  }
  return point == Point::whole && whole > domain.lo && whole < domain.hi ? whole : inside;
}

Tensor tensor_of(const Node& node, const std::vector<double>& values) {
  if (node.dtype == DType::float64) return Tensor::of_doubles(node.shape, values);
  if (node.dtype == DType::float32) return Tensor::of_floats(node.shape, std::vector<float>(values.begin(), values.end()));
  const std::vector<std::int64_t> whole(values.begin(), values.end());
  if (node.dtype == DType::int64) return Tensor::of_ints(node.shape, whole);
  auto bytes = std::make_shared<std::vector<std::byte>>();
  for (const std::int64_t value : whole) bytes->push_back(static_cast<std::byte>(value));
  return Tensor(DType::boolean, node.shape, std::move(bytes));
}

struct Given {
  std::vector<Tensor> operands;
  Tensor cotangent;
};

Given given(const AdjointCase& one, Point point, std::mt19937_64& random) {
  Given result;
  for (std::size_t k = 0; k < one.graph.inputs.size(); ++k) {
    const Node& node = one.graph.node(one.graph.inputs[k]);
    std::vector<double> values(element_count(node.shape));
    for (double& value : values)
      value = is_float(node.dtype)
                  ? drawn(random, one.domains[k], point, one.kinks)
                  : static_cast<double>(std::uniform_int_distribution<std::int64_t>(static_cast<std::int64_t>(one.domains[k].lo),
                                                                                    static_cast<std::int64_t>(one.domains[k].hi))(random));
    result.operands.push_back(tensor_of(node, values));
  }
  const Node& y = one.graph.node(one.graph.outputs[0]);
  std::vector<double> values(element_count(y.shape));
  std::normal_distribution<double> normal;
  for (double& value : values)
    value = point == Point::zero ? 0 : point == Point::dense ? normal(random) : static_cast<double>(random() % 7) - 3;
  result.cotangent = tensor_of(y, values);
  return result;
}

template <class F>
Outcome<Done> for_each_point(Op op, std::uint64_t seed, const F& f) {
  std::mt19937_64 random(seed);
  for (const AdjointCase& one : gradients::adjoint_cases(op)) {
    for (const Point point : points_of(one)) {
      if (auto done = f(one, given(one, point, random)); !done) return done;
    }
  }
  return Done{};
}

// A graph, compiled and run.
Outcome<std::vector<Tensor>> ran(const Graph& graph, std::span<const Tensor> operands, const std::shared_ptr<runtime::Device>& device) {
  const auto results = compiled_and_run(graph, operands, device);
  if (!results) return results.rejection();
  std::vector<Tensor> tensors;
  for (const Array& result : results.value()) tensors.push_back(result.to_tensor());
  return tensors;
}

// Applications as two regions each, the value and the product.
class ProductTrace {
 public:
  explicit ProductTrace(ExecutionModel model, std::shared_ptr<runtime::Device> device = nullptr)
      : model_(std::move(model)), device_(std::move(device)) {}

  // `results` are the values given for the product, a graph of the operands and the cotangent.
  Outcome<Done> add(const AdjointCase& one, const Given& at, const Graph& product, std::vector<Tensor> results,
                    const std::optional<Graph>& surrogate) {
    auto y = ran(one.graph, at.operands, device_);
    if (!y) return y.rejection();
    if (auto fits = check_types(one, product, results); !fits) return fits;
    std::vector<TraceTensorId> operands;
    for (const Tensor& operand : at.operands) operands.push_back(add_tensor(operand, Trace::Origin::input));
    const auto value = add_region(one.name, one.graph, operands, std::move(y).value());
    const auto of = static_cast<std::uint32_t>(trace_.regions.size() - 1);
    const TraceTensorId seed = add_tensor(at.cotangent, Trace::Origin::input);
    std::vector<TraceTensorId> with_seed = operands;
    with_seed.push_back(seed);
    const auto bars = add_region(one.name + ", vjp", product, with_seed, std::move(results));
    Trace::Vjp vjp{of, 0, seed, {}, std::nullopt, surrogate};
    Trace::Gradient gradient{value[0], seed, {}};
    for (std::size_t k = 0, i = 0; k < operands.size(); ++k) {
      if (!is_float(at.operands[k].dtype())) continue;
      vjp.cotangents.emplace_back(static_cast<std::uint32_t>(k), bars[i]);
      gradient.of.emplace_back(operands[k], bars[i++]);
    }
    trace_.vjps.push_back(std::move(vjp));
    trace_.gradients.push_back(std::move(gradient));
    return Done{};
  }
  Trace take(std::string writer) {
    trace_.writer = std::move(writer);
    return std::move(trace_);
  }

 private:
  static Outcome<Done> check_types(const AdjointCase& one, const Graph& product, const std::vector<Tensor>& results) {
    bool fits = results.size() == product.outputs.size();
    for (std::size_t i = 0; fits && i < results.size(); ++i) {
      const Node& node = product.node(product.outputs[i]);
      fits = results[i].dtype() == node.dtype && results[i].shape() == node.shape;
    }
    if (fits) return Done{};
    return Rejection{Rejection::Kind::malformed,
                     "probe.product",
                     one.name,
                     "a cotangent of the type of each real operand",
                     "cotangents of other types or of another number",
                     "probes/launch.h, ProductLauncher"};
  }
  TraceTensorId add_tensor(Tensor value, Trace::Origin origin) {
    const auto id = static_cast<TraceTensorId>(trace_.tensors.size());
    trace_.tensors.push_back({std::string("t").append(std::to_string(id)), origin, std::move(value)});
    return id;
  }
  std::vector<TraceTensorId> add_region(std::string name, const Graph& graph, const std::vector<TraceTensorId>& operands,
                                        std::vector<Tensor> results) {
    Region region{std::move(name), graph, model_, operands, {}};
    for (Tensor& result : results) region.results.push_back(add_tensor(std::move(result), Trace::Origin::result));
    trace_.regions.push_back(std::move(region));
    return trace_.regions.back().results;
  }
  ExecutionModel model_;
  std::shared_ptr<runtime::Device> device_;  // of the values; none: here
  Trace trace_;
};

std::vector<Tensor> with_cotangent(const Given& at) {
  std::vector<Tensor> all = at.operands;
  all.push_back(at.cotangent);
  return all;
}

}  // namespace

std::vector<std::vector<Tensor>> product_probes(const AdjointCase& one, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::vector<Tensor>> probes;
  for (const Point point : many_points_of(one)) {
    probes.push_back(with_cotangent(given(one, point, random)));
  }
  return probes;
}

namespace {

// The application on a session's tape, and its gradients.
Outcome<Done> differentiate_in(runtime::Session& session, runtime::Recorder& recorder, const AdjointCase& one, const Given& at) {
  std::vector<runtime::Value> values, real;
  for (const Tensor& operand : at.operands) {
    values.push_back(session.input(operand, one.name));
    if (is_float(operand.dtype())) real.push_back(values.back());
  }
  std::vector<runtime::Value> of_node(one.graph.nodes.size());
  for (std::size_t k = 0; k < values.size(); ++k) of_node[one.graph.inputs[k]] = values[k];
  for (NodeId id = 0; id < one.graph.nodes.size(); ++id) {
    const Node& node = one.graph.node(id);
    if (node.op == Op::input) continue;
    std::vector<runtime::Value> operands;
    for (const NodeId operand : node.operands) operands.push_back(of_node[operand]);
    of_node[id] = node.op == Op::constant ? session.input(node.value) : session.apply(node.op, operands, node.attributes);
  }
  const runtime::Value y = of_node[one.graph.outputs[0]];
  const auto bars = recorder.gradients(runtime::sum(y * session.input(at.cotangent, "cotangent")), real);
  return bars ? Outcome<Done>(Done{}) : Outcome<Done>(bars.rejection());
}

}  // namespace

Outcome<Trace> eager_gradients(Op op, std::uint64_t seed) {
  runtime::Session session;
  runtime::Recorder recorder(session);
  const auto done =
      for_each_point(op, seed, [&](const AdjointCase& one, const Given& at) { return differentiate_in(session, recorder, one, at); });
  if (!done) return done.rejection();
  return recorder.take();
}

Outcome<Trace> device_gradients(Op op, std::uint64_t seed, std::shared_ptr<runtime::Device> device, std::vector<PlanRun::Note>& declined) {
  runtime::Session session({.device = std::move(device)});
  runtime::Recorder recorder(session);
  const auto done = for_each_point(op, seed, [&](const AdjointCase& one, const Given& at) -> Outcome<Done> {
    auto fine = differentiate_in(session, recorder, one, at);
    if (!fine && fine.rejection().kind != Rejection::Kind::unsupported) return fine;
    if (!fine) declined.push_back({one.name + ", gradient", fine.rejection()});
    session.clear();
    return Done{};
  });
  if (!done) return done.rejection();
  return recorder.take();
}

namespace {

// An application and its product, each as a program.
Outcome<Done> differentiate_compiled(ProductTrace& trace, const AdjointCase& one, const Given& at,
                                     const std::shared_ptr<runtime::Device>& device) {
  std::vector<std::size_t> real;
  for (std::size_t k = 0; k < one.graph.inputs.size(); ++k) {
    if (is_float(one.graph.node(one.graph.inputs[k]).dtype)) real.push_back(k);
  }
  const auto product = runtime::vjp(one.graph, 0, real);
  if (!product) return product.rejection();
  auto results = ran(product.value(), with_cotangent(at), device);
  if (!results) return results.rejection();
  return trace.add(one, at, product.value(), std::move(results).value(), std::nullopt);
}

}  // namespace

Outcome<Trace> compiled_gradients(Op op, std::uint64_t seed) {
  std::vector<PlanRun::Note> none;
  return compiled_gradients(op, seed, nullptr, none);
}

Outcome<Trace> compiled_gradients(Op op, std::uint64_t seed, const std::shared_ptr<runtime::Device>& device,
                                  std::vector<PlanRun::Note>& declined) {
  ProductTrace trace(device == nullptr ? runtime::execution_model(DType::float32) : device->model(), device);
  const auto done = for_each_point(op, seed, [&](const AdjointCase& one, const Given& at) -> Outcome<Done> {
    auto fine = differentiate_compiled(trace, one, at, device);
    if (device == nullptr || fine || fine.rejection().kind != Rejection::Kind::unsupported) return fine;
    declined.push_back({one.name + ", gradient", fine.rejection()});
    return Done{};
  });
  if (!done) return done.rejection();
  return trace.take("assay probe, compiled");
}

Outcome<Trace> run_products(const AdjointCase& one, const ProductLauncher& launcher, const ExecutionModel& model, std::uint64_t seed,
                            const std::optional<Graph>& surrogate) {
  const auto product = gradients::reverse_of(surrogate ? *surrogate : one.graph);
  if (!product) return product.rejection();
  ProductTrace trace(model);
  std::mt19937_64 random(seed);
  for (const Point point : many_points_of(one)) {
    const Given at = given(one, point, random);
    const std::vector<Tensor> operands = with_cotangent(at);
    auto results = launcher({one, operands});
    if (!results) return results.rejection();
    if (auto done = trace.add(one, at, product.value(), std::move(results).value(), surrogate); !done) return done.rejection();
  }
  return trace.take("assay probe, products");
}

}  // namespace assay::probes
