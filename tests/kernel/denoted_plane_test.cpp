// Rule denoted_plane: planes of softmax, normalise and products of matrices hold at every point, and are nearer than the box
// where it is wide.
#include "kernel/relax/formula.h"
#include "semantics/ops/element_lists.h"
#include "tests/kernel/relaxation_units.h"

namespace assay::test {
namespace {

using Form = NormaliseAttributes::Form;

const std::vector<double> kModerate{-2, -1, -0.3, 0.1, 0.7, 1.9};

Unit softmax(std::int64_t n) { return {"softmax", Op::softmax, SoftmaxAttributes{1}, {{1, n}}, {0}}; }
Unit normalise(const std::string& name, Form form, double epsilon) {
  return {"normalise " + name, Op::normalise, NormaliseAttributes{{1}, epsilon, form}, {{2, 4}}, {0}};
}

std::vector<Unit> softmax_units() {
  return {softmax(1),
          softmax(4),
          {"softmax, first axis", Op::softmax, SoftmaxAttributes{0}, {{3, 2}}, {0}},
          {"log_softmax", Op::log_softmax, SoftmaxAttributes{1}, {{2, 3}}, {0}},
          {"log_sum_exp", Op::log_sum_exp, ReduceAttributes{{1}, true}, {{2, 3}}, {0}},
          {"log_sum_exp, all", Op::log_sum_exp, ReduceAttributes{{0, 1}, false}, {{2, 2}}, {0}},
          {"masked_softmax", Op::masked_softmax, MaskedSoftmaxAttributes{1, true}, {{2, 3}, {3}}, {0, 1}, -kInfinity, 1},
          {"masked_softmax, never empty", Op::masked_softmax, MaskedSoftmaxAttributes{1, false}, {{1, 3}, {1, 3}}, {0, 1}, -kInfinity, 1}};
}

std::vector<Unit> normalise_units() {
  return {normalise("centered", Form::centered, 1e-5),
          normalise("deviation", Form::deviation, 0.01),
          normalise("root_mean", Form::root_mean, 0.5),
          normalise("root_mean, exact", Form::root_mean, 0),
          normalise("l2", Form::l2, 1e-3),
          normalise("l1", Form::l1, 0.1)};
}

WindowAttributes windows(Shape kernel, Shape strides, Shape begin, std::int64_t groups) {
  WindowAttributes attributes;
  attributes.kernel = kernel;
  attributes.strides = std::move(strides);
  attributes.dilations.assign(kernel.size(), 1);
  attributes.pads_begin = std::move(begin);
  attributes.pads_end.assign(kernel.size(), 0);
  attributes.groups = groups;
  return attributes;
}

std::vector<Unit> matmul_units() {
  return {{"mul", Op::mul, NoAttributes{}, {{2, 3}, {2, 3}}, {0, 1}},
          {"mul, both broadcast", Op::mul, NoAttributes{}, {{2, 1, 2}, {3, 1}}, {0, 1}},
          {"mul, by one number", Op::mul, NoAttributes{}, {{}, {4}}, {0, 1}},
          {"matmul", Op::matmul, NoAttributes{}, {{2, 3}, {3, 2}}, {0, 1}},
          {"matmul, batches", Op::matmul, NoAttributes{}, {{2, 1, 2, 2}, {3, 2, 1}}, {0, 1}},
          {"matmul, vectors", Op::matmul, NoAttributes{}, {{3}, {3}}, {0, 1}},
          {"matmul, vector and matrix", Op::matmul, NoAttributes{}, {{2}, {2, 3}}, {0, 1}},
          {"matmul, square", Op::matmul, NoAttributes{}, {{2, 2}}, {0, 0}},
          {"gemm", Op::gemm, GemmAttributes{1, 1, false, false}, {{2, 3}, {3, 2}, {2}}, {0, 1, 2}},
          {"gemm, both transposed", Op::gemm, GemmAttributes{-0.7, 1.3, true, true}, {{3, 2}, {4, 3}, {2, 1}}, {0, 1, 2}},
          {"gemm, left transposed", Op::gemm, GemmAttributes{0.1, -1, true, false}, {{3, 2}, {3, 1}}, {0, 1}},
          {"gemm, right transposed, nothing", Op::gemm, GemmAttributes{0, 2.5, false, true}, {{1, 2}, {3, 2}, {}}, {0, 1, 2}},
          {"conv, padded, strided, with bias", Op::conv, windows({2, 2}, {2, 1}, {1, 0}, 1), {{1, 2, 3, 3}, {2, 2, 2, 2}, {2}}, {0, 1, 2}},
          {"conv of groups, batch", Op::conv, windows({2}, {1}, {0}, 2), {{2, 4, 3}, {4, 2, 2}}, {0, 1}},
          {"conv_transpose, strided, with bias",
           Op::conv_transpose,
           windows({2, 1}, {2, 2}, {1, 0}, 1),
           {{1, 2, 2, 2}, {2, 3, 2, 1}, {3}},
           {0, 1, 2}},
          {"conv_transpose of groups", Op::conv_transpose, windows({2}, {1}, {0}, 2), {{2, 4, 2}, {4, 1, 2}}, {0, 1}}};
}

void check_all(const std::vector<Unit>& units, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  for (const Unit& unit : units) {
    INFO(unit.name);
    std::size_t lines = 0, points = 0;
    for (const auto& ends : {kEnds, kModerate, std::vector<double>{0.5, 0.50001, 0.6, -0.5, -0.45, 30, 31}}) {
      const Counts counts = check_unit(unit, ends, 40, random);
      CHECK(counts.violation == "");
      lines += counts.lines;
      points += counts.points;
    }
    CHECK(lines > 200);
    CHECK(points > 1000);
  }
}

}  // namespace

TEST_CASE("softmax planes hold on every box", "[kernel][relaxation]") { check_all(softmax_units(), 31); }
TEST_CASE("normalise planes hold on every box", "[kernel][relaxation]") { check_all(normalise_units(), 32); }
TEST_CASE("matmul planes hold on every box for every mix", "[kernel][relaxation]") { check_all(matmul_units(), 33); }

// The gap between the planes falls with the square of the radius, that of the box with the radius itself.
TEST_CASE("softmax and normalise planes touch to second order", "[kernel][relaxation]") {
  const std::vector<double> x{0.2, -0.4, 1.1, 0.3};
  std::vector<Unit> units{softmax(4),
                          {"log_softmax", Op::log_softmax, SoftmaxAttributes{1}, {{1, 4}}, {0}},
                          {"log_sum_exp", Op::log_sum_exp, ReduceAttributes{{1}, true}, {{1, 4}}, {0}}};
  for (Unit unit : normalise_units()) {
    unit.shapes = {{1, 4}};
    units.push_back(unit);
  }
  for (const Unit& unit : units) {
    INFO(unit.name);
    const std::size_t size = element_count(apply(unit).graph.node(apply(unit).node).shape);
    for (std::size_t i = 0; i < size; ++i) {
      CHECK(share_of_width(unit, {around(x, 0.1)}, i) < 0.5);
      CHECK(share_of_width(unit, {around(x, 0.01)}, i) < 0.05);
      CHECK(share_of_width(unit, {around(x, 0.001)}, i) < 0.005);
    }
  }
}

namespace {

// The mean share of the box's width that the planes leave at the centre, over random boxes of 16 elements: centres normal, radii
// r / 2 to 3 r / 2.
double mean_share(const Unit& unit, double r) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal(0, 1);
  double sum = 0, count = 0;
  for (int trial = 0; trial < 10; ++trial) {
    Box x;
    for (int i = 0; i < 16; ++i) {
      const double centre = normal(random), radius = r * (0.5 + static_cast<double>(random() >> 11) * 0x1p-53);
      x.lo.push_back(centre - radius);
      x.hi.push_back(centre + radius);
    }
    const std::size_t size = range_of(apply(unit), {x})->lo.size();
    for (std::size_t i = 0; i < size; i += 5) {
      sum += share_of_width(unit, {x}, i);
      ++count;
    }
  }
  return sum / count;
}

}  // namespace

