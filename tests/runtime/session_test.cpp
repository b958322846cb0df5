// Sessions: gradients against the runtime's own graphs and closed forms, scopes, hooks, checkpoints, failures, and what an observer sees.
#include "runtime/session.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "runtime/functions.h"
#include "runtime/graph_module.h"
#include "tests/catch.h"
#include "tests/runtime/sessions.h"
#include "training/layers/shapes.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using namespace runtime;

const SessionOptions kDouble{.dtype = DType::float64};

Tensor whole(const Shape& shape, const std::vector<std::int64_t>& values) { return Tensor::of_ints(shape, values); }

std::string code(const Outcome<std::vector<Value>>& outcome) { return outcome.ok() ? "ok" : outcome.rejection().code; }

}  // namespace

TEST_CASE("session: values, gradients and gradients of gradients", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({3}, {1, 2, -3}));
  const Value y = sum(x * x * x);
  CHECK(y.item() == 1 + 8 - 27);
  const auto first = session.gradients(y, {x});
  REQUIRE(first.ok());
  CHECK(first.value()[0].to_doubles() == Reals{3, 12, 27});
  const auto second = session.gradients(sum(first.value()[0]), {x});
  REQUIRE(second.ok());
  CHECK(second.value()[0].to_doubles() == Reals{6, 12, -18});
  const auto third = session.gradients(sum(second.value()[0]), {x});
  REQUIRE(third.ok());
  CHECK(third.value()[0].to_doubles() == Reals{6, 6, 6});
}

TEST_CASE("session: a gradient that is not to be differentiated is the same, and independent of everything", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({3}, {1, 2, -3}));
  const Value y = sum(exp(x) * tanh(x) + x * sigmoid(x * x));
  const auto kept = session.gradients(y, {x}), once = session.gradients(y, {x}, {std::nullopt, false});
  REQUIRE(kept.ok());
  REQUIRE(once.ok());
  CHECK(once.value()[0].to_doubles() == kept.value()[0].to_doubles());
  CHECK(session.gradients(sum(once.value()[0]), {x}).value()[0].to_doubles() == Reals{0, 0, 0});
  CHECK(session.gradients(sum(kept.value()[0]), {x}).value()[0].to_doubles() != Reals{0, 0, 0});
}

namespace {

// Products of several matrices [rows, 4] and one: the sums of its cotangent have `rows` terms.
template <std::int64_t rows>
Value of_one_factor(const Value& x) {
  const Value all = reshape(x, {768, 4}), factor = training::slice(all, 0, 8, 4);
  Value sum = linear(training::slice(all, 0, 0, rows), factor);
  for (std::int64_t k = 1; k < 3; ++k) sum = sum * linear(training::slice(all, 0, k * rows, rows), factor);
  return sum;
}

}  // namespace

