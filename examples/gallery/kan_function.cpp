// Trains a Kolmogorov-Arnold network on exp(sin(pi x) + y^2): no unit has a fixed function, each edge has one that is learned, a sum of
// bumps.
// Sources: Liu et al. 2024; Gaussian bumps after Li 2024.
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

constexpr std::int64_t kBatch = 128, kBumps = 8;

// y_o = sum over i of f_oi(x_i), with f_oi a silu and kBumps bumps round places from -2 to 2, each with a weight.
struct KanLayer {
  Linear smooth, bumps;
  KanLayer(const Scope& at, std::int64_t in, std::int64_t out)
      : smooth(at / "smooth", in, out), bumps(at / "bumps", in * kBumps, out, false) {}
  Value operator()(const Value& x) const {
    constexpr double kStep = 4.0 / (kBumps - 1);
    std::vector<double> centres;
    for (std::int64_t k = 0; k < kBumps; ++k) centres.push_back(-2 + kStep * static_cast<double>(k));
    const Shape shape = x.shape();
    const Value away = (reshape(x, {shape[0], shape[1], 1}) - x.session().input(numbers(x.session(), {kBumps}, centres))) * (1 / kStep);
    return smooth(silu(x)) + bumps(reshape(exp(-square(away)), {shape[0], shape[1] * kBumps}));
  }
};

// {points of the square [-1, 1]^2, values}
std::vector<Array> draw(Session& session, std::int64_t count) {
  const std::vector<double> points = session.uniform({count, 2}, -1, 1).to_tensor().to_doubles();
  std::vector<double> values;
  for (std::size_t i = 0; i < points.size(); i += 2)
    values.push_back(std::exp(std::sin(std::numbers::pi * points[i]) + points[i + 1] * points[i + 1]));
  return {numbers(session, {count, 2}, points), numbers(session, {count, 1}, values)};
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 1500;
  if (const auto status = options.read(argc, argv, "kan_function", "A Kolmogorov-Arnold network")) return *status;
  std::cout << options.banner("kan_function") << "\n";
  Session session(options.session());
  Model model(session);
  const KanLayer first(model / "first", 2, 5), second(model / "second", 5, 1);
  std::cout << model.parameter_count() << " parameters\n";
  Adam adam(session, model.parameters(), {});
  const auto loss = [&](std::span<const Value> v) { return mean_squared_error(second(first(v[0])), v[1]); };
  Trainer trainer(model, adam, loss,
                  {.compiled = options.compiled, .rate = cosine_decay(0.02, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  const int status = run_training(options, trainer, [&] { return draw(session, kBatch); });
  const std::vector<Array> held = draw(session, 2000);
  session.clear();
  const Value right = session.input(held[1]);
  std::printf("at 2000 other points: mean squared error %.6f, of a variance of %.3f\n",
              loss(std::vector{session.input(held[0]), right}).item(), mean(square(right - mean(right))).item());
  return status;
}
