// Normalisations: every way to compute mean and variance passes where it is declared, wrong ones fail.
#include <algorithm>

#include "tests/audit/contracts/executions.h"

namespace assay::test {
namespace {

struct Statistics {
  float mean, variance;
};
Statistics two_pass(const Floats& x) {
  const float n = static_cast<float>(x.size()), mean = in_order(x) / n;
  Floats squares;
  for (const float value : x) squares.push_back((value - mean) * (value - mean));
  return {mean, in_order(squares) / n};
}
Statistics welford(const Floats& x) {
  float mean = 0, m2 = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float d = x[i] - mean;
    mean += d / static_cast<float>(i + 1);
    m2 += d * (x[i] - mean);
  }
  return {mean, m2 / static_cast<float>(x.size())};
}
Statistics one_pass(const Floats& x) {
  const float n = static_cast<float>(x.size()), mean = in_order(x) / n;
  Floats squares;
  for (const float value : x) squares.push_back(value * value);
  return {mean, std::max(in_order(squares) / n - mean * mean, 0.0F)};
}
Floats normalised(const Floats& x, const Statistics& s, bool by_reciprocal = false) {
  Floats y;
  const float root = std::sqrt(s.variance + 1e-5F);
  for (const float value : x) y.push_back(by_reciprocal ? (value - s.mean) * (1.0F / root) : (value - s.mean) / root);
  return y;
}
Admissible layer_norm_sets(const Floats& x, ExecutionModel::Moments moments,
                           ExecutionModel::Accumulator accumulator = ExecutionModel::Accumulator::any_order) {
  ExecutionModel model = float_model("");
  model.moments = moments;
  model.accumulator = accumulator;
  return sets_of(Op::normalise, NormaliseAttributes{{0}, static_cast<double>(1e-5F), NormaliseAttributes::Form::centered}, model,
                 {vector_of(x)});
}
using Moments = ExecutionModel::Moments;

TEST_CASE("layer normalisation in its classes", "[contracts]") {
  std::mt19937_64 random(55);
  for (int round = 0; round < 60; ++round) {
    const std::size_t n = 4 + random() % 250;
    const float shift = round % 3 == 0 ? 0.0F : round % 3 == 1 ? 3.0F : -10.0F;
    const Floats x = gaussians(random, n, 1, shift);
    const Admissible two = layer_norm_sets(x, Moments::two_pass);
    CHECK(within(two, normalised(x, two_pass(x))));
    CHECK(within(two, normalised(x, two_pass(x), true)));
    CHECK(within(layer_norm_sets(x, Moments::welford), normalised(x, welford(x))));
    CHECK(within(layer_norm_sets(x, Moments::one_pass), normalised(x, one_pass(x))));
    CHECK(judged(two, normalised(x, two_pass(x))).vacuous == 0);
    Statistics wrong = two_pass(x);
    wrong.variance *= static_cast<float>(n) / static_cast<float>(n - 1);
    if (n < 100) CHECK(judged(two, normalised(x, wrong)).failed > n / 2);
  }
}

// Parts of random sizes, merged in random order (Chan, Golub and LeVeque).
Statistics merged(const Floats& x, std::mt19937_64& random) {
  struct Part {
    float n, mean, m2;
  };
  std::vector<Part> parts;
  for (const float value : x) {
    if (!parts.empty() && random() % 3 != 0) {  // an element joins the last part
      Part& part = parts.back();
      const float d = value - part.mean;
      part.n += 1;
      part.mean += d / part.n;
      part.m2 = std::fma(d, value - part.mean, part.m2);
    } else {
      parts.push_back({1, value, 0});
    }
  }
  while (parts.size() > 1) {
    std::swap(parts[random() % parts.size()], parts.back());
    const Part b = parts.back();
    parts.pop_back();
    Part& a = parts[random() % parts.size()];
    const float n = a.n + b.n, d = b.mean - a.mean;
    a.mean += d * (b.n / n);
    a.m2 += b.m2 + d * d * (a.n * b.n / n);
    a.n = n;
  }
  return {parts[0].mean, parts[0].m2 / parts[0].n};
}

TEST_CASE("moments merged from parts in any order, and one element after the other", "[contracts]") {
  std::mt19937_64 random(60);
  std::size_t vacuous = 0, elements = 0;
  for (int round = 0; round < 200; ++round) {
    const std::size_t n = 1 + random() % 200;
    const Floats x = gaussians(random, n, 1, round % 3 == 0 ? 0.0F : round % 3 == 1 ? 5.0F : 500.0F);
    const Admissible any = layer_norm_sets(x, Moments::welford);
    const Admissible ordered = layer_norm_sets(x, Moments::welford, ExecutionModel::Accumulator::left_to_right);
    const Floats y = normalised(x, merged(x, random)), z = normalised(x, welford(x));
    CHECK(within(any, y));
    CHECK(within(any, z));
    CHECK(within(ordered, z));
    if (n > 1) CHECK(ordered.sets.values[0].hi - ordered.sets.values[0].lo <= any.sets.values[0].hi - any.sets.values[0].lo);
    if (round % 3 == 0) vacuous += judged(ordered, z).vacuous;
    if (round % 3 == 0) elements += n;
    Statistics wrong = welford(x);
    wrong.variance = wrong.variance * 1.1F + 0.01F;
    if (round % 3 == 0 && n > 20) CHECK(judged(any, normalised(x, wrong)).failed > n / 2);
  }
  CHECK(vacuous < elements / 10);
}

// Lanes that take every k-th element one after the other, or blocks of neighbours in two passes, merged in turn.
Statistics by_lanes(const Floats& x, std::size_t lanes, bool in_blocks, bool by_weights) {
  float count = 0, mean = 0, m2 = 0;
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    Floats part;
    for (std::size_t i = 0; i < x.size(); ++i)
      if ((in_blocks ? i * lanes / x.size() : i % lanes) == lane) part.push_back(x[i]);
    if (part.empty()) continue;
    const Statistics one = in_blocks ? two_pass(part) : welford(part);
    const float size = static_cast<float>(part.size()), n = count + size, d = one.mean - mean, of_part = one.variance * size;
    mean = by_weights ? (count * mean + size * one.mean) / n : mean + d * (size / n);
    m2 = count == 0 ? of_part : m2 + of_part + d * d * (count * size / n);
    count = n;
  }
  return {mean, m2 / count};
}

