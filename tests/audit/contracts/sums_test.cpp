// Sums and products of sums: every order passes, what is computed wrongly fails.
#include "semantics/ops/denote.h"

#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

Admissible dot_sets(const Floats& a, const Floats& b, const ExecutionModel& model = float_model()) {
  return sets_of(Op::matmul, NoAttributes{}, model, {vector_of(a), vector_of(b)});
}

Floats all_dots(const Floats& a, const Floats& b, std::mt19937_64& random) {
  Floats reversed_a(a.rbegin(), a.rend()), reversed_b(b.rbegin(), b.rend());
  double wide = 0;
  for (std::size_t i = 0; i < a.size(); ++i) wide += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  return {in_order(products(a, b)),          pairwise(products(a, b)), fused_dot(a, b),
          fused_dot(reversed_a, reversed_b), mixed_dot(a, b, random),  in_random_order(products(a, b), random),
          static_cast<float>(wide)};
}

TEST_CASE("a dot product in any order is within its contract", "[contracts]") {
  std::mt19937_64 random(71);
  for (int round = 0; round < 400; ++round) {
    const std::size_t n = 1 + random() % 300;
    const float scale = std::ldexp(1.0F, static_cast<int>(random() % 60) - 30);
    Floats a = round % 3 == 0 ? small_integers(random, n) : gaussians(random, n, scale), b = gaussians(random, n);
    if (round % 5 == 0) b = sparse(random, n, 1 + n / 20);
    if (round % 7 == 0) a = gaussians(random, n, 0x1p-140F);  // subnormal products
    const Admissible sets = dot_sets(a, b);
    for (const float value : all_dots(a, b, random)) CHECK(within(sets, {value}));
  }
}

TEST_CASE("a dropped product, rounded factors and narrow partial sums fail on sparse operands", "[contracts]") {
  std::mt19937_64 random(72);
  int dropped = 0, narrow_inputs = 0, narrow_sums = 0;
  const int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    const std::size_t n = 512;
    const Floats a = gaussians(random, n), b = sparse(random, n, 16);
    const Admissible sets = dot_sets(a, b);
    Floats terms = products(a, b), narrow_a, narrow_b;
    for (std::size_t i = 0; i < n; ++i) {
      narrow_a.push_back(tf32(a[i]));
      narrow_b.push_back(tf32(b[i]));
    }
    float half_sum = 0;
    for (const float term : terms) half_sum = rounded_to_half(half_sum + term);
    *std::find_if(terms.begin(), terms.end(), [](float term) { return term != 0; }) = 0;
    dropped += static_cast<int>(judged(sets, {in_order(terms)}).failed);
    narrow_inputs += static_cast<int>(judged(sets, {fused_dot(narrow_a, narrow_b)}).failed);
    narrow_sums += static_cast<int>(judged(sets, {half_sum}).failed);
  }
  CHECK(dropped > rounds * 97 / 100);
  CHECK(narrow_inputs > rounds * 93 / 100);
  CHECK(narrow_sums > rounds * 90 / 100);
}

TEST_CASE("declared TF32 factors are admitted, and binary32 ones are not", "[contracts]") {
  std::mt19937_64 random(73);
  ExecutionModel model = float_model();
  model.input_rounding = ExecutionModel::InputRounding::tf32;
  int flagged = 0;
  for (int round = 0; round < 100; ++round) {
    const Floats a = gaussians(random, 8), b = gaussians(random, 8);
    Floats narrow_a, narrow_b;
    for (std::size_t i = 0; i < a.size(); ++i) {
      narrow_a.push_back(tf32(a[i]));
      narrow_b.push_back(tf32(b[i]));
    }
    CHECK(within(dot_sets(a, b, model), {fused_dot(narrow_a, narrow_b)}));
    model.input_rounding = ExecutionModel::InputRounding::binary16;
    flagged += static_cast<int>(judged(dot_sets(a, b, model), {fused_dot(a, b)}).failed);
    model.input_rounding = ExecutionModel::InputRounding::tf32;
  }
  CHECK(flagged > 80);
}

