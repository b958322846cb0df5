// The parts of a session besides ops and gradients: names, parameters without gradients, cotangents of everything, Hessians,
// functions that one option makes eager or compiled, forward mode through them, and numbers of bfloat16.
#include <cmath>
#include <limits>
#include <map>
#include <vector>

#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "tests/catch.h"
#include "tests/runtime/sessions.h"

namespace assay::test {
namespace {

using namespace runtime;

const SessionOptions kDouble{.dtype = DType::float64, .seed = 4};

}  // namespace

TEST_CASE("session: parameters require gradients unless they are told not to", "[session]") {
  Session session({.dtype = DType::float64, .requires_grad = false});
  const Value w = session.parameter("w", array({2}, {1, 2})), c = session.parameter("c", array({2}, {3, 5}));
  CHECK_FALSE(session.requires_grad(w));
  REQUIRE(session.set_requires_grad(w, true).ok());
  CHECK(session.requires_grad(w));
  const Value h = w * c, loss = sum(h * h);
  const auto bars = session.gradients(loss, {w});
  REQUIRE(bars.ok());
  CHECK(bars.value()[0].to_doubles() == Reals{18, 100});
  const Results refused = session.gradients(loss, {w, c});
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.rejection().code == "session.requires_grad");
  CHECK(refused.rejection().place == "parameter 'c'");
  const auto all = session.all_gradients(loss);
  REQUIRE(all.ok());
  for (const Cotangent& one : all.value()) CHECK(one.value.ref() != c.ref());
  CHECK(session.set_requires_grad(h, true).rejection().code == "session.parameter");
  CHECK(session.set_requires_grad(session.number(2), true).rejection().code == "session.parameter");
}

TEST_CASE("session: values are found by name", "[session]") {
  Session session(kDouble);
  const Value w = session.parameter("w", array({1}, {1})), x = session.input(array({1}, {4}), "x");
  const Value h = session.name(w * x, "hidden");
  REQUIRE(session.find("w"));
  CHECK(session.find("w")->ref() == w.ref());
  CHECK(session.find("x")->item() == 4);
  CHECK(session.find("hidden")->ref() == h.ref());
  CHECK_FALSE(session.find("nobody"));
  (void)session.input(array({1}, {9}), "x");
  CHECK(session.find("x")->item() == 9);
  REQUIRE(session.parameters().size() == 1);
  session.clear();
  CHECK_FALSE(session.find("x"));
  CHECK_FALSE(session.find("hidden"));
  CHECK(session.find("w")->item() == 1);
}

TEST_CASE("session: the cotangents of everything are those of each", "[session]") {
  Session session(kDouble);
  const Value w = session.parameter("w", session.normal({3, 2})), idle = session.parameter("idle", session.normal({2}));
  const Value x = session.input(session.normal({4, 2})), cut = session.detach(x);
  const Value h = matmul(x, permute(w, {1, 0})), a = tanh(h), b = sigmoid(h * sum(cut * x));
  const Value loss = sum(a * b);
  const Value values[] = {w, x, cut, h, a, b, loss};
  const auto each = session.gradients(loss, values);
  REQUIRE(each.ok());
  const auto all = session.all_gradients(loss, {std::nullopt, false});
  REQUIRE(all.ok());
  std::map<Ref, Reals> found;
  for (const Cotangent& one : all.value()) {
    CHECK(one.value.shape() == one.bar.shape());
    found[one.value.ref()] = one.bar.to_doubles();
  }
  for (std::size_t k = 0; k < std::size(values); ++k) {
    INFO("value " << k);
    REQUIRE(found.contains(values[k].ref()));
    CHECK(found[values[k].ref()] == each.value()[k].to_doubles());
  }
  CHECK(found[loss.ref()] == Reals{1});
  CHECK_FALSE(found.contains(idle.ref()));
  // The cut value has a cotangent of its own, and what it was cut from gets none of it.
  const auto alone = session.gradients(loss, {x});
  CHECK(alone.value()[0].to_doubles() == found[x.ref()]);
}

