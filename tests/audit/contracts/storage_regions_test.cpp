// Steps inside of regions and of defined ops over tensors in 16 bits: which are stored, and what later steps read.
#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

using contracts::Storage;

float stored_float(Storage storage, double x) { return static_cast<float>(contracts::rounded_to(storage, x)); }

Admissible stored_sets(Op op, const Attributes& attributes, const std::vector<Tensor>& operands, Storage storage,
                       const ExecutionModel& model = float_model()) {
  Outcome<Admissible> result = contracts::admissible(op, attributes, model, operands, storage);
  if (!result) FAIL(result.rejection().to_text());
  return std::move(result).value();
}

TEST_CASE("storage: steps inside of a region are float32, or stored as well where the model says so", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {256}, "x"), y = graph.append_input(DType::float32, {256}, "y");
  const NodeId product = graph.append(Op::mul, {x, y}).value();
  graph.mark_output(graph.append(Op::add, {product, x}).value(), "z");
  std::mt19937_64 random(3);
  Floats a, b, once, twice;
  for (const float value : gaussians(random, 256)) a.push_back(stored_float(Storage::bfloat16, value));
  for (const float value : gaussians(random, 256)) b.push_back(stored_float(Storage::bfloat16, value));
  for (std::size_t i = 0; i < a.size(); ++i) {
    once.push_back(stored_float(Storage::bfloat16, a[i] * b[i] + a[i]));
    twice.push_back(stored_float(Storage::bfloat16, stored_float(Storage::bfloat16, a[i] * b[i]) + a[i]));
  }
  const std::vector<Tensor> inputs = {vector_of(a), vector_of(b)};
  const Storage stored = Storage::bfloat16;
  ExecutionModel rounds = float_model();
  rounds.storage = Storage::bfloat16;
  const Admissible strict = contracts::admissible(graph, float_model(), inputs, {}, std::span(&stored, 1)).value()[0];
  const Admissible loose = contracts::admissible(graph, rounds, inputs, {}, std::span(&stored, 1)).value()[0];
  CHECK(within(strict, once));
  CHECK(judged(strict, twice).failed > 10);
  CHECK(within(loose, once));
  CHECK(within(loose, twice));
  // A result that is kept in float32 under such a model may be either.
  const Admissible kept = contracts::admissible(graph, rounds, inputs).value()[0];
  CHECK(within(kept, twice));
  Floats full;
  for (std::size_t i = 0; i < a.size(); ++i) full.push_back(a[i] * b[i] + a[i]);
  CHECK(within(kept, full));
  CHECK(judged(contracts::admissible(graph, float_model(), inputs).value()[0], twice).failed > 200);
}

// Along a line of 16 numbers of bfloat16.
TEST_CASE("storage: steps inside of a defined op may be stored where the model says so", "[contracts]") {
  const auto narrow = [](float x) { return stored_float(Storage::bfloat16, x); };
  std::mt19937_64 random(17);
  Floats x;
  for (const float value : gaussians(random, 16 * 64)) x.push_back(narrow(2 * value));
  const auto executed = [&](const auto& step, bool early) {
    Floats y;
    for (std::size_t row = 0; row < 64; ++row) {
      const std::span<const float> line = std::span(x).subspan(16 * row, 16);
      const float most = *std::ranges::max_element(line);
      // Numerators before the last maximum is known, and rescaled (online), or after.
      const float first = early ? line[0] : most;
      std::vector<float> powers;
      float sum = 0;
      for (const float value : line) {
        powers.push_back(step(std::exp(value - first)) * std::exp(first - most));
        sum += std::exp(value - most);
      }
      for (const float power : powers) y.push_back(narrow(power / (early ? sum : step(sum))));
    }
    return y;
  };
  const std::vector<Tensor> operands = {tensor({64, 16}, x)};
  ExecutionModel stores = float_model();
  stores.storage = Storage::bfloat16;
  ExecutionModel online = stores, strict_online = float_model();
  online.softmax = strict_online.softmax = ExecutionModel::Softmax::online;
  const auto sets = [&](const ExecutionModel& model) {
    return stored_sets(Op::softmax, SoftmaxAttributes{1}, operands, Storage::bfloat16, model);
  };
  const Floats plain = executed([](float value) { return value; }, false), rounded = executed(narrow, false),
               early = executed(narrow, true);
  CHECK(within(sets(float_model()), plain));
  CHECK(judged(sets(float_model()), rounded).failed > 50);
  CHECK(within(sets(stores), rounded));
  CHECK(judged(sets(strict_online), early).failed > 50);
  CHECK(within(sets(online), early));
  CHECK(judged(sets(online), early).vacuous == 0);
}

