// Results in 16 bits: the image of sets under rounding against all numbers of the formats, and the treatment of them by regions,
// recordings and reports.
#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

using contracts::FloatSet;
using contracts::Format;
using contracts::Storage;

constexpr double kInfinity = contracts::kInfinity;

// From the definition of the formats, digit by digit.
double value_of(Storage storage, unsigned bits) {
  const int digits = storage == Storage::bfloat16 ? 7 : 10, bias = storage == Storage::bfloat16 ? 127 : 15;
  const unsigned exponents = (1U << (15 - digits)) - 1;
  const unsigned exponent = (bits >> digits) & exponents, fraction = bits & ((1U << digits) - 1);
  const double sign = (bits >> 15) != 0 ? -1 : 1;
  if (exponent == exponents) return fraction == 0 ? sign * kInfinity : NAN;
  const double mantissa = exponent == 0 ? fraction : fraction + (1U << digits);
  return sign * std::ldexp(mantissa, std::max<int>(static_cast<int>(exponent), 1) - bias - digits);
}

// The finite numbers that are not negative, ascending: bit patterns are in order.
std::vector<double> numbers_of(Storage storage) {
  std::vector<double> numbers;
  for (unsigned bits = 0; bits < 1U << 15; ++bits) {
    if (std::isfinite(value_of(storage, bits))) numbers.push_back(value_of(storage, bits));
  }
  return numbers;
}

FloatSet range(double lo, double hi) {
  FloatSet set;
  set.include(Format::real, lo, hi);
  return set;
}

bool same(double a, double b) { return a == b && std::signbit(a) == std::signbit(b); }

// One result from these operands, stored.
Admissible stored_sets(Op op, const Attributes& attributes, const std::vector<Tensor>& operands, Storage storage,
                       const ExecutionModel& model = float_model()) {
  Outcome<Admissible> result = contracts::admissible(op, attributes, model, operands, storage);
  if (!result) FAIL(result.rejection().to_text());
  return std::move(result).value();
}

float stored_float(Storage storage, double x) { return static_cast<float>(contracts::rounded_to(storage, x)); }

TEST_CASE("storage: all 65,536 values of both formats are read as themselves, and midpoints go to the even neighbour", "[contracts]") {
  const Storage storage = GENERATE(Storage::bfloat16, Storage::binary16);
  for (unsigned bits = 0; bits < 1U << 16; ++bits) {
    const double x = value_of(storage, bits);
    REQUIRE(contracts::is_number_of(storage, x));
    if (std::isnan(x)) {
      REQUIRE(std::isnan(contracts::rounded_to(storage, x)));
    } else {
      REQUIRE(same(contracts::rounded_to(storage, x), x));
    }
  }
  const std::vector<double> numbers = numbers_of(storage);
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const double a = numbers[i], b = numbers[i + 1], middle = a / 2 + b / 2;
    for (const double sign : {1.0, -1.0}) {
      REQUIRE(same(contracts::rounded_to(storage, sign * middle), sign * (i % 2 == 0 ? a : b)));
      REQUIRE(same(contracts::rounded_to(storage, sign * std::nextafter(middle, 0)), sign * a));
      REQUIRE(same(contracts::rounded_to(storage, sign * std::nextafter(middle, kInfinity)), sign * b));
    }
    REQUIRE_FALSE(contracts::is_number_of(storage, middle));
    REQUIRE(contracts::steps_between(storage, Format::binary32, a, b) == 1);
    REQUIRE(contracts::steps_between(storage, Format::binary32, -b, -a) == 1);
  }
  const double most = numbers.back(), threshold = most + (most - numbers[numbers.size() - 2]) / 2;
  CHECK(contracts::rounded_to(storage, threshold) == kInfinity);
  CHECK(contracts::rounded_to(storage, -threshold) == -kInfinity);
  CHECK(contracts::rounded_to(storage, std::nextafter(threshold, 0)) == most);
  CHECK(contracts::rounded_to(storage, 0x1p1000) == kInfinity);
  CHECK(same(contracts::rounded_to(storage, -0x1p-1000), -0.0));
  CHECK(contracts::steps_between(storage, Format::binary32, -most, most) == 2 * static_cast<double>(numbers.size() - 1));
}

