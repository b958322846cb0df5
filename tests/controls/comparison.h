// Do two graphs compute different functions, as far as points tell? Decided in exact and opaque numbers, not by the kernel's sample.
#pragma once

#include <random>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"
#include "kernel/gradients/numbers/opaque.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"

namespace assay::test {

template <class S>
using Arrays = std::vector<Array<S>>;

template <class S, class F>
Array<S> filled(const Node& node, const F& f) {
  Array<S> result{node.shape, {}};
  for (std::size_t i = 0; i < element_count(node.shape); ++i) result.values.push_back(f());
  return result;
}

inline Rational between(double lo, double hi, std::mt19937_64& random) {
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

inline bool differ(const Opaque& a, const Opaque& b) {
  if (a.guide().is_undefined() != b.guide().is_undefined()) return true;
  const bool apart = a.guide().hi() < b.guide().lo() || b.guide().hi() < a.guide().lo();
  return apart || (a.has_residue() && b.has_residue() && !(a == b));
}
inline bool differ(const Rational& a, const Rational& b) { return a != b; }
inline bool differ(const Interval& a, const Interval& b) {  // rounding apart: a value that one set has and the other has not
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() != b.is_undefined();
  const double scale = 1e-9 * (1 + a.magnitude() + b.magnitude());
  return std::fabs(a.lo() - b.lo()) > scale || std::fabs(a.hi() - b.hi()) > scale;
}
template <class S>
inline bool differ(const std::vector<S>& a, const std::vector<S>& b) {
  if (a.size() != b.size()) return true;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (differ(a[i], b[i])) return true;
  }
  return false;
}

// Of the points of a case's domains and kinks.
class Comparison {
 public:
  Comparison(const gradients::AdjointCase& one, const Graph& vjp, int points = 12) : vjp_(vjp) {
    std::mt19937_64 random(977);
    for (int k = 0; k < points; ++k)
      generic_.push_back(point<Opaque>(one, [&](const gradients::Domain& domain, bool real) {
        const std::uint64_t kinds = k == 0 ? 1 : static_cast<std::uint64_t>(domain.hi - domain.lo + 1);  // first a mask of zeros
        if (!real) return Opaque(Rational(static_cast<std::int64_t>(domain.lo) + static_cast<std::int64_t>(random() % kinds)));
        return Opaque::drawn(between(domain.lo, domain.hi, random).double_down(), random());
      }));
    for (int k = 0; k < points && !one.kinks.empty(); ++k)
      kinks_.push_back(point<Interval>(one, [&](const gradients::Domain& domain, bool real) {
        if (!real) return Interval(domain.lo + static_cast<double>(random() % static_cast<std::uint64_t>(domain.hi - domain.lo + 1)));
        return random() % 4 == 0 ? Interval(between(domain.lo, domain.hi, random).double_down())
                                 : Interval(one.kinks[random() % one.kinks.size()]);
      }));
    for (int k = 0; k < points; ++k)
      rational_.push_back(point<Rational>(one, [&](const gradients::Domain& domain, bool real) {
        if (!real)
          return Rational(static_cast<std::int64_t>(domain.lo) +
                          static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(domain.hi - domain.lo + 1)));
        return between(domain.lo, domain.hi, random);
      }));
    for (const auto& x : generic_) expected_.push_back(results(vjp, x));
    for (const auto& x : rational_) expected_rationals_.push_back(results(vjp, x));
    for (const auto& x : kinks_) expected_at_kinks_.push_back(results(vjp, x));
  }
  [[nodiscard]] bool differs(const Graph& mutant) const { return differs_off_kinks(mutant) || differs_at_kinks(mutant); }
  // At no rational point at which the product has a value: it divides by 0 everywhere.
  [[nodiscard]] bool has_no_value(const Graph& mutant) const {
    std::size_t tried = 0;
    for (std::size_t k = 0; k < rational_.size(); ++k) {
      if (expected_rationals_[k].empty()) continue;
      ++tried;
      if (!results(mutant, rational_[k]).empty()) return false;
    }
    return tried > 0;
  }
  [[nodiscard]] bool differs_off_kinks(const Graph& mutant) const {
    for (std::size_t k = 0; k < generic_.size(); ++k) {
      if (differ(results(mutant, generic_[k]), expected_[k])) return true;
    }
    for (std::size_t k = 0; k < rational_.size(); ++k) {  // empty for functions
      if (!expected_rationals_[k].empty() && differ(results(mutant, rational_[k]), expected_rationals_[k])) return true;
    }
    return false;
  }
  [[nodiscard]] bool differs_at_kinks(const Graph& mutant) const {
    for (std::size_t k = 0; k < kinks_.size(); ++k) {
      if (differ(results(mutant, kinks_[k]), expected_at_kinks_[k])) return true;
    }
    return false;
  }

 private:
  template <class S, class F>
  Arrays<S> point(const gradients::AdjointCase& one, const F& draw) const {
    Arrays<S> x;
    for (std::size_t k = 0; k < vjp_.inputs.size(); ++k) {
      const Node& node = vjp_.node(vjp_.inputs[k]);
      const gradients::Domain domain = k < one.domains.size() ? one.domains[k] : gradients::Domain{};
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

}  // namespace assay::test
