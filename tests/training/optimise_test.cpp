// Optimisers against steps by hand and closed forms; schedules; clipping; sums of gradients.
#include "training/optimise.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "runtime/functions.h"
#include "tests/catch.h"
#include "training/adaptive.h"
#include "training/clip.h"
#include "training/galore.h"
#include "training/muon.h"
#include "training/schedules.h"

namespace assay::test {
namespace {

using namespace runtime;
using namespace training;
using Reals = std::vector<double>;

Array array(const Reals& values) { return Array::from(Tensor::of_doubles({static_cast<std::int64_t>(values.size())}, values)); }

// The parameter after steps with these gradients.
template <class O, class Options>
Reals after(const Options& options, const Reals& start, const std::vector<Reals>& gradients) {
  Session session;
  const Value p = session.parameter("p", array(start));
  O optimiser(session, {p}, options);
  for (const Reals& g : gradients) REQUIRE(optimiser.step(std::vector<Array>{array(g)}).ok());
  return p.to_doubles();
}

}  // namespace

TEST_CASE("optimise: SGD by hand", "[optimise]") {
  // All numbers are dyadic: every step is exact.
  CHECK(after<Sgd>(SgdOptions{.rate = 0.5}, {1, -2}, {{2, 4}}) == Reals{0, -4});
  CHECK(after<Sgd>(SgdOptions{.rate = 0.5, .weight_decay = 0.25}, {1, -2}, {{2, 4}}) == Reals{1 - 0.5 * 2.25, -2 - 0.5 * 3.5});
  // v = 1, then 0.5 + 1
  CHECK(after<Sgd>(SgdOptions{.rate = 1, .momentum = 0.5}, {0}, {{1}, {1}}) == Reals{-1 - 1.5});
  // 1 + 0.5, then 1 + 0.5 * 1.5
  CHECK(after<Sgd>(SgdOptions{.rate = 1, .momentum = 0.5, .nesterov = true}, {0}, {{1}, {1}}) == Reals{-1.5 - 1.75});
}

TEST_CASE("optimise: a parameter is written in place only where nobody else holds it", "[optimise]") {
  Session session;
  const Value w = session.parameter("w", array({1, 2, 3}));
  Sgd sgd(session, {w}, {.rate = 1});
  const std::vector<Array> gradients{array({1, 1, 1})};
  const Array before = w.array();
  REQUIRE(sgd.step(gradients).ok());
  CHECK(before.to_tensor().to_doubles() == Reals{1, 2, 3});  // given from outside
  const std::weak_ptr<void> owner = w.array().buffer();
  const void* place = owner.lock().get();
  REQUIRE(sgd.step(gradients).ok());
  CHECK(w.array().buffer().lock().get() == place);  // its own
  CHECK(owner.expired());                           // a holder of the value by its owner sees another one
  const Array held = w.array();
  const Value shown = reshape(w, {3, 1});
  REQUIRE(sgd.step(gradients).ok());
  CHECK(held.to_tensor().to_doubles() == Reals{-1, 0, 1});
  CHECK(shown.to_doubles() == Reals{-1, 0, 1});
  CHECK(w.to_doubles() == Reals{-2, -1, 0});
}

TEST_CASE("optimise: momentum has its closed form", "[optimise]") {
  // p_n = -rate g sum over k of (1 - m^k) / (1 - m)
  const double found = after<Sgd>(SgdOptions{.rate = 0.125, .momentum = 0.5}, {0}, std::vector<Reals>(20, {3}))[0];
  double wanted = 0;
  for (int k = 1; k <= 20; ++k) wanted -= 0.125 * 3 * (1 - std::pow(0.5, k)) / 0.5;
  CHECK(std::abs(found - wanted) < 1e-12);
}

TEST_CASE("optimise: Adam moves by the rate where gradients are constant", "[optimise]") {
  // m / (1 - b1^t) = g and v / (1 - b2^t) = g^2 for every t: each step is rate g / (|g| + epsilon).
  for (const double g : {3.0, -0.25}) {
    const double found = after<Adam>(AdamOptions{.rate = 0.01}, {1}, std::vector<Reals>(10, {g}))[0];
    CHECK(std::abs(found - (1 - 10 * 0.01 * g / (std::abs(g) + 1e-8))) < 1e-13);
  }
}

TEST_CASE("optimise: Adam, two different steps by hand", "[optimise]") {
  const AdamOptions options{.rate = 0.1, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0};
  // t = 1: m = 0.5, v = 0.25, both corrected 1 and 1: p = 0 - 0.1. t = 2, g = 3: m = 1.75 / 0.75, v = (0.1875 + 2.25) / 0.4375.
  const double wanted = -0.1 - 0.1 * (1.75 / 0.75) / std::sqrt(2.4375 / 0.4375);
  CHECK(std::abs(after<Adam>(options, {0}, {{1}, {3}})[0] - wanted) < 1e-15);
}

TEST_CASE("optimise: weight decay of Adam goes through the moments, that of AdamW does not", "[optimise]") {
  const Reals adam = after<Adam>(AdamOptions{.rate = 0.125, .epsilon = 0, .weight_decay = 0.5}, {2}, {{0}});
  CHECK(std::abs(adam[0] - (2 - 0.125)) < 1e-15);  // the gradient is 1, and its step has the size of the rate
  const Reals adamw = after<Adam>(AdamOptions{.rate = 0.125, .weight_decay = 0.5, .decoupled = true}, {2}, {{0}});
  CHECK(adamw[0] == 2 * (1 - 0.0625));
}

TEST_CASE("optimise: what does not fit changes nothing", "[optimise]") {
  Session session;
  const Value p = session.parameter("p", array({1, 2}));
  Sgd sgd(session, {p}, {});
  CHECK(sgd.step(std::vector<Array>{}).rejection().code == "optimise.gradient");
  CHECK(sgd.step(std::vector<Array>{array({1})}).rejection().code == "optimise.gradient");
  CHECK(p.to_doubles() == Reals{1, 2});
}

TEST_CASE("optimise: leading singular vectors", "[optimise]") {
  // A matrix from its decomposition: vectors u / 7 and v / 2, sizes 6, 3, 1.
  const double u[3][3] = {{6, -2, -3}, {2, -3, 6}, {3, 6, 2}}, v[3][4] = {{1, 1, 1, 1}, {1, -1, 1, -1}, {1, 1, -1, -1}},
               sizes[3] = {6, 3, 1};
  Reals wide(12), tall(12);
  for (std::size_t i = 0; i < 3; ++i) {
    for (std::size_t j = 0; j < 4; ++j) {
      for (std::size_t k = 0; k < 3; ++k) wide[4 * i + j] += u[k][i] * sizes[k] * v[k][j] / 14;
      tall[3 * j + i] = wide[4 * i + j];
    }
  }
  for (const Array& matrix : {Array::from(Tensor::of_doubles({3, 4}, wide)), Array::from(Tensor::of_doubles({4, 3}, tall))}) {
    const Array found = leading_singular_vectors(matrix, 2);
    REQUIRE(found.shape() == Shape{2, 3});
    for (std::size_t k = 0; k < 2; ++k) {
      for (std::size_t i = 0; i < 3; ++i) CHECK(std::abs(found.data<double>()[3 * k + i] - u[k][i] / 7) < 1e-15);
    }
  }
  // There is nothing to find: unit vectors, and no endless loop.
  for (const double x : {0.0, std::nan(""), HUGE_VAL}) {
    const Array found = leading_singular_vectors(Array::from(Tensor::of_doubles({2, 2}, Reals(4, x))), 2);
    CHECK(found.to_tensor().to_doubles() == Reals{1, 0, 0, 1});
  }
}

TEST_CASE("optimise: GaLore of a gradient that its rank holds is the optimiser inside, but for rounding", "[optimise]") {
  // a b^T + c d^T has rank 2 and keeps its space while coefficients change.
  const auto gradient = [](double x, double y) {
    Reals g;
    for (const double a : {1.0, -2.0, 0.5}) {
      for (const double b : {3.0, 1.0, -1.0, 2.0}) g.push_back(x * a * b + y * (a + 1) * (b - 2));
    }
    return Array::from(Tensor::of_doubles({3, 4}, g));
  };
  const std::vector<Array> gradients{gradient(1, 0.5), gradient(-2, 1), gradient(0.25, -3)};
  const auto run = [&](std::int64_t rank, std::uint64_t interval) {
    Session session;
    const Value p = session.parameter("p", Array::from(Tensor::of_doubles({3, 4}, Reals(12, 1)))),
                q = session.parameter("q", array({1, 2}));
    auto sgd = std::make_unique<Sgd>(session, std::vector{p, q}, SgdOptions{.rate = 0.1, .momentum = 0.9});
    std::unique_ptr<Optimiser> outer = std::move(sgd);
    if (interval > 0)
      outer = std::make_unique<GaLore>(session, std::move(outer), GaLoreOptions{.rank = rank, .interval = interval, .scale = 1});
    for (const Array& g : gradients) REQUIRE(outer->step(std::vector<Array>{g, array({1, -1})}).ok());
    Reals all = p.to_doubles();
    for (const double x : q.to_doubles()) all.push_back(x);
    return all;
  };
  const Reals plain = run(2, 0), low = run(2, 100), thin = run(1, 100);
  double apart = 0;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    CHECK(std::abs(plain[i] - low[i]) < 1e-13);
    apart = std::max(apart, std::abs(plain[i] - thin[i]));
  }
  CHECK(apart > 0.01);  // one dimension does not hold it
}

