// Ops that run again and again as one program: the bits of the ops one by one, wherever their values and gradients are asked for.
#include "runtime/repeated.h"

#include <algorithm>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "runtime/recorder.h"
#include "tests/catch.h"
#include "tests/runtime/sessions.h"
#include "training/layers/recurrent.h"
#include "training/layers/shapes.h"
#include "training/model.h"
#include "training/optimise.h"

namespace assay::test {
namespace {

using namespace runtime;

bool same_bits(const Value& a, const Value& b) {
  const Tensor left = a.array().to_tensor(), right = b.array().to_tensor();
  return left.shape() == right.shape() && std::ranges::equal(left.bytes(), right.bytes());
}

// A cell whose gates are slices that lie apart, and one in which values are read twice: that one runs op by op.
std::vector<Value> cell(std::span<const Value> v) {
  const std::vector<Value> gates = training::split(v[0], 1, 2);
  const Value next = sigmoid(gates[0]) * v[1] + tanh(gates[1]);
  return {next, next * sigmoid(next)};
}
std::vector<Value> twice(std::span<const Value> v) {
  const std::vector<Value> gates = training::split(v[0], 1, 2);
  return {tanh(gates[0]) * v[1] + v[1], gates[1]};
}

struct Run {
  Value x, start, y;
};
template <class Cell>
Run run_of(Session& session, Cell& step, const Array& x, const Array& start) {
  Run run{session.input(x), session.input(start), {}};
  std::vector<Value> state{run.start, run.start};
  for (int k = 0; k < 4; ++k) state = step(std::vector<Value>{concat({state[1], run.x * state[0]}, 1), state[0]});
  run.y = state[1] + state[0];
  return run;
}

// The values of the tape that a program left out; reading them computes them.
std::size_t left_out(Session& session, const Value& loss) {
  const auto all = session.all_gradients(loss, {session.input(session.normal(loss.shape())), true});
  REQUIRE(all.ok());
  return static_cast<std::size_t>(std::ranges::count_if(all.value(), [](const Cotangent& one) {
    const auto& distant = one.value.array().distant();
    return distant != nullptr && distant->device == nullptr;
  }));
}

}  // namespace

TEST_CASE("repeated: values and gradients have the bits of the ops one by one", "[session]") {
  SessionOptions rounded{.seed = 5};
  rounded.bfloat16 = true;
  for (const auto function : {&cell, &twice}) {
    for (const SessionOptions& options : {SessionOptions{.seed = 5}, SessionOptions{.dtype = DType::float64, .seed = 5}, rounded}) {
      Session session(options);
      Repeated together(session, function);
      const Array x = session.normal({6, 3}), start = session.normal({6, 3});
      for (int round = 0; round < 4; ++round) {  // ops, a program that gives all values, one that gives what is read
        CAPTURE(round);
        const Run found = run_of(session, together, x, start), wanted = run_of(session, *function, x, start);
        CHECK(same_bits(found.y, wanted.y));
        const Value cotangent = session.input(session.normal(found.y.shape()));
        const auto by_programs = session.gradients(found.y, {found.x, found.start}, {cotangent, false});
        const auto by_ops = session.gradients(found.y, {found.x, found.start}, {cotangent, true});  // reads what was not kept
        const auto plainly = session.gradients(wanted.y, {wanted.x, wanted.start}, {cotangent, false});
        REQUIRE(by_programs.ok());
        REQUIRE(by_ops.ok());
        REQUIRE(plainly.ok());
        for (std::size_t k = 0; k < 2; ++k) {
          CHECK(same_bits(by_programs.value()[k], by_ops.value()[k]));
          CHECK(same_bits(by_programs.value()[k], plainly.value()[k]));
        }
        // Both results have one cotangent, which keeps no program from being made.
        CHECK((left_out(session, found.y) > 0) == (function == &cell && !options.bfloat16 && round > 0));
        session.clear();
      }
    }
  }
}

TEST_CASE("repeated: all cotangents, tangents and captured graphs see every op", "[session]") {
  Session session({.dtype = DType::float64, .seed = 6});
  Repeated together(session, &cell);
  const Array x = session.normal({6, 3}), start = session.normal({6, 3});
  std::vector<std::size_t> counts;
  std::vector<Reals> moved;
  for (int round = 0; round < 3; ++round) {
    const Run run = run_of(session, together, x, start);
    const Value loss = sum(run.y);
    const auto one = session.gradients(loss, {run.x}, {std::nullopt, false});
    REQUIRE(one.ok());
    const auto all = session.all_gradients(loss);
    REQUIRE(all.ok());
    counts.push_back(all.value().size());
    const auto tangent = session.jvp(loss, std::span(&run.x, 1), std::span(&one.value()[0], 1));
    REQUIRE(tangent.ok());
    moved.push_back(tangent.value().to_doubles());
    const auto graph = session.capture(std::span(&run.x, 1), std::span(&loss, 1));
    REQUIRE(graph.ok());
    session.clear();
  }
  for (std::size_t k = 1; k < counts.size(); ++k) {
    CHECK(counts[k] == counts[0]);
    CHECK(moved[k] == moved[0]);
  }
}

TEST_CASE("repeated: recurrent layers train to the same bits eagerly and compiled", "[session]") {
  for (const auto kind : {training::Recurrent::Cell::rnn, training::Recurrent::Cell::gru, training::Recurrent::Cell::lstm}) {
    CAPTURE(static_cast<int>(kind));
    std::vector<std::vector<Reals>> seen;
    for (const auto& [backend, threads] : std::vector<std::pair<Backend, std::size_t>>{
             {Backend::eager, 2}, {Backend::compiled, 2}, {Backend::eager, 1}, {Backend::compiled, 1}, {Backend::eager, 3}}) {
      Session session({.backend = backend, .seed = 7, .threads = threads});
      training::Model model(session);
      const training::Recurrent layer(model / "r", kind, 12, 16, 2);
      SessionFunction step(session, [&, backend = backend](std::span<const Value> v) -> Results {
        return session.gradients(mean(square(layer(v[0]).outputs)), model.parameters(), {std::nullopt, backend == Backend::compiled});
      });
      training::Sgd sgd(session, model.parameters(), {.rate = 0.5});
      std::vector<Reals>& values = seen.emplace_back();
      for (int round = 0; round < 4; ++round) {
        const std::vector<Value> batch{session.input(session.normal({8, 6, 12}))};
        const Results bars = step(batch);
        REQUIRE(bars.ok());
        for (const Value& bar : bars.value()) values.push_back(bar.to_doubles());
        REQUIRE(sgd.step(bars.value()).ok());
        session.clear();
      }
    }
    for (const std::vector<Reals>& other : seen) CHECK(other == seen[0]);
  }
}

TEST_CASE("repeated: values of other types, values given twice and a second parameter find programs of their own", "[session]") {
  Session session({.seed = 9});
  const auto one = [](std::span<const Value> v) { return std::vector<Value>{tanh(sigmoid(v[0]) + v[1])}; };
  Repeated together(session, one);
  const auto drawn = [&](const Shape& shape, DType dtype) {
    Session other({.dtype = dtype, .seed = session.keys_drawn()});
    (void)session.next_key();
    return session.input(other.normal(shape));
  };
  const auto same = [&](const std::vector<Value>& values) {
    const Value found = together(values)[0], wanted = one(values)[0];
    const Value cotangent = drawn(wanted.shape(), wanted.dtype());
    CHECK(same_bits(found, wanted));
    for (const std::vector<Value>& of : {values, std::vector<Value>{values[1]}}) {
      const auto by_programs = session.gradients(found, of, {cotangent, false}), by_ops = session.gradients(wanted, of, {cotangent, false});
      REQUIRE(by_programs.ok());
      REQUIRE(by_ops.ok());
      for (std::size_t k = 0; k < of.size(); ++k) CHECK(same_bits(by_programs.value()[k], by_ops.value()[k]));
    }
  };
  const Value w = session.parameter("w", session.normal({3, 4})), fixed = session.parameter("fixed", session.normal({3, 4}));
  for (int round = 0; round < 3; ++round) {
    const Value x = drawn({3, 4}, DType::float32), y = drawn({3, 4}, DType::float32);
    same({x, x});  // the first call as well: it says nothing of two values
    same({x, y});
    if (round == 2) CHECK(left_out(session, together(std::vector<Value>{x, y})[0]) == 1);  // the sum
    same({x, w});
    same({drawn({5, 4}, DType::float32), drawn({5, 4}, DType::float32)});
    same({drawn({3, 4}, DType::float64), drawn({3, 4}, DType::float64)});
    {
      const NoGrad unrecorded(session);
      CHECK(same_bits(together(std::vector<Value>{x, y})[0], one(std::vector<Value>{x, y})[0]));
    }
    session.clear();
  }
  // Not required, and then required again.
  for (const bool wanted : {true, false, true}) {
    REQUIRE(session.set_requires_grad(fixed, wanted).ok());
    const Value found = together(std::vector<Value>{w, fixed})[0];
    CHECK(session.all_gradients(sum(found), {}).value().size() == (wanted ? 2U : 1U) + 4U);
    CHECK(session.gradients(sum(found), {fixed}, {std::nullopt, false}).ok() == wanted);
    session.clear();
  }
  // A value that was assigned since is refused, as it is op by op.
  const Value found = together(std::vector<Value>{w, fixed})[0];
  REQUIRE(session.assign(w, session.normal({3, 4})).ok());
  const auto late = session.gradients(sum(found), {w}, {std::nullopt, false});
  REQUIRE_FALSE(late.ok());
  CHECK(late.rejection().code == "session.changed");
}

TEST_CASE("repeated: what was left out can be given to the same ops, and as a cotangent", "[session]") {
  Session session({.seed = 10});
  Repeated together(session, &cell);
  const Array x = session.normal({6, 6}), start = session.normal({6, 3});
  for (int round = 0; round < 3; ++round) {
    const std::vector<Value> values{session.input(x), session.input(start)};
    const Value y = together(values)[0], wanted = cell(values)[0];
    const Value cotangent = session.input(session.normal(y.shape()));
    REQUIRE(session.gradients(y, values, {cotangent, false}).ok());
    const auto inner = session.all_gradients(y, {cotangent, true}), plainly = session.all_gradients(wanted, {cotangent, true});
    REQUIRE(inner.ok());
    REQUIRE(plainly.ok());
    for (std::size_t k = 0; k < inner.value().size(); ++k) {
      const Value left = inner.value()[k].value, computed = plainly.value()[k].value;
      if (left.shape() != y.shape()) continue;
      const std::vector<Value> next{values[0], left}, after{values[0], computed};
      const Value found = together(next)[0], right = cell(after)[0];
      CHECK(same_bits(found, right));
      const auto sent = session.gradients(found, {values[0]}, {left, false}),
                 sent_by_ops = session.gradients(right, {values[0]}, {computed, false});
      REQUIRE(sent.ok());
      REQUIRE(sent_by_ops.ok());
      CHECK(same_bits(sent.value()[0], sent_by_ops.value()[0]));
    }
    session.clear();
  }
}

TEST_CASE("repeated: programs are few, and arrays are held by nobody", "[session]") {
  Session session({.seed = 11});
  Repeated together(session, &cell);
  std::vector<std::weak_ptr<void>> given;
  for (std::int64_t rows = 1; rows < 200; ++rows) {
    for (int round = 0; round < 3; ++round) {
      const std::vector<Value> values{session.input(session.normal({rows, 6})), session.input(session.normal({rows, 3}))};
      for (const Value& value : values) given.push_back(value.array().buffer());
      const std::vector<Value> results = together(values);
      REQUIRE(session.gradients(results[0] * results[1], values, {session.input(session.normal({rows, 3})), false}).ok());
      given.push_back(results[0].array().buffer());
      session.clear();
    }
  }
  CHECK(std::ranges::all_of(given, [](const auto& one) { return one.expired(); }));
}

TEST_CASE("repeated: who records sees the ops, whatever ran before", "[session]") {
  std::vector<Trace> traces;
  for (const bool repeats : {false, true}) {
    Session session({.seed = 12});
    Repeated together(session, &cell);
    const Array x = session.normal({6, 3}), start = session.normal({6, 3});
    const auto step = [&] {
      const Run run = repeats ? run_of(session, together, x, start) : run_of(session, cell, x, start);
      return session.gradients(sum(run.y), {run.x, run.start}, {std::nullopt, false}).ok();
    };
    for (int round = 0; round < 3; ++round) {
      REQUIRE(step());
      session.clear();
    }
    Recorder recorder(session);
    REQUIRE(step());
    traces.push_back(recorder.take());
  }
  REQUIRE(traces[0].regions.size() == traces[1].regions.size());
  REQUIRE(traces[0].tensors.size() == traces[1].tensors.size());
  CHECK(traces[0].vjps.size() == traces[1].vjps.size());
  for (std::size_t r = 0; r < traces[0].regions.size(); ++r) {
    const Region &a = traces[0].regions[r], &b = traces[1].regions[r];
    CHECK(a.name == b.name);
    CHECK(canonical_bytes(a.graph) == canonical_bytes(b.graph));
    CHECK(a.operands == b.operands);
    CHECK(a.results == b.results);
  }
  for (std::size_t t = 0; t < traces[0].tensors.size(); ++t)
    CHECK(std::ranges::equal(traces[0].tensors[t].value.bytes(), traces[1].tensors[t].value.bytes()));
}

TEST_CASE("repeated: what a function does beside its ops is done at each call", "[session]") {
  Session session({.seed = 5});
  Repeated together(session, [&](std::span<const Value> v) {
    const Value a = tanh(v[0]) * v[1];
    session.name(a, "inner");
    session.on_gradient(a, [&](const Value& bar) { return bar * session.number(0.5); });
    return std::vector<Value>{sigmoid(a)};
  });
  const Array x = session.normal({2, 2}), y = session.normal({2, 2});
  std::vector<Reals> gradients;
  for (int call = 0; call < 3; ++call) {
    const std::vector<Value> values{session.input(x), session.input(y)};
    const auto bars = session.gradients(sum(together(values)[0]), values, {std::nullopt, false});
    REQUIRE(bars.ok());
    gradients.push_back(bars.value()[0].to_doubles());
    CHECK(session.find("inner").has_value());
    session.clear();
  }
  CHECK(gradients[1] == gradients[0]);
  CHECK(gradients[2] == gradients[0]);
}

TEST_CASE("repeated: another shape of a value that was left out is readable, by several threads", "[session]") {
  Session session({.seed = 2});
  Repeated first(session, [](std::span<const Value> v) { return std::vector<Value>{sigmoid(tanh(v[0]) + v[1])}; });
  Repeated second(session, [](std::span<const Value> v) { return std::vector<Value>{sigmoid(tanh(reshape(v[0], {3, 8}))) * v[1]}; });
  const Array x = session.normal({6, 4}), y = session.normal({6, 4}), z = session.normal({3, 8});
  const std::vector<Array> rest{y, z};
  for (int call = 0; call < 4; ++call) {
    session.clear();
    const std::vector<Value> values{session.input(x), session.input(rest[0])};
    const Value result = first(values)[0];
    REQUIRE(session.gradients(sum(result), values, {std::nullopt, false}).ok());
    const auto inside = session.all_gradients(sum(result), {});
    REQUIRE(inside.ok());
    const auto is_left_out = [](const auto& one) {
      return one.value.array().distant() != nullptr && one.value.array().distant()->device == nullptr && one.value.shape() == Shape{6, 4};
    };
    const auto left_out = std::ranges::find_if(inside.value(), is_left_out);
    const bool is_program = left_out != inside.value().end();
    CHECK((is_program || call < 3));
    const std::vector<Value> others{is_program ? left_out->value : result, session.input(rest[1])};
    const Value other = second(others)[0];
    REQUIRE(session.gradients(sum(other), others, {std::nullopt, false}).ok());
    const auto all = session.all_gradients(sum(other), {});
    REQUIRE(all.ok());
    {
      std::vector<std::jthread> threads;
      for (const auto& one : all.value()) {
        for (int thread = 0; thread < 2; ++thread) threads.emplace_back([array = one.value.array()] { (void)array.fetch(); });
      }
    }
    for (const auto& one : all.value()) CHECK_NOTHROW(one.value.array().to_tensor());
    CHECK(same_bits(other, sigmoid(tanh(reshape(others[0], {3, 8}))) * others[1]));
  }
}

TEST_CASE("compiled: slices that one pass takes and another does not are shown, and stay where they are", "[session]") {
  for (const bool turned : {false, true}) {
    Session session({.seed = 1});
    const auto function = [&](std::span<const Value> v) -> Outcome<std::vector<Value>> {
      SliceAttributes part;
      part.starts = {0, 0};
      part.extents = {300, 20};
      part.steps = {1, 1};
      const Value a = session.apply(Op::slice, {v[0]}, part);
      const Value taken = tanh(a) * sigmoid(a), apart = sigmoid(tanh(a + v[1]) * v[1]);  // the latter in lines of 20 beside one
      return turned ? std::vector<Value>{apart, taken} : std::vector<Value>{taken, apart};
    };
    CompiledFunction compiled(session, function, {});
    const std::vector<Value> values{session.input(session.normal({300, 40})), session.input(session.normal({1, 20}))};
    const auto expected = function(values);
    for (const bool records : {false, true, false}) {
      std::optional<Recorder> recorder;
      if (records) recorder.emplace(session);
      const auto results = compiled(values);
      REQUIRE(results.ok());
      for (std::size_t k = 0; k < 2; ++k) CHECK(same_bits(results.value()[k], expected.value()[k]));
    }
  }
}

TEST_CASE("an optimiser writes a parameter in place only where nobody else holds it", "[session]") {
  Session session({.dtype = DType::float64, .seed = 8});
  const Value w = session.parameter("w", array({3}, {1, 2, 3}));
  training::Sgd sgd(session, {w}, {.rate = 1});
  const Value bar = session.input(array({3}, {1, 1, 1}));
  const Array before = w.array();
  REQUIRE(sgd.step(std::span(&bar, 1)).ok());
  CHECK(before.to_tensor().to_doubles() == Reals{1, 2, 3});  // given from outside
  const auto place = w.array().buffer().lock().get();
  REQUIRE(sgd.step(std::span(&bar, 1)).ok());
  CHECK(w.array().buffer().lock().get() == place);  // its own
  const Array held = w.array();
  const Value shown = reshape(w, {3, 1});
  REQUIRE(sgd.step(std::span(&bar, 1)).ok());
  CHECK(held.to_tensor().to_doubles() == Reals{-1, 0, 1});
  CHECK(shown.to_doubles() == Reals{-1, 0, 1});
  CHECK(w.to_doubles() == Reals{-2, -1, 0});
}

}  // namespace assay::test
