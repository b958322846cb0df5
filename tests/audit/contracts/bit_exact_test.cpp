// Sets, correctly rounded operations on them, and the ops that must give equal bits.
#include <array>
#include <cfloat>
#include <limits>

#include "kernel/contracts/arithmetic.h"
#include "semantics/ops/denote.h"
#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

using contracts::Arithmetic;
using contracts::FloatSet;
using contracts::Format;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Ordinary numbers, extremes, zeros, infinities, NaN.
double special_or_any(std::mt19937_64& random) {
  constexpr std::array kSpecial = {0.0F, -0.0F,     1.0F,       -1.0F,           INFINITY,        -INFINITY,
                                   NAN,  0x1p-149F, -0x1p-126F, 0x1.fffffep127F, -0x1.fffffep127F};
  if (random() % 3 == 0) return static_cast<double>(kSpecial[random() % kSpecial.size()]);
  return static_cast<double>(random() % 2 == 0 ? any_float(random) : gaussian(random));
}

// Some values, and a set that holds them.
struct Sample {
  std::vector<double> members;
  FloatSet set;
};
Sample sample(std::mt19937_64& random) {
  Sample result;
  const std::size_t n = 1 + random() % 3;
  for (std::size_t i = 0; i < n; ++i) {
    result.members.push_back(special_or_any(random));
    result.set.include(contracts::point(Format::binary32, result.members.back()));
  }
  return result;
}
float narrow(double x) { return static_cast<float>(x); }

TEST_CASE("sets know zeros by their sign, and infinities and NaN by name", "[contracts]") {
  FloatSet set = contracts::point(Format::binary32, -0.0);
  CHECK(set.contains(-0.0));
  CHECK_FALSE(set.contains(0.0));
  set.include(Format::binary32, 0x1p127, kInfinity);
  CHECK(set.contains(0x1.fffffep127));
  CHECK(set.contains(kInfinity));
  CHECK_FALSE(set.contains(-kInfinity));
  CHECK_FALSE(set.contains(NAN));
  CHECK(contracts::point(Format::binary32, NAN).contains(NAN));
  CHECK_FALSE(FloatSet().contains(0));
  CHECK(FloatSet().is_finite() == false);
}

TEST_CASE("a set widened by steps goes from number to number, through zero and to the infinities", "[contracts]") {
  const auto by = [](double value, std::int64_t steps) {
    return widened(Format::binary32, contracts::point(Format::binary32, value), steps);
  };
  CHECK(by(1, 1).hi == 1 + 0x1p-23);
  CHECK(by(1, 1).lo == 1 - 0x1p-24);
  CHECK(by(0, 1).lo == 0);  // -0 is the number before +0
  CHECK(std::signbit(by(0, 1).lo));
  CHECK(by(0, 2).lo == -0x1p-149);
  CHECK(by(0x1.fffffep127, 1).plus_infinity);
  CHECK(by(0x1.fffffep127, 5).hi == 0x1.fffffep127);
  CHECK(by(kInfinity, 1).lo == 0x1.fffffep127);
  CHECK_FALSE(by(-kInfinity, 3).plus_infinity);
  CHECK(by(1, std::int64_t{1} << 40).minus_infinity);
  std::mt19937_64 random(11);
  for (int round = 0; round < 500; ++round) {
    const float x = any_float(random);
    CHECK(by(static_cast<double>(x), 1).contains(static_cast<double>(std::nextafter(x, INFINITY))));
    CHECK(by(static_cast<double>(x), 1).contains(static_cast<double>(std::nextafter(x, -INFINITY))));
    if (x != 0) CHECK_FALSE(by(static_cast<double>(x), 1).contains(static_cast<double>(steps_from(x, 2))));
  }
}

