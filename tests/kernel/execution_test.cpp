// Float executions: the error charged for each node, compared with the formulas of docs/explanation/float32.md written out here
// in exact fractions, and the consequences for boxes, rows, witnesses and statements.
#include "kernel/inspect/inspect.h"
#include "tests/kernel/executions.h"

namespace assay::test {

TEST_CASE("executions: a product of m terms pays gamma of m roundings times the sum of magnitudes", "[kernel][execution]") {
  // m products, each rounded once, and m - 1 additions; one more step for the constant that affine forms allow.
  const std::vector<double> x{1, -1, 1, -1, 1};
  check_radius(radius_at(plain(), dot(5), x, Rational(1)), gamma_of(6) * Rational(5));
}

TEST_CASE("executions: interpolation along two axes covers programs that sum all corners at once", "[kernel][execution]") {
  // Means over 4 x 4 elements. From left to right the small ones are lost behind 1, and -1 leaves 0; along the first axis 1 - 1 cancels.
  const double small = 0x1.fffffep-25;
  std::vector<double> x(16, small);
  x[0] = 1;
  x[4] = -1;
  double total = x[0];
  for (std::size_t i = 0; i < 16; ++i) total = i == 0 || i == 4 ? total : static_cast<double>(static_cast<float>(total + x[i]));
  CHECK(total + x[4] == 0);
  Chain net(16, DType::float32);
  net.then(Op::reshape, ShapeAttributes{{4, 4}});
  const std::vector<Rational> quarters(4, Rational(1, 4));
  for (const std::int64_t axis : {0, 1}) net.then(Op::weighted_gather, WeightedGatherAttributes{axis, {0, 4}, {0, 1, 2, 3}, quarters});
  const Rational exact = exactly(small) * Rational(14, 16);
  CHECK(radius_at(plain(), net.output(), x, exact) >= exact);
}

TEST_CASE("executions: a bias is a term", "[kernel][execution]") {
  const std::vector<double> x{1, -1};
  check_radius(radius_at(plain(), dot(2, 1024), x, Rational(1024)), gamma_of(3) * Rational(1026));
}

TEST_CASE("executions: a bias that joins the accumulation costs one rounding more, and gamma of its size", "[kernel][execution]") {
  ExecutionModel model = model_named("float32");
  check_radius(radius_at(model, dot(5), {1, -1, 1, -1, 1}, Rational(1)), gamma_of(7) * Rational(5));
  Chain net(4, DType::float32);
  net.gemm(1, {1, 1, 1, 1});
  const NodeId bias = net.graph.append_constant(tensor(DType::float32, {1, 1}, {1024}));
  net.then(Op::add, bias);
  // The product, the sum's own rounding, and the accumulation with the bias.
  const Rational expected = gamma_of(6) * Rational(4) + kU * Rational(1024) + gamma_of(8) * Rational(1024);
  check_radius(radius_at(model, net.output(), {1, -1, 1, -1}, Rational(1024)), expected);
}

TEST_CASE("executions: a product and the bias that alone reads it are one step, which pays both roundings", "[kernel][execution]") {
  for (const bool shared : {false, true}) {
    Chain net(4, DType::float32);
    const NodeId product = net.gemm(1, {1, 1, 1, 1});
    const NodeId sum = net.then(Op::add, net.graph.append_constant(tensor(DType::float32, {1, 1}, {1024})));
    if (shared) net.then(Op::sub, product);
    const Rational of_product = gamma_of(5) * Rational(4), of_sum = kU * Rational(1028), of_difference = kU * Rational(1032);
    for (const bool in_integers : {false, true}) {
      KernelOptions options;
      options.exact = in_integers;
      const std::vector<double> x{1, 1, 1, 1};
      const ProblemPointer problem = open_under(plain(), net.output(), x, x, {at_least(output(0), Rational(0))}, options);
      CHECK(std::ranges::binary_search(inspect::active_nodes(*problem), product) == shared);
      CHECK(std::ranges::binary_search(inspect::active_nodes(*problem), shared ? sum : problem->graph().outputs[0]));
      const NodeId y = problem->graph().outputs[0];
      Scope scope = boxed_root(problem);
      if (!shared) check_radius(exactly(scope.box(y).hi[0]) - Rational(1028), of_product + of_sum);
      REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());
      if (!shared) {
        check_radius(exactly(scope.box(y).hi[0]) - Rational(1028), of_product + of_sum);
        continue;
      }
      // The error of the product cancels; it may be fused with either reader, which counts it once or twice more there.
      const Rational found = exactly(scope.box(y).hi[0]) - Rational(1024);
      CHECK(found >= of_sum + of_difference);
      CHECK(found <= of_sum + of_difference + Rational(4) * of_product);
    }
  }
}

