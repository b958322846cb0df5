// Elementwise functions and softmax: hand-computed values, domains, sharpness of the enclosures.
#include <cmath>
#include <ctime>
#include <limits>

#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

const double kInfinity = std::numeric_limits<double>::infinity();
const double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class S>
Outcome<Array<S>> apply(Op op, Attributes attributes, const std::vector<S>& x) {
  const OpCase one{"", op, {{static_cast<std::int64_t>(x.size())}}, std::move(attributes)};
  const Graph graph = graph_of(one);
  REQUIRE(graph.outputs.size() == 1);
  return denote_case<S>(graph, {{one.shapes[0], x}});
}

template <class S>
std::vector<S> values_of(Op op, Attributes attributes, const std::vector<S>& x) {
  return apply(op, std::move(attributes), x).value().values;
}

}  // namespace

TEST_CASE("piecewise linear functions by hand", "[ops]") {
  const std::vector<double> x = {-3, -0.5, 0, 0.5, 3};
  CHECK(values_of(Op::relu, NoAttributes{}, x) == std::vector<double>{0, 0, 0, 0.5, 3});
  CHECK(values_of(Op::leaky_relu, LeakyReluAttributes{0.5}, x) == std::vector<double>{-1.5, -0.25, 0, 0.5, 3});
  CHECK(values_of(Op::leaky_relu, LeakyReluAttributes{-2}, x) == std::vector<double>{6, 1, 0, 0.5, 3});
  CHECK(values_of(Op::abs, NoAttributes{}, x) == std::vector<double>{3, 0.5, 0, 0.5, 3});
  CHECK(values_of(Op::sign, NoAttributes{}, x) == std::vector<double>{-1, -1, 0, 1, 1});
  CHECK(values_of(Op::clip, ClipAttributes{-1, 0.25}, x) == std::vector<double>{-1, -0.5, 0, 0.25, 0.25});
  CHECK(values_of(Op::clip, ClipAttributes{-1, kInfinity}, x) == std::vector<double>{-1, -0.5, 0, 0.5, 3});
  CHECK(values_of(Op::clip, ClipAttributes{-kInfinity, 0.25}, x) == std::vector<double>{-3, -0.5, 0, 0.25, 0.25});
  CHECK(values_of(Op::neg, NoAttributes{}, x) == std::vector<double>{3, 0.5, 0, -0.5, -3});
}

TEST_CASE("min and max take any number of broadcasting operands", "[ops]") {
  const OpCase least{"", Op::min, {{2, 2}, {2}, {}}}, greatest{"", Op::max, {{2, 2}, {2}, {}}};
  const std::vector<Array<double>> operands = {{{2, 2}, {1, 2, 3, 4}}, {{2}, {3, 0}}, {{}, {2}}};
  CHECK(denote_case(graph_of(least), operands).value().values == std::vector<double>{1, 0, 2, 0});
  CHECK(denote_case(graph_of(greatest), operands).value().values == std::vector<double>{3, 2, 3, 4});
}

TEST_CASE("NaN is not swallowed over double", "[ops]") {
  for (const Op op : {Op::relu, Op::abs, Op::sign, Op::sigmoid, Op::tanh, Op::exp, Op::log, Op::sqrt, Op::sin, Op::cos, Op::neg}) {
    CAPTURE(op_row(op).name);
    CHECK(std::isnan(values_of<double>(op, NoAttributes{}, {kNaN})[0]));
  }
  CHECK(std::isnan(values_of<double>(Op::clip, ClipAttributes{0, 1}, {kNaN})[0]));
  CHECK(std::isnan(values_of<double>(Op::leaky_relu, LeakyReluAttributes{0.5}, {kNaN})[0]));
  for (const double value : values_of<double>(Op::softmax, SoftmaxAttributes{0}, {kNaN, 1})) CHECK(std::isnan(value));
}

TEST_CASE("powers with integer exponents are exact", "[ops]") {
  const std::vector<Rational> x = {Rational(-3, 2), Rational(2)};
  CHECK(values_of(Op::pow, PowAttributes{Rational(3)}, x) == std::vector<Rational>{Rational(-27, 8), Rational(8)});
  CHECK(values_of(Op::pow, PowAttributes{Rational(-2)}, x) == std::vector<Rational>{Rational(4, 9), Rational(1, 4)});
  CHECK(values_of(Op::pow, PowAttributes{Rational(0)}, std::vector<Rational>{Rational(0)}) == std::vector<Rational>{Rational(1)});
  CHECK(values_of<double>(Op::pow, PowAttributes{Rational(1, 2)}, {4, 0}) == std::vector<double>{2, 0});
}

TEST_CASE("a point outside the domain is a rejection over exact scalars", "[ops]") {
  const OpCase quotient{"", Op::div, {{2}, {2}}};
  const Outcome<Array<Rational>> result =
      denote_case<Rational>(graph_of(quotient), {{{2}, {Rational(1), Rational(1)}}, {{2}, {Rational(1), Rational(0)}}});
  REQUIRE_FALSE(result.ok());
  CHECK(result.rejection().code == "div.domain");
  CHECK(result.rejection().place.find("element 1") != std::string::npos);

  const Outcome<Array<Rational>> power = apply(Op::pow, PowAttributes{Rational(-1)}, std::vector<Rational>{Rational(0)});
  REQUIRE_FALSE(power.ok());
  CHECK(power.rejection().code == "pow.domain");
}

