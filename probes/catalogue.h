// Applications of every op, several attribute sets each: what probes and tests of whole vocabularies run over.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "semantics/graph/family.h"
#include "semantics/graph/graph.h"

namespace assay::probes {

// Which integers an operand may be drawn from.
enum class Draw {
  any,
  non_zero,
  positive,
  square,
  fraction,
  truth,
  whole,
  index
};  // fraction: 0 alone among integers; truth: booleans; whole: int64; index: int64, of an extent of 2

struct OpCase {
  std::string name;
  Op op;
  std::vector<Shape> shapes;
  Attributes attributes = NoAttributes{};
  std::vector<Draw> draws = {};  // missing entries: any
};

inline WindowAttributes window(std::vector<std::int64_t> kernel, std::vector<std::int64_t> strides, std::vector<std::int64_t> dilations,
                               std::vector<std::int64_t> pads_begin, std::vector<std::int64_t> pads_end, std::int64_t groups = 1) {
  WindowAttributes result;
  result.kernel = std::move(kernel);
  result.strides = std::move(strides);
  result.dilations = std::move(dilations);
  result.pads_begin = std::move(pads_begin);
  result.pads_end = std::move(pads_end);
  result.groups = groups;
  return result;
}

inline WindowAttributes with_flags(WindowAttributes attributes, bool count_include_pad, bool ceil_mode) {
  attributes.count_include_pad = count_include_pad;
  attributes.ceil_mode = ceil_mode;
  return attributes;
}

inline WindowAttributes with_output_padding(WindowAttributes attributes, std::vector<std::int64_t> output_padding) {
  attributes.output_padding = std::move(output_padding);
  return attributes;
}

inline std::vector<OpCase> layout_and_arithmetic_cases() {
  return {
      {"reshape", Op::reshape, {{2, 6}}, ShapeAttributes{{3, 1, 4}}},
      {"reshape to a scalar", Op::reshape, {{1, 1}}, ShapeAttributes{{}}},
      {"reshape, empty", Op::reshape, {{2, 0}}, ShapeAttributes{{0, 5}}},
      {"permute", Op::permute, {{2, 3, 4}}, PermuteAttributes{{2, 0, 1}}},
      {"permute, reversed", Op::permute, {{2, 3, 4}}, PermuteAttributes{{2, 1, 0}}},
      {"slice", Op::slice, {{4, 7}}, SliceAttributes{{1, 6}, {2, -3}, {2, 3}}},
      {"slice of one, wild step", Op::slice, {{4, 7}}, SliceAttributes{{3, 0}, {-1000, 1000}, {1, 1}}},
      {"slice of none", Op::slice, {{4, 7}}, SliceAttributes{{9, 0}, {1, 1}, {0, 7}}},
      {"concat of one", Op::concat, {{2, 3}}, ConcatAttributes{1}},
      {"concat", Op::concat, {{2, 1, 2}, {2, 3, 2}, {2, 0, 2}}, ConcatAttributes{1}},
      {"concat, axis 0", Op::concat, {{2, 3}, {1, 3}}, ConcatAttributes{0}},
      {"pad", Op::pad, {{2, 3}}, PadAttributes{{1, 0}, {0, 2}, 5}},
      {"pad that crops", Op::pad, {{4, 5}}, PadAttributes{{-1, 2}, {1, -3}, -1}},
      {"pad, nothing left of x", Op::pad, {{2}}, PadAttributes{{-3}, {4}, 7}},
      {"gather", Op::gather, {{3, 4, 2}}, GatherAttributes{1, {3, 0, 0, 2, 1, 3}, {2, 3}}},
      {"gather one", Op::gather, {{3, 4}}, GatherAttributes{0, {2}, {}}},
      {"gather none", Op::gather, {{3, 4}}, GatherAttributes{0, {}, {0}}},
      {"expand", Op::expand, {{3, 1}}, ShapeAttributes{{2, 3, 4}}},
      {"expand a scalar", Op::expand, {{}}, ShapeAttributes{{2, 2}}},
      {"add", Op::add, {{2, 3}, {2, 3}}},
      {"add, broadcast", Op::add, {{2, 1, 3}, {4, 1}}},
      {"add, scalar", Op::add, {{2, 3}, {}}},
      {"sub, broadcast", Op::sub, {{3}, {2, 3}}},
      {"mul", Op::mul, {{2, 3}, {2, 3}}},
      {"mul, broadcast", Op::mul, {{1, 3}, {2, 1}}},
      {"div", Op::div, {{2, 3}, {2, 3}}, NoAttributes{}, {Draw::any, Draw::non_zero}},
      {"div, broadcast", Op::div, {{3}, {2, 1}}, NoAttributes{}, {Draw::any, Draw::non_zero}},
      {"neg", Op::neg, {{2, 3}}},
      {"scale", Op::scale, {{2, 3}}, ScaleAttributes{-2.5}},
      {"scale by 0", Op::scale, {{2, 3}}, ScaleAttributes{0}},
      {"reduce_sum", Op::reduce_sum, {{2, 3, 4}}, ReduceAttributes{{1}, true}},
      {"reduce_sum, axes dropped", Op::reduce_sum, {{2, 3, 4}}, ReduceAttributes{{2, 0}, false}},
      {"reduce_sum over nothing", Op::reduce_sum, {{2, 0}}, ReduceAttributes{{1}, false}},
      {"reduce_sum, no axes", Op::reduce_sum, {{2, 3}}, ReduceAttributes{{}, true}},
      {"reduce_mean", Op::reduce_mean, {{2, 3, 4}}, ReduceAttributes{{0, 1}, true}},
      {"reduce_mean, all", Op::reduce_mean, {{2, 3, 2}}, ReduceAttributes{{0, 1, 2}, false}},
  };
}

inline std::vector<OpCase> product_and_window_cases() {
  return {
      {"gemm", Op::gemm, {{2, 3}, {3, 4}, {4}}, GemmAttributes{}},
      {"gemm, no c", Op::gemm, {{2, 3}, {3, 4}}, GemmAttributes{2, 3, false, false}},
      {"gemm, transposed", Op::gemm, {{3, 2}, {11, 3}, {2, 1}}, GemmAttributes{0.5, -2, true, true}},
      {"gemm, a transposed", Op::gemm, {{3, 2}, {3, 9}, {}}, GemmAttributes{1, 1, true, false}},
      {"gemm, empty sum", Op::gemm, {{2, 0}, {0, 3}, {2, 3}}, GemmAttributes{}},
      {"matmul", Op::matmul, {{2, 3}, {3, 10}}},
      {"matmul, batches", Op::matmul, {{2, 1, 2, 3}, {4, 3, 2}}},
      {"matmul, vector and matrix", Op::matmul, {{3}, {2, 3, 4}}},
      {"matmul, matrix and vector", Op::matmul, {{2, 4, 3}, {3}}},
      {"matmul, vectors", Op::matmul, {{5}, {5}}},
      {"conv", Op::conv, {{2, 3, 5, 4}, {2, 3, 3, 2}, {2}}, window({3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0})},
      {"conv, asymmetric", Op::conv, {{1, 2, 6, 5}, {3, 2, 2, 3}}, window({2, 3}, {2, 1}, {1, 2}, {1, 0}, {0, 3})},
      {"conv, groups", Op::conv, {{1, 4, 4, 4}, {6, 2, 2, 2}, {6}}, window({2, 2}, {1, 2}, {2, 1}, {1, 1}, {1, 0}, 2)},
      {"conv, depthwise", Op::conv, {{2, 3, 4, 4}, {3, 1, 3, 3}, {3}}, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3)},
      {"conv, one axis", Op::conv, {{2, 2, 7}, {3, 2, 3}, {3}}, window({3}, {2}, {1}, {2}, {1})},
      {"conv, three axes", Op::conv, {{1, 2, 3, 3, 4}, {2, 2, 2, 2, 2}}, window({2, 2, 2}, {1, 1, 2}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1})},
      {"conv, all padding", Op::conv, {{1, 1, 1}, {1, 1, 1}, {1}}, window({1}, {1}, {1}, {3}, {3})},
      {"conv_transpose", Op::conv_transpose, {{1, 2, 3, 3}, {2, 3, 2, 2}, {3}}, window({2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0})},
      {"conv_transpose, all attributes",
       Op::conv_transpose,
       {{2, 4, 3, 2}, {4, 3, 3, 2}, {6}},
       with_output_padding(window({3, 2}, {2, 3}, {2, 1}, {1, 0}, {2, 1}, 2), {1, 2})},
      {"conv_transpose, one axis", Op::conv_transpose, {{1, 1, 4}, {1, 2, 3}}, window({3}, {2}, {1}, {1}, {0})},
      {"max_pool", Op::max_pool, {{1, 2, 4, 6}}, window({2, 3}, {2, 2}, {1, 1}, {0, 1}, {0, 0})},
      {"max_pool, ceil", Op::max_pool, {{2, 1, 5, 6}}, with_flags(window({3, 2}, {2, 2}, {1, 2}, {1, 0}, {1, 1}), false, true)},
      {"max_pool, one axis", Op::max_pool, {{1, 2, 7}}, window({3}, {1}, {2}, {0}, {0})},
      {"avg_pool", Op::avg_pool, {{1, 2, 4, 4}}, window({2, 2}, {2, 2}, {1, 1}, {0, 0}, {0, 0})},
      {"avg_pool, pads left out", Op::avg_pool, {{1, 2, 4, 5}}, window({3, 3}, {1, 2}, {1, 1}, {1, 1}, {0, 1})},
      {"avg_pool, pads counted", Op::avg_pool, {{1, 2, 4, 5}}, with_flags(window({3, 3}, {2, 2}, {1, 1}, {1, 0}, {1, 1}), true, true)},
      {"avg_pool, dilated", Op::avg_pool, {{1, 1, 6}}, with_flags(window({3}, {1}, {2}, {1}, {1}), true, false)},
      {"avg_pool, three axes", Op::avg_pool, {{1, 1, 2, 3, 3}}, window({2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}, {0, 0, 0})},
  };
}

