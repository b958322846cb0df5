// Small graphs, properties and points that the tests of the kernel share.
#pragma once

#include <cmath>
#include <initializer_list>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernel/inspect/inspect.h"
#include "tests/catch.h"

namespace assay::test {

using inspect::Selection;
using logic::CaseMultipliers;
using logic::Claims;
using logic::Hints;
using logic::KernelOptions;
using logic::Literal;
using logic::Problem;
using logic::Refutation;
using logic::Scope;
using logic::Theorem;
using logic::Witness;
using relax::Box;
using statement::Row;
using statement::Statement;
using statement::Term;
using statement::Variable;

using ProblemPointer = std::shared_ptr<const Problem>;
using Rationals = std::vector<Rational>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

inline double above(double x) { return std::nextafter(x, kInfinity); }
inline double below(double x) { return std::nextafter(x, -kInfinity); }
inline Rational exactly(double x) { return *Rational::from_double(x); }

inline Tensor tensor(Shape shape, const std::vector<double>& values) { return Tensor::of_doubles(std::move(shape), values); }
inline Tensor column(const std::vector<double>& values) { return tensor({static_cast<std::int64_t>(values.size())}, values); }

inline Tensor tensor(DType dtype, Shape shape, const std::vector<double>& values) {
  if (dtype == DType::float64) return tensor(std::move(shape), values);
  return Tensor::of_floats(std::move(shape), std::vector<float>(values.begin(), values.end()));
}

// One input [1, width] of doubles, or of floats, and a chain of nodes on it; `last` is the node appended last.
struct Chain {
  Graph graph;
  NodeId last = 0;
  DType dtype = DType::float64;

  explicit Chain(std::int64_t width, DType of = DType::float64) : dtype(of) { last = graph.append_input(of, {1, width}, "x"); }
  NodeId then(Op op, Attributes attributes = NoAttributes{}) { return place(graph.append(op, {last}, std::move(attributes), name(op))); }
  NodeId then(Op op, NodeId other) { return place(graph.append(op, {last, other}, NoAttributes{}, name(op))); }
  // last * w^T + bias, w stored [rows, columns]; bias may be empty.
  NodeId gemm(std::int64_t rows, const std::vector<double>& w, const std::vector<double>& bias = {}) {
    const std::int64_t columns = graph.node(last).shape[1];
    std::vector<NodeId> operands{last, graph.append_constant(tensor(dtype, {rows, columns}, w))};
    if (!bias.empty()) operands.push_back(graph.append_constant(tensor(dtype, {rows}, bias)));
    return place(graph.append(Op::gemm, operands, GemmAttributes{1, 1, false, true}, name(Op::gemm)));
  }
  Graph output() {
    graph.mark_output(last, "y");
    return graph;
  }

 private:
  [[nodiscard]] std::string name(Op op) const { return std::string(op_row(op).name) + std::to_string(graph.nodes.size()); }
  NodeId place(const Outcome<NodeId>& node) {
    if (!node) FAIL(node.rejection().to_text());
    return last = node.value();
  }
};

inline Variable input(std::uint64_t element) { return {Variable::Side::input, 0, element}; }
inline Variable output(std::uint64_t element) { return {Variable::Side::output, 0, element}; }

// sum of the terms <= bound (or < bound)
inline Row row(std::vector<Term> terms, Rational bound, bool strict = false) { return {std::move(terms), std::move(bound), strict}; }
inline Row at_most(Variable v, Rational bound, bool strict = false) { return row({{Rational(1), v}}, std::move(bound), strict); }
inline Row at_least(Variable v, const Rational& bound, bool strict = false) { return row({{Rational(-1), v}}, -bound, strict); }

inline std::shared_ptr<const statement::InputBox> box_of(Rationals lo, Rationals hi) {
  return std::make_shared<const statement::InputBox>(statement::InputBox{std::move(lo), std::move(hi)});
}
inline Rationals rationals(const std::vector<double>& values) {
  Rationals result;
  for (const double v : values) result.push_back(exactly(v));
  return result;
}

inline Statement stated(Graph graph, std::vector<statement::Case> cases) {
  Statement s;
  s.graph = std::move(graph);
  s.property.cases = std::move(cases);
  return s;
}

inline Rejection::Kind kind_of(const Rejection& r) { return r.kind; }
template <class T>
std::string code_of(const Outcome<T>& outcome) {
  return outcome.ok() ? "accepted" : outcome.rejection().code;
}
// The value, or the test fails with the reason.
template <class T>
T take(Outcome<T> outcome) {
  if (!outcome) FAIL(outcome.rejection().to_text());
  return std::move(outcome).value();
}

inline ProblemPointer open(Statement s, KernelOptions options = {}) { return take(Problem::open(std::move(s), options)); }
// One box, one case.
inline ProblemPointer open(Graph graph, const std::vector<double>& lo, const std::vector<double>& hi, std::vector<Row> rows,
                           KernelOptions options = {}) {
  return open(stated(std::move(graph), {{box_of(rationals(lo), rationals(hi)), std::move(rows)}}), options);
}
inline Scope root(const ProblemPointer& problem, std::size_t group = 0) { return take(Scope::root(problem, group)); }

// Boxes of all nodes in order.
inline void derive_all(Scope& scope, const Problem& problem) {
  for (NodeId node = 0; node < problem.graph().nodes.size(); ++node) {
    const auto done = scope.propagate_box(node);
    if (!done) FAIL(done.rejection().to_text());
  }
}
inline Scope boxed_root(const ProblemPointer& problem, std::size_t group = 0) {
  Scope scope = root(problem, group);
  derive_all(scope, *problem);
  return scope;
}

// Conclude the single case at position 0.
inline Outcome<Refutation> conclude(const Scope& scope, const Hints& hints = {}, std::vector<float> multipliers = {}) {
  const std::vector<CaseMultipliers> cases{{0, std::move(multipliers)}};
  return scope.conclude(cases, hints);
}

inline Scope assumed(Scope scope, const Literal& literal) {
  const auto done = scope.assume(literal);
  if (!done) FAIL(done.rejection().to_text());
  return scope;
}

}  // namespace assay::test
