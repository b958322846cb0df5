// One node on its own operands, boxes and points for it, and the test that a relaxation holds: shared by the tests of kernel/relax.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "kernel/relax/relaxation.h"
#include "policy/policy.h"
#include "semantics/numbers/wide_interval.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {

using policy::SlopeHints;
using relax::Relaxation;

// A digest of all relaxations of a run, bit for bit. With ASSAY_DIGEST set, a run ends by printing it, for comparisons of two
// builds.
class Digest {
 public:
  static Digest& of_run() {
    static Digest digest;
    return digest;
  }
  ~Digest() {
    if (std::getenv("ASSAY_DIGEST") != nullptr) std::printf("relaxations %llu digest %016llx\n", count_, hash_);
  }
  void add(const std::optional<Relaxation>& relaxation) {
    ++count_;
    if (!relaxation) return add(0.5);
    for (const Relaxation::Part& part : relaxation->parts) {
      for (const std::uint32_t i : part.index) add(i);
      for (const std::uint32_t i : part.start) add(i);
      for (const double v : part.lower) add(v);
      for (const double v : part.upper) add(v);
    }
    for (const double v : relaxation->lower_intercept) add(v);
    for (const double v : relaxation->upper_intercept) add(v);
  }

 private:
  void add(double value) {
    if (value == 0 || value != value) value = value == 0 ? 0.0 : kNaN;  // one zero and one NaN
    hash_ = (hash_ ^ std::bit_cast<std::uint64_t>(value)) * 0x100000001b3;
    hash_ ^= hash_ >> 29;
  }
  unsigned long long hash_ = 0xcbf29ce484222325, count_ = 0;
};

inline std::optional<Relaxation> relaxed(const Graph& graph, const Node& node, std::span<const Box* const> boxes, const Box& result,
                                         const SlopeHints& hints) {
  auto relaxation = relax::relax(graph, node, boxes, result, policy::Policy(hints));
  Digest::of_run().add(relaxation);
  return relaxation;
}

// One node on inputs of the given shapes; mul with the operand list {0, 0} is the square.
struct Unit {
  std::string name;
  Op op;
  Attributes attributes;
  std::vector<Shape> shapes;
  std::vector<std::size_t> operands;  // indices of the inputs
  double least = -kInfinity;          // of the domain
  std::size_t boolean = 99;           // the input that is a truth value
  std::size_t integer = 99;           // the input that is an integer
};

inline Unit unary(std::string name, Op op, Attributes attributes = NoAttributes{}, double least = -kInfinity) {
  return {std::move(name), op, std::move(attributes), {{1}}, {0}, least};
}
inline Unit power(const Rational& exponent, double least = -kInfinity) {
  return unary("pow " + exponent.to_string(), Op::pow, PowAttributes{exponent}, least);
}

struct Applied {
  Graph graph;
  NodeId node = 0;
};

inline Applied apply(const Unit& unit) {
  Applied result;
  std::vector<NodeId> inputs, operands;
  for (const Shape& shape : unit.shapes) {
    const DType dtype = inputs.size() == unit.boolean ? DType::boolean : inputs.size() == unit.integer ? DType::int64 : DType::float64;
    inputs.push_back(result.graph.append_input(dtype, shape, "x"));
  }
  for (const std::size_t i : unit.operands) operands.push_back(inputs[i]);
  result.node = take(result.graph.append(unit.op, operands, unit.attributes, unit.name));
  return result;
}

template <class S>
Outcome<Array<S>> evaluate_unit(const Applied& a, const std::vector<std::vector<S>>& inputs) {
  std::vector<Array<S>> arrays;
  for (const NodeId id : a.graph.node(a.node).operands) arrays.push_back({a.graph.node(id).shape, inputs[id]});
  std::vector<const Array<S>*> pointers;
  for (const auto& array : arrays) pointers.push_back(&array);
  return denote<S>(a.graph.node(a.node), pointers);
}

// Ends, neighbours of the ends, break points, and points between.
inline std::vector<double> points_of(double l, double u, std::mt19937_64& random) {
  std::vector<double> points{l, u, above(l), below(u), 0.0, -1.0, 2.0, 0.5, 1.0, 0x1p-1074, -0x1p-1074, l / 2 + u / 2};
  points.push_back(l + static_cast<double>(random() >> 11) * 0x1p-53 * (u - l));
  const double jump = std::floor(points.back()) + (random() % 2 == 0 ? 0.0 : 0.5);
  points.insert(points.end(), {jump, above(jump), below(jump)});
  std::erase_if(points, [&](double p) { return !(std::isfinite(p) && l <= p && p <= u); });
  return points;
}

