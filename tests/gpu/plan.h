// The probe plan of the device's kernels: ops, attributes and operands over awkward shapes.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tests/gpu/devices.h"

namespace assay::test {

struct Probe {
  Op op;
  Attributes attributes;
  std::vector<Tensor> operands;
};

inline WindowAttributes pool_window(Shape kernel, Shape strides, Shape dilations, Shape begin, Shape end, bool ceil = false) {
  WindowAttributes w;
  w.kernel = std::move(kernel);
  w.strides = std::move(strides);
  w.dilations = std::move(dilations);
  w.pads_begin = std::move(begin);
  w.pads_end = std::move(end);
  w.ceil_mode = ceil;
  return w;
}

inline Tensor shifted(const Tensor& x, float by) {
  std::vector<float> values;
  for (const double value : x.to_doubles()) values.push_back(static_cast<float>(value) + by);
  return Tensor::of_floats(x.shape(), values);
}

inline Tensor small_integers(std::mt19937_64& random, const Shape& shape) {
  std::vector<float> values(element_count(shape));
  for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 7) - 3);
  return Tensor::of_floats(shape, values);
}

// Around a tile of 16, a warp of 32 and a block of 128; primes; nothing.
inline std::vector<std::int64_t> awkward_extents() { return {1, 2, 7, 15, 16, 17, 31, 33, 0}; }

using Draws = std::function<Tensor(const Shape&)>;

inline std::vector<Probe> product_probes(const Draws& draw) {
  std::vector<Probe> probes;
  const auto add = [&](Op op, Attributes attributes, const std::vector<Shape>& shapes) {
    probes.push_back({op, std::move(attributes), {}});
    for (const Shape& shape : shapes) probes.back().operands.push_back(draw(shape));
  };
  for (const std::int64_t m : awkward_extents()) {
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{16}, std::int64_t{37}}) {
      const std::int64_t n = m == 0 ? 3 : 34 - m;
      add(Op::gemm, GemmAttributes{1, 1, false, false}, {{m, k}, {k, n}, {n}});
      add(Op::gemm, GemmAttributes{0.5, -2, true, true}, {{k, m}, {n, k}, {m, 1}});
    }
    add(Op::gemm, GemmAttributes{1, 1, false, true}, {{m, 19}, {5, 19}});
    add(Op::gemm, GemmAttributes{2, 1, true, false}, {{19, m}, {19, 5}, {}});
    add(Op::matmul, NoAttributes{}, {{m, 23}, {23}});
    add(Op::matmul, NoAttributes{}, {{23}, {23, m}});
  }
  add(Op::matmul, NoAttributes{}, {{3, 1, 5, 17}, {2, 17, 4}});
  add(Op::matmul, NoAttributes{}, {{2, 18, 3}, {3, 18}});
  add(Op::matmul, NoAttributes{}, {{4}, {4}});
  add(Op::matmul, NoAttributes{}, {{3, 0}, {0, 2}});
  return probes;
}

inline std::vector<Probe> elementwise_probes(const Draws& draw) {
  std::vector<Probe> probes;
  const std::vector<std::pair<Op, Attributes>> unary = {{Op::neg, NoAttributes{}},
                                                        {Op::scale, ScaleAttributes{-0.75}},
                                                        {Op::abs, NoAttributes{}},
                                                        {Op::relu, NoAttributes{}},
                                                        {Op::leaky_relu, LeakyReluAttributes{0.01}},
                                                        {Op::clip, ClipAttributes{-0.5, 1}},
                                                        {Op::step, NoAttributes{}},
                                                        {Op::reciprocal, NoAttributes{}},
                                                        {Op::exp, NoAttributes{}},
                                                        {Op::tanh, NoAttributes{}},
                                                        {Op::erf, NoAttributes{}},
                                                        {Op::sigmoid, NoAttributes{}},
                                                        {Op::gelu, GeluAttributes{false}},
                                                        {Op::gelu, GeluAttributes{true}},
                                                        {Op::silu, ActivationAttributes{1, 0}},
                                                        {Op::sqrt, NoAttributes{}},
                                                        {Op::sin, NoAttributes{}},
                                                        {Op::cos, NoAttributes{}},
                                                        {Op::acos, NoAttributes{}},
                                                        {Op::log, NoAttributes{}}};
  for (const auto& [op, attributes] : unary) {
    for (const Shape& shape : {Shape{131}, Shape{0, 3}, Shape{}}) probes.push_back({op, attributes, {draw(shape)}});
  }
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max}) {
    for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{129}, {129}}, {{3, 1, 5}, {4, 1}}, {{2, 7}, {}}, {{1, 3}, {0, 1}}}) {
      probes.push_back({op, NoAttributes{}, {draw(a), draw(b)}});
    }
  }
  probes.push_back({Op::max, NoAttributes{}, {draw({4, 5}), draw({5}), draw({4, 1}), draw({})}});
  return probes;
}

