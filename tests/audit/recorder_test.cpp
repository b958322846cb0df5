// The recording of a runtime session is one run, keeps its contracts, and has right gradients.
#include "runtime/recorder.h"
#include "runtime/functions.h"
#include "tests/audit/judged.h"

using namespace assay;
using namespace assay::runtime;
using test::Judged;
using test::judged;

namespace {

// The trace of a loss of some parameters, with its gradients.
template <class Make>
Trace recorded(Session& session, const Make& make) {
  Recorder recorder(session);
  std::vector<Value> parameters;
  const Value loss = make(parameters);
  const auto bars = recorder.gradients(loss, parameters);
  if (!bars) FAIL(bars.rejection().to_text());
  recorder.output(loss);
  return recorder.take();
}

}  // namespace

TEST_CASE("recorder: a multilayer perceptron", "[recorder]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Session session({Backend::eager, dtype, 3, 1});
    const Trace trace = recorded(session, [&](std::vector<Value>& p) {
      for (const auto& [name, shape] : std::vector<std::pair<std::string, Shape>>{{"w1", {8, 6}}, {"b1", {8}}, {"w2", {3, 8}}, {"b2", {3}}})
        p.push_back(session.parameter(name, session.normal(shape)));
      const Value x = session.input(session.normal({5, 6}), "x"), target = session.input(session.uniform({5, 3}), "target");
      const Value h = tanh(linear(x, p[0], p[1]));
      return mean(square(linear(h + relu(h), p[2], p[3]) - target));
    });
    const Judged result = judged(trace);
    CHECK(result.failures == std::vector<std::string>{});
    CHECK(result.vacuous + result.unsupported == 0);
    CHECK(trace.gradients.front().of.size() == 4);
    CHECK(trace.tensors[trace.gradients.front().of[0].first].name == "w1");
  }
}

TEST_CASE("recorder: a residual block of convolutions with pooling and normalisation", "[recorder]") {
  Session session({Backend::eager, DType::float32, 4, 2});
  const Trace trace = recorded(session, [&](std::vector<Value>& p) {
    p.push_back(session.parameter("k1", session.normal({4, 2, 3, 3})));
    p.push_back(session.parameter("k2", session.normal({4, 4, 3, 3})));
    p.push_back(session.parameter("scale", session.normal({3})));
    p.push_back(session.parameter("shift", session.normal({3})));
    const Value x = session.input(session.normal({2, 2, 6, 6}), "x");
    const Value h = relu(conv2d(x, p[0], {.padding = 1}));
    const Value block = max_pool2d(h + conv2d(h, p[1], {.padding = 1}), 2, 2);
    return mean(square(layer_norm(block, p[2], p[3])));
  });
  const Judged result = judged(trace);
  CHECK(result.failures == std::vector<std::string>{});
  CHECK(result.unsupported == 0);
  CHECK(static_cast<double>(result.vacuous) <= 0.01 * static_cast<double>(result.passed));
}

TEST_CASE("recorder: attention, dropout and an embedding", "[recorder]") {
  Session session({Backend::eager, DType::float32, 5, 2});
  const Trace trace = recorded(session, [&](std::vector<Value>& p) {
    p.push_back(session.parameter("table", session.normal({7, 4})));
    p.push_back(session.parameter("q", session.normal({4, 4})));
    p.push_back(session.parameter("k", session.normal({4, 4})));
    const Value words = session.input(Tensor::of_ints({5}, std::vector<std::int64_t>{3, 0, 6, 3, 1}), "words");
    const Value x = embedding(words, p[0]);
    const Value scores = matmul(matmul(x, p[1]), permute(matmul(x, p[2]), {1, 0})) * 0.5;
    return sum(square(matmul(dropout(softmax(scores, 1), 0.25), x)));
  });
  const Judged result = judged(trace);
  CHECK(result.failures == std::vector<std::string>{});
  CHECK(static_cast<double>(result.vacuous) <= 0.01 * static_cast<double>(result.passed));
}

