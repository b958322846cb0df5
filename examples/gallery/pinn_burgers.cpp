// Trains a physics-informed network on Burgers' equation u_t + u u_x = nu u_xx: no solution is given, only the equation
// inside, u = -sin(pi x) at time 0, and u = 0 at x = -1 and 1. What it found is compared with the Cole-Hopf formula.
// Sources: Raissi, Perdikaris and Karniadakis 2019; Basdevant et al. 1986, equation 2.5.
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

constexpr std::int64_t kInside = 256, kEdge = 96, kWidth = 24;
constexpr double kViscosity = 0.05, kPi = std::numbers::pi;

// A function of points (x, t) and its derivatives there, [N, width] each. They go forward through the network with it.
struct Jet {
  Value u, x, t, xx;
};
Jet through(const Linear& layer, const Jet& jet) {
  const auto along = [&](const Value& derivative) { return linear(derivative, layer.weight()); };
  return {layer(jet.u), along(jet.x), along(jet.t), along(jet.xx)};
}
// tanh' = 1 - tanh^2, tanh'' = -2 tanh tanh'.
Jet bent(const Jet& a) {
  const Value h = tanh(a.u), slope = 1 - square(h);
  return {h, slope * a.x, slope * a.t, slope * (a.xx - 2.0 * h * square(a.x))};
}

struct Solution {
  Linear first, second, third, out;
  explicit Solution(Model& model)
      : first(model / "first", 2, kWidth),
        second(model / "second", kWidth, kWidth),
        third(model / "third", kWidth, kWidth),
        out(model / "out", kWidth, 1) {}
  Value operator()(const Value& points) const { return out(tanh(third(tanh(second(tanh(first(points))))))); }  // [N, 2]
  // u_t + u u_x - nu u_xx at each point.
  Value residual(const Value& points) const {
    Session& session = points.session();
    const auto rows = [&](const std::vector<double>& row) {
      const auto width = static_cast<std::int64_t>(row.size());
      return expand(session.input(numbers(session, {1, width}, row)), {points.shape()[0], width});
    };
    const auto along = [&](const std::vector<double>& direction) { return linear(rows(direction), first.weight()); };
    const Jet start{first(points), along({1, 0}), along({0, 1}), rows(std::vector<double>(kWidth, 0))};
    const Jet jet = through(out, bent(through(third, bent(through(second, bent(start))))));
    return jet.t + jet.u * jet.x - kViscosity * jet.xx;
  }
};

// {points inside, points on the edge, u there}: half of the edge's points at time 0, the others at x = -1 and 1.
std::vector<Array> draw(Session& session) {
  const Array inside = session.uniform({kInside, 2}), edge = session.uniform({kEdge});
  std::vector<double> points = inside.to_tensor().to_doubles(), border, values;
  for (std::size_t i = 0; i < points.size(); i += 2) points[i] = 2 * points[i] - 1;
  std::size_t k = 0;
  for (const double place : edge.to_tensor().to_doubles()) {
    const bool starts = k++ % 2 == 0;
    border.push_back(starts ? 2 * place - 1 : k % 4 == 0 ? 1 : -1);
    border.push_back(starts ? 0 : place);
    values.push_back(starts ? -std::sin(kPi * border[border.size() - 2]) : 0);
  }
  return {numbers(session, {kInside, 2}, points), numbers(session, {kEdge, 2}, border), numbers(session, {kEdge, 1}, values)};
}

// The solution at a time t > 0: a quotient of integrals over a Gaussian of variance 2 nu t, by sums over eight deviations on both sides.
double cole_hopf(double x, double t) {
  const double deviation = std::sqrt(2 * kViscosity * t);
  double above = 0, below = 0;
  for (int k = -800; k <= 800; ++k) {
    const double z = k / 100.0, y = x - deviation * z;
    const double weight = std::exp(-std::cos(kPi * y) / (2 * kPi * kViscosity) - z * z / 2);
    above -= std::sin(kPi * y) * weight;
    below += weight;
  }
  return above / below;
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 3000;
  if (const auto status = options.read(argc, argv, "pinn_burgers", "A physics-informed network for Burgers' equation")) return *status;
  std::cout << options.banner("pinn_burgers") << "\n";
  Session session(options.session());
  Model model(session);
  const Solution solution(model);
  Adam adam(session, model.parameters(), {});
  const auto loss = [&](std::span<const Value> v) {
    return mean(square(solution.residual(v[0]))) + mean_squared_error(solution(v[1]), v[2]);
  };
  Trainer trainer(model, adam, loss,
                  {.compiled = options.compiled, .rate = cosine_decay(5e-3, 1e-5, std::max<std::uint64_t>(1, options.steps))});
  const int status = run_training(options, trainer, [&] { return draw(session); });
  for (const double t : {0.25, 0.5, 0.75, 1.0}) {
    std::vector<double> points, right;
    for (int k = 0; k <= 100; ++k) {
      const double x = k / 50.0 - 1;
      points.insert(points.end(), {x, t});
      right.push_back(cole_hopf(x, t));
    }
    session.clear();
    const std::vector<double> found = solution(session.input(numbers(session, {101, 2}, points))).to_doubles();
    double error = 0, size = 0;
    for (std::size_t k = 0; k < right.size(); ++k) error += std::pow(found[k] - right[k], 2), size += std::pow(right[k], 2);
    std::printf("time %.2f: relative error %.4f\n", t, std::sqrt(error / size));
  }
  return status;
}
