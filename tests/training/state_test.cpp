// States of optimisers: a copy continues with the same bits; a state that does not fit is refused. Rates that are tried, norms
// that are cut.
#include <cmath>
#include <memory>
#include <vector>

#include "gpu/devices.h"
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

std::unique_ptr<Optimiser> optimiser_number(int which, Session& session, const Value& p) {
  switch (which) {
    case 0:
      return std::make_unique<Sgd>(session, std::vector{p}, SgdOptions{.momentum = 0.9});
    case 1:
      return std::make_unique<Adam>(session, std::vector{p}, AdamOptions{});
    case 2:
      return std::make_unique<AdaGrad>(session, std::vector{p}, AdaGradOptions{.rate_decay = 0.1, .start = 0.25});
    case 3:
      return std::make_unique<RmsProp>(session, std::vector{p}, RmsPropOptions{.momentum = 0.5, .centred = true});
    case 4:
      return std::make_unique<Adadelta>(session, std::vector{p}, AdadeltaOptions{});
    case 5:
      return std::make_unique<Muon>(session, std::vector{p}, MuonOptions{});
    default:  // a projection that is made in the second part of a run, and states of another shape than the parameter
      return std::make_unique<GaLore>(session, std::make_unique<Adam>(session, std::vector{p}, AdamOptions{.rate = 0.1}),
                                      GaLoreOptions{.rank = 1, .interval = 3, .scale = 1, .weight_decay = 0.1});
  }
}
constexpr int kOptimisers = 7;

Array gradient(std::uint64_t step) { return normal(RandomKey(7).split(step), DType::float32, {3, 2}); }

}  // namespace

TEST_CASE("training state: an optimiser that is restored goes on with the same bits", "[training]") {
  for (int which = 0; which < kOptimisers; ++which) {
    CAPTURE(which);
    Session session({.seed = 1});
    const Value p = session.parameter("p", session.normal({3, 2}));
    const auto whole = optimiser_number(which, session, p);
    REQUIRE(whole->restore(whole->state().value()).ok());  // before the first step there is nothing
    for (std::uint64_t step = 0; step < 5; ++step) REQUIRE(whole->step(std::vector{gradient(step)}).ok());
    const OptimiserState kept = whole->state().value();
    CHECK(kept.steps == 5);
    const Array half = Array::from(p.array().to_tensor());
    for (std::uint64_t step = 5; step < 9; ++step) REQUIRE(whole->step(std::vector{gradient(step)}).ok());
    Session other({.seed = 2});
    const Value q = other.parameter("p", half);
    const auto resumed = optimiser_number(which, other, q);
    REQUIRE(resumed->restore(kept).ok());
    for (std::uint64_t step = 5; step < 9; ++step) REQUIRE(resumed->step(std::vector{gradient(step)}).ok());
    CHECK(p.to_doubles() == q.to_doubles());
    REQUIRE(resumed->restore(kept).ok());  // the copy was not written by the steps
    REQUIRE(other.assign(q, Array::from(half.to_tensor())).ok());
    for (std::uint64_t step = 5; step < 9; ++step) REQUIRE(resumed->step(std::vector{gradient(step)}).ok());
    CHECK(p.to_doubles() == q.to_doubles());
  }
}

TEST_CASE("training state: of another optimiser or other parameters it is refused", "[training]") {
  Session session;
  const Value p = session.parameter("p", session.normal({3, 2})), q = session.parameter("q", session.normal({4}));
  Adam adam(session, {p}, {}), other(session, {q}, {}), both(session, {p, q}, {});
  AdaGrad adagrad(session, {p}, {});
  REQUIRE(adam.step(std::vector{gradient(0)}).ok());
  const OptimiserState state = adam.state().value();
  CHECK(adagrad.restore(state).rejection().code == "optimise.state");
  CHECK(other.restore(state).rejection().code == "optimise.state");
  CHECK(both.restore(state).rejection().code == "optimise.state");
  OptimiserState bent = state;
  bent.kept.erase("second");
  CHECK(adam.restore(bent).rejection().code == "optimise.state");
  bent.kept["third"] = state.kept.at("second");
  CHECK(adam.restore(bent).rejection().code == "optimise.state");
  CHECK(adam.restore(state).ok());
  const auto galore = [&](std::int64_t rank) {
    return std::make_unique<GaLore>(session, std::make_unique<Adam>(session, std::vector{p}, AdamOptions{}), GaLoreOptions{.rank = rank});
  };
  const auto thin = galore(1);
  REQUIRE(thin->step(std::vector{gradient(0)}).ok());
  CHECK(thin->state().value().kept.at("first")[0].shape() == Shape{3, 1});
  CHECK(galore(2)->restore(thin->state().value()).rejection().code == "optimise.state");
  CHECK(thin->restore(state).rejection().code == "optimise.state");
}

