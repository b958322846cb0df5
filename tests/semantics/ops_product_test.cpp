// Products, convolutions and pools: hand-computed cases, and plain nested loops written from the ONNX text.
#include <algorithm>

#include "kernel/gradients/numbers/product_sum.h"
#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

std::vector<double> value_of(const OpCase& one, const std::vector<std::vector<double>>& operands) {
  const Graph graph = graph_of(one);
  REQUIRE(graph.outputs.size() == 1);
  std::vector<Array<double>> arrays;
  for (std::size_t i = 0; i < operands.size(); ++i) arrays.push_back({one.shapes[i], operands[i]});
  return denote_case(graph, arrays).value().values;
}

std::vector<double> random_integers(std::size_t count, std::mt19937_64& random) {
  std::vector<double> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(static_cast<double>(draw(random, Draw::any)));
  return values;
}

struct Plane {  // one set of two-dimensional window attributes, spelled out
  int N, C, H, W, M, G, kh, kw, sh, sw, dh, dw, top, left, bottom, right;

  [[nodiscard]] WindowAttributes attributes() const { return window({kh, kw}, {sh, sw}, {dh, dw}, {top, left}, {bottom, right}, G); }
};

Plane random_plane(std::mt19937_64& random) {
  const auto pick = [&random](int lo, int hi) { return lo + static_cast<int>(random() % static_cast<unsigned>(hi - lo + 1)); };
  Plane p{};
  p.G = pick(1, 3);
  p.N = pick(1, 2), p.C = p.G * pick(1, 2), p.M = p.G * pick(1, 2);
  p.H = pick(1, 7), p.W = pick(1, 7), p.kh = pick(1, 3), p.kw = pick(1, 3);
  p.sh = pick(1, 3), p.sw = pick(1, 3), p.dh = pick(1, 2), p.dw = pick(1, 2);
  p.top = pick(0, 2), p.left = pick(0, 2), p.bottom = pick(0, 2), p.right = pick(0, 2);
  return p;
}

// Number of windows along an axis, by trying one start after the other.
int windows(int extent, int kernel, int stride, int dilation, int before, int after, bool ceil_mode) {
  const int covered = dilation * (kernel - 1) + 1, padded = extent + before + after;
  if (covered > padded) return 0;
  int count = 0, start = 0;
  for (; start + covered <= padded; start += stride) ++count;
  if (!ceil_mode) return count;
  const int last = start - stride;
  const bool something_left = last + covered < padded;
  if (something_left) return start < extent + before ? count + 1 : count;
  return last < extent + before ? count : count - 1;  // dropped even where it would fit into the padding
}

}  // namespace

TEST_CASE("gemm by hand", "[ops]") {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6}, b = {1, 0, -1, 2, 3, 1};
  CHECK(value_of({"", Op::gemm, {{2, 3}, {3, 2}}, GemmAttributes{}}, {a, b}) == std::vector<double>{8, 7, 17, 16});
  CHECK(value_of({"", Op::gemm, {{2, 3}, {2, 3}, {2}}, GemmAttributes{2, -1, false, true}}, {a, b, {1, 10}}) ==
        std::vector<double>{2 * -2 - 1, 2 * 11 - 10, 2 * -2 - 1, 2 * 29 - 10});
  CHECK(value_of({"", Op::gemm, {{3, 2}, {3, 2}, {2, 1}}, GemmAttributes{1, 1, true, false}}, {a, b, {100, 200}}) ==
        std::vector<double>{1 - 3 + 15 + 100, 0 + 6 + 5 + 100, 2 - 4 + 18 + 200, 0 + 8 + 6 + 200});
}

TEST_CASE("matmul by hand", "[ops]") {
  CHECK(value_of({"", Op::matmul, {{2, 2}, {2}}}, {{1, 2, 3, 4}, {5, 6}}) == std::vector<double>{17, 39});
  CHECK(value_of({"", Op::matmul, {{2}, {2, 2}}}, {{5, 6}, {1, 2, 3, 4}}) == std::vector<double>{23, 34});
  CHECK(value_of({"", Op::matmul, {{3}, {3}}}, {{1, 2, 3}, {4, 5, 6}}) == std::vector<double>{32});
  CHECK(value_of({"", Op::matmul, {{2, 1, 1, 2}, {2, 2, 1}}}, {{1, 2, 3, 4}, {1, 1, 10, 1}}) == std::vector<double>{3, 12, 7, 34});
}