TEST_CASE("session: gradients that programs compute have the bits of those op by op", "[session]") {
  using Function = Value (*)(const Value&);
  const std::vector<std::pair<const char*, Function>> functions = {
      {"gelu", [](const Value& x) { return gelu(x); }},
      {"silu", [](const Value& x) { return silu(x); }},
      {"tanh", [](const Value& x) { return tanh(x); }},
      {"sqrt", [](const Value& x) { return sqrt(x * x + 1); }},
      {"softmax", [](const Value& x) { return softmax(x, 1); }},
      {"log_softmax", [](const Value& x) { return log_softmax(x, 3); }},
      {"max_pool, windows that meet", [](const Value& x) { return max_pool2d(x, 3, 2, 1); }},
      {"max_pool, windows side by side", [](const Value& x) { return max_pool2d(x, 2, 2); }},
      {"avg_pool", [](const Value& x) { return avg_pool2d(x, 3, 2); }},
      {"parts that lie apart",
       [](const Value& x) {
         const std::vector<Value> parts = training::split(x, 3, 4);
         return parts[0] * parts[3] + parts[1];
       }},
      {"parts that meet",
       [](const Value& x) { return training::slice(x, 1, 0, 2) * training::slice(x, 1, 1, 2) + training::slice(x, 1, 1, 2); }},
      {"products of one factor, short sums", of_one_factor<32>},
      {"products of one factor, the longest sums that are added in place", of_one_factor<256>},
      {"products of one factor with one row",
       [](const Value& x) {
         const Value all = reshape(x, {96, 32}), factor = training::slice(all, 0, 8, 1);
         Value sum = linear(training::slice(all, 0, 0, 64), factor);
         for (std::int64_t k = 1; k < 5; ++k) sum = sum * linear(training::slice(all, 0, 8 * k, 64), factor);
         return sum;
       }},
      {"products of one factor, a longer sum between",
       [](const Value& x) {
         const Value all = reshape(x, {384, 8}), factor = training::slice(all, 0, 8, 8);
         return linear(training::slice(all, 0, 0, 64), factor) + sum(linear(all, factor)) + linear(training::slice(all, 0, 64, 64), factor);
       }},
      {"products on top of a part of the cotangent",
       [](const Value& x) {
         const Value all = reshape(x, {48, 64}), factor = training::slice(all, 0, 0, 24);
         const Value products = linear(training::slice(all, 0, 24, 24), factor) + linear(factor, training::slice(all, 0, 24, 24));
         return concat({factor, linear(products, training::slice(reshape(x, {128, 24}), 0, 0, 64))}, 0);
       }},
      {"parts and the whole", [](const Value& x) { return training::slice(x, 2, 3, 4) * sum(x) + training::slice(x, 2, 9, 4); }},
  };
  for (const auto& [name, function] : functions) {
    CAPTURE(name);
    SessionOptions rounded{.seed = 5};
    rounded.bfloat16 = true;
    for (const SessionOptions& options : {SessionOptions{.seed = 5}, SessionOptions{.dtype = DType::float64, .seed = 5}, rounded}) {
      Session session(options);
      const Value x = session.input(session.normal({4, 3, 16, 16}));
      const Value y = function(x);
      for (int round = 0; round < 2; ++round) {  // a program that is new, and one that is known
        const Value cotangent = session.input(session.normal(y.shape()));
        const Tensor given = cotangent.array().to_tensor();
        const auto by_ops = session.gradients(y, {x}, {cotangent, true}), by_programs = session.gradients(y, {x}, {cotangent, false});
        REQUIRE(by_ops.ok());
        REQUIRE(by_programs.ok());
        const Tensor wanted = by_ops.value()[0].array().to_tensor(), found = by_programs.value()[0].array().to_tensor();
        CHECK(std::ranges::equal(wanted.bytes(), found.bytes()));
        CHECK(std::ranges::equal(cotangent.array().to_tensor().bytes(), given.bytes()));
      }
    }
  }
}

TEST_CASE("session: gradients at inner values, of unused values, and with a cotangent", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({2}, {1, 2})), unused = session.input(array({1, 2}, {5, 6}));
  const Value h = x * x, y = h * 3.0 + x;
  const auto bars = session.gradients(y, {x, h, unused}, {session.input(array({2}, {1, 10}))});
  REQUIRE(bars.ok());
  CHECK(bars.value()[0].to_doubles() == Reals{7, 130});
  CHECK(bars.value()[1].to_doubles() == Reals{3, 30});
  CHECK(bars.value()[2].to_doubles() == Reals{0, 0});
  CHECK(bars.value()[2].shape() == Shape{1, 2});
  CHECK(code(session.gradients(y, {x})) == "session.cotangent");
}

TEST_CASE("session: detach and NoGrad cut the tape", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({2}, {2, 3}));
  CHECK(session.gradients(sum(x * session.detach(x)), {x}).value()[0].to_doubles() == Reals{2, 3});
  Value constant;
  {
    const NoGrad scope(session);
    CHECK_FALSE(session.recording());
    constant = x * x;
    const NoGrad inner(session);
  }
  CHECK(session.recording());
  CHECK(constant.to_doubles() == Reals{4, 9});
  CHECK(session.gradients(sum(x * constant), {x}).value()[0].to_doubles() == Reals{4, 9});
}

TEST_CASE("session: parameters stay, other values do not", "[session]") {
  Session session(kDouble);
  const Value w = session.parameter("w", array({2}, {1, 2})), x = session.input(array({2}, {3, 4}));
  const Value y = sum(w * x);
  CHECK(session.name_of(w) == "w");
  CHECK(session.gradients(y, {w}).value()[0].to_doubles() == Reals{3, 4});
  session.clear();
  CHECK(session.tape_length() == 0);
  CHECK(w.to_doubles() == Reals{1, 2});
  CHECK(x.array().size() == 0);
  const Value late = w * x;
  CHECK_FALSE(late.ok());
  REQUIRE(session.failure().has_value());
  CHECK(session.failure()->code == "session.value");
  session.clear();
  CHECK_FALSE(session.failure().has_value());
  const Value other = session.input(array({2}, {5, 6}));  // in x's place on the tape
  CHECK(other.ref() == x.ref());
  CHECK_FALSE((w * x).ok());
}

