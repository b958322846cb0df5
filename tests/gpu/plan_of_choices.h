// The probe plan of kernels that slide windows, move elements and choose among them.
#pragma once

#include "tests/gpu/probe.h"

namespace assay::test {

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
inline WindowAttributes with_padding(WindowAttributes w) {
  w.count_include_pad = true;
  return w;
}
inline WindowAttributes grouped(WindowAttributes w, std::int64_t groups, Shape output_padding = {}) {
  w.groups = groups;
  w.output_padding = std::move(output_padding);
  return w;
}

inline std::vector<Probe> pool_probes(const Draws& draw) {
  std::vector<Probe> probes;
  const auto add = [&](const WindowAttributes& w, const Shape& shape) {
    probes.push_back({Op::max_pool, w, {draw(shape)}});
    probes.push_back({Op::avg_pool, w, {draw(shape)}});
    probes.push_back({Op::avg_pool, with_padding(w), {draw(shape)}});
  };
  add(pool_window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}), {2, 3, 6, 5});
  add(pool_window({3, 3}, {2, 1}, {1, 1}, {1, 0}, {1, 2}), {1, 2, 7, 9});
  add(pool_window({2, 3}, {1, 2}, {2, 1}, {0, 1}, {1, 1}, true), {2, 1, 8, 6});
  add(pool_window({3}, {3}, {1}, {1}, {1}), {2, 2, 11});
  add(pool_window({2, 2, 2}, {1, 2, 1}, {1, 1, 2}, {1, 0, 0}, {0, 1, 1}), {1, 2, 4, 5, 6});
  add(pool_window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0}), {0, 3, 6, 5});
  return probes;
}

// Rows, columns and depth around a tile of 16; one to three axes; strides, dilations, asymmetric padding, groups.
inline std::vector<Probe> convolution_probes(const Draws& draw) {
  std::vector<Probe> probes;
  const auto add = [&](Op op, const WindowAttributes& w, const std::vector<Shape>& shapes) {
    probes.push_back({op, w, {}});
    for (const Shape& shape : shapes) probes.back().operands.push_back(draw(shape));
  };
  for (const std::int64_t channels : {1, 15, 16, 17}) {
    add(Op::conv, pool_window({1}, {1}, {1}, {0}, {0}), {{2, channels, 9}, {channels, channels, 1}, {channels}});
    add(Op::conv_transpose, pool_window({1}, {1}, {1}, {0}, {0}), {{2, channels, 9}, {channels, channels, 1}});
  }
  add(Op::conv, pool_window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}), {{2, 3, 7, 5}, {4, 3, 3, 3}, {4}});
  add(Op::conv, pool_window({2, 3}, {2, 1}, {1, 2}, {1, 0}, {0, 3}), {{1, 2, 6, 5}, {3, 2, 2, 3}});
  add(Op::conv, grouped(pool_window({2, 2}, {1, 2}, {2, 1}, {1, 1}, {1, 0}), 2), {{1, 4, 4, 4}, {6, 2, 2, 2}, {6}});
  add(Op::conv, grouped(pool_window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}), 3), {{2, 3, 4, 4}, {3, 1, 3, 3}, {3}});
  add(Op::conv, pool_window({2, 2, 2}, {1, 1, 2}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1}), {{1, 2, 3, 3, 4}, {2, 2, 2, 2, 2}});
  add(Op::conv, pool_window({1}, {1}, {1}, {3}, {3}), {{1, 1, 1}, {1, 1, 1}, {1}});
  add(Op::conv, pool_window({3}, {1}, {1}, {1}, {1}), {{0, 2, 5}, {3, 2, 3}, {3}});
  add(Op::conv_transpose, pool_window({2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0}), {{1, 2, 3, 3}, {2, 3, 2, 2}, {3}});
  add(Op::conv_transpose, grouped(pool_window({3, 2}, {2, 3}, {2, 1}, {1, 0}, {2, 1}), 2, {1, 2}), {{2, 4, 3, 2}, {4, 3, 3, 2}, {6}});
  add(Op::conv_transpose, pool_window({3}, {2}, {1}, {1}, {0}), {{1, 1, 4}, {1, 2, 3}});
  add(Op::conv_transpose, pool_window({2, 1, 3}, {1, 2, 2}, {1, 1, 1}, {0, 0, 1}, {1, 0, 1}), {{1, 2, 2, 3, 2}, {2, 2, 2, 1, 3}, {2}});
  return probes;
}

inline std::vector<Probe> batch_norm_probes(const Draws& draw) {
  std::vector<Probe> probes;
  for (const Shape& shape : {Shape{2, 3, 5}, Shape{4, 3}, Shape{3, 3, 4, 33}, Shape{0, 3, 2}}) {
    const Tensor variance = Tensor::of_floats({3}, std::vector<float>{0.25F, 1, 7});
    probes.push_back({Op::batch_norm, BatchNormAttributes{1e-5}, {draw(shape), draw({3}), draw({3}), draw({3}), variance}});
  }
  probes.push_back({Op::local_response, LocalResponseAttributes{3, 0.5, 0.75, 2}, {draw({2, 7, 5})}});
  probes.push_back({Op::local_response, LocalResponseAttributes{4, 1, 0.5, 1}, {draw({2, 3, 2, 2})}});
  return probes;
}