TEST_CASE("wide products keep their columns apart", "[ops]") {
  // 19 columns: two full stripes and a rest; column j of b is j times column 0.
  std::vector<double> b, expected;
  for (int k = 0; k < 4; ++k) {
    for (int j = 0; j < 19; ++j) b.push_back((k + 1) * j);
  }
  for (int j = 0; j < 19; ++j) expected.push_back((1 - 4 + 9 - 16) * j);
  CHECK(value_of({"", Op::matmul, {{1, 4}, {4, 19}}}, {{1, -2, 3, -4}, b}) == expected);
}

TEST_CASE("conv by hand", "[ops]") {
  const std::vector<double> x = {0, 1, 2, 3, 4, 5, 6, 7, 8};
  CHECK(value_of({"", Op::conv, {{1, 1, 3, 3}, {1, 1, 2, 2}, {1}}, window({2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0})},
                 {x, {1, 0, 0, -1}, {10}}) == std::vector<double>{6, 6, 6, 6});
  CHECK(value_of({"", Op::conv, {{1, 1, 3, 3}, {1, 1, 2, 2}}, window({2, 2}, {2, 2}, {1, 1}, {1, 1}, {0, 0})}, {x, {1, 2, 3, 4}}) ==
        std::vector<double>{0, 3 * 1 + 4 * 2, 2 * 3 + 4 * 6, 4 + 2 * 5 + 3 * 7 + 4 * 8});
}

TEST_CASE("conv_transpose by hand", "[ops]") {
  CHECK(value_of({"", Op::conv_transpose, {{1, 1, 2, 2}, {1, 1, 2, 2}}, window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0})},
                 {{1, 2, 3, 4}, {1, 10, 100, 1000}}) ==
        std::vector<double>{1, 10, 2, 20, 100, 1000, 200, 2000, 3, 30, 4, 40, 300, 3000, 400, 4000});
  CHECK(value_of({"", Op::conv_transpose, {{1, 1, 3}, {1, 1, 3}, {1}}, with_output_padding(window({3}, {2}, {1}, {1}, {0}), {1})},
                 {{1, 2, 3}, {1, 10, 100}, {5}}) == std::vector<double>{15, 107, 25, 208 - 0, 35, 305, 5});
}

TEST_CASE("pools by hand", "[ops]") {
  const std::vector<double> x = {1, -2, 3, 4, 5};
  CHECK(value_of({"", Op::max_pool, {{1, 1, 5}}, window({2}, {2}, {1}, {1}, {0})}, {x}) == std::vector<double>{1, 3, 5});
  CHECK(value_of({"", Op::max_pool, {{1, 1, 5}}, window({2}, {1}, {2}, {0}, {0})}, {x}) == std::vector<double>{3, 4, 5});
  CHECK(value_of({"", Op::max_pool, {{1, 1, 5}}, with_flags(window({2}, {2}, {1}, {0}, {0}), false, true)}, {x}) ==
        std::vector<double>{1, 4, 5});
  // All-negative windows beside padding: padding is no 0.
  CHECK(value_of({"", Op::max_pool, {{1, 1, 2}}, window({2}, {1}, {1}, {1}, {1})}, {{-3, -2}}) == std::vector<double>{-3, -2, -2});
  CHECK(value_of({"", Op::avg_pool, {{1, 1, 5}}, window({2}, {2}, {1}, {1}, {0})}, {x}) == std::vector<double>{1, 0.5, 4.5});
  CHECK(value_of({"", Op::avg_pool, {{1, 1, 5}}, with_flags(window({2}, {2}, {1}, {1}, {0}), true, false)}, {x}) ==
        std::vector<double>{0.5, 0.5, 4.5});
  // In ceil_mode the last window reaches behind the padding; elements there are not counted.
  CHECK(value_of({"", Op::avg_pool, {{1, 1, 5}}, with_flags(window({4}, {3}, {1}, {0}, {1}), true, true)}, {x}) ==
        std::vector<double>{1.5, 3});
}

