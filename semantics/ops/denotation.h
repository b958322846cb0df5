// lift(), denote() and evaluate(): constants onto a scalar, one op, a whole graph, for any scalar.
//
// Each scalar is instantiated in one .cpp file, by ASSAY_DENOTE_OVER; everything else includes denote.h. A program thus links the
// scalars that it computes with, and no other.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "semantics/demand.h"
#include "semantics/numbers/selection.h"
#include "semantics/ops/activation.h"
#include "semantics/ops/arithmetic.h"
#include "semantics/ops/batch_norm.h"
#include "semantics/ops/bitwise.h"
#include "semantics/ops/choice.h"
#include "semantics/ops/conv.h"
#include "semantics/ops/extremum.h"
#include "semantics/ops/families.h"
#include "semantics/ops/integer_range.h"
#include "semantics/ops/layout.h"
#include "semantics/ops/local_response.h"
#include "semantics/ops/masked_softmax.h"
#include "semantics/ops/normalise.h"
#include "semantics/ops/order.h"
#include "semantics/ops/piecewise.h"
#include "semantics/ops/place.h"
#include "semantics/ops/pool.h"
#include "semantics/ops/product.h"
#include "semantics/ops/reduce.h"
#include "semantics/ops/rounding.h"
#include "semantics/ops/selector.h"
#include "semantics/ops/softmax.h"
#include "semantics/ops/transcendental.h"
#include "semantics/ops/weighted_gather.h"

namespace assay {

namespace ops {

// The element of a float32 tensor at position i, without the per-element dispatch of as_double.
static inline double float_at(std::span<const std::byte> bytes, std::size_t i) {
  float value;
  std::memcpy(&value, bytes.data() + i * sizeof(float), sizeof(float));
  return static_cast<double>(value);
}

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

namespace ops {

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
      return layout::denote<S>(node, operands);
    case Op::add:
    case Op::sub:
    case Op::neg:
    case Op::scale:
    case Op::mul:
    case Op::div:
    case Op::reciprocal:
      return arithmetic::denote<S>(node, operands);
    case Op::gemm:
    case Op::matmul:
      return product::denote<S>(node, operands);
    case Op::conv:
    case Op::conv_transpose:
      return conv::denote<S>(node, operands);
    case Op::batch_norm:
      return batch_norm::denote<S>(node, operands);
    case Op::place:
      return place::denote<S>(node, operands);
    case Op::reduce_sum:
    case Op::reduce_mean:
      return reduce::denote<S>(node, operands);
    case Op::avg_pool:
    case Op::max_pool:
      return pool::denote<S>(node, operands);
    case Op::relu:
    case Op::leaky_relu:
    case Op::abs:
    case Op::sign:
    case Op::clip:
    case Op::min:
    case Op::max:
      return piecewise::denote<S>(node, operands);
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
      return transcendental::denote<S>(node, operands);
    case Op::floor:
    case Op::ceil:
    case Op::round:
    case Op::mod:
      return rounding::denote<S>(node, operands);
    case Op::step:
    case Op::max_weight:
      return selector::denote<S>(node, operands);
    case Op::softmax:
    case Op::log_softmax:
    case Op::log_sum_exp:
      return softmax::denote<S>(node, operands);
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
      return activation::denote<S>(node, operands);
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
      return choice::denote<S>(node, operands);
    case Op::bitwise_and:
    case Op::bitwise_or:
    case Op::bitwise_xor:
      return bitwise::denote<S>(node, operands);
    case Op::cumsum:
    case Op::cumprod:
    case Op::reduce_max:
    case Op::reduce_min:
    case Op::reduce_prod:
    case Op::arg_max:
    case Op::arg_min:
      return extremum::denote<S>(node, operands);
    case Op::weighted_gather:
      return weighted_gather::denote<S>(node, operands);
    case Op::take:
    case Op::sort:
    case Op::arg_sort:
      return order::denote<S>(node, operands);
    case Op::normalise:
      return normalise::denote<S>(node, operands);
    case Op::local_response:
      return local_response::denote<S>(node, operands);
    case Op::masked_softmax:
      return masked_softmax::denote<S>(node, operands);
  }
  demand(false, "denote: a leaf has no denotation");
  return no_function(node, ScalarTraits<S>::name);
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
      if (!(value >= -greatest_exact<S>() && value <= greatest_exact<S>())) return no_function(node, ScalarTraits<S>::name);
    }
    if (!compare(value, lo).may_be_less && !compare(value, hi).may_be_greater) continue;
    if constexpr (ScalarTraits<S>::is_enclosure) {
      value = truth(false, false, static_cast<const S*>(nullptr));
    } else {
      return domain_fault(node, i, "an integer within the range of its type", "an overflow");
    }
  }
  return y;
}

}  // namespace ops

template <class S>
Outcome<Array<S>> denote(const Node& node, std::span<const Array<S>* const> operands) {
  demand(operands.size() == node.operands.size(), "denote: one array per operand");
  const bool may_overflow = is_integer(node.dtype) && op_row(node.op).op_class != OpClass::layout;
  if (!may_overflow) return ops::denote_reals<S>(node, operands);
  if constexpr (!ScalarTraits<S>::has_piecewise) {
    return ops::no_function(node, ScalarTraits<S>::name);  // a residue does not tell whether a result overflows
  } else {
    Outcome<Array<S>> y = ops::denote_reals<S>(node, operands);
    if (!y) return y;
    return ops::within_range(node, std::move(y).value());
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

}  // namespace assay

#define ASSAY_DENOTE_OVER(S)                                                                                                   \
  template ::assay::Array<S> assay::lift(const ::assay::Tensor&);                                                              \
  template ::assay::Outcome<::assay::Array<S>> assay::denote(const ::assay::Node&, std::span<const ::assay::Array<S>* const>); \
  template ::assay::Outcome<std::vector<::assay::Array<S>>> assay::evaluate(const ::assay::Graph&, std::span<const ::assay::Array<S>>)