// Whole numbers from -9 to 9.
inline Tensor whole_numbers(const Shape& shape, std::uint64_t seed = 5) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> values(element_count(shape));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % 19) - 9;
  return Tensor::of_ints(shape, values);
}
inline Tensor truth_values(const Shape& shape, std::uint64_t seed = 6) {
  std::mt19937_64 random(seed);
  auto bytes = std::make_shared<std::vector<std::byte>>(element_count(shape));
  for (std::byte& byte : *bytes) byte = std::byte{static_cast<unsigned char>(random() % 2)};
  return Tensor(DType::boolean, shape, std::move(bytes));
}
inline Tensor indices(const Shape& shape, std::int64_t extent, std::uint64_t seed = 7) {
  std::mt19937_64 random(seed);
  std::vector<std::int64_t> values(element_count(shape));
  for (std::int64_t& value : values) value = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(2 * extent)) - extent;
  return Tensor::of_ints(shape, values);
}

inline std::vector<Probe> layout_probes(const Draws& draw) {
  return {{Op::permute, PermuteAttributes{{2, 0, 1}}, {draw({3, 5, 7})}},
          {Op::permute, PermuteAttributes{{1, 0}}, {draw({17, 33})}},
          {Op::permute, PermuteAttributes{{1, 0}}, {whole_numbers({17, 33})}},
          {Op::expand, ShapeAttributes{{4, 3, 5}}, {draw({3, 1})}},
          {Op::reshape, ShapeAttributes{{10, 13}}, {draw({130})}},
          {Op::reshape, ShapeAttributes{{10, 13}}, {truth_values({130})}},
          {Op::slice, SliceAttributes{{4, 1}, {-2, 3}, {3, 2}}, {draw({5, 7})}},
          {Op::pad, PadAttributes{{1, -2}, {0, 3}, -1.5}, {draw({4, 5})}},
          {Op::pad, PadAttributes{{1}, {0}, -3}, {whole_numbers({4})}},
          {Op::concat, ConcatAttributes{1}, {draw({2, 1, 3}), draw({2, 5, 3}), draw({2, 0, 3}), draw({2, 2, 3})}},
          {Op::concat, ConcatAttributes{0}, {draw({129}), draw({1})}},
          {Op::concat, ConcatAttributes{0}, {truth_values({2, 3}), truth_values({1, 3})}}};
}

inline std::vector<Probe> gather_probes(const Draws& draw) {
  const WeightedGatherAttributes weighted{
      1, {0, 2, 2, 5}, {3, 0, 1, 1, 2}, {Rational(1), Rational(-2), Rational(1), Rational(1, 2), Rational(1, 3)}};
  return {{Op::gather, GatherAttributes{1, {2, 0, 2, 1}, {2, 2}}, {draw({3, 3, 5})}},
          {Op::gather, GatherAttributes{0, {2, 0}, {2}}, {whole_numbers({3, 2})}},
          {Op::weighted_gather, weighted, {draw({2, 4, 3})}},
          {Op::place, PlaceAttributes{{0, 3, 3, 1, 7, 0}, {2, 4}}, {draw({2, 3})}},
          {Op::place, PlaceAttributes{{0, 3, 3, 1, 7, 3}, {8}}, {whole_numbers({6})}},
          {Op::place, PlaceAttributes{{}, {5}}, {draw({0})}}};
}

inline std::vector<Probe> scan_probes(const Draws& draw) {
  std::vector<Probe> probes;
  for (const std::int64_t n : {1, 2, 31, 32, 33, 64, 65, 127, 128, 129, 300}) {
    probes.push_back({Op::cumsum, CumulativeAttributes{1, false, n % 2 == 0}, {draw({2, n})}});
    probes.push_back({Op::cumsum, CumulativeAttributes{0, true, n % 2 == 1}, {draw({n, 3})}});
  }
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      probes.push_back({Op::cumprod, CumulativeAttributes{1, exclusive, reverse}, {draw({2, 37, 2})}});
      for (const Op op : {Op::cumsum, Op::cumprod})
        probes.push_back({op, CumulativeAttributes{1, exclusive, reverse}, {whole_numbers({2, 7, 2})}});
    }
  }
  probes.push_back({Op::cumsum, CumulativeAttributes{1, false, false}, {draw({3, 0})}});
  return probes;
}