TEST_CASE("the exact tier asks for equal bits", "[contracts]") {
  std::mt19937_64 random(74);
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + random() % 700;
    const float grid = std::ldexp(1.0F, static_cast<int>(random() % 40) - 20);
    Floats a = small_integers(random, n, 100), b = small_integers(random, n, 50);
    for (float& value : a) value *= grid;
    const Admissible sets = dot_sets(a, b);
    const float right = in_order(products(a, b));
    CHECK(within(sets, {right}));
    CHECK(within(sets, {fused_dot(a, b)}));
    if (right == 0) continue;
    CHECK(judged(sets, {steps_from(right, 1)}).failed == 1);
    CHECK(judged(sets, {steps_from(right, -1)}).failed == 1);
  }
}

TEST_CASE("the exact tier ends where a partial sum may round", "[contracts]") {
  // Products that are multiples of 1 with a sum of magnitudes of 2^24: exact; one more: not.
  Floats a(4096, 64.0F), b(4096, 64.0F);
  CHECK(dot_sets(a, b).sets.values[0].lo == 0x1p24);
  CHECK(dot_sets(a, b).sets.values[0].hi == 0x1p24);
  a.push_back(1);
  b.push_back(1);
  const Admissible beyond = dot_sets(a, b);
  CHECK(beyond.sets.values[0].lo < beyond.sets.values[0].hi);
  CHECK(beyond.sets.values[0].contains(0x1p24));  // 2^24 + 1 is no float
}

TEST_CASE("a single product is correctly rounded", "[contracts]") {
  std::mt19937_64 random(75);
  for (int round = 0; round < 300; ++round) {
    Floats a = gaussians(random, 50), b(50, 0.0F);
    const std::size_t at = random() % 50;
    b[at] = gaussian(random);
    const Admissible sets = dot_sets(a, b);
    const float right = a[at] * b[at];
    CHECK(within(sets, {right}));
    CHECK(judged(sets, {steps_from(right, 1)}).failed == 1);
    CHECK(judged(sets, {steps_from(right, -1)}).failed == 1);
  }
}

TEST_CASE("sums from left to right without fused operations leave one execution", "[contracts]") {
  std::mt19937_64 random(76);
  ExecutionModel model = float_model();
  model.accumulator = ExecutionModel::Accumulator::left_to_right;
  model.fused_multiply_add = false;
  for (int round = 0; round < 50; ++round) {
    const Floats a = gaussians(random, 40), b = gaussians(random, 40);
    const float right = in_order(products(a, b));
    const Admissible sets = dot_sets(a, b, model);
    CHECK(within(sets, {right}));
    CHECK(judged(sets, {steps_from(right, 1)}).failed == 1);
  }
}

TEST_CASE("a declared tree is sharper than any order, and holds for pairwise sums", "[contracts]") {
  std::mt19937_64 random(77);
  ExecutionModel tree = float_model();
  tree.accumulator = ExecutionModel::Accumulator::tree;
  tree.tree_height = 10;
  for (int round = 0; round < 40; ++round) {
    const Floats a = gaussians(random, 1024), b = gaussians(random, 1024);
    const Admissible sharp = dot_sets(a, b, tree), any = dot_sets(a, b);
    CHECK(within(sharp, {pairwise(products(a, b))}));
    CHECK(sharp.sets.values[0].hi - sharp.sets.values[0].lo < 0.02 * (any.sets.values[0].hi - any.sets.values[0].lo));
  }
}

// In blocks of `size`: each in order, and their sums in order.
float in_blocks(const Floats& terms, std::size_t size) {
  Floats sums;
  for (std::size_t first = 0; first < terms.size(); first += size)
    sums.push_back(in_order(Floats(terms.begin() + static_cast<std::ptrdiff_t>(first),
                                   terms.begin() + static_cast<std::ptrdiff_t>(std::min(first + size, terms.size())))));
  return in_order(sums);
}

