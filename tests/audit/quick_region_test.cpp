// Quick judgements of regions of several ops against the contracts themselves: on computed values, some of them moved, the counts are
// equal.
#include <cmath>
#include <random>

#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

using Ids = std::vector<NodeId>;

struct Case {
  const char* name;
  std::vector<Shape> inputs;
  Ids (*build)(Graph&, const Ids&);  // the outputs
};

NodeId add(Graph& graph, Op op, Ids operands, const Attributes& attributes = NoAttributes{}) {
  auto node = graph.append(op, std::move(operands), attributes);
  if (!node) FAIL(node.rejection().to_text());
  return node.value();
}

Attributes whole_window() {
  WindowAttributes attributes;
  attributes.kernel = {4, 5};
  attributes.strides = attributes.dilations = {1, 1};
  attributes.pads_begin = attributes.pads_end = {1, 1};
  attributes.groups = 1;
  return attributes;
}

const std::vector<Case> kCases{
    {"fused product and sum",
     {{6, 7}, {6, 7}, {7}},
     [](Graph& g, const Ids& x) -> Ids {
       return {add(g, Op::relu, {add(g, Op::add, {add(g, Op::mul, {x[0], x[1]}), x[2]})})};
     }},
    {"product of differences",
     {{6, 7}, {6, 7}, {6, 1}},
     [](Graph& g, const Ids& x) -> Ids {
       const NodeId d = add(g, Op::sub, {x[0], x[1]});
       return {add(g, Op::mul, {add(g, Op::mul, {d, d}), x[2]})};
     }},
    {"two results",
     {{40}, {40}, {40}},
     [](Graph& g, const Ids& x) -> Ids {
       const NodeId s = add(g, Op::add, {x[0], x[1]}), p = add(g, Op::mul, {add(g, Op::relu, {s}), x[2]});
       return {s, add(g, Op::sub, {add(g, Op::neg, {p}), s}), p};
     }},
    {"mask",
     {{5, 8}, {5, 8}, {8}},
     [](Graph& g, const Ids& x) -> Ids {
       const NodeId wide = add(g, Op::expand, {x[2]}, ShapeAttributes{{5, 8}});
       return {add(g, Op::add, {add(g, Op::mul, {add(g, Op::step, {x[0]}), x[1]}), wide})};
     }},
    {"cancellation",
     {{50}, {50}},
     [](Graph& g, const Ids& x) -> Ids {
       return {add(g, Op::sub, {add(g, Op::mul, {x[0], x[1]}), add(g, Op::mul, {x[1], x[0]})})};
     }},
    {"quotient",
     {{50}, {50}},
     [](Graph& g, const Ids& x) -> Ids {
       return {add(g, Op::div, {add(g, Op::abs, {x[0]}), add(g, Op::add, {x[1], x[0]})})};
     }},
    {"weight gradient",
     {{2, 3, 4, 5}, {2, 2, 4, 5}},
     [](Graph& g, const Ids& x) -> Ids {
       const PermuteAttributes exchange{{1, 0, 2, 3}};
       const NodeId conv = add(g, Op::conv, {add(g, Op::permute, {x[0]}, exchange), add(g, Op::permute, {x[1]}, exchange)}, whole_window());
       return {add(g, Op::permute, {conv}, exchange)};
     }},
    {"product of a matrix with itself", {{6, 6}}, [](Graph& g, const Ids& x) -> Ids {
       return {add(g, Op::matmul, {x[0], x[0]})};
     }}};

std::vector<float> numbers(std::size_t count, int kind, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
    if (kind == 1 && random() % 3 == 0) value = 0;
    if (kind == 2) value = std::round(2 * value);
    if (kind == 3) value = std::ldexp(value, static_cast<int>(random() % 60) - 30);
  }
  return values;
}

}  // namespace