inline std::vector<std::int64_t> line_lengths() { return {1, 2, 31, 32, 33, 64, 65, 127, 128, 129, 300}; }

inline std::vector<Probe> softmax_probes(const Draws& draw) {
  std::vector<Probe> probes;
  for (const Op op : {Op::softmax, Op::log_softmax}) {
    for (const std::int64_t n : line_lengths()) {
      probes.push_back({op, SoftmaxAttributes{1}, {draw({3, n})}});
      probes.push_back({op, SoftmaxAttributes{0}, {draw({n, 2})}});
    }
    probes.push_back({op, SoftmaxAttributes{1}, {draw({2, 5, 3})}});
    probes.push_back({op, SoftmaxAttributes{1}, {draw({0, 4})}});
  }
  return probes;
}

inline std::vector<Probe> normalise_probes(const Draws& draw) {
  using Form = NormaliseAttributes::Form;
  std::vector<Probe> probes;
  for (const std::int64_t n : line_lengths()) {
    probes.push_back({Op::normalise, NormaliseAttributes{{1}, 1e-5, Form::centered}, {draw({3, n})}});
  }
  // A large mean beside a small variance; few elements, for which the contract is sharp.
  for (const std::int64_t n : {5, 7, 16}) {
    probes.push_back({Op::normalise, NormaliseAttributes{{1}, 1e-5, Form::centered}, {shifted(draw({9, n}), 1000)}});
  }
  for (const Form form : {Form::centered, Form::deviation, Form::root_mean, Form::l2, Form::l1}) {
    probes.push_back({Op::normalise, NormaliseAttributes{{0, 2}, 0.5, form}, {draw({3, 2, 13})}});
    probes.push_back({Op::normalise, NormaliseAttributes{{1}, 0.25, form}, {draw({0, 5})}});
  }
  return probes;
}

inline std::vector<Probe> reduction_probes(const Draws& draw) {
  std::vector<Probe> probes;
  for (const Op op : {Op::reduce_sum, Op::reduce_mean, Op::reduce_max, Op::reduce_min, Op::max_weight}) {
    const bool keeps = op == Op::max_weight;
    for (const std::int64_t n : line_lengths()) probes.push_back({op, ReduceAttributes{{1}, keeps}, {draw({2, n})}});
    probes.push_back({op, ReduceAttributes{{0, 2}, true}, {draw({3, 4, 5})}});
    probes.push_back({op, ReduceAttributes{{0, 1}, keeps}, {draw({11, 13})}});
    probes.push_back({op, ReduceAttributes{{1}, keeps}, {draw({0, 3})}});
  }
  return probes;
}

inline std::vector<Probe> pool_probes(const Draws& draw) {
  return {{Op::max_pool, pool_window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}), {draw({2, 3, 6, 5})}},
          {Op::max_pool, pool_window({3, 3}, {2, 1}, {1, 1}, {1, 0}, {1, 2}), {draw({1, 2, 7, 9})}},
          {Op::max_pool, pool_window({2, 3}, {1, 2}, {2, 1}, {0, 1}, {1, 1}, true), {draw({2, 1, 8, 6})}},
          {Op::max_pool, pool_window({3}, {3}, {1}, {1}, {1}), {draw({2, 2, 11})}},
          {Op::max_pool, pool_window({2, 2, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 0}, {0, 1, 1}), {draw({1, 2, 4, 5, 6})}},
          {Op::max_pool, pool_window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}), {draw({0, 3, 6, 5})}}};
}

inline std::vector<Probe> layout_probes(const Draws& draw) {
  const WeightedGatherAttributes weighted{
      1, {0, 2, 2, 5}, {3, 0, 1, 1, 2}, {Rational(1), Rational(-2), Rational(1), Rational(1, 2), Rational(3)}};
  return {{Op::permute, PermuteAttributes{{2, 0, 1}}, {draw({3, 5, 7})}},
          {Op::permute, PermuteAttributes{{1, 0}}, {draw({17, 33})}},
          {Op::expand, ShapeAttributes{{4, 3, 5}}, {draw({3, 1})}},
          {Op::reshape, ShapeAttributes{{10, 13}}, {draw({130})}},
          {Op::slice, SliceAttributes{{4, 1}, {-2, 3}, {3, 2}}, {draw({5, 7})}},
          {Op::pad, PadAttributes{{1, -2}, {0, 3}, -1.5}, {draw({4, 5})}},
          {Op::gather, GatherAttributes{1, {2, 0, 2, 1}, {2, 2}}, {draw({3, 3, 5})}},
          {Op::weighted_gather, weighted, {draw({2, 4, 3})}}};
}

inline std::vector<Probe> all_probes(const Draws& draw) {
  std::vector<Probe> probes;
  for (const auto& family :
       {product_probes, elementwise_probes, softmax_probes, normalise_probes, reduction_probes, pool_probes, layout_probes}) {
    for (Probe& probe : family(draw)) probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace assay::test
