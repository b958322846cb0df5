// Mutants of every vector-Jacobian product of the representative set: all that compute another function are caught, and none that compute
// the same.
#include <cstdio>
#include <random>
#include <string>

#include "kernel/adjointness/cases.h"
#include "probes/mistakes.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

using probes::Mutant;
using probes::mutants_of;

template <class S>
using Arrays = std::vector<Array<S>>;

template <class S, class F>
Array<S> filled(const Node& node, const F& f) {
  Array<S> result{node.shape, {}};
  for (std::size_t i = 0; i < element_count(node.shape); ++i) result.values.push_back(f());
  return result;
}

Rational between(double lo, double hi, std::mt19937_64& random) {
  return *Rational::from_double(lo + (hi - lo) * static_cast<double>(random() % 1000003 + 1) / 1000005.0);
}

template <class S>
std::vector<S> results(const Graph& graph, const Arrays<S>& x) {
  std::vector<S> values;
  const auto nodes = evaluate<S>(graph, x);
  if (!nodes) return values;
  for (const NodeId output : graph.outputs) {
    for (const S& value : nodes.value()[output].values) values.push_back(value);
  }
  return values;
}

bool differ(const Opaque& a, const Opaque& b) {
  if (a.guide().is_undefined() != b.guide().is_undefined()) return true;
  const bool apart = a.guide().hi() < b.guide().lo() || b.guide().hi() < a.guide().lo();
  return apart || (a.has_residue() && b.has_residue() && !(a == b));
}
bool differ(const Rational& a, const Rational& b) { return a != b; }
bool differ(const Interval& a, const Interval& b) {  // rounding apart: a value that one set has and the other has not
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() != b.is_undefined();
  const double scale = 1e-9 * (1 + a.magnitude() + b.magnitude());
  return std::fabs(a.lo() - b.lo()) > scale || std::fabs(a.hi() - b.hi()) > scale;
}
template <class S>
bool differ(const std::vector<S>& a, const std::vector<S>& b) {
  if (a.size() != b.size()) return true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (differ(a[i], b[i])) return true;
  }
  return false;
}

// Do the two graphs compute different functions, as far as points of the case's domain tell? Not by the kernel's sample.
class Comparison {
 public:
  Comparison(const kernel::AdjointCase& one, const Graph& vjp) : vjp_(vjp) {
    std::mt19937_64 random(977);
    for (int k = 0; k < 12; ++k)
      generic_.push_back(point<Opaque>(one, [&](const kernel::Domain& domain, bool real) {
        if (!real)
          return Opaque(Rational(static_cast<std::int64_t>(domain.lo) +
                                 static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(domain.hi - domain.lo + 1))));
        return Opaque::drawn(between(domain.lo, domain.hi, random), random());
      }));
    for (int k = 0; k < 12 && !one.kinks.empty(); ++k)
      kinks_.push_back(point<Interval>(one, [&](const kernel::Domain& domain, bool real) {
        if (!real) return Interval(domain.lo + static_cast<double>(random() % static_cast<std::uint64_t>(domain.hi - domain.lo + 1)));
        return random() % 4 == 0 ? Interval(between(domain.lo, domain.hi, random).double_down())
                                 : Interval(one.kinks[random() % one.kinks.size()]);
      }));
    for (int k = 0; k < 12; ++k)
      rational_.push_back(point<Rational>(one, [&](const kernel::Domain& domain, bool real) {
        if (!real)
          return Rational(static_cast<std::int64_t>(domain.lo) +
                          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(domain.hi - domain.lo + 1)));
        return between(domain.lo, domain.hi, random);
      }));
    for (const auto& x : generic_) expected_.push_back(results(vjp, x));
    for (const auto& x : rational_) expected_rationals_.push_back(results(vjp, x));
    for (const auto& x : kinks_) expected_at_kinks_.push_back(results(vjp, x));
  }
  [[nodiscard]] bool differs(const Graph& mutant) const {
    for (std::size_t k = 0; k < generic_.size(); ++k) {
      if (differ(results(mutant, generic_[k]), expected_[k])) return true;
    }
    for (std::size_t k = 0; k < rational_.size(); ++k) {  // empty for functions
      if (!expected_rationals_[k].empty() && differ(results(mutant, rational_[k]), expected_rationals_[k])) return true;
    }
    for (std::size_t k = 0; k < kinks_.size(); ++k) {
      if (differ(results(mutant, kinks_[k]), expected_at_kinks_[k])) return true;
    }
    return false;
  }

 private:
  template <class S, class F>
  Arrays<S> point(const kernel::AdjointCase& one, const F& draw) const {
    Arrays<S> x;
    for (std::size_t k = 0; k < vjp_.inputs.size(); ++k) {
      const Node& node = vjp_.node(vjp_.inputs[k]);
      const kernel::Domain domain = k < one.domains.size() ? one.domains[k] : kernel::Domain{};
      x.push_back(filled<S>(node, [&] { return draw(domain, is_float(node.dtype)); }));
    }
    return x;
  }
  const Graph& vjp_;
  std::vector<Arrays<Opaque>> generic_;
  std::vector<Arrays<Rational>> rational_;
  std::vector<Arrays<Interval>> kinks_;
  std::vector<std::vector<Opaque>> expected_;
  std::vector<std::vector<Rational>> expected_rationals_;
  std::vector<std::vector<Interval>> expected_at_kinks_;
};

struct Count {
  std::size_t mutants = 0, caught = 0, equivalent = 0;
  std::vector<std::string> survivors, flagged;
};

void count_case(const kernel::AdjointCase& one, Count& count) {
  const Outcome<Graph> vjp = kernel::reverse_of(one.graph);
  REQUIRE(vjp.ok());
  const Comparison comparison(one, vjp.value());
  for (const Mutant& mutant : mutants_of(vjp.value())) {
    const auto verdict = kernel::check_adjointness(one, mutant.graph, 11);
    const bool differs = comparison.differs(mutant.graph);
    ++count.mutants;
    if (verdict.ok()) {
      count.equivalent += differs ? 0 : 1;
      if (differs) count.survivors.push_back(one.name + ", " + mutant.name);
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
    for (const kernel::AdjointCase& one : kernel::adjoint_cases(static_cast<Op>(k))) {
      if (one.name == "conv, large") continue;  // its mistakes are those of the small ones
      count_case(one, count);
    }
    std::string names(op_row(static_cast<Op>(k)).name);
    for (const std::string& name : count.survivors) names += "\nsurvivor: " + name;
    for (const std::string& name : count.flagged) names += "\nflagged though it computes the same: " + name;
    INFO(names);
    CHECK(count.survivors.empty());
    CHECK(count.flagged.empty());
    CHECK(count.caught + count.equivalent == count.mutants);
    all.mutants += count.mutants;
    all.caught += count.caught;
    all.equivalent += count.equivalent;
  }
  std::printf("%zu mutants: %zu caught, %zu equivalent\n", all.mutants, all.caught, all.equivalent);
  CHECK(all.caught > 1000);
}

}  // namespace

// Every mutant of a gradient rule that computes another function is caught, and no twin.
TEST_CASE("gradient mutants, first quarter of the ops", "[adjointness]") { check_part(0); }
TEST_CASE("gradient mutants, second quarter of the ops", "[adjointness]") { check_part(1); }
TEST_CASE("gradient mutants, third quarter of the ops", "[adjointness]") { check_part(2); }
TEST_CASE("gradient mutants, last quarter of the ops", "[adjointness]") { check_part(3); }

}  // namespace assay::test
