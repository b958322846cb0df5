// Segments: the shape of a function of one variable between its break points. Each family of semantics/ops gives
// the segments of its functions beside their formulas (segments_of). UnaryFunction (semantics/functions) derives
// lines from them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "semantics/numbers/interval.h"

namespace assay {

// The shape of f on a closed interval.
enum class Curve : std::uint8_t {
  linear,
  convex,
  concave,
  affine,         // slope z + a number in `constant`; also used for limits at jumps
  by_derivative,  // only the range of f' on any part of it is known
};

// A part of the line with both ends included. Neighbours share an end, or f has no value between them.
struct Segment {
  double from, to;
  Curve curve;
  // At `to`, f takes any value between those of the two segments.
  bool jumps = false;
  double slope = 0;  // for affine only
  Interval constant = {};
};

// In order; empty if nothing is known. The jumps of a staircase are not listed: its segments are made for the interval
// in question.
class Segments {
 public:
  enum class Staircase : std::uint8_t { none, floor, ceil, round, truncate };

  Segments() = default;
  Segments(std::initializer_list<Segment> segments) : count_(segments.size()) { std::ranges::copy(segments, list_.begin()); }
  explicit Segments(Staircase steps) : steps_(steps) {}

  [[nodiscard]] std::span<const Segment> list() const { return {list_.data(), count_}; }
  [[nodiscard]] Staircase steps() const { return steps_; }

 private:
  std::array<Segment, 5> list_{};
  std::size_t count_ = 0;
  Staircase steps_ = Staircase::none;
};

namespace ops {
inline constexpr double kEverywhere = INFINITY;
inline constexpr double kLeast = 0x1p-1074;  // the least double above 0
}  // namespace ops

}  // namespace assay