TEST_CASE("recorder: at kinks the runtime gives a derivative, and PyTorch's", "[recorder]") {
  const std::pair<Op, Attributes> cases[] = {{Op::abs, NoAttributes{}},
                                             {Op::max, NoAttributes{}},
                                             {Op::relu, NoAttributes{}},
                                             {Op::leaky_relu, LeakyReluAttributes{0.25}},
                                             {Op::clip, ClipAttributes{0, 1}},
                                             {Op::elu, ActivationAttributes{2, 0}},
                                             {Op::hard_sigmoid, ActivationAttributes{0.25, 1}},
                                             {Op::hard_swish, NoAttributes{}},
                                             {Op::max_pool, WindowAttributes{{2}, {1}, {1}, {0}, {0}, {}, 1, false, false}},
                                             {Op::reduce_max, ReduceAttributes{{2}, true}}};
  for (const auto& [op, attributes] : cases) {
    INFO(op_row(op).name);
    Session session({Backend::eager, DType::float32, 6, 1});
    const Trace trace = recorded(session, [&, op = op, attributes = attributes](std::vector<Value>& p) {
      p.push_back(session.parameter("x", runtime::Array::from(Tensor::of_floats({1, 1, 4}, std::vector<float>{0, -4, 2, 2}))));
      std::vector<Value> operands = {p[0]};
      if (op == Op::max)
        operands.push_back(session.input(runtime::Array::from(Tensor::of_floats({1, 1, 4}, std::vector<float>{0, 0, 0, 2})), "others"));
      return sum(session.apply(op, operands, attributes));
    });
    CHECK(judged(trace).failures == std::vector<std::string>{});
    for (const audit::GradientStep& step : audit::check_gradient(trace, 0, 5, audit::KinkConvention::pytorch))
      CHECK((step.failure ? step.failure->to_text() : "") == "");
  }
}

TEST_CASE("recorder: gradients whose rules have constants that are no float", "[recorder]") {
  for (const DType dtype : {DType::float32, DType::float64}) {
    Session session({Backend::eager, dtype, 8, 1});
    const Value before = session.input(session.normal({3}), "before");
    REQUIRE(session.gradients(sum(gelu(before)), {before}));  // the session has its constants before anybody looks
    const Trace trace = recorded(session, [&](std::vector<Value>& p) {
      p.push_back(session.parameter("w", session.normal({6})));
      return sum(gelu(p[0]) + silu(p[0]) * softplus(p[0]) + session.apply(Op::erf, {p[0]}));
    });
    CHECK(judged(trace).failures == std::vector<std::string>{});
  }
}

TEST_CASE("recorder: two gradients of one run, and a detached value", "[recorder]") {
  Session session({Backend::eager, DType::float32, 6, 1});
  Recorder recorder(session);
  const Value w = session.parameter("w", session.normal({4}));
  const Value x = session.input(session.normal({4}), "x");
  const Value a = sum(exp(w * x)), b = sum(session.detach(w) * square(w));
  for (const Value& loss : {a, b}) REQUIRE(recorder.gradients(loss, std::span(&w, 1)));
  recorder.output(a);
  recorder.output(b);
  const Trace trace = recorder.take();
  CHECK(trace.gradients.size() == 2);
  CHECK(judged(trace).failures == std::vector<std::string>{});
}

TEST_CASE("recorder: written and read, the trace of a session is judged the same", "[recorder]") {
  Session session({Backend::eager, DType::float32, 7, 1});
  const Trace trace = recorded(session, [&](std::vector<Value>& p) {
    p.push_back(session.parameter("w", session.normal({3, 3})));
    return sum(sigmoid(matmul(p[0], p[0])));
  });
  const auto again = formats::read_trace(test::file_of(trace));
  if (!again) FAIL(again.rejection().to_text());
  CHECK(judged(again.value()).failures == std::vector<std::string>{});
  CHECK(judged(again.value()).passed == judged(trace).passed);
}

TEST_CASE("recorder: gradients of all values at once are claimed, and right", "[recorder]") {
  Session session({Backend::eager, DType::float64, 3, 1});
  Recorder recorder(session);
  const Value w = session.parameter("w", session.normal({4, 3})), c = session.parameter("c", session.normal({4}));
  REQUIRE(session.set_requires_grad(c, false).ok());
  const Value x = session.input(session.normal({5, 3}), "x");
  const Value h = tanh(linear(x, w, c)), loss = mean(h * h + exp(h));
  const auto all = session.all_gradients(loss);
  REQUIRE(all.ok());
  recorder.output(loss);
  for (const Cotangent& one : all.value()) recorder.output(one.bar);
  const Trace trace = recorder.take();
  const Judged result = judged(trace);
  CHECK(result.failures == std::vector<std::string>{});
  REQUIRE(trace.gradients.size() == 1);
  CHECK(trace.gradients[0].of.size() == all.value().size());
  CHECK(all.value().size() >= 6);
}
