// Training steps on the emulated device: recorded, audited, with right gradients, and the loss falls.
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/gpu/audited.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using runtime::Session;
using runtime::Value;

constexpr std::size_t kSteps = 2;

Value scaled(Session& session, std::string name, const Shape& shape, double scale) {
  runtime::Array values = session.normal(shape);
  for (float& value : values.data<float>()) value *= static_cast<float>(scale);
  return session.parameter(std::move(name), std::move(values));
}
Tensor classes(const std::vector<std::int64_t>& values) { return Tensor::of_ints({static_cast<std::int64_t>(values.size())}, values); }

// Gradient descent on a loss that is made anew in every step; every step is a trace of its own.
void train(Session& session, const std::vector<Value>& parameters, double rate, const std::function<Value()>& loss_of) {
  training::Sgd optimiser(session, parameters, {.rate = rate});
  double before = std::numeric_limits<double>::infinity();
  for (std::size_t step = 0; step < kSteps; ++step) {
    runtime::Recorder recorder(session);
    const Value loss = loss_of();
    if (session.failure()) FAIL(session.failure()->to_text());
    const auto bars = recorder.gradients(loss, parameters);
    if (!bars) FAIL(bars.rejection().to_text());
    recorder.output(loss);
    CHECK(failures_of(recorder.take(), 0.05) == std::vector<std::string>{});
    const auto now = static_cast<double>(loss.array().data<float>()[0]);
    CHECK(now < before);
    before = now;
    REQUIRE(optimiser.step(bars.value()).ok());
    session.clear();
  }
}

TEST_CASE("gpu training: a parameter that is trained elsewhere is copied anew after every step") {
  Session host;
  const Value w = host.parameter("w", runtime::Array::from(Tensor::of_floats({3}, std::vector<float>{1, 2, 3})));
  training::Sgd sgd(host, {w}, {.rate = 1});
  const std::vector<runtime::Array> gradients{runtime::Array::from(Tensor::of_floats({3}, std::vector<float>{1, 1, 1}))};
  runtime::SessionOptions options;
  options.device = gpu::emulated_device();
  Session device(options);
  for (int step = 0; step < 4; ++step) {
    REQUIRE(sgd.step(gradients).ok());
    const Value there = device.input(w.array());
    CHECK((there + there).to_doubles() == (w + w).to_doubles());
    device.clear();
    host.clear();
  }
}

TEST_CASE("gpu training: a multilayer perceptron", "[gpu]") {
  Session session({.seed = 11, .device = gpu::emulated_device(schedules()[1])});
  const Value w = scaled(session, "w", {16, 5}, 0.4), b = scaled(session, "b", {16}, 0.1), v = scaled(session, "v", {3, 16}, 0.3);
  const runtime::Array x = session.normal({6, 5});
  train(session, {w, b, v}, 0.05, [&] {
    const Value h = gelu(linear(session.input(x, "x"), w, b));
    return cross_entropy(linear(h, v), session.input(classes({0, 1, 2, 1, 0, 2}), "class"));
  });
}

// Batch normalisation by the moments of the batch, then by given ones; pooling by maxima with padding and by means.
TEST_CASE("gpu training: a convolutional network with batch normalisation and pooling", "[gpu]") {
  Session session({.seed = 12, .device = gpu::emulated_device(schedules()[2])});
  const Value k = scaled(session, "k", {4, 2, 3, 3}, 0.3), c = scaled(session, "c", {4}, 0.1);
  const Value scale = session.parameter("scale", runtime::Array::from(Tensor::of_floats({1, 4, 1, 1}, std::vector<float>{1, 0.5F, 2, 1})));
  const Value shift = scaled(session, "shift", {1, 4, 1, 1}, 0.1);
  const Value k2 = scaled(session, "k2", {4, 2, 2, 2}, 0.4), gain = scaled(session, "gain", {4}, 1),
              offset = scaled(session, "offset", {4}, 0.1);
  const Value up = scaled(session, "up", {4, 4, 2, 2}, 0.3), v = scaled(session, "v", {3, 8}, 0.3);
  const runtime::Array x = session.normal({2, 2, 7, 6});
  train(session, {k, c, scale, shift, k2, gain, offset, up, v}, 0.02, [&] {
    const Value convolved = conv2d(session.input(x, "x"), k, c, {.stride = 1, .padding = 1});
    const Value normal = apply(Op::normalise, convolved, NormaliseAttributes{{0, 2, 3}, 1e-5, NormaliseAttributes::Form::centered});
    const Value pooled = max_pool2d(relu(normal * scale + shift), 3, 2, 1);
    const Value grouped = conv2d(pooled, k2, {.stride = 1, .padding = 0, .dilation = 1, .groups = 2});
    const Value mean_of = session.input(Tensor::of_floats({4}, std::vector<float>{0.1F, 0, -0.2F, 0.3F}), "mean");
    const Value variance = session.input(Tensor::of_floats({4}, std::vector<float>{1, 0.5F, 2, 0.7F}), "variance");
    const Value normed = session.apply(Op::batch_norm, {grouped, gain, offset, mean_of, variance}, BatchNormAttributes{1e-5});
    const Value back = session.apply(Op::conv_transpose, {normed, up}, [] {
      WindowAttributes w;
      w.kernel = {2, 2};
      w.strides = {2, 2};
      w.dilations = {1, 1};
      w.pads_begin = w.pads_end = w.output_padding = {0, 0};
      return w;
    }());
    const Value rows = reshape(avg_pool2d(back, 3, 3), {2, 8});
    return cross_entropy(linear(rows, v), session.input(classes({2, 0}), "class"));
  });
}

