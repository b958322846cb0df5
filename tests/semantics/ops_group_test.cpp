// Ops that take many elements together: points give enclosures of at most 4 ulp, boxes the sampled range and little more.
#include <algorithm>
#include <cmath>

#include "tests/catch.h"
#include "tests/semantics/ops_catalogue.h"

using namespace assay;
using namespace assay::test;

namespace {

using Form = NormaliseAttributes::Form;

constexpr std::int64_t kCount = 4;

struct Group {
  std::string name;
  Op op;
  Attributes attributes;
  double slack;  // of the image's width over that of the sampled range, for wide boxes: 1 where the image is exact
};

std::vector<Group> groups() {
  const double exact = 1.03;  // the samples include all corners, but not every extremum
  return {
      {"centered", Op::normalise, NormaliseAttributes{{1}, 1e-5, Form::centered}, 5},
      {"deviation", Op::normalise, NormaliseAttributes{{1}, 1e-9, Form::deviation}, 5},
      {"root_mean", Op::normalise, NormaliseAttributes{{1}, 1e-5, Form::root_mean}, exact},
      {"l2", Op::normalise, NormaliseAttributes{{1}, 1e-5, Form::l2}, exact},
      {"l1", Op::normalise, NormaliseAttributes{{1}, 1e-5, Form::l1}, exact},
      {"local_response", Op::local_response, LocalResponseAttributes{3, 1.5, 0.75, 1}, exact},
      {"cumsum", Op::cumsum, CumulativeAttributes{1, false, false}, exact},
      {"cumprod", Op::cumprod, CumulativeAttributes{1, false, false}, exact},
      {"reduce_prod", Op::reduce_prod, ReduceAttributes{{1}, true}, exact},
      {"reduce_max", Op::reduce_max, ReduceAttributes{{1}, true}, exact},
  };
}

Node node_of(const Group& one) {
  Graph graph;
  const NodeId x = graph.append_input(DType::float64, {1, kCount}, "x");
  return graph.node(graph.append(one.op, {x}, one.attributes, one.name).value());
}

template <class S>
std::vector<S> at(const Node& node, const std::vector<S>& x) {
  const Array<S> operand{{1, kCount}, x};
  const Array<S>* operands[] = {&operand};
  return denote<S>(node, operands).value().values;
}

double ulps(const Interval& x) {
  double steps = 0;
  for (double from = x.lo(); from < x.hi() && steps < 1000; ++steps) from = std::nextafter(from, HUGE_VAL);
  return steps;
}

double uniform(std::mt19937_64& random, double lo, double hi) { return lo + (hi - lo) * static_cast<double>(random() % 100001) / 100000; }

}  // namespace

TEST_CASE("groups of elements: points give at most 4 ulp, and the formula in double arithmetic lies near", "[ops][sharpness]") {
  std::mt19937_64 random(11);
  for (const Group& one : groups()) {
    const Node node = node_of(one);
    for (int round = 0; round < 40; ++round) {
      std::vector<Interval> x;
      std::vector<double> d;
      for (std::int64_t i = 0; i < kCount; ++i) {
        d.push_back(uniform(random, -3, 3));
        x.emplace_back(d.back());
      }
      CAPTURE(one.name, d);
      const std::vector<Interval> y = at(node, x);
      const std::vector<double> near = at(node, d);
      for (std::size_t i = 0; i < y.size(); ++i) {
        REQUIRE_FALSE(y[i].is_undefined());
        CHECK(ulps(y[i]) <= 4);
        CHECK(std::fabs(near[i] - y[i].midpoint()) <= 1e-12 * (1 + std::fabs(near[i])));
      }
    }
  }
}

