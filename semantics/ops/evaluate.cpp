// lift(), denote() and evaluate(): constants onto a scalar, one op, a whole graph.
#include <cstring>
#include <type_traits>
#include <utility>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/families.h"
#include "semantics/ops/integer_range.h"

namespace assay {

namespace ops {

Rejection no_function(const Node& node, const char* scalar) {
  const std::string name(op_row(node.op).name);
  return {Rejection::Kind::declined,
          "denote.scalar",
          "node '" + node.name + "' (" + name + ")",
          "a scalar on which " + name + " is defined",
          scalar,
          "evaluate over Interval or WideInterval"};
}

Rejection domain_fault(const Node& node, std::size_t element, const char* required, const char* found) {
  const std::string name(op_row(node.op).name);
  return {Rejection::Kind::rejected,
          name + ".domain",
          "node '" + node.name + "' (" + name + "), element " + std::to_string(element),
          required,
          found,
          "the exact function has no value there"};
}

namespace {

// The element of a float32 tensor at position i, without the per-element dispatch of as_double.
double float_at(std::span<const std::byte> bytes, std::size_t i) {
  float value;
  std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
  return static_cast<double>(value);
}

}  // namespace

}  // namespace ops

template <class S>
Array<S> lift(const Tensor& constant) {
  demand(constant.dtype() != DType::complex64, "lift: complex constants have no real value");
  Array<S> result{constant.shape(), {}};
  result.values.reserve(constant.size());
  for (std::size_t i = 0; i < constant.size(); ++i) {
    if (!is_float(constant.dtype())) {
      result.values.push_back(ScalarTraits<S>::from_rational(Rational(constant.as_int(i))));
      continue;
    }
    const double value = constant.dtype() == DType::float32 ? ops::float_at(constant.bytes(), i) : constant.as_double(i);
    demand(ScalarTraits<S>::can_hold(value), "lift: a value that the scalar cannot hold");
    result.values.push_back(ScalarTraits<S>::from_double(value));
  }
  return result;
}

namespace {

template <class S>
Outcome<Array<S>> denote_reals(const Node& node, std::span<const Array<S>* const> operands) {
  switch (node.op) {
    case Op::input:
    case Op::constant:
      break;  // no function of operands
    case Op::reshape:
    case Op::permute:
    case Op::slice:
    case Op::concat:
    case Op::pad:
    case Op::gather:
    case Op::expand:
      return ops::denote_layout<S>(node, operands);
    case Op::add:
    case Op::sub:
    case Op::neg:
    case Op::scale:
    case Op::mul:
    case Op::div:
    case Op::reciprocal:
      return ops::denote_arithmetic<S>(node, operands);
    case Op::gemm:
    case Op::matmul:
      return ops::denote_product<S>(node, operands);
    case Op::conv:
    case Op::conv_transpose:
      return ops::denote_convolution<S>(node, operands);
    case Op::batch_norm:
      return ops::denote_batch_norm<S>(node, operands);
    case Op::place:
      return ops::denote_place<S>(node, operands);
    case Op::reduce_sum:
    case Op::reduce_mean:
      return ops::denote_reduce<S>(node, operands);
    case Op::avg_pool:
    case Op::max_pool:
      return ops::denote_pool<S>(node, operands);
    case Op::relu:
    case Op::leaky_relu:
    case Op::abs:
    case Op::sign:
    case Op::clip:
    case Op::min:
    case Op::max:
      return ops::denote_piecewise<S>(node, operands);
    case Op::sigmoid:
    case Op::tanh:
    case Op::sqrt:
    case Op::pow:
    case Op::exp:
    case Op::log:
    case Op::sin:
    case Op::cos:
    case Op::erf:
    case Op::tan:
    case Op::asin:
    case Op::acos:
    case Op::atan:
    case Op::sinh:
    case Op::cosh:
    case Op::asinh:
    case Op::acosh:
    case Op::atanh:
    case Op::softplus:
    case Op::power:
      return ops::denote_transcendental<S>(node, operands);
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::mod:
      return ops::denote_rounding<S>(node, operands);
    case Op::step:
    case Op::max_weight:
      return ops::denote_selector<S>(node, operands);
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
      return ops::denote_softmax<S>(node, operands);
    case Op::softsign:
    case Op::elu:
    case Op::selu:
    case Op::celu:
    case Op::gelu:
    case Op::silu:
    case Op::mish:
    case Op::hard_sigmoid:
    case Op::hard_swish:
    case Op::thresholded_relu:
    case Op::shrink:
    case Op::prelu:
      return ops::denote_activation<S>(node, operands);
    case Op::equal:
    case Op::less:
    case Op::less_equal:
    case Op::logical_not:
    case Op::logical_and:
    case Op::logical_or:
    case Op::logical_xor:
    case Op::is_nan:
    case Op::is_inf:
    case Op::where:
    case Op::cast:
      return ops::denote_choice<S>(node, operands);
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
      return ops::denote_bitwise<S>(node, operands);
    case Op::cumsum:
    case Op::cumprod:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_prod:
    case Op::arg_max:
    case Op::arg_min:
      return ops::denote_extremum<S>(node, operands);
    case Op::weighted_gather:
      return ops::denote_weighted_gather<S>(node, operands);
    case Op::take:
    case Op::sort:
    case Op::arg_sort:
      return ops::denote_order<S>(node, operands);
    case Op::normalise:
      return ops::denote_normalise<S>(node, operands);
    case Op::local_response:
      return ops::denote_local_response<S>(node, operands);
    case Op::masked_softmax:
      return ops::denote_masked_softmax<S>(node, operands);
  }
  demand(false, "denote: a leaf has no denotation");
  return ops::no_function(node, ScalarTraits<S>::name);
}

// Up to here a floating-point scalar holds every integer; beyond, it would be silently rounded.
template <class Float>
Float greatest_exact() {
  return std::is_same_v<Float, float> ? Float(0x1p24F) : Float(0x1p53);
}

// An integer result outside its type's range is a domain fault: undefined over sets, a rejection over points. It never wraps.
// (Sums that leave the range and return to it are what wrapping arithmetic gives, too.)
template <class S>
Outcome<Array<S>> within_range(const Node& node, Array<S> y) {
  const auto [least, most] = range_of(node.dtype);
  const S lo = ScalarTraits<S>::from_rational(least), hi = ScalarTraits<S>::from_rational(most);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    S& value = y.values[i];
    if constexpr (std::is_same_v<S, Symbolic>) {
      if (!value.is_constant()) continue;
    }
    if constexpr (std::is_floating_point_v<S>) {
      if (!(value >= -greatest_exact<S>() && value <= greatest_exact<S>())) return ops::no_function(node, ScalarTraits<S>::name);
    }
    if (!compare(value, lo).may_be_less && !compare(value, hi).may_be_greater) continue;
    if constexpr (ScalarTraits<S>::is_enclosure) {
      value = truth(false, false, static_cast<const S*>(nullptr));
    } else {
      return ops::domain_fault(node, i, "an integer within the range of its type", "an overflow");
    }
  }
  return y;
}

}  // namespace

