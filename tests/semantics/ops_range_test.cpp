// Sharpness for every op of the catalogue: the image of a box against the range that a search over its corners finds.
#include <cmath>
#include <iostream>
#include <map>

#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

// How much wider than the range found an image may be. 1: the hull of what the corners give. Above: terms that share an operand, or
// extrema inside the box, which corners miss. Nothing here comes near "the whole line".
double allowed(Op op) {
  switch (op) {
    case Op::batch_norm:  // scale and variance occur in two terms
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::hard_swish:
    case Op::sin:
    case Op::cos:
    case Op::cosh:
    case Op::normalise:
    case Op::local_response:
      return 2;
    default:
      return 1;
  }
}

// The least or greatest value of element i over the box that a search along one coordinate after the other finds, from one corner.
double extreme(const Graph& graph, const std::vector<Array<Interval>>& box, std::vector<Array<double>> point, std::size_t i, bool most) {
  const auto value = [&] { return denote_case(graph, point).value().values[i]; };
  double best = value();
  for (int round = 0; round < 2; ++round) {
    for (std::size_t operand = 0; operand < box.size(); ++operand) {
      for (std::size_t k = 0; k < box[operand].values.size(); ++k) {
        const Interval& side = box[operand].values[k];
        if (side.is_point()) continue;
        double& x = point[operand].values[k];
        double keep = x;
        for (const double candidate : {side.lo(), side.hi()}) {
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

}  // namespace

TEST_CASE("the image of a box is the range of its corners and little more, for every op", "[ops][sharpness]") {
  std::mt19937_64 random(31);
  std::map<Op, double> widest;
  for (const OpCase& one : catalogue()) {
    const Graph graph = graph_of(one);
    const std::vector<Array<Interval>> box = boxes_of(one, draw_operands(one, random), random);
    const Array<Interval> image = denote_case(graph, box).value();
    std::vector<Array<double>> low;
    for (const Array<Interval>& operand : box) {
      low.push_back({operand.shape, {}});
      for (const Interval& side : operand.values) low.back().values.push_back(side.lo());
    }
    CAPTURE(one.name);
    for (std::size_t i = 0; i < std::min<std::size_t>(image.values.size(), 12); ++i) {
      const double found = extreme(graph, box, low, i, true) - extreme(graph, box, low, i, false);
      const double width = image.values[i].width_up(), noise = 1e-9 * (1 + image.values[i].magnitude());
      CAPTURE(i, found, width);
      CHECK(width <= allowed(one.op) * found + noise);
      if (width > noise && found > 0) widest[one.op] = std::max(widest[one.op], width / found);
    }
  }
  for (const auto& [op, ratio] : widest) {
    if (ratio > 1.001) std::cout << "width against the range of the corners: " << op_row(op).name << " " << ratio << "\n";
  }
}