TEST_CASE("the numbers in a real interval are those inside it", "[contracts]") {
  const FloatSet set = contracts::numbers_in(Format::binary32, Interval(0.1, 0.2));
  CHECK(set.lo > 0.1);
  CHECK(static_cast<double>(std::nextafter(narrow(set.lo), 0.0F)) < 0.1);
  CHECK(set.hi < 0.2 + 1e-7);
  CHECK(contracts::numbers_in(Format::binary32, Interval(1e39, 1e40)).has_finite() == false);
  CHECK(contracts::numbers_in(Format::binary32, Interval(1e30, 1e40)).hi == 0x1.fffffep127);
  CHECK_FALSE(contracts::numbers_in(Format::binary32, Interval(1e30, 1e40)).plus_infinity);
  CHECK(contracts::numbers_in(Format::binary32, Interval::undefined()) == contracts::only_nan());
}

void check(const char* name, const FloatSet& set, double value, double p, double q, double r) {
  if (set.contains(value)) return;
  CAPTURE(name, value, p, q, r, set.lo, set.hi, set.nan, set.minus_infinity, set.plus_infinity);
  REQUIRE(set.contains(value));
}

TEST_CASE("correctly rounded operations on sets hold what the processor gives for members", "[contracts]") {
  std::mt19937_64 random(12);
  const ExecutionModel model = float_model();
  const Arithmetic a(model, Format::binary32);
  for (int round = 0; round < 60000; ++round) {
    const Sample x = sample(random), y = sample(random), z = sample(random);
    const FloatSet sum = a.add(x.set, y.set), difference = a.sub(x.set, y.set), product = a.mul(x.set, y.set),
                   quotient = a.div(x.set, y.set);
    const FloatSet root = a.sqrt(x.set), combined = a.mul_add(x.set, y.set, z.set), size = a.abs(x.set), most = a.max(x.set, y.set);
    const FloatSet least = a.min(x.set, y.set);
    CHECK(sum.nan + sum.has_finite() + sum.plus_infinity + sum.minus_infinity > 0);
    for (const double p : x.members) {
      check("sqrt", root, static_cast<double>(std::sqrt(narrow(p))), p, p, p);
      check("abs", size, std::fabs(p), p, p, p);
      for (const double q : y.members) {
        check("add", sum, static_cast<double>(narrow(p) + narrow(q)), p, q, q);
        check("sub", difference, static_cast<double>(narrow(p) - narrow(q)), p, q, q);
        check("mul", product, static_cast<double>(narrow(p) * narrow(q)), p, q, q);
        check("div", quotient, static_cast<double>(narrow(p) / narrow(q)), p, q, q);
        check("max", most, std::fmax(p, q), p, q, q);
        check("max with NaN", most, p > q ? p : q > p ? q : p == q ? p : NAN, p, q, q);
        check("min", least, std::fmin(p, q), p, q, q);
        for (const double r : z.members) {
          check("fused", combined, static_cast<double>(std::fma(narrow(p), narrow(q), narrow(r))), p, q, r);
          check("mul, add", combined, static_cast<double>(narrow(p) * narrow(q) + narrow(r)), p, q, r);
        }
      }
    }
  }
}

TEST_CASE("operations on points leave one value", "[contracts]") {
  std::mt19937_64 random(13);
  ExecutionModel model = float_model();
  model.fused_multiply_add = false;
  const Arithmetic a(model, Format::binary32), wide(model, Format::binary64);
  for (int round = 0; round < 20000; ++round) {
    const double x = special_or_any(random), y = special_or_any(random);
    const FloatSet p = contracts::point(Format::binary32, x), q = contracts::point(Format::binary32, y);
    for (const FloatSet& result : {a.add(p, q), a.mul(p, q), a.div(p, q), a.sqrt(p), wide.mul(p, q)}) {
      const bool wide_zero = result.lo == 0 && result.hi == 0 && !result.nan;  // x / inf: either zero
      const bool nan_beside = result.nan && !result.has_finite();
      CHECK((result.is_single() || wide_zero || nan_beside));
    }
  }
}