TEST_CASE("executions: each layer pays, and later ones carry it on", "[kernel][execution]") {
  Chain net(3, DType::float32);
  net.gemm(2, {1, 1, 1, 1, -1, 1});
  net.gemm(1, {1000, 1000});
  const std::vector<double> x{1, 1, 1};
  const Rational first = gamma_of(4) * Rational(3);                                        // of each element of the first layer
  const Rational second = gamma_of(3) * (Rational(1000) * (Rational(4) + first + first));  // of the second at what may be held
  const ProblemPointer problem = open_under(plain(), net.output(), x, x);
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    const ProblemPointer one = open_under(plain(), net.output(), x, x, {at_least(output(0), Rational(0))}, options);
    Scope scope = boxed_root(one);
    const NodeId y = one->graph().outputs[0];
    check_radius(exactly(scope.box(y).hi[0]) - Rational(4000), second + Rational(2000) * first);
    REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());
    check_radius(exactly(scope.box(y).hi[0]) - Rational(4000), second + Rational(2000) * first);
  }
}

TEST_CASE("executions: subnormal results that may be flushed", "[kernel][execution]") {
  ExecutionModel model = plain();
  model.flush_results = true;
  const Rational flushed = radius_at(model, dot(1), {0x1p-126}, exactly(0x1p-126));
  CHECK(flushed >= exactly(0x1p-126));
  Chain net(1, DType::float32);
  net.then(Op::mul, net.last);
  CHECK(radius_at(model, net.output(), {0x1p-64}, exactly(0x1p-128)) >= exactly(0x1p-128));
}

TEST_CASE("executions: a subnormal result inside of a form that may be flushed is multiplied on", "[kernel][execution]") {
  ExecutionModel model = plain();
  model.flush_results = true;
  Chain net(2, DType::float32);
  std::vector<NodeId> operands{net.last};
  for (const double value : {0x1p20, 0.0, 0.0, 0.75})
    operands.push_back(net.graph.append_constant(tensor(DType::float32, {2}, {value, value})));
  net.last = net.graph.append(Op::batch_norm, operands, BatchNormAttributes{0.25}, "n").value();
  const ProblemPointer problem = open_under(model, net.output(), {0, 0}, {0, 0});
  CHECK(boxed_root(problem).box(problem->graph().outputs[0]).hi[0] >= 0x1p-106);  // 2^20 times the smallest normal number
}

TEST_CASE("executions: operands that may be flushed count with what they are multiplied with", "[kernel][execution]") {
  ExecutionModel model = plain();
  model.flush_operands = true;
  Chain net(1, DType::float32);
  net.gemm(1, {0x1p100});
  CHECK(radius_at(model, net.output(), {0x1p-130}, exactly(0x1p-30)) >= exactly(0x1p-30));
}

TEST_CASE("executions: a box on which a partial sum may overflow is declined", "[kernel][execution]") {
  Chain net(2, DType::float32);
  net.gemm(1, {0x1p127, -0x1p127});
  for (const double x : {1.0, 0.99}) {
    const ProblemPointer problem = open_under(plain(), net.output(), {x, x}, {x, x});
    Scope scope = root(problem);
    const auto done = scope.propagate_box(problem->graph().outputs[0]);
    CHECK(done.ok() == (x < 1));
    if (!done) CHECK(done.rejection().code == "propagate_box.S4");
    if (!done) CHECK(done.rejection().kind == Rejection::Kind::declined);
    if (!done) CHECK(code_of(conclude(scope)) == "conclude.S4");
  }
}