inline std::vector<OpCase> function_cases() {
  return {
      {"batch_norm",
       Op::batch_norm,
       {{2, 3, 4}, {3}, {3}, {3}, {3}},
       BatchNormAttributes{1e-5},
       {Draw::any, Draw::any, Draw::any, Draw::any, Draw::square}},
      {"batch_norm, no epsilon",
       Op::batch_norm,
       {{2, 3}, {3}, {3}, {3}, {3}},
       BatchNormAttributes{0},
       {Draw::any, Draw::any, Draw::any, Draw::any, Draw::square}},
      {"min of one", Op::min, {{2, 3}}},
      {"min", Op::min, {{2, 3}, {3}, {2, 1}}},
      {"max", Op::max, {{3}, {2, 1}}},
      {"pow 0", Op::pow, {{3, 4}}, PowAttributes{Rational(0)}},
      {"pow 3", Op::pow, {{3, 4}}, PowAttributes{Rational(3)}},
      {"pow 2", Op::pow, {{3, 4}}, PowAttributes{Rational(2)}},
      {"pow -2", Op::pow, {{3, 4}}, PowAttributes{Rational(-2)}, {Draw::non_zero}},
      {"pow 3/2", Op::pow, {{3, 4}}, PowAttributes{Rational(3, 2)}, {Draw::positive}},
      {"sqrt", Op::sqrt, {{3, 4}}, NoAttributes{}, {Draw::positive}},
      {"log", Op::log, {{3, 4}}, NoAttributes{}, {Draw::positive}},
      {"mod", Op::mod, {{2, 3}, {3}}, ModAttributes{false}, {Draw::any, Draw::non_zero}},
      {"mod, truncated", Op::mod, {{3}, {2, 1}}, ModAttributes{true}, {Draw::any, Draw::non_zero}},
      {"reciprocal", Op::reciprocal, {{3, 4}}, NoAttributes{}, {Draw::non_zero}},
      {"tan", Op::tan, {{3, 4}}, NoAttributes{}, {Draw::fraction}},
      {"asin", Op::asin, {{3, 4}}, NoAttributes{}, {Draw::fraction}},
      {"acos", Op::acos, {{3, 4}}, NoAttributes{}, {Draw::fraction}},
      {"acosh", Op::acosh, {{3, 4}}, NoAttributes{}, {Draw::positive}},
      {"atanh", Op::atanh, {{3, 4}}, NoAttributes{}, {Draw::fraction}},
      {"prelu", Op::prelu, {{2, 3}, {3}}},
      {"prelu, per row", Op::prelu, {{2, 3}, {2, 1}}},
      {"log_softmax", Op::log_softmax, {{3, 4}}, SoftmaxAttributes{1}},
      {"log_softmax, inner axis", Op::log_softmax, {{2, 3, 2}}, SoftmaxAttributes{1}},
      {"log_sum_exp", Op::log_sum_exp, {{2, 3, 2}}, ReduceAttributes{{1}, true}},
      {"log_sum_exp, all", Op::log_sum_exp, {{2, 3}}, ReduceAttributes{{0, 1}, false}},
      {"softmax", Op::softmax, {{3, 4}}, SoftmaxAttributes{1}},
      {"softmax, inner axis", Op::softmax, {{2, 3, 2}}, SoftmaxAttributes{1}},
  };
}

