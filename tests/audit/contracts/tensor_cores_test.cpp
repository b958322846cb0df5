// Sums of products as tensor cores take them: blocks of any size in any order, terms and sums cut off. Results within the model
// pass; narrower accumulators do not.
#include "kernel/floats/sums.h"
#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

using Factors = ExecutionModel::InputRounding;

ExecutionModel tensor_cores(Factors factors) {
  ExecutionModel model = float_model();
  model.input_rounding = factors;
  model.accumulator_rounding = ExecutionModel::AccumulatorRounding::aligned;
  return model;
}

// The number of the format that is nearest, of ordinary size.
float rounded(Factors factors, float x) {
  const int bits = factors == Factors::bfloat16 ? 8 : 11;
  int exponent = 0;
  const float mantissa = std::frexp(x, &exponent);
  return std::ldexp(std::nearbyint(std::ldexp(mantissa, bits)), exponent - bits);
}

// Sums as one generation of tensor cores takes them. The numbers are those of the literature (Fasi, Higham, Mikaitis and Pranesh
// 2021). Blocks are of 4 on Volta, 8 on Ampere, up to 16 on Hopper. Terms keep 23 bits behind the largest exponent, or one or two
// more; sums are cut off.
struct Adder {
  std::size_t block = 8;
  int bits = 23;
  bool downwards = false;  // cuts off towards -infinity, as two's complement does, instead of towards zero
};

double cut(const Adder& adder, double x, double unit) { return (adder.downwards ? std::floor(x / unit) : std::trunc(x / unit)) * unit; }

float joined(const Adder& adder, std::vector<double> terms) {
  double most = 0, sum = 0;
  for (const double term : terms) most = std::fmax(most, std::fabs(term));
  if (most == 0) return 0;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(most), -126) - adder.bits);
  for (const double term : terms) sum += cut(adder, term, unit);  // exact in double: multiples of the unit
  if (sum == 0) return 0;
  const double last = std::ldexp(1.0, std::max(std::ilogb(sum), -126) - std::min(adder.bits, 23));
  return static_cast<float>(cut(adder, sum, last));
}

// Products in a random order, block by block; in two halves that are joined at the end, if wanted.
float block_sum(const Adder& adder, const Floats& a, const Floats& b, std::mt19937_64& random, bool halves = false) {
  std::vector<double> terms;
  for (std::size_t i = 0; i < a.size(); ++i) terms.push_back(static_cast<double>(a[i]) * static_cast<double>(b[i]));
  std::ranges::shuffle(terms, random);
  const auto chain = [&](std::size_t first, std::size_t end) {
    float sum = 0;
    for (std::size_t at = first; at < end; at += adder.block) {
      std::vector<double> block(terms.begin() + static_cast<std::ptrdiff_t>(at),
                                terms.begin() + static_cast<std::ptrdiff_t>(std::min(end, at + adder.block)));
      block.push_back(static_cast<double>(sum));
      sum = joined(adder, block);
    }
    return sum;
  };
  if (!halves) return chain(0, terms.size());
  const std::size_t middle = terms.size() / 2;
  return chain(0, middle) + chain(middle, terms.size());  // rounded to nearest, as splits of the inner axis are joined
}

Admissible dot_sets(const Floats& a, const Floats& b, const ExecutionModel& model) {
  return sets_of(Op::matmul, NoAttributes{}, model, {vector_of(a), vector_of(b)});
}

Floats all_rounded(Factors factors, Floats x) {
  for (float& value : x) value = value == 0 ? 0 : rounded(factors, value);
  return x;
}

TEST_CASE("tensor cores: right products of TF32, bfloat16 and float16 factors pass, whatever the blocks", "[contracts]") {
  std::mt19937_64 random(181);
  for (const Factors factors : {Factors::tf32, Factors::bfloat16, Factors::binary16}) {
    const ExecutionModel model = tensor_cores(factors);
    for (int round = 0; round < 240; ++round) {
      const std::size_t n = round % 40 == 0 ? 2048 : 1 + random() % 300;
      const bool wide = factors != Factors::binary16;  // exponents as those of float32
      const float scale = std::ldexp(1.0F, static_cast<int>(random() % (wide ? 60 : 8)) - (wide ? 30 : 4));
      Floats a = round % 3 == 0 ? small_integers(random, n) : gaussians(random, n, scale), b = gaussians(random, n);
      if (round % 5 == 0) b = sparse(random, n, 1 + n / 20);
      if (round % 7 == 0 && wide) a = gaussians(random, n, 0x1p-70F), b = gaussians(random, n, 0x1p-70F);  // subnormal products
      if (round % 11 == 0) b = gaussians(random, n, 1, 4);                                                 // one sign
      a = all_rounded(factors, a), b = all_rounded(factors, b);
      if (factors == Factors::binary16) {  // no subnormal factors here
        for (Floats* x : {&a, &b}) {
          for (float& value : *x) value = std::fabs(value) < 0x1p-14F ? 0 : value;
        }
      }
      const Admissible sets = dot_sets(a, b, model);
      CAPTURE(static_cast<int>(factors), round, n);
      for (const std::size_t block : {1, 4, 8, 16, 64}) {
        for (const int bits : {23, 24, 25}) CHECK(within(sets, {block_sum({block, bits, round % 2 == 0}, a, b, random, round % 4 == 0)}));
      }
    }
  }
}

