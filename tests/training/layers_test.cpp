// Layers and trainers: names, seeds, modes; eager and compiled steps are the same bits; recorded steps pass the audit.
#include <cmath>
#include <functional>
#include <vector>

#include "runtime/functions.h"
#include "tests/catch.h"
#include "tests/gpu/audited.h"
#include "training/layers/attention.h"
#include "training/layers/basic.h"
#include "training/layers/convolution.h"
#include "training/layers/normalise.h"
#include "training/layers/recurrent.h"
#include "training/layers/sequence.h"
#include "training/layers/shapes.h"
#include "training/losses.h"
#include "training/optimise.h"
#include "training/trainer.h"

namespace assay::test {
namespace {

using namespace runtime;
using namespace training;
using Reals = std::vector<double>;

Array classes(const std::vector<std::int64_t>& values) {
  return Array::from(Tensor::of_ints({static_cast<std::int64_t>(values.size())}, values));
}

struct ConvNet {
  Conv conv;
  BatchNorm norm;
  Dropout dropout;
  Linear out;
  explicit ConvNet(Model& model)
      : conv(model / "conv", 1, 4, {3, 3}, {.padding = {1}}),
        norm(model / "norm", 4),
        dropout(model / "dropout", 0.25),
        out(model / "out", 16, 3) {}
  Value operator()(const Value& x) const { return out(flatten(dropout(training::max_pool(relu(norm(conv(x))), {2})))); }
};
struct Reader {
  Embedding embedding;
  Lstm lstm;
  MultiHeadAttention attention;
  LayerNorm norm;
  Linear out;
  explicit Reader(Model& model)
      : embedding(model / "embedding", 5, 4),
        lstm(model / "lstm", 4, 4),
        attention(model / "attention", 4, 2),
        norm(model / "norm", Shape{4}),
        out(model / "out", 4, 3) {}
  Value operator()(const Value& x) const {
    const Value h = lstm(embedding(x)).outputs;
    return out(select(norm(h + attention(h, {.causal = true})), 1, 3));
  }
};

// Losses and parameters after some steps of Adam; the last step is audited.
template <class Net>
Reals trained(const Array& input, bool compiled) {
  Session session({.seed = 4});
  Model model(session);
  const Net net(model);
  Adam adam(session, model.parameters(), {.rate = 0.01});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return cross_entropy(net(v[0]), v[1]); },
                  {.compiled = compiled, .rate = constant_rate(0.01), .most_norm = 1});
  Reals found;
  Trace trace;
  for (int step = 0; step < 4; ++step) {
    const auto loss = trainer.step(std::vector{input, classes({0, 2})}, step == 3 ? &trace : nullptr);
    if (!loss) FAIL(loss.rejection().to_text());
    found.push_back(loss.value());
  }
  CHECK(found.back() < found.front());
  CHECK(failures_of(trace, 0.05) == std::vector<std::string>{});
  CAPTURE(compiled, input.shape().size());
  CHECK(!trace.gradients.empty());
  for (const Value& value : model.all()) {
    for (const double x : value.to_doubles()) found.push_back(x);
  }
  return found;
}

}  // namespace

TEST_CASE("training layers: eager and compiled steps are the same bits, and pass the audit", "[training]") {
  const Array image = normal(RandomKey(3), DType::float32, {2, 1, 4, 4});
  const Array text = Array::from(Tensor::of_ints({2, 4}, std::vector<std::int64_t>{0, 4, 2, 1, 3, 3, 0, 1}));
  CHECK(trained<ConvNet>(image, false) == trained<ConvNet>(image, true));
  CHECK(trained<Reader>(text, false) == trained<Reader>(text, true));
}

