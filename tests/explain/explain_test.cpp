// The text of a failing audit: numbers of the contract, the terms that count, the places of failures; and smaller traces that
// fail by the same numbers.
#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "tests/explain/words.h"

using namespace assay;
using namespace assay::test;

namespace {

std::vector<float> floats_of(const Trace& trace, TraceTensorId id) {
  std::vector<float> values;
  for (const double value : trace.tensors[id].value.to_doubles()) values.push_back(static_cast<float>(value));
  return values;
}

void put(Trace& trace, TraceTensorId id, const std::vector<float>& values) {
  trace.tensors[id].value = Tensor::of_floats(trace.tensors[id].value.shape(), values);
}

void add_to(Trace& trace, TraceTensorId id, const std::vector<std::size_t>& elements, float error) {
  std::vector<float> values = floats_of(trace, id);
  for (const std::size_t element : elements) values[element] += error;
  put(trace, id, values);
}

audit::RegionAudit audit_of(const Trace& trace, std::size_t region = 0) {
  auto audit = audit::audit_region(trace, region);
  if (!audit) FAIL(audit.rejection().to_text());
  return std::move(audit).value();
}

Lines lines_of(const Trace& trace) { return explain::failure_lines(trace, 0, audit_of(trace), 0); }

WindowAttributes window(std::int64_t kernel, std::int64_t stride, std::int64_t dilation, std::int64_t pad, std::int64_t groups = 1) {
  return {{kernel, kernel}, {stride, stride}, {dilation, dilation}, {pad, pad}, {pad, pad}, {}, groups, false, false};
}

// A run of one op on noise.
struct Single {
  std::string name;
  Op op;
  Attributes attributes;
  std::vector<Shape> operands;
  std::size_t most;  // elements of all operands that one element of the result needs

  [[nodiscard]] Run run() const {
    Run result;
    std::vector<Run::Id> ids;
    for (const Shape& shape : operands)
      ids.push_back(
          result.given("x" + std::to_string(ids.size()), shape, noise(element_count(shape), 11 + static_cast<unsigned>(ids.size()))));
    result.apply(op, ids, attributes);
    return result;
  }
};

std::vector<Single> singles() {
  WindowAttributes uneven = window(3, 2, 1, 0);
  uneven.pads_begin = {0, 1};
  uneven.pads_end = {2, 0};
  WindowAttributes ceiling = window(2, 2, 1, 0);
  ceiling.ceil_mode = true;
  WindowAttributes counting = window(3, 2, 1, 1);
  counting.count_include_pad = true;
  using Form = NormaliseAttributes::Form;
  return {
      {"matmul", Op::matmul, NoAttributes{}, {{2, 3, 7}, {7, 5}}, 14},
      {"gemm", Op::gemm, GemmAttributes{2, 0.5, true, true}, {{7, 3}, {5, 7}, {5}}, 15},
      {"conv", Op::conv, window(3, 1, 1, 1), {{2, 4, 6, 6}, {6, 4, 3, 3}, {6}}, 73},
      {"conv with uneven pads", Op::conv, uneven, {{1, 2, 7, 7}, {3, 2, 3, 3}}, 36},
      {"conv, dilated, in groups", Op::conv, window(2, 1, 2, 1, 2), {{1, 4, 5, 5}, {6, 2, 2, 2}}, 26},
      {"conv_transpose", Op::conv_transpose, window(3, 2, 1, 1), {{2, 3, 4, 4}, {3, 4, 3, 3}, {4}}, 76},
      {"max_pool", Op::max_pool, window(2, 2, 1, 0), {{2, 3, 6, 6}}, 4},
      {"max_pool with ceiling", Op::max_pool, ceiling, {{1, 2, 5, 5}}, 4},
      {"avg_pool", Op::avg_pool, window(3, 2, 1, 1), {{1, 2, 6, 6}}, 9},
      {"avg_pool that counts pads", Op::avg_pool, counting, {{1, 2, 6, 6}}, 9},
      {"reduce_sum", Op::reduce_sum, ReduceAttributes{{1}, false}, {{4, 9, 3}}, 9},
      {"reduce_mean", Op::reduce_mean, ReduceAttributes{{0, 2}, true}, {{4, 9, 3}}, 12},
      {"reduce_max", Op::reduce_max, ReduceAttributes{{1}, true}, {{4, 9}}, 9},
      {"cumsum", Op::cumsum, CumulativeAttributes{1, false, true}, {{4, 9}}, 9},
      {"softmax", Op::softmax, SoftmaxAttributes{1}, {{4, 9, 2}}, 9},
      {"log_sum_exp", Op::log_sum_exp, ReduceAttributes{{1}, false}, {{4, 9, 2}}, 9},
      {"normalise", Op::normalise, NormaliseAttributes{{2}, 1e-5, Form::centered}, {{4, 2, 9}}, 9},
      {"add", Op::add, NoAttributes{}, {{4, 9}, {4, 1}}, 2},
      {"where-less clip", Op::clip, ClipAttributes{-0.5, 0.5}, {{4, 9}}, 1},
      {"tanh", Op::tanh, NoAttributes{}, {{4, 9}}, 1},
      {"permute", Op::permute, PermuteAttributes{{2, 0, 1}}, {{4, 9, 2}}, 1},
      {"slice", Op::slice, SliceAttributes{{3, 8}, {-1, -3}, {2, 3}}, {{4, 9}}, 1},
      {"reshape", Op::reshape, ShapeAttributes{{6, 6}}, {{4, 9}}, 1},
      {"expand", Op::expand, ShapeAttributes{{4, 9}}, {{4, 1}}, 1},
      {"concat", Op::concat, ConcatAttributes{0}, {{2, 9}, {3, 9}}, 45},
  };
}

}  // namespace