TEST_CASE("session: a parameter that was changed is not differentiated with its new value", "[session]") {
  Session session(kDouble);
  const Value w = session.parameter("w", array({2}, {1, 2}));
  const Value y = sum(w * w);
  REQUIRE(session.assign(w, array({2}, {7, 8})).ok());
  CHECK(code(session.gradients(y, {w})) == "session.changed");
  session.clear();
  CHECK(session.gradients(sum(w * w), {w}).value()[0].to_doubles() == Reals{14, 16});
  CHECK(session.assign(w, array({3}, {7, 8, 9})).rejection().code == "session.parameter");
  CHECK(session.assign(w * w, array({2}, {7, 8})).rejection().code == "session.parameter");
}

TEST_CASE("session: what does not fit is refused once, and by name", "[session]") {
  Session session(kDouble);
  Session another(kDouble);
  const Value a = session.input(array({2, 3}, {1, 2, 3, 4, 5, 6})), b = session.input(array({2, 2}, {1, 2, 3, 4}));
  const Value bad = relu(matmul(a, b) + b);
  CHECK_FALSE(bad.ok());
  CHECK(bad.shape() == Shape{0});
  REQUIRE(session.failure().has_value());
  CHECK(session.failure()->code == "matmul.S2");
  CHECK(session.failure()->place.find("[2, 3]") != std::string::npos);
  CHECK(code(session.gradients(bad, {a})) == "matmul.S2");
  CHECK_FALSE(session.check().ok());
  session.clear();
  CHECK(session.check().ok());
  CHECK_FALSE(session.apply(Op::add, {session.number(1), another.number(1)}).ok());
  CHECK(session.failure()->code == "session.value");
  session.clear();
  const Value x = session.input(array({2}, {1, 2})), index = session.input(whole({1}, {5}));
  CHECK_FALSE(apply(Op::take, index, x, ConcatAttributes{0}).ok());
  CHECK(session.failure()->code == "runtime.index");
  CHECK(code(session.gradients(sum(x), {index})) == "session.dtype");
}

TEST_CASE("session: hooks see the whole gradient and may change it", "[session]") {
  Session session(kDouble);
  const Value w = session.parameter("w", array({2}, {1, 2})), x = session.input(array({2}, {3, 4}));
  const auto run = [&] {
    const Value h = w * x;
    return session.gradients(sum(h * h + w), {w});
  };
  std::vector<Reals> seen;
  const std::size_t doubled = session.on_gradient(w, [&](const Value& g) {
    seen.push_back(g.to_doubles());
    return g * 2.0;
  });
  CHECK(run().value()[0].to_doubles() == Reals{2 * 19, 2 * 65});
  CHECK(seen == std::vector<Reals>{{19, 65}});
  session.remove_hook(doubled);
  CHECK(run().value()[0].to_doubles() == Reals{19, 65});
  const Value h = w * x;
  session.on_gradient(h, [&](const Value& g) { return apply(Op::clip, g, ClipAttributes{-1, 1}); });
  CHECK(session.gradients(sum(h * h), {w}).value()[0].to_doubles() == Reals{3, 4});
  CHECK(session.gradients(sum(h * h), {w}, {std::nullopt, false}).value()[0].to_doubles() == Reals{3, 4});
  session.on_gradient(h, [&](const Value& g) { return sum(g); });
  CHECK(code(session.gradients(sum(h), {w})) == "session.hook");
}

TEST_CASE("session: a checkpoint keeps nothing and gives the same gradients", "[session]") {
  for (const bool differentiable : {true, false}) {
    Session session({.dtype = DType::float64, .seed = 3});
    const Value w = session.parameter("w", array({2}, {0.5, -1})), x = session.input(array({2}, {1, 2}));
    std::size_t calls = 0;
    const auto f = [&](std::span<const Value> v) {
      ++calls;
      return dropout(tanh(v[0] * w) * exp(v[0]), 0.25) + v[0];
    };
    const std::size_t before = session.tape_length();
    const Value y = session.checkpoint(f, {x});
    CHECK(session.tape_length() == before + 1);
    CHECK(calls == 1);
    const auto bars = session.gradients(sum(y), {x, w}, {std::nullopt, differentiable});
    REQUIRE(bars.ok());
    CHECK(calls == 2);
    const Reals kept = y.to_doubles(), x_bar = bars.value()[0].to_doubles(), w_bar = bars.value()[1].to_doubles();
    const Value again = session.checkpoint(f, {x * x});  // the next numbers

    Session plain({.dtype = DType::float64, .seed = 3});
    const Value v = plain.parameter("w", array({2}, {0.5, -1})), z = plain.input(array({2}, {1, 2}));
    const Value direct = dropout(tanh(z * v) * exp(z), 0.25) + z;
    CHECK(direct.to_doubles() == kept);
    const auto wanted = plain.gradients(sum(direct), {z, v});
    CHECK(wanted.value()[0].to_doubles() == x_bar);
    CHECK(wanted.value()[1].to_doubles() == w_bar);
    const Value h = z * z;
    CHECK(again.to_doubles() == (dropout(tanh(h * v) * exp(h), 0.25) + h).to_doubles());
  }
}