inline std::vector<OpCase> choice_and_group_cases() {
  using Form = NormaliseAttributes::Form;
  const std::vector<Rational> quarters = {Rational(1, 2), Rational(1, 2), Rational(-2), Rational(3, 4), Rational(1, 4)};
  const auto to = [](DType dtype) { return CastAttributes{static_cast<std::uint8_t>(dtype)}; };
  return {
      {"equal", Op::equal, {{2, 3}, {3}}},
      {"less", Op::less, {{2, 1}, {3}}},
      {"less_equal", Op::less_equal, {{2, 3}, {3}}},
      {"logical_not", Op::logical_not, {{2, 3}}, NoAttributes{}, {Draw::truth}},
      {"logical_and", Op::logical_and, {{2, 3}, {3}}, NoAttributes{}, {Draw::truth, Draw::truth}},
      {"logical_or", Op::logical_or, {{2, 3}, {3}}, NoAttributes{}, {Draw::truth, Draw::truth}},
      {"logical_xor", Op::logical_xor, {{2, 3}, {3}}, NoAttributes{}, {Draw::truth, Draw::truth}},
      {"is_nan", Op::is_nan, {{2, 3}}},
      {"is_inf", Op::is_inf, {{2, 3}}, IsInfAttributes{}},
      {"where", Op::where, {{2, 1}, {2, 3}, {3}}, NoAttributes{}, {Draw::truth}},
      {"cast to integers", Op::cast, {{2, 3}}, to(DType::int64)},
      {"cast to truth values", Op::cast, {{2, 3}}, to(DType::boolean)},
      {"cast to double", Op::cast, {{2, 3}}, to(DType::float64)},
      {"power", Op::power, {{2, 3}, {3}}, NoAttributes{}, {Draw::positive}},
      {"cumsum", Op::cumsum, {{2, 3, 2}}, CumulativeAttributes{1, false, false}},
      {"cumsum, exclusive", Op::cumsum, {{2, 3}}, CumulativeAttributes{0, true, false}},
      {"cumsum, reverse", Op::cumsum, {{2, 3}}, CumulativeAttributes{1, false, true}},
      {"cumsum, exclusive and reverse", Op::cumsum, {{4}}, CumulativeAttributes{0, true, true}},
      {"cumprod", Op::cumprod, {{2, 3}}, CumulativeAttributes{1, false, false}},
      {"cumprod, exclusive and reverse", Op::cumprod, {{3, 2}}, CumulativeAttributes{0, true, true}},
      {"bitwise_and", Op::bitwise_and, {{2, 3}, {3}}, NoAttributes{}, {Draw::whole, Draw::whole}},
      {"bitwise_or", Op::bitwise_or, {{2, 3}, {3}}, NoAttributes{}, {Draw::whole, Draw::whole}},
      {"bitwise_xor", Op::bitwise_xor, {{2, 3}, {3}}, NoAttributes{}, {Draw::whole, Draw::whole}},
      {"weighted_gather", Op::weighted_gather, {{2, 3, 2}}, WeightedGatherAttributes{1, {0, 2, 2, 3, 5}, {0, 2, 1, 1, 0}, quarters}},
      {"weighted_gather of nothing", Op::weighted_gather, {{2, 3}}, WeightedGatherAttributes{0, {0}, {}, {}}},
      {"take", Op::take, {{2, 3, 2}, {2, 2, 2}}, ConcatAttributes{1}, {Draw::index}},
      {"take, first axis", Op::take, {{1, 3}, {2, 3}}, ConcatAttributes{0}, {Draw::index}},
      {"sort", Op::sort, {{2, 4, 2}}, SortAttributes{1, 3, true}},
      {"sort, ascending", Op::sort, {{2, 4}}, SortAttributes{1, 4, false}},
      {"arg_sort", Op::arg_sort, {{2, 4, 2}}, SortAttributes{1, 3, true}},
      {"arg_sort, ascending", Op::arg_sort, {{2, 4}}, SortAttributes{1, 4, false}},
      {"reduce_max", Op::reduce_max, {{2, 3, 2}}, ReduceAttributes{{1}, true}},
      {"reduce_min", Op::reduce_min, {{2, 3, 2}}, ReduceAttributes{{0, 2}, false}},
      {"reduce_prod", Op::reduce_prod, {{2, 3, 2}}, ReduceAttributes{{1}, false}},
      {"reduce_prod over nothing", Op::reduce_prod, {{2, 0}}, ReduceAttributes{{1}, true}},
      {"arg_max", Op::arg_max, {{2, 3, 2}}, ArgAttributes{1, true, false}},
      {"arg_max, last", Op::arg_max, {{2, 3}}, ArgAttributes{1, false, true}},
      {"arg_min", Op::arg_min, {{2, 3}}, ArgAttributes{0, false, false}},
      {"place", Op::place, {{2, 3}}, PlaceAttributes{{0, 3, 3, 1, 7, 0}, {2, 4}}},
      {"place nothing", Op::place, {{0}}, PlaceAttributes{{}, {2}}},
      {"step", Op::step, {{2, 3}}},
      {"max_weight", Op::max_weight, {{2, 3, 2}}, ReduceAttributes{{1}, true}},
      {"max_weight, two axes", Op::max_weight, {{2, 3}}, ReduceAttributes{{0, 1}, true}},
      {"normalise, centered", Op::normalise, {{2, 4}}, NormaliseAttributes{{1}, 0.5, Form::centered}},
      {"normalise, two axes", Op::normalise, {{2, 2, 2}}, NormaliseAttributes{{0, 2}, 1e-5, Form::centered}},
      {"normalise, deviation", Op::normalise, {{2, 4}}, NormaliseAttributes{{1}, 0.5, Form::deviation}},
      {"normalise, root_mean", Op::normalise, {{2, 4}}, NormaliseAttributes{{1}, 0.5, Form::root_mean}},
      {"normalise, l2", Op::normalise, {{2, 4}}, NormaliseAttributes{{1}, 0.5, Form::l2}},
      {"local_response", Op::local_response, {{1, 5, 2}}, LocalResponseAttributes{3, 0.5, 0.75, 2}},
      {"local_response, even size, rising", Op::local_response, {{2, 3}}, LocalResponseAttributes{4, 1, 0.5, 1}},
      {"masked_softmax", Op::masked_softmax, {{2, 4}, {4}}, MaskedSoftmaxAttributes{1, true}, {Draw::any, Draw::truth}},
      {"normalise, l1", Op::normalise, {{4, 2}}, NormaliseAttributes{{0}, 0.5, Form::l1}},
  };
}

