// The catalogue's applications as the tests of semantics/ops evaluate them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "probes/catalogue.h"
#include "semantics/numbers/scalar_traits.h"
#include "semantics/ops/denote.h"

namespace assay::test {

using namespace probes;  // NOLINT: the tests speak of the catalogue all the time

inline std::vector<std::vector<std::int64_t>> draw_operands(const OpCase& one, std::mt19937_64& random) {
  std::vector<std::vector<std::int64_t>> values;
  for (std::size_t operand = 0; operand < one.shapes.size(); ++operand) {
    values.emplace_back();
    for (std::size_t i = 0; i < element_count(one.shapes[operand]); ++i) values.back().push_back(draw(random, draw_of(one, operand)));
  }
  return values;
}

template <class S>
std::vector<Array<S>> arrays_of(const OpCase& one, const std::vector<std::vector<std::int64_t>>& values) {
  std::vector<Array<S>> arrays;
  for (std::size_t operand = 0; operand < one.shapes.size(); ++operand) {
    arrays.push_back({one.shapes[operand], {}});
    for (const std::int64_t value : values[operand]) arrays.back().values.push_back(ScalarTraits<S>::from_rational(Rational(value)));
  }
  return arrays;
}

// The application's value; the graph is graph_of(one).
template <class S>
Outcome<Array<S>> denote_case(const Graph& graph, const std::vector<Array<S>>& operands) {
  std::vector<const Array<S>*> pointers;
  for (const Array<S>& operand : operands) pointers.push_back(&operand);
  return denote<S>(graph.nodes.back(), pointers);
}

// Boxes [v - 1/2, v + r], r in 0 .. 2, kept inside the domain of the op; indices stay points.
inline std::vector<Array<Interval>> boxes_of(const OpCase& one, const std::vector<std::vector<std::int64_t>>& values,
                                             std::mt19937_64& random) {
  std::vector<Array<Interval>> box = arrays_of<Interval>(one, values);
  for (std::size_t operand = 0; operand < box.size(); ++operand) {
    const Draw draw = draw_of(one, operand);
    for (Interval& side : box[operand].values) {
      double hi = side.hi() + static_cast<double>(random() % 3);
      if (draw == Draw::non_zero && side.lo() < 0 && hi >= 0) hi = side.lo();
      if (draw == Draw::index) continue;
      if (draw == Draw::truth)
        side = Interval(side.lo(), 1);
      else if (draw == Draw::whole)
        side = Interval(side.lo(), hi);
      else
        side = draw == Draw::fraction ? Interval(-0.5, hi / 4) : Interval(side.lo() - (draw == Draw::any ? 0.5 : 0.0), hi);
    }
  }
  return box;
}

}  // namespace assay::test
