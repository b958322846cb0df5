// The math tables and the functions judged by them.
#include <array>
#include <functional>
#include <set>

#include "kernel/floats/math_tables.h"
#include "semantics/numbers/floating.h"
#include "semantics/ops/denote.h"
#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

using contracts::Format;
using floats::MathRow;

TEST_CASE("every row of every table can be read", "[contracts]") {
  std::set<std::string_view> names;
  for (const floats::MathTable& table : floats::math_tables()) {
    CAPTURE(table.name);
    CHECK(names.insert(table.name).second);
    CHECK(floats::find_math_table(table.name) == &floats::find_math_table(table.name)[0]);
    CHECK(table.source.size() > 20);
    CHECK(!table.rows.empty());
    ExecutionModel model = float_model(std::string(table.name));
    CHECK(validate(model).empty());
    for (const MathRow& row : table.rows) {
      CAPTURE(row.function);
      CHECK(!row.function.empty());
      CHECK(row.format != Format::real);
      const bool is_cubic = table.name == "pytorch-cpu-attention" && row.function == "exp", is_xla = table.name == "xla-cpu";
      CHECK((row.bound >= 0 && row.bound < (is_cubic ? 2049 : is_xla ? 111 : 16)));
      CHECK((row.slope >= 0 && row.slope < 4));
      CHECK(row.lo < row.hi);
      if (row.unit == MathRow::Unit::steps) CHECK(row.bound == std::floor(row.bound));
      if (row.unit == MathRow::Unit::absolute) CHECK(row.bound < 1e-6);
    }
  }
  CHECK(names.size() == 10);
  CHECK(floats::find_math_table("") == nullptr);
}

struct LibraryCase {
  Op op;
  float (*call)(float);
  float lo, hi;  // arguments
};
const std::vector<LibraryCase>& library() {
  static const std::vector<LibraryCase> cases = {
      {Op::exp, [](float x) { return std::exp(x); }, -104, 89},    {Op::log, [](float x) { return std::log(x); }, 0, 1e30F},
      {Op::tanh, [](float x) { return std::tanh(x); }, -10, 10},   {Op::sin, [](float x) { return std::sin(x); }, -1e5F, 1e5F},
      {Op::cos, [](float x) { return std::cos(x); }, -1e5F, 1e5F}, {Op::tan, [](float x) { return std::tan(x); }, -100, 100},
      {Op::asin, [](float x) { return std::asin(x); }, -1, 1},     {Op::acos, [](float x) { return std::acos(x); }, -1, 1},
      {Op::atan, [](float x) { return std::atan(x); }, -50, 50},   {Op::sinh, [](float x) { return std::sinh(x); }, -89, 89},
      {Op::cosh, [](float x) { return std::cosh(x); }, -89, 89},   {Op::asinh, [](float x) { return std::asinh(x); }, -1e4F, 1e4F},
      {Op::acosh, [](float x) { return std::acosh(x); }, 1, 1e4F}, {Op::atanh, [](float x) { return std::atanh(x); }, -1, 1},
      {Op::erf, [](float x) { return std::erf(x); }, -5, 5},
  };
  return cases;
}

TEST_CASE("the C library's functions are within their rows, and steps beyond them are not", "[contracts]") {
  std::mt19937_64 random(31);
  for (const LibraryCase& one : library()) {
    CAPTURE(op_row(one.op).name);
    Floats x, y;
    std::uniform_real_distribution<float> draw(one.lo, one.hi);
    for (int i = 0; i < 2000; ++i)
      x.push_back(i % 3 == 0 ? draw(random) * std::ldexp(1.0F, -static_cast<int>(random() % 20)) : draw(random));
    if (one.op == Op::acosh) {
      for (float& value : x) value = std::max(value, 1.0F);
    }
    for (const float value : x) y.push_back(one.call(value));
    const Admissible sets = sets_of(one.op, NoAttributes{}, float_model(), {vector_of(x)});
    CHECK(within(sets, y));
    CHECK(judged(sets, y).vacuous == 0);
    Floats beyond;
    for (const contracts::FloatSet& set : sets.sets.values)
      beyond.push_back(steps_from(static_cast<float>(set.hi), set.plus_infinity ? 0 : 1));
    CHECK(judged(sets, beyond).passed < 40);  // only where the sets end in an infinity
    // Correct rounding admits the correctly rounded value alone.
    const Admissible sharp = sets_of(one.op, NoAttributes{}, float_model("correctly-rounded"), {vector_of(x)});
    const Function f = one.op == Op::tanh ? Function::tanh : Function::exp;
    if (one.op != Op::tanh && one.op != Op::exp) continue;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (std::isinf(y[i])) continue;
      CHECK(sharp.sets.values[i].lo == static_cast<double>(apply(f, x[i])));
      CHECK(sharp.sets.values[i].hi == static_cast<double>(apply(f, x[i])));
    }
  }
}