TEST_CASE("explain: a shrunk trace fails by the same numbers, on the elements that are read alone", "[explain]") {
  for (const Single& one : singles()) {
    const Run run = one.run();
    const Trace& right = run.trace;
    const TraceTensorId y = right.regions[0].results[0];
    const std::size_t size = right.tensors[y].value.size();
    for (const std::size_t element : {std::size_t{0}, size / 3, size / 2, size - 1}) {
      INFO(one.name << ", element " << element);
      Trace trace = right;
      add_to(trace, y, {element}, 0.25F);
      const auto shrunk = explain::shrink(trace, 0);
      REQUIRE(shrunk);
      const Trace& small = shrunk.value().trace;
      CHECK(audit::check_continuity(small));
      std::size_t read = 0;
      for (const TraceTensorId id : small.regions[0].operands) read += small.tensors[id].value.size();
      CHECK(read <= one.most);
      const auto before = audit_of(trace).worst, after = audit_of(small).worst;
      REQUIRE((before && after));
      const auto numbers = [](const audit::Violation& violation) { return violation.text.substr(violation.text.find(':')); };
      CHECK(numbers(*after) == numbers(*before));
      const Lines lines = lines_of(trace);
      CHECK(mentions(lines, "first and worst at"));
      CHECK(lines.size() > 1);
    }
  }
}