TEST_CASE("gpu training: a small transformer with embeddings and a causal mask", "[gpu]") {
  Session session({.seed = 13, .device = gpu::emulated_device(schedules()[0])});
  const std::int64_t tokens = 4, width = 6, words = 5;
  const Value table = scaled(session, "table", {words, width}, 0.7), places = scaled(session, "places", {tokens, width}, 0.2);
  const Value q = scaled(session, "q", {width, width}, 0.5), k = scaled(session, "k", {width, width}, 0.5),
              o = scaled(session, "o", {width, width}, 0.5);
  const Value one = session.parameter("one", runtime::Array::from(Tensor::of_floats({6}, std::vector<float>(6, 1))));
  const Value zero = session.parameter("zero", runtime::Array::from(Tensor::of_floats({6}, std::vector<float>(6, 0))));
  const Value out = scaled(session, "out", {words, width}, 0.5);
  auto causal = std::make_shared<std::vector<std::byte>>();
  for (std::int64_t row = 0; row < tokens; ++row) {
    for (std::int64_t column = 0; column < tokens; ++column) causal->push_back(std::byte{static_cast<unsigned char>(column <= row)});
  }
  const Tensor mask(DType::boolean, {tokens, tokens}, causal);
  train(session, {table, places, q, k, o, one, zero, out}, 0.1, [&] {
    const Value x = embedding(session.input(classes({1, 4, 0, -2}), "tokens"), table) + places;
    const Value n = layer_norm(x, one, zero);
    const Value scores = matmul(linear(n, q), permute(linear(n, k), {1, 0})) * 0.4;
    const Value weights = apply(Op::masked_softmax, scores, session.input(mask, "mask"), MaskedSoftmaxAttributes{1, false});
    const Value h = x + linear(matmul(weights, n), o);
    return cross_entropy(linear(silu(h), out), session.input(classes({4, 0, 3, 1}), "next"));
  });
}

TEST_CASE("gpu training: a long short-term memory over three steps", "[gpu]") {
  Session session({.seed = 14, .device = gpu::emulated_device(schedules()[2])});
  const std::int64_t batch = 2, width = 4;
  const Value w = scaled(session, "w", {4 * width, 3 + width}, 0.4), b = scaled(session, "b", {4 * width}, 0.1);
  const Value out = scaled(session, "out", {1, width}, 0.5);
  const runtime::Array sequence = session.normal({batch, 3, 3});
  train(session, {w, b, out}, 0.1, [&] {
    const Value x = session.input(sequence, "x");
    const auto part = [&](const Value& of, std::int64_t axis, std::int64_t start, std::int64_t extent) {
      Shape starts(of.shape().size(), 0), steps(of.shape().size(), 1), extents = of.shape();
      starts[static_cast<std::size_t>(axis)] = start;
      extents[static_cast<std::size_t>(axis)] = extent;
      return apply(Op::slice, of, SliceAttributes{starts, steps, extents});
    };
    Value h = session.input(Tensor::of_floats({batch, width}, std::vector<float>(8, 0)), "h"), c = h;
    for (std::int64_t t = 0; t < 3; ++t) {
      const Value gates = linear(runtime::concat({reshape(part(x, 1, t, 1), {batch, 3}), h}, 1), w, b);
      const auto gate = [&](std::int64_t index) { return part(gates, 1, index * width, width); };
      c = sigmoid(gate(0)) * c + sigmoid(gate(1)) * tanh(gate(2));
      h = sigmoid(gate(3)) * tanh(c);
    }
    return mean_squared_error(linear(h, out), session.input(Tensor::of_floats({batch, 1}, std::vector<float>{0.5F, -0.25F}), "target"));
  });
}

}  // namespace
}  // namespace assay::test