TEST_CASE("executions: a function pays what its library's table says", "[kernel][execution]") {
  Chain net(1, DType::float32);
  net.then(Op::exp);
  const ExecutionModel model = model_named("float32");  // 4 units in the last place of exp(0) = 1
  const Rational found = radius_at(model, net.output(), {0}, Rational(1));
  CHECK(found >= Rational(4) * Rational(1, 1 << 23));
  CHECK(found <= Rational(5) * Rational(1, 1 << 23));
  ExecutionModel none = model;
  none.math_table = "";
  const ProblemPointer problem = open_under(none, net.output(), {0}, {0});
  Scope scope = root(problem);
  CHECK(code_of(scope.propagate_box(problem->graph().outputs[0])) == "propagate_box.S4");
}

TEST_CASE("executions: choices and layout pay nothing", "[kernel][execution]") {
  Chain net(2, DType::float32);
  net.then(Op::relu);
  net.then(Op::floor);
  net.then(Op::reshape, ShapeAttributes{{1, 2}});
  net.then(Op::abs);
  const ProblemPointer held = open_under(model_named("float32"), net.output(), {2, 3}, {2, 3});
  const ProblemPointer real = open(net.output(), {2, 3}, {2, 3}, {at_least(output(0), Rational(0))});
  const Scope a = boxed_root(held), b = boxed_root(real);
  CHECK(a.box(held->graph().outputs[0]).lo == b.box(real->graph().outputs[0]).lo);
  CHECK(a.box(held->graph().outputs[0]).hi == b.box(real->graph().outputs[0]).hi);
}

TEST_CASE("executions: relaxations move outward", "[kernel][execution]") {
  // sigmoid(x) - 0.25 x, whose box is wide and whose lines are not: rows pass through them.
  Chain net(1, DType::float32);
  const NodeId x = net.last, quarter = net.graph.append_constant(tensor(DType::float32, {1, 1}, {0.25}));
  const NodeId y = net.then(Op::sigmoid), scaled = take(net.graph.append(Op::mul, {x, quarter}, NoAttributes{}, "scaled"));
  net.last = y;
  net.then(Op::sub, scaled);
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    const ProblemPointer real = open(net.output(), {-1}, {1}, {at_least(output(0), Rational(0))}, options);
    const ProblemPointer held = open_under(model_named("float32"), net.output(), {-1}, {1}, {at_least(output(0), Rational(0))}, options);
    const NodeId z = real->graph().outputs[0];
    Scope a = boxed_root(real), b = boxed_root(held);
    REQUIRE(inspect::tighten(a, z, {Selection::Kind::all, {}}, {}).ok());
    REQUIRE(inspect::tighten(b, z, {Selection::Kind::all, {}}, {}).ok());
    // The sigmoid's error is several units, that of the product and the difference together less than one.
    CHECK(b.box(z).hi[0] - a.box(z).hi[0] >= 0x1p-23);
    CHECK(a.box(z).lo[0] - b.box(z).lo[0] >= 0x1p-23);
    CHECK(b.box(z).hi[0] - a.box(z).hi[0] <= 0x1p-18);
  }
}

TEST_CASE("executions: products of several readers may be held differently by each", "[kernel][execution]") {
  // y = x x - x x: two readers, one fused and one not, differ by the rounding of the product.
  Chain net(1, DType::float32);
  const NodeId x = net.last, square = net.then(Op::mul, x);
  net.then(Op::sub, square);
  const double a = 1 + 0x1p-12;
  const ProblemPointer problem = open_under(model_named("float32"), net.output(), {a}, {a});
  Scope scope = boxed_root(problem);
  const NodeId y = problem->graph().outputs[0];
  REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());  // in which the two coefficients of the product cancel
  CHECK(scope.box(y).lo[0] <= -0x1p-24);
  CHECK(scope.box(y).hi[0] >= 0x1p-24);
}

