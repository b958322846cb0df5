// Trains a generator against a discriminator until its points lie near a circle. Source: Goodfellow et al. 2014, the non-saturating loss.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iostream>
#include <numbers>

#include "runtime/functions.h"
#include "training/initialise.h"
#include "training/layers/basic.h"
#include "training/layers/shapes.h"
#include "training/losses.h"
#include "training/options.h"

using namespace assay;
using namespace assay::runtime;
using namespace assay::training;

namespace {

constexpr std::int64_t kBatch = 128, kWidth = 64, kNoise = 4;

struct Network {
  Linear first, second, third;
  Network(Model& model, std::int64_t in, std::int64_t out)
      : first(model / "first", in, kWidth), second(model / "second", kWidth, kWidth), third(model / "third", kWidth, out) {}
  Value operator()(const Value& x) const {
    const auto bent = [](const Value& h) { return runtime::apply(Op::leaky_relu, h, LeakyReluAttributes{0.125}); };
    return third(bent(second(bent(first(x)))));
  }
};

Array circle(Session& session) {
  const std::vector<double> u = session.uniform({kBatch}).to_tensor().to_doubles(),
                            e = session.normal({kBatch, 2}).to_tensor().to_doubles();
  std::vector<double> points;
  for (std::size_t i = 0; i < u.size(); ++i) {
    points.push_back(std::cos(2 * std::numbers::pi * u[i]) + 0.03 * e[2 * i]);
    points.push_back(std::sin(2 * std::numbers::pi * u[i]) + 0.03 * e[2 * i + 1]);
  }
  return numbers(session, {kBatch, 2}, points);
}

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 3000;
  options.takes_compiled = false;  // each of the two steps reads what the other one changes
  if (const auto status = options.read(argc, argv, "gan", "A generator of points near a circle")) return *status;
  std::cout << options.banner("gan") << "\n";
  Session session(options.session());
  Model generator_model(session), judge_model(session);
  const Network generator(generator_model, kNoise, 2), judge(judge_model, 2, 1);
  const AdamOptions slow{.rate = 1e-3, .beta1 = 0.5};
  Adam generator_adam(session, generator_model.parameters(), slow), judge_adam(session, judge_model.parameters(), slow);
  const Value ones = session.parameter("", filled(session, {kBatch, 1}, 1)), zeros = session.parameter("", filled(session, {kBatch, 1}, 0));
  // The generator wants its points to be taken for real ones, the judge wants to tell them apart.
  Trainer deceives(generator_model, generator_adam,
                   [&](std::span<const Value> v) { return binary_cross_entropy_with_logits(judge(generator(v[0])), ones); }, {});
  Trainer tells(judge_model, judge_adam,
                [&](std::span<const Value> v) {
                  return binary_cross_entropy_with_logits(judge(v[0]), ones) + binary_cross_entropy_with_logits(judge(v[1]), zeros);
                },
                {});
  const auto made = [&] {
    session.clear();
    return generator(session.input(session.normal({kBatch, kNoise}))).array();
  };
  bool fine = true;
  const int status = run_training(options, tells, [&] {
    fine = fine && deceives.step(std::vector{session.normal({kBatch, kNoise})}).ok();
    return std::vector{circle(session), made()};
  });
  const std::vector<double> points = made().to_tensor().to_doubles();
  double near = 0;
  for (std::size_t i = 0; i < points.size(); i += 2) near += std::abs(std::hypot(points[i], points[i + 1]) - 1) < 0.2 ? 1 : 0;
  std::printf("points within 0.2 of the circle: %.0f of %lld\n", near, static_cast<long long>(kBatch));
  return fine ? status : 4;
}
