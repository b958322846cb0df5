// Functions that are captured and replayed: the same training as eagerly, and what cannot be captured.
#include "runtime/compiled_function.h"

#include <cmath>
#include <vector>

#include "runtime/functions.h"
#include "tests/catch.h"
#include "tests/runtime/sessions.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using namespace runtime;

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
  training::Adam adam(session, p, {.rate = 0.1});
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

TEST_CASE("compiled function: random numbers are drawn anew at each call, as the function itself draws them", "[compiled_function]") {
  std::vector<Reals> runs[2];
  for (const bool is_compiled : {false, true}) {
    Session session({.dtype = DType::float64, .seed = 8});
    const auto f = [&](std::span<const Value> v) -> Results {
      const Value noise = session.input(session.normal({6})), shift = session.input(session.uniform({6}, -1, 1));
      return std::vector<Value>{dropout(v[0] + noise, 0.5) * shift, noise};
    };
    CompiledFunction compiled(session, f, {});
    for (int k = 0; k < 3; ++k) {
      const std::vector<Value> x{session.input(session.normal({6}))};
      const auto results = is_compiled ? compiled(x) : f(x);
      REQUIRE(results.ok());
      for (const Value& value : results.value()) runs[is_compiled ? 1 : 0].push_back(value.to_doubles());
    }
    CHECK(compiled.captures() == (is_compiled ? 1 : 0));
  }
  CHECK(runs[0] == runs[1]);
  CHECK(runs[1][1] != runs[1][3]);
}

TEST_CASE("compiled function: what would be replayed wrongly is refused", "[compiled_function]") {
  Session session(kDouble);
  const std::vector<Value> x{session.input(session.normal({3}))};
  CompiledFunction random(session,
                          [&](std::span<const Value> v) -> Results {
                            const Value mask = session.input(bernoulli(session.next_key(), 0.5, DType::float64, {3}));
                            return std::vector<Value>{v[0] * mask};
                          },
                          {});
  CHECK(random(x).rejection().code == "session.random");
  CompiledFunction changed(session,
                           [&](std::span<const Value> v) -> Results {
                             runtime::Array mask = session.uniform({3});
                             runtime::Array other = runtime::Array::from(mask.to_tensor());
                             return std::vector<Value>{v[0] * session.input(other)};
                           },
                           {});
  CHECK(changed(x).rejection().code == "session.random");
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
