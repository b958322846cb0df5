// Budgets of the steps of a session, and layout ops on integers and booleans, whose boxes and rows pass through them exactly.
#include "certificates/check/session.h"
#include "kernel/inspect/inspect.h"
#include "tests/kernel/kernel_problems.h"

using namespace assay;
using namespace assay::test;

namespace {

// The first of the greatest of x [1, 4], as a float [1, 1]: arg_max -> reshape -> cast.
Graph position_of_greatest() {
  Chain chain(4);
  chain.then(Op::arg_max, ArgAttributes{1, false, false});
  chain.then(Op::reshape, ShapeAttributes{{1, 1}});
  chain.then(Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::float64)});
  return chain.output();
}

// The number of elements of x [1, 4] below 1/2: less -> reshape -> cast -> sum.
Graph count_of_small() {
  Chain chain(4);
  const NodeId half = chain.graph.append_constant(tensor({1}, {0.5}));
  chain.then(Op::less, half);
  chain.then(Op::reshape, ShapeAttributes{{4, 1}});
  chain.then(Op::cast, CastAttributes{static_cast<std::uint8_t>(DType::float64)});
  chain.then(Op::reduce_sum, ReduceAttributes{{0}, true});
  return chain.output();
}

ProblemPointer wide_relu(KernelOptions options) {
  Chain chain(8);
  chain.gemm(8, std::vector<double>(64, 0.25));
  chain.then(Op::relu);
  chain.gemm(1, std::vector<double>(8, 1));
  return open(chain.output(), std::vector<double>(8, -1), std::vector<double>(8, 1), {at_least(output(0), 100)}, options);
}

}  // namespace

TEST_CASE("layout ops on integers and booleans behind an input are index maps", "[budget][layout]") {
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    const std::vector<double> lo(4, 0), hi(4, 1);
    for (const auto& [graph, most] : {std::pair{position_of_greatest(), 3}, std::pair{count_of_small(), 4}}) {
      const ProblemPointer above = open(graph, lo, hi, {at_least(output(0), most, true)}, options);
      CHECK(conclude(boxed_root(above)).ok());
      const ProblemPointer at = open(graph, lo, hi, {at_least(output(0), most)}, options);
      CHECK_FALSE(conclude(boxed_root(at)).ok());  // the last is the greatest; all are small
      const std::vector<double> point = most == 3 ? std::vector<double>{0, 0, 0, 1} : std::vector<double>(4, 0);
      CHECK(logic::satisfiable(at, {0, rationals(point)}).ok());
    }
  }
}

TEST_CASE("a session declines the step that its multiply-adds do not pay", "[budget]") {
  certificate::Session generous(wide_relu({}));
  REQUIRE(generous.begin_group(0).ok());
  REQUIRE(generous.sweep(0, false).ok());

  // 16 rows through 64 multiply-adds and what is before them: not for 1000.
  const ProblemPointer problem = wide_relu({});
  const NodeId pre_activation = inspect::pre_activations(*problem).front();
  certificate::Session poor(problem, {1000});
  REQUIRE(poor.begin_group(0).ok());
  const auto box_and_rows = [&] {
    const auto boxed = poor.propagate_box(pre_activation);
    return boxed.ok() ? poor.tighten(pre_activation, {}, {}) : boxed;
  };
  CHECK(code_of(box_and_rows()) == "kernel.work");
  CHECK(poor.scope().has_box(pre_activation));  // the box before the rows was spent
  certificate::Session poorer(wide_relu({}), {200});
  REQUIRE(poorer.begin_group(0).ok());
  CHECK(code_of(poorer.sweep(0, false)) == "kernel.work");
  CHECK(code_of(poorer.spend(1e6)) == "kernel.work");
  poorer.allow(1e6);
  CHECK(poorer.sweep(0, false).ok());
  CHECK(poorer.work_left() < 1e6);
}

TEST_CASE("a session declines the split whose boxes do not fit the memory", "[budget]") {
  // 8 + 8 + 8 + 1 elements that are not constant, 24 bytes each, and 64 for each of 6 nodes: 984 for a branch with all its boxes.
  const auto split = [](certificate::Session& session, std::uint32_t element, bool boxes) {
    if (auto opened = session.split(0, element, 0); !opened) return opened;
    return boxes ? session.sweep(0, false) : Outcome<Done>(Done{});
  };
  for (const bool boxes : {true, false}) {
    certificate::Session session(wide_relu({}), {1e13, 4000});
    REQUIRE(session.begin_group(0).ok());
    REQUIRE(session.sweep(0, false).ok());
    std::uint32_t depth = 0;
    Outcome<Done> opened = Done{};
    while (depth < 8 && (opened = split(session, depth, boxes)).ok()) ++depth;
    CHECK(session.depth() == depth);
    // Branches that share their parent's boxes hold 64 * 6 bytes, and 24 * 8 for the split node's.
    CHECK(depth == (boxes ? 3 : 4));
    CHECK(code_of(opened) == "certificate.depth");
    CHECK(session.most_memory() <= 4000);
    CHECK(session.most_memory() > (boxes ? 3 * 984 : 984 + 3 * 576));
  }
}

