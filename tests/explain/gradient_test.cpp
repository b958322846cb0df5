// The text on wrong gradients names the pattern that fits.
#include "kernel/audit/gradients.h"
#include "tests/explain/words.h"

using namespace assay;
using namespace assay::test;

namespace {

// loss = the sum of x w, with w broadcast over the rows of x; `bar` makes the cotangent of w from that of x w, and x.
template <class F>
Lines lines_of_product(const F& bar) {
  Run run;
  const auto x = run.given("x", {3, 4}, noise(12, 5)), w = run.given("layer.weight", {4}, noise(4, 9), Trace::Origin::parameter),
             y = run.apply(Op::mul, {x, w}), loss = run.apply(Op::reduce_sum, {y}, ReduceAttributes{{0, 1}, false});
  const auto seed = run.given("seed", {}, {1}), y_bar = run.apply(Op::expand, {seed}, ShapeAttributes{{3, 4}});
  run.claim(loss, seed, {{0, y_bar}});
  const auto w_bar = bar(run, run.apply(Op::mul, {y_bar, x}));
  run.claim(y, y_bar, {{1, w_bar}});
  run.trace.outputs = {w_bar};
  run.trace.gradients = {{loss, seed, {{w, w_bar}}}};
  Lines lines;
  for (const audit::GradientStep& step : audit::check_gradient(run.trace, 0, 1))
    for (std::string& line : explain::gradient_lines(run.trace, 0, step)) lines.push_back(std::move(line));
  return lines;
}

}  // namespace

TEST_CASE("explain: what a wrong cotangent looks like", "[explain]") {
  const auto summed = [](Run& run, Run::Id each) { return run.apply(Op::reduce_sum, {each}, ReduceAttributes{{0}, false}); };
  const auto scaled = [&](double factor) {
    return lines_of_product([&](Run& run, Run::Id each) { return run.apply(Op::scale, {summed(run, each)}, ScaleAttributes{factor}); });
  };
  const auto row = [](std::int64_t at) {
    return lines_of_product([&](Run& run, Run::Id each) {
      const auto one = run.apply(Op::slice, {each}, SliceAttributes{{at, 0}, {1, 1}, {1, 4}});
      return run.apply(Op::reshape, {one}, ShapeAttributes{{4}});
    });
  };
  CHECK(lines_of_product(summed).empty());
  CHECK(mentions(scaled(2), "the cotangent of 'layer.weight' at ["));
  CHECK(mentions(scaled(2), "it is twice the derivative"));
  CHECK(mentions(scaled(2), "at this element 'layer.weight'["));
  CHECK(mentions(scaled(0.5), "it is half the derivative"));
  CHECK(mentions(scaled(-1), "it is minus the derivative"));
  CHECK(mentions(scaled(0), "it is zero"));
  CHECK(mentions(row(0), "it is not summed over the broadcast axes: what their first index gives alone"));
  CHECK(mentions(row(2), "what their last index gives alone"));
  CHECK(mentions(lines_of_product([](Run& run, Run::Id each) {
                   return run.apply(Op::reduce_mean, {each}, ReduceAttributes{{0}, false});
                 }),
                 "it is 1/3 of the derivative: averaged, not summed, over the broadcast axes"));
}

TEST_CASE("explain: a transposed cotangent, and sums without a term or with one twice", "[explain]") {
  const auto told = [](bool is_transposed, int second_terms) {
    Run run;
    const auto x = run.given("x", {2, 3}, noise(6, 5)), w = run.given("w", {3, 3}, noise(9, 9), Trace::Origin::parameter),
               y = run.apply(Op::matmul, {x, w}), square = run.apply(Op::mul, {w, w}),
               a = run.apply(Op::reduce_sum, {y}, ReduceAttributes{{0, 1}, false}),
               b = run.apply(Op::reduce_sum, {square}, ReduceAttributes{{0, 1}, false}), loss = run.apply(Op::add, {a, b});
    const auto seed = run.given("seed", {}, {1}), y_bar = run.apply(Op::expand, {seed}, ShapeAttributes{{2, 3}}),
               q_bar = run.apply(Op::expand, {seed}, ShapeAttributes{{3, 3}});
    run.claim(loss, seed, {{0, seed}, {1, seed}});
    run.claim(a, seed, {{0, y_bar}});
    run.claim(b, seed, {{0, q_bar}});
    const auto half = run.apply(Op::mul, {q_bar, w});
    run.claim(square, q_bar, {{0, half}, {1, half}});
    const auto x_t = run.apply(Op::permute, {x}, PermuteAttributes{{1, 0}});
    auto first = run.apply(Op::matmul, {x_t, y_bar});
    if (is_transposed) first = run.apply(Op::permute, {first}, PermuteAttributes{{1, 0}});
    run.claim(y, y_bar, {{1, first}});
    auto w_bar = first;
    for (int i = 0; i < second_terms; ++i) w_bar = run.apply(Op::add, {w_bar, half});
    run.trace.outputs = {w_bar};
    run.trace.gradients = {{loss, seed, {{w, w_bar}}}};
    Lines lines;
    for (const audit::GradientStep& step : audit::check_gradient(run.trace, 0, 1))
      for (std::string& line : explain::gradient_lines(run.trace, 0, step)) lines.push_back(std::move(line));
    return lines;
  };
  CHECK(told(false, 2).empty());
  CHECK(mentions(told(true, 2), "it is the derivative, transposed"));
  CHECK(mentions(told(false, 1), "is the sum without the term"));
  CHECK(mentions(told(false, 3), "is the sum with this term twice"));
}