TEST_CASE("quick judgements: fused regions are judged as their contract does", "[audit][quick]") {
  std::mt19937 random(12);
  std::size_t failed = 0, passed = 0;
  for (const Case& one : kCases) {
    for (int kind = 0; kind < 4; ++kind) {
      for (int moved_by = -2; moved_by <= 2; ++moved_by) {
        Trace trace;
        Region region;
        region.model = float_model();
        std::vector<Tensor> operands;
        std::vector<Array<float>> values;
        Ids inputs;
        for (const Shape& shape : one.inputs) {
          operands.push_back(Tensor::of_floats(shape, numbers(element_count(shape), kind, random)));
          values.push_back(lift<float>(operands.back()));
          inputs.push_back(region.graph.append_input(DType::float32, shape, "x"));
          region.operands.push_back(static_cast<TraceTensorId>(trace.tensors.size()));
          trace.tensors.push_back({"x" + std::to_string(inputs.size()), Trace::Origin::input, operands.back()});
        }
        for (const NodeId output : one.build(region.graph, inputs)) region.graph.mark_output(output, "y");
        const auto computed = evaluate<float>(region.graph, values);
        REQUIRE(computed.ok());
        std::vector<contracts::Recording> received;
        for (const NodeId output : region.graph.outputs) {
          const Array<float>& array = computed.value()[output];
          Tensor value = Tensor::of_floats(array.shape, array.values);
          for (std::size_t i = 0; i < value.size(); ++i) {
            if (value.as_double(i) != 0 && random() % 2 == 0) value = moved(value, i, moved_by);
          }
          received.push_back({output, value});
          region.results.push_back(static_cast<TraceTensorId>(trace.tensors.size()));
          trace.tensors.push_back({"y" + std::to_string(received.size()), Trace::Origin::result, value});
        }
        const auto sets = contracts::admissible(
            region.graph, region.model, operands,
            received.size() > 1 ? std::span<const contracts::Recording>(received) : std::span<const contracts::Recording>());
        REQUIRE(sets.ok());
        trace.regions = {region};
        const auto audit = audit::audit_region(trace, 0);
        REQUIRE(audit.ok());
        for (std::size_t k = 0; k < received.size(); ++k) {
          const auto full = contracts::judge(sets.value()[k], received[k].value);
          REQUIRE(full.ok());
          INFO(one.name << " kind " << kind << " moved by " << moved_by << " result " << k);
          // Moved sums keep their scale, the sum of the magnitudes of their terms: fewer are vacuous.
          const audit::RegionAudit::Counts& counts = audit.value().results[k];
          const bool keeps_scale = std::string_view(one.name) == "weight gradient";
          CHECK(counts.failed == full.value().failed);
          CHECK(counts.passed + counts.vacuous == full.value().passed + full.value().vacuous);
          CHECK((keeps_scale ? counts.vacuous <= full.value().vacuous : counts.vacuous == full.value().vacuous));
          if (full.value().first_failure) CHECK(audit.value().failed_at[k].front() == *full.value().first_failure);
          failed += full.value().failed;
          passed += full.value().passed;
        }
      }
    }
  }
  CHECK(failed > 500);
  CHECK(passed > 3000);
}

TEST_CASE("quick judgements: a large region is judged between its recorded values", "[audit][quick]") {
  const std::int64_t n = 96;
  Trace trace;
  Region region;
  region.model = float_model();
  std::mt19937 random(5);
  const Tensor x = Tensor::of_floats({n, n}, numbers(static_cast<std::size_t>(n * n), 0, random));
  const NodeId in = region.graph.append_input(DType::float32, {n, n}, "x");
  const NodeId two = region.graph.append_constant(Tensor::of_floats({}, std::vector<float>{2}));
  const NodeId sum = add(region.graph, Op::reduce_sum, {add(region.graph, Op::abs, {in})}, ReduceAttributes{{1}, true});
  const NodeId root = add(region.graph, Op::sqrt, {sum});
  for (const NodeId output : Ids{add(region.graph, Op::mul, {in, two}), sum, root, add(region.graph, Op::sub, {in, root})})
    region.graph.mark_output(output, "y");
  const auto computed = evaluate<float>(region.graph, std::vector{lift<float>(x)});
  REQUIRE(computed.ok());
  trace.tensors = {{"x", Trace::Origin::input, x}};
  region.operands = {0};
  for (const NodeId output : region.graph.outputs) {
    const Array<float>& array = computed.value()[output];
    region.results.push_back(static_cast<TraceTensorId>(trace.tensors.size()));
    trace.tensors.push_back({"y" + std::to_string(output), Trace::Origin::result, Tensor::of_floats(array.shape, array.values)});
  }
  trace.regions = {region};
  const auto right = audit::audit_region(trace, 0);
  REQUIRE(right.ok());
  CHECK(right.value().total().passed == static_cast<std::size_t>(2 * n * n + 2 * n));
  for (const std::size_t result : {0U, 1U, 2U, 3U}) {
    Trace wrong = trace;
    Tensor& value = wrong.tensors[1 + result].value;
    value = moved(value, value.size() - 1, result == 1 ? 400 : 9);
    const auto audit = audit::audit_region(wrong, 0);
    REQUIRE(audit.ok());
    INFO(result);
    CHECK(audit.value().results[result].failed == 1);
    CHECK(audit.value().failed_at[result] == std::vector{value.size() - 1});
  }
}

TEST_CASE("quick judgements: a large region is cut at its values, however many steps lie between them", "[audit][quick]") {
  const std::int64_t n = 1 << 14;
  Trace trace;
  Region region;
  region.model = float_model();
  std::mt19937 random(7);
  const Tensor x = Tensor::of_floats({n}, numbers(static_cast<std::size_t>(n), 0, random));
  const NodeId in = region.graph.append_input(DType::float32, {n}, "x");
  NodeId step = add(region.graph, Op::slice, {in}, SliceAttributes{{0}, {1}, {1}});
  for (int i = 0; i < 100000; ++i) step = add(region.graph, Op::neg, {step});
  region.graph.mark_output(add(region.graph, Op::add, {in, step}), "y");
  const auto computed = evaluate<float>(region.graph, std::vector{lift<float>(x)});
  REQUIRE(computed.ok());
  const Tensor y = Tensor::of_floats({n}, computed.value()[region.graph.outputs[0]].values);
  trace.tensors = {{"x", Trace::Origin::input, x}, {"y", Trace::Origin::result, y}};
  region.operands = {0};
  region.results = {1};
  trace.regions = {region};
  const auto audit = audit::audit_region(trace, 0);
  REQUIRE(audit.ok());
  CHECK(audit.value().total().passed == static_cast<std::size_t>(n));
}
