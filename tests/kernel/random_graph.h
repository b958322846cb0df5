// Random small graphs over one input, with sampled points of the region and their values to 256 bits.
#pragma once

#include <random>

#include "semantics/numbers/wide_interval.h"
#include "tests/kernel/kernel_problems.h"

namespace assay::test {

class RandomGraph {
 public:
  explicit RandomGraph(std::uint64_t seed) : random_(seed) {}

  // A graph with an input [1, 2..4] and about `size` further nodes of rank 2, the last of which is the output.
  // `algebraic`: nothing that leaves the rationals.
  Graph make(std::size_t size, bool algebraic) {
    graph_ = {};
    rows_.clear();
    rows_.push_back(graph_.append_input(DType::float64, {1, 2 + pick(3)}, "x"));
    while (graph_.nodes.size() < size || rows_.size() < 3) grow(algebraic);
    graph_.mark_output(rows_.back(), "y");
    if (pick(3) == 0) graph_.mark_output(rows_[rows_.size() - 2], "y2");
    return graph_;
  }
  std::int64_t pick(std::int64_t n) { return static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(n)); }
  double real(double lo, double hi) { return lo + (hi - lo) * (static_cast<double>(random_() >> 11) * 0x1p-53); }
  // Quarters, arbitrary doubles, zeros.
  double weight() { return pick(3) == 0 ? static_cast<double>(pick(9) - 4) / 4 : pick(6) == 0 ? 0.0 : real(-1.5, 1.5); }
  std::vector<double> weights(std::int64_t n) {
    std::vector<double> result(static_cast<std::size_t>(n));
    for (double& w : result) w = weight();
    return result;
  }