// Functions of one variable with the attributes that ops.def tries them with.
inline void add_sampled_functions(std::vector<OpCase>& all) {
  const auto add = [&](Op op, const std::string& what, Attributes attributes) {
    all.push_back({std::string(op_row(op).name) + (what.empty() ? "" : ", " + what), op, {{3, 4}}, std::move(attributes)});
  };
#define ASSAY_SAMPLE(op, what, ...) add(Op::op, what, __VA_ARGS__);
#include "semantics/graph/ops.def"
}

// Functions of one variable without attributes that have no row above.
inline void add_plain_functions(std::vector<OpCase>& all) {
  for (int i = 0; i < kOpCount; ++i) {
    const Op op = static_cast<Op>(i);
    const bool is_plain = family_of(op) == Family::function && op_row(op).attributes == Attributes(NoAttributes{}).index();
    if (is_plain && std::ranges::find(all, op, &OpCase::op) == all.end()) all.push_back({std::string(op_row(op).name), op, {{3, 4}}});
  }
}

inline std::vector<OpCase> catalogue() {
  std::vector<OpCase> all = layout_and_arithmetic_cases();
  for (OpCase& one : product_and_window_cases()) all.push_back(std::move(one));
  for (OpCase& one : function_cases()) all.push_back(std::move(one));
  for (OpCase& one : choice_and_group_cases()) all.push_back(std::move(one));
  add_sampled_functions(all);
  add_plain_functions(all);
  return all;
}

