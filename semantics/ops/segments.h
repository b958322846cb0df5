// Segments: what a function of one variable is like between its break points. Each family of semantics/ops says it of its functions, beside
// their formulas (segments_of); UnaryFunction (semantics/functions) makes lines of them.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <span>

#include "semantics/numbers/interval.h"

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

// In order; none where nothing is known. Of staircases the jumps are not listed: the segments are made for the interval in question.
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
