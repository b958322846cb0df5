// The points at which adjointness is checked. Private to this folder.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "kernel/gradients/adjointness/adjointness.h"
#include "kernel/gradients/adjointness/jacobian.h"
#include "kernel/gradients/numbers/modular.h"
#include "kernel/gradients/numbers/opaque.h"
#include "semantics/demand.h"

namespace assay::gradients::adjointness {

// splitmix64 (Steele, Lea, Flood 2014)
struct Random {
  std::uint64_t state;
  std::uint64_t next() {
    std::uint64_t z = state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  std::int64_t below(std::uint64_t count) { return static_cast<std::int64_t>(next() % count); }
};

// A point for all inputs of a case. generic_point: no two real elements, and no sum of few, are at a kink. kink_point:
// real elements at the kinks of the case, and at multiples of 1/8, so that intervals are points. `is_near`: within 16
// of 0 where the domain allows it. For masks that reach to -1e9, an exponential has a value at almost no other points.
[[nodiscard]] Arrays<double> generic_point(const AdjointCase& one, Random& random, bool is_near = false);
[[nodiscard]] Arrays<Rational> kink_point(const AdjointCase& one, Random& random);
// The point with distinct infinitesimal displacements of all real elements.
[[nodiscard]] Arrays<Opaque> displaced(const Graph& graph, const Arrays<Rational>& x, Random& random);

// The number of points to use for each method, and the most points to try.
inline constexpr std::size_t kProbes = 2, kExactPoints = 8, kOpaquePoints = 3;
inline constexpr int kMostTries = 4096;
inline constexpr int kFresh = 64;  // after this many points that continue from each other, a new one is drawn
// Fewer tries if each is expensive.
[[nodiscard]] int most_tries(const Graph& graph);
// The number of points worth drawing, at most `points`. Each point uses as many random numbers as the real operands
// have elements; kNumbers in all suffice. For example, an operand of a thousand elements exercises a function's
// branches at one point.
[[nodiscard]] std::size_t worthwhile_points(const Graph& graph, std::size_t points);
[[nodiscard]] std::size_t real_elements(const Graph& graph);  // of all real inputs together

// Takes turns, so that at some point each element has the roots that inverse functions need (acosh, asin, asinh).
[[nodiscard]] inline Opaque::Draw draw_of(int tries) {
  constexpr std::array kDraws = {Opaque::Draw::sine, Opaque::Draw::sinh, Opaque::Draw::any};
  return kDraws[static_cast<std::size_t>(tries) % kDraws.size()];
}

// log2 of the probability that a point is a zero of the error between a graph's derivative and the result of `rule`. It
// is the degree of the error over 2^61, plus 1 because the residue 0 is drawn twice as often. A derivative has at most
// twice the degree of the quotient.
[[nodiscard]] double miss_of_a_point(const Graph& graph, const Graph& rule);

// Whether some constant is infinite: only Opaque has numbers for it.
[[nodiscard]] bool has_infinities(const Graph& graph);
// The graph with zeros in place of constants that hold infinities and numbers, for checks of its form.
[[nodiscard]] Graph without_infinities(Graph graph);

// Whether a method has no value for some operation of the case, so that the next method is tried.
template <class T>
[[nodiscard]] bool lacks_scalar(const Outcome<T>& outcome) {
  return !outcome && outcome.rejection().code == "denote.scalar";
}

// Whether Rational surely lacks a function of the graph. An evaluation would find it after all products before it, which
// take long over fractions.
[[nodiscard]] bool lacks_rationals(const Graph& graph);
// Over rationals a quotient by 0 ends the evaluation even if a choice would discard it, for example x - x of one element
// whose root is masked.
template <class T>
[[nodiscard]] bool divides_by_zero(const Outcome<T>& outcome) {
  return !outcome && (outcome.rejection().code == "div.domain" || outcome.rejection().code == "reciprocal.domain");
}

// Represents a drawn real number: by the number itself, or by a residue.
inline void put(Rational& to, double value, Random&, Opaque::Draw) {
  const auto exact = Rational::from_double(value);
  demand(exact.has_value(), "adjointness: points are finite");
  to = *exact;
}
inline void put(Modular& to, double, Random& random, Opaque::Draw) { to = Modular(static_cast<std::int64_t>(random.next() >> 3)); }
inline void put(Opaque& to, double value, Random& random, Opaque::Draw draw) { to = Opaque::drawn(value, random.next(), draw); }

template <class S>
Arrays<S> on_scalar(const Graph& graph, const Arrays<double>& x, Random& random, Opaque::Draw draw) {
  Arrays<S> result;
  for (std::size_t k = 0; k < x.size(); ++k) {
    const bool real = is_float(graph.node(graph.inputs[k]).dtype);
    result.push_back({x[k].shape, std::vector<S>(x[k].values.size())});
    for (std::size_t i = 0; i < x[k].values.size(); ++i) {
      if (real) {
        put(result[k].values[i], x[k].values[i], random, draw);
      } else {
        result[k].values[i] = ScalarTraits<S>::from_double(x[k].values[i]);
      }
    }
  }
  return result;
}

// Computes the inputs that are not drawn.
template <class S>
Outcome<Arrays<S>> bound(const AdjointCase& one, Arrays<S> x) {
  for (const auto& [k, graph] : one.bound) {
    auto nodes = evaluate<S>(graph, x);
    if (!nodes) return nodes.rejection();
    x[k] = std::move(nodes.value()[graph.outputs[0]]);
  }
  return x;
}

template <class S>
Array<S> random_array(const Shape& shape, Random& random) {
  Array<S> result{shape, std::vector<S>(element_count(shape))};
  for (S& value : result.values) put(value, static_cast<double>(random.below(17) - 8) / 4, random, Opaque::Draw::any);
  return result;
}

template <class S>
Arrays<S> lifted(const Arrays<Rational>& x) {
  Arrays<S> result;
  for (const Array<Rational>& array : x) {
    result.push_back({array.shape, {}});
    for (const Rational& value : array.values) result.back().values.push_back(ScalarTraits<S>::from_rational(value));
  }
  return result;
}

}  // namespace assay::gradients::adjointness