struct Counts {
  std::size_t lines = 0, points = 0;
  std::string violation;  // the first one
};

// The relaxation holds at one point, given per input; y is its value to 256 bits.
inline void check_point(const Relaxation& r, const std::vector<std::vector<double>>& x, const std::vector<WideInterval>& y,
                        Counts& counts) {
  for (std::size_t j = 0; j < y.size(); ++j) {
    for (const bool lower : {true, false}) {
      const double intercept = (lower ? r.lower_intercept : r.upper_intercept)[j];
      bool finite = std::isfinite(intercept);
      Rational line = finite ? exactly(intercept) : Rational(0);
      for (const Relaxation::Part& part : r.parts) {
        for (std::size_t k = part.first(j); k < part.last(j); ++k) {
          const double slope = (lower ? part.lower : part.upper)[k];
          finite = finite && std::isfinite(slope);
          if (finite && slope != 0) line += exactly(slope) * exactly(x[part.operand][part.element(k)]);
        }
      }
      if (!finite) continue;  // says nothing, or poisons the row (scope_hints below)
      ++counts.points;
      const auto y_end = lower ? y[j].hi() : y[j].lo();
      if (!y_end || (lower ? line <= *y_end : line >= *y_end) || !counts.violation.empty()) continue;
      counts.violation = std::string(lower ? "lower" : "upper") + " line of element " + std::to_string(j) + " at " +
                         std::to_string(x[r.parts[0].operand][0]);
    }
  }
}

inline const std::vector<double> kEnds{-kInfinity, -1e300, -100, -3, -0.75, 0, 0x1p-1074, 0.25, 2, 7, 1e300, kInfinity};

inline std::vector<std::vector<float>> proposals(std::size_t size, std::mt19937_64& random) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<std::vector<float>> result{{}};
  for (const float s : {0.0F, 1.0F, -1.0F, 0.1F, 1.5F, 1e-45F, -3e38F, infinity, std::numeric_limits<float>::quiet_NaN()}) {
    result.emplace_back(size, s);
  }
  result.emplace_back(size);
  for (float& s : result.back()) {
    s = static_cast<float>(static_cast<double>(random() >> 11) * 0x1p-53 * 4 - 1.5);
  }
  return result;
}

// A box per input with ends from `ends`; every fourth trial has points only, every second one finite ends.
inline std::vector<Box> random_boxes(const Unit& unit, const std::vector<double>& ends, int trial, std::mt19937_64& random) {
  std::vector<Box> boxes;
  for (std::size_t k = 0; k < unit.shapes.size(); ++k) {
    boxes.emplace_back();
    for (std::size_t i = 0; i < element_count(unit.shapes[k]); ++i) {
      double l = 0, u = 0;
      do {
        l = k == unit.boolean ? static_cast<double>(random() % 2) : ends[random() % ends.size()];
        u = trial % 4 == 0 ? l : k == unit.boolean ? static_cast<double>(random() % 2) : ends[random() % ends.size()];
      } while (!(l <= u) || (l == u && !std::isfinite(l)) || (trial % 2 == 0 && !(std::isfinite(l) && std::isfinite(u))));
      boxes.back().lo.push_back(l);
      boxes.back().hi.push_back(u);
    }
  }
  return boxes;
}

// The node's own box on its operands' boxes; nullopt where it is not defined on all of them.
inline std::optional<Box> range_of(const Applied& a, const std::vector<Box>& boxes) {
  std::vector<std::vector<Interval>> intervals;
  for (const Box& box : boxes) {
    intervals.emplace_back();
    for (std::size_t i = 0; i < box.lo.size(); ++i) intervals.back().emplace_back(box.lo[i], box.hi[i]);
  }
  const auto range = evaluate_unit<Interval>(a, intervals);
  if (!range) return std::nullopt;
  Box result;
  for (const Interval& v : range.value().values) {
    if (v.is_undefined()) return std::nullopt;
    result.lo.push_back(v.lo());
    result.hi.push_back(v.hi());
  }
  return result;
}

inline std::vector<const Box*> operand_boxes(const Applied& a, const std::vector<Box>& boxes) {
  std::vector<const Box*> operands;
  for (const NodeId id : a.graph.node(a.node).operands) operands.push_back(&boxes[id]);
  return operands;
}

