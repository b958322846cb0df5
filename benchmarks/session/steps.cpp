// Time per training step (forward, backward, SGD) of the eager session, or of a compiled function of it.
//
//   bench_session small|mlp|block|pool|overlap|conv SECONDS [THREADS [cpu|emulated|cuda [eager|compiled]]]
//
// Prints microseconds of wall and of CPU per step. On a device the clock stops when the last step is done there.
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <iostream>
#include <string_view>
#include <vector>

#include "gpu/devices.h"
#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/session.h"
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

struct Task {
  std::vector<Value> parameters;
  std::function<Value()> loss;
};

Task perceptron_task(Session& session, std::int64_t batch, const std::vector<std::int64_t>& widths) {
  const std::vector<Value> p = layers(session, widths);
  const Array x = session.normal({batch, widths[0]});
  const Tensor target = Tensor::of_ints({batch}, std::vector<std::int64_t>(static_cast<std::size_t>(batch), 3));
  const Array places = Array::from(target);
  return {p, [&session, p, x, places] { return perceptron(session.input(x), p, session.input(places)); }};
}

Task residual_task(Session& session) {
  std::vector<Value> p;
  for (int i = 0; i < 2; ++i) {
    p.push_back(session.parameter("w", session.uniform({64, 64, 3, 3}, -0.05, 0.05)));
    p.push_back(session.parameter("b", session.uniform({64}, -0.05, 0.05)));
  }
  const Array x = session.normal({16, 64, 32, 32});
  return {p, [&session, p, x] { return residual(session.input(x), p); }};
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
  const Array x = session.normal({8, 64, kWidth});
  return {p, [&session, p, x] { return transformer(session.input(x), p); }};
}

Task pool_task(Session& session, Value (*f)(const Value&, const std::vector<Value>&)) {
  const std::vector<Value> p{session.parameter("p", session.uniform({1, 64, 1, 1}))};
  const Array x = session.normal({16, 64, 32, 32});
  return {p, [&session, p, x, f] { return f(session.input(x), p); }};
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3 || argc > 6) {
    std::cerr << "usage: bench_session small|mlp|block|pool|overlap|conv SECONDS [THREADS [cpu|emulated|cuda [eager|compiled]]]\n";
    return 2;
  }
  const std::string_view what = argv[1];
  const auto device = gpu::device_named(argc >= 5 ? argv[4] : "cpu");
  if (!device) {
    std::cerr << device.rejection().to_text() << "\n";
    return 4;
  }
  Session session({.threads = argc >= 4 ? std::strtoull(argv[3], nullptr, 10) : 0, .device = device.value()});
  const Task task = what == "small"     ? perceptron_task(session, 1, {16, 32, 10})
                    : what == "mlp"     ? perceptron_task(session, 128, {784, 512, 512, 10})
                    : what == "block"   ? transformer_task(session)
                    : what == "pool"    ? pool_task(session, pooled)
                    : what == "overlap" ? pool_task(session, overlapping)
                                        : residual_task(session);
  training::Sgd sgd(session, task.parameters, {.rate = 1e-5});
  const auto eager = [&](std::span<const Value>) { return session.gradients(task.loss(), task.parameters, {std::nullopt, false}); };
  CompiledFunction compiled(session, eager, task.parameters);
  const bool is_compiled = argc == 6 && std::string_view(argv[5]) == "compiled";
  const auto step = [&] {
    const auto bars = is_compiled ? compiled({}) : eager({});
    const bool fine = bars.ok() && sgd.step(bars.value()).ok();
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
