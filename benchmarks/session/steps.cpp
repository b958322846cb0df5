// Time per training step (forward, backward, SGD) of the eager session, or of a compiled function of it; of the last four tasks, of one
// operation (forward, backward from a given cotangent).
//
//   bench_session small|mlp|block|pool|overlap|conv|lstm|gelu|tanh|max_rows|max_pool SECONDS [THREADS [cpu|emulated|cuda [eager|compiled]]]
//
// Prints microseconds of wall and of CPU per step. On a device the clock stops when the last step is done there.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "gpu/devices.h"
#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/session.h"
#include "training/layers/recurrent.h"
#include "training/model.h"
#include "training/optimise.h"

using namespace assay;
using namespace assay::runtime;

namespace {

// [out, in] and [out] for each layer.
std::vector<Value> layers(Session& session, const std::vector<std::int64_t>& widths) {
  std::vector<Value> p;
  for (std::size_t i = 0; i + 1 < widths.size(); ++i) {
    p.push_back(session.parameter("w", session.uniform({widths[i + 1], widths[i]}, -0.05, 0.05)));
    p.push_back(session.parameter("b", session.uniform({widths[i + 1]}, -0.05, 0.05)));
  }
  return p;
}

Value perceptron(Value x, const std::vector<Value>& p, const Value& target) {
  for (std::size_t i = 0; i < p.size(); i += 2) {
    x = linear(x, p[i], p[i + 1]);
    if (i + 2 < p.size()) x = relu(x);
  }
  return cross_entropy(x, target);
}

// Two 3x3 convolutions of 64 channels around a shortcut, the mean of squares for a loss.
Value residual(const Value& x, const std::vector<Value>& p) {
  const Conv2d same{.padding = 1};
  return mean(square(relu(x + conv2d(relu(conv2d(x, p[0], p[1], same)), p[2], p[3], same))));
}

// A pre-norm transformer block: x [B, T, D], heads of D / kHeads; the mean of squares for a loss.
constexpr std::int64_t kHeads = 4;
Value normed(const Value& x, const Value& w, const Value& b) { return layer_norm(x, w, b); }
Value heads(const Value& x, std::vector<std::int64_t> axes) {
  const Shape& s = x.shape();
  return permute(reshape(x, {s[0], s[1], kHeads, s[2] / kHeads}), std::move(axes));
}
Value transformer(const Value& x, const std::vector<Value>& p) {
  const Shape shape = x.shape();
  const Value h = normed(x, p[0], p[1]);
  const Value q = heads(matmul(h, p[2]), {0, 2, 1, 3}), k = heads(matmul(h, p[3]), {0, 2, 3, 1}), v = heads(matmul(h, p[4]), {0, 2, 1, 3});
  const double scale = 1 / std::sqrt(static_cast<double>(shape[2] / kHeads));
  const Value mixed = matmul(softmax(matmul(q, k) * scale, 3), v);
  const Value attended = x + matmul(reshape(permute(mixed, {0, 2, 1, 3}), shape), p[5]);
  const Value inner = gelu(matmul(normed(attended, p[6], p[7]), p[8]) + p[9]);
  return mean(square(attended + (matmul(inner, p[10]) + p[11])));
}

// Max and average pools and a normalisation by channel statistics, as in small image models.
Value pooled(const Value& x, const std::vector<Value>& p) { return mean(square(avg_pool2d(relu(max_pool2d(x * p[0], 2, 2)), 2, 2))); }

// A max pool whose windows overlap.
Value overlapping(const Value& x, const std::vector<Value>& p) { return mean(square(max_pool2d(x * p[0], 3, 2, 1))); }

// What is differentiated in `parameters`, and the data that each step reads; with `seeded` the last of these is the result's cotangent.
struct Task {
  std::vector<Value> parameters;
  std::vector<Array> data;
  std::function<Value(std::span<const Value>)> loss;
  bool seeded = false;
};

Task perceptron_task(Session& session, std::int64_t batch, const std::vector<std::int64_t>& widths) {
  const std::vector<Value> p = layers(session, widths);
  const Tensor target = Tensor::of_ints({batch}, std::vector<std::int64_t>(static_cast<std::size_t>(batch), 3));
  return {p, {session.normal({batch, widths[0]}), Array::from(target)}, [p](auto data) { return perceptron(data[0], p, data[1]); }};
}

Task residual_task(Session& session) {
  std::vector<Value> p;
  for (int i = 0; i < 2; ++i) {
    p.push_back(session.parameter("w", session.uniform({64, 64, 3, 3}, -0.05, 0.05)));
    p.push_back(session.parameter("b", session.uniform({64}, -0.05, 0.05)));
  }
  return {p, {session.normal({16, 64, 32, 32})}, [p](auto data) { return residual(data[0], p); }};
}

Task transformer_task(Session& session) {
  constexpr std::int64_t kWidth = 128;
  std::vector<Value> p;
  const auto add = [&](const Shape& shape) { p.push_back(session.parameter("p", session.uniform(shape, -0.05, 0.05))); };
  for (const Shape& shape :
       {Shape{kWidth}, Shape{kWidth}, Shape{kWidth, kWidth}, Shape{kWidth, kWidth}, Shape{kWidth, kWidth}, Shape{kWidth, kWidth},
        Shape{kWidth}, Shape{kWidth}, Shape{kWidth, 4 * kWidth}, Shape{4 * kWidth}, Shape{4 * kWidth, kWidth}, Shape{kWidth}}) {
    add(shape);
  }
  return {p, {session.normal({8, 64, kWidth})}, [p](auto data) { return transformer(data[0], p); }};
}

// An LSTM over [B, T, in], the mean of the squares of all its outputs for a loss.
Task lstm_task(Session& session, training::Model& model) {
  const training::Lstm lstm(model / "lstm", 128, 128);
  return {model.parameters(), {session.normal({32, 32, 128})}, [lstm](auto data) { return mean(square(lstm(data[0]).outputs)); }};
}

Task pool_task(Session& session, Value (*f)(const Value&, const std::vector<Value>&)) {
  const std::vector<Value> p{session.parameter("p", session.uniform({1, 64, 1, 1}))};
  return {p, {session.normal({16, 64, 32, 32})}, [p, f](auto data) { return f(data[0], p); }};
}

// One operation on x, and its cotangent for a cotangent of the result.
Task operation_task(Session& session, const Shape& x_shape, const Shape& y_shape, Value (*f)(const Value&)) {
  const Value x = session.parameter("x", session.normal(x_shape));
  return {{x}, {session.normal(y_shape)}, [x, f](auto) { return f(x); }, true};
}

Task task_of(std::string_view what, Session& session, training::Model& model) {
  const Shape image{16, 64, 32, 32};
  if (what == "small") return perceptron_task(session, 1, {16, 32, 10});
  if (what == "mlp") return perceptron_task(session, 128, {784, 512, 512, 10});
  if (what == "block") return transformer_task(session);
  if (what == "pool") return pool_task(session, pooled);
  if (what == "overlap") return pool_task(session, overlapping);
  if (what == "lstm") return lstm_task(session, model);
  if (what == "gelu") return operation_task(session, image, image, gelu);
  if (what == "tanh") return operation_task(session, image, image, tanh);
  if (what == "max_rows") {
    return operation_task(session, {2048, 512}, {2048}, [](const Value& x) {
      return apply(Op::reduce_max, x, ReduceAttributes{{1}, false});
    });
  }
  if (what == "max_pool") return operation_task(session, image, {16, 64, 16, 16}, [](const Value& x) { return max_pool2d(x, 3, 2, 1); });
  return residual_task(session);
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 6) {
    std::cerr << "usage: bench_session small|mlp|block|pool|overlap|conv|lstm|gelu|tanh|max_rows|max_pool SECONDS [THREADS "
                 "[cpu|emulated|cuda [eager|compiled]]]\n";
    return 2;
  }
  const std::string_view what = argv[1];
  const auto device = gpu::device_named(argc >= 5 ? argv[4] : "cpu");
  if (!device) {
    std::cerr << device.rejection().to_text() << "\n";
    return 4;
  }
  Session session({.threads = argc >= 4 ? std::strtoull(argv[3], nullptr, 10) : 0, .device = device.value()});
  training::Model model(session);
  const Task task = task_of(what, session, model);
  training::Sgd sgd(session, task.parameters, {.rate = 1e-5});
  const bool is_compiled = argc == 6 && std::string_view(argv[5]) == "compiled";
  // The gradients, and the result; what is captured stays on the tape.
  const auto gradients = [&](std::span<const Value> data) {
    const std::optional<Value> seed = task.seeded ? std::optional(data.back()) : std::nullopt;
    const Value result = task.loss(data);
    auto bars = session.gradients(result, task.parameters, {seed, is_compiled});
    if (bars) bars.value().push_back(result);
    return bars;
  };
  CompiledFunction compiled(session, gradients, task.parameters);
  const auto step = [&] {
    std::vector<Value> data;
    for (const Array& one : task.data) data.push_back(session.input(one));
    const auto results = is_compiled ? compiled(data) : gradients(data);
    const bool fine = results.ok() && (task.seeded || sgd.step(std::span(results.value()).first(task.parameters.size())).ok());
    session.clear();
    return fine;
  };
  const auto is_done = [&] { return task.parameters[0].array().fetch().ok(); };
  for (int i = 0; i < 3; ++i) {
    if (!step()) return 1;
  }
  if (!is_done()) return 1;
  const double seconds = std::strtod(argv[2], nullptr), cpu = cpu_seconds();
  const auto start = std::chrono::steady_clock::now();
  std::size_t steps = 0;
  double wall = 0;
  while (wall < seconds) {
    if (!step()) return 1;
    ++steps;
    wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  }
  if (!is_done()) return 1;
  wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::cout << wall * 1e6 / static_cast<double>(steps) << " " << (cpu_seconds() - cpu) * 1e6 / static_cast<double>(steps) << "\n";
  return 0;
}