TEST_CASE("tanh within its steps, and one step beyond", "[contracts]") {
  std::mt19937_64 random(32);
  for (const auto& [table, steps] : {std::pair<std::string, int>{"glibc-2.36", 2}, {"cuda-13", 2}, {"correctly-rounded", 0}}) {
    for (int round = 0; round < 100; ++round) {
      const float x = gaussian(random), nearest = apply(Function::tanh, x);
      const Admissible sets = sets_of(Op::tanh, NoAttributes{}, float_model(table), {vector_of({x})});
      CHECK(within(sets, {steps_from(nearest, steps)}));
      CHECK(within(sets, {steps_from(nearest, -steps)}));
      CHECK(judged(sets, {steps_from(nearest, steps + 1)}).failed == 1);
      CHECK(judged(sets, {steps_from(nearest, -steps - 1)}).failed == 1);
    }
  }
}

TEST_CASE("rows with a slope, absolute rows and ranges", "[contracts]") {
  const ExecutionModel fast = float_model("cuda-13-fast");
  const auto of = [&](Op op, float x) { return sets_of(op, NoAttributes{}, fast, {vector_of({x})}); };
  // exp: 2 + floor(1.173 |x|) steps
  const float x = 20.0F, nearest = apply(Function::exp, x);
  CHECK(within(of(Op::exp, x), {steps_from(nearest, 2 + 23)}));
  CHECK(judged(of(Op::exp, x), {steps_from(nearest, 2 + 24)}).failed == 1);
  // sin: 2^-21.41 on [-pi, pi], nothing claimed outside
  CHECK(within(of(Op::sin, 1.0F), {std::sin(1.0F) + 3.5e-7F}));
  CHECK(judged(of(Op::sin, 1.0F), {std::sin(1.0F) + 4.2e-7F}).failed == 1);
  CHECK(judged(of(Op::sin, 4.0F), {0.5F}).vacuous == 1);
  // log near 1 has an absolute bound, elsewhere three steps
  CHECK(within(of(Op::log, 1.0001F), {1.0001e-4F + 2e-7F}));
  CHECK(judged(of(Op::log, 8.0F), {steps_from(std::log(8.0F), 5)}).failed == 1);
  // a quotient: two steps, or 0 for a divisor beyond 2^126
  const auto quotient = [&](float p, float q) { return sets_of(Op::div, NoAttributes{}, fast, {vector_of({p}), vector_of({q})}); };
  CHECK(within(quotient(1, 3), {steps_from(1.0F / 3.0F, 2)}));
  CHECK(judged(quotient(1, 3), {steps_from(1.0F / 3.0F, 3)}).failed == 1);
  CHECK(judged(quotient(1, 3), {0.0F}).failed == 1);
  CHECK(within(quotient(0x1p100F, 0x1.8p126F), {0.0F}));
}