TEST_CASE("a real interval arithmetic comes out of the same formulas", "[contracts]") {
  const ExecutionModel model = float_model();
  const Arithmetic reals(model, Format::real);
  const FloatSet third = reals.div(contracts::point(Format::real, 1), contracts::point(Format::real, 3));
  CHECK(Interval(third.lo, third.hi).contains(Rational(1, 3)));
  CHECK(third.hi - third.lo < 1e-16);
  CHECK(third.lo < third.hi);
  const FloatSet sum = reals.add(contracts::point(Format::real, 1), contracts::point(Format::real, 0x1p-60));
  CHECK(sum.lo == 1);
  CHECK(sum.hi > 1);
}

// ---- ops ----

TEST_CASE("one ulp off is a failure where the result is correctly rounded", "[contracts]") {
  std::mt19937_64 random(14);
  const std::array kOps = {Op::add, Op::sub, Op::mul, Op::div, Op::reciprocal, Op::sqrt, Op::neg, Op::abs};
  for (int round = 0; round < 200; ++round) {
    for (const Op op : kOps) {
      const float x = std::fabs(gaussian(random)) + 0x1p-20F, y = gaussian(random);
      const bool binary = op_row(op).arity_min == 2;
      const float right = op == Op::add          ? x + y
                          : op == Op::sub        ? x - y
                          : op == Op::mul        ? x * y
                          : op == Op::div        ? x / y
                          : op == Op::reciprocal ? 1 / x
                          : op == Op::sqrt       ? std::sqrt(x)
                          : op == Op::neg        ? -x
                                                 : x;
      std::vector<Tensor> operands = {vector_of({x})};
      if (binary) operands.push_back(vector_of({y}));
      const Admissible sets = sets_of(op, NoAttributes{}, float_model(""), operands);
      CHECK(within(sets, {right}));
      CHECK(judged(sets, {steps_from(right, 1)}).failed == 1);
      CHECK(judged(sets, {steps_from(right, -1)}).failed == 1);
      CHECK(judged(sets, {NAN}).failed == 1);
      CHECK(judged(sets, {INFINITY}).failed == 1);
    }
  }
}

TEST_CASE("zeros: kept by layout and arithmetic, either sign where numbers are compared or summed", "[contracts]") {
  const ExecutionModel model = float_model("");
  const Tensor zeros = vector_of({-0.0F, 0.0F});
  const Admissible moved = sets_of(Op::reshape, ShapeAttributes{{2, 1}}, model, {zeros});
  CHECK(within(moved, {-0.0F, 0.0F}));
  CHECK(judged(moved, {0.0F, 0.0F}).failed == 1);
  CHECK(judged(moved, {-0.0F, -0.0F}).failed == 1);
  const Admissible sum = sets_of(Op::add, NoAttributes{}, model, {zeros, vector_of({-0.0F, -0.0F})});
  CHECK(within(sum, {-0.0F, 0.0F}));
  CHECK(judged(sum, {0.0F, 0.0F}).failed == 1);
  CHECK(within(sets_of(Op::relu, NoAttributes{}, model, {zeros}), {0.0F, -0.0F}));
  CHECK(within(sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, model, {zeros}), {-0.0F}));
  CHECK(judged(sets_of(Op::neg, NoAttributes{}, model, {zeros}), {-0.0F, -0.0F}).failed == 1);
}

TEST_CASE("NaN: propagated or passed over by extrema, nowhere else", "[contracts]") {
  const ExecutionModel model = float_model("");
  const Tensor x = tensor({2, 3}, {1, NAN, 3, 5, 2, 4});
  const Admissible most = sets_of(Op::reduce_max, ReduceAttributes{{1}, false}, model, {x});
  CHECK(within(most, {3, 5}));
  CHECK(within(most, {NAN, 5}));
  CHECK(judged(most, {1, 5}).failed == 1);
  CHECK(judged(most, {3, NAN}).failed == 1);
  CHECK(judged(most, {4, 5}).failed == 1);
  CHECK(judged(sets_of(Op::floor, NoAttributes{}, model, {vector_of({NAN})}), {0}).failed == 1);
  CHECK(within(sets_of(Op::floor, NoAttributes{}, model, {vector_of({NAN, INFINITY})}), {NAN, INFINITY}));
  CHECK(within(sets_of(Op::reshape, ShapeAttributes{{1, 2}}, model, {vector_of({NAN, -INFINITY})}), {NAN, -INFINITY}));
}