TEST_CASE("storage: what may have been stored as a value is what is rounded to it", "[contracts]") {
  const Storage storage = GENERATE(Storage::bfloat16, Storage::binary16);
  const std::vector<double> numbers = numbers_of(storage);
  const auto single = [](double x, double to) {
    return static_cast<double>(std::nextafter(static_cast<float>(x), static_cast<float>(to)));
  };
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (const double sign : {1.0, -1.0}) {
      const double y = sign * numbers[i];
      const FloatSet from = contracts::stored_as(storage, y);
      REQUIRE(from.contains(y));
      const double outer = sign > 0 ? from.hi : -from.lo, inner = sign > 0 ? from.lo : -from.hi;
      // Ends are midpoints, which belong to one neighbour or the other.
      REQUIRE(contracts::rounded_to(storage, single(outer, 0)) == numbers[i]);
      REQUIRE(contracts::rounded_to(storage, single(outer, INFINITY)) != numbers[i]);
      if (i == 0) REQUIRE(inner == 0);
      if (i > 0) {
        REQUIRE(contracts::rounded_to(storage, single(inner, INFINITY)) == numbers[i]);
        REQUIRE(contracts::rounded_to(storage, single(inner, 0)) == numbers[i - 1]);
      }
      const FloatSet again = contracts::stored(
          storage, range(sign > 0 ? single(inner, INFINITY) : -single(outer, 0), sign > 0 ? single(outer, 0) : -single(inner, INFINITY)));
      REQUIRE((again.lo == y && again.hi == y && again.is_finite()));
    }
  }
  const FloatSet beyond = contracts::stored_as(storage, kInfinity);
  CHECK(beyond.plus_infinity);
  CHECK(contracts::rounded_to(storage, beyond.lo) == kInfinity);
  CHECK(contracts::stored_as(storage, -kInfinity).minus_infinity);
  CHECK(contracts::stored_as(storage, NAN) == contracts::only_nan());
}

TEST_CASE("storage: the image of a set goes from the rounded lower to the rounded upper end", "[contracts]") {
  const FloatSet ordinary = contracts::stored(Storage::bfloat16, range(1 + 0x1p-9, 1 + 0x1.8p-7));
  CHECK((ordinary.lo == 1 && ordinary.hi == 1 + 0x1p-6 && ordinary.is_finite()));
  const FloatSet large = contracts::stored(Storage::binary16, range(60000, 70000));
  CHECK((large.lo == 60000 && large.hi == 65504 && large.plus_infinity && !large.minus_infinity && !large.nan));
  const FloatSet over = contracts::stored(Storage::binary16, range(-70000, -65520));
  CHECK((!over.has_finite() && over.minus_infinity && !over.plus_infinity));
  const FloatSet tiny = contracts::stored(Storage::binary16, range(-0x1p-26, 0x1p-25));
  CHECK((same(tiny.lo, -0.0) && same(tiny.hi, 0.0)));
  FloatSet special = contracts::only_nan();
  special.plus_infinity = true;
  CHECK(contracts::stored(Storage::bfloat16, special) == special);
  CHECK(contracts::stored(Storage::same, range(0.1, 0.2)) == range(0.1, 0.2));
}

TEST_CASE("storage: a kernel in float32 that rounds once is right, and one that cuts off or is a step off is found", "[contracts]") {
  const Storage storage = GENERATE(Storage::bfloat16, Storage::binary16);
  std::mt19937_64 random(5);
  const std::size_t rows = 8, columns = 6, terms = 32;
  Floats x, w;
  for (const float value : gaussians(random, rows * terms)) x.push_back(stored_float(storage, value));
  for (const float value : gaussians(random, terms * columns)) w.push_back(stored_float(storage, value));
  const Admissible sets = stored_sets(Op::matmul, NoAttributes{}, {tensor({8, 32}, x), tensor({32, 6}, w)}, storage);
  Floats right, cut, coarse;
  std::size_t moved = 0, steps_found = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < columns; ++c) {
      float sum = 0, narrow = 0;
      for (std::size_t k = 0; k < terms; ++k) {
        sum += x[r * terms + k] * w[k * columns + c];
        narrow = stored_float(storage, narrow + stored_float(storage, x[r * terms + k] * w[k * columns + c]));
      }
      right.push_back(stored_float(storage, sum));
      coarse.push_back(narrow);
      const double inner = floats::number_below(floats::precision_of(storage), std::fabs(static_cast<double>(sum)));
      cut.push_back(std::copysign(static_cast<float>(inner), sum));
    }
  }
  CHECK(within(sets, right));
  CHECK(judged(sets, right).vacuous == 0);
  CHECK(judged(sets, cut).failed > 10);
  CHECK(judged(sets, coarse).failed > 10);  // accumulated in 16 bits
  for (std::size_t i = 0; i < right.size(); ++i) {
    const FloatSet& set = sets.sets.values[i];
    if (set.lo != set.hi) continue;  // near a midpoint
    ++moved;
    Floats other = right;
    const FloatSet beyond = contracts::beyond(storage, Format::binary32, set);
    other[i] = static_cast<float>(beyond.hi);
    CHECK(contracts::steps_between(storage, Format::binary32, right[i], beyond.hi) == 1);
    steps_found += judged(sets, other).failed;
  }
  CHECK(moved > 40);
  CHECK(steps_found == moved);
}

