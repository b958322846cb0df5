// One group of tests per rule: each side condition broken alone, by one element or one step of its number format, with the
// code of the rejection; and next to it the twin that just holds.
#include <climits>

#include "certificates/check/meter.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

// x in [0, 1]; y = relu(2 x - 1).
Graph small_graph() {
  Chain net(1);
  net.gemm(1, {2}, {-1});
  net.then(Op::relu);
  return net.output();
}
struct Small {
  ProblemPointer problem;
  NodeId z = 0, y = 0, weight = 0;
};
Small small(std::vector<Row> rows = {at_least(output(0), Rational(2))}, KernelOptions options = {}) {
  Small s{open(small_graph(), {0}, {1}, std::move(rows), options)};
  s.y = s.problem->graph().outputs[0];
  s.z = s.problem->graph().node(s.y).operands[0];
  s.weight = s.problem->graph().node(s.z).operands[1];
  return s;
}

float next_float(float x) { return std::nextafter(x, std::numeric_limits<float>::infinity()); }
float previous_float(float x) { return std::nextafter(x, -std::numeric_limits<float>::infinity()); }

}  // namespace

TEST_CASE("root: groups are the input boxes that cases share", "[kernel][root]") {
  const auto shared = box_of({Rational(0)}, {Rational(1)});
  const auto other = box_of({Rational(0)}, {Rational(1)});  // equal, but another box
  const Row r = at_least(output(0), Rational(2));
  const auto problem = open(stated(small_graph(), {{shared, {r}}, {other, {r}}, {shared, {r}}}));
  REQUIRE(problem->group_count() == 2);
  CHECK(problem->group_cases(0) == std::vector<std::uint32_t>{0, 2});
  CHECK(problem->group_cases(1) == std::vector<std::uint32_t>{1});
  CHECK(problem->group_of_case(2) == 0);
  CHECK(Scope::root(problem, 1).ok());
  CHECK(code_of(Scope::root(problem, 2)) == "root.S1");
}

TEST_CASE("root: decimal ends are rounded outward", "[kernel][root]") {
  const Rational tenth(1, 10), pixel(1, 255);
  const auto problem = open(stated(small_graph(), {{box_of({pixel}, {tenth}), {at_least(output(0), Rational(2))}}}));
  const Scope scope = root(problem);
  const Box& x = scope.box(problem->graph().inputs[0]);
  CHECK(exactly(x.lo[0]) < pixel);
  CHECK(exactly(above(x.lo[0])) > pixel);
  CHECK(exactly(x.hi[0]) > tenth);
  CHECK(exactly(below(x.hi[0])) < tenth);
}

TEST_CASE("assume S1: the literal names an element of a node that varies", "[kernel][assume]") {
  const Small s = small();
  Scope scope = root(s.problem);
  const auto nodes = static_cast<NodeId>(s.problem->graph().nodes.size());
  CHECK(scope.assume({s.y, 0, true, 0}).ok());
  CHECK(code_of(scope.assume({nodes, 0, true, 0})) == "assume.S1");
  CHECK(code_of(scope.assume({UINT_MAX, 0, true, 0})) == "assume.S1");
  CHECK(code_of(scope.assume({s.y, 1, true, 0})) == "assume.S1");
  CHECK(code_of(scope.assume({s.weight, 0, true, 0})) == "assume.S1");
  CHECK(scope.literals().size() == 1);
}

TEST_CASE("assume S2: the threshold is finite", "[kernel][assume]") {
  const Small s = small();
  Scope scope = root(s.problem);
  for (const double t : {kInfinity, -kInfinity, kNaN}) CHECK(code_of(scope.assume({s.z, 0, false, t})) == "assume.S2");
  CHECK(scope.assume({s.z, 0, false, 0x1.fffffffffffffp1023}).ok());
}

TEST_CASE("assume S3: at most 10000 literals", "[kernel][assume]") {
  const Small s = small();
  Scope scope = root(s.problem);
  for (int i = 0; i < 10000; ++i) REQUIRE(scope.assume({s.z, 0, true, -1.0}).ok());
  CHECK(code_of(scope.assume({s.z, 0, true, -1.0})) == "assume.S3");
  CHECK(scope.literals().size() == 10000);
}