std::pair<Rational, Rational> range_of(DType dtype) {
  if (dtype == DType::boolean) return {Rational(0), Rational(1)};
  demand(is_integer(dtype), "range_of: an integer or boolean type");
  const auto bits = static_cast<std::int64_t>(8 * byte_size(dtype));
  if (is_unsigned(dtype)) return {Rational(0), pow(Rational(2), bits) - Rational(1)};
  const Rational least = -pow(Rational(2), bits - 1);
  return {least, -least - Rational(1)};
}

template <class S>
Outcome<Array<S>> denote(const Node& node, std::span<const Array<S>* const> operands) {
  demand(operands.size() == node.operands.size(), "denote: one array per operand");
  const bool may_overflow = is_integer(node.dtype) && op_row(node.op).op_class != OpClass::layout;
  if (!may_overflow) return denote_reals<S>(node, operands);
  if constexpr (!ScalarTraits<S>::has_piecewise) {
    return ops::no_function(node, ScalarTraits<S>::name);  // a residue does not tell whether a result overflows
  } else {
    Outcome<Array<S>> y = denote_reals<S>(node, operands);
    if (!y) return y;
    return within_range(node, std::move(y).value());
  }
}

template <class S>
Outcome<std::vector<Array<S>>> evaluate(const Graph& graph, std::span<const Array<S>> inputs) {
  demand(inputs.size() == graph.inputs.size(), "evaluate: one array per input");
  std::vector<Array<S>> values(graph.nodes.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    demand(inputs[i].shape == graph.node(graph.inputs[i]).shape && inputs[i].values.size() == graph.size(graph.inputs[i]),
           "evaluate: the inputs have the graph's shapes");
    values[graph.inputs[i]] = inputs[i];
  }
  std::vector<const Array<S>*> operands;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == Op::input) continue;
    if (node.dtype == DType::complex64) return ops::no_function(node, ScalarTraits<S>::name);
    if (node.op == Op::constant) {
      values[id] = lift<S>(node.value);
      continue;
    }
    operands.clear();
    for (const NodeId operand : node.operands) operands.push_back(&values[operand]);
    Outcome<Array<S>> value = denote<S>(node, operands);
    if (!value) return value.rejection();
    values[id] = std::move(value).value();
  }
  return values;
}

