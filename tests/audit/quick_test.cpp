// The quick judgements against the contracts themselves: on values at the ends of the sets, and one step beyond, the counts are equal.
#include <cmath>
#include <random>

#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

enum class Data { dense, sparse, integers, few_bits, scattered, tiny, huge };

std::vector<float> numbers(std::size_t count, Data data, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> values(count);
  for (float& value : values) {
    value = normal(random);
    if (data == Data::sparse && random() % 3 != 0) value = 0;
    if (data == Data::integers) value = std::round(2 * value);
    if (data == Data::few_bits) value = std::ldexp(std::round(std::ldexp(value, 4)), -4);
    if (data == Data::tiny) value = std::ldexp(value, -45 - static_cast<int>(random() % 30));
    if (data == Data::huge) value = std::ldexp(value, 48 + static_cast<int>(random() % 14));
    if (data == Data::scattered) value = std::ldexp(value, static_cast<int>(random() % 40) - 20);
  }
  return values;
}

struct Case {
  Op op;
  Attributes attributes;
  std::vector<Shape> operands;
};

Attributes window(std::vector<std::int64_t> kernel, std::int64_t stride, std::int64_t pad, std::int64_t groups, bool transposed = false) {
  WindowAttributes attributes;
  attributes.kernel = std::move(kernel);
  attributes.strides = {stride, 1};
  attributes.dilations = {1, 2};
  attributes.pads_begin = {pad, 0};
  attributes.pads_end = {0, pad};
  attributes.groups = groups;
  if (transposed) attributes.output_padding = {stride - 1, 0};
  return attributes;
}

// Positions of three, no, one and two elements.
Attributes gathered(std::vector<Rational> weights) {
  return WeightedGatherAttributes{1, {0, 3, 3, 4, 6}, {0, 2, 4, 1, 3, 3}, std::move(weights)};
}

std::vector<Case> cases() {
  return {{Op::gemm, GemmAttributes{}, {{5, 37}, {37, 9}, {9}}},
          {Op::gemm, GemmAttributes{1, 1, true, true}, {{37, 5}, {9, 37}}},
          {Op::gemm, GemmAttributes{1, 1, true, false}, {{300, 3}, {300, 18}, {18}}},
          {Op::gemm, GemmAttributes{}, {{2, 3072}, {3072, 5}, {5}}},
          {Op::matmul, NoAttributes{}, {{2, 2048}, {2048, 18}}},
          {Op::matmul, NoAttributes{}, {{70, 3}, {3, 4}}},
          {Op::matmul, NoAttributes{}, {{6, 64}, {64, 33}}},
          {Op::matmul, NoAttributes{}, {{3, 1}, {1, 4}}},
          {Op::matmul, NoAttributes{}, {{3, 4, 37}, {3, 37, 5}}},
          {Op::matmul, NoAttributes{}, {{2, 2, 3, 18}, {2, 2, 18, 20}}},
          {Op::matmul, NoAttributes{}, {{3, 4, 9}, {1, 9, 5}}},
          {Op::softmax, SoftmaxAttributes{1}, {{5, 12}}},
          {Op::softmax, SoftmaxAttributes{0}, {{12, 5}}},
          {Op::softmax, SoftmaxAttributes{1}, {{2, 4, 7}}},
          {Op::softmax, SoftmaxAttributes{0}, {{60}}},
          {Op::reduce_sum, ReduceAttributes{{0, 2}, false}, {{5, 3, 7}}},
          {Op::conv, window({2, 3}, 2, 1, 1), {{2, 3, 7, 8}, {4, 3, 2, 3}, {4}}},
          {Op::conv, window({3, 2}, 1, 1, 2), {{1, 4, 5, 6}, {6, 2, 3, 2}}},
          {Op::conv, window({5, 4}, 1, 1, 1), {{1, 80, 5, 7}, {2, 80, 5, 4}}},
          {Op::conv_transpose, window({5, 4}, 1, 1, 1, true), {{1, 160, 5, 7}, {160, 2, 5, 4}}},
          {Op::conv_transpose, window({2, 3}, 2, 1, 1, true), {{2, 3, 4, 5}, {3, 4, 2, 3}, {4}}},
          {Op::conv_transpose, window({3, 2}, 1, 0, 2, true), {{1, 4, 5, 4}, {4, 3, 3, 2}}},
          {Op::reduce_sum, ReduceAttributes{{1}, false}, {{6, 41}}},
          {Op::reduce_sum, ReduceAttributes{{1}, false}, {{2, 3000}}},
          {Op::reduce_sum, ReduceAttributes{{0}, false}, {{20000, 2}}},
          {Op::reduce_mean, ReduceAttributes{{1}, false}, {{2, 20000}}},
          {Op::reduce_sum, ReduceAttributes{{0, 1}, true}, {{3, 5, 7}}},
          {Op::reduce_sum, ReduceAttributes{{1}, true}, {{3, 5, 7}}},
          {Op::reduce_mean, ReduceAttributes{{1, 2}, false}, {{4, 5, 6}}},
          {Op::weighted_gather, gathered({1, 1, 1, 1, 1, 1}), {{3, 5, 2}}},
          {Op::weighted_gather, gathered({1, 2, Rational(1, 2), 1, 1, 1}), {{3, 5, 2}}},
          {Op::add, NoAttributes{}, {{4, 1, 6}, {3, 1}}},
          {Op::sub, NoAttributes{}, {{5, 7}, {5, 7}}},
          {Op::mul, NoAttributes{}, {{5, 7}, {}}},
          {Op::div, NoAttributes{}, {{5, 7}, {5, 7}}},
          {Op::relu, NoAttributes{}, {{40}}},
          {Op::exp, NoAttributes{}, {{90}}},
          {Op::log, NoAttributes{}, {{90}}},
          {Op::tanh, NoAttributes{}, {{90}}},
          {Op::sin, NoAttributes{}, {{90}}},
          {Op::atanh, NoAttributes{}, {{90}}},
          {Op::erf, NoAttributes{}, {{90}}},
          {Op::sigmoid, NoAttributes{}, {{90}}},
          {Op::silu, ActivationAttributes{1, 0}, {{90}}},
          {Op::gelu, GeluAttributes{}, {{90}}},
          {Op::step, NoAttributes{}, {{40}}},
          {Op::neg, NoAttributes{}, {{40}}},
          {Op::abs, NoAttributes{}, {{40}}},
          {Op::permute, PermuteAttributes{{2, 0, 1}}, {{2, 3, 4}}},
          {Op::expand, ShapeAttributes{{2, 3, 4}}, {{3, 1}}},
          {Op::reshape, ShapeAttributes{{4, 6}}, {{2, 3, 4}}}};
}