struct ExactCase {
  std::string name;
  Op op;
  Attributes attributes;
  std::vector<Shape> shapes;
};
std::vector<ExactCase> exact_cases() {
  WindowAttributes pool;
  pool.kernel = {3, 2};
  pool.strides = {2, 2};
  pool.dilations = {1, 2};
  pool.pads_begin = {1, 0};
  pool.pads_end = {1, 1};
  return {
      {"permute", Op::permute, PermuteAttributes{{2, 0, 1}}, {{2, 3, 4}}},
      {"slice", Op::slice, SliceAttributes{{1, 3}, {1, -2}, {2, 2}}, {{3, 5}}},
      {"concat", Op::concat, ConcatAttributes{1}, {{2, 3}, {2, 1}}},
      {"pad", Op::pad, PadAttributes{{1, -1}, {0, 2}, 0.5}, {{2, 3}}},
      {"gather", Op::gather, GatherAttributes{1, {2, 0, 2}, {3}}, {{2, 3}}},
      {"expand", Op::expand, ShapeAttributes{{2, 3, 4}}, {{3, 1}}},
      {"relu", Op::relu, NoAttributes{}, {{40}}},
      {"clip", Op::clip, ClipAttributes{-0.5, 0.75}, {{40}}},
      {"sign", Op::sign, NoAttributes{}, {{40}}},
      {"floor", Op::floor, NoAttributes{}, {{40}}},
      {"ceil", Op::ceil, NoAttributes{}, {{40}}},
      {"round", Op::round, NoAttributes{}, {{40}}},
      {"min", Op::min, NoAttributes{}, {{4, 5}, {5}, {4, 1}}},
      {"max", Op::max, NoAttributes{}, {{4, 5}, {5}, {4, 1}}},
      {"max_pool", Op::max_pool, pool, {{1, 2, 5, 6}}},
      {"reduce_max", Op::reduce_max, ReduceAttributes{{0}, true}, {{6, 4}}},
      {"reduce_min", Op::reduce_min, ReduceAttributes{{1}, false}, {{6, 4}}},
      {"leaky_relu", Op::leaky_relu, LeakyReluAttributes{0.25}, {{40}}},
      {"prelu", Op::prelu, NoAttributes{}, {{6, 4}, {4}}},
      {"scale", Op::scale, ScaleAttributes{-0.375}, {{40}}},
      {"thresholded_relu", Op::thresholded_relu, ActivationAttributes{0.5, 0}, {{40}}},
      {"shrink", Op::shrink, ActivationAttributes{0.5, 0.25}, {{40}}},
      {"sort", Op::sort, SortAttributes{1, 3, true}, {{6, 5}}},
      {"ascending sort", Op::sort, SortAttributes{0, 6, false}, {{6, 5}}},
      {"mod", Op::mod, ModAttributes{true}, {{40}, {40}}},
  };
}

TEST_CASE("ops that compute exactly admit the float denotation, and no neighbour of it", "[contracts]") {
  std::mt19937_64 random(15);
  for (const ExactCase& one : exact_cases()) {
    CAPTURE(one.name);
    Graph graph;
    std::vector<NodeId> ids;
    std::vector<Tensor> operands;
    std::vector<Array<float>> arrays;
    for (const Shape& shape : one.shapes) {
      arrays.push_back({shape, gaussians(random, element_count(shape), 2)});
      operands.push_back(tensor(shape, arrays.back().values));
      ids.push_back(graph.append_input(DType::float32, shape, ""));
    }
    graph.mark_output(graph.append(one.op, ids, one.attributes).value(), "y");
    const Floats y = evaluate<float>(graph, arrays).value().back().values;
    const Admissible sets = sets_of(one.op, one.attributes, float_model(""), operands);
    CHECK(within(sets, y));
    Floats above = y, below = y;
    for (float& value : above) value = steps_from(value, 1);
    for (float& value : below) value = steps_from(value, -1);
    CHECK(judged(sets, above).failed == y.size());
    CHECK(judged(sets, below).failed == y.size());
  }
}