TEST_CASE("explain: with the program at hand, what does not matter is set to 0", "[explain]") {
  // Products of matrices by a program that leaves out the term k = 5 of row 2.
  const auto wrong = [](const Region& region, std::span<const Tensor> operands) -> std::optional<std::vector<Tensor>> {
    const Shape &a = operands[0].shape(), &b = operands[1].shape();
    if (region.graph.nodes.back().op != Op::matmul || a[0] < 3 || a[1] < 6) return std::nullopt;
    std::vector<float> y(static_cast<std::size_t>(a[0] * b[1]), 0);
    for (std::int64_t i = 0; i < a[0]; ++i) {
      for (std::int64_t j = 0; j < b[1]; ++j) {
        for (std::int64_t k = 0; k < a[1]; ++k) {
          if (i == 2 && k == 5) continue;
          y[static_cast<std::size_t>(i * b[1] + j)] += static_cast<float>(operands[0].as_double(static_cast<std::size_t>(i * a[1] + k)) *
                                                                          operands[1].as_double(static_cast<std::size_t>(k * b[1] + j)));
        }
      }
    }
    return std::vector<Tensor>{Tensor::of_floats({a[0], b[1]}, y)};
  };
  Run run;
  const auto a = run.given("x", {4, 9}, noise(36, 1)), b = run.given("w", {9, 3}, noise(27, 2)), y = run.apply(Op::matmul, {a, b});
  run.trace.tensors[y].value = (*wrong(run.trace.regions[0], std::vector{run.trace.tensors[a].value, run.trace.tensors[b].value}))[0];
  const auto shrunk = explain::shrink(run.trace, 0, wrong);
  REQUIRE(shrunk);
  const Trace& small = shrunk.value().trace;
  CHECK(small.tensors[small.regions[0].operands[0]].value.size() == 1);  // the term alone
  CHECK(small.tensors[small.regions[0].results[0]].value.as_double(0) == 0);
  CHECK(audit_of(small).total().failed == 1);
  CHECK(shrunk.value().text ==
        "[4, 9], [9, 3] -> [4, 3], down to [1, 1], [1, 1] -> [1, 1]; run again with zeros, 2 elements other than 0 are left");

  const auto right = [&](const Region&, std::span<const Tensor> operands) -> std::optional<std::vector<Tensor>> {
    if (operands[0].size() != 36) return std::nullopt;
    Run again;
    again.apply(Op::matmul, {again.given("x", {4, 9}, noise(36, 1)), again.given("w", {9, 3}, noise(27, 2))});
    return std::vector<Tensor>{again.trace.tensors[2].value};
  };
  const auto recorded = explain::shrink(run.trace, 0, right);
  REQUIRE(recorded);
  CHECK(recorded.value().text == "[4, 9], [9, 3] -> [4, 3], down to [1, 9], [9, 1] -> [1, 1]; run again, it does not fail");
}

TEST_CASE("explain: a run that passes is not shrunk", "[explain]") {
  const auto shrunk = explain::shrink(singles()[0].run().trace, 0);
  REQUIRE_FALSE(shrunk);
  CHECK(shrunk.rejection().code == "shrink.passes");
}

TEST_CASE("explain: a product of matrices without, or with another, of its terms", "[explain]") {
  Run run;
  const std::vector<float> x = noise(4 * 27, 1), w = noise(27 * 5, 2);
  const auto a = run.given("x", {4, 27}, x), b = run.given("w", {27, 5}, w);
  const auto y = run.apply(Op::matmul, {a, b});
  const float term = x[3 * 27 + 11] * w[11 * 5 + 2];
  add_to(run.trace, y, {17}, -term);
  Lines lines = lines_of(run.trace);
  CHECK(mentions(lines, "first and worst at [3, 2]: received "));
  CHECK(mentions(lines, " float32 steps; the error is "));
  CHECK(mentions(lines, " times the largest admitted error"));
  CHECK(mentions(lines, "m = 27 terms, k = 27 roundings, S = "));
  CHECK(mentions(lines, "condition S / |s| = "));
  CHECK(mentions(lines, "; 22 smaller ones"));
  CHECK(mentions(lines, "the sum without the term x[3, 11] * w[11, 2]"));
  add_to(run.trace, y, {17}, 2 * term);
  CHECK(mentions(lines_of(run.trace), "the sum with this term twice: x[3, 11] * w[11, 2]"));
  add_to(run.trace, y, {17}, -3 * term);
  CHECK(mentions(lines_of(run.trace), "the sum with the other sign on x[3, 11] * w[11, 2]"));
  float first = 0;
  for (std::size_t k = 0; k < 24; ++k) first += x[3 * 27 + k] * w[k * 5 + 2];
  std::vector<float> values = floats_of(run.trace, y);
  values[17] = first;
  put(run.trace, y, values);
  CHECK(mentions(lines_of(run.trace), "the sum of the first 24 of 27 terms"));
}

TEST_CASE("explain: the formula's allowance is the contract's", "[explain]") {
  Run run;
  const auto x = run.given("x", {1, 12}, noise(12, 3)), y = run.apply(Op::reduce_sum, {x}, ReduceAttributes{{1}, false});
  add_to(run.trace, y, {0}, 0.5F);
  const audit::RegionAudit audit = audit_of(run.trace);
  double s = 0;
  for (const float value : floats_of(run.trace, x)) s += std::fabs(static_cast<double>(value));
  const double g = 11 * 0x1p-24 / (1 - 11 * 0x1p-24), units = 0.5 / (g * s);
  CHECK(audit.worst->allowance_units > 0.9 * units);
  CHECK(audit.worst->allowance_units < 1.2 * units);
  CHECK(mentions(lines_of(run.trace), "m = 12 terms, k = 11 roundings"));
}