TEST_CASE("session: a hook inside a checkpoint runs on what is computed again, and on nothing else", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({2}, {1, 2}));
  const Value y = session.checkpoint(
      [&](std::span<const Value> v) {
        const Value h = v[0] * 2.0;
        session.on_gradient(h, [](const Value& g) { return g * 10.0; });
        return h * v[0];
      },
      {x});
  const Value z = x * x;  // may have the place of h
  CHECK(session.gradients(sum(z), {x}).value()[0].to_doubles() == Reals{2, 4});
  CHECK(session.gradients(sum(y), {x}).value()[0].to_doubles() == Reals{22, 44});  // 2 x from the one factor, 10 times 2 x from the other
}

TEST_CASE("session: checkpoints inside checkpoints, of values that depend on each other, and twice differentiated", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({2}, {0.5, 1.5}));
  const Value h = x * x;
  const auto inner = [](std::span<const Value> v) { return exp(v[0]) * v[1]; };
  const auto outer = [&](std::span<const Value> v) { return session.checkpoint(inner, {v[0] * v[1], v[1]}) + v[0] * h; };
  const Value y = session.checkpoint(outer, {x, h});
  const Value direct = exp(x * h) * h + x * h;
  CHECK(y.to_doubles() == direct.to_doubles());
  const auto found = session.gradients(sum(y), {x}), wanted = session.gradients(sum(direct), {x});
  check_near(found.value()[0].to_doubles(), wanted.value()[0].to_doubles());
  check_near(session.gradients(sum(found.value()[0]), {x}).value()[0].to_doubles(),
             session.gradients(sum(wanted.value()[0]), {x}).value()[0].to_doubles());
}

TEST_CASE("session: jvp, hvp and Jacobian", "[session]") {
  Session session(kDouble);
  const Value a = session.input(array({2, 2}, {1, 2, 3, 4})), b = session.input(array({2, 2}, {1, -1, 0.5, 2}));
  const Value da = session.input(array({2, 2}, {1, 0, 2, -1})), db = session.input(array({2, 2}, {3, 1, 1, 0}));
  const Value of[] = {a, b}, along[] = {da, db};
  const auto dot = session.jvp(matmul(a, b), of, along);
  REQUIRE(dot.ok());
  CHECK(dot.value().to_doubles() == (matmul(da, b) + matmul(a, db)).to_doubles());

  const Value x = session.input(array({3}, {1, 2, 3})), v = session.input(array({3}, {1, 0, -2}));
  const Value one[] = {x}, way[] = {v};
  const Value loss = sum(x * x * x) + sum(x) * sum(x);  // Hessian diag(6 x) + 2
  const auto second = session.hvp(loss, one, way);
  REQUIRE(second.ok());
  CHECK(second.value()[0].to_doubles() == Reals{6 - 2, -2, -36 - 2});

  const auto jacobian = session.jacobian(x * x, x);
  REQUIRE(jacobian.ok());
  CHECK(jacobian.value().shape() == Shape{3, 3});
  CHECK(jacobian.value().to_doubles() == Reals{2, 0, 0, 0, 4, 0, 0, 0, 6});
  const auto forward = session.jvp(apply(Op::softmax, x, SoftmaxAttributes{0}), one, way);
  const auto rows = session.jacobian(apply(Op::softmax, x, SoftmaxAttributes{0}), x);
  check_near(matmul(rows.value(), v).to_doubles(), forward.value().to_doubles());

  const Value none[] = {a};
  CHECK(session.jvp(loss, one, none).rejection().code == "session.tangent");
  const NoGrad scope(session);
  CHECK(session.jvp(loss, one, way).rejection().code == "session.recording");
}

