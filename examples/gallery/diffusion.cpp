// Trains a denoising diffusion model on points near a circle, and samples new ones. Source: Ho, Jain and Abbeel 2020.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>

#include "runtime/functions.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kBatch = 256, kTimes = 50, kWidth = 96;

// The share of the signal that is left after t + 1 steps of noise: products of 1 - beta, from 1e-4 to 0.1.
std::vector<double> shares() {
  std::vector<double> left;
  double product = 1;
  for (std::int64_t t = 0; t < kTimes; ++t) {
    product *= 1 - (1e-4 + (0.1 - 1e-4) * static_cast<double>(t) / (kTimes - 1));
    left.push_back(product);
  }
  return left;
}

// The noise in a point, from the point and its time (as a row of sin and cos).
struct Denoiser {
  Linear point, time, middle, out;
  explicit Denoiser(Model& model)
      : point(model / "point", 2, kWidth),
        time(model / "time", 16, kWidth),
        middle(model / "middle", kWidth, kWidth),
        out(model / "out", kWidth, 2) {}
  Value operator()(const Value& x, const Value& when) const { return out(silu(middle(silu(point(x) + time(when))))); }
};

struct Task {
  Session& session;
  std::vector<double> left = shares();
  std::vector<double> rows = sinusoidal_places(session, kTimes, 16).to_tensor().to_doubles();

  // {noisy points, times, noise}
  std::vector<Array> draw() {
    const std::vector<double> u = session.uniform({kBatch, 2}).to_tensor().to_doubles(),
                              e = session.normal({kBatch, 4}).to_tensor().to_doubles();
    std::vector<double> points, times, noise;
    for (std::size_t i = 0; i < kBatch; ++i) {
      const double angle = 2 * std::numbers::pi * u[2 * i];
      const auto t = static_cast<std::size_t>(u[2 * i + 1] * kTimes);
      const double clean[2] = {std::cos(angle) + 0.03 * e[4 * i], std::sin(angle) + 0.03 * e[4 * i + 1]};
      for (std::size_t k = 0; k < 2; ++k) {
        noise.push_back(e[4 * i + 2 + k]);
        points.push_back(std::sqrt(left[t]) * clean[k] + std::sqrt(1 - left[t]) * noise.back());
      }
      times.insert(times.end(), rows.begin() + static_cast<std::ptrdiff_t>(16 * t),
                   rows.begin() + static_cast<std::ptrdiff_t>(16 * (t + 1)));
    }
    return {numbers(session, {kBatch, 2}, points), numbers(session, {kBatch, 16}, times), numbers(session, {kBatch, 2}, noise)};
  }

  // From noise back to points, one time after the other.
  std::vector<double> sample(const Denoiser& net) {
    std::vector<double> x = session.normal({kBatch, 2}).to_tensor().to_doubles();
    for (std::size_t t = kTimes; t-- > 0;) {
      session.clear();
      std::vector<double> times;
      for (std::int64_t i = 0; i < kBatch; ++i)
        times.insert(times.end(), rows.begin() + static_cast<std::ptrdiff_t>(16 * t),
                     rows.begin() + static_cast<std::ptrdiff_t>(16 * (t + 1)));
      const std::vector<double> noise =
          net(session.input(numbers(session, {kBatch, 2}, x)), session.input(numbers(session, {kBatch, 16}, times))).to_doubles();
      const std::vector<double> fresh = session.normal({kBatch, 2}).to_tensor().to_doubles();
      const double before = t == 0 ? 1 : left[t - 1], alpha = left[t] / before, beta = 1 - alpha;
      for (std::size_t i = 0; i < x.size(); ++i) {
        x[i] = (x[i] - beta / std::sqrt(1 - left[t]) * noise[i]) / std::sqrt(alpha) + (t == 0 ? 0 : std::sqrt(beta) * fresh[i]);
      }
    }
    return x;
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 2000;
  if (const auto status = options.read(argc, argv, "diffusion", "A diffusion model of points near a circle")) return *status;
  std::cout << options.banner("diffusion") << "\n";
  Session session(options.session());
  Model model(session);
  const Denoiser net(model);
  Task task{session};
  Adam adam(session, model.parameters(), {});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return mean_squared_error(net(v[0], v[1]), v[2]); },
                  {.compiled = options.compiled, .rate = cosine_decay(3e-3, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  const int status = run_training(options, trainer, [&] { return task.draw(); });
  const std::vector<double> points = task.sample(net);
  double near = 0;
  for (std::size_t i = 0; i < points.size(); i += 2) near += std::abs(std::hypot(points[i], points[i + 1]) - 1) < 0.2 ? 1 : 0;
  std::printf("samples within 0.2 of the circle: %.0f of %lld\n", near, static_cast<long long>(kBatch));
  return status;
}
