// Rule cut: sums of elements that are at least some number, derived by back-substitution and by cases, and used with multipliers.
#include <algorithm>

#include "certificates/check/meter.h"
#include "certificates/check/session.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

using certificate::CaseStep;
using logic::Cut;

// y = relu(x0 + x1) + relu(x0 - x1) on [-1, 1]^2: at most 2, and 3 by the lines of the two relus.
struct TwoRelus {
  ProblemPointer problem;
  NodeId x, z, h, y;
  explicit TwoRelus(const Rational& asked, KernelOptions options = {}) {
    Chain net(2);
    z = net.gemm(2, {1, 1, 1, -1}, {0, 0});
    h = net.then(Op::relu);
    y = net.gemm(1, {1, 1}, {0});
    problem = open(net.output(), {-1, -1}, {1, 1}, {at_least(output(0), asked)}, options);
    x = problem->graph().inputs[0];
  }
  // -h0 - h1
  [[nodiscard]] std::vector<Cut::Term> sum() const { return {{h, 0, -1}, {h, 1, -1}}; }
  // Splits of both signs; in the leaves where one relu is off its literal takes away what the other one would have with x1.
  [[nodiscard]] std::vector<CaseStep> tree() const {
    const Literal first{z, 0, false, 0}, second{z, 1, false, 0};
    const Hints with_first{{}, {}, {1, 0}, {}}, with_second{{}, {}, {0, 1}, {}};
    return {{first, {}}, {second, {}}, {{}, {}}, {{}, with_first}, {second, {}}, {{}, with_second}, {{}, {}}};
  }
};

Hints multipliers(std::vector<float> cuts) { return {{}, {}, {}, std::move(cuts)}; }

}  // namespace

TEST_CASE("cut: a sum over relus closes what their lines leave open", "[kernel][cut]") {
  for (const bool exact : {false, true}) {
    KernelOptions options;
    options.exact = exact;
    const TwoRelus net(Rational(5, 2), options);
    Scope scope = boxed_root(net.problem);
    CHECK(code_of(conclude(scope)) == "conclude.S3");
    REQUIRE(certificate::cut_by_cases(scope, net.sum(), net.tree()).ok());
    REQUIRE(scope.cuts().size() == 1);
    CHECK(scope.cuts()[0]->bound <= -2);
    CHECK(scope.cuts()[0]->bound >= std::nextafter(-2.0F, -3.0F));
    CHECK(conclude(scope, multipliers({1})).ok());
    CHECK(code_of(conclude(scope)) == "conclude.S3");  // without a multiplier it is not used
    CHECK(code_of(conclude(scope, multipliers({0}))) == "conclude.S3");
    CHECK(conclude(scope, multipliers({1, 7})).ok());  // there is no second one
    // By lines alone the same sum is a fact that says no more than they do.
    Scope weak = boxed_root(net.problem);
    REQUIRE(weak.cut(net.sum(), {}).ok());
    CHECK(weak.cuts()[0]->bound <= -3);
    CHECK(weak.cuts()[0]->bound >= std::nextafter(-3.0F, -4.0F));
    CHECK(code_of(conclude(weak, multipliers({1}))) == "conclude.S3");
  }
}

// With the multiplier 1 nothing of the row is left but the cut's bound.
TEST_CASE("cut: the bound counts to the last step", "[kernel][cut]") {
  const double most = -static_cast<double>(std::nextafter(-2.0F, -3.0F));
  for (const double asked : {most, above(most)}) {
    const TwoRelus net(exactly(asked));
    Scope scope = boxed_root(net.problem);
    REQUIRE(certificate::cut_by_cases(scope, net.sum(), net.tree()).ok());
    REQUIRE(scope.cuts()[0]->bound == -static_cast<float>(most));
    CHECK(code_of(conclude(scope, multipliers({1}))) == (asked > most ? "accepted" : "conclude.S3"));
  }
}

