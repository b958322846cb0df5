// Complex functions and their gradients, and what sessions differentiate in other ways than by one reverse pass.
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/compiled_function.h"
#include "runtime/functions.h"
#include "tests/training/peer_cases.h"
#include "training/complex.h"
#include "training/layers/shapes.h"

namespace assay::test {

using namespace runtime;
using namespace training;

namespace {

Json json_of_pair(const Value& re, const Value& im) { return {{"real", json_of(re)}, {"imag", json_of(im)}}; }
Json json_of_pair(const Complex& z) { return json_of_pair(z.re, z.im); }

struct ComplexCases {
  Json result = Json::array();
  Session& session;

  Complex drawn(const Shape& shape) { return {session.input(session.normal(shape)), session.input(session.normal(shape))}; }

  // The value, and the gradients of the sum of its parts times weights.
  void add(const std::string& name, const std::vector<Complex>& operands, const Complex& value) {
    Json one{{"name", name}, {"dtype", std::string(to_string(session.options().dtype))}};
    const Complex weights = drawn(value.shape());
    const auto bars = session.gradients(sum(value.re * weights.re + value.im * weights.im), parts_of(operands));
    if (!bars) {
      one["failed"] = bars.rejection().to_text();
    } else {
      for (const Complex& operand : operands) one["operands"].push_back(json_of_pair(operand));
      one["weights"] = json_of_pair(weights);
      one["value"] = json_of_pair(value);
      for (std::size_t k = 0; k < operands.size(); ++k)
        one["gradients"].push_back(json_of_pair(bars.value()[2 * k], bars.value()[2 * k + 1]));
    }
    result.push_back(std::move(one));
  }
  // Real functions have no imaginary part.
  void add(const std::string& name, const std::vector<Complex>& operands, const Value& value) { add(name, operands, {value, value * 0.0}); }
};

}  // namespace

Json complex_cases() {
  Json result = Json::array();
  for (const DType dtype : {DType::float32, DType::float64}) {
    Session session({.dtype = dtype, .seed = 5});
    ComplexCases cases{.session = session};
    const Complex a = cases.drawn({3, 4}), b = cases.drawn({3, 4}), row = cases.drawn({4}), m = cases.drawn({4, 2});
    cases.add("add", {a, row}, a + row);
    cases.add("sub", {a, b}, a - b);
    cases.add("mul", {a, row}, a * row);
    cases.add("div", {a, b}, a / b);
    cases.add("neg", {a}, -a);
    cases.add("conj", {a}, conj(a));
    cases.add("exp", {a}, exp(a));
    cases.add("sin", {a}, sin(a));
    cases.add("cos", {a}, cos(a));
    cases.add("abs", {a}, abs(a));
    cases.add("abs", {a - a}, abs(a - a));  // all 0
    cases.add("abs_squared", {a}, abs_squared(a));
    cases.add("matmul", {a, m}, matmul(a, m));
    const Complex batch = cases.drawn({2, 3, 4}), bias = cases.drawn({3}), weight = cases.drawn({3, 4});
    cases.add("matmul", {batch, m}, matmul(batch, m));
    cases.add("linear", {a, weight, bias}, linear(a, weight, bias));
    for (const std::int64_t n : {1, 2, 12, 64, 128, 192, 512}) {
      const Complex z = cases.drawn({2, n});
      cases.add("fft", {z}, fft(z));
      cases.add("ifft", {z}, inverse_fft(z));
      const Complex filter = cases.drawn({n});
      cases.add("fft_filter", {z, filter}, inverse_fft(fft(z) * filter));
    }
    result.insert(result.end(), cases.result.begin(), cases.result.end());
  }
  return result;
}

// A network of two layers: its Hessian, its Jacobian-vector product eager and compiled, all cotangents, gradients by sample.
Json transform_cases() {
  Json result = Json::array();
  for (const DType dtype : {DType::float32, DType::float64}) {
    for (const Backend backend : {Backend::eager, Backend::compiled}) {
      Session session({.backend = backend, .dtype = dtype, .seed = 9});
      const Value w = session.parameter("w", session.normal({5, 3})), c = session.parameter("c", session.normal({5})),
                  u = session.parameter("u", session.normal({1, 5}));
      const Value x = session.input(session.normal({4, 3})), y = session.input(session.normal({4, 1}));
      const auto net = [&](const Value& in) { return matmul(tanh(linear(in, w, c)), permute(u, {1, 0})); };
      const auto loss = [&](std::span<const Value> v) { return mean(square(net(v[0]) - v[1])) + sum(exp(c)); };
      const std::vector<Value> of{w, c, u}, batch{x, y};
      Json one{{"dtype", std::string(to_string(dtype))}, {"backend", backend == Backend::eager ? "eager" : "compiled"}};
      for (const Value& value : {w, c, u, x, y}) one["values"].push_back(json_of(value));
      const auto hessian = session.hessian(loss(batch), of);
      const auto samples = session.per_sample_gradients(loss, batch, of);
      SessionFunction function(session, [&](std::span<const Value> v) -> Outcome<std::vector<Value>> { return std::vector{net(v[0])}; });
      std::vector<Tangent> tangents;
      for (const Value& value : {x, w, u}) tangents.push_back({value, session.input(session.normal(value.shape()))});
      const std::vector<Value> arguments{x};
      auto moved = function.jvp(arguments, tangents);
      if (moved.ok()) moved = function.jvp(arguments, tangents);  // the second time it is replayed
      const Value hidden = tanh(linear(x, w, c)), last = mean(square(matmul(hidden, permute(u, {1, 0})) - y));
      const auto all = session.all_gradients(last);
      if (!hessian || !samples || !moved || !all) {
        one["failed"] = session.failure() ? session.failure()->to_text() : "a transform";
      } else {
        for (const auto& row : hessian.value()) {
          for (const Value& block : row) one["hessian"].push_back(json_of(block));
        }
        for (const Value& value : samples.value()) one["samples"].push_back(json_of(value));
        for (const Tangent& tangent : tangents) one["tangents"].push_back(json_of(tangent.tangent));
        one["jvp"] = json_of(moved.value().tangents[0]);
        for (const Cotangent& bar : all.value()) {
          if (bar.value.ref() == hidden.ref()) one["hidden_bar"] = json_of(bar.bar);
          if (bar.value.ref() == x.ref()) one["x_bar"] = json_of(bar.bar);
        }
      }
      result.push_back(std::move(one));
    }
  }
  return result;
}

}  // namespace assay::test
