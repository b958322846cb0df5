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

// All inputs of a case: real elements of which no two, and no sum of few, are at a kink; and elements at the kinks of the case, beside
// multiples of 1/8, so that intervals are points. Near ones lie within 16 of 0 where the domain does: of masks that reach to -1e9 nearly no
// other point is one at which an exponential has a value.
[[nodiscard]] Arrays<double> generic_point(const AdjointCase& one, Random& random, bool is_near = false);
[[nodiscard]] Arrays<Rational> kink_point(const AdjointCase& one, Random& random);
// The point with distinct infinitesimal displacements of all real elements.
[[nodiscard]] Arrays<Opaque> displaced(const Graph& graph, const Arrays<Rational>& x, Random& random);

// How many points are drawn for each method, and how many are tried.
inline constexpr std::size_t kProbes = 2, kExactPoints = 8, kOpaquePoints = 3;
inline constexpr int kMostTries = 4096;
inline constexpr int kFresh = 64;  // so many points go on from each other, until a new one is drawn
// Fewer where each costs much.
[[nodiscard]] int most_tries(const Graph& graph);
// Of that many points: each costs as many random numbers as the real operands have elements, and points are drawn until kNumbers are used
// up.
// An operand of a thousand elements takes a function's branches at one.
[[nodiscard]] std::size_t worthwhile_points(const Graph& graph, std::size_t points);
[[nodiscard]] std::size_t real_elements(const Graph& graph);  // of all real inputs together

// In turn, so that the roots of inverse functions exist at some point for every element (acosh, asin, asinh).
[[nodiscard]] inline Opaque::Draw draw_of(int tries) {
  constexpr std::array kDraws = {Opaque::Draw::sine, Opaque::Draw::sinh, Opaque::Draw::any};
  return kDraws[static_cast<std::size_t>(tries) % kDraws.size()];
}

// log2 of the probability that a point is a zero of the error between a graph's derivative and what `rule` computes:
// its degree, and 1 because the residue 0 is drawn twice as often, over 2^61. A derivative has at most twice the degree
// of the quotient.
[[nodiscard]] double miss_of_a_point(const Graph& graph, const Graph& rule);

// Whether a method has no value for some operation of the case: the next one is tried.
template <class T>
[[nodiscard]] bool lacks_scalar(const Outcome<T>& outcome) {
  return !outcome && outcome.rejection().code == "denote.scalar";
}

// What stands for a real number that is drawn: the number, or a residue.
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