template Array<Rational> lift(const Tensor&);
template Array<Interval> lift(const Tensor&);
template Array<WideInterval> lift(const Tensor&);
template Array<Modular> lift(const Tensor&);
template Array<double> lift(const Tensor&);
template Array<float> lift(const Tensor&);
template Array<Symbolic> lift(const Tensor&);
template Array<Dual<Interval>> lift(const Tensor&);
template Array<Dual<Rational>> lift(const Tensor&);
template Array<Dual<Modular>> lift(const Tensor&);
template Array<Opaque> lift(const Tensor&);
template Array<Dual<Opaque>> lift(const Tensor&);

template Outcome<Array<Rational>> denote(const Node&, std::span<const Array<Rational>* const>);
template Outcome<Array<Interval>> denote(const Node&, std::span<const Array<Interval>* const>);
template Outcome<Array<WideInterval>> denote(const Node&, std::span<const Array<WideInterval>* const>);
template Outcome<Array<Modular>> denote(const Node&, std::span<const Array<Modular>* const>);
template Outcome<Array<double>> denote(const Node&, std::span<const Array<double>* const>);
template Outcome<Array<float>> denote(const Node&, std::span<const Array<float>* const>);
template Outcome<Array<Symbolic>> denote(const Node&, std::span<const Array<Symbolic>* const>);
template Outcome<Array<Dual<Interval>>> denote(const Node&, std::span<const Array<Dual<Interval>>* const>);
template Outcome<Array<Dual<Rational>>> denote(const Node&, std::span<const Array<Dual<Rational>>* const>);
template Outcome<Array<Dual<Modular>>> denote(const Node&, std::span<const Array<Dual<Modular>>* const>);
template Outcome<Array<Opaque>> denote(const Node&, std::span<const Array<Opaque>* const>);
template Outcome<Array<Dual<Opaque>>> denote(const Node&, std::span<const Array<Dual<Opaque>>* const>);

template Outcome<std::vector<Array<Rational>>> evaluate(const Graph&, std::span<const Array<Rational>>);
template Outcome<std::vector<Array<Interval>>> evaluate(const Graph&, std::span<const Array<Interval>>);
template Outcome<std::vector<Array<WideInterval>>> evaluate(const Graph&, std::span<const Array<WideInterval>>);
template Outcome<std::vector<Array<Modular>>> evaluate(const Graph&, std::span<const Array<Modular>>);
template Outcome<std::vector<Array<double>>> evaluate(const Graph&, std::span<const Array<double>>);
template Outcome<std::vector<Array<float>>> evaluate(const Graph&, std::span<const Array<float>>);
template Outcome<std::vector<Array<Symbolic>>> evaluate(const Graph&, std::span<const Array<Symbolic>>);
template Outcome<std::vector<Array<Dual<Interval>>>> evaluate(const Graph&, std::span<const Array<Dual<Interval>>>);
template Outcome<std::vector<Array<Dual<Rational>>>> evaluate(const Graph&, std::span<const Array<Dual<Rational>>>);
template Outcome<std::vector<Array<Dual<Modular>>>> evaluate(const Graph&, std::span<const Array<Dual<Modular>>>);
template Outcome<std::vector<Array<Opaque>>> evaluate(const Graph&, std::span<const Array<Opaque>>);
template Outcome<std::vector<Array<Dual<Opaque>>>> evaluate(const Graph&, std::span<const Array<Dual<Opaque>>>);

}  // namespace assay
