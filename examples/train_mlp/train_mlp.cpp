// Trains a small network to tell the arms of two spirals apart.
//
//   train_mlp [--steps N] [--seed S] [--below LOSS] [--device cpu|emulated|cuda] [--backend eager|compiled] ...   (--help)
#include <cmath>
#include <cstdint>
#include <iostream>
#include <numbers>
#include <vector>

#include "runtime/functions.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/losses.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

// Points [B, 2] near one of two arms, and which arm [B, 1]: 0 or 1.
std::vector<Array> draw(Session& session, std::int64_t size) {
  const std::vector<double> u = session.uniform({size}).to_tensor().to_doubles(),
                            noise = session.normal({size, 2}).to_tensor().to_doubles();
  std::vector<double> points, arms;
  for (std::size_t i = 0; i < u.size(); ++i) {
    arms.push_back(static_cast<double>(i % 2));
    const double radius = std::sqrt(u[i]), angle = 2 * std::numbers::pi * radius + std::numbers::pi * arms.back();
    points.push_back(radius * std::cos(angle) + 0.01 * noise[2 * i]);
    points.push_back(radius * std::sin(angle) + 0.01 * noise[2 * i + 1]);
  }
  return {numbers(session, {size, 2}, points), numbers(session, {size, 1}, arms)};
}

}  // namespace

int main(int argc, char** argv) {
  constexpr std::int64_t kBatch = 128, kWidth = 48;
  constexpr double kRate = 0.01;
  RunOptions options;
  options.steps = 600;
  if (const auto status = options.read(argc, argv, "train_mlp", "A perceptron that tells two spirals apart")) return *status;
  std::cout << options.banner("train_mlp") << "\n";
  Session session(options.session());
  Model model(session);
  const Linear first(model / "first", 2, kWidth), second(model / "second", kWidth, kWidth), third(model / "third", kWidth, 1);
  Adam adam(session, model.parameters(), {});
  Trainer trainer(
      model, adam, [&](std::span<const Value> v) { return binary_cross_entropy_with_logits(third(relu(second(relu(first(v[0]))))), v[1]); },
      {.compiled = options.compiled, .rate = with_warmup(cosine_decay(kRate, kRate / 100, options.steps), options.steps / 20 + 1)});
  return run_training(options, trainer, [&] { return draw(session, kBatch); });
}