TEST_CASE("explain: where a model rounds factors, numbers are those of the rounded ones", "[explain]") {
  using Rounding = ExecutionModel::InputRounding;
  for (const auto& [rounding, word, bits] :
       {std::tuple{Rounding::binary16, "binary16", 11}, std::tuple{Rounding::bfloat16, "bfloat16", 8}}) {
    Run run;
    const auto x = run.given("x", {1, 40}, noise(40, 5)), w = run.given("w", {40, 1}, noise(40, 8));
    run.apply(Op::matmul, {x, w});
    run.trace.regions[0].model.input_rounding = rounding;  // the run multiplied what was recorded
    const auto rounded = [digits = bits](float value) {
      int exponent = 0;
      const double fraction = std::frexp(static_cast<double>(value), &exponent);
      return std::ldexp(std::nearbyint(std::ldexp(fraction, digits)), exponent - digits);
    };
    double s = 0;
    for (std::size_t i = 0; i < 40; ++i) s += rounded(floats_of(run.trace, x)[i]) * rounded(floats_of(run.trace, w)[i]);
    const audit::RegionAudit audit = audit_of(run.trace);
    CAPTURE(word, audit.worst->text);
    REQUIRE(audit.total().failed == 1);
    const audit::Violation& worst = *audit.worst;
    CHECK(std::fabs(worst.exact.lo() - s) < 1e-12);
    CHECK(worst.exact.lo() >= worst.admitted.lo);
    CHECK(worst.exact.hi() <= worst.admitted.hi);
    CHECK(worst.allowance_units > 1);
    const Lines lines = lines_of(run.trace);
    CHECK(mentions(lines, std::string("factors are rounded to ") + word + " before they are multiplied"));
    CHECK(mentions(lines, "|y - s| = "));
    const auto largest =
        std::ranges::find_if(lines, [](const std::string& line) { return line.find("  term x[0, ") != std::string::npos; });
    REQUIRE(largest != lines.end());
    const auto at = static_cast<std::size_t>(std::stoi(largest->substr(largest->find("x[0, ") + 5)));
    const auto shown = std::stod(largest->substr(largest->find(" = ") + 3));
    CHECK(std::fabs(shown - rounded(floats_of(run.trace, x)[at])) < 1e-6);
  }
}

TEST_CASE("explain: where every order is exact, and where one term is left, that is said", "[explain]") {
  Run whole;
  const auto y = whole.apply(Op::matmul, {whole.given("x", {1, 3}, {1, 2, 3}), whole.given("w", {3, 1}, {4, -5, 6})});
  add_to(whole.trace, y, {0}, 1);
  CHECK(mentions(lines_of(whole.trace), "every term is a multiple of 2^1 and S = 32 <= 2^(1 + 24)"));
  Run sparse;
  const auto z = sparse.apply(Op::matmul, {sparse.given("x", {1, 3}, {0, 0.3F, 0}), sparse.given("w", {3, 1}, {4, -5, 6})});
  add_to(sparse.trace, z, {0}, 1);
  CHECK(mentions(lines_of(sparse.trace), "one product, rounded once"));
  const auto shrunk = explain::shrink(sparse.trace, 0);
  REQUIRE(shrunk);
  CHECK(shrunk.value().text == "[1, 3], [3, 1] -> [1, 1], down to [1, 1], [1, 1] -> [1, 1]");  // products with 0 are left out
}

TEST_CASE("explain: patterns of failures", "[explain]") {
  Run run;
  const auto x = run.given("x", {4, 96}, noise(4 * 96, 5)), y = run.apply(Op::relu, {x});
  const Trace right = run.trace;
  const auto pattern = [&](const std::vector<std::size_t>& elements) {
    Trace trace = right;
    add_to(trace, y, elements, 1);
    return lines_of(trace);
  };
  CHECK(mentions(pattern({3, 3 + 32, 3 + 64}), "axis 1: every 32nd from 3, 3 of 96 places"));
  CHECK(mentions(pattern({0, 97, 3 * 96 + 2}), "at 3 of the 4 places along axis 0, from 0 to 3"));
  CHECK(mentions(pattern({3, 3 + 32, 3 + 64}), "axis 0: all at 0, the first of 4"));
  CHECK(mentions(pattern({3 * 96 + 92, 3 * 96 + 93, 3 * 96 + 94, 3 * 96 + 95}), "axis 1: all at 92 .. 95, the last 4 of 96"));
  CHECK(mentions(pattern({3 * 96 + 92, 3 * 96 + 93}), "every element at these indices fails"));
  CHECK(mentions(pattern({0, 97, 194}), "3 of the 9 elements at these indices fail"));
  CHECK_FALSE(mentions(Lines(pattern({5})), "where"));
}

