// A stop reaches inside of each long step: a box at 257 bits, lines of many elements, planes, products of large matrices, integers.
#include <ctime>

#include "tests/kernel/kernel_problems.h"

namespace assay::test {
namespace {

constexpr double kAtOnce = 0.1;  // CPU seconds from the answer to the end; each step here takes a second and more

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

// The step is stopped at the third question, at once, and leaves no fact behind.
template <class Step>
void stops(Scope& scope, NodeId node, const Step& step) {
  const bool had_box = scope.has_box(node);
  const Box before = had_box ? scope.box(node) : Box{};
  int questions = 0;
  double stopped_at = 0;
  scope.stop_when([&] {
    if (++questions < 3) return false;
    if (stopped_at == 0) stopped_at = cpu_seconds();
    return true;
  });
  const auto outcome = step(scope);
  const double seconds = cpu_seconds() - stopped_at;
  CHECK(code_of(outcome) == "kernel.stopped");
  CHECK(kind_of(outcome.rejection()) == Rejection::Kind::declined);
  CHECK(questions >= 3);
  CHECK(seconds < kAtOnce);
  REQUIRE(scope.has_box(node) == had_box);
  if (had_box) {
    CHECK(scope.box(node).lo == before.lo);
    CHECK(scope.box(node).hi == before.hi);
  }
  scope.stop_when({});
}

std::vector<double> numbers(std::size_t count) {
  std::vector<double> result(count);
  for (std::size_t i = 0; i < count; ++i) result[i] = static_cast<double>(static_cast<int>(i * 2654435761U % 2001) - 1000) / 1000;
  return result;
}

ProblemPointer problem_of(Chain& chain, std::int64_t width, KernelOptions options = {}) {
  return open(chain.output(), std::vector<double>(static_cast<std::size_t>(width), -1.0),
              std::vector<double>(static_cast<std::size_t>(width), 1.0), {at_most(output(0), 0)}, options);
}

}  // namespace

TEST_CASE("stop: inside the box of a softmax at 257 bits", "[kernel][stop]") {
  constexpr std::int64_t kWidth = 700;  // half a million exponentials
  Chain chain(kWidth);
  const NodeId softmax = chain.then(Op::softmax, SoftmaxAttributes{1});
  const ProblemPointer problem = problem_of(chain, kWidth);
  Scope scope = root(problem);
  stops(scope, softmax, [&](Scope& s) { return s.propagate_box(softmax); });
}

TEST_CASE("stop: between the elements of a line", "[kernel][stop]") {
  constexpr std::int64_t kWidth = 5000;
  Chain chain(kWidth);
  const NodeId silu = chain.then(Op::silu, ActivationAttributes{1.702, 0});
  const NodeId last = chain.then(Op::reduce_sum, ReduceAttributes{{1}, true});
  const ProblemPointer problem = problem_of(chain, kWidth);
  Scope scope = boxed_root(problem);
  stops(scope, last, [&](Scope& s) { return inspect::tighten(s, last, {Selection::Kind::all, {}}, {}); });
  stops(scope, silu, [&](Scope& s) { return conclude(s); });
}

TEST_CASE("stop: between the planes of a product of activations", "[kernel][stop]") {
  constexpr std::int64_t kSide = 150;  // 3.4 million pairs
  Chain chain(kSide * kSide);
  const NodeId matrix = chain.then(Op::reshape, ShapeAttributes{{kSide, kSide}});
  const NodeId product = chain.then(Op::matmul, matrix);
  const ProblemPointer problem = problem_of(chain, kSide * kSide);
  Scope scope = boxed_root(problem);
  stops(scope, product, [&](Scope& s) { return conclude(s); });
}

TEST_CASE("stop: inside a product of rows and a matrix, in double and in integers", "[kernel][stop]") {
  constexpr std::int64_t kWidth = 600;
  for (const bool exact : {false, true}) {
    Chain chain(kWidth);
    NodeId last = 0;
    for (int layer = 0; layer < 8; ++layer) {
      last = chain.gemm(kWidth, numbers(kWidth * kWidth));
      if (layer < 7) chain.then(Op::relu);
    }
    const ProblemPointer problem = problem_of(chain, kWidth, {exact});
    Scope scope = boxed_root(problem);
    stops(scope, last, [&](Scope& s) { return inspect::tighten(s, last, {Selection::Kind::all, {}}, {}); });
  }
}

TEST_CASE("stop: a step after a stopped one gives what it would have given", "[kernel][stop]") {
  constexpr std::int64_t kWidth = 300;
  Chain chain(kWidth);
  const NodeId silu = chain.then(Op::silu, ActivationAttributes{1.702, 0}), last = chain.then(Op::reduce_sum, ReduceAttributes{{1}, true});
  const ProblemPointer problem = problem_of(chain, kWidth);
  Scope fresh = boxed_root(problem), stopped = boxed_root(problem);
  stops(stopped, silu, [&](Scope& s) { return inspect::tighten(s, last, {Selection::Kind::all, {}}, {}); });
  const Selection all{Selection::Kind::all, {}};
  CHECK(code_of(inspect::tighten(fresh, last, all, {})) == "accepted");
  CHECK(code_of(inspect::tighten(stopped, last, all, {})) == "accepted");
  CHECK(fresh.box(last).lo == stopped.box(last).lo);
  CHECK(fresh.box(last).hi == stopped.box(last).hi);
}

}  // namespace assay::test
