// The representative set of elementwise, linear and reducing ops.

#include "kernel/gradients/adjointness/cases.h"

#include <cmath>
#include <string>
#include <utility>

#include "kernel/gradients/adjointness/case_builder.h"
#include "semantics/demand.h"
#include "semantics/functions/unary_function.h"
#include "semantics/graph/family.h"

namespace assay::gradients {

using namespace adjointness;

namespace {

using Form = NormaliseAttributes::Form;

// Cases of an elementwise function.
Cases on(Op op, const Domain& domain, std::vector<double> kinks = {}, const Attributes& attributes = NoAttributes{}) {
  return {one(op, "", {{{2, 3}, domain}}, attributes, std::move(kinks))};
}
// Cases of a function of two operands, with each of them broadcast.
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

Cases mod_cases() {
  return {one(Op::mod, "", {{{2, 3}}, {{3}, {0.75, 3}}}, ModAttributes{false}),
          one(Op::mod, "negative divisor", {{{3}}, {{3}, {-3, -0.75}}}, ModAttributes{false}),
          one(Op::mod, "truncated", {{{3}}, {{2, 1}, {0.75, 3}}}, ModAttributes{true})};
}

Cases prelu_cases() {
  const Op op = Op::prelu;
  return {one(op, "", {{{2, 3}}, {{3}}}, NoAttributes{}, kZero), one(op, "per row", {{{2, 3}}, {{2, 1}}}, NoAttributes{}, kZero)};
}

// The break points of a function, if its derivative breaks there or another formula begins.
std::vector<double> kinks_of(const AdjointCase& one) {
  const Node& node = one.graph.nodes.back();
  const Smoothness smoothness = op_row(node.op).smoothness;
  std::vector<double> kinks;
  if (smoothness != Smoothness::kink && (smoothness != Smoothness::smooth || is_entire(node.op))) return kinks;
  const UnaryFunction function(node);
  for (const Segment& each : function.segments()) {
    if (std::isfinite(each.to) && (kinks.empty() || kinks.back() != each.to)) kinks.push_back(each.to);
  }
  return kinks;
}

// A function on its whole domain, with the attributes that ops.def gives as samples. Smooth formulas are long, so their
// cases have few elements.
Cases sampled_cases(Op op) {
  // One by one, since a list of all takes compilers minutes and 12 GB.
  std::vector<std::pair<const char*, Attributes>> samples;
#define ASSAY_SAMPLE(name, what, ...) \
  if (op == Op::name) samples.emplace_back(what, Attributes(__VA_ARGS__));
#include "semantics/graph/ops.def"
  const bool is_plain = op_row(op).attributes == Attributes(NoAttributes{}).index();
  if (samples.empty() && is_plain) samples.emplace_back("", NoAttributes{});
  demand(!samples.empty(), "adjoint_cases: a function with attributes has samples in ops.def");
  const Smoothness smoothness = op_row(op).smoothness;
  const Shape shape = is_plain                           ? Shape{2, 3}
                      : smoothness == Smoothness::smooth ? Shape{3}
                                                         : Shape{2, smoothness == Smoothness::jump ? 4 : 2};
  Cases cases;
  for (const auto& [what, attributes] : samples) {
    cases.push_back(one(op, what, {{shape}}, attributes));
    cases.back().kinks = kinks_of(cases.back());
  }
  return cases;
}

// Functions of one variable.
Cases function_cases(Op op) {
  switch (op) {
    case Op::sqrt:
    case Op::log:
      return on(op, kPositive);
    case Op::pow:
      return pow_cases();
    case Op::reciprocal:
      return joined(on(op, kPositive), {one(op, "negative", {{{2}, kNegative}})});
    case Op::tan:
      return joined(on(op, kFraction), {one(op, "beyond a pole", {{{2}, {2, 4}}})});
    case Op::atanh:
      return on(op, kFraction);
    // Few elements, since each root halves the fraction of usable points.
    case Op::asin:
    case Op::acos:
      return {one(op, "", {{{3}, kFraction}})};
    case Op::asinh:
      return {one(op, "", {{{3}}})};
    case Op::acosh:
      return {one(op, "", {{{2}, kAboveOne}})};
    case Op::cast:
      return cast_cases();
    default:
      return sampled_cases(op);
  }
}

Cases arithmetic_cases(Op op) {
  switch (op) {
    case Op::div:
      return joined(on_two(op, kAny, kPositive), {one(op, "negative divisor", {{{3}}, {{3}, kNegative}})});
    case Op::neg:
      return on(op, kAny);
    case Op::scale:
      return {one(op, "", {{{2, 3}}}, ScaleAttributes{-2.5}), one(op, "by 0", {{{3}}}, ScaleAttributes{0})};
    default:
      return on_two(op, kAny, kAny);
  }
}

}  // namespace

std::vector<AdjointCase> adjoint_cases(Op op) {
  if (family_of(op) == Family::function) return function_cases(op);
  switch (kind_of(op)) {
    case OpKind::layout:
    case OpKind::place:
      return layout_cases(op);
    case OpKind::weighted_gather:
      return weighted_gather_cases();
    case OpKind::arithmetic:
      return arithmetic_cases(op);
    case OpKind::product:
      return product_cases(op);
    case OpKind::convolution:
      return op == Op::conv ? conv_cases() : conv_transpose_cases();
    case OpKind::pool:
      return pool_cases(op);
    case OpKind::batch_norm:
      return batch_norm_cases();
    case OpKind::sum:
    case OpKind::max_weight:
      return reduction_cases(op, kAny, {});
    case OpKind::reduced_product:
      return reduction_cases(op, kAny, kZero);
    case OpKind::extremum:
      return reduction_cases(op, kAny, kTies);
    case OpKind::running_sum:
      return running_cases(op, {});
    case OpKind::running_product:
      return running_cases(op, kZero);
    case OpKind::order:
      return op == Op::take ? take_cases() : sort_cases();
    case OpKind::min_max:
      return extremum_cases(op);
    case OpKind::power:
      return on_two(op, kPositive, kAny);
    case OpKind::rounding:
      return mod_cases();
    case OpKind::activation:
      return prelu_cases();
    case OpKind::softmax:
      return op == Op::log_sum_exp ? reduction_cases(op, kAny, {}) : softmax_cases(op);
    case OpKind::masked_softmax:
      return masked_softmax_cases();
    case OpKind::normalise:
      return normalise_cases();
    case OpKind::local_response:
      return local_response_cases();
    case OpKind::where:
      return {one(op, "", {truths({2, 3}), {{2, 3}}, {{2, 3}}}), one(op, "broadcast", {truths({2, 1}), {{2, 3}}, {{3}}})};
    // No operands, or no real result. Functions of one variable are handled above.
    case OpKind::leaf:
    case OpKind::position:
    case OpKind::ranking:
    case OpKind::comparison:
    case OpKind::logic:
    case OpKind::bitwise:
    case OpKind::piecewise:
    case OpKind::step:
    case OpKind::function:
    case OpKind::cast:
      break;
  }
  return {};
}

}  // namespace assay::gradients
