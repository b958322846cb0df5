// The representative set of elementwise, linear and reducing ops.

#include "kernel/gradients/adjointness/cases.h"

#include <string>
#include <utility>

#include "kernel/gradients/adjointness/case_builder.h"
#include "semantics/demand.h"

namespace assay::kernel {

using namespace adjointness;

namespace {

using Form = NormaliseAttributes::Form;

// An elementwise function.
Cases on(Op op, const Domain& domain, std::vector<double> kinks = {}, const Attributes& attributes = NoAttributes{}) {
  return {one(op, "", {{{2, 3}, domain}}, attributes, std::move(kinks))};
}
// A function of two operands, broadcast in both ways.
Cases on_two(Op op, const Domain& a, const Domain& b, const std::vector<double>& kinks = {}) {
  return {one(op, "", {{{2, 3}, a}, {{2, 3}, b}}, NoAttributes{}, kinks),
          one(op, "second operand broadcast", {{{2, 3}, a}, {{3}, b}}, NoAttributes{}, kinks),
          one(op, "both broadcast", {{{2, 1, 3}, a}, {{2, 1}, b}}, NoAttributes{}, kinks),
          one(op, "first operand a scalar", {{{}, a}, {{2, 3}, b}}, NoAttributes{}, kinks)};
}

Cases reduction_cases(Op op, const Domain& domain, const std::vector<double>& kinks) {
  return {one(op, "axis kept", {{{2, 3, 2}, domain}}, ReduceAttributes{{1}, true}, kinks),
          one(op, "axes dropped", {{{2, 3, 2}, domain}}, ReduceAttributes{{0, 2}, false}, kinks),
          one(op, "everything", {{{2, 3}, domain}}, ReduceAttributes{{0, 1}, false}, kinks)};
}

Cases running_cases(Op op, const std::vector<double>& special) {
  return {one(op, "", {{{2, 3, 2}}}, CumulativeAttributes{1, false, false}, special),
          one(op, "exclusive", {{{3, 2}}}, CumulativeAttributes{0, true, false}, special),
          one(op, "reverse", {{{2, 3}}}, CumulativeAttributes{1, false, true}, special),
          one(op, "exclusive and reverse", {{{4}}}, CumulativeAttributes{0, true, true}, special)};
}

Cases extremum_cases(Op op) {
  Cases cases = on_two(op, kAny, kAny, kTies);
  cases.push_back(one(op, "of one", {{{2, 3}}}, NoAttributes{}, kTies));
  cases.push_back(one(op, "of four", {{{2}}, {{3, 1}}, {{3, 2}}, {{}}}, NoAttributes{}, kTies));
  return cases;
}

Cases pow_cases() {
  Cases cases;
  for (const std::int64_t n : {0, 1, 2, 3, -2}) cases.push_back(one(Op::pow, std::to_string(n), {{{2, 2}}}, PowAttributes{Rational(n)}));
  for (const Rational& r : {Rational(3, 2), Rational(1, 2), Rational(-5, 4)})
    cases.push_back(one(Op::pow, r.to_string(), {{{2}, kPositive}}, PowAttributes{r}));
  return cases;
}

Cases normalise_cases() {
  Cases cases;
  for (const auto& [form, name] : {std::pair(Form::centered, "centered"), std::pair(Form::deviation, "deviation"),
                                   std::pair(Form::root_mean, "root_mean"), std::pair(Form::l2, "l2"), std::pair(Form::l1, "l1")}) {
    const std::vector<double> kinks = form == Form::l1 ? kZero : std::vector<double>{};
    cases.push_back(one(Op::normalise, name, {{{2, 3}}}, NormaliseAttributes{{1}, 0.5, form}, kinks));
    cases.push_back(one(Op::normalise, std::string(name) + ", two axes", {{{2, 2, 2}}}, NormaliseAttributes{{0, 2}, 0.25, form}, kinks));
  }
  return cases;
}

Cases batch_norm_cases() {
  const Op op = Op::batch_norm;
  return {one(op, "", {{{2, 2, 3}}, {{2}}, {{2}}, {{2}}, {{2}, kPositive}}, BatchNormAttributes{0.5}),
          one(op, "no epsilon", {{{2, 3}}, {{3}}, {{3}}, {{3}}, {{3}, kPositive}}, BatchNormAttributes{0})};
}

Cases softmax_cases(Op op) {
  return {one(op, "", {{{2, 4}}}, SoftmaxAttributes{1}), one(op, "inner axis", {{{2, 3, 2}}}, SoftmaxAttributes{1})};
}

Cases masked_softmax_cases() {
  const Op op = Op::masked_softmax;
  return {one(op, "", {{{3, 4}}, truths({3, 4})}, MaskedSoftmaxAttributes{1, true}),
          one(op, "mask broadcast, inner axis", {{{2, 3, 2}}, truths({3, 1})}, MaskedSoftmaxAttributes{1, true})};
}

Cases local_response_cases() {
  const Op op = Op::local_response;
  return {one(op, "", {{{1, 4, 1}}}, LocalResponseAttributes{3, 0.5, 0.75, 2}),
          one(op, "even size", {{{1, 3, 2}}}, LocalResponseAttributes{4, 1, 0.5, 1}),
          one(op, "integer exponent", {{{2, 3}}}, LocalResponseAttributes{2, 1, 2, 1})};
}

Cases piecewise_cases(Op op) {
  switch (op) {
    case Op::leaky_relu: {
      Cases cases;
      for (const double slope : {0.25, 3.0, -0.5}) {
        cases.push_back(one(op, "slope " + Rational::from_double(slope)->to_decimal(), {{{2, 2}}}, LeakyReluAttributes{slope}, kZero));
      }
      return cases;
    }
    case Op::clip:
      return {one(op, "", {{{2, 2}}}, ClipAttributes{-1, 2}, {-1, 2}), one(op, "below", {{{2, 2}}}, ClipAttributes{-1, kInfinity}, {-1}),
              one(op, "above", {{{2, 2}}}, ClipAttributes{-kInfinity, 0}, {0}),
              one(op, "nowhere", {{{2}}}, ClipAttributes{-kInfinity, kInfinity})};
    case Op::elu:
    case Op::celu:
      return {one(op, "", {{{2, 2}}}, ActivationAttributes{0.75, 0}, kZero),
              one(op, "alpha 1", {{{2, 2}}}, ActivationAttributes{1, 0}, kZero),
              one(op, "falling", {{{2, 2}}}, ActivationAttributes{-0.75, 0}, kZero)};
    case Op::selu:
      return {one(op, "", {{{2, 2}}}, ActivationAttributes{1.5, 1.25}, kZero)};
    case Op::hard_sigmoid:
      return {one(op, "", {{{2, 2}}}, ActivationAttributes{0.25, 0.5}, {-2, 2}),
              one(op, "falling", {{{2, 2}}}, ActivationAttributes{-0.5, 0.25}, {-1.5, 0.5})};
    case Op::hard_swish:
      return on(op, kAny, {-3, 3});
    case Op::thresholded_relu:
      return {one(op, "", {{{2, 2}}}, ActivationAttributes{1, 0})};
    case Op::shrink:
      return {one(op, "", {{{2, 4}}}, ActivationAttributes{1.5, 0.5})};
    case Op::prelu:
      return {one(op, "", {{{2, 3}}, {{3}}}, NoAttributes{}, kZero), one(op, "per row", {{{2, 3}}, {{2, 1}}}, NoAttributes{}, kZero)};
    default:
      demand(op == Op::mod, "piecewise_cases: not one of these ops");
      return {one(op, "", {{{2, 3}}, {{3}, {0.75, 3}}}, ModAttributes{false}),
              one(op, "negative divisor", {{{3}}, {{3}, {-3, -0.75}}}, ModAttributes{false}),
              one(op, "truncated", {{{3}}, {{2, 1}, {0.75, 3}}}, ModAttributes{true})};
  }
}

Cases silu_cases() {
  Cases cases;
  for (const double alpha : {1.0, 2.0, -1.5, 0.0})
    cases.push_back(one(Op::silu, "alpha " + Rational::from_double(alpha)->to_decimal(), {{{3}}}, ActivationAttributes{alpha, 0}));
  return cases;
}

Cases joined(Cases a, Cases b) {
  for (AdjointCase& each : b) a.push_back(std::move(each));
  return a;
}

Cases take_cases() {
  const auto index = [](Shape shape, double extent) { return Operand{std::move(shape), {-extent, extent - 1}, DType::int64}; };
  return {one(Op::take, "repeats, from both ends", {index({2, 5}, 3), {{2, 3}}}, ConcatAttributes{1}),
          one(Op::take, "axis 0", {index({4, 2}, 3), {{3, 2}}}, ConcatAttributes{0}),
          one(Op::take, "inner axis", {index({2, 2, 2}, 3), {{2, 3, 2}}}, ConcatAttributes{1})};
}

Cases sort_cases() {
  return {one(Op::sort, "descending", {{{2, 4}}}, SortAttributes{1, 4, true}, kTies),
          one(Op::sort, "ascending, the first two", {{{4, 2}}}, SortAttributes{0, 2, false}, kTies),
          one(Op::sort, "inner axis, the first", {{{2, 3, 2}}}, SortAttributes{1, 1, true}, kTies)};
}

Cases weighted_gather_cases() {
  const WeightedGatherAttributes along{
      1, {0, 2, 2, 5, 6}, {2, 0, 1, 1, 2, 0}, {Rational(1, 3), Rational(2, 3), Rational(-5), Rational(2), Rational(1, 7), Rational(1)}};
  WeightedGatherAttributes first = along;
  first.axis = 0;
  return {one(Op::weighted_gather, "inner axis, a position without terms", {{{2, 3, 2}}}, along),
          one(Op::weighted_gather, "axis 0", {{{3, 2}}}, first)};
}

Cases cast_cases() {
  const Op op = Op::cast;
  const auto to = [](DType dtype) { return CastAttributes{static_cast<std::uint8_t>(dtype)}; };
  return {one(op, "to double", {{{2, 2}}}, to(DType::float64)), one(op, "to float", {{{2}, kAny, DType::float64}}, to(DType::float32))};
}

}  // namespace

std::vector<AdjointCase> adjoint_cases(Op op) {
  switch (op) {
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::concat:
    case Op::pad:
    case Op::gather:
    case Op::expand:
    case Op::place:
      return layout_cases(op);
    case Op::add:
    case Op::sub:
    case Op::mul:
      return on_two(op, kAny, kAny);
    case Op::div:
      return joined(on_two(op, kAny, kPositive), {one(op, "negative divisor", {{{3}}, {{3}, kNegative}})});
    case Op::neg:
    case Op::sigmoid:
    case Op::tanh:
    case Op::exp:
    case Op::sin:
    case Op::cos:
    case Op::erf:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::softplus:
    case Op::mish:
      return on(op, kAny);
    case Op::scale:
      return {one(op, "", {{{2, 3}}}, ScaleAttributes{-2.5}), one(op, "by 0", {{{3}}}, ScaleAttributes{0})};
    case Op::gemm:
    case Op::matmul:
      return product_cases(op);
    case Op::conv:
      return conv_cases();
    case Op::conv_transpose:
      return conv_transpose_cases();
    case Op::batch_norm:
      return batch_norm_cases();
    case Op::reduce_sum:
    case Op::reduce_mean:
      return reduction_cases(op, kAny, {});
    case Op::reduce_prod:
      return reduction_cases(op, kAny, kZero);
    case Op::avg_pool:
    case Op::max_pool:
      return pool_cases(op);
    case Op::cumsum:
      return running_cases(op, {});
    case Op::cumprod:
      return running_cases(op, kZero);
    case Op::relu:
    case Op::abs:
    case Op::softsign:
      return on(op, kAny, kZero);
    case Op::leaky_relu:
    case Op::clip:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::hard_sigmoid:
    case Op::hard_swish:
    case Op::thresholded_relu:
    case Op::shrink:
    case Op::prelu:
    case Op::mod:
      return piecewise_cases(op);
    case Op::sign:
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::step:
      return on(op, kAny);
    case Op::sqrt:
    case Op::log:
      return on(op, kPositive);
    case Op::tan:
      return joined(on(op, kFraction), {one(op, "beyond a pole", {{{2}, {2, 4}}})});
    case Op::atanh:
      return on(op, kFraction);
    // Each root halves the share of points that can be used: few elements.
    case Op::asin:
    case Op::acos:
      return {one(op, "", {{{3}, kFraction}})};
    case Op::asinh:
      return {one(op, "", {{{3}}})};
    case Op::acosh:
      return {one(op, "", {{{2}, kAboveOne}})};
    case Op::reciprocal:
      return joined(on(op, kPositive), {one(op, "negative", {{{2}, kNegative}})});
    case Op::pow:
      return pow_cases();
    case Op::power:
      return on_two(op, kPositive, kAny);
    case Op::min:
    case Op::max:
      return extremum_cases(op);
    case Op::where:
      return {one(op, "", {truths({2, 3}), {{2, 3}}, {{2, 3}}}), one(op, "broadcast", {truths({2, 1}), {{2, 3}}, {{3}}})};
    case Op::take:
      return take_cases();
    case Op::sort:
      return sort_cases();
    case Op::weighted_gather:
      return weighted_gather_cases();
    case Op::cast:
      return cast_cases();
    case Op::reduce_max:
    case Op::reduce_min:
      return reduction_cases(op, kAny, kTies);
    case Op::max_weight:
      return reduction_cases(op, kAny, {});
    case Op::softmax:
    case Op::log_softmax:
      return softmax_cases(op);
    case Op::log_sum_exp:
      return reduction_cases(op, kAny, {});
    case Op::gelu:
      return {one(op, "", {{{3}}}, GeluAttributes{false}), one(op, "tanh form", {{{3}}}, GeluAttributes{true})};
    case Op::silu:
      return silu_cases();
    case Op::normalise:
      return normalise_cases();
    case Op::local_response:
      return local_response_cases();
    case Op::masked_softmax:
      return masked_softmax_cases();
    // No operands, or no real result.
    case Op::input:
    case Op::constant:
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
    case Op::equal:
    case Op::less:
    case Op::less_equal:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::is_nan:
    case Op::is_inf:
    case Op::arg_max:
    case Op::arg_min:
    case Op::arg_sort:
      break;
  }
  return {};
}

}  // namespace assay::kernel