TEST_CASE("executions: what is added to a product of constants may join its accumulation", "[kernel][execution]") {
  ExecutionModel model = plain();
  model.bias_in_product = true;
  // 2^24 + 1 + 1 + 1 + 1 - 1 - 1 - 1 - 1 in this order is 2^24 - 4; the product alone is exact.
  const auto product = [](Chain& net) {
    const NodeId signs = net.graph.append_constant(tensor(DType::float32, {1, 8}, {1, 1, 1, 1, -1, -1, -1, -1}));
    const NodeId ones = net.graph.append_constant(tensor(DType::float32, {8, 1}, std::vector<double>(8, 1.0)));
    const NodeId sum = take(net.graph.append(Op::matmul, {signs, ones}, NoAttributes{}, "p"));
    return take(net.graph.append(Op::neg, {sum}, NoAttributes{}, "n"));
  };
  SECTION("a constant") {
    Chain net(1, DType::float32);
    const NodeId biased = take(net.graph.append(Op::add, {product(net), number(net, 0x1p24)}, NoAttributes{}, "b"));
    net.then(Op::mul, biased);
    CHECK(radius_at(model, net.output(), {1}, exactly(0x1p24)) >= Rational(4));
  }
  SECTION("a variable") {
    Chain net(1, DType::float32);
    net.then(Op::sub, product(net));
    CHECK(radius_at(model, net.output(), {0x1p24}, exactly(0x1p24)) >= Rational(4));
  }
  SECTION("declined where the accumulation may overflow, and where it is scaled on the way") {
    for (const bool scaled : {true, false}) {
      Chain net(1, DType::float32);
      NodeId sum = product(net);
      if (scaled) sum = take(net.graph.append(Op::reduce_sum, {sum}, ReduceAttributes{{1}, true}, "r"));
      net.then(Op::add, take(net.graph.append(Op::add, {sum, number(net, scaled ? 1 : 0x1.8p127)}, NoAttributes{}, "b")));
      Statement claim = stated(net.output(), {{box_of(rationals({0}), rationals({0})), {at_least(output(0), Rational(0))}}});
      claim.semantics = model;
      const auto opened = Problem::open(std::move(claim));
      REQUIRE_FALSE(opened);
      CHECK(opened.rejection().code == "execution.constant");
    }
  }
}

TEST_CASE("executions: errors are found again where boxes are a good deal smaller", "[kernel][execution]") {
  Chain net(2, DType::float32);
  const NodeId sum = net.gemm(2, {3, 5, 7, -9});
  const NodeId y = net.then(Op::relu, NoAttributes{});
  const ProblemPointer problem = open_under(plain(), net.output(), {-4096, -4096}, {4096, 4096});
  const Scope root = boxed_root(problem);
  Scope child = root;
  const NodeId x = problem->graph().inputs[0];
  for (const std::uint32_t element : {0U, 1U}) {
    for (const bool at_least : {true, false}) REQUIRE(child.assume({x, element, at_least, 1.0}));
  }
  for (const NodeId node : {sum, y}) REQUIRE(child.propagate_box(node));
  CHECK(root.box(sum).hi[0] > 4096 * 8 + 0x1p-10);
  CHECK(child.box(sum).hi[0] > 8);
  CHECK(child.box(sum).hi[0] < 8 + 0x1p-18);  // gamma of some operations on terms of 8, not of 32768
  CHECK(child.box(y).hi[0] < 8 + 0x1p-18);
  CHECK(child.box(y).hi[1] == 0);
}

TEST_CASE("executions: storage rounds once more, and rounds constants", "[kernel][execution]") {
  const std::vector<double> x{1, 1};
  const Rational bfloat16 = radius_at(model_named("bfloat16"), dot(2), x, Rational(2));
  CHECK(bfloat16 >= Rational(2) * Rational(1, 256));
  CHECK(bfloat16 <= Rational(2) * Rational(1, 255));
  Chain net(1, DType::float32);
  net.gemm(1, {1 + 0x1p-10});  // between two numbers of bfloat16
  const ProblemPointer problem = open_under(model_named("bfloat16"), net.output(), {1}, {1});
  const Scope scope = boxed_root(problem);
  CHECK(scope.box(problem->graph().outputs[0]).hi[0] >= 1 + 0x1p-7);
  Chain large(1, DType::float32);
  large.gemm(1, {2});
  const ProblemPointer overflows = open_under(model_named("float16"), large.output(), {40000}, {40000});
  Scope at_end = root(overflows);
  CHECK(code_of(at_end.propagate_box(overflows->graph().outputs[0])) == "propagate_box.S4");
}