TEST_CASE("truth values, positions and conversions", "[contracts]") {
  const ExecutionModel model = float_model("");
  const Tensor x = vector_of({1, NAN, -0.0F, INFINITY}), y = vector_of({1, 1, 0.0F, 2});
  const auto truths = [](const std::vector<bool>& values) {
    auto bytes = std::make_shared<std::vector<std::byte>>();
    for (const bool value : values) bytes->push_back(static_cast<std::byte>(value));
    return Tensor(DType::boolean, {static_cast<std::int64_t>(values.size())}, bytes);
  };
  const Admissible equal = sets_of(Op::equal, NoAttributes{}, model, {x, y});
  CHECK(judged(equal, truths({true, false, true, false})).failed == 0);
  CHECK(judged(equal, truths({true, true, true, false})).first_failure == 1U);
  CHECK(judged(sets_of(Op::less, NoAttributes{}, model, {x, y}), truths({false, false, false, false})).failed == 0);
  CHECK(judged(sets_of(Op::is_nan, NoAttributes{}, model, {x}), truths({false, true, false, false})).failed == 0);
  CHECK(judged(sets_of(Op::is_inf, IsInfAttributes{false, true}, model, {x}), truths({false, false, false, false})).failed == 0);
  const Tensor ties = tensor({2, 3}, {1, 3, 3, 2, 2, 1});
  const Admissible first = sets_of(Op::arg_max, ArgAttributes{1, false, false}, model, {ties});
  CHECK(judged(first, Tensor::of_ints({2}, std::vector<std::int64_t>{1, 0})).failed == 0);
  CHECK(judged(first, Tensor::of_ints({2}, std::vector<std::int64_t>{2, 0})).failed == 1);
  const Tensor infinite = tensor({3, 3}, {-INFINITY, -FLT_MAX, -INFINITY, 1, INFINITY, 2, -INFINITY, -INFINITY, -INFINITY});
  const Admissible beside = sets_of(Op::arg_max, ArgAttributes{1, false, false}, model, {infinite});
  CHECK(judged(beside, Tensor::of_ints({3}, std::vector<std::int64_t>{1, 1, 0})).failed == 0);
  CHECK(judged(beside, Tensor::of_ints({3}, std::vector<std::int64_t>{0, 0, 1})).failed == 3);
  const Admissible chosen = sets_of(Op::where, NoAttributes{}, model, {truths({true, false, true, false}), x, y});
  CHECK(within(chosen, {1, 1, -0.0F, 2}));
  CHECK(judged(chosen, {1, 1, 0.0F, 2}).failed == 1);
  const Tensor doubles = Tensor::of_doubles({3}, std::vector<double>{0.1, 1e300, -2.75});
  const Admissible cast = sets_of(Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::float32)}, model, {doubles});
  CHECK(within(cast, {0.1F, INFINITY, -2.75F}));
  CHECK(judged(cast, {steps_from(0.1F, 1), INFINITY, -2.75F}).failed == 1);
  const Admissible whole = sets_of(Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::int64)}, model, {vector_of({2.9F, -2.9F})});
  CHECK(judged(whole, Tensor::of_ints({2}, std::vector<std::int64_t>{2, -2})).failed == 0);
  CHECK(judged(whole, Tensor::of_ints({2}, std::vector<std::int64_t>{2, -3})).failed == 1);
}

