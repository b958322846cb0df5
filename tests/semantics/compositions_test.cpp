// Defined operations that are graphs: values against plain loops, gradients against dual numbers, and what does not fit.
#include <cmath>
#include <functional>

#include "kernel/gradients/derivatives/differentiate.h"
#include "semantics/compositions/compositions.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"

using namespace assay;
using namespace assay::compositions;

namespace {

using Reals = std::vector<double>;
using Maker = std::function<Value(const std::vector<Value>&)>;

struct Given {
  Shape shape;
  Reals values;
  DType dtype = DType::float64;
};

Graph graph_of(const std::vector<Given>& given, const Maker& make) {
  Graph graph;
  std::vector<Value> inputs;
  Builder builder(graph);
  for (std::size_t i = 0; i < given.size(); ++i)
    inputs.push_back(builder.node(graph.append_input(given[i].dtype, given[i].shape, "x" + std::to_string(i))));
  const Value y = make(inputs);
  INFO((builder.rejection() ? builder.rejection()->to_text() : std::string()));
  REQUIRE_FALSE(builder.rejection().has_value());
  graph.mark_output(y.id(), "y");
  return graph;
}

template <class S>
std::vector<Array<S>> points(const std::vector<Given>& given) {
  std::vector<Array<S>> arrays;
  for (const Given& one : given) {
    arrays.push_back({one.shape, {}});
    for (const double value : one.values) arrays.back().values.push_back(ScalarTraits<S>::from_double(value));
  }
  return arrays;
}

Array<Interval> value_of(const std::vector<Given>& given, const Maker& make) {
  const Graph graph = graph_of(given, make);
  const auto values = evaluate<Interval>(graph, points<Interval>(given));
  REQUIRE(values.ok());
  return values.value()[graph.outputs[0]];
}

void check_value(const std::vector<Given>& given, const Maker& make, const Shape& shape, const Reals& wanted) {
  const Array<Interval> y = value_of(given, make);
  CHECK(y.shape == shape);
  REQUIRE(y.values.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    CAPTURE(i, wanted[i], y.values[i].lo(), y.values[i].hi());
    CHECK(y.values[i].width_up() <= 1e-12 * (1 + std::fabs(wanted[i])));
    CHECK(std::fabs(y.values[i].midpoint() - wanted[i]) <= 1e-12 * (1 + std::fabs(wanted[i])));
  }
}

// Each entry of the gradient of the sum of the results meets that of the dual numbers.
void check_gradient(const std::vector<Given>& given, const Maker& make) {
  const Graph graph = graph_of(given, make);
  std::vector<std::size_t> floats;
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (is_float(given[i].dtype)) floats.push_back(i);
  }
  const Outcome<Graph> backward = gradients::differentiate(graph, 0, floats);
  REQUIRE(backward.ok());
  std::vector<Array<Interval>> inputs = points<Interval>(given);
  const Shape result = graph.node(graph.outputs[0]).shape;
  inputs.push_back({result, std::vector<Interval>(element_count(result), Interval(1.0))});
  const auto gradients = evaluate<Interval>(backward.value(), inputs);
  REQUIRE(gradients.ok());
  for (std::size_t k = 0; k < floats.size(); ++k) {
    for (std::size_t i = 0; i < given[floats[k]].values.size(); ++i) {
      auto dual = points<Dual<Interval>>(given);
      Dual<Interval>& x = dual[floats[k]].values[i];
      x = Dual<Interval>(x.value(), Interval(1.0));
      const auto values = evaluate<Dual<Interval>>(graph, dual);
      REQUIRE(values.ok());
      Interval total(0.0);
      for (const Dual<Interval>& y : values.value()[graph.outputs[0]].values) total += y.tangent();
      const Interval& entry = gradients.value()[backward.value().outputs[k]].values[i];
      CAPTURE(k, i, entry.lo(), entry.hi(), total.lo(), total.hi());
      CHECK(std::fabs(entry.midpoint() - total.midpoint()) <= 1e-10 * (1 + total.magnitude()));
    }
  }
}

