// Integer and boolean inputs and outputs: which points a box holds, and that every fact holds at all of them.
#include <random>

#include "certificates/check/session.h"
#include "kernel/floats/named_models.h"
#include "semantics/ops/denote.h"
#include "semantics/ops/integer_range.h"
#include "semantics/statement/statement_text.h"
#include "tests/kernel/kernel_problems.h"

using namespace assay;
using namespace assay::test;
using statement::InputBox;

namespace {

NodeId add(Graph& graph, Op op, const std::vector<NodeId>& operands, Attributes attributes = NoAttributes{}) {
  return assay::test::take(graph.append(op, operands, std::move(attributes)));
}
CastAttributes to(DType dtype) { return {static_cast<std::uint8_t>(dtype)}; }

// y = x as float64, x of this type and of one element.
Graph cast_of(DType dtype) {
  Graph graph;
  const NodeId x = graph.append_input(dtype, {1}, "x");
  graph.mark_output(add(graph, Op::cast, {x}, to(DType::float64)), "y");
  return graph;
}
ProblemPointer over(DType dtype, Rational lo, Rational hi, std::vector<Row> rows) {
  return open(stated(cast_of(dtype), {{box_of({std::move(lo)}, {std::move(hi)}), std::move(rows)}}));
}

}  // namespace

TEST_CASE("a box over an integer input holds the integers of its type", "[integers]") {
  struct {
    DType dtype;
    Rational lo, hi, first, last;
  } const rows[] = {
      {DType::int64, Rational(1, 5), Rational(27, 10), Rational(1), Rational(2)},
      {DType::int64, Rational(-27, 10), Rational(-1, 5), Rational(-2), Rational(-1)},
      {DType::int32, Rational(-1), Rational(3), Rational(-1), Rational(3)},
      {DType::int8, Rational(-1000), Rational(1000), Rational(-128), Rational(127)},
      {DType::uint8, Rational(-3), Rational(300), Rational(0), Rational(255)},
      {DType::boolean, Rational(-7), Rational(9), Rational(0), Rational(1)},
      {DType::uint64, Rational(0), pow(Rational(2), 70), Rational(0), pow(Rational(2), 64) - Rational(1)},
      {DType::float32, Rational(1, 5), Rational(27, 10), Rational(1, 5), Rational(27, 10)},
  };
  for (const auto& row : rows) {
    CAPTURE(to_string(row.dtype));
    const ProblemPointer problem = over(row.dtype, row.lo, row.hi, {at_most(output(0), Rational(0))});
    CHECK(problem->group_box(0).lo[0] == row.first);
    CHECK(problem->group_box(0).hi[0] == row.last);
    const Scope scope = root(problem);
    CHECK(scope.box(0).lo[0] == row.first.double_down());
    CHECK(scope.box(0).hi[0] == row.last.double_up());
  }
}

TEST_CASE("a box between two integers is empty for an integer input and none for a float one", "[integers]") {
  for (const DType dtype : {DType::int64, DType::uint8, DType::boolean}) {
    const ProblemPointer problem = over(dtype, Rational(1, 5), Rational(4, 5), {at_least(output(0), Rational(-9))});
    CHECK(problem->group_is_empty(0));
    const std::vector<Refutation> refutations{assay::test::take(root(problem).empty())};
    CHECK(assay::test::take(unsatisfiable(problem, refutations)).vacuous());
  }
  CHECK(over(DType::uint8, Rational(-5), Rational(-1), {})->group_is_empty(0));
  CHECK_FALSE(over(DType::float64, Rational(1, 5), Rational(4, 5), {})->group_is_empty(0));
}

TEST_CASE("a literal on an element of integers moves to the next integer, on any other node it stays", "[integers]") {
  const ProblemPointer problem = over(DType::int64, Rational(0), Rational(3), {at_most(output(0), Rational(-1))});
  const Scope scope = boxed_root(problem);
  CHECK(assumed(scope, {0, 0, false, 1.5}).box(0).hi[0] == 1);
  CHECK(assumed(scope, {0, 0, true, 1.5}).box(0).lo[0] == 2);
  CHECK(assumed(scope, {0, 0, false, 2}).box(0).hi[0] == 2);  // both halves keep an integer threshold
  CHECK(assumed(scope, {0, 0, true, 2}).box(0).lo[0] == 2);
  CHECK(assumed(scope, {1, 0, false, 1.5}).box(1).hi[0] == 1.5);
  CHECK(assumed(scope, {1, 0, true, 1.5}).box(1).lo[0] == 1.5);
}

