// Adjointness: a graph's vector-Jacobian product is the transpose of the derivative of the graph's meaning.
//
// Claim. <y_bar, J x_dot> = <J^T y_bar, x_dot> for all y_bar and x_dot: J x_dot from the denotations over Dual, which know no rule of
// semantics/derivatives; J^T y_bar from the graph that is checked. It is decided by equality of exact numbers, never by two enclosures
// that meet. At each point of the sample:
//   A1  for random y_bar and x_dot both sides are the same number (so the graph is linear in y_bar too); elements without a residue
//       at the point are given the cotangent and the tangent 0, and points are drawn until every element of y and x has taken part
//       with all entries that the meaning, or the graph, has there;
//   A2  entry by entry, y_bar and x_dot running over the unit vectors, where there are at most kMostEntries entries and
//       the unit vectors have at most kMostWork elements together (A1 alone decides as surely, but not where);
//   A3  the graph has a value wherever the meaning has a derivative.
// At each point of the sample of kinks, where elements equal each other or a break point, and for each of several directions:
//   A4  A1 to A3 for the one-sided derivatives: the point displaced in that direction by an infinitesimal (Opaque's sides);
//   A5  the graph over Interval at the point itself contains these derivatives (elements of the Clarke set);
//   A6  it lies within the set that Dual<Interval> gives there, the hull of the one-sided derivatives of each primitive.
//
// What a verdict is worth.
//   probed   polynomials and quotients, over integers modulo p = 2^61 - 1. A wrong entry goes unseen only if the point is a zero of the
//            error, a quotient of polynomials of degree at most d: at most (d + 1) / 2^61 per point (Schwartz, Zippel). `miss_log2` sums
//            that.
//   exact    piecewise linear (and other) functions over Rational: no error at the points that were drawn, off kinks, ties and jumps.
//   opaque   functions as random values modulo a 62-bit prime, tied by the identities in kernel/gradients/numbers/opaque.h:
//            probed, relative to the derivative table of the primitives (semantics/numbers/dual.cpp), which the mean-value
//            test proves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::gradients {

// Where the elements of an input are drawn: reals between the ends, which are finite; integers and truth values from lo to hi.
struct Domain {
  double lo = -4, hi = 4;
};

struct AdjointCase {
  std::string name;
  Graph graph;                  // one real output
  std::vector<Domain> domains;  // one per input
  std::vector<double>
      kinks;  // break points, or any two numbers for ties; empty: no sample of kinks. Also for special points, as zeros of products
};

enum class AdjointMethod : std::uint8_t { probed, exact, opaque };

struct Adjointness {
  AdjointMethod method = AdjointMethod::probed;
  std::size_t points = 0, kinks = 0, directions = 0;  // of the two samples; directions of all kinks together
  std::size_t entries = 0;                            // compared, all points together
  double miss_log2 = 0;                               // probed: the probability of a miss is below 2^miss_log2
};

inline constexpr std::size_t kMostEntries = 1 << 12, kMostWork = 1 << 16;

// Rejections: "adjointness.entry", with both sides, where A1, A2 or A4 fails; "adjointness.domain" (A3), "adjointness.kink" (A5),
// "adjointness.hull" (A6); "adjointness.graph" for a graph whose inputs or outputs are not those of `differentiate`; declined
// ("adjointness.points") where no points of the domain can be used. `vjp` has a cotangent for each real input.
[[nodiscard]] Outcome<Adjointness> check_adjointness(const AdjointCase& one, const Graph& vjp, std::uint64_t seed);
// Of the graph that `differentiate` gives.
[[nodiscard]] Outcome<Adjointness> check_adjointness(const AdjointCase& one, std::uint64_t seed);
[[nodiscard]] Outcome<Graph> reverse_of(const Graph& graph);  // `differentiate` of the first output by all real inputs

}  // namespace assay::gradients
