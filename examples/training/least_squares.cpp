// Fits a parabola to noisy points by gradient descent with momentum: a program whose ops have exact values, so that it
// runs over every kind of number. Its fractions grow by a fixed number of digits a step, since the gradient is linear
// in the coefficients.
#include <cstdio>
#include <iostream>

#include "runtime/functions.h"
#include "training/initialise.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

int main(int argc, char** argv) {
  constexpr std::int64_t kPoints = 16;
  RunOptions options;
  options.steps = 40;
  if (const auto status = options.read(argc, argv, "least_squares", "A parabola through noisy points")) return *status;
  std::cout << options.banner("least_squares") << "\n";
  Session session(options.session());
  const std::vector<double> x = session.uniform({kPoints}, -1, 1).to_tensor().to_doubles(),
                            noise = session.normal({kPoints}).to_tensor().to_doubles();
  std::vector<double> features, targets;
  for (std::size_t i = 0; i < x.size(); ++i) {
    features.insert(features.end(), {x[i], x[i] * x[i]});
    targets.push_back(0.5 - x[i] + 2 * x[i] * x[i] + 0.05 * noise[i]);
  }
  const std::vector<Array> points{numbers(session, {kPoints, 2}, features), numbers(session, {kPoints, 1}, targets)};
  Model model(session);
  const Linear curve(model / "curve", 2, 1);
  Sgd descent(session, model.parameters(), {.rate = 0.25, .momentum = 0.75});
  Trainer trainer(model, descent, [&](std::span<const Value> v) { return mean_squared_error(curve(v[0]), v[1]); },
                  {.compiled = options.compiled});
  const int status = run_training(options, trainer, [&] { return points; });
  const std::vector<double> slopes = model.find("curve.weight")->value.to_doubles();
  std::printf("%.4f + %.4f x + %.4f x^2\n", model.find("curve.bias")->value.item(), slopes[0], slopes[1]);
  return status;
}