TEST_CASE("conv and pools agree with plain loops on random geometry", "[ops]") {
  const std::uint64_t seed = 7;
  std::mt19937_64 random(seed);
  int convolutions = 0, pools = 0;
  for (int round = 0; round < 400; ++round) {
    const Plane p = random_plane(random);
    const int OH = windows(p.H, p.kh, p.sh, p.dh, p.top, p.bottom, false), OW = windows(p.W, p.kw, p.sw, p.dw, p.left, p.right, false);
    const std::vector<double> x = random_integers(static_cast<std::size_t>(p.N * p.C * p.H * p.W), random);
    const std::vector<double> w = random_integers(static_cast<std::size_t>(p.M * p.C / p.G * p.kh * p.kw), random);
    const OpCase one{"", Op::conv, {{p.N, p.C, p.H, p.W}, {p.M, p.C / p.G, p.kh, p.kw}}, p.attributes()};
    CAPTURE(seed, round);
    const Graph graph = graph_of(one);
    REQUIRE((graph.outputs.size() == 1) == (OH > 0 && OW > 0));
    if (OH == 0 || OW == 0) continue;
    REQUIRE(graph.nodes.back().shape == Shape{p.N, p.M, OH, OW});
    ++convolutions;
    std::vector<double> expected;
    for (int n = 0; n < p.N; ++n) {
      for (int m = 0; m < p.M; ++m) {
        for (int oh = 0; oh < OH; ++oh) {
          for (int ow = 0; ow < OW; ++ow) {
            double sum = 0;
            for (int c = 0; c < p.C / p.G; ++c) {
              for (int i = 0; i < p.kh; ++i) {
                for (int j = 0; j < p.kw; ++j) {
                  const int h = oh * p.sh - p.top + i * p.dh, v = ow * p.sw - p.left + j * p.dw;
                  if (h < 0 || h >= p.H || v < 0 || v >= p.W) continue;
                  const int channel = m / (p.M / p.G) * (p.C / p.G) + c;
                  sum += w[static_cast<std::size_t>(((m * (p.C / p.G) + c) * p.kh + i) * p.kw + j)] *
                         x[static_cast<std::size_t>(((n * p.C + channel) * p.H + h) * p.W + v)];
                }
              }
            }
            expected.push_back(sum);
          }
        }
      }
    }
    REQUIRE(value_of(one, {x, w}) == expected);
  }
  for (int round = 0; round < 400; ++round) {
    Plane p = random_plane(random);
    p.G = 1;
    const bool ceil_mode = random() % 2 == 0, include_pad = random() % 2 == 0;
    const int OH = windows(p.H, p.kh, p.sh, p.dh, p.top, p.bottom, ceil_mode),
              OW = windows(p.W, p.kw, p.sw, p.dw, p.left, p.right, ceil_mode);
    const OpCase average{"", Op::avg_pool, {{p.N, p.C, p.H, p.W}}, with_flags(p.attributes(), include_pad, ceil_mode)};
    const OpCase maximum{"", Op::max_pool, {{p.N, p.C, p.H, p.W}}, with_flags(p.attributes(), false, ceil_mode)};
    const std::vector<double> x = random_integers(static_cast<std::size_t>(p.N * p.C * p.H * p.W), random);
    std::vector<double> averages, maxima;
    bool every_window_holds_an_element = OH > 0 && OW > 0;
    for (int plane = 0; plane < p.N * p.C; ++plane) {
      for (int oh = 0; oh < OH; ++oh) {
        for (int ow = 0; ow < OW; ++ow) {
          int inside = 0, counted = 0;
          double sum = 0, largest = -1e9;
          for (int i = 0; i < p.kh; ++i) {
            for (int j = 0; j < p.kw; ++j) {
              const int h = oh * p.sh - p.top + i * p.dh, v = ow * p.sw - p.left + j * p.dw;
              if (h < p.H + p.bottom && v < p.W + p.right) ++counted;
              if (h < 0 || h >= p.H || v < 0 || v >= p.W) continue;
              ++inside;
              const double element = x[static_cast<std::size_t>((plane * p.H + h) * p.W + v)];
              sum += element;
              largest = std::max(largest, element);
            }
          }
          every_window_holds_an_element = every_window_holds_an_element && inside > 0;
          averages.push_back(sum / (include_pad ? counted : inside));
          maxima.push_back(largest);
        }
      }
    }
    CAPTURE(seed, round, ceil_mode, include_pad);
    REQUIRE((graph_of(average).outputs.size() == 1) == every_window_holds_an_element);
    if (!every_window_holds_an_element) continue;
    ++pools;
    REQUIRE(graph_of(average).nodes.back().shape == Shape{p.N, p.C, OH, OW});
    REQUIRE(value_of(average, {x}) == averages);
    REQUIRE(value_of(maximum, {x}) == maxima);
  }
  CHECK(convolutions > 150);
  CHECK(pools > 120);
}