TEST_CASE("assume: a literal meets the box, now or when the box is derived", "[kernel][assume]") {
  const Small s = small();
  for (const bool boxed_first : {true, false}) {
    Scope scope = boxed_first ? boxed_root(s.problem) : root(s.problem);
    REQUIRE(scope.assume({s.z, 0, true, 0.25}).ok());
    REQUIRE(scope.assume({s.z, 0, false, 0.5}).ok());
    REQUIRE(scope.assume({s.problem->graph().inputs[0], 0, true, 0}).ok());  // of a node before it
    if (!boxed_first) derive_all(scope, *s.problem);
    CHECK(scope.box(s.z).lo[0] == 0.25);
    CHECK(scope.box(s.z).hi[0] == 0.5);
    CHECK(code_of(scope.empty()) == "empty.S1");
    // A looser literal changes nothing.
    REQUIRE(scope.assume({s.z, 0, true, 0.125}).ok());
    REQUIRE(scope.propagate_box(s.z).ok());
    CHECK(scope.box(s.z).lo[0] == 0.25);
  }
}

TEST_CASE("assume: siblings and parent keep their own boxes", "[kernel][assume]") {
  const Small s = small();
  const Scope parent = boxed_root(s.problem);
  const double lo = parent.box(s.z).lo[0], hi = parent.box(s.z).hi[0];
  Scope left = assumed(parent, {s.z, 0, false, 0}), right = assumed(parent, {s.z, 0, true, 0});
  REQUIRE(left.propagate_box(s.y).ok());
  REQUIRE(inspect::tighten(left, s.y, {Selection::Kind::all, {}}, {}).ok());
  CHECK(left.box(s.z).hi[0] == 0);
  CHECK(left.box(s.y).hi[0] == 0);
  CHECK(right.box(s.z).lo[0] == 0);
  CHECK(right.box(s.z).hi[0] == hi);
  CHECK(right.box(s.y).hi[0] >= 1);
  CHECK(parent.box(s.z).lo[0] == lo);
  CHECK(parent.box(s.z).hi[0] == hi);
  CHECK(parent.literals().empty());
}

TEST_CASE("empty S1: some box has lo > hi, by one step", "[kernel][empty]") {
  const Small s = small();
  const Scope scope = boxed_root(s.problem);
  const double t = 0.3;
  const Scope point = assumed(assumed(scope, {s.z, 0, true, t}), {s.z, 0, false, t});
  CHECK(code_of(point.empty()) == "empty.S1");
  const Scope nothing = assumed(assumed(scope, {s.z, 0, true, t}), {s.z, 0, false, below(t)});
  const auto refutation = nothing.empty();
  REQUIRE(refutation.ok());
  CHECK(refutation.value().complete());
  CHECK_FALSE(refutation.value().vacuous());
  // The same when no box was there to meet.
  Scope late = assumed(assumed(root(s.problem), {s.z, 0, true, t}), {s.z, 0, false, below(t)});
  CHECK(code_of(late.empty()) == "empty.S1");
  derive_all(late, *s.problem);
  CHECK(late.empty().ok());
}

TEST_CASE("empty: an empty box in the statement is vacuous, a point is not", "[kernel][empty]") {
  const std::vector<Row> rows{at_least(output(0), Rational(0))};  // holds everywhere
  const Rational third(1, 3);
  const auto point = open(stated(small_graph(), {{box_of({third}, {third}), rows}}));
  CHECK_FALSE(point->group_is_empty(0));
  CHECK(code_of(root(point).empty()) == "empty.S1");
  CHECK(code_of(conclude(boxed_root(point))) == "conclude.S3");
  // Empty by far less than a double can say: the outward rounded box is not empty, the exact one is.
  const Rational more = third + Rational(1, std::int64_t{1} << 60);
  const auto nothing = open(stated(small_graph(), {{box_of({more}, {third}), rows}}));
  CHECK(nothing->group_is_empty(0));
  const auto refutation = take(root(nothing).empty());
  CHECK(refutation.vacuous());
  const auto theorem = take(logic::unsatisfiable(nothing, std::vector<Refutation>{refutation}));
  CHECK(theorem.vacuous());
}

TEST_CASE("propagate_box S2: every operand has a box", "[kernel][propagate_box]") {
  const Small s = small();
  Scope scope = root(s.problem);
  CHECK(code_of(scope.propagate_box(static_cast<NodeId>(s.problem->graph().nodes.size()))) == "propagate_box.S1");
  const auto unboxed = scope.propagate_box(s.y);
  CHECK(code_of(unboxed) == "propagate_box.S2");
  CHECK(unboxed.rejection().place.starts_with("node " + std::to_string(s.z) + " '"));
  CHECK(unboxed.rejection().advice.starts_with("write a box record of node " + std::to_string(s.z) + " before this step"));
  CHECK(scope.propagate_box(s.z).ok());
  CHECK(scope.propagate_box(s.y).ok());
}