 private:
  NodeId any() { return rows_[static_cast<std::size_t>(pick(static_cast<std::int64_t>(rows_.size())))]; }
  [[nodiscard]] std::int64_t width(NodeId id) const { return graph_.node(id).shape[1]; }
  NodeId constant(Shape shape) {
    const auto count = static_cast<std::int64_t>(element_count(shape));
    return graph_.append_constant(tensor(std::move(shape), weights(count)));
  }
  NodeId append(Op op, std::vector<NodeId> operands, Attributes attributes = NoAttributes{}) {
    return take(graph_.append(op, std::move(operands), std::move(attributes), std::string(op_row(op).name)));
  }
  NodeId reshape(NodeId x, Shape shape) { return append(Op::reshape, {x}, ShapeAttributes{std::move(shape)}); }
  NodeId flat(NodeId x) { return reshape(x, {1, static_cast<std::int64_t>(graph_.size(x))}); }
  // Another node of the same width, or a gemm of one.
  NodeId matching(std::int64_t n) {
    for (int attempt = 0; attempt < 4; ++attempt) {
      const NodeId other = any();
      if (width(other) == n) return other;
    }
    return gemm(any(), n);
  }
  NodeId gemm(NodeId x, std::int64_t n) {
    switch (pick(4)) {
      case 0:
        return append(Op::gemm, {x, constant({n, width(x)}), constant({n})}, GemmAttributes{1, 1, false, true});
      case 1:
        return append(Op::gemm, {x, constant({width(x), n}), constant({1, n})}, GemmAttributes{weight(), -0.5, false, false});
      case 2:
        return append(Op::matmul, {x, constant({width(x), n})});
      default: {  // the weight on the left: [n, w] [w, 1]
        const NodeId column = append(Op::permute, {x}, PermuteAttributes{{1, 0}});
        return append(Op::permute, {append(Op::gemm, {constant({n, width(x)}), column, constant({n, 1})}, GemmAttributes{})},
                      PermuteAttributes{{1, 0}});
      }
    }
  }
  static WindowAttributes window(std::int64_t k, std::int64_t stride, std::int64_t dilation, std::int64_t before, std::int64_t after,
                                 std::int64_t groups) {
    WindowAttributes w;
    w.kernel = {k};
    w.strides = {stride};
    w.dilations = {dilation};
    w.pads_begin = {before};
    w.pads_end = {after};
    w.groups = groups;
    return w;
  }
  // [1, n] as channels x positions through a convolution or a pool.
  NodeId windowed(NodeId x) {
    const NodeId wide = gemm(x, 8);
    const NodeId image = reshape(wide, {1, 2, 4});
    switch (pick(5)) {
      case 0:
        return flat(append(Op::conv, {image, constant({2, 2, 2}), constant({2})}, window(2, 1 + pick(2), 1 + pick(2), pick(2), 1, 1)));
      case 1:
        return flat(append(Op::conv, {image, constant({4, 1, 3})}, window(3, 2, 1, 1, pick(2), 2)));
      case 2:
        return flat(append(Op::conv_transpose, {image, constant({2, 1, 2}), constant({1})}, window(2, 2, 1, 1, pick(2), 1)));
      case 3:
        return flat(append(Op::max_pool, {image}, window(2, 1 + pick(2), 1, 0, 0, 1)));
      default:
        return flat(append(Op::avg_pool, {image}, window(3, 1, 1, 1, 1, 1)));
    }
  }
  NodeId layout(NodeId x) {
    const std::int64_t n = width(x);
    switch (pick(6)) {
      case 0:
        return append(Op::concat, {x, matching(n), constant({1, 1})}, ConcatAttributes{1});
      case 1:
        return append(Op::slice, {x}, SliceAttributes{{0, n - 1}, {1, -1}, {1, n - pick(2)}});
      case 2:
        return append(Op::pad, {x}, PadAttributes{{0, 1}, {0, pick(2)}, weight()});
      case 3:
        return append(Op::gather, {x}, GatherAttributes{1, {n - 1, 0, n - 1}, {3}});
      case 4:
        return flat(append(Op::expand, {x}, ShapeAttributes{{2, n}}));
      default:
        return flat(append(Op::permute, {reshape(gemm(x, 6), {2, 3})}, PermuteAttributes{{1, 0}}));
    }
  }
  NodeId linear(NodeId x) {
    const std::int64_t n = width(x);
    switch (pick(10)) {
      case 0:
        return append(Op::add, {x, matching(n)});
      case 1:
        return append(Op::sub, {x, append(Op::reduce_sum, {matching(n)}, ReduceAttributes{{1}, true})});
      case 2:
        return append(Op::neg, {x});
      case 3:
        return append(Op::scale, {x}, ScaleAttributes{weight()});
      case 4:
        return append(Op::add, {constant({1, n}), x});
      case 5:
        return append(Op::mul, {x, constant({n})});
      case 6:
        return append(Op::div, {x, graph_.append_constant(column(std::vector<double>(static_cast<std::size_t>(n), 3.0)))});
      case 7:
        return n == 0 ? x : append(Op::reduce_mean, {append(Op::add, {x, matching(n)})}, ReduceAttributes{{1}, true});
      case 8:
        return append(Op::add, {x, x});
      default:
        return gemm(x, 1 + pick(4));
    }
  }
  NodeId piecewise(NodeId x) {
    switch (pick(9)) {
      case 6:
        return append(pick(2) == 0 ? Op::reduce_max : Op::reduce_min, {x}, ReduceAttributes{{1}, true});
      case 0:
        return append(Op::leaky_relu, {x}, LeakyReluAttributes{real(-0.5, 2)});
      case 1:
        return append(Op::abs, {x});
      case 2:
        return append(Op::clip, {x}, ClipAttributes{real(-1, 0), real(0, 1)});
      case 3:
        return append(Op::max, {x, matching(width(x)), constant({1, 1})});
      case 4:
        return append(Op::min, {x, matching(width(x))});
      case 5:
        return append(Op::sign, {x});
      default:
        return append(Op::relu, {x});
    }
  }
  NodeId curved(NodeId x, bool algebraic) {
    const NodeId positive = append(Op::clip, {x}, ClipAttributes{0.25, 3});
    switch (algebraic ? pick(4) : pick(17)) {
      case 0:
        return append(Op::mul, {x, matching(width(x))});
      case 1:
        return append(Op::mul, {x, x});
      case 2:
        return append(Op::pow, {x}, PowAttributes{Rational(2 + pick(2))});
      case 3:
        return append(Op::div, {x, positive});
      case 4:
        return append(Op::pow, {positive}, PowAttributes{Rational(1 - 2 * pick(3), 2)});
      case 5:
        return append(Op::exp, {append(Op::clip, {x}, ClipAttributes{-3, 2})});
      case 6:
        return append(Op::log, {positive});
      case 7:
        return append(Op::sqrt, {positive});
      case 8:
        return append(Op::sin, {x});
      case 9:
        return append(Op::cos, {x});
      case 10:
        return append(Op::softmax, {x}, SoftmaxAttributes{1});
      case 11:
        return append(Op::tanh, {x});
      case 12:
        return append(Op::log_softmax, {x}, SoftmaxAttributes{1});
      case 13:
        return append(Op::log_sum_exp, {x}, ReduceAttributes{{1}, true});
      case 14:
        return append(Op::normalise, {x}, NormaliseAttributes{{1}, 0.1, static_cast<NormaliseAttributes::Form>(pick(5))});
      case 15:
        return flat(append(Op::matmul, {append(Op::permute, {gemm(x, 2)}, PermuteAttributes{{1, 0}}), gemm(any(), 2)}));
      default:
        return append(Op::sigmoid, {x});
    }
  }
  NodeId batch_norm(NodeId x) {
    const NodeId image = reshape(gemm(x, 6), {1, 3, 2});
    return flat(append(Op::batch_norm,
                       {image, constant({3}), constant({3}), constant({3}), graph_.append_constant(tensor({3}, {0.5, 1.7, 2}))},
                       BatchNormAttributes{1e-5}));
  }
  void grow(bool algebraic) {
    const NodeId x = pick(3) == 0 ? any() : rows_.back();
    NodeId y = 0;
    switch (pick(10)) {
      case 0:
        y = layout(x);
        break;
      case 1:
        y = windowed(x);
        break;
      case 2:
      case 3:
        y = linear(x);
        break;
      case 4:
      case 5:
        y = curved(x, algebraic);
        break;
      case 6:
        y = algebraic ? gemm(x, 2) : batch_norm(x);
        break;
      case 7:
        y = gemm(x, 1 + pick(4));
        break;
      default:
        y = piecewise(x);
        break;
    }
    rows_.push_back(width(y) > 6 ? append(Op::gemm, {y, constant({width(y), 3})}, GemmAttributes{}) : y);
  }