TEST_CASE("session: gradients of every sample", "[session]") {
  Session session({.dtype = DType::float64, .seed = 5});
  const Value w = session.parameter("w", session.normal({2, 3})), c = session.parameter("c", session.normal({2}));
  const Value x = session.input(session.normal({4, 3})), target = session.input(whole({4}, {0, 1, 1, 0}));
  const auto loss = [&](std::span<const Value> sample) { return cross_entropy(linear(sample[0], w, c), sample[1]); };
  const Value batch[] = {x, target}, of[] = {w, c};
  const auto each = session.per_sample_gradients(loss, batch, of);
  REQUIRE(each.ok());
  CHECK(each.value()[0].shape() == Shape{4, 2, 3});
  CHECK(each.value()[1].shape() == Shape{4, 2});
  const auto all = session.gradients(loss(batch), of);
  check_near(mean(each.value()[0], {0}).to_doubles(), all.value()[0].to_doubles());
  check_near(mean(each.value()[1], {0}).to_doubles(), all.value()[1].to_doubles());
  const Value uneven[] = {x, session.input(whole({3}, {0, 1, 1}))};
  CHECK(code(session.per_sample_gradients(loss, uneven, of)) == "session.batch");
}

TEST_CASE("session: layers and losses", "[session]") {
  Session session(kDouble);
  const Value x = session.input(array({1, 3}, {1, 2, 4})), w = session.input(array({2, 3}, {1, 0, 1, 2, 1, 0}));
  CHECK(linear(x, w, session.input(array({2}, {10, 20}))).to_doubles() == Reals{15, 24});
  CHECK(linear(x, w).to_doubles() == Reals{5, 4});
  check_near({cross_entropy(x, session.input(whole({1}, {2}))).item()}, {std::log(std::exp(-3.0) + std::exp(-2.0) + 1)});
  CHECK(mean_squared_error(x, x * 2.0).item() == 7);
  const Value table = session.input(array({3, 2}, {1, 2, 3, 4, 5, 6})), index = session.input(whole({4}, {2, 0, -1, 2}));
  const Value rows = embedding(index, table);
  CHECK(rows.to_doubles() == Reals{5, 6, 1, 2, 5, 6, 5, 6});
  CHECK(session.gradients(sum(rows), {table}).value()[0].to_doubles() == Reals{1, 1, 0, 0, 3, 3});
  const Value image = session.input(array({1, 1, 2, 2}, {1, 2, 3, 4}));
  CHECK(max_pool2d(image, 2, 2).to_doubles() == Reals{4});
  CHECK(max_pool2d(image, 3, 2, 1).to_doubles() == Reals{4});
  CHECK(avg_pool2d(image, 2, 2).to_doubles() == Reals{2.5});
  CHECK(conv2d(image, session.input(array({1, 1, 1, 1}, {2})), Conv2d{.padding = 1}).shape() == Shape{1, 1, 4, 4});
  const Value normed = layer_norm(x, session.number(2), session.number(1), 0);
  check_near({sum(normed).item()}, {3});
  CHECK_FALSE(dropout(x, 1).ok());
  CHECK(session.failure()->code == "session.probability");
  session.clear();
  CHECK_FALSE(cross_entropy(session.input(array({1, 3}, {1, 2, 4})), session.input(whole({2}, {0, 0}))).ok());
  CHECK(session.failure()->code == "session.shape");
}

TEST_CASE("session: equal seeds give equal runs, in float32 too", "[session]") {
  const auto run = [](std::size_t threads) {
    Session session({.seed = 9, .threads = threads});
    const Value w = session.parameter("w", session.normal({16, 8})), c = session.parameter("c", session.uniform({16}, -1, 1));
    training::Adam adam(session, {w, c}, {});
    for (int step = 0; step < 3; ++step) {
      const Value x = session.input(session.normal({32, 8}));
      const auto bars = session.gradients(mean(square(dropout(tanh(linear(x, w, c)), 0.5))), {w, c}, {std::nullopt, false});
      REQUIRE(adam.step(bars.value()).ok());
      session.clear();
    }
    return w.to_doubles();
  };
  CHECK(run(1) == run(2));
}