TEST_CASE("optimise: clipping and sums", "[optimise]") {
  Session session;
  std::vector<Value> gradients{session.input(array({3})), session.input(array({0, 4}))};
  CHECK(norm_of(gradients) == 5);
  GradientSum sum;
  REQUIRE(sum.add(gradients).ok());
  REQUIRE(sum.add(gradients).ok());
  CHECK(sum.sums()[1].to_tensor().to_doubles() == Reals{0, 8});
  CHECK(sum.add(std::vector<Value>{gradients[1], gradients[0]}).rejection().code == "optimise.gradient");
  CHECK(gradients[1].to_doubles() == Reals{0, 4});
  CHECK(clip_by_norm(gradients, 10) == 5);
  CHECK(gradients[0].to_doubles() == Reals{3});
  CHECK(clip_by_norm(gradients, 2.5) == 5);
  CHECK(gradients[0].to_doubles() == Reals{1.5});
  CHECK(gradients[1].to_doubles() == Reals{0, 2});
  clip_by_value(gradients, 1);
  CHECK(gradients[1].to_doubles() == Reals{0, 1});
}

TEST_CASE("optimise: schedules", "[optimise]") {
  CHECK(constant_rate(0.5)(100) == 0.5);
  CHECK(step_decay(1, 0.5, 10)(9) == 1);
  CHECK(step_decay(1, 0.5, 10)(10) == 0.5);
  CHECK(step_decay(1, 0.5, 10)(29) == 0.25);
  CHECK(exponential_decay(2, 0.5)(3) == 0.25);
  const Schedule cosine = cosine_decay(1, 0.25, 100);
  CHECK(cosine(0) == 1);
  CHECK(std::abs(cosine(50) - 0.625) < 1e-15);
  CHECK(cosine(100) == 0.25);
  CHECK(cosine(1000) == 0.25);
  const Schedule warm = with_warmup(constant_rate(1), 4);
  CHECK(warm(0) == 0.25);
  CHECK(warm(3) == 1);
  CHECK(warm(4) == 1);
}

}  // namespace assay::test
