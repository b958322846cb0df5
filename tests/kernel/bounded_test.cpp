// The arithmetic of a formula's steps (kernel/relax/bounded.h): forms hold at every point, whatever the formula.
#include <random>

#include "kernel/relax/bounded.h"
#include "policy/policy.h"
#include "semantics/numbers/wide_interval.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

using relax::BoundedSteps;
using relax::Form;

const policy::Policy kPolicy({});

// Above (below) any value that the form can have at the point, for the numbers in its intervals.
WideInterval at(const Form& form, const std::vector<double>& x) {
  WideInterval value(form.constant);
  for (const auto& [k, slope] : form.terms) value += WideInterval(slope) * WideInterval(x[k]);
  return value;
}

}  // namespace

TEST_CASE("bounded: a factor without a sign multiplies the range", "[kernel][relaxation]") {
  Steps steps({0.0});
  const Symbolic formula = Symbolic(Interval(-1, 2)) * exp(steps.variable(0));
  BoundedSteps bounded(steps, kPolicy, {Interval(-1, 1)}, std::span(&formula, 1));
  const auto [below, above] = bounded.planes(formula, Interval::whole(), kPolicy.mixes(0));
  for (const double x : {-1.0, 0.0, 1.0}) {
    for (const double factor : {-1.0, 2.0}) {
      const WideInterval value = WideInterval(factor) * exp(WideInterval(x));
      CHECK_FALSE(certainly_less(value, at(*below, {x}).lower_end()));
      CHECK_FALSE(certainly_less(at(*above, {x}).upper_end(), value));
    }
  }
}

TEST_CASE("bounded: a product's operands may cancel before their signs count", "[kernel][relaxation]") {
  Steps steps({0.5, 0.5});
  const Symbolic x = steps.variable(0), y = steps.variable(1), e = exp(x);
  const Symbolic formula = e + y - e;  // nothing of e is left
  BoundedSteps bounded(steps, kPolicy, {Interval(0, 1), Interval(0, 1)}, std::span(&formula, 1));
  const auto [below, above] = bounded.planes(formula, Interval::whole(), kPolicy.mixes(0));
  CHECK(below == above);
  CHECK(below->terms.size() == 1);
}

TEST_CASE("bounded: what is known of an exponential bounds its operand", "[kernel][relaxation]") {
  Steps steps({0.0});
  const Symbolic formula = exp(steps.variable(0));
  const auto gap = [&](const Interval& known) {
    BoundedSteps bounded(steps, kPolicy, {Interval(-2, 2)}, std::span(&formula, 1));
    const auto [below, above] = bounded.planes(formula, known, kPolicy.mixes(0));
    return at_centre(*above, std::vector<Interval>{Interval(-2, 2)}) - at_centre(*below, std::vector<Interval>{Interval(-2, 2)});
  };
  CHECK(gap(Interval(0.9, 1.2)) < 0.1);
  CHECK(gap(Interval::whole()) > 2);
  CHECK(gap(Interval::whole()) < 7.3);  // a bound that is only at most infinite takes nothing back
  CHECK(gap(Interval(0, 100)) == gap(Interval::whole()));
  CHECK(gap(Interval(0, 1.2)) < gap(Interval::whole()));
}

// Random formulas of all kinds of steps on random boxes, each evaluated at points of the box.
TEST_CASE("bounded: forms of random formulas hold", "[kernel][relaxation]") {
  std::mt19937_64 random(17);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::size_t checked = 0;
  for (int trial = 0; trial < 400; ++trial) {
    std::vector<Interval> box;
    for (int k = 0; k < 3; ++k) {
      const double a = 3 * uniform(random), b = trial % 5 == 0 ? a : a + uniform(random) + 1;
      box.emplace_back(a, b);
    }
    // The same formula over Symbolic and, at each point, over WideInterval: `seed` chooses the same steps for both.
    const std::uint64_t seed = random();
    const auto formula = [&]<class S>(std::vector<S> pool, const auto& log_sum_exp) {
      std::mt19937_64 choose(seed);
      const auto any = [&]() -> S { return pool[choose() % pool.size()]; };
      for (int step = 0; step < 6; ++step) {
        const S a = any(), b = any();
        const double c = static_cast<double>(choose() % 9) / 4 - 1;
        switch (choose() % 9) {
          case 0:
            pool.push_back(S(a * b));
            break;
          case 1:
            pool.push_back(S(exp(S(S(c) * a))));
            break;
          case 2:
            pool.push_back(S(square(a)));
            break;
          case 3:
            pool.push_back(S(S(1.0) / S(square(a) + S(0.5))));
            break;
          case 4:
            pool.push_back(S(sqrt(S(abs(a) + S(0.25)))));
            break;
          case 5:
            pool.push_back(S(min(a, b)));
            break;
          case 6:
            pool.push_back(S(floor(a)));
            break;
          case 7:
            pool.push_back(log_sum_exp(std::vector<S>{a, b, S(S(c) * pool[0])}));
            break;
          default:
            pool.push_back(S(a - S(c) * b + S(log(S(square(b) + S(1.0))))));
        }
      }
      return pool.back();
    };
    Steps steps({box[0].midpoint(), box[1].midpoint(), box[2].midpoint()});
    const Symbolic result = formula(std::vector<Symbolic>{steps.variable(0), steps.variable(1), steps.variable(2)},
                                    [](const std::vector<Symbolic>& x) { return assay::log_sum_exp(x); });
    REQUIRE(result.is_linear());
    BoundedSteps bounded(steps, kPolicy, box, std::span(&result, 1));
    const auto [below, above] = bounded.planes(result, Interval::whole(), {uniform(random), uniform(random) + 1});
    for (int point = 0; point < 12; ++point) {
      std::vector<double> x;
      std::vector<WideInterval> wide;
      for (const Interval& side : box) {
        const double share = point < 8 ? static_cast<double>(point >> x.size() & 1) : 0.5 * (uniform(random) + 1);
        x.push_back(std::clamp(side.lo() + share * (side.hi() - side.lo()), side.lo(), side.hi()));
        wide.emplace_back(x.back());
      }
      const WideInterval y = formula(wide, [](const std::vector<WideInterval>& terms) {
        WideInterval sum(0.0);
        for (const WideInterval& term : terms) sum += exp(term);
        return log(sum);
      });
      if (y.is_undefined()) continue;
      ++checked;
      CHECK_FALSE(certainly_less(y, at(*below, x).lower_end()));
      CHECK_FALSE(certainly_less(at(*above, x).upper_end(), y));
    }
  }
  CHECK(checked > 4000);
}

}  // namespace assay::test
