// Rules derive facts that hold for all choices (kernel/relax/choices.h): choices at random, NaN, infinite, of a wrong number,
// beyond the candidates.
#include "tests/kernel/relaxation_units.h"

namespace assay::test {
namespace {

class Arbitrary final : public relax::Choices {
 public:
  explicit Arbitrary(std::mt19937_64& random) : random_(random) {}
  bool insists(bool) const override { return random_() % 2 == 0; }
  relax::ChosenSides relu_slopes(std::size_t, double, double) const override { return {number(), number()}; }
  relax::ChosenLine line(std::size_t, const UnaryFunction&, std::span<const Piece>, bool) const override { return any_line(); }
  relax::ChosenLine line_of_step(const UnaryFunction&, std::span<const Piece>, bool) const override { return any_line(); }
  relax::ChosenSides mixes(std::size_t) const override { return {number(), number()}; }
  relax::ExponentialWeights weights(std::span<const Interval> ranges) const override {
    relax::ExponentialWeights result{number(), {}};
    const std::size_t count = random_() % 4 == 0 ? random_() % (2 * ranges.size() + 1) : ranges.size();
    for (std::size_t k = 0; k < count; ++k) result.weights.push_back(number());
    return result;
  }
  double shift(double, const Interval&, const Interval&) const override { return number(); }
  double chord(const Interval&, const Interval&, const Interval&, const Interval&) const override { return number(); }
  std::vector<relax::Weighted> weighted(std::span<const Interval> x, std::span<const std::size_t>) const override {
    std::vector<relax::Weighted> result(random_() % 3);
    for (relax::Weighted& one : result) one = {position(x.size()), position(x.size()), number(), number()};
    return result;
  }
  std::optional<std::size_t> candidate(std::size_t, std::span<const Interval> x, std::span<const std::size_t>, double,
                                       bool) const override {
    return random_() % 4 == 0 ? std::nullopt : std::optional(position(x.size()));
  }

 private:
  double number() const {
    static const std::vector<double> kOdd{0, 1, -1, 0.5, 1e-300, 1e300, -1e300, kInfinity, -kInfinity, kNaN};
    const bool odd = random_() % 6 == 0;
    return odd ? kOdd[random_() % kOdd.size()] : static_cast<double>(random_() >> 11) * 0x1p-51 - 1.5;
  }
  std::size_t position(std::size_t size) const { return random_() % 8 == 0 ? size << 40 : random_() % size; }
  relax::ChosenLine any_line() const { return {number(), {number(), number(), number()}}; }
  std::mt19937_64& random_;
};

}  // namespace

TEST_CASE("choices: whatever a rule is given, its lines and planes hold", "[kernel][relaxation]") {
  const std::vector<Unit> units{
      unary("relu", Op::relu),
      unary("gelu", Op::gelu, GeluAttributes{false}),
      unary("atan", Op::atan),
      unary("floor", Op::floor),
      unary("sin", Op::sin),
      {"mul", Op::mul, NoAttributes{}, {{2}, {2}}, {0, 1}},
      {"div", Op::div, NoAttributes{}, {{2}, {2}}, {0, 1}},
      {"matmul", Op::matmul, NoAttributes{}, {{2, 2}, {2, 2}}, {0, 1}},
      {"softmax", Op::softmax, SoftmaxAttributes{1}, {{1, 4}}, {0}},
      {"log_sum_exp", Op::log_sum_exp, ReduceAttributes{{1}, true}, {{1, 4}}, {0}},
      {"normalise", Op::normalise, NormaliseAttributes{{1}, 0.5, NormaliseAttributes::Form::deviation}, {{1, 3}}, {0}},
      {"max", Op::max, NoAttributes{}, {{2}, {2}, {1}}, {0, 1, 2}},
      {"min", Op::min, NoAttributes{}, {{3}, {3}}, {0, 1}},
      {"reduce_max", Op::reduce_max, ReduceAttributes{{0}, false}, {{4}}, {0}},
      {"sort", Op::sort, SortAttributes{0, 3, true}, {{4}}, {0}},
      {"where", Op::where, NoAttributes{}, {{2}, {2}, {2}}, {0, 1, 2}, -kInfinity, 0}};
  std::mt19937_64 random(41);
  const Arbitrary choices(random);
  for (const Unit& unit : units) {
    INFO(unit.name);
    const Applied a = apply(unit);
    Counts counts;
    std::size_t with_slopes = 0;
    for (int trial = 0; trial < 600; ++trial) {
      const auto boxes = random_boxes(unit, trial % 5 == 0 ? kEnds : std::vector<double>{-2, -1.2, -0.3, 0.1, 0.7, 1.9}, trial, random);
      const auto range = range_of(a, boxes);
      if (!range) continue;
      const auto r = relax::relax(a.graph, a.graph.node(a.node), operand_boxes(a, boxes), *range, choices);
      REQUIRE(r.has_value());
      with_slopes += without_slopes(*r) ? 0 : 1;
      check_inside(unit, a, boxes, *r, random, counts);
    }
    CHECK(counts.violation == "");
    CHECK(counts.points > 4000);
    CHECK(with_slopes > 30);
  }
}

}  // namespace assay::test