TEST_CASE("special values of functions", "[contracts]") {
  const auto of = [&](Op op, float x) { return sets_of(op, NoAttributes{}, float_model(), {vector_of({x})}); };
  CHECK(within(of(Op::log, 0.0F), {-INFINITY}));
  CHECK(judged(of(Op::log, 0.0F), {-100.0F}).failed == 1);
  CHECK(within(of(Op::log, -1.0F), {NAN}));
  CHECK(judged(of(Op::log, -1.0F), {0.0F}).failed == 1);
  CHECK(within(of(Op::exp, -INFINITY), {0.0F}));
  CHECK(within(of(Op::exp, INFINITY), {INFINITY}));
  CHECK(within(of(Op::exp, 100.0F), {INFINITY}));
  CHECK(judged(of(Op::exp, 80.0F), {INFINITY}).failed == 1);
  CHECK(judged(of(Op::exp, -200.0F), {-0x1p-149F}).failed == 1);
  CHECK(within(of(Op::atan, INFINITY), {std::atan(INFINITY)}));
  CHECK(within(of(Op::atanh, 1.0F), {INFINITY}));
  CHECK(within(of(Op::asin, 2.0F), {NAN}));
  CHECK(within(of(Op::tanh, INFINITY), {1.0F}));
  CHECK(judged(of(Op::tanh, INFINITY), {steps_from(1.0F, -1)}).failed == 1);
  CHECK(within(of(Op::sin, INFINITY), {NAN}));
  CHECK(judged(of(Op::exp, 1.0F), {NAN}).failed == 1);
}

TEST_CASE("functions are finite up to the border of overflow, and infinite beyond it", "[contracts]") {
  const auto of = [](Op op, float x, const char* table = "any-library") {
    return sets_of(op, NoAttributes{}, float_model(table), {vector_of({x})});
  };
  for (const char* table : {"any-library", "pytorch-cpu", "onnxruntime"}) {
    CAPTURE(table);
    for (const float x : {88.1F, 88.5F, 88.72F}) {  // exp(x) lies above half the largest number
      const Admissible sets = of(Op::exp, x, table);
      CHECK(within(sets, {apply(Function::exp, x)}));
      CHECK(judged(sets, {steps_from(apply(Function::exp, x), 1)}).passed == 1);
      for (const float wrong : {5.0F, INFINITY, 0.0F, steps_from(apply(Function::exp, x), -10)}) CHECK(judged(sets, {wrong}).failed == 1);
    }
    for (const float x : {88.73F, 100.0F, 1e30F}) {
      CHECK(within(of(Op::exp, x, table), {INFINITY}));
      for (const float wrong : {5.0F, -INFINITY, 0x1p127F}) CHECK(judged(of(Op::exp, x, table), {wrong}).failed == 1);
    }
    CHECK(judged(of(Op::exp, 88.73F, table), {std::numeric_limits<float>::max()}).failed == 1);
  }
  // Libraries that compute sinh and cosh by exp(x) / 2 overflow where exp does.
  for (const Op op : {Op::sinh, Op::cosh}) {
    const float right = apply(op == Op::sinh ? Function::sinh : Function::cosh, 89.0F);
    CHECK((within(of(op, 89.0F), {right}) && within(of(op, 89.0F), {INFINITY})));
    for (const float wrong : {5.0F, -INFINITY, steps_from(right, 10)}) CHECK(judged(of(op, 89.0F), {wrong}).failed == 1);
    CHECK((judged(of(op, 88.5F), {INFINITY}).failed == 1 && judged(of(op, 90.0F), {5}).failed == 1));
  }
  const auto power = [](float x, const Rational& r) { return sets_of(Op::pow, PowAttributes{r}, float_model(), {vector_of({x})}); };
  CHECK((within(power(6e12F, Rational(3)), {6e12F * 6e12F * 6e12F}) && within(power(-1e13F, Rational(3)), {-INFINITY})));
  for (const float wrong : {5.0F, INFINITY, -1e38F}) CHECK(judged(power(-1e13F, Rational(3)), {wrong}).failed == 1);
  for (const float wrong : {5.0F, INFINITY}) CHECK(judged(power(6e12F, Rational(3)), {wrong}).failed == 1);
}