TEST_CASE("a branch that derives a box again without effect shares its parent's", "[budget]") {
  const ProblemPointer problem = wide_relu({});
  const Scope parent = boxed_root(problem);
  Scope child = parent;
  REQUIRE(child.assume({0, 0, false, 0.5}).ok());
  REQUIRE(child.propagate_box(2).ok());
  CHECK(&child.box(2) != &parent.box(2));
  Scope same = parent;
  REQUIRE(same.assume({0, 0, false, 2}).ok());  // the input is at most 1 anyway
  REQUIRE(same.propagate_box(2).ok());
  CHECK(&same.box(2) == &parent.box(2));
}

TEST_CASE("a branch whose lines were forgotten concludes as before", "[budget]") {
  const ProblemPointer problem = wide_relu({});
  Scope scope = boxed_root(problem);
  REQUIRE(inspect::tighten(scope, inspect::pre_activations(*problem)[0], {Selection::Kind::all, {}}, {}).ok());
  inspect::Diagnosis before, after;
  const std::vector<CaseMultipliers> cases{{0, {}}};
  CHECK(inspect::conclude(scope, cases, {}, before).ok());
  scope.forget_linear_bounds(boxed_root(problem));
  CHECK(inspect::conclude(scope, cases, {}, after).ok());
  CHECK(before.margins == after.margins);
}

TEST_CASE("a witness whose exact fractions would double in length forever is declined", "[budget]") {
  Chain chain(1);
  for (int i = 0; i < 40; ++i) chain.then(Op::mul, chain.last);
  const ProblemPointer problem = open(chain.output(), {-1}, {1}, {at_most(output(0), 0)});
  CHECK(code_of(logic::satisfiable(problem, {0, {Rational(1, 2)}})) == "satisfiable.S3");
  CHECK(logic::satisfiable(problem, {0, {Rational(0)}}).ok());
  // A case that 256 bits leave open and short fractions decide: x^4 = 1/81.
  Chain small(1);
  small.then(Op::mul, small.last);
  small.then(Op::mul, small.last);
  const ProblemPointer tight = open(small.output(), {-1}, {1}, {at_most(output(0), Rational(1, 81)), at_least(output(0), Rational(1, 81))});
  CHECK(logic::satisfiable(tight, {0, {Rational(1, 3)}}).ok());
}

// A statement file may hold nodes that no output needs.
TEST_CASE("steps on nodes that no output needs pay for them", "[budget]") {
  Graph graph;
  const std::int64_t n = 100;
  const NodeId x = graph.append_input(DType::float64, {1, 4}, "x");
  const auto append = [&](Op op, std::vector<NodeId> operands, Attributes attributes) {
    auto id = graph.append(op, std::move(operands), std::move(attributes));
    REQUIRE(id.ok());
    return id.value();
  };
  const NodeId sum = append(Op::reduce_sum, {x}, ReduceAttributes{{1}, true});
  const NodeId wide = append(Op::expand, {sum}, ShapeAttributes{{n, n}});
  const NodeId square = append(Op::mul, {wide, wide}, NoAttributes{});
  const NodeId dead = append(Op::matmul, {square, square}, NoAttributes{});
  graph.mark_output(append(Op::relu, {x}, NoAttributes{}), "y");
  const ProblemPointer problem = open(std::move(graph), std::vector<double>(4, 0), std::vector<double>(4, 1), {at_least(output(0), 100)});
  certificate::Session poor(problem, {3e7});  // for one of the two products
  REQUIRE(poor.begin_group(0).ok());
  for (const NodeId node : {sum, wide, square}) REQUIRE(poor.propagate_box(node).ok());
  CHECK(code_of(poor.propagate_box(dead)) == "kernel.work");
  certificate::Session rich(problem);
  REQUIRE(rich.begin_group(0).ok());
  for (const NodeId node : {sum, wide, square, dead}) REQUIRE(rich.propagate_box(node).ok());
  const double left = rich.work_left();
  Selection one{Selection::Kind::mask, std::vector<bool>(n * n)};
  one.mask[0] = true;
  REQUIRE(rich.tighten(dead, one, {}).ok());
  CHECK(left - rich.work_left() > 1e6);
}
