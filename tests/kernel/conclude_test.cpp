// The rules that close contexts: conclude, merge, join, unsatisfiable, satisfiable.
#include "kernel/inspect/inspect.h"
#include "tests/kernel/executions.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

// y = [x0 + x1, x0 - x1] with a bias.
Graph sums(double bias0 = 0, double bias1 = 0) {
  Chain net(2);
  net.gemm(2, {1, 1, 1, -1}, {bias0, bias1});
  return net.output();
}
const std::vector<double> kLow{-1, -1}, kHigh{1, 1};

Refutation refuted(const Scope& scope, std::uint32_t position = 0) {
  return take(scope.conclude(std::vector<CaseMultipliers>{{position, {}}}, {}));
}

// Two cases on one box, both unreachable: y0 >= 3 and y1 >= 3.
ProblemPointer two_cases() {
  const auto box = box_of(rationals(kLow), rationals(kHigh));
  return open(stated(sums(), {{box, {at_least(output(0), Rational(3))}}, {box, {at_least(output(1), Rational(3))}}}));
}

}  // namespace

TEST_CASE("conclude S1: the case exists and has one multiplier per row", "[kernel][conclude]") {
  const auto problem = open(sums(), kLow, kHigh, {at_least(output(0), Rational(1)), at_least(output(1), Rational(3))});
  const Scope scope = boxed_root(problem);
  const auto with = [&](std::uint32_t position, std::vector<float> rows) {
    return code_of(scope.conclude(std::vector<CaseMultipliers>{{position, std::move(rows)}}, {}));
  };
  CHECK(with(0, {0, 1}) == "accepted");
  CHECK(with(1, {0, 1}) == "conclude.S1");
  CHECK(with(0, {1}) == "conclude.S1");
  CHECK(with(0, {0, 1, 0}) == "conclude.S1");
  CHECK(with(0, {}) == "conclude.S1");  // the default 1 is for a single row only
  CHECK(scope.conclude(std::vector<CaseMultipliers>{{1, {0, 1}}}, {}).rejection().found == "no such case");  // no row is looked at
}

TEST_CASE("conclude: a case that the boxes refute needs no row, and a strict row is enough at equality", "[kernel][conclude]") {
  // x in [0, 1]; y = 2 x. A literal narrows y's box, which no row uses without its multiplier.
  Chain net(1);
  net.gemm(1, {2}, {0});
  const auto with = [&](double most, Row asked, bool narrowed = true) {
    const auto problem = open(net.output(), {0}, {1}, {std::move(asked)});
    Scope scope = boxed_root(problem);
    if (narrowed) REQUIRE(scope.assume({problem->graph().outputs[0], 0, false, most}).ok());
    return code_of(conclude(scope));
  };
  CHECK(with(0, at_least(output(0), Rational(1)), false) == "conclude.S3");
  CHECK(with(0.5, at_least(output(0), Rational(1))) == "accepted");
  CHECK(with(1, at_least(output(0), Rational(1))) == "conclude.S3");
  CHECK(with(1, at_least(output(0), Rational(1), true)) == "accepted");
  CHECK(with(above(1), at_least(output(0), Rational(1), true)) == "conclude.S3");
  // Of a sum, each term's own end, by the sign of its coefficient: y + 2 x >= 2.25 needs y's and x's greatest.
  const auto sum = [](std::int64_t of_x) { return row({{Rational(-1), output(0)}, {Rational(-of_x), input(0)}}, Rational(-9, 4)); };
  CHECK(with(0.125, sum(2)) == "accepted");
  CHECK(with(0.25, sum(2)) == "conclude.S3");
  CHECK(with(2, sum(-1)) == "accepted");
  // A diagnosis needs each row's way.
  const auto problem = open(net.output(), {0}, {1}, {at_least(output(0), Rational(3))});
  inspect::Diagnosis diagnosis;
  REQUIRE(inspect::conclude(boxed_root(problem), std::vector<CaseMultipliers>{{0, {}}}, {}, diagnosis).ok());
  CHECK(diagnosis.margins.size() == 1);
}