// One large product and many that are cut off whole, as often as possible.
TEST_CASE("tensor cores: what is cut off in every block may be more than a chain of additions loses", "[contracts]") {
  const ExecutionModel model = tensor_cores(Factors::bfloat16);
  ExecutionModel chain = model;
  chain.accumulator_rounding = ExecutionModel::AccumulatorRounding::nearest_even;
  std::mt19937_64 random(182);
  int only_blocks = 0;
  for (const std::size_t n : {2, 3, 5, 9, 17, 65, 257, 1025}) {
    Floats a(n, 1), b(n, 0x1.fep-24F);
    b[0] = 1;
    for (const std::size_t block : {1, 4, 16}) {
      const float sum = block_sum({block, 23, false}, a, b, random);
      CHECK(within(dot_sets(a, b, model), {sum}));
      only_blocks += static_cast<int>(judged(dot_sets(a, b, chain), {sum}).failed);
    }
  }
  CHECK(only_blocks > 3);
}

TEST_CASE("tensor cores: accumulators with fewer bits than the model has are found", "[contracts]") {
  std::mt19937_64 random(183);
  for (const Factors factors : {Factors::tf32, Factors::bfloat16, Factors::binary16}) {
    const ExecutionModel model = tensor_cores(factors);
    int thirteen = 0, half = 0, dropped = 0, unrounded = 0;
    constexpr int kRounds = 200;
    for (int round = 0; round < kRounds; ++round) {
      const Floats wide = gaussians(random, 512), b = all_rounded(factors, sparse(random, 512, 16)), a = all_rounded(factors, wide);
      const Admissible sets = dot_sets(a, b, model);
      Floats terms = products(a, b);
      thirteen += static_cast<int>(judged(sets, {block_sum({16, 13, false}, a, b, random)}).failed);
      float sum = 0;
      for (const float term : terms) sum = rounded_to_half(sum + term);
      half += static_cast<int>(judged(sets, {sum}).failed);
      *std::ranges::find_if(terms, [](float term) { return term != 0; }) = 0;
      dropped += static_cast<int>(judged(sets, {in_order(terms)}).failed);
      unrounded += static_cast<int>(judged(dot_sets(wide, b, model), {fused_dot(wide, b)}).failed);
    }
    CAPTURE(static_cast<int>(factors));
    CHECK(thirteen > kRounds * 80 / 100);
    CHECK(half > kRounds * 85 / 100);
    CHECK(dropped > kRounds * 95 / 100);
    if (factors != Factors::tf32) CHECK(unrounded > kRounds * 90 / 100);  // TF32 by truncation or to nearest: what lies between is admitted
  }
}

TEST_CASE("tensor cores: whole numbers are exact, and sums that are no products are those of the format", "[contracts]") {
  std::mt19937_64 random(184);
  const ExecutionModel model = tensor_cores(Factors::bfloat16);
  const Floats a = small_integers(random, 200), b = small_integers(random, 200), x = gaussians(random, 40);
  const Admissible sets = dot_sets(a, b, model);
  const float sum = in_order(products(a, b));
  CHECK(block_sum({8, 23, false}, a, b, random) == sum);
  CHECK(within(sets, {sum}));
  CHECK(judged(sets, {sum + 1}).failed == 1);
  const auto sums = [&](const ExecutionModel& of) {
    return sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, of, {vector_of(x)}).sets.values[0];
  };
  const auto plain = sums(float_model()), here = sums(model);
  CHECK(plain.lo == here.lo);
  CHECK(plain.hi == here.hi);
}

TEST_CASE("tensor cores: the bound counts additions, and blocks twice", "[contracts]") {
  using floats::gamma_up;
  const ExecutionModel chain = tensor_cores(Factors::bfloat16);
  ExecutionModel tree = chain;
  tree.accumulator = ExecutionModel::Accumulator::tree;
  tree.tree_height = 5;
  const auto of = [](const ExecutionModel& model, double terms, bool products) {
    return floats::sum_errors(model, floats::Format::binary32, terms, {products})->to_terms;
  };
  constexpr double u = 0x1p-24;
  CHECK(of(chain, 1, true) == gamma_up(1, 2 * u));
  CHECK(of(chain, 100, true) == gamma_up(3 * 99 + 1, 2 * u));
  CHECK(of(tree, 100, true) == gamma_up(99 + 2 * 5 + 1, 2 * u));
  CHECK(of(tree, 4, true) == gamma_up(3 * 3 + 1, 2 * u));
  CHECK(of(chain, 100, false) == gamma_up(99, u));
  CHECK_FALSE(floats::sum_errors(chain, floats::Format::binary32, 0x1p20, {true}).has_value());
}

// Products below the least number, all cut off: together they are more than the half of a unit for each that rounding to nearest
// admits.
TEST_CASE("sums that are cut off lose whole units of the least number", "[contracts]") {
  for (const auto rounding : {ExecutionModel::AccumulatorRounding::toward_zero, ExecutionModel::AccumulatorRounding::aligned}) {
    ExecutionModel model = float_model();
    model.accumulator_rounding = rounding;
    const double lost = floats::sum_errors(model, floats::Format::binary32, 9000, {true})->absolute;
    CHECK(lost >= 9000 * (1 + floats::gamma_up(9000, 0x1p-23)) * 0x1p-149);
  }
}

}  // namespace
}  // namespace assay::test