// The comments have the gaps of the formulas composed by hand: a plane of that width fails.
TEST_CASE("softmax and normalise planes: how near they are on 16 elements", "[kernel][relaxation]") {
  const auto wide = [](Unit unit) {
    unit.shapes = {{1, 16}};
    return unit;
  };
  const Unit log_softmax{"log_softmax", Op::log_softmax, SoftmaxAttributes{1}, {{1, 16}}, {0}};
  CHECK(mean_share(softmax(16), 0.1) < 0.075);  // 0.096
  CHECK(mean_share(softmax(16), 0.5) < 0.33);   // 0.38
  CHECK(mean_share(log_softmax, 0.1) < 0.025);  // 0.050
  CHECK(mean_share(log_softmax, 0.5) < 0.11);   // 0.22
  CHECK(mean_share(log_softmax, 10) < 0.6);     // 0.85
  CHECK(mean_share(wide(normalise("centered", Form::centered, 1e-5)), 0.1) < 0.12);
  CHECK(mean_share(wide(normalise("root_mean", Form::root_mean, 1e-5)), 0.5) < 0.55);
}

TEST_CASE("softmax planes: shut elements drop out, an open mask leaves the box", "[kernel][relaxation]") {
  const Unit masked{"masked_softmax", Op::masked_softmax, MaskedSoftmaxAttributes{1, true}, {{1, 3}, {3}}, {0, 1}, -kInfinity, 1};
  const Box x = box({-1, -1, -50}, {1, 1, 50});
  const AtCentre shut = at_centre(masked, {x, box({1, 1, 0}, {1, 1, 0})}, 0);
  const AtCentre two = at_centre(softmax(2), {box({-1, -1}, {1, 1})}, 0);
  CHECK(shut.above == two.above);
  CHECK(shut.below == two.below);
  CHECK(slope_of(shut.relaxation, 0, 0, 2, false) == 0);
  CHECK(without_slopes(at_centre(masked, {x, box({1, 1, 0}, {1, 1, 1})}, 0).relaxation));
  CHECK_FALSE(without_slopes(shut.relaxation));
}

