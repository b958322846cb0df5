// Sharpness for every op of the catalogue: the image of a box against the range that a search finds.
#include <cmath>
#include <iostream>
#include <map>

#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

// The factor by which an image may be wider than the range found: a quarter for points that the search misses, more where terms
// share an operand. No factor here comes near "the whole line".
double allowed(Op op) {
  switch (op) {
    case Op::bitwise_and:  // told by the sizes of the operands; ops_group_test.cpp has the cases
    case Op::bitwise_or:
    case Op::bitwise_xor:
      return INFINITY;
    case Op::reduce_prod:  // exact; several signs have to change together, which the search misses
    case Op::cumprod:
    case Op::mod:  // all remainders, where the quotient is open
      return 8;
    case Op::normalise:
      return 4;
    case Op::batch_norm:  // scale and variance occur in two terms
    case Op::arg_sort:
    case Op::step:  // the Clarke set at 0
      return 2;
    default:
      return 1.25;
  }
}

constexpr int kSteps = 4;

// The least or greatest value of element i over the box that a search along one coordinate after the other finds, from one corner.
double climbed(const Graph& graph, const std::vector<Array<Interval>>& box, std::vector<Array<double>> point, std::size_t i, bool most) {
  const auto value = [&] { return denote_case(graph, point).value().values[i]; };
  double best = value();
  for (int round = 0; round < 2; ++round) {
    for (std::size_t operand = 0; operand < box.size(); ++operand) {
      const bool fractions = is_float(graph.node(graph.inputs[operand]).dtype);
      for (std::size_t k = 0; k < box[operand].values.size(); ++k) {
        const Interval& side = box[operand].values[k];
        if (side.is_point()) continue;
        double& x = point[operand].values[k];
        double keep = x;
        for (int step = 0; step <= kSteps; ++step) {
          const double candidate = side.lo() + (side.hi() - side.lo()) * step / kSteps;
          if (!fractions && candidate != std::floor(candidate)) continue;
          x = candidate;
          const double found = value();
          if (most ? found > best : found < best) {
            best = found;
            keep = candidate;
          }
        }
        x = keep;
      }
    }
  }
  return best;
}

// From the lowest corner, the highest and a random one.
double extreme(const Graph& graph, const std::vector<Array<Interval>>& box, std::size_t i, bool most, std::mt19937_64& random) {
  double best = most ? -INFINITY : INFINITY;
  for (int start = 0; start < 3; ++start) {
    std::vector<Array<double>> corner;
    for (const Array<Interval>& operand : box) {
      corner.push_back({operand.shape, {}});
      for (const Interval& side : operand.values)
        corner.back().values.push_back(start == 1 || (start > 1 && random() % 2 == 0) ? side.hi() : side.lo());
    }
    const double found = climbed(graph, box, std::move(corner), i, most);
    best = most ? std::fmax(best, found) : std::fmin(best, found);
  }
  return best;
}

}  // namespace

TEST_CASE("the image of a box is its range and little more, for every op", "[ops][sharpness]") {
  std::mt19937_64 random(31);
  std::map<Op, double> widest;
  for (const OpCase& one : catalogue()) {
    const Graph graph = graph_of(one);
    if (graph.nodes.back().dtype == DType::boolean) continue;  // {0}, {1} or both
    const std::vector<Array<Interval>> box = boxes_of(one, draw_operands(one, random), random);
    const Array<Interval> image = denote_case(graph, box).value();
    CAPTURE(one.name);
    for (std::size_t i = 0; i < std::min<std::size_t>(image.values.size(), 3); ++i) {
      const double found = extreme(graph, box, i, true, random) - extreme(graph, box, i, false, random);
      const double width = image.values[i].width_up(), noise = 1e-9 * (1 + image.values[i].magnitude());
      CAPTURE(i, found, width);
      CHECK((width <= allowed(one.op) * found + noise || std::isinf(allowed(one.op))));
      if (width > noise && found > 0) widest[one.op] = std::max(widest[one.op], width / found);
    }
  }
  for (const auto& [op, ratio] : widest) {
    if (ratio > 1.001) std::cout << "width against the range found: " << op_row(op).name << " " << ratio << "\n";
  }
}