TEST_CASE("session: Hessians over several leaves have their closed forms", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({2}, {1, 2})), y = session.input(array({1, 2}, {3, -1}));
  const Value of[] = {x, y};
  // f = x0^2 x1 + x0 y0 + y0 y1^3
  const auto at = [](const Value& v, std::int64_t i) { return sum(apply(Op::slice, reshape(v, {2}), SliceAttributes{{i}, {1}, {1}})); };
  const Value f = at(x, 0) * at(x, 0) * at(x, 1) + at(x, 0) * at(y, 0) + at(y, 0) * at(y, 1) * at(y, 1) * at(y, 1);
  const auto h = session.hessian(f, of);
  REQUIRE(h.ok());
  CHECK(h.value()[0][0].shape() == Shape{2, 2});
  CHECK(h.value()[0][1].shape() == Shape{2, 1, 2});
  CHECK(h.value()[1][1].shape() == Shape{1, 2, 1, 2});
  CHECK(h.value()[0][0].to_doubles() == Reals{4, 2, 2, 0});
  CHECK(h.value()[0][1].to_doubles() == Reals{1, 0, 0, 0});
  CHECK(h.value()[1][0].to_doubles() == Reals{1, 0, 0, 0});
  CHECK(h.value()[1][1].to_doubles() == Reals{0, 3, 3, -18});
  // Of log-sum-exp it is diag(p) - p p^T, and each row is a Hessian-vector product.
  const Value z = session.input(session.normal({4}));
  const auto logistic = session.hessian(apply(Op::log_sum_exp, z, ReduceAttributes{{0}, false}), std::span(&z, 1));
  if (logistic.ok()) {
    const Reals p = softmax(z, 0).to_doubles();
    Reals wanted;
    for (std::size_t i = 0; i < 4; ++i) {
      for (std::size_t j = 0; j < 4; ++j) wanted.push_back((i == j ? p[i] : 0) - p[i] * p[j]);
    }
    check_near(logistic.value()[0][0].to_doubles(), wanted);
  } else {
    FAIL(logistic.rejection().to_text());
  }
  const auto linear_one = session.hessian(sum(x), std::span(&x, 1));
  REQUIRE(linear_one.ok());
  CHECK(linear_one.value()[0][0].to_doubles() == Reals{0, 0, 0, 0});
  const NoGrad scope(session);
  CHECK(session.hessian(f, of).rejection().code == "session.recording");
}

namespace {

// One program text: three steps of gradient descent with dropout, and the tangents of the last loss.
std::vector<Reals> run(Backend backend, DType dtype, std::size_t& captures) {
  Session session({.backend = backend, .dtype = dtype, .seed = 8});
  const Value w = session.parameter("w", session.normal({3, 2})), c = session.parameter("c", session.normal({3}));
  SessionFunction step(session, [&](std::span<const Value> v) -> Results {
    const Value loss = mean(square(tanh(linear(dropout(v[0], 0.25), w, c))));
    Results results = session.gradients(loss, {w, c});
    if (results.ok()) results.value().push_back(loss);
    return results;
  });
  const auto product = [&](const Value& x) { return tanh(matmul(x, w)) * exp(session.number(0.5, dtype)); };
  SessionFunction forward(session, [&](std::span<const Value> v) -> Results { return std::vector<Value>{product(v[0])}; });
  std::vector<Reals> seen;
  for (int k = 0; k < 3; ++k) {
    session.clear();
    const std::vector<Value> x{session.input(session.normal({5, 2}))};
    const Results results = step(x);
    REQUIRE(results.ok());
    for (const Value& value : results.value()) seen.push_back(value.to_doubles());
    REQUIRE(session.assign(w, (w - results.value()[0] * 0.1).array()).ok());
  }
  for (int k = 0; k < 2; ++k) {  // captured, then replayed
    const std::vector<Value> x{session.input(session.normal({5, 3}))};
    const Tangent moving[] = {{x[0], session.input(session.normal({5, 3}))}, {w, session.input(session.normal({3, 2}))}};
    const auto moved = forward.jvp(x, moving);
    if (!moved) FAIL(moved.rejection().to_text());
    seen.push_back(moved.value().results[0].to_doubles());
    seen.push_back(moved.value().tangents[0].to_doubles());
    const Value inside[] = {x[0], w};
    const Value dots[] = {moving[0].tangent, moving[1].tangent};
    const Value y = product(x[0]);
    const auto eager = session.jvp(y, inside, dots);
    REQUIRE(eager.ok());
    CHECK(eager.value().to_doubles() == seen.back());
  }
  captures = step.captures();
  return seen;
}

}  // namespace

TEST_CASE("session: one program text runs eager or compiled by the option alone, to the same bits", "[session]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    std::size_t eager = 9, compiled = 9;
    const auto first = run(Backend::eager, dtype, eager), second = run(Backend::compiled, dtype, compiled);
    CHECK(eager == 0);
    CHECK(compiled == 1);
    CHECK(first == second);
  }
}