// A float of the set, or just outside, by the element's turn.
float at_border(const contracts::FloatSet& set, std::size_t turn) {
  const auto lo = static_cast<float>(set.lo), hi = static_cast<float>(set.hi);
  switch (turn % 5) {
    case 0:
      return lo;
    case 1:
      return hi;
    case 2:
      return std::nextafter(lo, -INFINITY);
    case 3:
      return std::nextafter(hi, INFINITY);
    default:
      return static_cast<float>((set.lo + set.hi) / 2);
  }
}

}  // namespace

TEST_CASE("quick judgements: nothing passes that the contract does not admit, and nothing else fails", "[audit][quick]") {
  std::mt19937 random(11);
  std::size_t elements = 0, failed = 0;
  for (const Case& one : cases()) {
    for (const Data data : {Data::dense, Data::sparse, Data::integers, Data::few_bits, Data::scattered, Data::tiny, Data::huge}) {
      Trace trace;
      Region region;
      region.model = float_model();
      if (data == Data::sparse || data == Data::scattered) region.model.math_table = "sleef-u10";  // rows in ulps
      if (data == Data::dense || data == Data::scattered || data == Data::sparse) {
        region.model.accumulator = ExecutionModel::Accumulator::tree;
        region.model.tree_height = data == Data::dense ? 900 : 5;
      }
      std::vector<NodeId> inputs;
      std::vector<Tensor> operands;
      for (const Shape& shape : one.operands) {
        operands.push_back(Tensor::of_floats(shape, numbers(element_count(shape), data, random)));
        inputs.push_back(region.graph.append_input(DType::float32, shape, "x"));
        region.operands.push_back(static_cast<TraceTensorId>(trace.tensors.size()));
        trace.tensors.push_back({"x" + std::to_string(inputs.size()), Trace::Origin::input, operands.back()});
      }
      const auto node = region.graph.append(one.op, inputs, one.attributes);
      if (!node) FAIL(node.rejection().to_text());
      region.graph.mark_output(node.value(), "y");
      const auto sets = contracts::admissible(region.graph, region.model, operands);
      if (!sets) FAIL(sets.rejection().to_text());
      for (std::size_t turn = 0; turn < 5; ++turn) {
        std::vector<float> values;
        for (std::size_t i = 0; i < sets.value()[0].sets.values.size(); ++i)
          values.push_back(at_border(sets.value()[0].sets.values[i], i + turn));
        const Tensor received = Tensor::of_floats(sets.value()[0].sets.shape, values);
        const auto full = contracts::judge(sets.value()[0], received);
        if (!full) FAIL(full.rejection().to_text());
        Trace run = trace;
        run.regions = {region};
        run.regions[0].results = {static_cast<TraceTensorId>(run.tensors.size())};
        run.tensors.push_back({"y", Trace::Origin::result, received});
        const auto audit = audit::audit_region(run, 0);
        if (!audit) FAIL(audit.rejection().to_text());
        const audit::RegionAudit::Counts counts = audit.value().total();
        INFO(op_row(one.op).name << " " << to_string(one.operands[0]) << " data " << static_cast<int>(data) << " turn " << turn);
        const std::size_t free = one.op == Op::step ? full.value().vacuous : 0;  // a weight of a kink, which may be any of its set
        CHECK(counts.passed == full.value().passed + free);
        CHECK(counts.failed == full.value().failed);
        CHECK(counts.vacuous == full.value().vacuous - free);
        if (full.value().first_failure && counts.failed > 0) CHECK(audit.value().first->element == *full.value().first_failure);
        elements += values.size();
        failed += counts.failed;
      }
    }
  }
  CHECK(elements > 20'000);
  CHECK(failed > elements / 10);
}

TEST_CASE("quick judgements: a softmax of masked elements", "[audit][quick]") {
  std::mt19937 random(3);
  std::vector<float> x = numbers(40, Data::dense, random);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (i % 3 == 0 || i >= 35) x[i] = -INFINITY;  // the last line has nothing
  }
  Run run;
  run.given("x", {8, 5}, x);
  const auto sets = contracts::admissible(Op::softmax, SoftmaxAttributes{1}, float_model(), std::span(&run.trace.tensors[0].value, 1));
  REQUIRE(sets.ok());
  for (const float at_mask : {0.0F, -0.0F, 1e-40F, 1e-8F}) {
    for (const float factor : {1.0F, 1.0F + 0x1p-21F, 1.0F - 0x1p-10F}) {
      std::vector<float> values;
      for (const contracts::FloatSet& set : sets.value().sets.values)
        values.push_back(set.hi == 0 ? at_mask : static_cast<float>((set.lo + set.hi) / 2) * factor);
      const Tensor received = Tensor::of_floats({8, 5}, values);
      Trace trace = run.trace;
      trace.tensors.push_back({"y", Trace::Origin::result, received});
      Region region{"softmax", {}, float_model(), {0}, {1}};
      region.graph.append_input(DType::float32, {8, 5}, "x");
      region.graph.mark_output(region.graph.append(Op::softmax, {0}, SoftmaxAttributes{1}).value(), "y");
      trace.regions = {region};
      const auto audit = audit::audit_region(trace, 0);
      const auto full = contracts::judge(sets.value(), received);
      REQUIRE((audit.ok() && full.ok()));
      INFO(at_mask << " " << factor);
      CHECK(audit.value().total().passed == full.value().passed);
      CHECK(audit.value().total().failed == full.value().failed);
      CHECK(audit.value().total().vacuous == full.value().vacuous);
    }
  }
}

TEST_CASE("quick judgements: of thousands of wrong elements not all are judged, and all are counted", "[audit][quick]") {
  Run run;
  const auto a = run.given("a", {300, 4}, std::vector<float>(1200, 0.3F)), b = run.given("b", {4, 300}, std::vector<float>(1200, 0.7F));
  const auto y = run.apply(Op::matmul, {a, b});
  const auto audited = [&](std::size_t wrong) {
    std::vector<float> values(90'000, static_cast<float>(run.trace.tensors[y].value.as_double(0)));
    for (std::size_t i = 0; i < wrong; ++i) values[90'000 - 1 - 7 * i] = 2;
    Trace trace = run.trace;
    trace.tensors[y].value = Tensor::of_floats({300, 300}, values);
    const auto audit = audit::audit_region(trace, 0);
    REQUIRE(audit.ok());
    return audit.value();
  };
  const auto few = audited(3000).total(), many = audited(12'000).total();
  CHECK(few.failed == 3000);
  CHECK(few.unsampled == 0);
  CHECK(many.failed == 4096);
  CHECK(many.failed + many.unsampled == 12'000);
  CHECK(many.passed == 78'000);
}