TEST_CASE("moments merged from lanes and blocks of long rows are decided in any order", "[contracts]") {
  std::mt19937_64 random(62);
  for (const std::size_t n : {7U, 129U, 1025U, 8193U}) {
    const Floats x = gaussians(random, n, 1, 0.25F);
    const Admissible any = layer_norm_sets(x, Moments::welford);
    for (const bool in_blocks : {false, true}) {
      for (const bool by_weights : {false, true}) {
        const Floats y = normalised(x, by_lanes(x, 8, in_blocks, by_weights));
        CHECK(within(any, y));
        CHECK(judged(any, y).vacuous == 0);
      }
    }
    CHECK(within(any, normalised(x, two_pass(x))));
    Statistics wrong = two_pass(x);
    wrong.variance *= 1.02F;
    CHECK(judged(any, normalised(x, wrong)).failed > n / 2);
  }
}

TEST_CASE("a mean that is merged from parts may round where its sum is exact", "[contracts]") {
  std::mt19937_64 random(63);
  std::size_t rounded = 0;
  for (int round = 0; round < 200; ++round) {
    Floats x(32, 0);
    for (std::size_t i = 0; i < 30; i += 2) x[i + 1] = -(x[i] = static_cast<float>(random() % 7));
    std::shuffle(x.begin(), x.end(), random);
    const Statistics merged = welford(x);
    if (merged.mean == 0) continue;
    ++rounded;
    const Admissible sets = layer_norm_sets(x, Moments::two_pass);
    CHECK(within(sets, normalised(x, merged)));
    CHECK(sets.sets.values[0].hi - sets.sets.values[0].lo < 0x1p-14);
    const std::size_t zero = static_cast<std::size_t>(std::find(x.begin(), x.end(), 0.0F) - x.begin());
    Floats wrong = normalised(x, merged);
    wrong[zero] = 0x1p-14F;
    CHECK(judged(sets, wrong).failed == 1);
  }
  CHECK(rounded > 50);
}