TEST_CASE("a node that takes integers alone has boxes that end in integers", "[integers]") {
  for (const Op op : {Op::floor, Op::ceil, Op::round, Op::sign, Op::cast, Op::less, Op::step}) {
    CAPTURE(op_row(op).name);
    Graph graph;
    const NodeId x = graph.append_input(DType::float64, {1}, "x"), one = graph.append_constant(column({1.0}));
    const NodeId y = op == Op::cast   ? add(graph, op, {x}, to(DType::int32))
                     : op == Op::less ? add(graph, op, {x, one})
                                      : add(graph, op, {x});
    graph.mark_output(is_float(graph.node(y).dtype) ? y : add(graph, Op::cast, {y}, to(DType::float64)), "y");
    const ProblemPointer problem = open(stated(graph, {{box_of({Rational(-1, 5)}, {Rational(9, 5)}), {at_most(output(0), Rational(-9))}}}));
    const Scope scope = boxed_root(problem);
    const double lo = scope.box(y).lo[0], hi = scope.box(y).hi[0];
    REQUIRE(hi - lo >= 1);
    // A step is 1/2 at 0: it stays where it is.
    CHECK(assumed(scope, {y, 0, false, hi - 0.5}).box(y).hi[0] == (op == Op::step ? hi - 0.5 : hi - 1));
    CHECK(assumed(scope, {y, 0, true, lo + 0.5}).box(y).lo[0] == (op == Op::step ? lo + 0.5 : lo + 1));
    CHECK(assumed(scope, {y, 0, false, hi - 1}).box(y).hi[0] == hi - 1);  // both halves keep an integer
    Scope between = assumed(assumed(scope, {y, 0, true, lo + 0.25}), {y, 0, false, lo + 0.75});
    CHECK(between.empty().ok() == (op != Op::step));
    Scope fresh = assumed(root(problem), {y, 0, false, hi - 0.5});  // the literal is there before the box
    derive_all(fresh, *problem);
    CHECK(fresh.box(y).hi[0] == (op == Op::step ? hi - 0.5 : hi - 1));
  }
}

TEST_CASE("floats of an execution keep the ends that were derived", "[integers]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1}, "x"), y = add(graph, Op::floor, {x});
  graph.mark_output(y, "y");
  Statement floats = stated(graph, {{box_of({Rational(1, 5)}, {Rational(9, 5)}), {at_most(output(0), Rational(-9))}}});
  floats.semantics = assay::test::take(floats::semantics_named("float32"));
  CHECK(assumed(boxed_root(open(floats)), {y, 0, false, 0.5}).box(y).hi[0] == 0.5);
}

TEST_CASE("integers are padded with integers", "[integers]") {
  for (const DType dtype : {DType::int64, DType::boolean, DType::float32}) {
    Graph graph;
    const NodeId x = graph.append_input(dtype, {1}, "x");
    CHECK(graph.append(Op::pad, {x}, PadAttributes{{1}, {0}, 0.5}).ok() == (dtype == DType::float32));
    CHECK(graph.append(Op::pad, {x}, PadAttributes{{1}, {0}, 1.0}).ok());
  }
}

TEST_CASE("what no integer reaches is refuted by splitting between integers", "[integers]") {
  // 0.4 <= x <= 0.6 for x in {0, 1}: every real relaxation holds 1/2.
  const ProblemPointer problem =
      over(DType::int64, Rational(0), Rational(1), {at_least(output(0), Rational(2, 5)), at_most(output(0), Rational(3, 5))});
  Scope whole = boxed_root(problem);
  CHECK_FALSE(conclude(whole, {}, {1, 0}).ok());
  CHECK_FALSE(conclude(whole, {}, {0, 1}).ok());
  Scope low = assumed(whole, {0, 0, false, 0.5}), high = assumed(whole, {0, 0, true, 0.5});
  derive_all(low, *problem);
  derive_all(high, *problem);
  const Refutation both =
      assay::test::take(join(assay::test::take(conclude(low, {}, {1, 0})), assay::test::take(conclude(high, {}, {0, 1}))));
  const std::vector<Refutation> refutations{both};
  const Theorem theorem = assay::test::take(unsatisfiable(problem, refutations));
  const std::string text = statement_text(theorem.problem()->statement(), problem->graph_digest(), problem->digest(), false);
  CHECK(text.find("X_0 in the int64 values of [0, 1]") != std::string::npos);
  CHECK(text.find("\nintegers: exact;") != std::string::npos);
}