// The relaxation at corners of these boxes and at points inside.
inline void check_inside(const Unit& unit, const Applied& a, const std::vector<Box>& boxes, const Relaxation& r, std::mt19937_64& random,
                         Counts& counts) {
  ++counts.lines;
  for (int sample = 0; sample < 8; ++sample) {
    std::vector<std::vector<double>> at;
    std::vector<std::vector<WideInterval>> wide;
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      at.emplace_back();
      wide.emplace_back();
      for (std::size_t i = 0; i < boxes[k].lo.size(); ++i) {
        std::vector<double> points = points_of(boxes[k].lo[i], boxes[k].hi[i], random);
        if (k == unit.boolean) std::erase_if(points, [](double p) { return p != 0 && p != 1; });
        if (k == unit.integer) std::erase_if(points, [](double p) { return p != std::floor(p); });
        at.back().push_back(points[sample < 4 ? random() % std::min<std::size_t>(2, points.size()) : random() % points.size()]);
        wide.back().emplace_back(at.back().back());
      }
    }
    check_point(r, at, take(evaluate_unit<WideInterval>(a, wide)).values, counts);
  }
}

// The same for every kind of hint.
inline void check_planes(const Unit& unit, const Applied& a, const std::vector<Box>& boxes, std::mt19937_64& random, Counts& counts) {
  const auto result = range_of(a, boxes);
  if (!result) return;
  const std::vector<const Box*> operands = operand_boxes(a, boxes);
  for (const auto& hint : proposals(result->lo.size(), random)) {
    const auto r = relaxed(a.graph, a.graph.node(a.node), operands, *result, SlopeHints{hint, hint});
    REQUIRE(r.has_value());
    check_inside(unit, a, boxes, *r, random, counts);
  }
}

// Lines and planes of one unit on many boxes.
inline Counts check_unit(const Unit& unit, const std::vector<double>& ends, int trials, std::mt19937_64& random) {
  Counts counts;
  const Applied a = apply(unit);
  for (int trial = 0; trial < trials; ++trial) check_planes(unit, a, random_boxes(unit, ends, trial, random), random, counts);
  return counts;
}

// The greatest value of the upper plane at the corners' mean, and the least of the lower one, for the kernel's own slopes.
struct AtCentre {
  double below, above;
  Relaxation relaxation;
};
inline AtCentre at_centre(const Unit& unit, const std::vector<Box>& boxes, std::size_t element, const SlopeHints& hints = {}) {
  const Applied a = apply(unit);
  const Box result = *range_of(a, boxes);
  const auto r = relaxed(a.graph, a.graph.node(a.node), operand_boxes(a, boxes), result, hints);
  REQUIRE(r.has_value());
  AtCentre value{r->lower_intercept[element], r->upper_intercept[element], *r};
  for (const Relaxation::Part& part : r->parts) {
    const Box& box = boxes[part.operand];
    for (std::size_t k = part.first(element); k < part.last(element); ++k) {
      const double middle = box.lo[part.element(k)] / 2 + box.hi[part.element(k)] / 2;
      value.below += part.lower[k] * middle;
      value.above += part.upper[k] * middle;
    }
  }
  return value;
}

inline Box box(std::vector<double> lo, std::vector<double> hi) { return {std::move(lo), std::move(hi)}; }

// Radius-r box around the point.
inline Box around(const std::vector<double>& x, double r) {
  Box result;
  for (const double v : x) {
    result.lo.push_back(v - r);
    result.hi.push_back(v + r);
  }
  return result;
}

// The distance of the two planes at the centre, over the width of the box.
inline double share_of_width(const Unit& unit, const std::vector<Box>& boxes, std::size_t element) {
  const Box range = *range_of(apply(unit), boxes);
  const AtCentre planes = at_centre(unit, boxes, element);
  return (planes.above - planes.below) / (range.hi[element] - range.lo[element]);
}

// The slope of the plane of result element j in an element of an operand, given by its part.
inline double slope_of(const Relaxation& r, std::size_t part, std::size_t j, std::size_t element, bool lower) {
  double slope = 0;
  for (std::size_t k = r.parts[part].first(j); k < r.parts[part].last(j); ++k) {
    if (r.parts[part].element(k) == element) slope += (lower ? r.parts[part].lower : r.parts[part].upper)[k];
  }
  return slope;
}

inline bool without_slopes(const Relaxation& r) {
  return std::ranges::all_of(r.parts, [](const auto& part) {
    return std::ranges::all_of(part.lower, [](double s) { return s == 0; }) &&
           std::ranges::all_of(part.upper, [](double s) { return s == 0; });
  });
}

}  // namespace assay::test