TEST_CASE("explain: softmax, normalise, functions, choices and moved elements", "[explain]") {
  const auto lines = [](Op op, const Attributes& attributes, const Shape& shape, std::size_t element) {
    Run run;
    const auto y = run.apply(op, {run.given("x", shape, noise(element_count(shape), 7, 4))}, attributes);
    add_to(run.trace, y, {element}, 0.125F);
    return lines_of(run.trace);
  };
  const Lines softmax = lines(Op::softmax, SoftmaxAttributes{1}, {3, 12}, 14);
  CHECK(mentions(softmax, "y = exp(d) / s, d = x - m, step by step: x = x[1, 2] = "));
  CHECK(mentions(softmax, "over 12 elements"));
  CHECK(mentions(softmax, "(100 % of s)") == false);
  CHECK(mentions(lines(Op::normalise, NormaliseAttributes{{1}, 0.5, NormaliseAttributes::Form::centered}, {3, 12}, 14),
                 "y = (x - mean) / sqrt(variance + 0.5)"));
  CHECK(mentions(lines(Op::exp, NoAttributes{}, {3}, 1), "y within M = 1 steps of RN(exp(a)) by the table glibc-2.36: a = x[1] = "));
  CHECK(mentions(lines(Op::relu, NoAttributes{}, {3}, 0), "y = max(a, 0), exactly: a = x[0] = "));
  for (int k = 0; k < kOpCount; ++k) {  // an activation has its formula, and no page that only the sources have
    const OpRow& row = op_row(static_cast<Op>(k));
    if (contracts::family_of(row.op) != contracts::Family::activation) continue;
    INFO(row.name);
    const Attributes attributes = row.op == Op::gelu ? Attributes(GeluAttributes{true})
                                  : row.attributes == Attributes(ActivationAttributes{}).index()
                                      ? Attributes(ActivationAttributes{0.75, 0.25})
                                      : Attributes(NoAttributes{});
    const Lines told = lines(row.op, attributes, {3}, 1);
    CHECK(mentions(told, "in a form of the page Defined ops, step by step: a = x[1] = "));
    CHECK_FALSE(mentions(told, std::string(row.name) + "(a)"));
    CHECK_FALSE(mentions(told, "docs/"));
  }
  CHECK(mentions(lines(Op::gelu, GeluAttributes{false}, {3}, 1), "y = a/2 (1 + erf(a / sqrt(2))), in a form"));
  CHECK(
      mentions(lines(Op::elu, ActivationAttributes{0.75, 0}, {3}, 1), "y = a above 0, alpha (exp(a) - 1) below, alpha = 0.75, in a form"));
  CHECK(mentions(lines(Op::max_pool, window(2, 2, 1, 0), {1, 1, 4, 4}, 3), "y = the greatest of 4 elements, exactly: x[0, 0, "));
  CHECK(mentions(lines(Op::permute, PermuteAttributes{{1, 0}}, {3, 12}, 4), "the bits of x[1, 1], handed on"));

  Run swapped;  // a transposition that took the neighbour
  const auto x = swapped.given("x", {2, 3}, {1, 2, 3, 4, 5, 6}), y = swapped.apply(Op::permute, {x}, PermuteAttributes{{1, 0}});
  put(swapped.trace, y, {1, 4, 2, 5, 3, 3});
  CHECK(mentions(lines_of(swapped.trace), "the operand holds the received value at [0, 2]"));

  Run zero;
  const auto negative = zero.apply(Op::neg, {zero.given("x", {2}, {0, 1})});
  put(zero.trace, negative, {0, -1});
  CHECK(mentions(lines_of(zero.trace), "outside by the sign of a zero alone"));
}

