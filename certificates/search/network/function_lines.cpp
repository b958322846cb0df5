#include "certificates/search/network/function_lines.h"

#include <algorithm>
#include <cmath>

namespace assay::search {
namespace {

constexpr int kCells = 16;         // of a curved piece: cubic between samples, which is nearer than a slope in float32 asks for
constexpr double kNoBound = 1e30;  // of a function without a line: nothing is proved through it
constexpr int kTrisections = 40;

}  // namespace

bool FunctionLines::knows(const UnaryFunction& f) {
  return f.node().op != Op::hard_sigmoid && !f.segments().empty() &&
         std::ranges::all_of(f.segments(), [](const Segment& s) { return s.curve != Curve::affine; });
}

void FunctionLines::prepare(const UnaryFunction& f, std::size_t size, const double* lo, const double* hi) {
  elements_.assign(size, {});
  parts_.clear();
  samples_.clear();
  for (std::size_t j = 0; j < size; ++j) {
    Element& element = elements_[j];
    element.first = element.last = static_cast<std::uint32_t>(parts_.size());
    if (!(std::isfinite(lo[j]) && std::isfinite(hi[j]) && lo[j] <= hi[j])) continue;
    element.middle = lo[j] / 2 + hi[j] / 2;
    element.least = INFINITY;
    element.most = -INFINITY;
    for (const Piece& piece : f.pieces(lo[j], hi[j])) add(f, piece, element);
    element.last = static_cast<std::uint32_t>(parts_.size());
    if (std::isfinite(element.least) && std::isfinite(element.most)) continue;
    element.least = element.most = 0;
    element.last = element.first;
  }
}

void FunctionLines::add(const UnaryFunction& f, const Piece& piece, Element& element) {
  Part part{piece.curve, static_cast<std::uint32_t>(samples_.size()), 0, 0, 0};
  const auto range = [&](double slope) {
    element.least = std::min(element.least, slope);
    element.most = std::max(element.most, slope);
  };
  if (piece.curve == Curve::by_derivative) {
    for (const double z : {piece.b, piece.c}) samples_.push_back({z, 0, 0});
    samples_.push_back({piece.b / 2 + piece.c / 2, piece.at_middle.midpoint(), 0});
    part.least_derivative = piece.derivative.lo();
    part.most_derivative = piece.derivative.hi();
    range(part.least_derivative);
    range(part.most_derivative);
  } else {
    const int cells = piece.b < piece.c ? piece.curve == Curve::linear ? 1 : kCells : 0;
    for (int k = 0; k <= cells; ++k) {
      const double z = k == cells ? piece.c : piece.b + (piece.c - piece.b) * k / kCells;
      samples_.push_back({z, f.value(z), 0});
    }
    for (std::size_t k = part.first; k < samples_.size(); ++k) {
      Sample& sample = samples_[k];
      const bool chord = piece.curve == Curve::linear && cells == 1;
      sample.derivative =
          chord ? (samples_[part.first + 1].value - samples_[part.first].value) / (piece.c - piece.b) : f.derivative(sample.z);
      range(sample.derivative);
    }
  }
  part.last = static_cast<std::uint32_t>(samples_.size());
  parts_.push_back(part);
}

// The line's gap f(z) - slope z is least (greatest) at an end, or where a curved piece has the slope.
Line FunctionLines::line(const Part& part, double slope, bool below) const {
  Line best{slope, 0, 0};
  bool any = false;
  const auto offer = [&](double z, double gap) {
    if (any && (below ? gap >= best.intercept : gap <= best.intercept)) return;
    best = {slope, gap, z};
    any = true;
  };
  const Sample &b = samples_[part.first], &c = samples_[part.last - 1];
  if (part.curve == Curve::by_derivative) {
    const Sample& end = samples_[part.first + 1];
    for (const double z : {b.z, end.z}) {
      for (const double d : {part.least_derivative, part.most_derivative}) offer(z, c.value - slope * c.z + (d - slope) * (z - c.z));
    }
    return best;
  }
  offer(b.z, b.value - slope * b.z);
  offer(c.z, c.value - slope * c.z);
  if (part.curve != (below ? Curve::convex : Curve::concave)) return best;
  const double sign = below ? 1 : -1;  // of the derivative's growth
  for (std::uint32_t k = part.first; k + 1 < part.last; ++k) {
    const Sample &left = samples_[k], &right = samples_[k + 1];
    if (sign * left.derivative > sign * slope || sign * right.derivative < sign * slope) continue;
    const double h = right.z - left.z, share = (slope - left.derivative) / (right.derivative - left.derivative);
    if (!(share >= 0 && share <= 1)) continue;
    const double s = share, r = 1 - share;  // the cubic through both values with both derivatives
    const double value =
        r * r * (1 + 2 * s) * left.value + s * s * (1 + 2 * r) * right.value + h * s * r * (r * left.derivative - s * right.derivative);
    offer(left.z + share * h, value - slope * (left.z + share * h));
  }
  return best;
}

Line FunctionLines::line(const Element& element, double slope, bool below) const {
  if (element.first == element.last) return {0, below ? -kNoBound : kNoBound, 0};
  Line best = line(parts_[element.first], slope, below);
  for (std::uint32_t k = element.first + 1; k < element.last; ++k) {
    const Line other = line(parts_[k], slope, below);
    if (below ? other.intercept < best.intercept : other.intercept > best.intercept) best = other;
  }
  return best;
}

// The height at the middle is concave (convex) in the slope.
double FunctionLines::first_slope(const Element& element, bool below) const {
  double least = element.least, most = element.most;
  const auto height = [&](double slope) {
    const Line one = line(element, slope, below);
    return (below ? 1 : -1) * (one.slope * element.middle + one.intercept);
  };
  for (int k = 0; k < kTrisections && least < most; ++k) {
    const double left = least + (most - least) / 3, right = most - (most - least) / 3;
    (height(left) < height(right) ? least : most) = height(left) < height(right) ? left : right;
  }
  return least / 2 + most / 2;
}

}  // namespace assay::search