inline Draw draw_of(const OpCase& one, std::size_t operand) { return operand < one.draws.size() ? one.draws[operand] : Draw::any; }

// The op with one input per operand; node number shapes.size() is the application.
inline Graph graph_of(const OpCase& one) {
  Graph graph;
  std::vector<NodeId> operands;
  for (std::size_t i = 0; i < one.shapes.size(); ++i) {
    const Draw draw = draw_of(one, i);
    const DType dtype = draw == Draw::truth ? DType::boolean : draw == Draw::whole || draw == Draw::index ? DType::int64 : DType::float32;
    operands.push_back(graph.append_input(dtype, one.shapes[i], "x" + std::to_string(i)));
  }
  Outcome<NodeId> result = graph.append(one.op, operands, one.attributes, one.name);
  if (result.ok()) graph.mark_output(result.value(), "y");
  return graph;
}

// Small integers, so that every algebraic op is exact in double and float.
inline std::int64_t draw(std::mt19937_64& random, Draw from) {
  const auto value = static_cast<std::int64_t>(random() % 9) - 4;
  switch (from) {
    case Draw::any:
    case Draw::whole:
      return value;
    case Draw::non_zero:
      return value == 0 ? 1 : value;
    case Draw::positive:
      return (value < 0 ? -value : value) + 1;
    case Draw::square:
      return value == 0 ? 1 : value * value;
    case Draw::fraction:
      return 0;
    case Draw::index:
      return value < 0 ? -1 - (value & 1) : value & 1;
    case Draw::truth:
      return value > 0 ? 1 : 0;
  }
  return 0;
}

}  // namespace assay::probes