TEST_CASE("an exact power that would not fit is declined", "[ops]") {
  const Outcome<Array<Rational>> result =
      apply(Op::pow, PowAttributes{Rational(std::int64_t{1} << 62)}, std::vector<Rational>{Rational(3)});
  REQUIRE_FALSE(result.ok());
  CHECK(result.rejection().code == "denote.size");
  CHECK(result.rejection().kind == Rejection::Kind::declined);
}

TEST_CASE("a box that leaves the domain gives the undefined interval", "[ops]") {
  struct {
    Op op;
    Attributes attributes;
    Interval x;
  } const rows[] = {
      {Op::log, NoAttributes{}, Interval(-1, 2)},
      {Op::sqrt, NoAttributes{}, Interval(-1e-300, 4)},
      {Op::pow, PowAttributes{Rational(-1)}, Interval(-1, 1)},
      {Op::pow, PowAttributes{Rational(1, 2)}, Interval(-1, 1)},
  };
  for (const auto& row : rows) CHECK(values_of<Interval>(row.op, row.attributes, {row.x})[0].is_undefined());
  const OpCase quotient{"", Op::div, {{1}, {1}}};
  CHECK(denote_case<Interval>(graph_of(quotient), {{{1}, {Interval(1)}}, {{1}, {Interval(0, 1)}}}).value().values[0].is_undefined());
}

TEST_CASE("enclosures of monotone functions are the images of the ends", "[ops]") {
  CHECK(values_of<Interval>(Op::relu, NoAttributes{}, {Interval(-1, 2), Interval(-2, -1), Interval(1, 2)}) ==
        std::vector<Interval>{Interval(0, 2), Interval(0), Interval(1, 2)});
  CHECK(values_of<Interval>(Op::leaky_relu, LeakyReluAttributes{0.25}, {Interval(-4, 2)}) == std::vector<Interval>{Interval(-1, 2)});
  CHECK(values_of<Interval>(Op::leaky_relu, LeakyReluAttributes{-0.5},
                            {Interval(-4, 3), Interval(-8, 3), Interval(-4, -2), Interval(1, 2)}) ==
        std::vector<Interval>{Interval(0, 3), Interval(0, 4), Interval(1, 2), Interval(1, 2)});
  CHECK(values_of<Interval>(Op::clip, ClipAttributes{-1, 1}, {Interval(-4, 0.5), Interval(2, 3)}) ==
        std::vector<Interval>{Interval(-1, 0.5), Interval(1)});
  CHECK(values_of<Interval>(Op::sign, NoAttributes{}, {Interval(-1, 0), Interval(0), Interval(0, 5), Interval(1, 5)}) ==
        std::vector<Interval>{Interval(-1, 0), Interval(0), Interval(0, 1), Interval(1)});
  CHECK(values_of<Interval>(Op::abs, NoAttributes{}, {Interval(-3, 2)}) == std::vector<Interval>{Interval(0, 3)});
  CHECK(values_of<Interval>(Op::pow, PowAttributes{Rational(2)}, {Interval(-3, 2)}) == std::vector<Interval>{Interval(0, 9)});
  CHECK(values_of<Interval>(Op::sqrt, NoAttributes{}, {Interval(0, 9)}) == std::vector<Interval>{Interval(0, 3)});
  const Interval wave = values_of<Interval>(Op::sin, NoAttributes{}, {Interval(0, 100)})[0];
  CHECK(wave == Interval(-1, 1));
}

TEST_CASE("softmax by hand and as a set", "[ops]") {
  CHECK(values_of<double>(Op::softmax, SoftmaxAttributes{0}, {0, 0, 0, 0}) == std::vector<double>(4, 0.25));
  // No overflow turns into NaN.
  CHECK(values_of<double>(Op::softmax, SoftmaxAttributes{0}, {0, 1e300}) == std::vector<double>{0, 1});
  // A single element has softmax 1 whatever it is, and so exactly.
  CHECK(values_of<Interval>(Op::softmax, SoftmaxAttributes{0}, {Interval(-5, 1000)}) == std::vector<Interval>{Interval(1)});
  // Tight: entry 0 over [-1, 1] x {0} runs from 1/(1+e) to 1/(1+1/e).
  const std::vector<Interval> image = values_of<Interval>(Op::softmax, SoftmaxAttributes{0}, {Interval(-1, 1), Interval(0)});
  const double e = std::exp(1.0);
  CHECK(image[0].contains(1 / (1 + e)));
  CHECK(std::fabs(image[0].lo() - 1 / (1 + e)) <= 1e-15);
  CHECK(std::fabs(image[0].hi() - 1 / (1 + 1 / e)) <= 1e-15);
  CHECK(std::fabs(image[1].lo() - 1 / (1 + e)) <= 1e-15);
}