TEST_CASE("a model that says nothing about sums holds for blocks of every size, and says something of long ones", "[contracts]") {
  std::mt19937_64 random(78);
  const Attributes all = ReduceAttributes{{0}, false};
  const auto usual = parse_execution_model("binary32 math=glibc-2.36");
  REQUIRE(usual.ok());
  for (const bool alike : {false, true}) {  // alike: roundings that go the same way
    const Floats terms = alike ? Floats(200'000, 0.1F) : gaussians(random, 200'000);
    const Admissible sharp = sets_of(Op::reduce_sum, all, usual.value(), {vector_of(terms)}),
                     any = sets_of(Op::reduce_sum, all, float_model(), {vector_of(terms)});
    CHECK(any.is_vacuous(0));
    CHECK_FALSE(sharp.is_vacuous(0));
    for (const std::size_t size : {256, 300, 512, 1000, 1024}) CHECK(within(sharp, {in_blocks(terms, size)}));
    CHECK(within(sharp, {pairwise(terms)}));
    const float chain = in_order(terms);
    CHECK(within(any, {chain}));
    if (alike) CHECK(judged(sharp, {chain}).failed == 1);
  }
  const Floats some = gaussians(random, 4097);  // up to here the two are the same
  CHECK(sets_of(Op::reduce_sum, all, usual.value(), {vector_of(some)}).sets.values[0] ==
        sets_of(Op::reduce_sum, all, float_model(), {vector_of(some)}).sets.values[0]);
}

TEST_CASE("overflow is admitted exactly where a partial sum can reach it", "[contracts]") {
  const float big = 0x1p127F, below = std::nextafter(big, 0.0F);
  // The sum of magnitudes stays below 2^128 - 2^103 with room for rounding.
  const Admissible safe = sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, float_model(), {vector_of({big, 0x1p126F})});
  CHECK(judged(safe, {INFINITY}).failed == 1);
  CHECK(judged(safe, {1.5F * big}).failed == 0);
  const Admissible over = sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, float_model(), {vector_of({big, big, -big})});
  CHECK(judged(over, {INFINITY}).failed == 0);
  CHECK(judged(over, {big}).failed == 0);
  CHECK(judged(over, {-INFINITY}).failed == 1);
  CHECK(judged(over, {below / 2}).failed == 1);
  const Admissible both = sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, float_model(), {vector_of({big, big, -big, -big})});
  CHECK(judged(both, {NAN}).failed == 0);
  CHECK(judged(over, {NAN}).failed == 1);
}

TEST_CASE("an infinity is admitted from the least sum that may round to it", "[contracts]") {
  // Integers times 2^104: partial sums are exact, so the bound alone decides. 2^128 - 2^104 is the largest number.
  const auto sum_of = [](const Floats& x) {
    return sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, float_model(""), {vector_of(x)});
  };
  const float largest = 0x1.fffffep127F, unit = 0x1p104F;
  CHECK(judged(sum_of({largest, 0x1p102F}), {INFINITY}).failed == 0);  // (1 + u) P reaches 2^128 - 2^103
  CHECK(judged(sum_of({largest - 4 * unit, 0x1p102F}), {INFINITY}).failed == 1);
  CHECK(judged(sum_of({largest - 4 * unit, 0x1p102F}), {largest - 4 * unit}).failed == 0);
  CHECK(judged(sum_of({-largest, -0x1p102F}), {-INFINITY}).failed == 0);
  CHECK(judged(sum_of({-largest, -0x1p102F}), {INFINITY}).failed == 1);
}

TEST_CASE("what is scaled after the sum may overflow before it", "[contracts]") {
  const Tensor large = tensor({1, 4}, {0x1p127F, 0x1p127F, -0x1p125F, 1});
  const Admissible mean = sets_of(Op::reduce_mean, ReduceAttributes{{1}, false}, float_model(), {large});
  CHECK(within(mean, {INFINITY}));
  CHECK_FALSE(within(mean, {-INFINITY}));
  CHECK(within(mean, {0x1.cp125F}));
  const Tensor ones = tensor({4, 1}, {1, 1, 1, 1});
  const Admissible halved = sets_of(Op::gemm, GemmAttributes{-0.25, 1, false, false}, float_model(), {large, ones});
  CHECK(within(halved, {-INFINITY}));
  CHECK_FALSE(within(halved, {INFINITY}));
  const Admissible fits = sets_of(Op::reduce_mean, ReduceAttributes{{1}, false}, float_model(), {tensor({1, 2}, {0x1p126F, 0x1p126F})});
  CHECK_FALSE(within(fits, {INFINITY}));
}