TEST_CASE("tanh and erf end at 1, and so gelu ends at 0", "[contracts]") {
  for (const char* table : {"any-library", "pytorch-cpu", "cuda-13", "onnxruntime"}) {
    CAPTURE(table);
    const auto of = [&](Op op, const Attributes& attributes, float x) {
      return sets_of(op, attributes, float_model(table), {vector_of({x})});
    };
    for (const Op op : {Op::tanh, Op::erf}) {
      CHECK((within(of(op, NoAttributes{}, 20.0F), {1}) && within(of(op, NoAttributes{}, -1e30F), {-1})));
      for (const float wrong : {steps_from(1.0F, 1), steps_from(1.0F, -1)})
        CHECK(judged(of(op, NoAttributes{}, 20.0F), {wrong}).failed == 1);
      const bool is_bounded = std::string_view(table) != "onnxruntime" && (op == Op::tanh || std::string_view(table) != "pytorch-cpu");
      if (is_bounded) CHECK(judged(of(op, NoAttributes{}, 3.9F), {steps_from(1.0F, 1)}).failed == 1);
    }
    for (const bool by_tanh : {false, true}) {
      for (const float x : {-30.0F, -1e10F}) {
        CHECK(within(of(Op::gelu, GeluAttributes{by_tanh}, x), {-0.0F}));
        for (const float wrong : {5.0F, 1e-5F}) CHECK(judged(of(Op::gelu, GeluAttributes{by_tanh}, x), {wrong}).failed == 1);
        const bool has_sigmoid = std::string_view(table) == "onnxruntime" && by_tanh;  // with an absolute error
        if (!has_sigmoid) CHECK(judged(of(Op::gelu, GeluAttributes{by_tanh}, x), {-5}).failed == 1);
      }
    }
  }
}

TEST_CASE("powers by the library, by products, by a root", "[contracts]") {
  std::mt19937_64 random(33);
  for (int round = 0; round < 200; ++round) {
    const float x = std::fabs(gaussian(random)) + 0.01F;
    const auto of = [&](const Rational& r) { return sets_of(Op::pow, PowAttributes{r}, float_model(), {vector_of({x})}); };
    CHECK(within(of(Rational(3)), {x * x * x}));
    CHECK(within(of(Rational(3)), {std::pow(x, 3.0F)}));
    CHECK(within(of(Rational(2)), {x * x}));
    CHECK(within(of(Rational(1, 2)), {std::sqrt(x)}));
    CHECK(within(of(Rational(-1)), {1.0F / x}));
    CHECK(within(of(Rational(-2)), {1.0F / (x * x)}));
    CHECK(within(of(Rational(7, 3)), {static_cast<float>(std::pow(static_cast<double>(x), 7.0 / 3))}));
    CHECK(judged(of(Rational(3)), {steps_from(x * x * x, 8)}).failed == 1);
    const Admissible with_tensor = sets_of(Op::power, NoAttributes{}, float_model(), {vector_of({x}), vector_of({1.7F})});
    CHECK(within(with_tensor, {std::pow(x, 1.7F)}));
    CHECK(judged(with_tensor, {steps_from(std::pow(x, 1.7F), 4)}).failed == 1);
  }
  // A root is one of its algorithms, but C's pow differs from it at -inf.
  for (const float received : {INFINITY, NAN}) {
    CHECK(within(sets_of(Op::power, NoAttributes{}, float_model(), {vector_of({-INFINITY}), vector_of({0.5F})}), {received}));
    CHECK(judged(sets_of(Op::pow, PowAttributes{Rational(1, 2)}, float_model(), {vector_of({-1.0F})}), {received}).failed ==
          (std::isnan(received) ? 0 : 1));
  }
}

TEST_CASE("products in any order", "[contracts]") {
  std::mt19937_64 random(34);
  for (int round = 0; round < 100; ++round) {
    Floats x = gaussians(random, 1 + random() % 12, 2);
    float forward = 1, backward = 1;
    for (const float value : x) forward *= value;
    for (std::size_t i = x.size(); i-- > 0;) backward *= x[i];
    const Admissible sets = sets_of(Op::reduce_prod, ReduceAttributes{{0}, false}, float_model(""), {vector_of(x)});
    CHECK(within(sets, {forward}));
    CHECK(within(sets, {backward}));
    CHECK(judged(sets, {steps_from(forward, 40)}).failed == 1);
    const Admissible running = sets_of(Op::cumprod, CumulativeAttributes{0, false, false}, float_model(""), {vector_of(x)});
    Floats y;
    for (const float value : x) y.push_back(y.empty() ? value : y.back() * value);
    CHECK(within(running, y));
  }
}

