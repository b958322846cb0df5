// Adjointness: proves that a graph computes the vector-Jacobian product of another graph, that is, the transpose of the
// derivative of its meaning.
//
// Claim. <y_bar, J x_dot> = <J^T y_bar, x_dot> for all y_bar and x_dot. J x_dot comes from the denotations over Dual,
// independently of the rules in kernel/gradients/derivatives. J^T y_bar comes from the graph that is checked. Both
// sides are compared as exact numbers, never by two enclosures that overlap. At each point of the sample:
//   A1  For random y_bar and x_dot both sides are the same number (so the graph is linear in y_bar, too). Elements
//       without a residue at the point get the cotangent and the tangent 0. Points are drawn until every element of y
//       and x has taken part with all entries that the meaning, or the graph, has there.
//   A2  Entry by entry, with y_bar and x_dot running over the unit vectors, if there are at most kMostEntries
//       entries and the unit vectors have at most kMostWork elements together. (A1 alone decides as surely, but
//       does not show where.)
//   A3  The graph has a value wherever the meaning has a derivative.
// Opaque numbers that differ by their residues alone are compared once more, with 257 bits. A point at which they agree
// there is left out, since formulas may be equal by an identity that no residue knows. Another point has to prove the rule.
// Constants may be infinite in cases without kinks (kernel/gradients/numbers/opaque.h states the arithmetic). An infinite
// element of y has no derivative: the claim is about cotangents that are 0 there, whatever the graph makes of others. A
// graph that gives an infinity or NaN where the meaning has a derivative fails A3.
// At each point of the sample of kinks, where elements equal each other or a break point, and for several directions:
//   A4  A1 to A3 for the one-sided derivatives: the point is displaced in that direction by an infinitesimal (Opaque's
//       sides).
//   A5  The graph over Interval at the point itself contains these derivatives (elements of the Clarke set).
//   A6  The graph over Interval lies within the set that Dual<Interval> gives there, the hull of the one-sided
//       derivatives of each primitive.
//
// Strength of a verdict, by method:
//   probed   Polynomials and quotients, over integers modulo p = 2^61 - 1. A wrong entry is missed only if the point is
//            a zero of the error, a quotient of polynomials of degree at most d: probability at most (d + 1) / 2^61 per
//            point (Schwartz, Zippel). `miss_log2` adds this up.
//   exact    Piecewise linear (and other) functions over Rational: no error at the drawn points, away from kinks, ties
//            and jumps.
//   opaque   Functions as random values modulo a 62-bit prime that satisfy the identities in
//            kernel/gradients/numbers/opaque.h. Probed, relative to the derivative table of the primitives
//            (semantics/numbers/dual.cpp), which the mean-value test proves.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/outcome.h"

namespace assay::gradients {

// The range from which the elements of an input are drawn: reals between the ends, which are finite; integers and truth
// values from lo to hi.
struct Domain {
  double lo = -4, hi = 4;
};

struct AdjointCase {
  std::string name;
  Graph graph;                  // with one real output
  std::vector<Domain> domains;  // one per input
  std::vector<double>
      // Break points, or any two numbers for ties; also special points such as zeros of products. Empty: no sample
      // of kinks.
      kinks;
  // By the position of an input: a graph of all inputs that computes this one, in place of a drawn number. The claim is
  // then about points at which the input has that value, and its cotangent is one by itself.
  std::vector<std::pair<std::size_t, Graph>> bound = {};
};

enum class AdjointMethod : std::uint8_t { probed, exact, opaque };

struct Adjointness {
  AdjointMethod method = AdjointMethod::probed;
  std::size_t points = 0, kinks = 0, directions = 0;  // sizes of the two samples; directions of all kinks together
  std::size_t entries = 0;                            // compared, at all points together
  // For `probed`: the probability of a miss is below 2^miss_log2.
  double miss_log2 = 0;
};

inline constexpr std::size_t kMostEntries = 1 << 12, kMostWork = 1 << 16;

// Rejection codes:
// - "adjointness.entry", with both sides, if A1, A2 or A4 fails;
// - "adjointness.identity" (declined) if residues differ in A1 or A2, but no numbers do (wide.h);
// - "adjointness.domain" (A3), "adjointness.kink" (A5), "adjointness.hull" (A6);
// - "adjointness.graph" for a graph whose inputs or outputs are not those of `differentiate`;
// - "adjointness.points" (declined) if no points of the domain can be used.
// `vjp` has a cotangent for each real input.
[[nodiscard]] Outcome<Adjointness> check_adjointness(const AdjointCase& one, const Graph& vjp, std::uint64_t seed);
// For the graph that `differentiate` gives.
[[nodiscard]] Outcome<Adjointness> check_adjointness(const AdjointCase& one, std::uint64_t seed);
// `differentiate` of the first output with respect to all real inputs.
[[nodiscard]] Outcome<Graph> reverse_of(const Graph& graph);

}  // namespace assay::gradients