TEST_CASE("finite terms that may overflow meet an infinite one", "[contracts]") {
  const Floats ones{1, 1, 1};
  const Admissible meets = dot_sets({0x1.8p127F, 0x1.8p127F, -INFINITY}, ones);
  CHECK(within(meets, {NAN}));
  CHECK(within(meets, {-INFINITY}));
  CHECK_FALSE(within(meets, {INFINITY}));
  const Admissible same_sign = dot_sets({0x1.8p127F, 0x1.8p127F, INFINITY}, ones);
  CHECK_FALSE(within(same_sign, {NAN}));
  CHECK_FALSE(within(dot_sets({0x1p100F, 0x1p100F, -INFINITY}, ones), {NAN}));
}

TEST_CASE("a sum is vacuous from the length on at which its bound says nothing", "[contracts]") {
  std::mt19937_64 random(83);
  const auto vacuous = [&](std::size_t n) {
    const Floats x = gaussians(random, n);
    return judged(sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, float_model(""), {vector_of(x)}), {pairwise(x)}).vacuous;
  };
  CHECK(vacuous(32000) == 0);  // 2 (m - 1) u S is 2^-8 S at m = 2^15 + 1
  CHECK(vacuous(33000) == 1);
}

TEST_CASE("infinite and undefined operands reach the elements they belong to", "[contracts]") {
  const Tensor a = tensor({2, 2}, {1, INFINITY, 2, 3}), b = tensor({2, 2}, {1, 0, -2, 5});
  const Admissible sets = sets_of(Op::matmul, NoAttributes{}, float_model(), {a, b});
  // [1 - inf, inf], [2 - 6, 15]
  CHECK(within(sets, {-INFINITY, INFINITY, -4, 15}));
  CHECK(judged(sets, {INFINITY, INFINITY, -4, 15}).failed == 1);
  CHECK(judged(sets, {-INFINITY, NAN, -4, 15}).failed == 1);
  CHECK(judged(sets, {-INFINITY, INFINITY, NAN, 15}).failed == 1);
  const Admissible zero = sets_of(Op::matmul, NoAttributes{}, float_model(), {vector_of({0, 1}), vector_of({INFINITY, 1})});
  CHECK(within(zero, {NAN}));
  CHECK(judged(zero, {1}).failed == 1);
}

TEST_CASE("flush to zero is admitted only where it is declared", "[contracts]") {
  const Floats a = {0x1p-100F, 0x1p-110F}, b = {0x1p-30F, 0x1p-20F};  // products 2^-130
  CHECK(judged(dot_sets(a, b), {0.0F}).failed == 1);
  ExecutionModel model = float_model();
  model.flush_results = true;
  CHECK(judged(dot_sets(a, b, model), {0.0F}).failed == 0);
  const Tensor tiny = vector_of({0x1p-130F});
  CHECK(judged(sets_of(Op::mul, NoAttributes{}, float_model(), {tiny, vector_of({4})}), {0.0F}).failed == 1);
  model.flush_results = false;
  model.flush_operands = true;
  const Admissible sets = sets_of(Op::mul, NoAttributes{}, model, {tiny, vector_of({64})});
  CHECK(judged(sets, {0.0F}).failed == 0);
  CHECK(judged(sets, {0x1p-124F}).failed == 0);
  CHECK(judged(sets, {0x1p-123F}).failed == 1);
}

// ---- the other sums ----

struct SumCase {
  std::string name;
  Op op;
  Attributes attributes;
  std::vector<Shape> shapes;
};

