// Float executions in tests: problems under a model, the errors of executions by a box, and the formulas of
// docs/explanation/float32.md.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "kernel/floats/named_models.h"
#include "kernel/inspect/inspect.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {

inline ExecutionModel model_named(const std::string& name) { return take(floats::semantics_named(name)); }
inline ExecutionModel plain() {
  ExecutionModel model = model_named("float32");
  model.bias_in_product = false;
  return model;
}

inline ProblemPointer open_under(const ExecutionModel& model, Graph graph, const std::vector<double>& lo, const std::vector<double>& hi,
                                 std::vector<Row> rows = {at_least(output(0), Rational(0))}, KernelOptions options = {}) {
  Statement s = stated(std::move(graph), {{box_of(rationals(lo), rationals(hi)), std::move(rows)}});
  s.semantics = model;
  return open(std::move(s), options);
}

// The half-width of the output's box at a point where the exact value is `exact`: the errors of executions and of double
// arithmetic, which are less than a thousandth of it.
inline Rational radius_at(const ExecutionModel& model, const Graph& graph, const std::vector<double>& x, const Rational& exact) {
  const ProblemPointer problem = open_under(model, graph, x, x);
  const Scope scope = boxed_root(problem);
  const Box& y = scope.box(problem->graph().outputs[0]);
  const Rational below = exact - exactly(y.lo[0]), above = exactly(y.hi[0]) - exact;
  CHECK(below.sign() >= 0);
  CHECK(above.sign() >= 0);
  return below < above ? above : below;
}
inline void check_radius(const Rational& found, const Rational& expected) {
  CAPTURE(found.to_string(), expected.to_string());
  CHECK(found >= expected);
  CHECK(found <= expected * Rational(1001, 1000));
}

// Of the boxes of all nodes, one after the other: the first refusal's code, "ok" where there is none.
inline std::string code_of_boxes(const ProblemPointer& problem) {
  Scope scope = take(Scope::root(problem, 0));
  for (const NodeId node : inspect::active_nodes(*problem)) {
    if (const auto done = scope.propagate_box(node); !done) return done.rejection().code;
  }
  return "ok";
}

inline const Rational kU(1, 1 << 24);
inline Rational gamma_of(std::int64_t k, const Rational& u = kU) { return Rational(k) * u / (Rational(1) - Rational(k) * u); }

inline Graph dot(std::size_t terms, double bias = 0) {
  Chain net(static_cast<std::int64_t>(terms), DType::float32);
  net.gemm(1, std::vector<double>(terms, 1), bias == 0 ? std::vector<double>() : std::vector<double>{bias});
  return net.output();
}

inline NodeId number(Chain& net, double value) { return net.graph.append_constant(tensor(DType::float32, {1, 1}, {value})); }

}  // namespace assay::test