TEST_CASE("session: a step and its gradients are captured as a graph", "[session]") {
  const auto step = [](Session& session, const Value& w, const Value& x, bool gradient) {
    const Value loss = sum(tanh(matmul(x, w)) * session.number(3));
    std::vector<Value> outputs{loss};
    if (gradient) outputs.push_back(session.gradients(loss, {w}).value()[0]);
    return outputs;
  };
  Session session({.dtype = DType::float64, .seed = 1});
  const Value w = session.parameter("w", session.normal({3, 2})), x = session.input(session.normal({4, 3}));
  const std::vector<Value> outputs = step(session, w, x, true);
  const Value inputs[] = {w, x};
  const Outcome<Graph> graph = session.capture(inputs, outputs);
  REQUIRE(graph.ok());
  CHECK(validate(graph.value()).empty());
  CHECK(graph.value().input_names == std::vector<std::string>{"w", "input 1"});
  CHECK(graph.value().node(graph.value().outputs[1]).shape == Shape{3, 2});

  Session other({.dtype = DType::float64, .seed = 2});
  const GraphModule module(other, graph.value());
  const std::vector<Value> point{other.input(other.normal({3, 2})), other.input(other.normal({4, 3}))};
  const auto found = module(point);
  REQUIRE(found.ok());
  const std::vector<Value> wanted = step(other, point[0], point[1], true);
  for (std::size_t k = 0; k < 2; ++k) CHECK(found.value()[k].to_doubles() == wanted[k].to_doubles());

  const Value one[] = {x}, twice[] = {x, x};
  const Value inner[] = {session.checkpoint([](std::span<const Value> v) { return exp(v[0]); }, {x})};
  CHECK(session.capture(one, inner).rejection().code == "session.capture");
  CHECK(session.capture(twice, outputs).rejection().code == "session.capture");
  REQUIRE(session.assign(w, session.normal({3, 2})).ok());
  CHECK(session.capture(one, outputs).rejection().code == "session.capture");
}

namespace {

// Checks that every operand is a value that was given or made before, with the bits that it had.
class Witness final : public Observer {
 public:
  void given(Ref value, const Array& array, std::string_view) override { known_[value] = array.to_tensor().to_doubles(); }
  void ran(Op op, const Attributes&, std::span<const Ref> operands, std::span<const Array* const> contents, Ref result,
           const Array& result_content, Role role) override {
    for (std::size_t i = 0; i < operands.size(); ++i) {
      broken_ += known_.count(operands[i]) == 0 || known_[operands[i]] != contents[i]->to_tensor().to_doubles() ? 1 : 0;
    }
    known_[result] = result_content.to_tensor().to_doubles();
    ops_.push_back({op, role});
  }
  void sent(Ref node, std::size_t operand, Ref cotangent) override {
    broken_ += known_.count(cotangent) == 0 ? 1 : 0;
    sent_.push_back({node, operand});
  }
  void forgotten(Ref first) override {
    std::erase_if(known_, [first](const auto& one) { return one.first >= first && one.first < (Ref{1} << 31); });
  }

  std::map<Ref, Reals> known_;
  std::vector<std::pair<Op, Role>> ops_;
  std::vector<std::pair<Ref, std::size_t>> sent_;
  std::size_t broken_ = 0;
};

}  // namespace

TEST_CASE("session: an observer sees an unbroken run", "[session]") {
  Session session(kDouble);
  Witness witness;
  session.set_observer(&witness);
  const Value w = session.parameter("w", array({2, 2}, {1, 2, 3, 4})), x = session.input(array({2, 2}, {1, 0, 2, 1}), "x");
  const auto block = [&](std::span<const Value> v) { return gelu(matmul(v[0], w)); };
  const Value h = session.checkpoint(block, {tanh(x)});
  const Value loss = sum(h * h);
  REQUIRE(session.gradients(loss, {w, x}, {std::nullopt, false}).ok());
  CHECK(witness.broken_ == 0);
  const auto count = [&](Op op, Role::Kind kind) {
    return std::ranges::count_if(witness.ops_, [&](const auto& one) { return one.first == op && one.second.kind == kind; });
  };
  CHECK(count(Op::gelu, Role::Kind::forward) == 2);
  CHECK(count(Op::gemm, Role::Kind::backward) == 2);
  CHECK(count(Op::add, Role::Kind::accumulate) == 1);  // h is both factors
  CHECK(witness.sent_.size() == 7);                    // sum 1, product 2, gelu 1, matmul 2, tanh 1
  for (const auto& [op, role] : witness.ops_) CHECK((role.kind == Role::Kind::forward) == (role.node == autodiff::kNone));
  session.clear();
  CHECK(witness.known_.count(x.ref()) == 0);
  CHECK(witness.known_.count(w.ref()) == 1);
}

}  // namespace assay::test
