// True and false statements about small networks, with certificates of the true ones: what the fuzz tests bend.
#pragma once

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "search/search.h"
#include "tests/certificates/format/problems.h"
#include "tests/fuzz/fuzz.h"
#include "tests/search/graphs.h"

namespace assay::fuzz {

using namespace assay::test;
using logic::Problem;

// A false statement, with a point that shows it and the header of a certificate for it.
struct Refuted {
  std::shared_ptr<const Problem> problem;
  std::string header;
};

// One network over [-1, 1]^n, its greatest first output found, and statements about it.
struct Subject {
  std::shared_ptr<const Problem> holds;  // nothing reaches y >= a little more than the bound
  std::vector<Parts> proofs;             // of `holds`
  // A little less than what a point gives in both cases, in one, in the other; and the bound of `holds` over a larger box, where a point
  // goes beyond it.
  std::vector<Refuted> fails;
};

// Over [-half, half]^n: case 0 is y >= first, case 1 is y >= second with a row that this implies, so that there are multipliers.
inline std::shared_ptr<const Problem> statement(const Graph& graph, double first, double second, double half = 1) {
  const Rational a = *Rational::from_double(first), b = *Rational::from_double(second), end = *Rational::from_double(half);
  const std::size_t inputs = graph.size(graph.inputs[0]);
  std::vector<statement::Case> cases{
      search_test::make_case(inputs, -end, end, {search_test::output_row({{0, -1}}, -a)}),
      search_test::make_case(inputs, -end, end,
                             {search_test::output_row({{0, -1}}, -b), search_test::output_row({{0, -2}}, Rational(-2) * b + 1)})};
  cases[1].box = cases[0].box;
  auto problem = Problem::open({graph, {cases}, ExecutionModel{}, {}});
  if (!problem) FAIL(problem.rejection().to_text());
  return problem.value();
}

inline std::string file_of(const std::shared_ptr<const Problem>& problem, search::Options::Branching branching, bool attack) {
  const TemporaryFile file;
  auto writer = certificate::Writer::open(file.path(), *problem);
  REQUIRE(writer.ok());
  search::Options options;
  options.threads = 1;
  options.deadline = search::Deadline::in(20);
  options.branching = branching;
  options.attack = attack;
  auto result = search::search(problem, options, writer.value().get());
  REQUIRE(result.ok());
  if (!result.value().theorem || result.value().theorem->kind() != logic::Theorem::Kind::unsatisfiable) return {};
  writer.value().reset();
  return file.bytes();
}

// The greatest y at corners and random points of [-half, half]^n: a lower bound of the maximum.
inline double reached(const Graph& graph, double half = 1) {
  Random random(3);
  double most = -1e30;
  for (int trial = 0; trial < 200; ++trial) {
    Array<double> x{graph.node(graph.inputs[0]).shape, {}};
    for (std::size_t i = 0; i < graph.size(graph.inputs[0]); ++i)
      x.values.push_back(half * (trial % 2 == 0 ? (random() % 2 == 0 ? 1.0 : -1.0) : static_cast<double>(random() % 2001) / 1000 - 1));
    const auto values = evaluate<double>(graph, std::vector{x});
    REQUIRE(values.ok());
    most = std::max(most, values.value()[graph.outputs[0]].values[0]);
  }
  return most;
}

inline Refuted refuted(std::shared_ptr<const Problem> problem) {
  const TemporaryFile file;
  {
    auto writer = certificate::Writer::open(file.path(), *problem);
    REQUIRE(writer.ok());
    REQUIRE(writer.value()->finish().ok());
  }
  const std::string empty = file.bytes();
  return {std::move(problem), empty.substr(0, 5 + 1 + 32 + 1 + static_cast<std::uint8_t>(empty.at(38)) + 4)};
}

inline Subject subject(const Graph& graph) {
  using Branching = search::Options::Branching;
  Subject result;
  const double most = reached(graph);
  double bound = most;
  for (const double margin : {0.05, 0.2, 1.0, 4.0}) {
    bound = most + margin;
    result.holds = statement(graph, bound, bound);
    for (const Branching branching : {Branching::input, Branching::relu}) {
      const std::string proof = file_of(result.holds, branching, false);
      if (!proof.empty()) result.proofs.push_back(Parts::of(proof));
    }
    if (!result.proofs.empty()) break;
  }
  REQUIRE(!result.proofs.empty());
  const double below = most - 0x1p-20;
  result.fails = {refuted(statement(graph, below, below)), refuted(statement(graph, below, bound)),
                  refuted(statement(graph, bound, below))};
  for (double half = 1.125; half < 200; half *= 1.25) {
    if (!(reached(graph, half) > bound + 0x1p-20)) continue;
    result.fails.push_back(refuted(statement(graph, bound, bound, half)));
    break;
  }
  return result;
}

inline Graph attention() {
  std::mt19937_64 random(6);
  const auto constant = [&](Graph& g, const Shape& shape) {
    std::vector<float> values(element_count(shape));
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 33) - 16) / 16.0F;
    return g.append_constant(Tensor::of_floats(shape, values));
  };
  Graph g;
  const NodeId x = g.append_input(DType::float32, {1, 3, 2}, "x");
  const auto projected = [&] { return added(g.append(Op::matmul, {x, constant(g, {2, 2})})); };
  const NodeId keys = added(g.append(Op::permute, {projected()}, PermuteAttributes{{0, 2, 1}}));
  const NodeId weights = added(g.append(Op::softmax, {added(g.append(Op::matmul, {projected(), keys}))}, SoftmaxAttributes{2}));
  const NodeId mixed = added(g.append(Op::tanh, {added(g.append(Op::matmul, {weights, projected()}))}));
  const NodeId flat = added(g.append(Op::reshape, {added(g.append(Op::add, {mixed, x}))}, ShapeAttributes{{1, 6}}));
  g.mark_output(added(g.append(Op::gemm, {flat, constant(g, {6, 1})}, GemmAttributes{})), "y");
  return g;
}

inline const std::vector<Subject>& subjects() {
  static const std::vector<Subject> kSubjects = [] {
    std::vector<Subject> all;
    all.push_back(subject(small_net().graph));
    all.push_back(subject(search_test::random_network({3, 6, 5, 2}, 4)));
    all.push_back(subject(search_test::random_network({2, 4, 4, 1}, 9, Op::sigmoid)));
    all.push_back(subject(attention()));
    all.push_back(subject(search_test::random_network({2, 4, 1}, 12)));
    all.push_back(subject(search_test::random_network({3, 5, 4, 1}, 21, Op::tanh)));
    return all;
  }();
  return kSubjects;
}

inline bool shows_unsat(const Verdict& verdict) { return verdict.accepted && verdict.text.starts_with("theorem: unsat"); }
inline bool shows_sat(const Verdict& verdict) { return verdict.accepted && verdict.text.starts_with("theorem: sat"); }

// The certificate's theorem or refusal, within the budgets of the fuzz tests.
inline Verdict replayed(const TemporaryFile& file, const std::string& bytes, const std::shared_ptr<const Problem>& problem) {
  certificate::ReplayLimits limits;
  limits.work = limits.most_work = kWork;
  limits.memory = kMemory;
  file.put(bytes);
  Verdict verdict = replay_file(file.path(), problem, limits);
  limits.threads = 3;
  limits.shared_work = 0;
  const Verdict shared = replay_file(file.path(), problem, limits);
  if (shared.text != verdict.text || shared.place != verdict.place)
    FAIL("one thread says " << verdict.text << " " << verdict.place << ", three say " << shared.text << " " << shared.place);
  return verdict;
}

}  // namespace assay::fuzz