TEST_CASE("training layers: parameters have names, start from the seed, and can be frozen", "[training]") {
  const auto starts = [](std::uint64_t seed) {
    Session session({.seed = seed});
    Model model(session);
    const ConvNet net(model);
    Reals all;
    for (const Value& value : model.parameters()) {
      for (const double x : value.to_doubles()) all.push_back(x);
    }
    return all;
  };
  CHECK(starts(1) == starts(1));
  CHECK(starts(1) != starts(2));
  Session session;
  Model model(session);
  const ConvNet net(model);
  CHECK(model.parameters().size() == 6);
  CHECK(model.all().size() == 8);
  CHECK(model.parameter_count() == 4 * 9 + 4 + 8 + 3 * 16 + 3);
  REQUIRE(model.find("norm.running_mean") != nullptr);
  CHECK(model.find("norm.running_mean")->value.shape() == Shape{4});
  CHECK(model.find("norm.mean") == nullptr);
  model.freeze("conv.");
  CHECK_FALSE(session.requires_grad(model.find("conv.weight")->value));
  CHECK(session.requires_grad(model.find("out.weight")->value));
  CHECK(model.parameters().size() == 4);
  model.freeze("", false);
  CHECK(model.parameters().size() == 6);  // buffers are none
}

TEST_CASE("training layers: dropout and batch norm know whether they train", "[training]") {
  Session session({.seed = 2});
  Model model(session);
  const Dropout dropout(model / "dropout", 0.5);
  const BatchNorm norm(model / "norm", 2);
  const Value x = session.input(session.uniform({8, 2}, 1, 2));
  const Reals dropped = dropout(x).to_doubles(), whole = x.to_doubles();
  std::size_t kept = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    CHECK((dropped[i] == 0 || dropped[i] == 2 * whole[i]));
    kept += dropped[i] != 0 ? 1 : 0;
  }
  CHECK(kept > 0);
  CHECK(kept < whole.size());
  (void)norm(x);
  CHECK(model.take_updates().size() == 2);
  model.set_training(false);
  CHECK(dropout(x).to_doubles() == whole);
  (void)norm(x);
  CHECK(model.take_updates().empty());
}

TEST_CASE("training layers: embeddings are rows, of integers of any shape", "[training]") {
  Session session;
  Model model(session);
  const Embedding embedding(model / "e", 5, 3);
  const Reals rows = embedding.weight().to_doubles();
  const Value y = embedding(session.input(Tensor::of_ints({2, 2}, std::vector<std::int64_t>{4, 0, 0, 2})));
  CHECK(y.shape() == Shape{2, 2, 3});
  const Reals found = y.to_doubles();
  CHECK(Reals(found.begin(), found.begin() + 3) == Reals(rows.begin() + 12, rows.end()));
  CHECK(Reals(found.begin() + 9, found.end()) == Reals(rows.begin() + 6, rows.begin() + 9));
}

TEST_CASE("training layers: a recurrent layer goes on from a state", "[training]") {
  Session session({.dtype = DType::float64, .seed = 6});
  Model model(session);
  const Lstm lstm(model / "lstm", 2, 3, 2);
  const Value x = session.input(session.normal({2, 6, 2}));
  const auto whole = lstm(x);
  const auto first = lstm(slice(x, 1, 0, 2)), second = lstm(slice(x, 1, 2, 4), first.state);
  CHECK(second.state.cell[1].to_doubles() == whole.state.cell[1].to_doubles());
  CHECK(second.outputs.to_doubles() == slice(whole.outputs, 1, 2, 4).to_doubles());
}

TEST_CASE("training layers: what does not fit is refused", "[training]") {
  Session session;
  Model model(session);
  const Lstm lstm(model / "lstm", 2, 3);
  CHECK(!lstm(session.input(session.normal({2, 2}))).outputs.ok());
  CHECK(session.failure()->code == "training.steps");
  session.clear();
  CHECK(!lstm(session.input(Array::empty(DType::float32, {1, kMostSteps + 1, 2}))).outputs.ok());
  CHECK(session.failure()->code == "training.steps");
  session.clear();
  const SpectralConv spectral(model / "spectral", 1, 1, 4);
  CHECK(!spectral(session.input(session.normal({1, 1, 5}))).ok());
  CHECK(session.failure()->code == "session.shape");
  session.clear();
  const MultiHeadAttention attention(model / "attention", 4, 2);
  CHECK(!attention(session.input(session.normal({3, 4})), {}).ok());
  CHECK(session.failure()->code == "session.shape");
}

