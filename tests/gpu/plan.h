// The probe plan of the device's kernels: ops, attributes and operands over awkward shapes.
#pragma once

#include <vector>

#include "tests/gpu/plan_of_choices.h"
#include "tests/ops/functions.h"

namespace assay::test {

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
  std::vector<std::pair<Op, Attributes>> unary = {{Op::neg, NoAttributes{}},
                                                  {Op::scale, ScaleAttributes{-0.75}},
                                                  {Op::pow, PowAttributes{Rational(0)}},
                                                  {Op::pow, PowAttributes{Rational(2)}},
                                                  {Op::pow, PowAttributes{Rational(3)}},
                                                  {Op::pow, PowAttributes{Rational(-1, 3)}}};
  for (const FunctionCase& one : functions()) unary.emplace_back(one.op, one.attributes);
  for (const auto& [op, attributes] : unary) {
    for (const Shape& shape : {Shape{131}, Shape{0, 3}, Shape{}}) probes.push_back({op, attributes, {draw(shape)}});
  }
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::div, Op::min, Op::max, Op::power}) {
    for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{129}, {129}}, {{3, 1, 5}, {4, 1}}, {{2, 7}, {}}, {{1, 3}, {0, 1}}}) {
      probes.push_back({op, NoAttributes{}, {draw(a), draw(b)}});
    }
  }
  for (const bool truncated : {false, true}) probes.push_back({Op::mod, ModAttributes{truncated}, {draw({131}), draw({131})}});
  probes.push_back({Op::prelu, NoAttributes{}, {draw({4, 33}), draw({33})}});
  probes.push_back({Op::max, NoAttributes{}, {draw({4, 5}), draw({5}), draw({4, 1}), draw({})}});
  probes.push_back({Op::min, NoAttributes{}, {}});  // more than one launch takes
  for (int k = 0; k < 13; ++k) probes.back().operands.push_back(draw({4, 5}));
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
  for (const std::int64_t n : line_lengths()) {
    probes.push_back({Op::log_sum_exp, ReduceAttributes{{1}, false}, {draw({3, n})}});
    probes.push_back({Op::masked_softmax, MaskedSoftmaxAttributes{1, true}, {draw({3, n}), truth_values({3, n})}});
  }
  probes.push_back({Op::log_sum_exp, ReduceAttributes{{0, 2}, true}, {draw({3, 4, 5})}});
  probes.push_back({Op::masked_softmax, MaskedSoftmaxAttributes{2, false}, {draw({2, 3, 7}), truth_values({3, 7})}});
  probes.push_back({Op::masked_softmax, MaskedSoftmaxAttributes{1, true}, {draw({2, 9, 3}), truth_values({9, 1})}});
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
  for (const Op op : {Op::reduce_sum, Op::reduce_mean, Op::reduce_prod, Op::reduce_max, Op::reduce_min, Op::max_weight}) {
    const bool keeps = op == Op::max_weight;
    for (const std::int64_t n : line_lengths()) probes.push_back({op, ReduceAttributes{{1}, keeps}, {draw({2, n})}});
    probes.push_back({op, ReduceAttributes{{0, 2}, true}, {draw({3, 4, 5})}});
    probes.push_back({op, ReduceAttributes{{0, 1}, keeps}, {draw({11, 13})}});
    probes.push_back({op, ReduceAttributes{{1}, keeps}, {draw({0, 3})}});
  }
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const std::vector<float> ties{1, 3, 3, 0, 3, -2, nan, -2, 5, 4, 7, 7, 7, 7, 7};
  probes.push_back({Op::max_weight, ReduceAttributes{{1}, true}, {Tensor::of_floats({3, 5}, ties)}});
  return probes;
}

inline std::vector<Probe> all_probes(const Draws& draw) {
  std::vector<Probe> probes = integer_probes();
  for (Probe& probe : integer_sum_probes()) probes.push_back(std::move(probe));
  for (const auto& family :
       {product_probes, elementwise_probes, softmax_probes, normalise_probes, reduction_probes, pool_probes, layout_probes, gather_probes,
        convolution_probes, batch_norm_probes, scan_probes, order_probes, choice_probes}) {
    for (Probe& probe : family(draw)) probes.push_back(std::move(probe));
  }
  return probes;
}

}  // namespace assay::test