TEST_CASE("explain: values that are no numbers, or no reals, are put into words as well", "[explain]") {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const Op op : {Op::relu, Op::exp, Op::softmax, Op::reduce_sum, Op::reduce_max, Op::normalise, Op::matmul}) {
    INFO(op_row(op).name);
    Run run;
    const auto x = run.given("x", {2, 4}, {1, 2, infinity, 4, 5, 6, 7, nan}), w = run.given("w", {4, 2}, noise(8, 3));
    const Attributes attributes = op == Op::softmax     ? Attributes(SoftmaxAttributes{1})
                                  : op == Op::normalise ? Attributes(NormaliseAttributes{{1}, 1e-5, NormaliseAttributes::Form::centered})
                                  : op == Op::reduce_sum || op == Op::reduce_max ? Attributes(ReduceAttributes{{1}, true})
                                                                                 : Attributes(NoAttributes{});
    const auto y = op == Op::matmul ? run.apply(op, {x, w}) : run.apply(op, {x}, attributes);
    for (const float wrong : {-3.5F, -infinity}) {
      put(run.trace, y, std::vector<float>(run.trace.tensors[y].value.size(), wrong));
      if (audit_of(run.trace).total().failed > 0) CHECK(mentions(lines_of(run.trace), "received "));
    }
  }
  Run exact;
  const auto x = exact.given("x", {2}, {1, 2}), y = exact.apply(Op::add, {x, x});
  put(exact.trace, y, {nan, 4});
  CHECK(mentions(lines_of(exact.trace), "no finite number was received"));

  Trace trace;  // integers
  const std::vector<std::int64_t> terms = {1, 2}, sums = {3, 4};
  trace.tensors = {{"i", Trace::Origin::input, Tensor::of_ints({2}, terms)}, {"j", Trace::Origin::result, Tensor::of_ints({2}, sums)}};
  Region region;
  region.model = float_model();
  const NodeId i = region.graph.append_input(DType::int64, {2}, "i");
  region.graph.mark_output(region.graph.append(Op::add, {i, i}).value(), "j");
  region.operands = {0};
  region.results = {1};
  trace.regions = {region};
  INFO(audit_of(trace).total().failed << " " << audit_of(trace).total().unsupported);
  CHECK(mentions(lines_of(trace), "first and worst at [0]: received 3, admitted 2"));
}

TEST_CASE("explain: a fused region, step by step", "[explain]") {
  Run run;
  const auto x = run.given("x", {4, 6}, noise(24, 1)), w = run.given("w", {6, 5}, noise(30, 2)),
             b = run.given("b", {5}, std::vector<float>(5, 9.0F));
  run.apply(Op::gemm, {x, w, b}, GemmAttributes{});
  Region& region = run.trace.regions[0];
  const auto node = region.graph.append(Op::relu, {region.graph.outputs[0]});
  REQUIRE(node);
  region.graph.outputs[0] = node.value();
  add_to(run.trace, region.results[0], {7}, 0.5F);
  const Lines lines = lines_of(run.trace);
  CHECK(mentions(lines, "each step by its own contract; before the last one, in double:"));
  CHECK(mentions(lines, "  gemm[1, 2] = "));
  CHECK(mentions(lines, "gemm of 7 terms"));
  CHECK(mentions(lines, "y = max(a, 0), exactly: a = gemm[1, 2] = "));
  const auto shrunk = explain::shrink(run.trace, 0);
  REQUIRE(shrunk);
  CHECK(shrunk.value().text == "[4, 6], [6, 5], [5] -> [4, 5], down to [1, 6], [6, 1], [1] -> [1, 1]");
}