TEST_CASE("the ends of softmax over a box are its values at corners, near and far", "[ops]") {
  std::mt19937_64 random(11);
  for (const double scale : {1e-9, 1.0, 40.0, 1e6, 1e12, 1e15, 1e300}) {  // from 1e12 on some powers are 0 at 257 bits
    for (int repeat = 0; repeat < 5; ++repeat) {
      std::uniform_real_distribution<double> uniform(-scale, scale);
      std::vector<Interval> x;
      for (int j = 0; j < 6; ++j) {
        const double a = uniform(random), b = j % 3 == 0 ? a : uniform(random);
        x.emplace_back(std::min(a, b), std::max(a, b));
      }
      const std::vector<Interval> image = values_of<Interval>(Op::softmax, SoftmaxAttributes{0}, x);
      for (std::size_t i = 0; i < x.size(); ++i) {
        INFO(scale << ", element " << i);
        WideInterval least = 1.0, most = 1.0;  // denominators, by the definition
        for (std::size_t j = 0; j < x.size(); ++j) {
          if (j == i) continue;
          least += exp(WideInterval(x[j].lo()) - WideInterval(x[i].hi()));
          most += exp(WideInterval(x[j].hi()) - WideInterval(x[i].lo()));
        }
        CHECK(image[i].lo() == (WideInterval(1.0) / most).lo_down());
        CHECK(image[i].hi() == (WideInterval(1.0) / least).hi_up());
      }
    }
  }
  // Ends without a number.
  const std::vector<Interval> open = values_of<Interval>(Op::softmax, SoftmaxAttributes{0}, {Interval(-kInfinity, 0), Interval(1)});
  CHECK((open[0].lo() == 0 && open[1].hi() == 1 && open[0].hi() < 0.3 && open[1].lo() > 0.7));
}

TEST_CASE("softmax, log_softmax and log_sum_exp have values for all finite operands, however far apart", "[ops]") {
  const ReduceAttributes all{{0}, false};
  std::mt19937_64 random(12);
  for (const double mask : {-1e4, -7e8, -1e9, -1e10, -3.4028234663852886e38, -1e308}) {
    for (const double width : {0.0, 1.0, 1e9, 1e13}) {
      std::vector<Interval> x{Interval(mask), Interval(mask - width, mask + width)};
      for (int j = 0; j < 3; ++j) x.emplace_back(static_cast<double>(j) - width, static_cast<double>(j));
      std::shuffle(x.begin(), x.end(), random);
      INFO(mask << ", " << width);
      const auto soft = values_of<Interval>(Op::softmax, SoftmaxAttributes{0}, x),
                 logs = values_of<Interval>(Op::log_softmax, SoftmaxAttributes{0}, x);
      const Interval sum = values_of<Interval>(Op::log_sum_exp, all, x)[0];
      CHECK((std::isfinite(sum.lo()) && std::isfinite(sum.hi()) && sum.lo() <= sum.hi()));
      for (std::size_t i = 0; i < x.size(); ++i) {
        CHECK((soft[i].lo() >= 0 && soft[i].lo() <= soft[i].hi() && soft[i].hi() <= 1));
        CHECK((std::isfinite(logs[i].lo()) && logs[i].lo() <= logs[i].hi() && logs[i].hi() <= 0));
        // At corners, by the definition: the logarithm of the sum of the others is at most that of their number above the greatest.
        double others = -kInfinity;
        for (std::size_t j = 0; j < x.size(); ++j) others = j == i ? others : std::max(others, x[j].hi());
        CHECK(-logs[i].lo() <= (std::max(0.0, others - x[i].lo()) + std::log(5.0)) * (1 + 0x1p-50));
        if (x[i].hi() < others - 1e5 && width == 0) CHECK(soft[i].hi() <= 0x1p-1074);
      }
    }
  }
}

TEST_CASE("softmax of a long line of wide sets takes no longer than of near ones, but for a factor", "[ops]") {
  const auto seconds = [](double width) {
    const std::clock_t begin = std::clock();
    values_of<Interval>(Op::softmax, SoftmaxAttributes{0}, std::vector<Interval>(2000, Interval(-width, width)));
    values_of<Interval>(Op::log_softmax, SoftmaxAttributes{0}, std::vector<Interval>(2000, Interval(-width, width)));
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  };
  CHECK(seconds(1e13) < 20 * seconds(1) + 0.1);  // a time that grows with the square is 100 times as long
}

TEST_CASE("softmax runs along its axis alone", "[ops]") {
  const OpCase one{"", Op::softmax, {{2, 3, 2}}, SoftmaxAttributes{1}};
  std::mt19937_64 random(5);
  const Array<double> y = denote_case(graph_of(one), arrays_of<double>(one, draw_operands(one, random))).value();
  for (std::size_t o = 0; o < 2; ++o) {
    for (std::size_t r = 0; r < 2; ++r) {
      const double sum = y.values[o * 6 + r] + y.values[o * 6 + 2 + r] + y.values[o * 6 + 4 + r];
      CHECK(std::fabs(sum - 1) <= 4 * 0x1p-53);
    }
  }
}