TEST_CASE("a stop request declines back-substitution on the scope and its copies", "[kernel][conclude][stop]") {
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  const Row both = row({{Rational(-1), output(0)}, {Rational(-1), output(1)}}, Rational(-3));  // which the boxes do not decide
  const auto problem = open(sums(), kLow, kHigh, {both}, options);
  bool stop = false;
  Scope scope = boxed_root(problem);
  scope.stop_when([&] { return stop; });
  Scope copy = scope;
  CHECK(code_of(conclude(copy)) == "accepted");
  stop = true;
  CHECK(code_of(conclude(scope)) == "kernel.stopped");
  CHECK(code_of(inspect::tighten(copy, problem->graph().outputs[0], {inspect::Selection::Kind::all, {}}, {})) == "kernel.stopped");
  CHECK(code_of(conclude(boxed_root(problem))) == "accepted");
}

TEST_CASE("meet S1: facts of a scope with the same context hold here, those of another need not", "[kernel][meet]") {
  Chain net(2);  // y = 2 x, by way of sums whose boxes do not show that
  net.gemm(2, {1, 1, 1, -1}, {0, 0});
  net.gemm(2, {1, 1, 1, -1}, {0, 0});
  const auto problem = open(net.output(), kLow, kHigh, {at_least(output(0), Rational(3))});
  const NodeId input = problem->graph().inputs[0], node = problem->graph().outputs[0];
  Scope scope = boxed_root(problem), copy = scope, narrow = scope;
  const double wide = scope.box(node).hi[0];
  REQUIRE(inspect::tighten(scope, node, {Selection::Kind::mask, {true, false}}, {}).ok());
  REQUIRE(inspect::tighten(copy, node, {Selection::Kind::mask, {false, true}}, {}).ok());
  const double refined = scope.box(node).hi[0];
  REQUIRE(refined < wide);
  REQUIRE(scope.box(node).hi[1] == wide);
  REQUIRE(scope.meet(copy).ok());
  CHECK(scope.box(node).hi == std::vector<double>{refined, refined});
  CHECK(scope.box(node).lo == std::vector<double>{-refined, -refined});
  REQUIRE(narrow.assume({input, 0, false, -0.5}).ok());
  CHECK(code_of(scope.meet(narrow)) == "meet.S1");
  CHECK(code_of(narrow.meet(scope)) == "meet.S1");
  CHECK(code_of(scope.meet(boxed_root(problem))) == "meet.S1");  // identity matters, not content
  CHECK(scope.box(input).hi[0] == 1);
  // A node without a box keeps none: the errors of its rounding were not derived here.
  Scope bare = root(problem), boxed = bare;
  REQUIRE(boxed.propagate_box(problem->graph().node(node).operands[0]).ok());
  REQUIRE(bare.meet(boxed).ok());
  CHECK_FALSE(bare.has_box(problem->graph().node(node).operands[0]));
}

TEST_CASE("hull S1 to S3: what both halves of one split of this scope have", "[kernel][hull]") {
  Chain net(1);  // y = relu(x) + relu(-x) = |x|
  net.gemm(2, {1, -1}, {0, 0});
  net.then(Op::relu);
  net.gemm(1, {1, 1}, {0});
  const auto problem = open(net.output(), {-1}, {1}, {at_least(output(0), Rational(2))});
  const NodeId y = problem->graph().outputs[0], x = problem->graph().inputs[0];
  const Scope whole = boxed_root(problem);
  const auto half = [&](const Scope& above, bool at_least_side, double t, std::uint32_t element = 0) {
    Scope scope = assumed(above, {x, element, at_least_side, t});
    for (NodeId node = 0; node <= y; ++node) REQUIRE(scope.propagate_box(node).ok());
    REQUIRE(inspect::tighten(scope, y, {Selection::Kind::all, {}}, {}).ok());
    return scope;
  };
  Scope scope = whole;
  REQUIRE(scope.box(y).hi[0] > 1.5);  // boxes alone
  const Scope left = half(scope, false, 0.25), right = half(scope, true, 0.25);
  REQUIRE(scope.hull(left, right).ok());
  CHECK(scope.box(y).hi[0] == std::max(left.box(y).hi[0], right.box(y).hi[0]));
  CHECK(scope.box(y).hi[0] < 1.3);
  CHECK(scope.box(y).lo[0] == std::min(left.box(y).lo[0], right.box(y).lo[0]));
  CHECK(scope.box(x).lo[0] == -1);  // the split's own element is as wide as it was
  CHECK(scope.box(x).hi[0] == 1);
  // S1: of this context, by identity
  CHECK(code_of(scope.hull(left, half(boxed_root(problem), true, 0.25))) == "hull.S1");
  CHECK(code_of(scope.hull(whole, right)) == "hull.S1");
  CHECK(code_of(boxed_root(problem).hull(left, right)) == "hull.S1");
  CHECK(code_of(scope.hull(half(left, false, 0), half(left, true, 0))) == "hull.S1");
  // S2: a gap of one step would miss the points in it
  CHECK(code_of(scope.hull(left, half(scope, true, above(0.25)))) == "hull.S2");
  CHECK(code_of(scope.hull(left, assumed(scope, {y, 0, true, 0.25}))) == "hull.S2");
  // S3
  CHECK(code_of(scope.hull(right, left)) == "hull.S3");
  CHECK(code_of(scope.hull(left, left)) == "hull.S3");
}