TEST_CASE("groups of elements: the image of a box is the sampled range and little more", "[ops][sharpness]") {
  std::mt19937_64 random(12);
  for (const Group& one : groups()) {
    const Node node = node_of(one);
    for (int round = 0; round < 12; ++round) {
      const double radius = round % 3 == 0 ? 0.01 : round % 3 == 1 ? 0.5 : 2;
      std::vector<Interval> box;
      for (std::int64_t i = 0; i < kCount; ++i) {
        const double c = uniform(random, -3, 3);
        box.emplace_back(c - uniform(random, 0, radius), c + uniform(random, 0, radius));
      }
      const std::vector<Interval> image = at(node, box);
      std::vector<double> least(image.size(), HUGE_VAL), most(image.size(), -HUGE_VAL);
      constexpr int kCorners = 1 << kCount, kSamples = 20000;
      for (int sample = 0; sample < kSamples; ++sample) {
        std::vector<double> x;
        for (std::size_t i = 0; i < box.size(); ++i) {
          // corners first; then single elements move along edges, where extrema inside an edge are
          const bool moves = sample >= kCorners && (static_cast<std::size_t>(sample) % (2 * kCount) == i || random() % 4 == 0);
          const bool high = sample < kCorners ? ((sample >> i) & 1) != 0 : random() % 2 == 0;
          const double anywhere = random() % 2 == 0 ? uniform(random, box[i].lo(), box[i].hi()) : std::clamp(0.0, box[i].lo(), box[i].hi());
          x.push_back(moves ? anywhere : high ? box[i].hi() : box[i].lo());
        }
        const std::vector<double> y = at(node, x);
        for (std::size_t i = 0; i < y.size(); ++i) {
          least[i] = std::min(least[i], y[i]);
          most[i] = std::max(most[i], y[i]);
        }
      }
      CAPTURE(one.name, round);
      for (std::size_t i = 0; i < image.size(); ++i) {
        CAPTURE(i, image[i].lo(), least[i], most[i], image[i].hi());
        const double rounding = 1e-12 * (1 + image[i].magnitude());
        CHECK(image[i].lo() <= least[i] + rounding);
        CHECK(image[i].hi() >= most[i] - rounding);
        const bool is_small = round % 3 == 0;  // right to the first order there
        const double slack = is_small ? 1.2 : one.slack;
        const double flat = is_small || one.slack < 2 ? 0 : 0.1;  // of 2 sqrt(n - 1): the range is flat at its ends, the image is not
        CHECK(image[i].hi() - image[i].lo() <= slack * (most[i] - least[i]) + flat + rounding);
      }
    }
  }
}

TEST_CASE("normalised values never leave their natural range, however wide the box", "[ops][sharpness]") {
  const std::vector<Interval> box(kCount, Interval(-1e6, 1e6));
  const double root = std::sqrt(3.0);  // |y_i| <= sqrt(n - 1)
  for (const Form form : {Form::centered, Form::root_mean, Form::l2, Form::l1}) {
    const Node node = node_of({"wide", Op::normalise, NormaliseAttributes{{1}, 1e-5, form}, 1});
    const double limit = form == Form::centered ? root : form == Form::root_mean ? 2.0 : 1.0;
    for (const Interval& y : at(node, box)) CHECK(y.magnitude() <= limit * (1 + 1e-12));
  }
}

TEST_CASE("a group without a positive divisor is undefined", "[ops]") {
  for (const Form form : {Form::centered, Form::deviation, Form::root_mean, Form::l2, Form::l1}) {
    const Node node = node_of({"zero", Op::normalise, NormaliseAttributes{{1}, 0, form}, 1});
    for (const Interval& y : at(node, std::vector<Interval>(kCount, Interval(0.0)))) CHECK(y.is_undefined());
  }
}

TEST_CASE("positions over boxes are the hull of those that can be reached", "[ops]") {
  const auto place = [](Op op, bool last, const std::vector<Interval>& x) {
    return at(node_of({"", op, ArgAttributes{1, true, last}, 1}), x)[0];
  };
  CHECK(place(Op::arg_max, false, {{0, 1}, {2, 3}, {2.5, 4}, {0, 2}}) == Interval(1, 2));
  CHECK(place(Op::arg_max, false, {{0, 2}, {2, 2}, {1, 2}, {0, 2}}) == Interval(0, 1));  // ties go to the first: 2 and 3 never win
  CHECK(place(Op::arg_max, true, {{0, 2}, {2, 2}, {1, 2}, {0, 2}}) == Interval(1, 3));
  CHECK(place(Op::arg_min, false, {{0, 1}, {2, 3}, {0.5, 4}, {5, 6}}) == Interval(0, 2));
  CHECK(place(Op::arg_min, false, {{0, 1}, Interval::undefined(), {0.5, 4}, {5, 6}}).is_undefined());
}