// A device may fuse products and sums, nothing else differs. RMSProp's step is longer than a pass and runs op by op.
TEST_CASE("training state: steps on a device are those of the host", "[training]") {
  for (int which = 2; which < kOptimisers; ++which) {
    CAPTURE(which);
    std::vector<Reals> found;
    for (const char* device : {"cpu", "emulated"}) {
      Session session({.seed = 1, .device = gpu::device_named(device).value()});
      const Value p = session.parameter("p", session.normal({3, 2}));
      const auto optimiser = optimiser_number(which, session, p);
      for (std::uint64_t step = 0; step < 4; ++step) {
        REQUIRE(optimiser->step(std::vector{gradient(step)}).ok());
        session.clear();
      }
      found.push_back(p.to_doubles());
    }
    for (std::size_t i = 0; i < found[0].size(); ++i) {
      // Four steps of less than 64 roundings each, of numbers below 4.
      CHECK(std::abs(found[0][i] - found[1][i]) <= 4 * 64 * std::ldexp(4, -24));
    }
  }
}

TEST_CASE("training: rates are tried until the loss diverges", "[training]") {
  // Steps on x^2 / 2 from 1: x' = (1 - rate) x, which falls fastest at rate 1 and grows from 2 on.
  double x = 1;
  const auto trials = find_rate(
      [&](double rate) -> Outcome<double> {
        const double loss = x * x / 2;
        x *= 1 - rate;
        return loss;
      },
      {.least = 1e-3, .most = 1e3, .steps = 60, .smoothing = 0});
  REQUIRE(trials.ok());
  CHECK(trials.value().rates.size() < 60);  // it stopped
  CHECK(trials.value().steepest > 0.01);
  CHECK(trials.value().steepest < 2);
  CHECK(find_rate([](double) -> Outcome<double> { return 1.0; }, {.least = 1, .most = 0.5}).rejection().code == "training.rates");
}

TEST_CASE("training: norms are cut at their percentile", "[training]") {
  CHECK(percentile({3, 1, 2}, 50) == 2);
  CHECK(percentile({1, 2}, 25) == 1.25);
  CHECK(percentile({5}, 90) == 5);
  CHECK(std::isnan(percentile({}, 50)));
  Session session;
  PercentileClip clip(50);
  const auto once = [&](double size) {
    std::vector<Value> gradients{session.number(size)};
    CHECK(clip(gradients) == size);
    return gradients[0].item();
  };
  CHECK(once(2) == 2);
  CHECK(once(4) == 3);  // between 2 and 4
  CHECK(once(1) == 1);
  CHECK(clip.seen() == Reals{2, 4, 1});
}

TEST_CASE("training: schedules end where they say", "[training]") {
  const Schedule cycle = one_cycle({.most = 1, .steps = 101, .up = 0.25, .start_divisor = 10, .end_divisor = 100});
  CHECK(std::abs(cycle(0) - 0.1) < 1e-15);
  CHECK(std::abs(cycle(100) - 0.001) < 1e-15);
  CHECK(cycle(1000) == cycle(100));
  const Schedule restarts = cosine_restarts(1, 0, 4, 2);
  CHECK(restarts(4) == 1);
  CHECK(restarts(12) == 1);
  CHECK(restarts(28) == 1);
}

}  // namespace assay::test