  std::mt19937_64 random_;
  Graph graph_;
  std::vector<NodeId> rows_;  // nodes of shape [1, n]
};

// Points of the box: its corners (up to 8) and `count` inside, as values of all nodes.
struct Sample {
  std::vector<double> x;
  std::vector<Array<WideInterval>> values;  // by node
};

inline Sample sample_at(const Graph& graph, std::vector<double> x) {
  Array<WideInterval> wide{graph.node(graph.inputs[0]).shape, {}};
  for (const double v : x) wide.values.emplace_back(v);
  const std::vector<Array<WideInterval>> inputs{wide};
  return {std::move(x), take(evaluate<WideInterval>(graph, inputs))};
}

inline std::vector<Sample> samples(const Graph& graph, const std::vector<double>& lo, const std::vector<double>& hi, RandomGraph& random,
                                   int count) {
  std::vector<Sample> result;
  const std::size_t moved = std::min<std::size_t>(3, lo.size());  // elements that take both ends
  for (std::uint64_t corner = 0; corner < std::uint64_t{1} << moved; ++corner) {
    std::vector<double> x = lo;
    for (std::size_t i = 0; i < moved; ++i) x[i] = (corner >> i & 1) != 0 ? hi[i] : lo[i];
    result.push_back(sample_at(graph, std::move(x)));
  }
  for (int k = 0; k < count; ++k) {
    std::vector<double> x = lo;
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::min(hi[i], std::max(lo[i], random.real(lo[i], hi[i])));
    result.push_back(sample_at(graph, std::move(x)));
  }
  return result;
}

// The literal certainly holds at the sample.
inline bool satisfies(const Sample& sample, const Literal& literal) {
  const WideInterval& z = sample.values[literal.node].values[literal.element];
  const WideInterval t(literal.threshold);
  return literal.at_least ? certainly_less_equal(t, z) : certainly_less_equal(z, t);
}

}  // namespace assay::test
