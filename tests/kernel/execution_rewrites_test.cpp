// Rewrites that executions may make: the errors charged for them, compared with the formulas of docs/explanation/float32.md in
// exact fractions.
#include "tests/kernel/executions.h"

namespace assay::test {

// y of a one-element input, and nodes that a test appends.
struct Formulas {
  ExecutionModel written = plain(), rewritten = plain();
  Formulas() { rewritten.rewrites = ExecutionModel::Rewrites::algebraic; }
};
Rational both(const Rational& a, const Rational& b) { return (Rational(1) + a) * (Rational(1) + b) - Rational(1); }

TEST_CASE("executions: factors that may be combined pay a rounding each, and their product's", "[kernel][execution]") {
  const Formulas models;
  Chain net(1, DType::float32);
  net.then(Op::mul, number(net, 2));
  net.then(Op::mul, number(net, 3));
  // The first product, as it is computed where nothing is rewritten, is 2 within u: it carries on.
  check_radius(radius_at(models.rewritten, net.output(), {1}, Rational(6)),
               both(gamma_of(1), gamma_of(2)) * Rational(6) + kU * Rational(6));
}

TEST_CASE("executions: a factor that may be distributed pays for the terms of a sum", "[kernel][execution]") {
  const Formulas models;
  Chain net(1, DType::float32);
  net.then(Op::sub, number(net, 1));
  net.then(Op::mul, number(net, 3));
  check_radius(radius_at(models.rewritten, net.output(), {1}, Rational(0)), both(gamma_of(2), gamma_of(2)) * Rational(6));
}

TEST_CASE("executions: a quotient may be a product with the rounded reciprocal", "[kernel][execution]") {
  const Formulas models;
  Chain net(1, DType::float32);
  net.then(Op::div, number(net, 4));
  check_radius(radius_at(models.rewritten, net.output(), {2}, Rational(1, 2)), both(gamma_of(1), gamma_of(2)) * Rational(1, 2));
}

TEST_CASE("executions: weights that normalisation is folded into pay its roundings, and so does the bias", "[kernel][execution]") {
  const Formulas models;
  Chain net(4, DType::float32);
  net.gemm(1, {1, 1, 1, 1});
  std::vector<NodeId> operands{net.last};
  for (const double value : {2.0, 8.0, 3.0, 0.75}) operands.push_back(net.graph.append_constant(tensor(DType::float32, {1}, {value})));
  net.last = take(net.graph.append(Op::batch_norm, operands, BatchNormAttributes{0.25}, "n"));
  // x - 3 over 1, doubled, plus 8: the sum of 4 terms has magnitudes 4, so that S = 2 (4 + 3) + 8. The error of the product
  // itself, without rewrites, is doubled.
  check_radius(radius_at(models.rewritten, net.output(), {1, -1, 1, -1}, Rational(2)),
               both(gamma_of(7), gamma_of(13)) * Rational(22) + gamma_of(5) * Rational(8));
}

TEST_CASE("executions: a factor that moves through a product counts twice, once for the operand that others read", "[kernel][execution]") {
  const Formulas models;
  Chain net(4, DType::float32);
  net.then(Op::mul, number(net, 3));
  net.then(Op::neg);
  net.gemm(1, {1, 1, 1, 1});
  // 4 products and the step that affine forms allow; the product and twice the factor on each term's way; the operand's own
  // rounding carries on.
  check_radius(radius_at(models.rewritten, net.output(), {1, -1, 1, -1}, Rational(0)),
               both(gamma_of(5), gamma_of(3)) * Rational(12) + kU * Rational(12));
  check_radius(radius_at(models.written, net.graph, {1, -1, 1, -1}, Rational(0)), gamma_of(5) * Rational(12) + kU * Rational(12));
}

TEST_CASE("executions: a quotient that moves through a product of two operands may be a product with the rounded reciprocal",
          "[kernel][execution]") {
  const Formulas models;
  Chain net(2, DType::float32);
  const NodeId x = net.last;
  net.then(Op::div, number(net, 4));
  const NodeId column = take(net.graph.append(Op::permute, {net.last}, PermuteAttributes{{1, 0}}, "t"));
  net.last = take(net.graph.append(Op::matmul, {x, column}, NoAttributes{}, "p"));
  // The error of the quotient, and its value: a rounded reciprocal and the product with it.
  const Rational quotient = both(gamma_of(1), gamma_of(2)) * Rational(1, 4);
  const Rational found = radius_at(models.rewritten, net.output(), {1, 1}, Rational(1, 2));
  const Rational least = both(gamma_of(2), gamma_of(5)) * Rational(1, 2) + Rational(2) * quotient;
  CAPTURE(found.to_string(), least.to_string());
  CHECK(found >= least);
  CHECK(found <= least * Rational(3, 2));
}

TEST_CASE("executions: a product whose moved factor kept its sums small may overflow", "[kernel][execution]") {
  const Formulas models;
  const auto code_under = [&](const ExecutionModel& model) {
    Chain net(1, DType::float32);
    net.then(Op::mul, number(net, 0x1p-100));
    net.gemm(1, {0x1p64});
    return code_of_boxes(open_under(model, net.output(), {0x1p100}, {0x1p100}));
  };
  CHECK(code_under(models.written) == "ok");
  CHECK(code_under(models.rewritten) == "propagate_box.S4");
}

TEST_CASE("executions: a step that is read twice is no part of a formula", "[kernel][execution]") {
  const Formulas models;
  Chain net(1, DType::float32);
  const NodeId step = net.then(Op::mul, number(net, 3));
  const NodeId once = net.then(Op::mul, number(net, 5));
  net.graph.mark_output(once, "y");
  Graph alone = net.graph;
  net.graph.mark_output(step, "p");
  const auto radius = [&](const ExecutionModel& model, const Graph& graph) {
    const ProblemPointer problem = open_under(model, graph, {1}, {1});
    const Scope scope = boxed_root(problem);
    return exactly(scope.box(problem->graph().outputs[0]).hi[0]) - Rational(15);
  };
  CHECK(radius(models.rewritten, net.graph) == radius(models.written, net.graph));
  CHECK(radius(models.rewritten, alone) > radius(models.written, alone) + kU * Rational(10));
}

TEST_CASE("executions: constants that may overflow when they are combined are declined", "[kernel][execution]") {
  const Formulas models;
  Chain net(1, DType::float32);
  for (const double factor : {0x1p-80, 0x1p70, 0x1p70}) net.then(Op::mul, number(net, factor));
  const Graph graph = net.output();
  const auto code_under = [&](const ExecutionModel& model) { return code_of_boxes(open_under(model, graph, {1}, {1})); };
  CHECK(code_under(models.written) == "ok");
  CHECK(code_under(models.rewritten) == "propagate_box.S4");
}

TEST_CASE("executions: a variance in one pass pays for what its differences lose", "[kernel][execution]") {
  Formulas models;
  models.rewritten.moments = ExecutionModel::Moments::one_or_two_pass;
  models.written.bias_in_product = models.rewritten.bias_in_product = true;
  Chain net(4, DType::float32);
  std::vector<double> w;  // z = 1000, -1000, ..., sums of magnitudes 2^27: the mean may join their accumulation, or not
  for (const double sign : {1.0, -1.0, 1.0, -1.0}) w.insert(w.end(), {0x1p26, -0x1p26, 1000 * sign, 0});
  const NodeId z = net.gemm(4, w);
  const ReduceAttributes lines{{1}, true};
  const NodeId mean = net.then(Op::reduce_mean, lines);
  const NodeId difference = take(net.graph.append(Op::sub, {z, mean}, NoAttributes{}, "d"));
  net.last = take(net.graph.append(Op::mul, {difference, difference}, NoAttributes{}, "p"));
  net.then(Op::reduce_mean, lines);
  const std::vector<double> x{1, 1, 1, 1};
  const Rational written = radius_at(models.written, net.output(), x, Rational(1000000));
  const Rational rewritten = radius_at(models.rewritten, net.graph, x, Rational(1000000));
  CAPTURE(written.to_string(), rewritten.to_string());
  CHECK(rewritten >= written * Rational(5, 4));
}

TEST_CASE("executions: divisors whose product may be subnormal are declined", "[kernel][execution]") {
  const Formulas models;
  const auto code_with = [&](double divisor) {
    Chain net(1, DType::float32);
    for (int k = 0; k < 2; ++k) net.then(Op::div, number(net, divisor));
    return code_of_boxes(open_under(models.rewritten, net.output(), {0x1p-120}, {0x1p-120}));
  };
  CHECK(code_with(0x1p-61) == "ok");
  CHECK(code_with(0x1.8p-64) == "propagate_box.S4");  // their product is below 2^-126, and its reciprocal a number of the format
}

TEST_CASE("executions: a variance in one pass pays for the mean of the squares, and for the error of the mean", "[kernel][execution]") {
  Formulas models;
  models.rewritten.moments = ExecutionModel::Moments::one_or_two_pass;
  Chain net(4, DType::float32);
  const NodeId x = net.last;
  const ReduceAttributes lines{{1}, true};
  const NodeId mean = net.then(Op::reduce_mean, lines);
  const NodeId difference = take(net.graph.append(Op::sub, {x, mean}, NoAttributes{}, "d"));
  net.last = take(net.graph.append(Op::mul, {difference, difference}, NoAttributes{}, "p"));
  net.then(Op::reduce_mean, lines);
  // q = m^2 = 1024 and no variance; the mean is charged gamma of 3 additions and a quotient, its reciprocal rounded.
  const Rational of_mean = gamma_of(5) * Rational(32);
  const Rational found = radius_at(models.rewritten, net.output(), {32, 32, 32, 32}, Rational(0));
  const Rational expected = Rational(64) * of_mean + gamma_of(14) * Rational(4096);
  CAPTURE(found.to_string(), expected.to_string());
  CHECK(found >= expected);
  CHECK(found <= expected * Rational(5, 4));
  CHECK(radius_at(models.written, net.output(), {32, 32, 32, 32}, Rational(0)) < expected * Rational(1, 100));
}

TEST_CASE("executions: a variance in one pass is one where the mean comes first, and where an axis of one element is named",
          "[kernel][execution]") {
  Formulas models;
  models.rewritten.moments = ExecutionModel::Moments::one_or_two_pass;
  const auto found = [&](bool mean_first, std::vector<std::int64_t> axes) {
    Chain net(4, DType::float32);
    const NodeId x = net.last, mean = net.then(Op::reduce_mean, ReduceAttributes{{1}, true});
    const NodeId first = mean_first ? mean : x, second = mean_first ? x : mean;
    const NodeId difference = take(net.graph.append(Op::sub, {first, second}, NoAttributes{}, "d"));
    net.last = take(net.graph.append(Op::mul, {difference, difference}, NoAttributes{}, "p"));
    net.then(Op::reduce_mean, ReduceAttributes{std::move(axes), true});
    return radius_at(models.rewritten, net.output(), {32, 32, 32, 32}, Rational(0));
  };
  const Rational usual = found(false, {1});
  CHECK(found(true, {1}) == usual);
  CHECK(found(false, {0, 1}) == usual);
}

}  // namespace assay::test