TEST_CASE("one pass or two admits what two passes admit, with means that are merged", "[contracts]") {
  const Floats x = {1, -1, 3, -5, -3, -1, 6, -1, 1, 0, -6, -1, 1, 1, 0, 5};  // the mean is 0; merged means round
  const Statistics s = two_pass(x);
  Floats y;
  for (const float value : x) y.push_back((value + 3e-8F) / std::sqrt(s.variance + 1e-5F));
  CHECK(within(layer_norm_sets(x, Moments::two_pass), y));
  CHECK(within(layer_norm_sets(x, Moments::one_or_two_pass), y));
}

TEST_CASE("zeros and single elements lose nothing in a mean", "[contracts]") {
  for (const std::size_t n : {std::size_t{1}, std::size_t{4}, std::size_t{1024}}) {
    const Admissible sets = layer_norm_sets(Floats(n, 0.0F), Moments::two_pass);
    CHECK(judged(sets, Floats(n, 0.0F)).vacuous == 0);
    CHECK(judged(sets, Floats(n, 1e-6F)).failed == n);
  }
}

TEST_CASE("sums of squares may be fused", "[contracts]") {
  std::mt19937_64 random(61);
  using Form = NormaliseAttributes::Form;
  for (int round = 0; round < 100; ++round) {
    const std::size_t n = 1 + random() % 6;
    const Floats x = gaussians(random, n);
    float squares = 0;
    for (const float value : x) squares = std::fma(value, value, squares);
    Floats y;
    for (const float value : x) y.push_back(value / std::sqrt(squares + 0x1p-20F));
    CHECK(within(sets_of(Op::normalise, NormaliseAttributes{{0}, 0x1p-20, Form::l2}, float_model(""), {vector_of(x)}), y));
  }
}

TEST_CASE("a variance in one pass at a large mean: vacuous as declared, failed as two passes", "[contracts]") {
  std::mt19937_64 random(56);
  std::size_t failed = 0, elements = 0;
  for (int round = 0; round < 20; ++round) {
    const Floats x = gaussians(random, 16, 1, 2000);
    const Floats y = normalised(x, one_pass(x));
    const Judgement own = judged(layer_norm_sets(x, Moments::one_pass), y);
    CHECK(own.failed == 0);
    CHECK(own.passed == 0);
    failed += judged(layer_norm_sets(x, Moments::two_pass), y).failed;
    elements += x.size();
    CHECK(within(layer_norm_sets(x, Moments::two_pass), normalised(x, two_pass(x))));
    CHECK(within(layer_norm_sets(x, Moments::welford), normalised(x, welford(x))));
  }
  CHECK(failed > elements * 8 / 10);
}

TEST_CASE("the other norms", "[contracts]") {
  std::mt19937_64 random(57);
  using Form = NormaliseAttributes::Form;
  for (int round = 0; round < 40; ++round) {
    const std::size_t n = 2 + random() % 60;
    const Floats x = gaussians(random, n, 3);
    Floats squares, sizes;
    for (const float value : x) {
      squares.push_back(value * value);
      sizes.push_back(std::fabs(value));
    }
    const Statistics s = two_pass(x);
    const float count = static_cast<float>(n);
    const auto check = [&](Form form, float divisor, bool centred) {
      Floats y, wrong;
      for (const float value : x) {
        y.push_back((centred ? value - s.mean : value) / divisor);
        wrong.push_back(y.back() * 1.01F);
      }
      const Admissible sets = sets_of(Op::normalise, NormaliseAttributes{{0}, 0.0009765625, form}, float_model(""), {vector_of(x)});
      CHECK(within(sets, y));
      CHECK(judged(sets, y).vacuous == 0);
      CHECK(judged(sets, wrong).failed > n / 2);
    };
    check(Form::root_mean, std::sqrt(in_order(squares) / count + 0.0009765625F), false);
    check(Form::l2, std::sqrt(in_order(squares) + 0.0009765625F), false);
    check(Form::l1, in_order(sizes) + 0.0009765625F, false);
    check(Form::deviation, std::sqrt(s.variance) + 0.0009765625F, true);
  }
}

}  // namespace
}  // namespace assay::test
