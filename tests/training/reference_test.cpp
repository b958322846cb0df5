// Steps over exact numbers, intervals and bfloat16: against fractions by hand, against each other, against the audit; and what cannot be
// taken over them.
#include "training/reference_steps.h"

#include <cmath>
#include <vector>

#include "runtime/functions.h"
#include "semantics/numbers/rational.h"
#include "semantics/numbers/scalar_traits.h"
#include "tests/catch.h"
#include "tests/gpu/audited.h"
#include "training/layers/basic.h"
#include "training/layers/normalise.h"
#include "training/layers/shapes.h"
#include "training/muon.h"
#include "training/trainer.h"

namespace assay::test {
namespace {

using namespace runtime;
using namespace training;
using Reals = std::vector<double>;

SessionOptions over(Reference reference) { return {.dtype = DType::float64, .seed = 6, .reference = reference}; }

// Fits y = w x through (3, 1) and (1/4, -1) by momentum; the losses.
Reals lines(const SessionOptions& options, std::size_t steps, std::string* note = nullptr) {
  Session session(options);
  Model model(session);
  const Value w = (model / "line").parameter("w", numbers(session, {1}, Reals{0.1}));
  Sgd sgd(session, model.parameters(), {.rate = 0.1, .momentum = 0.3});
  Trainer trainer(model, sgd, [&](std::span<const Value> v) { return mean_squared_error(v[0] * w, v[1]); }, {});
  Reals losses;
  for (std::size_t k = 0; k < steps; ++k) {
    const auto loss = trainer.step(std::vector{numbers(session, {2}, Reals{3, 0.25}), numbers(session, {2}, Reals{1, -1})});
    if (!loss) FAIL(loss.rejection().to_text());
    losses.push_back(loss.value());
  }
  if (note != nullptr) *note = trainer.note();
  return losses;
}

// A network with statistics and a frozen part, under the optimiser that `make` gives; the rejection of the first step.
template <class Make>
std::string code_of_step(Reference reference, const Make& make, TrainerOptions options = {}, bool traced = false) {
  Session session(over(reference));
  Model model(session);
  const Linear first(model / "first", 3, 4), second(model / "second", 4, 1);
  const auto optimiser = make(session, model.parameters());
  Trainer trainer(
      model, *optimiser, [&](std::span<const Value> v) { return mean(square(second(relu(first(v[0]))))); }, std::move(options));
  Trace trace;
  const auto loss = trainer.step(std::vector{session.normal({5, 3})}, traced ? &trace : nullptr);
  return loss ? "ok" : loss.rejection().code;
}

}  // namespace

TEST_CASE("reference steps: exact losses are the fractions themselves", "[training]") {
  const auto fraction = [](double x) { return *Rational::from_double(x); };
  Rational w = fraction(0.1), v(0);
  const Rational rate = fraction(0.1), momentum = fraction(0.3);
  Reals wanted;
  for (int k = 0; k < 25; ++k) {
    const Rational a = Rational(3) * w - Rational(1), b = w * Rational(1, 4) + Rational(1);
    wanted.push_back(ScalarTraits<double>::from_rational((a * a + b * b) * Rational(1, 2)));
    v = momentum * v + a * Rational(3) + b * Rational(1, 4);
    w -= rate * v;
  }
  std::string note;
  const Reals exact = lines(over(Reference::exact), 25, &note), floats = lines(over(Reference::none), 25);
  CHECK(exact == wanted);
  CHECK(floats != wanted);  // else nothing was exact about it
  for (std::size_t k = 0; k < floats.size(); ++k) CHECK(std::abs(floats[k] - wanted[k]) <= 1e-12);
  CHECK(note.starts_with("longest fraction "));
}

TEST_CASE("reference steps: intervals enclose the exact step, tightly, in all parameters and statistics", "[training]") {
  Reals exact_values;
  for (const Reference kind : {Reference::exact, Reference::interval}) {
    Session session(over(kind));
    Model model(session);
    const Linear first(model / "first", 3, 4), second(model / "second", 4, 1);
    model.freeze("second.bias");
    const Value seen = (model / "seen").buffer("mean", numbers(session, {4}, Reals(4, 0)));
    Sgd sgd(session, model.parameters(), {.rate = 0.05, .momentum = 0.5});
    Trainer trainer(model, sgd,
                    [&](std::span<const Value> v) {
                      const Value h = relu(first(v[0]));
                      model.update(seen, 0.75 * seen + 0.25 * mean(h, {0}));
                      return mean_squared_error(second(h), v[1]);
                    },
                    {.most_value = 0.5});
    const Reals frozen = model.find("second.bias")->value.to_doubles();
    const std::vector<Array> batch{session.normal({6, 3}), session.normal({6, 1})};
    double lo = 0, hi = 0;
    for (int k = 0; k < 4; ++k) {
      const auto loss = trainer.step(batch);
      if (!loss) FAIL(loss.rejection().to_text());
      if (kind == Reference::exact) {
        exact_values.push_back(loss.value());
      } else {
        REQUIRE(std::sscanf(trainer.note().c_str(), "loss in [%lf, %lf]", &lo, &hi) == 2);
        CHECK((lo <= exact_values[static_cast<std::size_t>(k)] && exact_values[static_cast<std::size_t>(k)] <= hi));
        CHECK(hi - lo <= 1e-9);
      }
    }
    for (const auto& entry : model.entries()) {
      for (const double x : entry.value.to_doubles()) {
        if (kind == Reference::exact) exact_values.push_back(x);
      }
    }
    if (kind == Reference::interval) {
      std::size_t at = 4;
      for (const auto& entry : model.entries()) {
        for (const double x : entry.value.to_doubles()) CHECK(std::abs(x - exact_values[at++]) <= 1e-9);
      }
    }
    CHECK(model.find("second.bias")->value.to_doubles() == frozen);
    CHECK(seen.to_doubles() != Reals(4, 0));
  }
}

TEST_CASE("reference steps: what cannot be taken is refused by op, and nothing takes it in floats instead", "[training]") {
  const auto sgd = [](Session& session, std::vector<Value> p) { return std::make_unique<Sgd>(session, std::move(p), SgdOptions{}); };
  const auto adam = [](Session& session, std::vector<Value> p) { return std::make_unique<Adam>(session, std::move(p), AdamOptions{}); };
  CHECK(code_of_step(Reference::exact, sgd) == "ok");
  CHECK(code_of_step(Reference::exact, adam) == "denote.scalar");
  CHECK(code_of_step(Reference::interval, adam) == "ok");
  CHECK(code_of_step(Reference::interval, sgd, {.most_norm = 1}) == "training.reference");
  CHECK(code_of_step(Reference::interval, sgd, {.most_percentile = 10}) == "training.reference");
  CHECK(code_of_step(Reference::exact, sgd, {.most_value = 0.5}) == "ok");
  CHECK(code_of_step(Reference::exact, sgd, {}, true) == "training.reference");
  Session session(over(Reference::exact));
  Model model(session);
  const Value w = (model / "a").parameter("w", session.normal({2, 2}));
  Sgd floats(session, {w}, {});
  CHECK(floats.step(std::vector<Value>{w}).rejection().code == "optimise.reference");
  CHECK(floats.state().rejection().code == "optimise.reference");
  Muon muon(session, {w}, {});
  Trainer trainer(model, muon, [&](std::span<const Value>) { return mean(square(w)); }, {});
  CHECK(trainer.step({}).rejection().code == "optimise.formula");
  Trainer endless(model, floats, [&](std::span<const Value> v) { return mean(w * v[0]); }, {});
  CHECK(endless.step(std::vector{numbers(session, {1}, Reals{HUGE_VAL})}).rejection().code == "reference.value");
  CHECK(endless.find_rate([] { return std::vector<Array>(); }, {}).rejection().code == "training.reference");
}

TEST_CASE("reference steps: intervals that leave an op's domain are refused there", "[training]") {
  Session session(over(Reference::interval));
  Model model(session);
  const Value w = (model / "a").parameter("w", numbers(session, {1}, Reals{0.1}));
  Sgd sgd(session, {w}, {.rate = 0.1});
  // The exact difference is 0, an enclosure of it is not: the quotient may be anything.
  Trainer trainer(model, sgd, [&](std::span<const Value>) { return sum(1.0 / ((w * w + w) - w * (w + 1))); }, {});
  const auto loss = trainer.step({});
  REQUIRE_FALSE(loss.ok());
  CHECK(loss.rejection().code == "reference.unbounded");
  CHECK(loss.rejection().place.find("(div)") != std::string::npos);
}

TEST_CASE("reference steps: fractions that grow beyond every measure are refused, not awaited", "[training]") {
  Session session(over(Reference::exact));
  Model model(session);
  const Value w = (model / "a").parameter("w", numbers(session, {1}, Reals{0.1}));
  Sgd sgd(session, {w}, {.rate = 0.01});
  Trainer trainer(model, sgd, [&](std::span<const Value>) { return sum(square(w * w * w - 2)); }, {});
  std::size_t steps = 0;
  Outcome<double> loss = trainer.step({});
  for (; loss.ok() && steps < 30; ++steps) loss = trainer.step({});  // each has five times the digits of the one before
  REQUIRE_FALSE(loss.ok());
  CHECK(loss.rejection().code == "reference.work");
  CHECK(steps > 3);
}

TEST_CASE("reference steps: a value that somebody assigned is the next step's", "[training]") {
  Session session(over(Reference::exact));
  Model model(session);
  const Value w = (model / "a").parameter("w", numbers(session, {1}, Reals{2}));
  Sgd sgd(session, {w}, {.rate = 0.25});
  Trainer trainer(model, sgd, [&](std::span<const Value>) { return sum(w * w); }, {});
  CHECK(trainer.step({}).value() == 4);
  CHECK(w.item() == 1);
  REQUIRE(session.assign(w, numbers(session, {1}, Reals{3})).ok());
  CHECK(trainer.step({}).value() == 9);
}

TEST_CASE("bfloat16: a recorded step passes the audit, and is one of bfloat16", "[training]") {
  Session session({.seed = 6, .bfloat16 = true});
  Model model(session);
  const Linear first(model / "first", 3, 8), second(model / "second", 8, 4);
  const LayerNorm norm(model / "norm", Shape{8});
  Adam adam(session, model.parameters(), {});
  Trainer trainer(model, adam, [&](std::span<const Value> v) { return cross_entropy(second(norm(gelu(first(v[0])))), v[1]); }, {});
  Trace trace;
  const std::vector<Array> batch{session.normal({6, 3}), Array::from(Tensor::of_ints({6}, std::vector<std::int64_t>{0, 1, 2, 3, 0, 1}))};
  REQUIRE(trainer.step(batch, &trace).ok());
  std::size_t shorts = 0;
  for (const Trace::Entry& one : trace.tensors) {
    if (one.value.dtype() == DType::float32) CHECK(one.storage == ExecutionModel::Storage::bfloat16);
    shorts += one.storage == ExecutionModel::Storage::bfloat16 ? 1 : 0;
  }
  CHECK(shorts > 20);
  for (const std::string& failure : failures_of(trace, 0.2)) FAIL_CHECK(failure.substr(0, 300));
}

}  // namespace assay::test