TEST_CASE("hull: a half without a point gives way to the other one, two leave none", "[kernel][hull]") {
  const auto problem = two_cases();
  const NodeId y = problem->graph().outputs[0];
  Scope scope = boxed_root(problem);
  const Scope nothing = assumed(scope, {y, 0, true, 100}), rest = assumed(scope, {y, 0, false, 100});
  Scope narrow = rest;
  REQUIRE(inspect::tighten(narrow, y, {Selection::Kind::all, {}}, {}).ok());
  REQUIRE(scope.hull(narrow, nothing).ok());
  CHECK(scope.box(y).hi == narrow.box(y).hi);
  CHECK_FALSE(scope.empty().ok());
  // Where neither half has a point, the whole has none: refuted for all cases, and not vacuously.
  Scope inner = assumed(scope, {y, 0, false, 0});
  Scope low = assumed(inner, {y, 1, false, 0}), high = assumed(inner, {y, 1, true, 0});
  REQUIRE(low.assume({y, 0, true, 1}).ok());
  CHECK(code_of(inner.hull(low, high)) == "hull.S1");  // the literal that contradicts lies deeper
  const Scope below_all = assumed(scope, {y, 0, false, -100});
  REQUIRE(below_all.empty().ok());
  Scope none = below_all;
  REQUIRE(none.hull(assumed(below_all, {y, 1, false, 0}), assumed(below_all, {y, 1, true, 0})).ok());
  CHECK(take(none.empty()).complete());
  CHECK_FALSE(take(none.empty()).vacuous());
}

TEST_CASE("hull: a node without a box in one half keeps its own", "[kernel][hull]") {
  const auto problem = open(sums(), kLow, kHigh, {at_least(output(0), Rational(3))});
  const NodeId x = problem->graph().inputs[0], y = problem->graph().outputs[0];
  Scope bare = root(problem);
  Scope left = assumed(bare, {x, 0, false, 0}), right = assumed(bare, {x, 0, true, 0});
  REQUIRE(left.propagate_box(y).ok());
  REQUIRE(bare.hull(left, right).ok());
  CHECK_FALSE(bare.has_box(y));
  REQUIRE(right.propagate_box(y).ok());
  REQUIRE(bare.hull(left, right).ok());
  CHECK(bare.box(y).hi[0] >= 2);
}

