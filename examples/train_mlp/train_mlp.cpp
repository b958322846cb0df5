// Trains a small network to tell the arms of two spirals apart, with the session, the optimiser and the schedule of runtime/.
//
//   train_mlp [--steps N] [--seed S] [--below LOSS] [--device cpu|emulated|cuda]
//
// Exit status 1 if the last loss is not below LOSS, 4 if there is no such device.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <limits>
#include <memory>
#include <numbers>
#include <string_view>
#include <vector>

#include "gpu/devices.h"
#include "runtime/functions.h"
#include "runtime/session.h"
#include "training/optimise.h"
#include "training/schedules.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

struct Options {
  std::uint64_t steps = 600, seed = 1;
  double below = std::numeric_limits<double>::infinity();
  std::string_view device = "cpu";
};

// A batch of points [B, 2] near one of two arms, and which arm [B].
struct Batch {
  Array points;
  Tensor arms;
};
Batch draw(Session& session, std::int64_t size) {
  const std::vector<double> u = session.uniform({size}).to_tensor().to_doubles(),
                            noise = session.normal({size, 2}).to_tensor().to_doubles();
  std::vector<float> points;
  std::vector<std::int64_t> arms;
  for (std::size_t i = 0; i < u.size(); ++i) {
    arms.push_back(static_cast<std::int64_t>(i % 2));
    const double radius = std::sqrt(u[i]), angle = 2 * std::numbers::pi * radius + std::numbers::pi * static_cast<double>(i % 2);
    points.push_back(static_cast<float>(radius * std::cos(angle) + 0.01 * noise[2 * i]));
    points.push_back(static_cast<float>(radius * std::sin(angle) + 0.01 * noise[2 * i + 1]));
  }
  return {Array::from(Tensor::of_floats({size, 2}, points)), Tensor::of_ints({size}, arms)};
}

// Weights uniform between +-sqrt(3 / in), which keeps the size of what passes through.
Value weight(Session& session, const char* name, std::int64_t out, std::int64_t in) {
  const double most = std::sqrt(3.0 / static_cast<double>(in));
  return session.parameter(name, session.uniform({out, in}, -most, most));
}
Value bias(Session& session, const char* name, std::int64_t out) { return session.parameter(name, session.uniform({out}, 0, 0)); }

double train(const Options& options, const std::shared_ptr<Device>& device) {
  constexpr std::int64_t kBatch = 128, kWidth = 48;
  constexpr double kRate = 0.01;
  Session session({.seed = options.seed, .device = device});
  const std::vector<Value> p{weight(session, "w1", kWidth, 2), bias(session, "b1", kWidth),      weight(session, "w2", kWidth, kWidth),
                             bias(session, "b2", kWidth),      weight(session, "w3", 2, kWidth), bias(session, "b3", 2)};
  Adam optimiser(session, p, {});
  const Schedule rate = with_warmup(cosine_decay(kRate, kRate / 100, options.steps), options.steps / 20 + 1);
  double last = std::numeric_limits<double>::quiet_NaN();
  for (std::uint64_t step = 0; step < options.steps; ++step) {
    const Batch batch = draw(session, kBatch);
    const Value x = session.input(batch.points), arms = session.input(batch.arms);
    const Value hidden = relu(linear(relu(linear(x, p[0], p[1])), p[2], p[3]));
    const Value loss = cross_entropy(linear(hidden, p[4], p[5]), arms);
    auto bars = session.gradients(loss, p, {std::nullopt, false});
    optimiser.set_rate(rate(step));
    const Outcome<Done> done = bars ? optimiser.step(bars.value()) : Outcome<Done>(bars.rejection());
    if (!done) {
      std::cerr << done.rejection().to_text() << "\n";
      return std::numeric_limits<double>::quiet_NaN();
    }
    last = loss.item();
    if (step % 100 == 0) std::cout << "step " << step << "  loss " << last << "\n";
    session.clear();
  }
  std::cout << "step " << options.steps << "  loss " << last << "\n";
  return last;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--steps") options.steps = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--seed") options.seed = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--below") options.below = std::strtod(argv[i + 1], nullptr);
    if (name == "--device") options.device = argv[i + 1];
  }
  const auto device = gpu::device_named(options.device);
  if (!device) {
    std::cerr << device.rejection().to_text() << "\n";
    return 4;
  }
  return train(options, device.value()) < options.below ? 0 : 1;
}
