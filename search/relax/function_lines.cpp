// FunctionLines: pieces of functions, the points where lines touch them, and the jumps between pieces.
//
// Three kinds of pieces have lines: curves with a formula for the touching point of a slope; curves known by samples of
// value and derivative, with cubics between the samples (Hermite); and pieces known only by bounds of their derivative.
// A jump adds the slopes of lines that touch the ends of two pieces.
//
// first_slope() looks for the line that is highest in the middle of the box. This height is concave in the slope, so
// trisection finds the maximum. CROWN (Zhang et al. 2018) has the same choice for sigmoid and tanh in closed form; here
// it works for any function with a record. The pieces of a box that has not changed since the last call are kept.

#include "search/relax/function_lines.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/relax/elementwise.h"

namespace assay::search {
namespace {

// Cells of a curved piece without a formula: cubics between the samples are more exact than float32 slopes need.
constexpr int kCells = 16;
constexpr double kNoLine = 1e30;     // intercept for a function without a line, through which nothing can be proved
constexpr double kMostSpread = 8;    // limits slopes: see add_curve() and add_slopes_of_jumps()
constexpr double kLongest = 0x1p51;  // staircases have no pieces beyond this magnitude
constexpr int kTrisections = 40;

bool is_staircase(const Node& node) {
  return node.op == Op::floor || node.op == Op::ceil || node.op == Op::round || (node.op == Op::cast && is_integer(node.dtype));
}

}  // namespace

bool jumps(const UnaryFunction& f) {
  return is_staircase(f.node()) || std::ranges::any_of(f.segments(), [](const Segment& s) { return s.jumps; });
}

std::optional<double> jump_inside(const UnaryFunction& f, double l, double u) {
  const double middle = l / 2 + u / 2;
  std::optional<double> nearest;
  const auto offer = [&](double jump) {
    if (!(l < jump && jump < u) || (nearest && std::fabs(*nearest - middle) <= std::fabs(jump - middle))) return;
    nearest = jump;
  };
  for (const Segment& s : f.segments()) {
    if (s.jumps) offer(s.to);
  }
  if (!is_staircase(f.node()) || !(std::max(-l, u) < kLongest)) return nearest;
  const Op op = f.node().op;
  if (op == Op::round) offer(std::floor(middle) + 0.5);
  if (op == Op::floor || op == Op::ceil) offer(std::nearbyint(middle));
  if (op != Op::cast) return nearest;
  for (const double jump : {std::nearbyint(middle), 1.0, -1.0}) {  // every integer except 0
    if (jump != 0) offer(jump);
  }
  return nearest;
}

bool FunctionLines::knows(const UnaryFunction& f) { return !f.segments().empty() || jumps(f); }

// Runs once for the boxes of a step's elements: finds the pieces, and samples the curves that have no formula.
void FunctionLines::prepare(const UnaryFunction& f, std::size_t size, const double* lo, const double* hi) {
  const Formula* formula = formula_of(f.node().op);
  formula_ = formula != nullptr && formula->touching_point != nullptr ? formula : nullptr;
  if (const auto* power = std::get_if<PowAttributes>(&f.node().attributes))
    constants_.first = power->exponent.double_down() / 2 + power->exponent.double_up() / 2;
  const std::vector<Element> elements = std::exchange(elements_, std::vector<Element>(size));
  const std::vector<Part> parts = std::exchange(parts_, {});
  const std::vector<Sample> samples = std::exchange(samples_, {});
  const bool has_jumps = jumps(f);
  for (std::size_t j = 0; j < size; ++j) {
    Element& element = elements_[j];
    const auto first = static_cast<std::uint32_t>(parts_.size());
    if (j < elements.size() && elements[j].lo == lo[j] && elements[j].hi == hi[j]) {
      element = elements[j];
      for (std::uint32_t k = element.first; k < element.last; ++k) {
        Part part = parts[k];
        samples_.insert(samples_.end(), samples.begin() + part.first, samples.begin() + part.last);
        part.last = static_cast<std::uint32_t>(samples_.size());
        part.first = part.last - (parts[k].last - parts[k].first);
        parts_.push_back(part);
      }
      element.first = first;
      element.last = static_cast<std::uint32_t>(parts_.size());
      continue;
    }
    element.lo = lo[j];
    element.hi = hi[j];
    element.first = element.last = first;
    prepare(f, has_jumps, element);
  }
}

void FunctionLines::prepare(const UnaryFunction& f, bool has_jumps, Element& element) {
  if (!(std::isfinite(element.lo) && std::isfinite(element.hi) && element.lo <= element.hi)) return;
  element.middle = element.lo / 2 + element.hi / 2;
  element.least = INFINITY;
  element.most = -INFINITY;
  for (const Piece& piece : f.pieces(element.lo, element.hi)) add(f, piece, element);
  element.last = static_cast<std::uint32_t>(parts_.size());
  if (has_jumps && element.first < element.last) add_slopes_of_jumps(element);
  if (std::isfinite(element.least) && std::isfinite(element.most)) return;
  element.least = element.most = 0;
  element.last = element.first;
}

void FunctionLines::add(const UnaryFunction& f, const Piece& piece, Element& element) {
  if (piece.curve != Curve::by_derivative) return add_curve(f, piece, element);
  Part part{piece.curve,
            static_cast<std::uint32_t>(samples_.size()),
            0,
            piece.b / 2 + piece.c / 2,
            piece.at_middle.lo(),
            piece.at_middle.hi(),
            piece.derivative.lo(),
            piece.derivative.hi()};
  for (const double z : {piece.b, piece.c}) samples_.push_back({z, 0, 0});
  element.least = std::min(element.least, part.least_derivative);
  element.most = std::max(element.most, part.most_derivative);
  part.last = static_cast<std::uint32_t>(samples_.size());
  parts_.push_back(part);
}

// Samples values and derivatives at a few points; a cubic between neighbouring points stands for the curve. With a
// formula, slopes differ from the chord's by at most kMostSpread times the distance to the nearer end's slope.
void FunctionLines::add_curve(const UnaryFunction& f, const Piece& piece, Element& element) {
  Part part{piece.curve, static_cast<std::uint32_t>(samples_.size()), 0, 0, 0, 0, 0, 0};
  const bool formula = formula_ != nullptr;
  const int cells = !(piece.b < piece.c) ? 0 : piece.curve == Curve::linear || formula ? 1 : kCells;
  for (int k = 0; k <= cells; ++k) {
    const double z = k == cells ? piece.c : piece.b + (piece.c - piece.b) * k / kCells;
    samples_.push_back({z, f.value(z), 0});
  }
  part.last = static_cast<std::uint32_t>(samples_.size());
  parts_.push_back(part);
  Sample &b = samples_[part.first], &c = samples_[part.last - 1];
  const double chord = cells > 0 ? (c.value - b.value) / (piece.c - piece.b) : f.derivative(piece.b);
  double least = INFINITY, most = -INFINITY;
  for (std::size_t k = part.first; k < part.last; ++k) {
    samples_[k].derivative = cells > 0 && piece.curve != Curve::linear ? f.derivative(samples_[k].z) : chord;
    least = std::min(least, samples_[k].derivative);
    most = std::max(most, samples_[k].derivative);
  }
  if (formula && cells > 0) {  // the derivative at an end may be infinite, such as that of sqrt at 0
    const auto distance = [&](const Sample& end) { return std::isfinite(end.derivative) ? std::fabs(end.derivative - chord) : INFINITY; };
    const double spread = kMostSpread * std::min(distance(b), distance(c));
    least = std::max(std::isfinite(least) ? least : -INFINITY, chord - spread);
    most = std::min(std::isfinite(most) ? most : INFINITY, chord + spread);
  } else if (formula && !std::isfinite(least)) {
    least = most = 0;  // at a single point every slope is a valid line
  }
  element.least = std::min(element.least, least);
  element.most = std::max(element.most, most);
}

// A line over a jump touches the ends of two pieces. Its slope is at most kMostSpread times the rise of all pieces over
// their width.
void FunctionLines::add_slopes_of_jumps(Element& element) const {
  struct End {
    double z, low, high;
  };
  std::vector<End> ends;
  for (std::uint32_t k = element.first; k < element.last; ++k) {
    const Part& part = parts_[k];
    for (const double z : {samples_[part.first].z, samples_[part.last - 1].z}) {
      const double rise = part.least_derivative * (z - part.middle);
      ends.push_back({z, part.low + rise, part.high + rise});
    }
  }
  double low = INFINITY, high = -INFINITY;
  for (const End& end : ends) {
    low = std::min(low, end.low);
    high = std::max(high, end.high);
  }
  const double most = kMostSpread * (high - low) / (ends.back().z - ends.front().z);
  for (const End& left : ends) {
    for (const End& right : ends) {
      if (!(left.z < right.z)) continue;
      for (const double rise : {right.low - left.low, right.high - left.high}) {
        const double slope = std::clamp(rise / (right.z - left.z), -most, most);
        element.least = std::min(element.least, slope);
        element.most = std::max(element.most, slope);
      }
    }
  }
}

// The gap f(z) - slope z is least (greatest) at an end, or at the point of a curved piece whose derivative is
// the slope.
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
    const double at_middle = below ? part.low : part.high;
    for (const double z : {b.z, c.z}) {
      for (const double d : {part.least_derivative, part.most_derivative})
        offer(z, at_middle - slope * part.middle + (d - slope) * (z - part.middle));
    }
    return best;
  }
  offer(b.z, b.value - slope * b.z);
  offer(c.z, c.value - slope * c.z);
  if (part.curve != (below ? Curve::convex : Curve::concave)) return best;
  if (formula_ != nullptr) {
    const double z = formula_->touching_point(slope, b.z < 0, constants_);
    if (b.z < z && z < c.z) offer(z, formula_->value(z, constants_) - slope * z);
    return best;
  }
  const double sign = below ? 1 : -1;  // sign of the change of the derivative
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
  if (element.first == element.last) return {0, below ? -kNoLine : kNoLine, 0};
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