namespace {

// A region of several ops on one input x, built on an op that was run; its recorded result is `value` everywhere.
struct Fused {
  explicit Fused(const Shape& shape) {
    x = run.given("x", shape, noise(element_count(shape), 3));
    run.apply(Op::exp, {x});
    region().graph = Graph();
    run.trace.tensors[region().results[0]].name = "y";
    input = region().graph.append_input(DType::float32, shape, "x");
  }
  Region& region() { return run.trace.regions[0]; }
  NodeId add(Op op, const std::vector<NodeId>& operands, const Attributes& attributes = NoAttributes{}) {
    const auto node = region().graph.append(op, operands, attributes);
    if (!node) FAIL(node.rejection().to_text());
    return node.value();
  }
  // The result of the last node, with one element that is wrong.
  Lines explained(const Shape& index) {
    Graph& graph = region().graph;
    const NodeId y = static_cast<NodeId>(graph.nodes.size() - 1);
    graph.mark_output(y, "y");
    const auto values = evaluate<float>(graph, std::vector{lift<float>(run.trace.tensors[x].value)});
    if (!values) FAIL(values.rejection().to_text());
    std::vector<float> result = values.value()[y].values;
    std::size_t element = 0;
    for (std::size_t axis = 0; axis < index.size(); ++axis)
      element = element * static_cast<std::size_t>(graph.node(y).shape[axis]) + static_cast<std::size_t>(index[axis]);
    result[element] += 0.5F;
    run.trace.tensors[region().results[0]].value = Tensor::of_floats(graph.node(y).shape, result);
    return lines_of(run.trace);
  }
  Run run;
  Run::Id x = 0;
  NodeId input = 0;
};

}  // namespace

TEST_CASE("explain: values inside of a fused region are named by their own indices", "[explain]") {
  Fused sum({3, 4, 5});
  sum.add(Op::reduce_sum, {sum.add(Op::exp, {sum.input})}, ReduceAttributes{{2}, true});
  const Lines lines = sum.explained({2, 3, 0});
  CHECK(mentions(lines, "at [2, 3, 0]: received"));
  CHECK(mentions(lines, "term exp[2, 3, "));
  CHECK_FALSE(mentions(lines, "exp[0, 0, "));

  Fused moved({3, 4, 5});  // of another place than the element's
  moved.add(Op::relu, {moved.add(Op::permute, {moved.add(Op::exp, {moved.input})}, PermuteAttributes{{2, 0, 1}})});
  const Lines steps = moved.explained({1, 2, 3});
  CHECK(mentions(steps, "exp[2, 3, 1] = "));
  CHECK(mentions(steps, ": a = x[2, 3, 1] = "));
  CHECK(mentions(steps, "exactly: a = permute[1, 2, 3] = "));

  Fused constant({4, 3});
  const NodeId row = constant.region().graph.append_constant(Tensor::of_floats({3}, noise(3, 5)));
  constant.add(Op::add, {constant.add(Op::exp, {constant.input}), row});
  CHECK(mentions(constant.explained({3, 2}), "b = constant[2] = "));
}

TEST_CASE("explain: where two steps read different parts of one value, each is cut to what it reads", "[explain]") {
  Fused norm({3, 4, 6});  // (x - mean) / sqrt(mean of |x - mean|)
  const NodeId mean = norm.add(Op::reduce_mean, {norm.input}, ReduceAttributes{{2}, true});
  const NodeId centred = norm.add(Op::sub, {norm.input, mean});
  const NodeId square = norm.add(Op::abs, {centred}), variance = norm.add(Op::reduce_mean, {square}, ReduceAttributes{{2}, true});
  norm.add(Op::div, {centred, norm.add(Op::sqrt, {variance})});
  const Lines lines = norm.explained({2, 3, 1});
  CHECK(mentions(lines, "reduce_mean[2, 3, 0] = "));
  CHECK(mentions(lines, "sqrt[2, 3, 0] = "));
  CHECK(mentions(lines, "a / b), the nearest number: a = sub[2, 3, 1] = "));
  CHECK_FALSE(mentions(lines, "slice"));
  const auto shrunk = explain::shrink(norm.run.trace, 0);
  REQUIRE(shrunk);
  CHECK(shrunk.value().text == "[3, 4, 6] -> [3, 4, 6], down to [1, 1, 6] -> [1, 1, 1]");
  const auto before = audit_of(norm.run.trace).worst, after = audit_of(shrunk.value().trace).worst;
  REQUIRE((before && after));
  CHECK(after->text.substr(after->text.find(':')) == before->text.substr(before->text.find(':')));

  Fused both({3, 6});  // products may be fused with the sum: nothing is put between them
  const NodeId product = both.add(Op::mul, {both.input, both.input});
  both.add(Op::add, {product, both.add(Op::reduce_sum, {product}, ReduceAttributes{{1}, true})});
  CHECK(mentions(both.explained({2, 1}), "a = mul[2, 1] = "));
}
