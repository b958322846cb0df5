// The formula that an op's denotation writes down in steps is the op: at random points, step by step in 257 bits.
#include <set>

#include "semantics/numbers/steps.h"
#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

// The values of all variables, from those of the operands.
class Evaluated {
 public:
  Evaluated(const Steps& steps, std::vector<WideInterval> operands) : values_(std::move(operands)) {
    for (const Steps::Step& step : steps.steps()) values_.push_back(of(steps, step));
  }
  [[nodiscard]] WideInterval operator()(const Symbolic& form) const {
    WideInterval sum(form.constant());
    for (const auto& [variable, coefficient] : form.terms()) sum += WideInterval(coefficient) * values_[variable];
    return sum;
  }

 private:
  [[nodiscard]] WideInterval of(const Steps& steps, const Steps::Step& step) const {
    const auto a = [&]() -> const WideInterval& { return values_[step.a]; };
    switch (step.kind) {
      case Steps::Kind::sum:
        return (*this)(steps.sums()[step.a]);
      case Steps::Kind::product:
        return a() * values_[step.b];
      case Steps::Kind::power:
        return pow(a(), steps.exponents()[step.b]);
      case Steps::Kind::exp:
        return exp(a());
      case Steps::Kind::log:
        return log(a());
      case Steps::Kind::abs:
        return abs(a());
      case Steps::Kind::floor:
        return floor(a());
      case Steps::Kind::negative_part:
        return min(a(), WideInterval(0.0));
      case Steps::Kind::log_sum_exp: {
        WideInterval sum(0.0);
        for (const std::uint32_t v : steps.lists()[step.a]) sum += exp(values_[v]);
        return log(sum);
      }
      case Steps::Kind::either:
        break;
    }
    CHECK_FALSE(certainly_less(a(), values_[step.b]));
    CHECK_FALSE(certainly_less(values_[step.b], a()));
    return a();
  }
  std::vector<WideInterval> values_;
};

struct Formula {
  std::unique_ptr<Steps> steps;
  Outcome<Array<Symbolic>> result;
};

// Of one op whose operand `fixed` (none: any number that is no operand's) stays numbers.
Formula formula_of(const OpCase& one, const Graph& graph, const std::vector<std::vector<std::int64_t>>& values, std::size_t fixed) {
  std::vector<double> middles;
  for (const auto& operand : values) middles.insert(middles.end(), operand.begin(), operand.end());
  auto steps = std::make_unique<Steps>(middles);
  std::vector<Array<Symbolic>> operands = arrays_of<Symbolic>(one, values);
  std::size_t variable = 0;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    for (Symbolic& value : operands[i].values) {
      if (i != fixed) value = steps->variable(variable);
      ++variable;
    }
  }
  auto result = denote_case(graph, operands);
  return {std::move(steps), std::move(result)};
}

}  // namespace

TEST_CASE("steps: the formula of every op that has one gives the op's value", "[ops][steps]") {
  std::mt19937_64 random(7);
  std::set<Op> with_steps;
  for (const OpCase& one : catalogue()) {
    const Graph graph = graph_of(one);
    for (int round = 0; round < 6; ++round) {
      const auto values = draw_operands(one, random);
      CAPTURE(one.name, round);
      const auto exact = denote_case(graph, arrays_of<WideInterval>(one, values));
      for (const std::size_t fixed : {std::size_t{99}, std::size_t{0}, std::size_t{1}}) {
        const Formula formula = formula_of(one, graph, values, fixed);
        if (!exact || !formula.result) continue;
        std::vector<WideInterval> x;
        for (const auto& array : arrays_of<WideInterval>(one, values)) x.insert(x.end(), array.values.begin(), array.values.end());
        const Evaluated evaluated(*formula.steps, x);
        for (std::size_t i = 0; i < exact.value().values.size(); ++i) {
          const Symbolic& y = formula.result.value().values[i];
          const WideInterval& value = exact.value().values[i];
          if (!y.is_linear() || value.is_undefined()) continue;
          const WideInterval by_steps = evaluated(y);
          if (by_steps.is_undefined()) continue;  // a formula may have the smaller domain
          const Interval near = by_steps.to_interval();
          if (!formula.steps->steps().empty() && near.width_up() <= 1e-9 * (1 + near.magnitude())) with_steps.insert(one.op);
          CHECK_FALSE(certainly_less(value, by_steps));
          CHECK_FALSE(certainly_less(by_steps, value));
        }
      }
    }
  }
  for (const Op op : {Op::mul, Op::div, Op::matmul, Op::gemm, Op::conv, Op::conv_transpose, Op::softmax, Op::log_softmax, Op::log_sum_exp,
                      Op::masked_softmax, Op::normalise, Op::local_response, Op::power, Op::mod, Op::prelu, Op::batch_norm, Op::reduce_prod,
                      Op::cumprod}) {
    CAPTURE(op_row(op).name);
    CHECK(with_steps.contains(op));
  }
}

TEST_CASE("steps: a square is one, powers of powers fold only where the domain stays", "[steps]") {
  Steps steps({1.0, 2.0});
  const Symbolic x = steps.variable(0), y = steps.variable(1);
  CHECK((x * x).terms()[0].first == 2);
  CHECK(steps.steps()[0].kind == Steps::Kind::power);
  CHECK((x * y).terms()[0].first == 3);
  CHECK(steps.steps()[1].kind == Steps::Kind::product);
  const Symbolic over_root = Symbolic(1.0) / sqrt(x);  // x^(-1/2)
  CHECK(steps.exponents().back() == Rational(-1, 2));
  const Symbolic back = Symbolic(1.0) / over_root;  // not x^(1/2), which has a value at 0
  CHECK(steps.exponents().back() == Rational(-1));
  CHECK_FALSE(Symbolic(sign(x)).is_linear());
  CHECK_FALSE((sign(x) * y).is_linear());
  CHECK_FALSE(square(Symbolic::variable(0)).is_linear());
  CHECK(back.is_linear());
  CHECK(steps.middle(x + Symbolic(3.0) * y) == 7);
}
