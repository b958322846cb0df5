// Kernels of vector-Jacobian products with mistakes, seen from outside: what they gave on the probes, against the contract of the product
// that they declare. The same mistakes are refused as graphs in gradient_mutants_test.cpp.
#include <cstdio>
#include <string>

#include "kernel/audit/gradients.h"
#include "kernel/contracts/contract.h"
#include "kernel/gradients/adjointness/cases.h"
#include "probes/launch.h"
#include "probes/mistakes.h"
#include "runtime/graph_module.h"
#include "runtime/recorder.h"
#include "tests/catch.h"
#include "tests/controls/comparison.h"

namespace assay::test {
namespace {

// The runtime's results for a graph; nothing if it refuses.
std::vector<Tensor> ran(const Graph& graph, const std::vector<Tensor>& operands) {
  runtime::Session session({.threads = 1});
  const runtime::GraphModule module(session, graph);
  std::vector<runtime::Value> values;
  for (const Tensor& operand : operands) values.push_back(session.input(operand));
  const auto results = module(values);
  std::vector<Tensor> tensors;
  if (!results) return tensors;
  for (const runtime::Value& result : results.value()) tensors.push_back(result.array().to_tensor());
  return tensors;
}

// The product that is declared, and what it admits on each probe.
struct Declared {
  std::vector<std::vector<Tensor>> probes;
  std::vector<std::vector<contracts::Admissible>> sets;
};
Declared declared(const gradients::AdjointCase& one, const Graph& vjp) {
  Declared result{probes::product_probes(one, 5), {}};
  for (const std::vector<Tensor>& operands : result.probes) {
    auto sets = contracts::admissible(vjp, runtime::execution_model(DType::float32), operands);
    if (!sets) return {};
    result.sets.push_back(std::move(sets).value());
  }
  return result;
}

bool is_admitted(const Declared& product, const Graph& graph) {
  for (std::size_t k = 0; k < product.probes.size(); ++k) {
    const std::vector<Tensor> results = ran(graph, product.probes[k]);
    if (results.size() != product.sets[k].size()) return false;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto judged = contracts::judge(product.sets[k][i], results[i]);
      if (!judged || judged.value().failed > 0) return false;
    }
  }
  return true;
}

// At ties a contract admits every share of each element by itself; their sum is decided by the gradient gate, on a trace of what was given.
bool is_admitted_at_ties(const gradients::AdjointCase& one, const Graph& graph) {
  const auto launcher = [&](const probes::ProductLaunch& launch) -> Outcome<std::vector<Tensor>> {
    return ran(graph, {launch.operands.begin(), launch.operands.end()});
  };
  const auto trace = probes::run_products(one, launcher, runtime::execution_model(DType::float32), 5);
  if (!trace) return false;
  for (std::size_t v = 0; v < trace.value().vjps.size(); ++v) {
    if (audit::check_recorded_kinks(trace.value(), v).failure) return false;
  }
  return true;
}

struct Count {
  std::size_t products = 0, undeclared = 0, mutants = 0, caught = 0, equivalent = 0, at_kinks = 0, at_ties = 0;
};

// Ops k, k + 2, ...: the parts run side by side.
void check_part(int first) {
  Count all;
  for (int k = first; k < kOpCount; k += 2) {
    std::string survivors;
    for (const gradients::AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(k))) {
      const auto vjp = gradients::reverse_of(one.graph);
      REQUIRE(vjp.ok());
      if (one.name == "conv, large" || one.graph.node(one.graph.outputs[0]).dtype != DType::float32) continue;
      const Declared product = declared(one, vjp.value());
      ++all.products;
      if (product.sets.empty()) {
        ++all.undeclared;
        continue;
      }
      CHECK(is_admitted(product, vjp.value()));
      CHECK(is_admitted_at_ties(one, vjp.value()));
      const Comparison comparison(one, vjp.value());
      for (const probes::Mutant& mutant : probes::mutants_of_product(vjp.value())) {
        ++all.mutants;
        if (!is_admitted(product, mutant.graph)) {
          ++all.caught;
        } else if (!is_admitted_at_ties(one, mutant.graph)) {
          ++all.caught;
          ++all.at_ties;
        } else if (comparison.differs_off_kinks(mutant.graph)) {
          survivors += "\nsurvivor: " + one.name + ", " + mutant.name;
        } else if (comparison.differs_at_kinks(mutant.graph)) {
          ++all.at_kinks;
        } else {
          ++all.equivalent;
        }
      }
    }
    INFO(op_row(static_cast<Op>(k)).name << survivors);
    CHECK(survivors.empty());
  }
  std::printf(
      "%zu products (%zu without a contract), %zu mutants: %zu caught (%zu by sums over ties), %zu equivalent, %zu of another convention "
      "at kinks\n",
      all.products, all.undeclared, all.mutants, all.caught, all.at_ties, all.equivalent, all.at_kinks);
  CHECK(all.caught > 1000);
  CHECK(all.undeclared == 0);
}

}  // namespace

TEST_CASE("products with mistakes, even ops", "[probes]") { check_part(0); }
TEST_CASE("products with mistakes, odd ops", "[probes]") { check_part(1); }

}  // namespace assay::test