std::vector<SumCase> sum_cases() {
  WindowAttributes pool;
  pool.kernel = {2, 3};
  pool.strides = {2, 1};
  pool.dilations = {1, 1};
  pool.pads_begin = {1, 0};
  pool.pads_end = {0, 2};
  WindowAttributes conv = pool;
  conv.groups = 2;
  WindowAttributes transposed = conv;
  transposed.output_padding = {1, 0};
  WindowAttributes padded = pool;
  padded.count_include_pad = true;
  return {
      {"gemm", Op::gemm, GemmAttributes{1, 1, false, true}, {{4, 37}, {5, 37}, {5}}},
      {"scaled gemm", Op::gemm, GemmAttributes{0.3, -1.7, true, false}, {{19, 3}, {19, 6}, {3, 1}}},
      {"matmul", Op::matmul, NoAttributes{}, {{2, 3, 21}, {21, 4}}},
      {"conv", Op::conv, conv, {{2, 4, 5, 6}, {6, 2, 2, 3}, {6}}},
      {"conv_transpose", Op::conv_transpose, transposed, {{1, 4, 3, 4}, {4, 3, 2, 3}, {6}}},
      {"reduce_sum", Op::reduce_sum, ReduceAttributes{{0, 2}, true}, {{4, 3, 9}}},
      {"reduce_mean", Op::reduce_mean, ReduceAttributes{{1}, false}, {{4, 23}}},
      {"avg_pool", Op::avg_pool, pool, {{2, 3, 6, 7}}},
      {"padded avg_pool", Op::avg_pool, padded, {{2, 3, 6, 7}}},
      {"cumsum", Op::cumsum, CumulativeAttributes{1, true, true}, {{3, 17}}},
      {"weighted_gather",
       Op::weighted_gather,
       WeightedGatherAttributes{1,
                                {0, 2, 5, 5, 6},
                                {0, 1, 1, 2, 3, 0},
                                {Rational(1, 3), Rational(2, 3), Rational(1, 2), Rational(-5, 7), Rational(1), Rational(1)}},
       {{3, 4, 2}}},
      {"place", Op::place, PlaceAttributes{{0, 2, 2, 1, 2, 0, 2}, {4}}, {{7}}},
  };
}

TEST_CASE("every sum: the float denotation passes, a change beyond the allowance fails", "[contracts]") {
  std::mt19937_64 random(78);
  for (const SumCase& one : sum_cases()) {
    CAPTURE(one.name);
    double worst = 0;
    for (int round = 0; round < 30; ++round) {
      Graph graph;
      std::vector<NodeId> ids;
      std::vector<Tensor> operands;
      std::vector<Array<float>> arrays;
      for (const Shape& shape : one.shapes) {
        const Floats values = round % 4 == 0 ? small_integers(random, element_count(shape)) : gaussians(random, element_count(shape));
        operands.push_back(tensor(shape, values));
        arrays.push_back({shape, values});
        ids.push_back(graph.append_input(DType::float32, shape, ""));
      }
      graph.mark_output(graph.append(one.op, ids, one.attributes).value(), "y");
      const Floats y = evaluate<float>(graph, arrays).value().back().values;
      const Admissible sets = sets_of(one.op, one.attributes, float_model(), operands);
      CHECK(within(sets, y));
      const Judgement result = judged(sets, y);
      CHECK(result.vacuous == 0);
      worst = std::max(worst, result.head_room_used);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const contracts::FloatSet& set = sets.sets.values[i];
        REQUIRE(set.has_finite());
        Floats wrong = y;
        wrong[i] = std::nextafter(static_cast<float>(set.hi), INFINITY);
        CHECK(judged(sets, wrong).first_failure == i);
        wrong[i] = std::nextafter(static_cast<float>(set.lo), -INFINITY);
        CHECK(judged(sets, wrong).first_failure == i);
      }
    }
    CHECK(worst > 0.01);
    CHECK(worst <= 1);
  }
}

TEST_CASE("a mean by the rounded reciprocal, and by an exact division only", "[contracts]") {
  std::mt19937_64 random(79);
  ExecutionModel strict = float_model();
  strict.reciprocal_of_count = false;
  int differs = 0;
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 3 + random() % 40;
    const Floats x = small_integers(random, n, 1000);  // an exact sum
    const float sum = in_order(x), divided = sum / static_cast<float>(n), multiplied = sum * (1.0F / static_cast<float>(n));
    const Admissible weak = sets_of(Op::reduce_mean, ReduceAttributes{{0}, false}, float_model(), {vector_of(x)});
    const Admissible sharp = sets_of(Op::reduce_mean, ReduceAttributes{{0}, false}, strict, {vector_of(x)});
    CHECK(within(weak, {divided}));
    CHECK(within(weak, {multiplied}));
    CHECK(within(sharp, {divided}));
    if (multiplied != divided) differs += static_cast<int>(judged(sharp, {multiplied}).failed);
    // Divided by the wrong count.
    if (sum != 0) CHECK(judged(weak, {sum / static_cast<float>(n + 1)}).failed == 1);
  }
  CHECK(differs > 0);
}