TEST_CASE("masked softmax: shut elements do not count, open ones widen the range, an empty line is 0 only where it says so", "[ops]") {
  const auto masked = [](bool empty_is_zero, const std::vector<Interval>& x, const std::vector<Interval>& mask) {
    Graph graph;
    const auto n = static_cast<std::int64_t>(x.size());
    const NodeId values = graph.append_input(DType::float64, {n}, "x"), gate = graph.append_input(DType::boolean, {n}, "m");
    const NodeId y = graph.append(Op::masked_softmax, {values, gate}, MaskedSoftmaxAttributes{0, empty_is_zero}).value();
    const Array<Interval> a{{n}, x}, b{{n}, mask};
    const Array<Interval>* operands[] = {&a, &b};
    return denote<Interval>(graph.node(y), operands).value().values;
  };
  const Interval shut(0.0), open(1.0), either(0, 1), none = Interval::undefined(), zero(0.0);
  const std::vector<Interval> pair = masked(false, {zero, none, zero}, {open, shut, open});
  CHECK(pair == std::vector<Interval>{Interval(0.5), zero, Interval(0.5)});
  const std::vector<Interval> perhaps = masked(false, {zero, zero}, {open, either});
  CHECK(perhaps == std::vector<Interval>{Interval(0.5, 1), Interval(0, 0.5)});
  for (const Interval& y : masked(true, {zero, none}, {shut, shut})) CHECK(y == zero);
  for (const Interval& y : masked(false, {zero, zero}, {shut, shut})) CHECK(y.is_undefined());
  for (const Interval& y : masked(false, {zero, zero}, {either, shut})) CHECK(y.is_undefined());
  CHECK(masked(true, {zero, zero}, {either, shut})[0] == Interval(0, 1));
  CHECK(masked(true, {zero, zero}, {none, open})[1].is_undefined());
}

TEST_CASE("bits of sets contain the bits of their points", "[ops]") {
  std::mt19937_64 random(13);
  for (const Op op : {Op::bitwise_and, Op::bitwise_or, Op::bitwise_xor}) {
    Graph graph;
    const NodeId a = graph.append_input(DType::int8, {1}, "a"), b = graph.append_input(DType::int8, {1}, "b");
    const Node node = graph.node(graph.append(op, {a, b}).value());
    for (int round = 0; round < 300; ++round) {
      const auto side = [&] {
        const int p = static_cast<int>(random() % 256) - 128, q = p + static_cast<int>(random() % (random() % 2 == 0 ? 4 : 100));
        return std::pair<int, int>{p, std::min(q, 127)};
      };
      const auto [p_lo, p_hi] = side();
      const auto [q_lo, q_hi] = side();
      const Array<Interval> x{{1}, {Interval(p_lo, p_hi)}}, y{{1}, {Interval(q_lo, q_hi)}};
      const Array<Interval>* operands[] = {&x, &y};
      const Interval image = denote<Interval>(node, operands).value().values[0];
      CAPTURE(op_row(op).name, p_lo, p_hi, q_lo, q_hi);
      REQUIRE_FALSE(image.is_undefined());
      for (int p = p_lo; p <= p_hi; ++p) {
        for (int q = q_lo; q <= q_hi; ++q) {
          const int exact = op == Op::bitwise_and ? p & q : op == Op::bitwise_or ? p | q : p ^ q;
          if (!image.contains(static_cast<double>(exact))) FAIL_CHECK(p << " " << q << " " << exact);
        }
      }
    }
  }
}