double logistic(double x) { return 1 / (1 + std::exp(-x)); }

const Maker kSafeLog = [](const std::vector<Value>& x) { return safe_log(x[0], 0.5); };

}  // namespace

TEST_CASE("safe_log is finite below its floor, and flat", "[compositions]") {
  check_value({{{3}, {-1, 0.25, 2}}}, kSafeLog, {3}, {std::log(0.5), std::log(0.5), std::log(2.0)});
  check_gradient({{{3}, {-1, 0.25, 2}}}, kSafeLog);
}

TEST_CASE("smooth_max_pool lies between the mean and the maximum", "[compositions]") {
  WindowAttributes window;
  window.kernel = {2, 2};
  window.strides = {1, 2};
  window.dilations = {1, 1};
  window.pads_begin = window.pads_end = {0, 0};
  const Given x{{1, 1, 3, 4}, {1, 2, 3, 4, 5, 6, 7, 8, 0, -1, -2, -3}};
  const Maker soft = [&](const std::vector<Value>& in) { return smooth_max_pool(in[0], window, 2); };
  const auto mean = [](double a, double b, double c, double d) {
    return std::log((std::exp(2 * a) + std::exp(2 * b) + std::exp(2 * c) + std::exp(2 * d)) / 4) / 2;
  };
  check_value({x}, soft, {1, 1, 2, 2}, {mean(1, 2, 5, 6), mean(3, 4, 7, 8), mean(5, 6, 0, -1), mean(7, 8, -2, -3)});
  check_gradient({x}, soft);
}

TEST_CASE("rows by run-time indices are gathered, and added up", "[compositions]") {
  const Given x{{3, 2}, {1, 2, 3, 4, 5, 6}}, index{{4}, {2, 0, -1, 2}, DType::int64}, updates{{4, 2}, {10, 20, 30, 40, 50, 60, 70, 80}};
  const Maker gathered = [](const std::vector<Value>& in) { return gather_rows(in[0], in[1]); };
  const Maker added = [](const std::vector<Value>& in) { return scatter_add_rows(in[0], in[1], in[2]); };
  check_value({x, index}, gathered, {4, 2}, {5, 6, 1, 2, 5, 6, 5, 6});
  check_value({x, index, updates}, added, {3, 2}, {31, 42, 3, 4, 135, 166});
  check_gradient({x, index}, gathered);
  check_gradient({x, index, updates}, added);
  const Given outside{{4}, {2, 3, 0, 0}, DType::int64};
  CHECK(value_of({x, outside}, gathered).values[2].is_undefined());
  CHECK(value_of({x, outside, updates}, added).values[0].is_undefined());
}

TEST_CASE("attention weighs what is open; a query that sees nothing gives 0", "[compositions]") {
  const Given q{{2, 1}, {1, -1}}, k{{2, 1}, {2, 1}}, v{{2, 2}, {1, 2, 3, 4}}, open{{2, 2}, {1, 1, 0, 0}, DType::boolean};
  const double p = logistic(1.0);  // scores 2 and 1
  check_value({q, k, v}, [](const auto& in) { return attention(in[0], in[1], in[2], std::nullopt); }, {2, 2},
              {p + 3 * (1 - p), 2 * p + 4 * (1 - p), 1 - p + 3 * p, 2 * (1 - p) + 4 * p});
  check_value({q, k, v, open}, [](const auto& in) { return attention(in[0], in[1], in[2], in[3]); }, {2, 2},
              {p + 3 * (1 - p), 2 * p + 4 * (1 - p), 0, 0});
  check_gradient({q, k, v}, [](const auto& in) { return attention(in[0], in[1], in[2], std::nullopt); });
}