TEST_CASE("storage: what is rounded at once from the exact value is admitted beside what was float32 before", "[contracts]") {
  const Admissible sets = stored_sets(Op::add, NoAttributes{}, {vector_of({1 + 0x1p-8F}), vector_of({0x1p-40F})}, Storage::bfloat16);
  CHECK(within(sets, {1}));            // the sum in float32 is a midpoint
  CHECK(within(sets, {1 + 0x1p-7F}));  // the exact one lies above it
  CHECK_FALSE(within(sets, {1 + 0x1p-6F}));
}

TEST_CASE("storage: a region says which of its steps are stored by conversions of float32 to itself", "[contracts]") {
  const auto narrow = [](float x) { return stored_float(Storage::bfloat16, x); };
  std::mt19937_64 random(23);
  Floats x, y;
  for (const float value : gaussians(random, 256)) x.push_back(narrow(value));
  for (const float value : gaussians(random, 256)) y.push_back(narrow(value));
  const auto region = [](bool says) {
    Graph graph;
    const NodeId a = graph.append_input(DType::float32, {256}, "x"), b = graph.append_input(DType::float32, {256}, "y");
    NodeId product = graph.append(Op::mul, {a, b}).value();
    if (says) product = graph.append(Op::cast, {product}, CastAttributes{static_cast<std::uint8_t>(DType::float32)}).value();
    const NodeId third = graph.append(Op::scale, {product}, ScaleAttributes{0.375}).value();
    graph.mark_output(graph.append(Op::add, {third, a}).value(), "z");
    return graph;
  };
  const auto executed = [&](bool first, bool second) {
    Floats z;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const float product = first ? narrow(x[i] * y[i]) : x[i] * y[i], third = 0.375F * product;
      z.push_back(narrow((second ? narrow(third) : third) + x[i]));
    }
    return z;
  };
  ExecutionModel stores = float_model();
  stores.storage = Storage::bfloat16;
  const std::vector<Tensor> inputs = {vector_of(x), vector_of(y)};
  const Storage stored = Storage::bfloat16;
  const Admissible said = contracts::admissible(region(true), stores, inputs, {}, std::span(&stored, 1)).value()[0];
  const Admissible any = contracts::admissible(region(false), stores, inputs, {}, std::span(&stored, 1)).value()[0];
  CHECK(within(said, executed(false, false)));
  CHECK(within(said, executed(true, false)));
  CHECK(judged(said, executed(false, true)).failed > 5);
  CHECK(within(any, executed(true, true)));
}

TEST_CASE("storage: what follows from a recorded result reads it as stored, or as it was computed", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1}, "x");
  const NodeId third = graph.append(Op::scale, {x}, ScaleAttributes{1.0 / 3}).value();
  graph.mark_output(third, "h");
  graph.mark_output(graph.append(Op::exp, {third}).value(), "y");
  const std::vector<Tensor> inputs = {vector_of({20})};
  const std::array<Storage, 2> stored = {Storage::bfloat16, Storage::same};
  const float h = stored_float(Storage::bfloat16, 20.0 / 3);
  const auto set_of = [&](float recorded) {
    const contracts::Recording recording{third, vector_of({recorded}), Storage::bfloat16};
    return contracts::admissible(graph, float_model(), inputs, std::span(&recording, 1), stored).value();
  };
  const auto sets = set_of(h);
  CHECK(within(sets[0], {h}));
  CHECK(within(sets[1], {std::exp(h)}));
  CHECK(within(sets[1], {std::exp(20.0F / 3)}));
  CHECK_FALSE(within(sets[1], {std::exp(h + 0x1p-5F)}));
  CHECK_FALSE(within(set_of(stored_float(Storage::bfloat16, h + 0x1p-5F))[0], {stored_float(Storage::bfloat16, h + 0x1p-5F)}));
  // Overflow in storage: what was computed is a number still.
  const std::vector<Tensor> large = {vector_of({300000})};
  const std::array<Storage, 2> halves = {Storage::binary16, Storage::same};
  Graph chain;
  const NodeId z = chain.append_input(DType::float32, {1}, "x");
  const NodeId scaled = chain.append(Op::scale, {z}, ScaleAttributes{0.5}).value();
  chain.mark_output(scaled, "h");
  chain.mark_output(chain.append(Op::neg, {scaled}).value(), "y");
  const contracts::Recording infinite{scaled, vector_of({INFINITY}), Storage::binary16};
  const auto after = contracts::admissible(chain, float_model(), large, std::span(&infinite, 1), halves).value();
  CHECK(within(after[0], {INFINITY}));
  CHECK(within(after[1], {-150000}));
  CHECK(within(after[1], {-INFINITY}));
  CHECK_FALSE(within(after[1], {-1}));
}

}  // namespace
}  // namespace assay::test