TEST_CASE("executions: a witness holds in every one of them", "[kernel][execution]") {
  // 2^24 + 1 - 2^24 is 0 or 1, as the order has it.
  Chain net(3, DType::float32);
  net.gemm(1, {0x1p24, 1, -0x1p24});
  const std::vector<double> x{1, 1, 1};
  const auto witness = [&](const Rational& bound) {
    return logic::satisfiable(open_under(model_named("float32"), net.output(), x, x, {at_most(output(0), bound)}), {0, rationals(x)});
  };
  CHECK(witness(Rational(1000)).ok());
  CHECK(code_of(witness(Rational(1, 2))) == "satisfiable.S4");
  CHECK(witness(Rational(1, 2)).rejection().kind == Rejection::Kind::declined);
  CHECK(witness(Rational(1, 2)).rejection().found.ends_with("or the bounds are too wide"));  // the bounds alone cannot tell which
  CHECK(code_of(witness(Rational(-1000))) == "satisfiable.S4");
  CHECK(witness(Rational(-1000)).rejection().kind == Rejection::Kind::rejected);
}

TEST_CASE("executions: a witness is a number of the format", "[kernel][execution]") {
  Chain net(1, DType::float32);
  net.then(Op::relu);
  const double point = 1 + 0x1p-30;
  const std::vector<Row> rows{at_least(output(0), Rational(0))};
  CHECK(logic::satisfiable(open(net.output(), {1}, {2}, rows), {0, rationals({point})}).ok());
  CHECK(code_of(logic::satisfiable(open_under(model_named("float32"), net.output(), {1}, {2}, rows), {0, rationals({point})})) ==
        "satisfiable.S4");
  CHECK(logic::satisfiable(open_under(model_named("float32"), net.output(), {1}, {2}, rows), {0, rationals({1 + 0x1p-23})}).ok());
  CHECK(code_of(logic::satisfiable(open_under(model_named("bfloat16"), net.output(), {1}, {2}, rows), {0, rationals({1 + 0x1p-23})})) ==
        "satisfiable.S4");
}

TEST_CASE("executions: a box without a number of the format is vacuous", "[kernel][execution]") {
  Chain net(1, DType::float32);
  net.then(Op::relu);
  const double lo = 1 + 0x1p-30, hi = 1 + 0x1p-29;
  CHECK_FALSE(open(net.output(), {lo}, {hi}, {at_least(output(0), Rational(0))})->group_is_empty(0));
  CHECK(open_under(model_named("float32"), net.output(), {lo}, {hi})->group_is_empty(0));
  CHECK_FALSE(open_under(model_named("float32"), net.output(), {1}, {hi})->group_is_empty(0));
  CHECK(open_under(model_named("bfloat16"), net.output(), {1 + 0x1p-20}, {1 + 0x1p-10})->group_is_empty(0));
}

TEST_CASE("executions: values of another format, and unknown tables, are declined", "[kernel][execution]") {
  Chain doubles(1);
  doubles.then(Op::relu);
  Statement s = stated(doubles.output(), {{box_of(rationals({0}), rationals({1})), {at_least(output(0), Rational(0))}}});
  s.semantics = model_named("float32");
  CHECK(code_of(Problem::open(s)) == "execution.format");
  s.semantics = model_named("float64");
  CHECK(Problem::open(s).ok());
  s.semantics.math_table = "none-such";
  CHECK(code_of(Problem::open(s)) == "execution.table");
}

TEST_CASE("executions: every name of a semantics is one of the statement's", "[kernel][execution]") {
  for (const floats::NamedModel& one : floats::named_models()) {
    CAPTURE(std::string(one.name));
    CHECK(take(parse_execution_model(to_string(one.model))) == one.model);
    CHECK(take(parse_execution_model(short_spelling(one.model))) == one.model);
    CHECK(take(floats::semantics_named("float32:" + std::string(one.name))) == one.model);
  }
  CHECK(take(floats::semantics_named("real")) == ExecutionModel{});
  CHECK(code_of(floats::semantics_named("float33")) == "semantics.name");
  CHECK(code_of(floats::semantics_named("float32:gpu")) == "semantics.name");
  CHECK(code_of(floats::semantics_named("any-order")) == "semantics.name");
}

}  // namespace assay::test