TEST_CASE("softmax and normalise planes: without a better plane the box stays", "[kernel][relaxation]") {
  CHECK(without_slopes(at_centre(softmax(2), {box({-kInfinity, 0}, {kInfinity, 1})}, 0).relaxation));
  CHECK(without_slopes(at_centre(normalise("centered", Form::centered, 1e-5), {around(std::vector<double>(8, 0.0), 1e300)}, 0).relaxation));
  const AtCentre wide = at_centre(softmax(3), {around({0, 0, 0}, 400)}, 0);
  CHECK(wide.below >= 0);
  CHECK(wide.above <= 1);
}

TEST_CASE("matmul planes: the sum of the products' planes", "[kernel][relaxation]") {
  const Unit dot{"matmul", Op::matmul, NoAttributes{}, {{2}, {2}}, {0, 1}};
  const std::vector<Box> boxes{box({0, -1}, {2, 1}), box({1, 0}, {3, 4})};
  const AtCentre r = at_centre(dot, boxes, 0);
  const auto slopes = [](const Relaxation& one, std::size_t part) {
    return std::vector<double>{slope_of(one, part, 0, 0, true), slope_of(one, part, 0, 1, true)};
  };
  CHECK(slopes(r.relaxation, 0) == std::vector<double>{2, 2});
  CHECK(slopes(r.relaxation, 1) == std::vector<double>{1, 0});
  // Each product's gap is a quarter of its area: (2 * 2 + 2 * 4) / 4 on either side of 1 * 2 + 0 * 2.
  CHECK(r.below == Approx(2 - 3));
  CHECK(r.above == Approx(2 + 3));
  const std::vector<float> mix{1.0F}, none{std::numeric_limits<float>::quiet_NaN()};
  CHECK(slopes(at_centre(dot, boxes, 0, {mix, mix}).relaxation, 0) == std::vector<double>{1, 0});
  CHECK(without_slopes(at_centre(dot, boxes, 0, {none, none}).relaxation));
}

namespace {

// Boxes for the operands, every fourth element a point: of small whole quarters, of which nothing is rounded, or of any numbers.
std::vector<Box> boxes_with_points(const std::vector<Shape>& shapes, bool whole, std::mt19937_64& random) {
  const auto number = [&] {
    const double any = static_cast<double>(random() >> 11) * 0x1p-51 - 2;
    return whole ? std::round(4 * any) : any;
  };
  std::vector<Box> boxes;
  for (const Shape& shape : shapes) {
    boxes.emplace_back();
    for (std::size_t i = 0; i < element_count(shape); ++i) {
      boxes.back().lo.push_back(number());
      boxes.back().hi.push_back(boxes.back().lo.back() + (random() % 4 == 0 ? 0 : std::fabs(number())));
    }
  }
  return boxes;
}

}  // namespace