TEST_CASE("propagate_box S3: the op is defined on the whole box", "[kernel][propagate_box]") {
  struct Domain {
    Op op;
    double outside, inside;  // lower ends
    Attributes attributes = NoAttributes{};
  };
  for (const Domain& d :
       {Domain{Op::log, 0, 0x1p-1074}, Domain{Op::sqrt, -0x1p-1074, 0}, Domain{Op::pow, 0, 0x1p-1074, PowAttributes{Rational(-1)}},
        Domain{Op::pow, -0x1p-1074, 0, PowAttributes{Rational(1, 2)}}}) {
    Chain net(1);
    net.then(d.op, d.attributes);
    const Graph graph = net.output();
    const Row r = at_least(output(0), Rational(2));
    Scope bad = root(open(graph, {d.outside}, {1}, {r}));
    CHECK(code_of(bad.propagate_box(graph.outputs[0])) == "propagate_box.S3");
    Scope good = root(open(graph, {d.inside}, {1}, {r}));
    CHECK(good.propagate_box(graph.outputs[0]).ok());
  }
}

TEST_CASE("tighten: node, selection and claims have the right sizes", "[kernel][tighten]") {
  Chain net(2);
  net.gemm(3, {1, 1, 1, -1, 2, 0});
  const auto problem = open(net.output(), {-1, -1}, {1, 1}, {at_least(output(0), Rational(9))});
  const NodeId y = problem->graph().outputs[0];
  Scope scope = root(problem);
  const Selection all{Selection::Kind::all, {}};
  CHECK(code_of(inspect::tighten(scope, y, all, {})) == "back_substitution.S1");
  derive_all(scope, *problem);
  CHECK(code_of(inspect::tighten(scope, static_cast<NodeId>(problem->graph().nodes.size()), all, {})) == "tighten.S1");
  CHECK(code_of(inspect::tighten(scope, problem->graph().node(y).operands[1], all, {})) == "tighten.S1");
  CHECK(code_of(inspect::tighten(scope, y, {Selection::Kind::mask, {true, false}}, {})) == "tighten.S2");
  CHECK(code_of(inspect::tighten(scope, y, {Selection::Kind::mask, {true, false, true, false}}, {})) == "tighten.S2");
  const Selection two{Selection::Kind::mask, {true, false, true}};
  const auto claims = [](std::size_t lo, std::size_t hi) { return Claims{std::vector<float>(lo, -2.5F), std::vector<float>(hi, 2.5F)}; };
  for (const auto& [lo, hi] : {std::pair<std::size_t, std::size_t>{1, 2}, {2, 1}, {3, 3}, {0, 0}}) {
    const Claims wrong = claims(lo, hi);
    CHECK(code_of(inspect::tighten(scope, y, two, {}, &wrong)) == "tighten.S2");
  }
  const Claims right = claims(2, 2);
  CHECK(inspect::tighten(scope, y, two, {}, &right).ok());
}

TEST_CASE("tighten S3: a claim is implied by the bound, to one float step", "[kernel][tighten]") {
  // y = 3 x0 + x1 - 5: exactly [-9, -1] on [-1, 1]^2.
  Chain net(2);
  net.gemm(1, {3, 1}, {-5});
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  const auto problem = open(net.output(), {-1, -1}, {1, 1}, {at_least(output(0), Rational(9))}, options);
  const NodeId y = problem->graph().outputs[0];
  const Scope scope = boxed_root(problem);
  const auto with = [&](float lo, float hi) {
    Scope copy = scope;
    const Claims claims{{lo}, {hi}};
    return code_of(inspect::tighten(copy, y, {Selection::Kind::all, {}}, {}, &claims));
  };
  CHECK(with(previous_float(-9), next_float(-1)) == "accepted");
  CHECK(with(next_float(-9), -0.5F) == "tighten.S3");
  CHECK(with(-10, previous_float(-1)) == "tighten.S3");
  CHECK(with(std::numeric_limits<float>::quiet_NaN(), -0.5F) == "tighten.S3");
  CHECK(with(-10, std::numeric_limits<float>::quiet_NaN()) == "tighten.S3");
  CHECK(with(std::numeric_limits<float>::infinity(), -0.5F) == "tighten.S3");
  CHECK(with(-std::numeric_limits<float>::infinity(), std::numeric_limits<float>::infinity()) == "accepted");
  CHECK(with(-9, -1) == "accepted");  // equality
  // The scope stores the claim, not the bound.
  Scope copy = scope;
  const Claims claims{{-9.0001F}, {-0.999F}};
  REQUIRE(inspect::tighten(copy, y, {Selection::Kind::all, {}}, {}, &claims).ok());
  CHECK(copy.box(y).lo[0] == std::max(scope.box(y).lo[0], double{-9.0001F}));
  CHECK(copy.box(y).hi[0] == std::min(scope.box(y).hi[0], double{-0.999F}));
}