TEST_CASE("a witness holds values of the inputs' types", "[integers]") {
  const auto code = [](DType dtype, Rational lo, Rational hi, Rational x) {
    const auto problem = over(dtype, std::move(lo), std::move(hi), {at_least(output(0), Rational(-10))});
    return code_of(satisfiable(problem, {0, {std::move(x)}}));
  };
  CHECK(code(DType::int64, Rational(0), Rational(1), Rational(1)) == "accepted");
  CHECK(code(DType::int64, Rational(0), Rational(1), Rational(1, 2)) == "satisfiable.S2");
  CHECK(code(DType::int64, Rational(1, 2), Rational(3, 2), Rational(1, 2)) == "satisfiable.S2");
  CHECK(code(DType::uint8, Rational(-3), Rational(300), Rational(255)) == "accepted");
  CHECK(code(DType::uint8, Rational(-3), Rational(300), Rational(256)) == "satisfiable.S2");
  CHECK(code(DType::uint8, Rational(-3), Rational(300), Rational(-1)) == "satisfiable.S2");
  CHECK(code(DType::boolean, Rational(0), Rational(2), Rational(1)) == "accepted");
  CHECK(code(DType::boolean, Rational(0), Rational(2), Rational(2)) == "satisfiable.S2");
  CHECK(code(DType::boolean, Rational(0), Rational(1), Rational(1, 3)) == "satisfiable.S2");
  CHECK(code(DType::float64, Rational(0), Rational(1), Rational(1, 3)) == "accepted");
}

TEST_CASE("an integer output is a value like others: how many labels agree", "[integers]") {
  // Labels of two rows of two scores each, against the label 0: y = [arg_max x_0 = 0] + [arg_max x_1 = 0].
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {2, 2}, "x");
  const NodeId label = add(graph, Op::arg_max, {x}, ArgAttributes{1, false, false});
  const std::int64_t wanted[] = {0, 0};
  const NodeId hit = add(graph, Op::equal, {label, graph.append_constant(Tensor::of_ints({2}, wanted))});
  const NodeId count = add(graph, Op::reduce_sum, {add(graph, Op::cast, {hit}, to(DType::int64))}, ReduceAttributes{{0}, false});
  graph.mark_output(count, "y");
  const auto with = [&](Row row) { return open(graph, {1, 0, 0, 0}, {2, 0.5, 1, 1}, {std::move(row)}); };
  const ProblemPointer below_one = with(at_most(output(0), Rational(1), true));
  const std::vector<Refutation> refutations{assay::test::take(conclude(boxed_root(below_one)))};
  CHECK(unsatisfiable(below_one, refutations).ok());
  CHECK(code_of(satisfiable(with(at_most(output(0), Rational(1))), {0, rationals({1, 0, 0, 1})})) == "accepted");
  CHECK(code_of(satisfiable(below_one, {0, rationals({1, 0, 0, 1})})) == "satisfiable.S3");
}