TEST_CASE("conclude S2: multipliers are finite and >= 0", "[kernel][conclude]") {
  const auto problem = open(sums(), kLow, kHigh, {at_least(output(0), Rational(3))});
  const Scope scope = boxed_root(problem);
  for (const float m : {-1e-45F, -1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    CHECK(code_of(conclude(scope, {}, {m})) == "conclude.S2");
  }
  CHECK(code_of(conclude(scope, {}, {0.0F})) == "conclude.S3");  // proves 0 > 0
  CHECK(code_of(conclude(scope, {}, {-0.0F})) == "conclude.S3");
  CHECK(code_of(conclude(scope, {}, {1e-45F})) == "accepted");
  CHECK(code_of(conclude(scope, {}, {3e38F})) == "accepted");
}

TEST_CASE("conclude S3: strictness decides at margin 0, one step decides beside it", "[kernel][conclude][strict]") {
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  const double bias = GENERATE(0.0, 1.0, -0.375, 1e10);
  const double top = bias + 2;  // max of y0
  const auto code = [&](double bound, bool strict) {
    const auto problem = open(sums(bias), kLow, kHigh, {at_least(output(0), exactly(bound), strict)}, options);
    const auto outcome = conclude(boxed_root(problem));
    // A refuted row has no witness, and here each row that is not refuted has one.
    CHECK(logic::satisfiable(problem, {0, rationals({1, 1})}).ok() == !outcome.ok());
    return code_of(outcome);
  };
  CHECK(code(top, false) == "conclude.S3");
  CHECK(code(top, true) == "accepted");
  CHECK(code(above(top), false) == "accepted");
  CHECK(code(above(top), true) == "accepted");
  CHECK(code(below(top), true) == "conclude.S3");
}

TEST_CASE("conclude S3: a strict row counts only with a positive multiplier", "[kernel][conclude][strict]") {
  // y0 >= 2 and y1 > 2: each holds at a point, both at none. With multipliers (1, 0) nothing strict takes part.
  const auto problem = open(sums(), kLow, kHigh, {at_least(output(0), Rational(2)), at_least(output(1), Rational(2), true)});
  const Scope scope = boxed_root(problem);
  CHECK(code_of(conclude(scope, {}, {1, 0})) == "conclude.S3");
  CHECK(code_of(conclude(scope, {}, {0, 1})) == "accepted");
  CHECK(code_of(conclude(scope, {}, {1, 1})) == "accepted");
}

TEST_CASE("conclude: rows over inputs and constants, and rows without terms", "[kernel][conclude]") {
  const auto code = [&](const Row& r) { return code_of(conclude(boxed_root(open(sums(), kLow, kHigh, {r})))); };
  CHECK(code(at_least(input(0), Rational(1), true)) == "accepted");
  CHECK(code(at_least(input(0), Rational(1))) == "conclude.S3");
  CHECK(code(row({{Rational(-1), input(0)}, {Rational(-1), output(0)}}, -exactly(above(3.0)))) == "accepted");
  CHECK(code(row({{Rational(-1), input(0)}, {Rational(-1), output(0)}}, Rational(-3))) == "conclude.S3");
  CHECK(code(row({}, Rational(-1))) == "accepted");       // 0 <= -1
  CHECK(code(row({}, Rational(0))) == "conclude.S3");     // 0 <= 0
  CHECK(code(row({}, Rational(0), true)) == "accepted");  // 0 < 0
  // A case without rows is reachable wherever the box has a point.
  const auto problem = open(sums(), kLow, kHigh, {});
  CHECK(code_of(conclude(boxed_root(problem))) == "conclude.S3");
  CHECK(logic::satisfiable(problem, {0, rationals({0, 0})}).ok());
}

TEST_CASE("conclude: coefficients that are no doubles, or beyond all of them", "[kernel][conclude]") {
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  const auto code = [&](const Rational& coefficient, const Rational& bound) {
    return code_of(conclude(boxed_root(open(sums(), kLow, kHigh, {row({{coefficient, output(0)}}, bound)}, options))));
  };
  const Rational tenth(1, 10), tiny(1, std::int64_t{1} << 60), little(1, std::int64_t{1} << 50);
  CHECK(code(tenth, -Rational(2, 10)) == "conclude.S3");         // reached at (-1, -1)
  CHECK(code(tenth, -Rational(2, 10) - tiny) == "conclude.S3");  // true, but closer than the coefficient's rounding
  CHECK(code(tenth, -Rational(2, 10) - little) == "accepted");
  const Rational huge = *Rational::parse("1e400");
  CHECK(code(huge, -huge * Rational(3)) == "conclude.S3");  // true, but beyond double: no bound
  CHECK(code(-huge, -huge * Rational(3)) == "conclude.S3");
  CHECK(code(huge, Rational(0)) == "conclude.S3");
  // 1e400 x at x = -1e-300 is -1e100; with the largest double in its place it would be about -2e8.
  const auto at_tiny = open(stated(sums(), {{box_of({-*Rational::parse("1e-300"), Rational(0)}, {-*Rational::parse("1e-300"), Rational(0)}),
                                             {row({{huge, input(0)}}, -*Rational::parse("1e50"))}}}),
                            options);
  CHECK(code_of(conclude(boxed_root(at_tiny))) == "conclude.S3");
  const Rational small = *Rational::parse("1e-400");
  CHECK(code(small, -small) == "conclude.S3");  // y0 <= -1 is reachable
  CHECK(code(small, Rational(-1)) == "accepted");
}

TEST_CASE("conclude: exactly the listed cases are refuted", "[kernel][conclude]") {
  const auto problem = two_cases();
  const Scope scope = boxed_root(problem);
  CHECK(refuted(scope, 1).cases() == std::vector<bool>{false, true});
  CHECK_FALSE(refuted(scope, 1).complete());
  const auto twice = take(scope.conclude(std::vector<CaseMultipliers>{{0, {}}, {0, {}}}, {}));
  CHECK(twice.cases() == std::vector<bool>{true, false});
  const auto none = take(scope.conclude(std::vector<CaseMultipliers>{}, {}));
  CHECK(none.cases() == std::vector<bool>{false, false});
  // One that fails spoils the step.
  const auto box = box_of(rationals(kLow), rationals(kHigh));
  const auto mixed = open(stated(sums(), {{box, {at_least(output(0), Rational(3))}}, {box, {at_least(output(1), Rational(1))}}}));
  CHECK(code_of(boxed_root(mixed).conclude(std::vector<CaseMultipliers>{{0, {}}, {1, {}}}, {})) == "conclude.S3");
}

TEST_CASE("conclude: a premise on the way is missing", "[kernel][conclude]") {
  const auto problem = open(sums(), kLow, kHigh, {at_least(output(0), Rational(3))});
  const auto unboxed = conclude(root(problem));
  CHECK(code_of(unboxed) == "back_substitution.S1");
  CHECK(unboxed.rejection().advice.starts_with("write a box record of node " + std::to_string(problem->graph().outputs[0]) +
                                               " before this step"));
}

TEST_CASE("conclude: a literal helps by its multiplier, on its own side", "[kernel][conclude]") {
  // y0 = x0 + x1, y1 = x0 - x1; with y1 <= -1, y0 <= 1 does not follow by boxes but y0 + y1 = 2 x0 gives 3 y0-type sums.
  const KernelOptions options = GENERATE(KernelOptions{}, KernelOptions{true});
  // Unsafe: x0 >= 1/2. Under y1 <= -3/2: x0 <= x1 - 3/2 <= -1/2, so it is unreachable.
  const auto problem = open(sums(), kLow, kHigh, {at_least(input(0), Rational(1, 2))}, options);
  const NodeId y = problem->graph().outputs[0];
  const Scope left = assumed(boxed_root(problem), {y, 1, false, -1.5}), right = assumed(boxed_root(problem), {y, 1, true, -1.5});
  Hints hints;
  const Rejection open_case = conclude(left, hints).rejection();
  CHECK(open_case.code == "conclude.S3");
  CHECK(open_case.required == "a sum of its rows above -0.5");
  CHECK(open_case.found.starts_with("only the lower bound -1"));  // decimal first
  CHECK(open_case.found.ends_with(", so case 0 is not refuted"));
  CHECK(open_case.place == "case 0 where node " + std::to_string(y) + " '" + problem->graph().node(y).name + "', element 1 <= -1.5");
  CHECK(open_case.advice.starts_with("give better slopes (of results of non-linear ops) or split further"));
  hints.beta = {1};
  CHECK(code_of(conclude(left, hints)) == "accepted");
  CHECK(code_of(conclude(right, hints)) == "conclude.S3");
  // At equality: x0 >= -1/2 is reached at (-1/2, 1), x0 > -1/2 is not.
  const auto at = open(sums(), kLow, kHigh, {at_least(input(0), Rational(-1, 2))}, options);
  const auto past = open(sums(), kLow, kHigh, {at_least(input(0), Rational(-1, 2), true)}, options);
  CHECK(code_of(conclude(assumed(boxed_root(at), {y, 1, false, -1.5}), hints)) == "conclude.S3");
  CHECK(code_of(conclude(assumed(boxed_root(past), {y, 1, false, -1.5}), hints)) == "accepted");
  CHECK(code_of(conclude(assumed(boxed_root(past), {y, 1, false, above(-1.5)}), hints)) == "conclude.S3");
}

TEST_CASE("exact: a literal's multiplier times its threshold is no double, and nothing of it is lost", "[kernel][conclude]") {
  // x / 8 >= t / 8 where x >= t, by two multipliers whose products with t are rounded, and whose sum is 1 / 8.
  const float m = 0.1F;
  bool rounded_up = false, rounded_down = false;
  for (const double t : {0.225, 0.275, 0.325, 0.55, 0.725, 0.9}) {
    const double rest = 0.125 - double{m};
    const Rational computed = exactly(double{m} * t) + exactly(rest * t);
    rounded_up = rounded_up || computed > exactly(t / 8);
    rounded_down = rounded_down || computed < exactly(t / 8);
    for (const bool strict : {false, true}) {
      Chain net(1);
      net.gemm(1, {1});
      const auto problem = open(net.output(), {0}, {1}, {row({{Rational(1, 8), input(0)}}, exactly(t / 8), strict)}, KernelOptions{true});
      const Literal literal{problem->graph().inputs[0], 0, true, t};
      const Scope scope = assumed(assumed(boxed_root(problem), literal), literal);
      Hints hints;
      hints.beta = {m, static_cast<float>(rest)};
      const std::vector<CaseMultipliers> cases{{0, {}}};
      inspect::Diagnosis diagnosis;  // asks for the row, although the box is enough
      CHECK(code_of(inspect::conclude(scope, cases, hints, diagnosis)) == (strict ? "accepted" : "conclude.S3"));
    }
  }
  CHECK(rounded_up);
  CHECK(rounded_down);
}

TEST_CASE("merge S1: both refutations are of one context", "[kernel][merge]") {
  const auto problem = two_cases();
  const Scope scope = boxed_root(problem);
  const auto both = take(logic::merge(refuted(scope, 0), refuted(scope, 1)));
  CHECK(both.complete());
  // Another root of the same group, and the same literal assumed twice, are other contexts.
  CHECK(code_of(logic::merge(refuted(scope, 0), refuted(boxed_root(problem), 1))) == "merge.S1");
  const Literal literal{problem->graph().outputs[0], 0, true, 0};
  const Scope one = assumed(scope, literal), other = assumed(scope, literal);
  CHECK(code_of(logic::merge(refuted(one, 0), refuted(other, 1))) == "merge.S1");
  CHECK(logic::merge(refuted(one, 0), refuted(one, 1)).ok());
  CHECK(code_of(logic::merge(refuted(one, 0), refuted(scope, 1))) == "merge.S1");
}

TEST_CASE("join S1 to S3: two closed halves of one coordinate at one threshold", "[kernel][join]") {
  const auto problem = two_cases();
  const NodeId y = problem->graph().outputs[0];
  const Scope parent = boxed_root(problem);
  const auto child = [&](bool at_least_side, double t, std::uint32_t element = 0, NodeId node = UINT32_MAX) {
    return refuted(assumed(parent, {node == UINT32_MAX ? y : node, element, at_least_side, t}), 0);
  };
  const Refutation left = child(false, 0.5), right = child(true, 0.5);
  CHECK(logic::join(left, right).ok());
  CHECK(take(logic::join(left, right)).cases() == std::vector<bool>{true, false});
  CHECK(logic::join(child(false, 0.0), child(true, -0.0)).ok());  // one real number
  // S1
  CHECK(code_of(logic::join(refuted(parent, 0), right)) == "join.S1");
  CHECK(code_of(logic::join(left, refuted(parent, 0))) == "join.S1");
  CHECK(code_of(logic::join(left, refuted(assumed(boxed_root(problem), {y, 0, true, 0.5}), 0))) == "join.S1");
  const Scope deeper = assumed(assumed(parent, {y, 1, true, 0}), {y, 0, true, 0.5});
  CHECK(code_of(logic::join(left, refuted(deeper, 0))) == "join.S1");
  // S2: a gap of one step between the halves is a lost leaf
  CHECK(code_of(logic::join(left, child(true, above(0.5)))) == "join.S2");
  CHECK(code_of(logic::join(left, child(true, 0.5, 1))) == "join.S2");
  CHECK(code_of(logic::join(left, child(true, 0.5, 0, problem->graph().inputs[0]))) == "join.S2");
  // S3
  CHECK(code_of(logic::join(left, left)) == "join.S3");
  CHECK(code_of(logic::join(left, child(false, 0.5))) == "join.S3");
  CHECK(code_of(logic::join(right, left)) == "join.S3");
}

TEST_CASE("join: the cases of both sides only", "[kernel][join]") {
  const auto problem = two_cases();
  const Scope parent = boxed_root(problem);
  const NodeId y = problem->graph().outputs[0];
  const Scope left = assumed(parent, {y, 0, false, 0}), right = assumed(parent, {y, 0, true, 0});
  CHECK(take(logic::join(refuted(left, 0), refuted(right, 1))).cases() == std::vector<bool>{false, false});
  // A side that is empty refutes everything; it is not vacuous.
  const Scope nothing = assumed(parent, {y, 0, true, 100}), rest = assumed(parent, {y, 0, false, 100});
  const auto joined = take(logic::join(refuted(rest, 1), take(nothing.empty())));
  CHECK(joined.cases() == std::vector<bool>{false, true});
  CHECK_FALSE(joined.vacuous());
}

TEST_CASE("unsatisfiable S1, S2: one complete refutation of every group's root", "[kernel][unsatisfiable]") {
  const auto box = box_of(rationals(kLow), rationals(kHigh)), other = box_of(rationals({0, 0}), rationals({1, 1}));
  const std::vector<Row> rows{at_least(output(0), Rational(3))}, rows1{at_least(output(1), Rational(3))};
  const auto problem = open(stated(sums(), {{box, rows}, {other, rows}, {box, rows1}}));
  const auto same = open(stated(sums(), {{box, rows}, {other, rows}, {box, rows1}}));
  const auto complete = [](const ProblemPointer& p, std::size_t group) {
    std::vector<CaseMultipliers> cases;
    for (std::uint32_t i = 0; i < p->group_cases(group).size(); ++i) cases.push_back({i, {}});
    return take(boxed_root(p, group).conclude(cases, {}));
  };
  const Refutation first = complete(problem, 0), second = complete(problem, 1);
  const auto code = [&](std::vector<Refutation> refutations) { return code_of(logic::unsatisfiable(problem, refutations)); };
  CHECK(code({first, second}) == "accepted");
  CHECK(code({second, first}) == "accepted");
  CHECK(code({}) == "unsatisfiable.S1");
  CHECK(code({first}) == "unsatisfiable.S1");
  CHECK(code({second}) == "unsatisfiable.S1");
  CHECK(code({first, first, second}) == "unsatisfiable.S1");
  CHECK(code({first, complete(same, 1)}) == "unsatisfiable.S1");  // an equal problem, but another one
  const Scope child = assumed(boxed_root(problem, 1), {problem->graph().outputs[0], 0, true, 0});
  CHECK(code({first, refuted(child)}) == "unsatisfiable.S1");
  CHECK(code({refuted(boxed_root(problem, 0), 0), second}) == "unsatisfiable.S2");
  const auto theorem = take(logic::unsatisfiable(problem, std::vector<Refutation>{first, second}));
  CHECK(theorem.kind() == Theorem::Kind::unsatisfiable);
  CHECK_FALSE(theorem.vacuous());
  CHECK_FALSE(theorem.assumptions().empty());
}

TEST_CASE("satisfiable S1 to S3: a point of the exact box at which every row holds exactly", "[kernel][satisfiable]") {
  const Rational tenth(1, 10);
  const auto problem = open(stated(sums(), {{box_of({tenth, Rational(0)}, {Rational(1), Rational(1)}),
                                             {at_most(output(0), Rational(11, 10)), at_least(output(1), Rational(-9, 10))}}}));
  const auto code = [&](std::uint32_t index, Rationals point) { return code_of(logic::satisfiable(problem, {index, std::move(point)})); };
  CHECK(code(0, {tenth, Rational(1)}) == "accepted");  // both rows with equality
  CHECK(code(1, {tenth, Rational(1)}) == "satisfiable.S1");
  CHECK(code(0, {tenth}) == "satisfiable.S1");
  CHECK(code(0, {tenth, Rational(1), Rational(1)}) == "satisfiable.S1");
  const Rational step = *Rational::parse("1e-60");
  CHECK(code(0, {tenth - step, Rational(1)}) == "satisfiable.S2");
  CHECK(code(0, {exactly(below(0.1)), Rational(1)}) == "satisfiable.S2");
  CHECK(code(0, {tenth, Rational(1) + step}) == "satisfiable.S2");
  CHECK(code(0, {tenth + step, Rational(1)}) == "satisfiable.S3");  // the first row, missed by 10^-60
  const Rejection missed = logic::satisfiable(problem, {0, {Rational(1, 2), Rational(1)}}).rejection();
  CHECK(missed.required == "a point at which Y_0 <= 1.1");
  CHECK(missed.found.starts_with("Y_0 = 1.5, off by 0.39999999999999"));
  const Rational third = *Rational::parse("0." + std::string(300, '3'));  // a row whose text is cut says so
  const auto lengthy = open(stated(sums(), {{box_of({tenth, Rational(0)}, {Rational(1), Rational(1)}), {at_most(output(0), third)}}}));
  CHECK(logic::satisfiable(lengthy, {0, {Rational(1, 2), Rational(1)}}).rejection().required.ends_with("..."));
  CHECK(code(0, {tenth, Rational(0)}) == "accepted");
  const auto strict =
      open(stated(sums(), {{box_of({tenth, Rational(0)}, {Rational(1), Rational(1)}), {at_most(output(0), Rational(11, 10), true)}}}));
  CHECK(code_of(logic::satisfiable(strict, {0, {tenth, Rational(1)}})) == "satisfiable.S3");
  CHECK(logic::satisfiable(strict, {0, {tenth, Rational(1) - step}}).ok());
}

TEST_CASE("satisfiable: what no precision decides is declined", "[kernel][satisfiable]") {
  Chain net(1);
  net.then(Op::sqrt);
  net.then(Op::mul, net.last);
  const auto decide = [&](bool strict, const Rational& bound) {
    Chain copy = net;
    return logic::satisfiable(open(copy.output(), {2}, {2}, {at_most(output(0), bound, strict)}), {0, {Rational(2)}});
  };
  const auto open_question = decide(false, Rational(2));  // sqrt(2)^2 <= 2: true, but not by enclosures
  CHECK(code_of(open_question) == "satisfiable.S3");
  CHECK(open_question.rejection().kind == Rejection::Kind::declined);
  CHECK(decide(true, Rational(2)).rejection().kind == Rejection::Kind::declined);
  CHECK(decide(true, Rational(2) + *Rational::parse("1e-60")).ok());
  CHECK(decide(false, Rational(2) - *Rational::parse("1e-60")).rejection().kind == Rejection::Kind::rejected);
}

TEST_CASE("satisfiable: an undefined output decides nothing", "[kernel][satisfiable]") {
  Chain net(1);
  net.then(Op::log);
  const auto problem = open(net.output(), {-1}, {1}, {at_most(output(0), Rational(100))});
  CHECK_FALSE(logic::satisfiable(problem, {0, {Rational(-1)}}).ok());
  CHECK_FALSE(logic::satisfiable(problem, {0, {Rational(0)}}).ok());
  CHECK(logic::satisfiable(problem, {0, {Rational(1)}}).ok());
}

}  // namespace assay::test