TEST_CASE("tighten S3: a claim between bound and error bound is decided in integers", "[kernel][tighten]") {
  // y = 3 x0 + x1 + c on [-1, 1]^2, with c the doubles next to -5 and 5: the bounds miss -9 and 9 by far less than the error bound.
  const bool exact = GENERATE(false, true), with_budget = GENERATE(true, false);
  KernelOptions options;
  options.exact = exact;
  const auto claimed = [&](double c, float lo, float hi) {
    Chain net(2);
    net.gemm(1, {3, 1}, {c});
    const auto problem = open(net.output(), {-1, -1}, {1, 1}, {at_least(output(0), Rational(99))}, options);
    Scope scope = boxed_root(problem);
    const auto costs = std::make_shared<const certificate::Costs>(*problem);
    if (!with_budget) scope.pay(std::make_shared<certificate::Meter>(costs, nullptr, 0));
    const Claims claims{{lo}, {hi}};
    return code_of(inspect::tighten(scope, problem->graph().outputs[0], {Selection::Kind::all, {}}, {}, &claims));
  };
  const std::string in_band = exact || with_budget ? "accepted" : "tighten.S3";
  CHECK(claimed(above(-5), -9, 99) == in_band);
  CHECK(claimed(-5, -9, 99) == in_band);
  CHECK(claimed(below(-5), -9, 99) == "tighten.S3");
  CHECK(claimed(below(5), -99, 9) == in_band);
  CHECK(claimed(5, -99, 9) == in_band);
  CHECK(claimed(above(5), -99, 9) == "tighten.S3");
}

TEST_CASE("tighten: derived bounds rounded to float go outward", "[kernel][tighten]") {
  Chain net(1);
  net.gemm(1, {0.1});
  const auto problem = open(net.output(), {0}, {1}, {at_least(output(0), Rational(9))});
  const NodeId y = problem->graph().outputs[0];
  Scope scope = boxed_root(problem);
  REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}, nullptr, true).ok());
  CHECK(scope.box(y).hi[0] >= 0.1);
  CHECK(scope.box(y).lo[0] <= 0);
}

TEST_CASE("hints: slopes have the node's size, multipliers are finite and >= 0", "[kernel][hints]") {
  const Small s = small();
  Scope scope = assumed(boxed_root(s.problem), {s.z, 0, true, -0.5});
  const auto with = [&](Hints hints) { return code_of(conclude(scope, hints)); };
  CHECK(with({}) == "accepted");
  for (const bool lower : {true, false}) {
    for (const std::size_t size : {0, 1, 2}) {
      Hints hints;
      auto& slopes = lower ? hints.lower : hints.upper;
      slopes[s.y].assign(size, 0.5F);
      CHECK(with(hints) == (size == 2 ? "hints.size" : "accepted"));
    }
  }
  Hints hints;
  for (const float beta : {-1e-45F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    hints.beta = {beta};
    CHECK(with(hints) == "hints.beta");
  }
  hints.beta = {1e-45F};
  CHECK(with(hints) == "accepted");
  hints.beta = {0, 0, 0};  // more than literals: the rest has nothing to multiply
  CHECK(with(hints) == "accepted");
}

TEST_CASE("hints: unusable slopes only lose the bound", "[kernel][hints]") {
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  // y <= x, by the chord: of y - x the boxes say less.
  const Small s = small({row({{Rational(-1), output(0)}, {Rational(1), input(0)}}, Rational(-1, 2))}, options);
  const Scope scope = boxed_root(s.problem);
  CHECK(code_of(conclude(scope)) == "accepted");
  for (const float slope : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 3e38F, -3e38F}) {
    Hints hints;
    hints.lower[s.y] = hints.upper[s.y] = {slope};
    CHECK(code_of(conclude(scope, hints)) == "conclude.S3");
    Scope refined = scope;
    REQUIRE(inspect::tighten(refined, s.y, {Selection::Kind::all, {}}, hints).ok());
    CHECK(refined.box(s.y).hi[0] == scope.box(s.y).hi[0]);
    CHECK(refined.box(s.y).lo[0] == scope.box(s.y).lo[0]);
  }
}

}  // namespace assay::test