TEST_CASE("padding at the end that is ignored fails", "[contracts]") {
  std::mt19937_64 random(80);
  const Floats x = small_integers(random, 8), w = {1, 2, 3};
  WindowAttributes conv;
  conv.kernel = {3};
  conv.strides = conv.dilations = {1};
  conv.pads_begin = {0};
  conv.pads_end = {2};
  const Admissible sets = sets_of(Op::conv, conv, float_model(), {tensor({1, 1, 8}, x), tensor({1, 1, 3}, w)});
  Floats right, wrong;
  for (std::size_t o = 0; o < 8; ++o) {
    float padded = 0, clamped = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      padded += o + k < 8 ? w[k] * x[o + k] : 0.0F;
      clamped += w[k] * x[std::min<std::size_t>(o + k, 7)];
    }
    right.push_back(padded);
    wrong.push_back(clamped);
  }
  CHECK(within(sets, right));
  CHECK(judged(sets, wrong).failed > 0);
}

TEST_CASE("a wide accumulator and one that rounds towards zero", "[contracts]") {
  std::mt19937_64 random(81);
  ExecutionModel wide = float_model();
  wide.accumulator_format = ExecutionModel::AccumulatorFormat::binary64;
  int flagged = 0;
  for (int round = 0; round < 60; ++round) {
    const Floats a = gaussians(random, 200), b = gaussians(random, 200);
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    CHECK(within(dot_sets(a, b, wide), {static_cast<float>(sum)}));
    flagged += static_cast<int>(judged(dot_sets(a, b, wide), {fused_dot(a, b)}).failed);
  }
  CHECK(flagged > 30);
  ExecutionModel chopped = float_model();
  chopped.accumulator_rounding = ExecutionModel::AccumulatorRounding::toward_zero;
  int only_chopped = 0;
  for (int round = 0; round < 200; ++round) {
    Floats x;
    for (int i = 0; i < 6; ++i) x.push_back(std::fabs(gaussian(random)) + 0x1p-12F);
    double sum = 0;
    for (const float value : x) {
      sum += static_cast<double>(value);  // exact enough: chopped below
      float down = static_cast<float>(sum);
      if (static_cast<double>(down) > sum) down = std::nextafter(down, 0.0F);
      sum = static_cast<double>(down);
    }
    const auto of = [&](const ExecutionModel& model) {
      return sets_of(Op::reduce_sum, ReduceAttributes{{0}, false}, model, {vector_of(x)});
    };
    CHECK(within(of(chopped), {static_cast<float>(sum)}));
    only_chopped += static_cast<int>(of(chopped).sets.values[0].lo < of(float_model()).sets.values[0].lo);
  }
  CHECK(only_chopped > 150);
}

TEST_CASE("double sums are judged with more than double precision", "[contracts]") {
  std::mt19937_64 random(82);
  std::normal_distribution<double> draw;
  for (int round = 0; round < 40; ++round) {
    std::vector<double> a, b;
    for (int i = 0; i < 100; ++i) {
      a.push_back(draw(random));
      b.push_back(i < 12 || round % 2 == 0 ? draw(random) : 0);
    }
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) sum = std::fma(a[i], b[i], sum);
    const Admissible sets =
        sets_of(Op::matmul, NoAttributes{}, double_model(), {Tensor::of_doubles({100}, a), Tensor::of_doubles({100}, b)});
    CHECK(judged(sets, Tensor::of_doubles({}, std::vector<double>{sum})).failed == 0);
    CHECK(judged(sets, Tensor::of_doubles({}, std::vector<double>{sum + 1e-12})).failed == 1);
  }
}

}  // namespace
}  // namespace assay::test
