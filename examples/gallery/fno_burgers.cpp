// Trains a Fourier neural operator on Burgers' equation u_t + u u_x = nu u_xx on a circle: from u at time 0 to u at time 1.
// Source: Li et al. 2021.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>

#include "runtime/functions.h"
#include "training/layers/basic.h"
#include "training/layers/sequence.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kPoints = 64, kWidth = 24, kModes = 12, kSamples = 160, kTrained = 128;
constexpr double kViscosity = 0.02;

// One step of the equation in conservation form: an upwind flux (Lax-Friedrichs) and central differences of u_xx.
void advance(std::vector<double>& u, double dt) {
  const double dx = 1.0 / kPoints;
  const auto at = [&](std::int64_t i) { return u[static_cast<std::size_t>((i + kPoints) % kPoints)]; };
  const auto flux = [&](std::int64_t i) {  // between i and i + 1
    const double a = at(i), b = at(i + 1), speed = std::max(std::abs(a), std::abs(b));
    return (a * a + b * b) / 4 - speed * (b - a) / 2;
  };
  std::vector<double> next;
  for (std::int64_t i = 0; i < kPoints; ++i) {
    next.push_back(at(i) - dt / dx * (flux(i) - flux(i - 1)) + dt * kViscosity / (dx * dx) * (at(i + 1) - 2 * at(i) + at(i - 1)));
  }
  u = std::move(next);
}

// {u at time 0, u at time 1}: waves of the first three frequencies.
Dataset solve(Session& session) {
  const std::vector<double> waves = session.normal({kSamples, 6}).to_tensor().to_doubles();
  std::vector<double> before, after;
  for (std::size_t s = 0; s < kSamples; ++s) {
    std::vector<double> u;
    for (std::int64_t i = 0; i < kPoints; ++i) {
      double sum = 0;
      for (std::size_t k = 0; k < 3; ++k) {
        const double angle = 2 * std::numbers::pi * static_cast<double>(i) * static_cast<double>(k + 1) / kPoints;
        sum += (waves[6 * s + 2 * k] * std::cos(angle) + waves[6 * s + 2 * k + 1] * std::sin(angle)) / static_cast<double>(2 * (k + 1));
      }
      u.push_back(sum);
    }
    before.insert(before.end(), u.begin(), u.end());
    for (int step = 0; step < 400; ++step) advance(u, 1.0 / 400);
    after.insert(after.end(), u.begin(), u.end());
  }
  return {numbers(session, {kSamples, 1, kPoints}, before), numbers(session, {kSamples, 1, kPoints}, after)};
}

// The points of each image through a linear layer over channels.
Value over_channels(const Linear& layer, const Value& x) { return transpose(layer(transpose(x, 1, 2)), 1, 2); }

struct Fno {
  Linear in, first_around, second_around, middle, out;
  SpectralConv first, second;
  explicit Fno(Model& model)
      : in(model / "in", 1, kWidth),
        first_around(model / "first_around", kWidth, kWidth),
        second_around(model / "second_around", kWidth, kWidth),
        middle(model / "middle", kWidth, 48),
        out(model / "out", 48, 1),
        first(model / "first", kWidth, kWidth, kModes),
        second(model / "second", kWidth, kWidth, kModes) {}
  Value operator()(const Value& u) const {
    Value h = over_channels(in, u);
    h = gelu(first(h) + over_channels(first_around, h));
    h = gelu(second(h) + over_channels(second_around, h));
    return over_channels(out, gelu(over_channels(middle, h)));
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 600;
  if (const auto status = options.read(argc, argv, "fno_burgers", "A Fourier neural operator for Burgers' equation")) return *status;
  std::cout << options.banner("fno_burgers") << "\n";
  Session session(options.session());
  const Dataset data = solve(session);
  std::vector<std::int64_t> first, rest;
  for (std::int64_t s = 0; s < kSamples; ++s) (s < kTrained ? first : rest).push_back(s);
  Model model(session);
  const Fno net(model);
  Adam adam(session, model.parameters(), {});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return mean_squared_error(net(v[0]), v[1]); },
                  {.compiled = options.compiled, .rate = cosine_decay(5e-3, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  Loader loader(chosen(data, first), {.batch = 16, .seed = options.seed});
  const int status = run_training(
      options, trainer, [&] { return loader.next(); }, &loader);
  const Dataset held = chosen(data, rest);
  session.clear();
  const double error = mean_squared_error(net(session.input(held[0])), session.input(held[1])).item(),
               size = mean(square(session.input(held[1]))).item();
  std::printf("held-out functions: mean squared error %.6f, of %.6f\n", error, size);
  return status;
}