TEST_CASE("cells of recurrent networks", "[compositions]") {
  const Given x{{1, 1}, {0.5}}, h{{1, 1}, {-0.25}}, c{{1, 1}, {0.75}};
  const Given w1{{1, 1}, {2}}, r1{{1, 1}, {-1}}, b1{{1}, {0.125}};
  check_value({x, h, w1, r1, b1}, [](const auto& in) { return rnn_cell(in[0], in[1], in[2], in[3], in[4]); }, {1, 1}, {std::tanh(1.375)});
  const Given w4{{1, 4}, {1, 2, 3, 4}}, r4{{1, 4}, {4, 3, 2, 1}}, b4{{4}, {0.5, 0.25, 0, -0.5}};
  const double input = logistic(0.5 - 1 + 0.5), forget = logistic(1 - 0.75 + 0.25), cell = std::tanh(1.5 - 0.5),
               out = logistic(2 - 0.25 - 0.5);
  const double next = forget * 0.75 + input * cell;
  const Maker lstm = [](const auto& in) { return lstm_cell(in[0], {in[1], in[2]}, in[3], in[4], in[5]).h; };
  check_value({x, h, c, w4, r4, b4}, lstm, {1, 1}, {out * std::tanh(next)});
  check_gradient({x, h, c, w4, r4, b4}, lstm);
  const Given w3{{1, 3}, {1, 2, 3}}, r3{{1, 3}, {3, 2, 1}}, b3{{3}, {0.5, 0.25, 0}}, s3{{3}, {0, 0, 2}};
  const double reset = logistic(0.5 + 0.5 - 0.75), update = logistic(1 + 0.25 - 0.5), news = std::tanh(1.5 + reset * (-0.25 + 2));
  const Maker gru = [](const auto& in) { return gru_cell(in[0], in[1], in[2], in[3], in[4], in[5]); };
  check_value({x, h, w3, r3, b3, s3}, gru, {1, 1}, {(1 - update) * news + update * -0.25});
  check_gradient({x, h, w3, r3, b3, s3}, gru);
}

TEST_CASE("selective scan follows its recurrence", "[compositions]") {
  const Given u{{3, 2}, {1, 2, -1, 0.5, 2, 1}}, delta{{3, 2}, {0.5, 0.25, 1, 0.5, 0.25, 1}}, a{{2, 2}, {-1, -2, -0.5, 0}},
      b{{3, 2}, {1, 2, 3, -1, 0.5, 1}}, c{{3, 2}, {1, -1, 2, 1, 0.5, 1}}, d{{2}, {0.5, -1}};
  Reals wanted;
  double state[2][2] = {};
  for (std::size_t t = 0; t < 3; ++t) {
    for (std::size_t i = 0; i < 2; ++i) {
      const double step = delta.values[2 * t + i], in = u.values[2 * t + i];
      double y = d.values[i] * in;
      for (std::size_t j = 0; j < 2; ++j) {
        state[i][j] = std::exp(step * a.values[2 * i + j]) * state[i][j] + step * in * b.values[2 * t + j];
        y += state[i][j] * c.values[2 * t + j];
      }
      wanted.push_back(y);
    }
  }
  const Maker scan = [](const auto& in) { return selective_scan(in[0], in[1], in[2], in[3], in[4], in[5]); };
  check_value({u, delta, a, b, c, d}, scan, {3, 2}, wanted);
  check_gradient({u, delta, a, b, c, d}, scan);
}

TEST_CASE("a spectrum and back", "[compositions]") {
  const Given x{{2, 5}, {1, 2, 3, 4, 5, -1, 0, 1, 0.5, 2}};
  check_value(
      {x}, [](const auto& in) { return inverse_dft(dft(in[0], 3), 5); }, {2, 5}, x.values);
  const Given even{{1, 4}, {1, 2, 3, 4}};
  check_value({even}, [](const auto& in) { return dft(in[0], 3).re; }, {1, 3}, {10, -2, -2});
  check_value({even}, [](const auto& in) { return dft(in[0], 3).im; }, {1, 3}, {0, 2, 0});
  // One frequency kept, times 1: the mean. The second with weight i: the first harmonic, turned by a quarter.
  const Given re{{2, 1, 1}, {0, 0}}, im{{2, 1, 1}, {0, 1}};
  const Maker layer = [](const auto& in) { return spectral_convolution(in[0], {in[1], in[2]}); };
  check_value({even, re, im}, layer, {1, 4}, {-1, 1, 1, -1});
  check_gradient({even, re, im}, layer);
}

