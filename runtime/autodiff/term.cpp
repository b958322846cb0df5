#include "runtime/autodiff/term.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

#include "semantics/demand.h"

namespace assay::runtime::autodiff {

Term Term::exact(double value) const {
  const bool holds = dtype() == DType::float64 || static_cast<double>(static_cast<float>(value)) == value;
  return holds ? number(value) : number(1) * value;
}

Term Term::exact(const Rational& value) const {
  if (value.is_double()) return exact(value.double_down());
  const std::string text = value.to_string();  // "numerator/denominator"
  const std::size_t bar = text.find('/');
  const std::optional<Rational> above = Rational::parse(text.substr(0, bar)), below = Rational::parse(text.substr(bar + 1));
  demand(bar != std::string::npos && above && below, "Term::exact: the text of a fraction");
  return exact(above->double_down()) / exact(below->double_down());
}

Term below_zero(const Term& a) { return a.apply(Op::clip, ClipAttributes{-std::numeric_limits<double>::infinity(), 0}); }

Term power(const Term& a, const Rational& exponent) {
  if (exponent == Rational(1)) return a;
  return a.apply(Op::pow, PowAttributes{exponent});
}

Term reshape(const Term& a, const Shape& shape) { return a.shape() == shape ? a : a.apply(Op::reshape, ShapeAttributes{shape}); }

Term permute(const Term& a, const std::vector<std::int64_t>& axes) {
  return std::is_sorted(axes.begin(), axes.end()) ? a : a.apply(Op::permute, PermuteAttributes{axes});
}

Term transpose(const Term& a) {
  std::vector<std::int64_t> axes(a.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes[axes.size() - 1], axes[axes.size() - 2]);
  return permute(a, axes);
}

Term expand(const Term& a, const Shape& shape) { return a.shape() == shape ? a : a.apply(Op::expand, ShapeAttributes{shape}); }

Term sum(const Term& a, const std::vector<std::int64_t>& axes, bool keep_dims) {
  return axes.empty() ? a : a.apply(Op::reduce_sum, ReduceAttributes{axes, keep_dims});
}

Term mean(const Term& a, const std::vector<std::int64_t>& axes) { return a.apply(Op::reduce_mean, ReduceAttributes{axes, true}); }

Term pad(const Term& a, const std::vector<std::int64_t>& before, const std::vector<std::int64_t>& after) {
  const auto is_zero = [](std::int64_t n) { return n == 0; };
  if (std::ranges::all_of(before, is_zero) && std::ranges::all_of(after, is_zero)) return a;
  return a.apply(Op::pad, PadAttributes{before, after, 0});
}

Term concat(const std::vector<Term>& parts, std::int64_t axis) {
  std::vector<Ref> refs;
  for (const Term& part : parts) refs.push_back(part.ref());
  return {parts[0].emitter(), parts[0].emitter().op(Op::concat, refs, ConcatAttributes{axis})};
}

Term choose(const Term& condition, const Term& yes, const Term& no) {
  const Ref operands[] = {condition.ref(), yes.ref(), no.ref()};
  return {yes.emitter(), yes.emitter().op(Op::where, operands, NoAttributes{})};
}

Term sum_to(const Term& a, const Shape& shape) {
  const Shape& from = a.shape();  // read before the next op
  if (from == shape) return a;
  const std::size_t more = from.size() - shape.size();
  std::vector<std::int64_t> axes;
  bool inner = false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const bool repeated = i >= more && shape[i - more] == 1 && from[i] != 1;
    inner = inner || repeated;
    if (i < more || repeated) axes.push_back(static_cast<std::int64_t>(i));
  }
  return reshape(sum(a, axes, inner), shape);
}

std::int64_t extent_product(const Shape& shape, std::size_t first, std::size_t last) {
  std::int64_t product = 1;
  for (std::size_t i = first; i < last; ++i) product *= shape[i];
  return product;
}

}  // namespace assay::runtime::autodiff