TEST_CASE("storage: every op's float32 executions, stored, are admitted", "[contracts]") {
  const Storage storage = GENERATE(Storage::bfloat16, Storage::binary16);
  std::mt19937_64 random(11);
  Floats x, y;
  for (const float value : gaussians(random, 512)) x.push_back(stored_float(storage, value));
  for (const float value : gaussians(random, 512)) y.push_back(stored_float(storage, value * 1000));
  const auto check = [&](Op op, const std::vector<Tensor>& operands, const auto& f) {
    Floats result;
    for (std::size_t i = 0; i < x.size(); ++i) result.push_back(stored_float(storage, f(x[i], y[i])));
    INFO(op_row(op).name);
    CHECK(within(stored_sets(op, NoAttributes{}, operands, storage), result));
  };
  const std::vector<Tensor> one = {vector_of(x)}, two = {vector_of(x), vector_of(y)};
  check(Op::add, two, [](float a, float b) { return a + b; });
  check(Op::sub, two, [](float a, float b) { return a - b; });
  check(Op::mul, two, [](float a, float b) { return a * b; });
  check(Op::div, two, [](float a, float b) { return a / b; });
  check(Op::relu, one, [](float a, float) { return a > 0 ? a : 0.0F; });
  check(Op::exp, one, [](float a, float) { return std::exp(a); });
  check(Op::tanh, one, [](float a, float) { return std::tanh(a); });
  // Rounded at once from the exact value, which is no worse.
  Floats at_once;
  for (std::size_t i = 0; i < x.size(); ++i)
    at_once.push_back(stored_float(storage, static_cast<double>(x[i]) / static_cast<double>(y[i])));
  CHECK(within(stored_sets(Op::div, NoAttributes{}, two, storage), at_once));
}

TEST_CASE("storage: subnormal numbers, overflow and NaN of the format", "[contracts]") {
  const Floats x = {0x1p-24F, 0x1p-20F, 65504, 65504, -65504}, y = {0.5F, 1, 1.0F, 2, 2};
  const Admissible sets = stored_sets(Op::mul, NoAttributes{}, {vector_of(x), vector_of(y)}, Storage::binary16);
  CHECK(within(sets, {0, 0x1p-20F, 65504, INFINITY, -INFINITY}));
  CHECK(judged(sets, {0x1p-24F, 0, 65504, 65504, -65504}).failed == 4);  // a tie goes to 0; an overflow is no number
  ExecutionModel flushes = float_model();
  flushes.flush_results = true;
  const Floats small = {0x1p-130F}, one = {1};
  const auto of = [&](const ExecutionModel& model) {
    return stored_sets(Op::reshape, ShapeAttributes{{1}}, {vector_of(small)}, Storage::bfloat16, model);
  };
  CHECK(within(of(flushes), {0}));
  CHECK(within(of(flushes), small));
  CHECK_FALSE(within(of(float_model()), {0}));
}

TEST_CASE("storage: a set of several steps of the format says something still, one of many does not", "[contracts]") {
  Admissible one{{DType::float32, {1}, {range(1, 1 + 0x1p-5)}}, {Interval(1)}, {1}};
  one.storage = Storage::bfloat16;
  CHECK_FALSE(one.is_vacuous(0));
  one.sets.values[0] = range(1, 1 + 0x1p-5 + 0x1p-7);
  CHECK(one.is_vacuous(0));
  one.storage = Storage::binary16;
  one.sets.values[0] = range(1, 1 + 0x1p-8);
  CHECK_FALSE(one.is_vacuous(0));
  one.sets.values[0] = range(1, 1 + 0x1p-8 + 0x1p-10);
  CHECK(one.is_vacuous(0));
  one.sets.values[0] = range(0, 0x1p-22);  // four subnormal numbers
  one.scales[0] = 0x1p-22;
  CHECK_FALSE(one.is_vacuous(0));
  one.sets.values[0] = range(0, 0x1p-14);
  one.scales[0] = 0x1p-14;
  CHECK(one.is_vacuous(0));
}

TEST_CASE("storage: only float32 is stored shorter, and each output has a format", "[contracts]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1}, "x");
  graph.mark_output(graph.append(Op::neg, {x}).value(), "y");
  const std::vector<Tensor> inputs = {Tensor::of_doubles({1}, std::vector<double>{1})};
  const std::array<Storage, 2> stored = {Storage::bfloat16, Storage::bfloat16};
  const auto code = [&](std::size_t count) {
    const auto sets = contracts::admissible(graph, double_model(), inputs, {}, std::span(stored).first(count));
    return sets ? std::string() : sets.rejection().code;
  };
  CHECK(code(0).empty());
  CHECK(code(1) == "contract.storage");
  CHECK(code(2) == "contract.storage");
  CHECK(contracts::describe(stored_sets(Op::neg, NoAttributes{}, {vector_of({1})}, Storage::binary16), vector_of({1}), 0).find("float16") !=
        std::string::npos);
}

}  // namespace
}  // namespace assay::test
