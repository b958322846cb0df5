// Functions that are captured and replayed: the same training as eagerly, and what cannot be captured.
#include "runtime/compiled_function.h"

#include <cmath>
#include <vector>

#include "runtime/functions.h"
#include "runtime/optimise.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

using namespace runtime;
using Reals = std::vector<double>;
using Results = Outcome<std::vector<Value>>;

const SessionOptions kDouble{.dtype = DType::float64, .seed = 4};

// Five steps on batches of these sizes; the parameters at the end, and how often something was captured.
std::pair<Reals, std::size_t> trained(bool compiled, const std::vector<std::int64_t>& batches) {
  Session session(kDouble);
  const std::vector<Value> p{session.parameter("w", session.normal({4, 3})), session.parameter("c", session.normal({4}))};
  const auto f = [&](std::span<const Value> v) -> Results {
    const Value h = linear(v[0], p[0], p[1]);
    Results bars = session.gradients(cross_entropy(h * session.detach(sigmoid(h)), v[1]), p);
    return bars;
  };
  CompiledFunction step(session, f, p);
  Adam adam(session, p, {.rate = 0.1});
  for (const std::int64_t batch : batches) {
    const Value x = session.input(session.normal({batch, 3}));
    const Value labels = session.input(Tensor::of_ints({batch}, std::vector<std::int64_t>(static_cast<std::size_t>(batch), 2)));
    const std::vector<Value> arguments{x, labels};
    const Results bars = compiled ? step(arguments) : f(arguments);
    REQUIRE(bars.ok());
    REQUIRE(adam.step(bars.value()).ok());
    session.clear();
  }
  Reals all = p[0].to_doubles();
  for (const double c : p[1].to_doubles()) all.push_back(c);
  return {all, step.captures()};
}

}  // namespace

TEST_CASE("compiled function: training is that of eager execution", "[compiled_function]") {
  const auto [eager, none] = trained(false, {5, 5, 2, 5, 2});
  const auto [compiled, captures] = trained(true, {5, 5, 2, 5, 2});
  CHECK(none == 0);
  CHECK(captures == 2);
  REQUIRE(eager.size() == compiled.size());
  for (std::size_t i = 0; i < eager.size(); ++i) CHECK(std::abs(eager[i] - compiled[i]) <= 1e-13);
}

TEST_CASE("compiled function: what would be replayed wrongly is refused", "[compiled_function]") {
  Session session(kDouble);
  const std::vector<Value> x{session.input(session.normal({3}))};
  CompiledFunction random(session, [](std::span<const Value> v) -> Results { return std::vector<Value>{dropout(v[0], 0.5)}; }, {});
  CHECK(random(x).rejection().code == "session.random");
  CompiledFunction unrecorded(session,
                              [&](std::span<const Value> v) -> Results {
                                const NoGrad scope(session);
                                return std::vector<Value>{exp(v[0])};
                              },
                              {});
  CHECK(unrecorded(x).rejection().code == "session.capture");
  CompiledFunction once(session,
                        [&](std::span<const Value> v) {
                          return session.gradients(sum(exp(v[0])), {v[0]}, {std::nullopt, false});
                        },
                        {});
  CHECK(once(x).rejection().code == "session.capture");
  CompiledFunction misfit(session, [&](std::span<const Value> v) -> Results { return std::vector<Value>{matmul(v[0], session.number(1))}; },
                          {});
  CHECK_FALSE(misfit(x).ok());
}

}  // namespace assay::test