TEST_CASE("cut: used for boxes and for other cuts", "[kernel][cut]") {
  const TwoRelus net(Rational(5, 2));
  Scope scope = boxed_root(net.problem);
  REQUIRE(certificate::cut_by_cases(scope, net.sum(), net.tree()).ok());
  Scope plain = scope;
  REQUIRE(inspect::tighten(scope, net.y, {Selection::Kind::all, {}}, multipliers({1})).ok());
  CHECK(scope.box(net.y).hi[0] <= 2.000001);
  REQUIRE(inspect::tighten(plain, net.y, {Selection::Kind::all, {}}, {}).ok());
  CHECK(plain.box(net.y).hi[0] > 2.9);
  REQUIRE(scope.cut({{net.y, 0, -2}}, multipliers({2})).ok());
  CHECK(scope.cuts()[1]->bound >= -4.000002F);
  CHECK(scope.cuts()[1]->bound <= -4);
}

TEST_CASE("cut: with terms behind the node that is bounded", "[kernel][cut]") {
  Chain net(2);
  const NodeId z = net.gemm(2, {1, 1, 1, -1}, {0, 0});
  net.then(Op::relu);
  const NodeId y = net.gemm(1, {1, 1}, {4});
  const auto problem = open(net.output(), {-1, -1}, {1, 1}, {at_least(output(0), Rational(9))});
  Scope scope = boxed_root(problem);
  REQUIRE(scope.cut({{y, 0, 1}}, {}).ok());
  REQUIRE(scope.cuts()[0]->bound > 3.9F);
  REQUIRE(inspect::tighten(scope, z, {Selection::Kind::all, {}}, multipliers({1})).ok());
  CHECK(std::ranges::max(scope.box(z).lo) <= -2);  // which (-1, -1) and (-1, 1) reach
  CHECK(std::ranges::min(scope.box(z).hi) >= 2);
}

TEST_CASE("cut S1 to S3, and multipliers", "[kernel][cut]") {
  const TwoRelus net(Rational(5, 2));
  Scope scope = boxed_root(net.problem);
  const auto nodes = static_cast<NodeId>(net.problem->graph().nodes.size());
  const NodeId weights = net.problem->graph().node(net.z).operands[1];
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  CHECK(code_of(scope.cut({{nodes, 0, 1}}, {})) == "cut.S1");
  CHECK(code_of(scope.cut({{net.h, 0, 1}, {net.h, 2, 1}}, {})) == "cut.S1");
  CHECK(code_of(scope.cut({{weights, 0, 1}}, {})) == "cut.S1");
  CHECK(code_of(scope.cut({{net.h, 0, infinity}}, {})) == "cut.S2");
  CHECK(code_of(scope.cut({{net.h, 0, nan}}, {})) == "cut.S2");
  Scope nothing = assumed(scope, {net.x, 0, true, 7});
  CHECK(code_of(nothing.cut({{weights, 0, 1}}, {})) == "cut.S1");  // where there is no point, too
  Scope bare = root(net.problem);
  CHECK(code_of(bare.cut({{net.h, 0, 1}}, {})) == "back_substitution.S1");
  const auto open_box = open(net.problem->graph(), {-1e308, -1e308}, {1e308, 1e308}, {at_least(output(0), Rational(5, 2))});
  Scope wide = boxed_root(open_box);
  CHECK(code_of(wide.cut({{net.h, 0, -1e30F}}, {})) == "cut.S3");
  CHECK(wide.cuts().empty());
  REQUIRE(scope.cut({}, {}).ok());  // 0 >= 0
  CHECK(scope.cuts()[0]->bound <= 0);
  REQUIRE(scope.cut({{net.h, 0, 1}, {net.h, 0, -1}}, {}).ok());  // an element twice
  CHECK(scope.cuts()[1]->bound <= 0);
  CHECK(scope.cuts()[1]->bound > -1e-6F);
  for (const float m : {-1e-45F, -1.0F, nan, infinity}) {
    CHECK(code_of(conclude(scope, multipliers({m}))) == "hints.cuts");
    CHECK(code_of(inspect::tighten(scope, net.y, {Selection::Kind::all, {}}, multipliers({0, m}))) == "hints.cuts");
    CHECK(code_of(scope.cut(net.sum(), multipliers({m}))) == "hints.cuts");
  }
}

