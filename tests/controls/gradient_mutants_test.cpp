// Mutants of every vector-Jacobian product of the representative set: all that compute another function are caught, and none that
// compute the same. A mutant without a value at any point, which divides by 0 everywhere, may be left undecided: what it delivers
// is no finite number.
#include <cstdio>
#include <string>

#include "kernel/gradients/adjointness/cases.h"
#include "probes/mistakes.h"
#include "tests/catch.h"
#include "tests/controls/comparison.h"

namespace assay::test {
namespace {

using probes::Mutant;
using probes::mutants_of_product;

struct Count {
  std::size_t mutants = 0, caught = 0, equivalent = 0, without_value = 0;
  std::vector<std::string> survivors, flagged;
};

void count_case(const gradients::AdjointCase& one, Count& count) {
  const Outcome<Graph> vjp = gradients::reverse_of(one.graph);
  REQUIRE(vjp.ok());
  const Comparison comparison(one, vjp.value());
  for (const Mutant& mutant : mutants_of_product(vjp.value())) {
    const auto verdict = gradients::check_adjointness(one, mutant.graph, 11);
    const bool differs = comparison.differs(mutant.graph);
    ++count.mutants;
    if (verdict.ok()) {
      count.equivalent += differs ? 0 : 1;
      if (differs) count.survivors.push_back(one.name + ", " + mutant.name);
    } else if (verdict.rejection().code == "adjointness.points" && comparison.has_no_value(mutant.graph)) {
      ++count.without_value;
    } else if (verdict.rejection().kind != Rejection::Kind::rejected) {
      count.survivors.push_back(one.name + ", " + mutant.name + ": " + verdict.rejection().to_text());
    } else {
      count.caught += differs ? 1 : 0;
      if (!differs) count.flagged.push_back(one.name + ", " + mutant.name + ": " + verdict.rejection().to_text());
    }
  }
}

// Ops k, k + 4, k + 8, ...: the parts run side by side.
void check_part(int first) {
  Count all;
  for (int k = first; k < kOpCount; k += 4) {
    Count count;
    for (const gradients::AdjointCase& one : gradients::adjoint_cases(static_cast<Op>(k))) {
      if (one.name == "conv, large") continue;  // its mistakes are those of the small ones
      count_case(one, count);
    }
    std::string names(op_row(static_cast<Op>(k)).name);
    for (const std::string& name : count.survivors) names += "\nsurvivor: " + name;
    for (const std::string& name : count.flagged) names += "\nflagged though it computes the same: " + name;
    INFO(names);
    CHECK(count.survivors.empty());
    CHECK(count.flagged.empty());
    CHECK(count.caught + count.equivalent + count.without_value == count.mutants);
    all.mutants += count.mutants;
    all.caught += count.caught;
    all.equivalent += count.equivalent;
    all.without_value += count.without_value;
  }
  std::printf("%zu mutants: %zu caught, %zu equivalent, %zu without a value\n", all.mutants, all.caught, all.equivalent, all.without_value);
  CHECK(all.without_value < 10);
  CHECK(all.caught > 1000);
}

}  // namespace

// Every mutant of a gradient rule that computes another function is caught, and no twin.
TEST_CASE("gradient mutants, first quarter of the ops", "[adjointness]") { check_part(0); }
TEST_CASE("gradient mutants, second quarter of the ops", "[adjointness]") { check_part(1); }
TEST_CASE("gradient mutants, third quarter of the ops", "[adjointness]") { check_part(2); }
TEST_CASE("gradient mutants, last quarter of the ops", "[adjointness]") { check_part(3); }

}  // namespace assay::test