TEST_CASE("session: what a compiled function gave is not differentiated outside of it, silently", "[session]") {
  for (const Backend backend : {Backend::eager, Backend::compiled}) {
    Session session({.backend = backend, .dtype = DType::float64});
    const Value w = session.parameter("w", array({1}, {3})), other = session.parameter("other", array({1}, {1}));
    SessionFunction f(session, [&](std::span<const Value> v) -> Results { return std::vector<Value>{v[0] * w}; });
    const std::vector<Value> x{session.input(array({1}, {2}))};
    const auto y = f(x);
    REQUIRE(y.ok());
    const Results bars = session.gradients(y.value()[0] * y.value()[0], {w});
    if (backend == Backend::eager) {
      REQUIRE(bars.ok());
      CHECK(bars.value()[0].item() == 24);
    } else {
      REQUIRE_FALSE(bars.ok());
      CHECK(bars.rejection().code == "session.replayed");
      session.clear();
      const std::vector<Value> again{session.input(array({1}, {2}))};
      const auto cut = f(again);
      CHECK(session.gradients(session.detach(cut.value()[0]) * w, {w}).value()[0].item() == 6);
      // Inside of another function that is captured it is that function's ops.
      CompiledFunction outer(session,
                             [&](std::span<const Value> v) -> Results {
                               const auto inner = f(v);
                               if (!inner) return inner.rejection();
                               return session.gradients(inner.value()[0] * inner.value()[0], {w});
                             },
                             {w});
      CHECK(outer(again).value()[0].item() == 24);
      REQUIRE(session.assign(w, array({1}, {5})).ok());
      CHECK(outer(again).value()[0].item() == 40);
      CHECK(session.capture(std::span(&w, 1), cut.value()).rejection().code == "session.capture");
    }
    (void)other;
  }
}

TEST_CASE("session: a tangent belongs to an argument or a parameter", "[session]") {
  for (const Backend backend : {Backend::eager, Backend::compiled}) {
    Session session({.backend = backend, .dtype = DType::float64});
    SessionFunction f(session, [&](std::span<const Value> v) -> Results { return std::vector<Value>{v[0] * v[0]}; });
    const std::vector<Value> x{session.input(array({1}, {2}))};
    const Value other = session.input(array({1}, {1}));
    const Tangent wrong[] = {{other, other}}, right[] = {{x[0], other}};
    CHECK(f.jvp(x, wrong).rejection().code == "session.tangent");
    const auto moved = f.jvp(x, right);
    REQUIRE(moved.ok());
    CHECK(moved.value().tangents[0].item() == 4);
    const Tangent along[] = {{x[0], x[0]}};
    const auto itself = f.jvp(x, along);
    REQUIRE(itself.ok());
    CHECK(itself.value().tangents[0].item() == 8);
  }
}

TEST_CASE("session: bfloat16 is each op's float32 result, rounded to nearest even", "[session]") {
  Session session({.bfloat16 = true});
  const auto rounded = [&](float x) { return session.input(Tensor::of_floats({}, std::span(&x, 1))).item(); };
  CHECK(rounded(1.0F) == 1.0);
  CHECK(rounded(0x1.01p0F) == 1.0);  // half a unit above 1: to even
  CHECK(rounded(0x1.010002p0F) == 0x1.02p0);
  CHECK(rounded(0x1.03p0F) == 0x1.04p0);  // half a unit above an odd number
  CHECK(rounded(-0x1.03p0F) == -0x1.04p0);
  CHECK(rounded(0x1.0p-133F) == 0x1.0p-133);  // the least number of the format
  CHECK(rounded(0x1.0p-134F) == 0);
  CHECK(rounded(0x1.8p-134F) == 0x1.0p-133);
  CHECK(std::isinf(rounded(std::numeric_limits<float>::max())));
  CHECK(std::isnan(rounded(std::numeric_limits<float>::quiet_NaN())));
  const Value third = session.number(1) / session.number(3);
  CHECK(third.item() == 0x1.56p-2);
  const Value w = session.parameter("w", session.normal({64}));
  const auto all_short = [](const Value& value) {
    for (const double x : value.to_doubles()) {
      const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
      if ((bits & 0xffffU) != 0) return false;
    }
    return true;
  };
  const Value loss = sum(exp(w) * tanh(w));
  const auto bars = session.gradients(loss, {w});
  REQUIRE(bars.ok());
  CHECK((all_short(w) && all_short(exp(w)) && all_short(loss) && all_short(bars.value()[0])));
  REQUIRE(session.assign(w, Array::from(Tensor::of_floats({64}, std::vector<float>(64, 0.1F)))).ok());
  CHECK(all_short(w));
  CompiledFunction compiled(session, [](std::span<const Value> v) -> Results { return std::vector<Value>{v[0]}; }, {});
  CHECK(compiled(std::vector<Value>{w}).rejection().code == "session.bfloat16");
}

}  // namespace assay::test