TEST_CASE("facts about integer networks hold at every integer point of the scope", "[integers]") {
  std::mt19937 random(15);
  const auto pick = [&](int lo, int hi) { return std::uniform_int_distribution<int>(lo, hi)(random); };
  int closed = 0;
  for (int round = 0; round < 60; ++round) {
    CAPTURE(round);
    Graph graph;
    const NodeId a = graph.append_input(DType::int64, {1}, "a"), b = graph.append_input(DType::int32, {1}, "b");
    const NodeId wide = add(graph, Op::cast, {b}, to(DType::int64));
    const std::int64_t three[] = {3}, values[] = {4, -1, 7, 0, 2};
    const NodeId positive = add(graph, Op::max, {wide, graph.append_constant(Tensor::of_ints({1}, three))});
    std::vector<NodeId> results = {
        add(graph, Op::add, {a, wide}),
        add(graph, Op::mul, {a, wide}),
        add(graph, Op::div, {a, positive}),
        add(graph, Op::mod, {a, positive}, ModAttributes{}),
        add(graph, Op::bitwise_xor, {a, wide}),
        add(graph, Op::where, {add(graph, Op::less, {a, wide}), a, positive}),
        add(graph, Op::take, {add(graph, Op::mod, {a, positive}, ModAttributes{}), graph.append_constant(Tensor::of_ints({5}, values))},
            ConcatAttributes{0})};
    const NodeId all = add(graph, Op::concat, results, ConcatAttributes{0});
    const NodeId real = add(graph, Op::reshape, {add(graph, Op::cast, {all}, to(DType::float64))}, ShapeAttributes{{1, 7}});
    std::vector<double> weights;
    for (int i = 0; i < 14; ++i) weights.push_back(pick(-3, 3));
    const NodeId z = add(graph, Op::gemm, {real, graph.append_constant(tensor({2, 7}, weights))}, GemmAttributes{1, 1, false, true});
    graph.mark_output(add(graph, Op::relu, {z}), "y");
    const int lo[] = {pick(-4, 0), pick(-4, 3)}, width[] = {pick(0, 5), pick(0, 1)};  // take: an index below 5
    const double fringe = 0.25 * pick(0, 3);
    const ProblemPointer problem = open(graph, {lo[0] - fringe, lo[1] - fringe}, {lo[0] + width[0] + fringe, lo[1] + width[1] + fringe},
                                        {at_most(output(0), Rational(-1))});
    Scope scope = root(problem);
    std::vector<Literal> literals;
    for (int k = pick(0, 3); k > 0; --k) literals.push_back({static_cast<NodeId>(pick(0, 1)), 0, pick(0, 1) == 1, 0.25 * pick(-16, 16)});
    for (const Literal& literal : literals) scope = assumed(scope, literal);
    REQUIRE(certificate::sweep(*problem, scope, 0, false).ok());
    REQUIRE(inspect::tighten(scope, z, {Selection::Kind::all, {}}, {}).ok());
    for (int p = lo[0]; p <= lo[0] + width[0]; ++p) {
      for (int q = lo[1]; q <= lo[1] + width[1]; ++q) {
        const bool inside = std::ranges::all_of(literals, [&](const Literal& l) {
          const double x = l.node == a ? p : q;
          return l.at_least ? x >= l.threshold : x <= l.threshold;
        });
        if (!inside) continue;
        REQUIRE_FALSE(scope.empty().ok());
        const std::vector<Array<double>> inputs{{{1}, {static_cast<double>(p)}}, {{1}, {static_cast<double>(q)}}};
        const auto points = assay::test::take(evaluate<double>(graph, inputs));
        for (NodeId node = 0; node < graph.nodes.size(); ++node) {
          if (!scope.has_box(node)) continue;
          for (std::size_t i = 0; i < points[node].values.size(); ++i) {
            REQUIRE(scope.box(node).lo[i] <= points[node].values[i]);
            REQUIRE(points[node].values[i] <= scope.box(node).hi[i]);
          }
        }
      }
    }
    closed += scope.empty().ok() ? 1 : 0;
  }
  CHECK(closed > 0);  // some scopes are empty: literals with no integer between them
}

TEST_CASE("layout of integers keeps their ends", "[integers]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::int64, {2}, "x");
  const std::int64_t large[] = {(std::int64_t{1} << 53) + 1};
  const NodeId both = add(graph, Op::concat,
                          {add(graph, Op::slice, {x}, SliceAttributes{{1}, {-1}, {2}}), graph.append_constant(Tensor::of_ints({1}, large))},
                          ConcatAttributes{0});
  graph.mark_output(add(graph, Op::reshape, {both}, ShapeAttributes{{3, 1}}), "y");
  const Scope scope = boxed_root(open(graph, {-1, 0}, {3, 2}, {at_most(output(0), Rational(-9))}));
  const Box& box = scope.box(graph.outputs[0]);
  CHECK((box.lo[0] == 0 && box.hi[0] == 2 && box.lo[1] == -1 && box.hi[1] == 3));
  CHECK(box.lo[2] <= 0x1p53);  // 2^53 + 1 is no double
  CHECK(box.hi[2] >= 0x1p53 + 2);
}

TEST_CASE("bits of an integer beyond int64 are declined, not an abort", "[integers]") {
  Graph graph;
  const NodeId x = graph.append_input(DType::uint64, {1}, "x");
  graph.mark_output(add(graph, Op::bitwise_and, {x, x}), "y");
  const std::vector<Array<Rational>> inputs{{{1}, {pow(Rational(2), 63)}}};
  CHECK(code_of(evaluate<Rational>(graph, inputs)) == "denote.scalar");
  const ProblemPointer problem =
      open(stated(graph, {{box_of({Rational(0)}, {pow(Rational(2), 64)}), {at_least(output(0), pow(Rational(2), 63))}}}));
  CHECK(code_of(satisfiable(problem, {0, {pow(Rational(2), 63)}})) == "satisfiable.S3");
}
