// lift(), denote() and evaluate() for any scalar: lift a constant, evaluate one op, evaluate a whole graph.
//
// One .cpp file instantiates each scalar, by ASSAY_DENOTE_OVER; all other files include denote.h. So a program links
// only the scalars that it computes with.
#pragma once

#include <cstring>
#include <type_traits>
#include <utility>

#include "semantics/demand.h"
#include "semantics/graph/family.h"
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

// Element i of a float32 tensor, without the dispatch on the type in as_double.
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
  switch (kind_of(node.op)) {
    case OpKind::leaf:
      break;  // leaves are no functions of operands
    case OpKind::layout:
      return layout::denote<S>(node, operands);
    case OpKind::arithmetic:
      return arithmetic::denote<S>(node, operands);
    case OpKind::product:
      return product::denote<S>(node, operands);
    case OpKind::convolution:
      return conv::denote<S>(node, operands);
    case OpKind::batch_norm:
      return batch_norm::denote<S>(node, operands);
    case OpKind::place:
      return place::denote<S>(node, operands);
    case OpKind::sum:
      return reduce::denote<S>(node, operands);
    case OpKind::pool:
      return pool::denote<S>(node, operands);
    case OpKind::piecewise:
    case OpKind::min_max:
      return piecewise::denote<S>(node, operands);
    case OpKind::function:
    case OpKind::power:
      return transcendental::denote<S>(node, operands);
    case OpKind::rounding:
      return rounding::denote<S>(node, operands);
    case OpKind::step:
    case OpKind::max_weight:
      return selector::denote<S>(node, operands);
    case OpKind::softmax:
      return softmax::denote<S>(node, operands);
    case OpKind::activation:
      return activation::denote<S>(node, operands);
    case OpKind::comparison:
    case OpKind::logic:
    case OpKind::where:
    case OpKind::cast:
      return choice::denote<S>(node, operands);
    case OpKind::bitwise:
      return bitwise::denote<S>(node, operands);
    case OpKind::running_sum:
    case OpKind::running_product:
    case OpKind::reduced_product:
    case OpKind::extremum:
    case OpKind::position:
      return extremum::denote<S>(node, operands);
    case OpKind::weighted_gather:
      return weighted_gather::denote<S>(node, operands);
    case OpKind::order:
    case OpKind::ranking:
      return order::denote<S>(node, operands);
    case OpKind::normalise:
      return normalise::denote<S>(node, operands);
    case OpKind::local_response:
      return local_response::denote<S>(node, operands);
    case OpKind::masked_softmax:
      return masked_softmax::denote<S>(node, operands);
  }
  demand(false, "denote: a leaf has no denotation");
  return no_function(node, ScalarTraits<S>::name);
}

// The largest integer up to which a floating-point scalar holds every integer; larger ones would be rounded silently.
template <class Float>
Float greatest_exact() {
  return std::is_same_v<Float, float> ? Float(0x1p24F) : Float(0x1p53);
}

// An integer result outside its type's range is a domain fault: undefined over sets, a rejection over points. It never
// wraps. (A sum that leaves the range and returns to it has the value that wrapping arithmetic gives, too.)
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
    // A residue does not show whether a result overflows.
    return ops::no_function(node, ScalarTraits<S>::name);
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