// Which elements meet is said here once more, by indices.
TEST_CASE("product planes: of two numbers McCormick's, which lose nothing where nothing is rounded", "[kernel][relaxation]") {
  std::mt19937_64 random(37);
  for (int trial = 0; trial < 300; ++trial) {
    const std::vector<std::vector<Shape>> all{{{2, 3}, {2, 3}}, {{2, 1, 2}, {3, 1}}, {{}, {4}}, {{3}, {2, 3}}};
    const std::vector<Shape>& shapes = all[random() % all.size()];
    const Applied a = apply({"mul", Op::mul, NoAttributes{}, shapes, {0, 1}});
    const std::vector<Box> boxes = boxes_with_points(shapes, true, random);
    const Box range = *range_of(a, boxes);
    const auto r = relax::denoted_plane(a.graph, a.graph.node(a.node), operand_boxes(a, boxes), range, policy::Policy({}), nullptr);
    REQUIRE(r.has_value());
    const Shape& shape = a.graph.node(a.node).shape;
    const auto of_x = ops::broadcast_elements(shapes[0], shape), of_y = ops::broadcast_elements(shapes[1], shape);
    for (std::size_t j = 0; j < range.lo.size(); ++j) {
      const Box &x = boxes[0], &y = boxes[1];
      const double x_lo = x.lo[of_x[j]], x_hi = x.hi[of_x[j]], y_lo = y.lo[of_y[j]], y_hi = y.hi[of_y[j]];
      const double of_a = x_lo == x_hi ? 0 : (y_lo + y_hi) / 2, of_b = y_lo == y_hi ? 0 : (x_lo + x_hi) / 2;
      double least = kInfinity, most = -kInfinity;
      for (const double p : {x_lo, x_hi}) {
        for (const double q : {y_lo, y_hi}) {
          least = std::min(least, p * q - of_a * p - of_b * q);
          most = std::max(most, p * q - of_a * p - of_b * q);
        }
      }
      CHECK(r->lower_intercept[j] == least);
      CHECK(r->upper_intercept[j] == most);
      for (const bool lower : {true, false}) {
        for (std::size_t i = 0; i < x.lo.size(); ++i) CHECK(slope_of(*r, 0, j, i, lower) == (i == of_x[j] ? of_a : 0));
        for (std::size_t i = 0; i < y.lo.size(); ++i) CHECK(slope_of(*r, 1, j, i, lower) == (i == of_y[j] ? of_b : 0));
      }
    }
  }
}

TEST_CASE("product planes: a formula that is read once serves every box", "[kernel][relaxation]") {
  std::mt19937_64 random(36);
  for (const Unit& unit : matmul_units()) {
    const Applied a = apply(unit);
    const Node& node = a.graph.node(a.node);
    std::size_t terms = 0, most = relax::kMostKept;
    const auto formula = relax::kept_formula(a.graph, a.node, terms);
    CHECK((formula != nullptr) == (node.op == Op::matmul || node.op == Op::mul));
    CHECK((terms > 0) == (formula != nullptr));
    CHECK(relax::kept_formula(a.graph, a.node, most) == nullptr);
    for (int trial = 0; trial < 5; ++trial) {
      const std::vector<Box> boxes = boxes_with_points(unit.shapes, false, random);
      const Box range = *range_of(a, boxes);
      const auto plane_with = [&](const relax::Formula* known) {
        return relax::relax(a.graph, node, operand_boxes(a, boxes), range, policy::Policy({}), known);
      };
      const auto again = plane_with(formula.get()), anew = plane_with(nullptr);
      REQUIRE((again.has_value() && anew.has_value()));
      CHECK(again->lower_intercept == anew->lower_intercept);
      CHECK(again->upper_intercept == anew->upper_intercept);
      for (std::size_t part = 0; part < anew->parts.size(); ++part) {
        CHECK(again->parts[part].index == anew->parts[part].index);
        CHECK(again->parts[part].lower == anew->parts[part].lower);
        CHECK(again->parts[part].upper == anew->parts[part].upper);
      }
    }
  }
}

TEST_CASE("gemm planes: alpha times the product's, and beta times the third operand exactly", "[kernel][relaxation]") {
  const Unit gemm{"gemm", Op::gemm, GemmAttributes{-2, 3, false, true}, {{1, 1}, {1, 1}, {1}}, {0, 1, 2}};
  const std::vector<Box> boxes{box({0}, {2}), box({1}, {3}), box({-1}, {5})};
  const AtCentre r = at_centre(gemm, boxes, 0);
  CHECK(r.relaxation.parts[2].lower == std::vector<double>{3});
  CHECK(r.relaxation.parts[2].upper == std::vector<double>{3});
  // -2 x y + 3 c at (1, 2, 2), and twice a quarter of the area on either side.
  CHECK(r.below == Approx(2 - 2));
  CHECK(r.above == Approx(2 + 2));
  for (const float m : {0.0F, 1.0F}) {  // at the centre every mix is as near
    const std::vector<float> mix{m};
    const AtCentre mixed = at_centre(gemm, boxes, 0, {mix, mix});
    CHECK(mixed.below == Approx(2 - 2));
    CHECK(mixed.above == Approx(2 + 2));
  }
  const AtCentre open = at_centre(gemm, {boxes[0], boxes[1], box({-1}, {kInfinity})}, 0);
  CHECK(without_slopes(open.relaxation));
}

}  // namespace assay::test