TEST_CASE("training layers: LoRA trains its two matrices alone, and is a linear layer in the end", "[training]") {
  Session session({.dtype = DType::float64, .seed = 4});
  Model model(session);
  const LoraLinear layer(model / "lora", 6, 5, {.rank = 2, .scale = 3});
  CHECK(model.parameters().size() == 2);
  const Array before = model.find("lora.weight")->value.array(), x = session.normal({3, 6}), y = session.normal({3, 5});
  Sgd optimiser(session, model.parameters(), {.rate = 0.1});
  Trainer trainer(model, optimiser, [&](std::span<const Value> v) { return mean_squared_error(layer(v[0]), v[1]); }, {});
  double first = 0, last = 0;
  for (int step = 0; step < 20; ++step) {
    const auto loss = trainer.step(std::vector{x, y});
    REQUIRE(loss.ok());
    (step == 0 ? first : last) = loss.value();
  }
  CHECK(last < 0.9 * first);
  CHECK(model.find("lora.weight")->value.array().to_tensor().to_doubles() == before.to_tensor().to_doubles());
  session.clear();
  const Value rows = session.input(x);
  const std::vector<double> a = layer(rows).to_doubles(), b = linear(rows, layer.merged(), model.find("lora.bias")->value).to_doubles();
  for (std::size_t i = 0; i < a.size(); ++i) CHECK(std::abs(a[i] - b[i]) < 1e-12);
}

TEST_CASE("training: what CTC cannot take is refused", "[training]") {
  Session session;
  const auto ints = [&](const Shape& shape, const std::vector<std::int64_t>& values) {
    return session.input(Tensor::of_ints(shape, values));
  };
  const auto refused = [&](const Value& logarithms, const Value& targets, const std::string& code) {
    CHECK(!ctc(logarithms, targets, ints({1}, {2}), ints({1}, {1})).ok());
    REQUIRE(session.failure());
    CHECK(session.failure()->code == code);
    session.clear();
  };
  refused(session.input(Array::empty(DType::float32, {kMostSteps + 1, 1, 2})), ints({1, 1}, {1}), "training.steps");
  refused(session.input(session.normal({2, 1, 2})), ints({2, 1}, {1, 1}), "session.shape");
  refused(session.input(session.normal({2, 2})), ints({1, 1}, {1}), "session.shape");
  // One place, two classes: no sequence is long enough.
  const Value none = log_softmax(session.input(session.normal({1, 1, 3})), 2), both = ints({1, 2}, {1, 2});
  CHECK(ctc(none, both, ints({1}, {1}), ints({1}, {2}), {.reduction = Reduction::sum}).item() > 1e29);
  CHECK(ctc(none, both, ints({1}, {1}), ints({1}, {2}), {.zero_infinity = true}).item() == 0);
}

TEST_CASE("training: the range test leaves everything as it was", "[training]") {
  Session session({.seed = 8});
  Model model(session);
  const Linear linear_layer(model / "l", 3, 1);
  Adam adam(session, model.parameters(), {.rate = 0.5});
  const Array x = session.normal({8, 3}), y = session.normal({8, 1});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return mean_squared_error(linear_layer(v[0]), v[1]); }, {});
  REQUIRE(trainer.step(std::vector{x, y}).ok());
  const Reals before = linear_layer.weight().to_doubles();
  const auto trials = trainer.find_rate([&] { return std::vector{x, y}; }, {.steps = 20});
  REQUIRE(trials.ok());
  CHECK(trials.value().steepest > 0);
  CHECK(linear_layer.weight().to_doubles() == before);
  CHECK(adam.steps() == 1);
  CHECK(adam.rate() == 0.5);
}

}  // namespace assay::test
