// Problems that share a network: each is what it would be alone, and a refutation of one is none of another.

#include "certificates/check/meter.h"
#include "kernel/inspect/inspect.h"
#include "tests/catch.h"
#include "tests/kernel/kernel_problems.h"

using namespace assay;
using namespace assay::test;
using logic::Network;

namespace {

constexpr double kHalf = 0.5;

// y = relu(2 x - 0.1), and y >= bound is unsafe where 0 <= x <= half: y ends at 0.9.
Graph small_graph(DType dtype = DType::float64) {
  Chain chain(1, dtype);
  chain.gemm(1, {2}, {-0.1});
  chain.then(Op::relu);
  return chain.output();
}
statement::Property reaches(double bound, double half = kHalf) {
  return {{{box_of({0}, {exactly(half)}), {at_least(output(0), exactly(bound))}}}};
}

}  // namespace

TEST_CASE("problems about one network have the digests, facts and theorems of problems of their own", "[kernel][network]") {
  const auto float32 = take(parse_execution_model("binary32"));
  for (const ExecutionModel& semantics : {ExecutionModel{}, float32}) {
    for (const bool exact_only : {false, true}) {
      const Graph graph = small_graph(DType::float32);
      KernelOptions options;
      options.exact = exact_only;
      const auto network = take(Network::open(graph, semantics, options));
      for (const double half : {0.25, kHalf}) {
        const statement::Property property = reaches(0.9375, half);
        const auto shared = take(Problem::open(network, property, {})), own = open({graph, property, semantics, {}}, options);
        CHECK(shared->digest() == own->digest());
        CHECK(shared->digest() == statement::statement_digest(shared->statement()));
        CHECK(shared->floating() == own->floating());
        CHECK(shared->options().exact == exact_only);
        CHECK(inspect::active_nodes(*shared) == inspect::active_nodes(*own));
        CHECK(inspect::pre_activations(*shared) == inspect::pre_activations(*own));
        const Scope scope = boxed_root(shared), other = boxed_root(own);
        for (NodeId node = 0; node < graph.nodes.size(); ++node) {
          CHECK(certificate::Costs(*shared).row_work(node) == certificate::Costs(*own).row_work(node));
          if (!scope.has_box(node)) continue;
          CHECK(scope.box(node).lo == other.box(node).lo);
          CHECK(scope.box(node).hi == other.box(node).hi);
        }
        const std::vector refutations{take(conclude(scope))};
        const auto theorem = take(logic::unsatisfiable(shared, refutations));
        CHECK(theorem.assumptions() == take(logic::unsatisfiable(own, std::vector{take(conclude(other))})).assumptions());
        CHECK(theorem.problem()->digest() == own->digest());
        CHECK(code_of(logic::unsatisfiable(own, refutations)) != "accepted");  // the same statement, but not the same problem
      }
    }
  }
}

TEST_CASE("a refutation of one problem of a network is none of another", "[kernel][network]") {
  const auto network = take(Network::open(small_graph()));
  const auto holds = take(Problem::open(network, reaches(1), {})), fails = take(Problem::open(network, reaches(0.875), {}));
  CHECK(holds->digest() != fails->digest());
  const std::vector refutations{take(conclude(boxed_root(holds)))};
  CHECK(logic::unsatisfiable(holds, refutations).ok());
  CHECK(code_of(logic::unsatisfiable(fails, refutations)) != "accepted");
  CHECK(code_of(conclude(boxed_root(fails))) == "conclude.S3");
  CHECK(logic::satisfiable(fails, {0, {Rational(1, 2)}}).ok());
}

TEST_CASE("each property is validated against the network's graph", "[kernel][network]") {
  const auto network = take(Network::open(small_graph()));
  CHECK(code_of(Problem::open(network, {}, {})) == "statement.no_case");
  statement::Property wide = reaches(1);
  wide.cases[0].box = box_of({0, 0}, {1, 1});
  CHECK(code_of(Problem::open(network, wide, {})) == "statement.box_size");
  statement::Property beyond = reaches(1);
  beyond.cases[0].rows[0].terms[0].variable.element = 1;
  CHECK(code_of(Problem::open(network, beyond, {})) == "statement.variable");
  Graph broken = small_graph();
  broken.nodes.back().shape = {1, 2};
  CHECK(code_of(Network::open(broken)) == "graph.type");
  Graph complex = small_graph();
  complex.append_input(DType::complex64, {1}, "z");
  CHECK(code_of(Network::open(complex)) == "statement.input_dtype");
}