TEST_CASE("cut: of both halves of a split the lesser bound, of none of them alone", "[kernel][cut]") {
  const TwoRelus net(Rational(5, 2));
  const Scope whole = boxed_root(net.problem);
  const auto half = [&](bool at_least_side, std::vector<Cut::Term> terms) {
    Scope scope = assumed(whole, {net.x, 0, at_least_side, 0.5});
    derive_all(scope, *net.problem);
    REQUIRE(scope.cut(std::move(terms), {}).ok());
    return scope;
  };
  const Scope left = half(false, {{net.x, 0, -1}}), right = half(true, {{net.x, 0, -1}});
  REQUIRE(left.cuts()[0]->bound > right.cuts()[0]->bound);
  Scope scope = whole;
  REQUIRE(scope.hull(left, right).ok());
  REQUIRE(scope.cuts().size() == 1);
  CHECK(scope.cuts()[0]->bound == right.cuts()[0]->bound);
  CHECK(whole.cuts().empty());
  Scope mirrored = whole;
  REQUIRE(mirrored.hull(half(false, {{net.x, 0, 1}}), half(true, {{net.x, 0, 1}})).ok());
  CHECK(mirrored.cuts()[0]->bound <= -1);
  CHECK(mirrored.cuts()[0]->bound > -1.01F);
  // Other terms are another sum.
  for (const std::vector<Cut::Term>& other :
       std::vector<std::vector<Cut::Term>>{{{net.x, 0, -1.5F}}, {{net.x, 1, -1}}, {{net.z, 0, -1}}, {{net.x, 0, -1}, {net.x, 0, 0}}}) {
    Scope none = whole;
    REQUIRE(none.hull(left, half(true, other)).ok());
    CHECK(none.cuts().empty());
  }
  // A half without a point gives way; two leave none, and nothing is derived where there is no point.
  Scope nothing = assumed(whole, {net.x, 0, true, 7});
  REQUIRE(nothing.cut({{net.x, 0, -1}}, {}).ok());
  CHECK(nothing.cuts().empty());
  Scope rest = assumed(whole, {net.x, 0, false, 7});
  REQUIRE(rest.cut({{net.x, 0, -1}}, {}).ok());
  Scope all = whole;
  REQUIRE(all.hull(rest, nothing).ok());
  CHECK(all.cuts()[0]->bound == rest.cuts()[0]->bound);
  // A cut that the whole had before is there once.
  Scope before = whole;
  REQUIRE(before.cut({{net.y, 0, 1}}, {}).ok());
  Scope low = assumed(before, {net.x, 0, false, 0}), high = assumed(before, {net.x, 0, true, 0});
  REQUIRE(low.cut({{net.x, 1, 1}}, {}).ok());
  REQUIRE(before.hull(low, high).ok());
  CHECK(before.cuts().size() == 1);
  REQUIRE(high.cut({{net.x, 1, 1}}, {}).ok());
  REQUIRE(before.hull(low, high).ok());
  CHECK(before.cuts().size() == 2);
}

TEST_CASE("cut: a scope meets the cuts of a copy, each once", "[kernel][cut]") {
  const TwoRelus net(Rational(5, 2));
  Scope scope = boxed_root(net.problem);
  REQUIRE(scope.cut({{net.h, 0, 1}}, {}).ok());
  Scope first = scope, second = scope;
  REQUIRE(first.cut({{net.h, 1, 1}}, {}).ok());
  REQUIRE(second.cut({{net.y, 0, 1}}, {}).ok());
  REQUIRE(scope.meet(first).ok());
  REQUIRE(scope.meet(second).ok());
  REQUIRE(scope.meet(first).ok());
  REQUIRE(scope.cuts().size() >= 3);
  CHECK(scope.cuts()[1] == first.cuts()[1]);
  CHECK(scope.cuts()[2] == second.cuts()[1]);
  const Scope child = assumed(first, {net.x, 0, false, 0});
  CHECK(child.cuts() == first.cuts());
  CHECK(code_of(scope.meet(child)) == "meet.S1");
}