TEST_CASE("conv_transpose is the adjoint of conv", "[ops]") {
  const std::uint64_t seed = 8;
  std::mt19937_64 random(seed);
  int checked = 0;
  for (int round = 0; round < 200; ++round) {
    const Plane p = random_plane(random);
    const OpCase conv{"", Op::conv, {{p.N, p.C, p.H, p.W}, {p.M, p.C / p.G, p.kh, p.kw}}, p.attributes()};
    const Graph forward = graph_of(conv);
    if (forward.outputs.empty()) continue;
    const Shape out = forward.nodes.back().shape;
    // The stride left over at the end of x comes back as output padding.
    const std::int64_t rest_h = (p.H + p.top + p.bottom - p.dh * (p.kh - 1) - 1) % p.sh;
    const std::int64_t rest_w = (p.W + p.left + p.right - p.dw * (p.kw - 1) - 1) % p.sw;
    const OpCase back{"", Op::conv_transpose, {out, {p.M, p.C / p.G, p.kh, p.kw}}, with_output_padding(p.attributes(), {rest_h, rest_w})};
    CAPTURE(seed, round);
    REQUIRE(graph_of(back).nodes.back().shape == Shape{p.N, p.C, p.H, p.W});
    const std::vector<double> x = random_integers(element_count(conv.shapes[0]), random);
    const std::vector<double> w = random_integers(element_count(conv.shapes[1]), random);
    const std::vector<double> y_bar = random_integers(element_count(out), random);
    const std::vector<double> y = value_of(conv, {x, w}), x_bar = value_of(back, {y_bar, w});
    double left = 0, right = 0;  // <y_bar, conv x> = <conv_transpose y_bar, x>, exact on integers
    for (std::size_t i = 0; i < y.size(); ++i) left += y[i] * y_bar[i];
    for (std::size_t i = 0; i < x.size(); ++i) right += x[i] * x_bar[i];
    CHECK(left == right);
    ++checked;
  }
  CHECK(checked > 80);
}

TEST_CASE("reductions and batch_norm by hand", "[ops]") {
  const std::vector<double> x = {1, 2, 3, 4, 5, 6};
  CHECK(value_of({"", Op::reduce_sum, {{2, 3}}, ReduceAttributes{{0}, true}}, {x}) == std::vector<double>{5, 7, 9});
  CHECK(value_of({"", Op::reduce_sum, {{2, 3}}, ReduceAttributes{{1}, false}}, {x}) == std::vector<double>{6, 15});
  CHECK(value_of({"", Op::reduce_mean, {{2, 3}}, ReduceAttributes{{1, 0}, false}}, {x}) == std::vector<double>{3.5});
  CHECK(value_of({"", Op::reduce_sum, {{2, 0}}, ReduceAttributes{{1}, true}}, {{}}) == std::vector<double>{0, 0});
  // (x - mean) * (scale / sqrt(var + 0)) + bias, channels [2, 3] with var 4 and 9
  CHECK(value_of({"", Op::batch_norm, {{1, 2, 2}, {2}, {2}, {2}, {2}}, BatchNormAttributes{0}},
                 {{1, 2, 3, 4}, {6, 6}, {1, -1}, {1, 2}, {4, 9}}) == std::vector<double>{1, 4, 1, 3});
}

TEST_CASE("sums of products of residues are those of one product after the other", "[ops]") {
  std::mt19937_64 random(9);
  const auto residue = [&](bool extreme) {
    return extreme ? Modular(static_cast<std::int64_t>(Modular::kPrime - 1 - random() % 2))
                   : Modular(static_cast<std::int64_t>(random() >> 3));
  };
  for (const std::size_t terms : {0U, 1U, 31U, 32U, 33U, 64U, 1000U}) {
    for (const bool extreme : {false, true}) {
      INFO(terms << " terms, extreme " << extreme);
      ops::ProductSum<Modular> sum;
      ops::ProductSum<Dual<Modular>> dual;
      Modular expected;
      Dual<Modular> expected_dual;
      for (std::size_t k = 0; k < terms; ++k) {
        const Dual<Modular> a(residue(extreme), residue(extreme)), b(residue(extreme), residue(extreme));
        sum.add(a.value(), b.value());
        dual.add(a, b);
        expected += a.value() * b.value();
        expected_dual += a * b;
      }
      CHECK(sum.take() == expected);
      const Dual<Modular> found = dual.take();
      CHECK(found.value() == expected_dual.value());
      CHECK(found.tangent() == expected_dual.tangent());
    }
  }
  ops::ProductSum<Modular> undefined;
  undefined.add(Modular(1), Modular::undefined());
  for (int k = 0; k < 100; ++k) undefined.add(Modular(2), Modular(3));
  CHECK(undefined.take().is_undefined());
}