TEST_CASE("products that overflow are infinite, with the sign of the exact product", "[contracts]") {
  const auto of = [](const Floats& x) { return sets_of(Op::reduce_prod, ReduceAttributes{{0}, false}, float_model(""), {vector_of(x)}); };
  CHECK((within(of({1e20F, -1e20F}), {-INFINITY}) && judged(of({1e20F, -1e20F}), {INFINITY}).failed == 1));
  CHECK(judged(of({1e20F, 1e20F, 2.0F}), {5}).failed == 1);
  // In some order a part overflows.
  const Admissible in_part = of({1e20F, 1e20F, -1e-20F});
  CHECK((within(in_part, {-1e20F}) && within(in_part, {-INFINITY}) && judged(in_part, {5}).failed == 1));
  CHECK(within(of({1e20F, 1e20F, 0}), {NAN}));
}

TEST_CASE("products that underflow are decided", "[contracts]") {
  std::mt19937_64 random(35);
  for (int round = 0; round < 200; ++round) {
    Floats x = gaussians(random, 2 + random() % 6, 2);
    for (float& value : x) value = std::ldexp(value, static_cast<int>(random() % 120) - 90);
    float forward = 1, backward = 1;
    for (const float value : x) forward *= value;
    for (std::size_t i = x.size(); i-- > 0;) backward *= x[i];
    ExecutionModel flushes = float_model("");
    flushes.flush_operands = flushes.flush_results = true;
    const Admissible sets = sets_of(Op::reduce_prod, ReduceAttributes{{0}, false}, float_model(""), {vector_of(x)});
    CHECK(within(sets, {forward}));
    CHECK(within(sets, {backward}));
    CHECK(within(sets_of(Op::reduce_prod, ReduceAttributes{{0}, false}, flushes, {vector_of(x)}), {forward}));
  }
  const auto square = [](float x) { return sets_of(Op::pow, PowAttributes{Rational(2)}, float_model(), {vector_of({x})}); };
  for (const float x : {1e-19F, 1e-21F, -1e-30F, 0x1p-149F, 0x1p-75F}) {
    const Judgement right = judged(square(x), {x * x});
    CHECK((right.passed == 1 && right.vacuous == 0));
    for (const float wrong : {x * x + 0x1p-140F, -0x1p-149F}) CHECK(judged(square(x), {wrong}).failed == 1);
  }
}

TEST_CASE("elu and selu at 0, and shrink at its bends, are decided", "[contracts]") {
  const Tensor zeros = vector_of({0.0F, -0.0F});
  const auto counts = [](const Admissible& sets, const Floats& y) {
    const Judgement found = judged(sets, y);
    return std::array{found.passed, found.failed, found.vacuous};
  };
  const std::array<std::size_t, 3> passed{2, 0, 0}, failed{0, 2, 0};
  for (const auto& [op, attributes] : {std::pair{Op::elu, ActivationAttributes{2, 0}}, {Op::selu, ActivationAttributes{1.67, 1.05}}}) {
    const Admissible sets = sets_of(op, attributes, float_model(), {zeros});
    CHECK(counts(sets, {0.0F, -0.0F}) == passed);
    CHECK(counts(sets, {2e-6F, -2e-6F}) == failed);  // exp(0) - 1 is off by some steps below 1
  }
  // Neither x < -alpha nor x > alpha: 0, and no other number.
  for (const float bias : {0.0F, 0.5F}) {
    const Admissible sets = sets_of(Op::shrink, ActivationAttributes{0.5, bias}, float_model(), {vector_of({0.5F, -0.5F})});
    CHECK(counts(sets, {0.0F, -0.0F}) == passed);
    CHECK(counts(sets, {0.5F, -0.5F}) == failed);
    CHECK(counts(sets, {0x1p-149F, -0x1p-149F}) == failed);
  }
  CHECK(counts(sets_of(Op::shrink, ActivationAttributes{0, 0.5}, float_model(), {zeros}), {0.0F, 0.0F}) == passed);
  // The bend at a number that float32 does not hold lies beside its neighbours.
  const float below = 0x1.99999ap-3F;  // the float32 next to 0.2, above it
  CHECK(counts(sets_of(Op::shrink, ActivationAttributes{0.2, 0}, float_model(), {vector_of({0x1.99999cp-3F, -0x1.99999cp-3F})}),
               {0x1.99999cp-3F, -0x1.99999cp-3F}) == passed);
  CHECK(judged(sets_of(Op::shrink, ActivationAttributes{0.2, 0}, float_model(), {vector_of({below})}), Floats{0.0F}).failed == 0);
}

}  // namespace
}  // namespace assay::test