TEST_CASE("numbers from a seed are the same everywhere, and spread", "[compositions]") {
  Graph graph;
  Builder builder(graph);
  const auto values_of = [&](const Value& y) {
    graph.mark_output(y.id(), "y" + std::to_string(graph.outputs.size()));
    return evaluate<double>(graph, {}).value()[y.id()].values;
  };
  const Reals u = values_of(uniform(builder, 7, 1, {1000}, DType::float32)),
              again = values_of(uniform(builder, 7, 1, {1000}, DType::float64)),
              other = values_of(uniform(builder, 7, 2, {1000}, DType::float32));
  CHECK(u == again);
  CHECK(u != other);
  CHECK(u[0] == 0x1.bd977ap-1);
  double mean = 0, square = 0, ones = 0;
  for (const double one : u) {
    CHECK((one >= 0 && one < 1));
    mean += one / 1000;
  }
  CHECK(std::fabs(mean - 0.5) < 0.05);
  for (const double one : values_of(bernoulli(builder, 7, 3, 0.25, {1000}, DType::float32))) {
    CHECK((one == 0 || one == 1));
    ones += one;
  }
  CHECK(std::fabs(ones - 250) < 70);
  mean = 0;
  for (const double one : values_of(normal(builder, 7, 4, {1000}, DType::float64))) {
    mean += one / 1000;
    square += one * one / 1000;
  }
  CHECK(std::fabs(mean) < 0.15);
  CHECK(std::fabs(square - 1) < 0.2);
}

TEST_CASE("dropout keeps what its mask keeps", "[compositions]") {
  check_value({{{4}, {1, 2, 3, 4}}, {{4}, {1, 0, 1, 0}}}, [](const auto& in) { return dropout(in[0], in[1], 0.5); }, {4}, {2, 0, 6, 0});
}

TEST_CASE("compositions refuse what does not fit", "[compositions]") {
  const auto code = [](const Shape& shape, const Maker& make) {
    Graph graph;
    Builder builder(graph);
    (void)make({builder.node(graph.append_input(DType::float64, shape, "x"))});
    return builder.rejection() ? builder.rejection()->code : std::string("none");
  };
  CHECK(code({3}, [](const auto& in) { return safe_log(in[0], 0); }) == "safe_log.S1");
  CHECK(code({3}, [](const auto& in) { return safe_log(in[0], NAN); }) == "safe_log.S1");
  CHECK(code({1, 1, 3}, [](const auto& in) { return smooth_max_pool(in[0], {}, -1); }) == "smooth_max_pool.S1");
  CHECK(code({3}, [](const auto& in) { return dft(in[0], 4).re; }) == "dft.S1");
  CHECK(code({3}, [](const auto& in) { return inverse_dft({in[0], in[0]}, 3); }) == "inverse_dft.S1");
  CHECK(code({3}, [](const auto& in) { return dropout(in[0], in[0], 1); }) == "dropout.S1");
  CHECK(code({3}, [](const auto& in) { return gather_rows(in[0], attention(in[0], in[0], in[0], std::nullopt)); }) == "attention.S1");
  CHECK(code({2, 3}, [](const auto& in) { return scatter_add_rows(in[0], in[0], in[0]); }) == "scatter_add_rows.S1");
  CHECK(code({2, 3}, [](const auto& in) { return selective_scan(in[0], in[0], in[0], in[0], in[0], in[0]); }) == "selective_scan.S1");
  CHECK(code({2, 3}, [](const auto& in) { return spectral_convolution(in[0], {in[0], in[0]}); }) == "spectral_convolution.S1");
}