TEST_CASE("elements by recorded positions, and positions in order", "[contracts]") {
  const ExecutionModel model = float_model("");
  const Tensor x = tensor({2, 3}, {5, -0.0F, 7, 1, NAN, 2});
  const Tensor index = Tensor::of_ints({2, 2}, std::vector<std::int64_t>{2, 1, -1, -2});
  const Admissible taken = sets_of(Op::take, ConcatAttributes{1}, model, {index, x});
  CHECK(within(taken, {7, -0.0F, 2, NAN}));
  CHECK(judged(taken, {7, 0.0F, 2, NAN}).first_failure == 1U);
  CHECK(judged(taken, {5, -0.0F, 2, NAN}).first_failure == 0U);
  CHECK(judged(taken, {7, -0.0F, 1, NAN}).first_failure == 2U);  // by the index -1
  const Tensor ties = tensor({4}, {1, 3, 3, 2});
  const Admissible order = sets_of(Op::arg_sort, SortAttributes{0, 3, true}, model, {ties});
  CHECK(judged(order, Tensor::of_ints({3}, std::vector<std::int64_t>{1, 2, 3})).failed == 0);
  CHECK(judged(order, Tensor::of_ints({3}, std::vector<std::int64_t>{2, 1, 3})).failed == 2);
}

TEST_CASE("integers are exact", "[contracts]") {
  const Tensor a = Tensor::of_ints({3}, std::vector<std::int64_t>{7, -8, 9}), b = Tensor::of_ints({3}, std::vector<std::int64_t>{2, 3, -4});
  const Admissible quotient = sets_of(Op::div, NoAttributes{}, float_model(""), {a, b});
  CHECK(judged(quotient, Tensor::of_ints({3}, std::vector<std::int64_t>{3, -2, -2})).failed == 0);
  CHECK(judged(quotient, Tensor::of_ints({3}, std::vector<std::int64_t>{3, -3, -2})).failed == 1);
}

TEST_CASE("what cannot be judged is named", "[contracts]") {
  const auto code = [](Op op, const Attributes& attributes, const ExecutionModel& model, const std::vector<Tensor>& operands) {
    const Outcome<Admissible> result = contracts::admissible(op, attributes, model, operands);
    return result.ok() ? std::string("ok") : result.rejection().code;
  };
  const Tensor x = vector_of({1, 2});
  CHECK(code(Op::exp, NoAttributes{}, float_model(""), {x}) == "contract.function");
  CHECK(code(Op::gelu, GeluAttributes{}, float_model(""), {x}) == "contract.function");
  CHECK(code(Op::tan, NoAttributes{}, float_model("cuda-13-fast"), {x}) == "contract.function");
  CHECK(code(Op::exp, NoAttributes{}, float_model("no-such-table"), {x}) == "contract.table");
  CHECK(code(Op::relu, NoAttributes{}, double_model(), {x}) == "contract.format");
  CHECK(code(Op::relu, NoAttributes{}, ExecutionModel{}, {x}) == "contract.model");
  ExecutionModel broken = float_model();
  broken.accumulator = ExecutionModel::Accumulator::tree;
  CHECK(code(Op::relu, NoAttributes{}, broken, {x}) == "execution_model.tree");
  CHECK(code(Op::add, NoAttributes{}, float_model(), {x, vector_of({1, 2, 3})}) != "ok");
  CHECK(contracts::judge(sets_of(Op::relu, NoAttributes{}, float_model(), {x}), vector_of({1})).rejection().code == "contract.received");
}

TEST_CASE("a failure is told with everything it takes to understand it", "[contracts]") {
  const Admissible sets = sets_of(Op::add, NoAttributes{}, float_model(), {vector_of({1, 2}), vector_of({1, 0x1p-30F})});
  const Tensor received = vector_of({2, 3});
  CHECK(judged(sets, received).first_failure == 1U);
  CHECK(contracts::describe(sets, received, 1) ==
        "element 1: received 0x1.8p+1, admitted [0x1p+1, 0x1p+1], exact value in [0x1.00000002p+1, 0x1.00000002p+1]");
}

}  // namespace
}  // namespace assay::test