TEST_CASE("cut: terms and cuts are paid for", "[kernel][cut]") {
  const TwoRelus net(Rational(5, 2));
  Scope scope = boxed_root(net.problem);
  const auto work_of = [&](const auto& step) {
    const auto left = std::make_shared<double>(1e12);
    Scope copy = scope;
    copy.pay(certificate::meter_of(*net.problem, left));
    REQUIRE(step(copy).ok());
    return 1e12 - *left;
  };
  const std::vector<Cut::Term> many(1000, {net.h, 0, -0.001F});
  const auto with_cut = [&](Scope& copy) { return conclude(copy, multipliers({1})); };
  const double one = work_of([&](Scope& copy) { return copy.cut({{net.h, 0, -1}}, {}); });
  CHECK(work_of([&](Scope& copy) { return copy.cut(many, {}); }) >= one + 999);
  REQUIRE(scope.cut(many, {}).ok());
  REQUIRE(certificate::cut_by_cases(scope, net.sum(), net.tree()).ok());
  const double short_one = work_of([&](Scope& copy) { return conclude(copy, multipliers({0, 1})); });
  const double long_one = work_of([&](Scope& copy) { return conclude(copy, multipliers({1e-6F, 1})); });
  CHECK(long_one >= short_one + 1000);
  // In integers each term costs what its node's elements do.
  KernelOptions exact;
  exact.exact = true;
  const TwoRelus in_integers(Rational(5, 2), exact);
  Scope whole = boxed_root(in_integers.problem);
  const auto left = std::make_shared<double>(1e12);
  whole.pay(certificate::meter_of(*in_integers.problem, left));
  REQUIRE(whole.cut(std::vector<Cut::Term>(200000, {in_integers.h, 1, -1e-6F}), {}).ok());
  CHECK(whole.cuts()[0]->bound > -0.41F);
  CHECK(1e12 - *left >= 400000);
  scope.pay(certificate::meter_of(*net.problem, std::make_shared<double>(1)));
  CHECK(code_of(with_cut(scope)) == "kernel.work");
}

// A product whose bias stands in a node of its own is no step of the others' way, but a row may start there.
TEST_CASE("cut: rows that start in a folded node are paid for", "[kernel][cut]") {
  constexpr std::int64_t kWidth = 40;
  Chain net(kWidth);
  const NodeId w = net.graph.append_constant(tensor({kWidth, kWidth}, std::vector<double>(kWidth * kWidth, 0.5)));
  const NodeId product = net.then(Op::matmul, w);
  const NodeId sum = net.then(Op::add, net.graph.append_constant(tensor({1, kWidth}, std::vector<double>(kWidth, 1))));
  const auto problem =
      open(net.output(), std::vector<double>(kWidth, -1), std::vector<double>(kWidth, 1), {at_least(output(0), Rational(100))});
  const auto work_of = [&](NodeId node) {
    const auto left = std::make_shared<double>(1e12);
    Scope scope = boxed_root(problem);
    scope.pay(certificate::meter_of(*problem, left));
    REQUIRE(inspect::tighten(scope, node, {Selection::Kind::all, {}}, {}).ok());
    REQUIRE(scope.cut({{node, 0, 1}}, {}).ok());
    return 1e12 - *left;
  };
  CHECK(work_of(product) >= (2 * kWidth + 1) * kWidth * kWidth);
  CHECK(work_of(sum) >= (2 * kWidth + 1) * kWidth * kWidth);
}

}  // namespace assay::test
