// UnaryFunction: one record for every op that is a function of one variable, element by element: where it is defined, where it breaks,
// jumps and turns, and what it is like between. Lines, branching, the search and the audit read it; values and derivatives are those of the
// op's denotation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "semantics/graph/graph.h"
#include "semantics/numbers/dual.h"

namespace assay {

// What f is like on a closed interval.
enum class Curve : std::uint8_t {
  linear,
  convex,
  concave,
  affine,         // slope z + a number of `constant`: also where f jumps and the limit is meant
  by_derivative,  // nothing is known but f' on any part of it
};

// A stretch of the line, both ends included; its neighbours share an end with it, or f has no value between them.
struct Segment {
  double from, to;
  Curve curve;
  bool jumps = false;  // at `to`: f takes any value between what the two segments say
  double slope = 0;    // affine only
  Interval constant = {};
};

// A part [b, c] of one segment. by_derivative also stands for affine: f(z) lies in at_middle + derivative (z - (b/2 + c/2)).
struct Piece {
  double b, c;
  Curve curve;
  Interval at_middle, derivative;  // by_derivative only: f(b/2 + c/2) and f'([b, c])
};

class UnaryFunction {
 public:
  // Ops of Family::function, and mul(x, x).
  [[nodiscard]] static bool is_one(const Node& node);
  explicit UnaryFunction(const Node& node);  // is_one(node); the node outlives the function

  [[nodiscard]] const Node& node() const { return node_; }
  // In order. Floor, ceil, round and casts to integers have more jumps than are listed: their segments are made for [l, u] by pieces().
  [[nodiscard]] std::span<const Segment> segments() const { return {segments_.data(), count_}; }
  // Exactly linear on either side of 0, and nowhere else broken.
  [[nodiscard]] bool bends_at_zero_only() const;

  // f on a set and its derivative there (Clarke's at kinks).
  [[nodiscard]] Dual<Interval> on(const Dual<Interval>& x) const;
  // About f(p) and f'(p), in ordinary arithmetic.
  [[nodiscard]] double value(double p) const;
  [[nodiscard]] double derivative(double p) const;
  // derivative() is f'(p) but for rounding wherever there is one; else it is a quotient of differences, also over a kink near by.
  [[nodiscard]] bool has_exact_derivative() const;

  // Pieces that cover [l, u] in order; none where f is not defined on all of it, or nothing is known. l <= u, both finite.
  [[nodiscard]] std::vector<Piece> pieces(double l, double u) const;

 private:
  enum class Steps : std::uint8_t { none, floor, ceil, round, truncate };
  void describe(const Node& node);
  void set(std::initializer_list<Segment> segments);
  void set_hard_sigmoid();
  void set_power(const Rational& exponent);
  void add_pieces(std::span<const Segment> segments, double l, double u, std::vector<Piece>& pieces) const;
  void add_parts(double l, double u, std::vector<Piece>& pieces) const;
  void add_steps(Steps steps, double l, double u, std::vector<Piece>& pieces) const;

  const Node& node_;
  std::array<Segment, 5> segments_{};
  std::size_t count_ = 0;
  Steps steps_ = Steps::none;
};

}  // namespace assay