inline std::vector<Probe> order_probes(const Draws& draw) {
  std::vector<Probe> probes;
  for (const std::int64_t n : {1, 2, 31, 33, 127, 128, 129, 300}) {
    for (const bool last : {false, true}) {
      probes.push_back({Op::arg_max, ArgAttributes{1, true, last}, {draw({2, n})}});
      probes.push_back({Op::arg_min, ArgAttributes{0, false, last}, {draw({n, 3})}});
      probes.push_back({Op::arg_max, ArgAttributes{1, false, last}, {whole_numbers({2, n})}});
    }
    probes.push_back({Op::sort, SortAttributes{1, (n + 1) / 2, true}, {draw({2, n})}});
    probes.push_back({Op::arg_sort, SortAttributes{0, n, false}, {whole_numbers({n, 2})}});
    probes.push_back({Op::take, ConcatAttributes{1}, {indices({2, 5}, n), draw({2, n})}});
  }
  probes.push_back({Op::sort, SortAttributes{0, 4, false}, {whole_numbers({9, 3})}});
  probes.push_back({Op::take, ConcatAttributes{0}, {indices({4, 3}, 2), whole_numbers({2, 3})}});
  probes.push_back({Op::sort, SortAttributes{1, 2, true}, {draw({0, 5})}});
  return probes;
}

inline std::vector<Probe> choice_probes(const Draws& draw) {
  const auto to = [](DType dtype) { return CastAttributes{static_cast<std::uint8_t>(dtype)}; };
  const Tensor fractions = Tensor::of_floats({6}, std::vector<float>{-1.5F, -0.5F, 0, 0.5F, 1.75F, 100.99F});
  return {{Op::equal, NoAttributes{}, {draw({2, 3}), draw({3})}},
          {Op::equal, NoAttributes{}, {whole_numbers({131}), whole_numbers({131}, 9)}},
          {Op::less, NoAttributes{}, {draw({2, 1}), draw({3})}},
          {Op::less_equal, NoAttributes{}, {whole_numbers({2, 3}), whole_numbers({3})}},
          {Op::logical_not, NoAttributes{}, {truth_values({129})}},
          {Op::logical_and, NoAttributes{}, {truth_values({4, 3}), truth_values({3}, 8)}},
          {Op::logical_or, NoAttributes{}, {truth_values({4, 3}), truth_values({3}, 8)}},
          {Op::logical_xor, NoAttributes{}, {truth_values({4, 3}), truth_values({3}, 8)}},
          {Op::is_nan, NoAttributes{}, {draw({37})}},
          {Op::is_inf, IsInfAttributes{true, false}, {draw({37})}},
          {Op::where, NoAttributes{}, {truth_values({4, 1}), draw({4, 5}), draw({5})}},
          {Op::where, NoAttributes{}, {truth_values({3, 1, 4}), draw({}), draw({2, 4})}},
          {Op::where, NoAttributes{}, {truth_values({7}), whole_numbers({7}), whole_numbers({1})}},
          {Op::cast, to(DType::int64), {fractions}},
          {Op::cast, to(DType::int8), {fractions}},
          {Op::cast, to(DType::boolean), {fractions}},
          {Op::cast, to(DType::float32), {whole_numbers({130})}},
          {Op::cast, to(DType::int32), {whole_numbers({130})}},
          {Op::cast, to(DType::float32), {truth_values({130})}}};
}

inline std::vector<Probe> integer_probes() {
  std::vector<Probe> probes;
  const Tensor divisors = Tensor::of_ints({5}, std::vector<std::int64_t>{-3, 2, 7, -1, 1});
  for (const Op op : {Op::add, Op::sub, Op::mul, Op::min, Op::max, Op::bitwise_and, Op::bitwise_or, Op::bitwise_xor})
    probes.push_back({op, NoAttributes{}, {whole_numbers({3, 5}), whole_numbers({5}, 9)}});
  for (const bool truncated : {false, true}) probes.push_back({Op::mod, ModAttributes{truncated}, {whole_numbers({7, 5}), divisors}});
  probes.push_back({Op::div, NoAttributes{}, {whole_numbers({7, 5}), divisors}});
  probes.push_back({Op::pow, PowAttributes{Rational(3)}, {whole_numbers({130})}});
  for (const Op op : {Op::neg, Op::abs, Op::sign, Op::relu}) probes.push_back({op, NoAttributes{}, {whole_numbers({130})}});
  return probes;
}

inline std::vector<Probe> integer_sum_probes() {
  std::vector<Probe> probes = {{Op::matmul, NoAttributes{}, {whole_numbers({2, 3, 5}), whole_numbers({5, 4})}},
                               {Op::reduce_max, ReduceAttributes{{1}, true}, {truth_values({9, 3})}}};
  for (const Op op : {Op::reduce_sum, Op::reduce_prod, Op::reduce_max, Op::reduce_min})
    probes.push_back({op, ReduceAttributes{{0, 2}, false}, {whole_numbers({3, 4, 2})}});
  return probes;
}

}  // namespace assay::test
