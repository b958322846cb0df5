// The fields of attributes by name, for text forms of nodes (formats/trace, docs/reference/trace-format.md).
#pragma once

#include <type_traits>

#include "semantics/graph/op.h"

namespace assay {

// Calls visit(name, field) for each field of the attributes, in the order of declaration. A is an alternative of
// Attributes, const or not. Fields are std::int64_t, double, bool, Rational, vectors of std::int64_t and of Rational,
// NormaliseAttributes::Form, and the DType code of CastAttributes.
template <class A, class Visit>
void visit_fields(A& a, Visit&& visit) {
  using T = std::remove_const_t<A>;
  if constexpr (std::is_same_v<T, ShapeAttributes>) {
    visit("shape", a.shape);
  } else if constexpr (std::is_same_v<T, PermuteAttributes>) {
    visit("axes", a.axes);
  } else if constexpr (std::is_same_v<T, SliceAttributes>) {
    visit("starts", a.starts);
    visit("steps", a.steps);
    visit("extents", a.extents);
  } else if constexpr (std::is_same_v<T, PadAttributes>) {
    visit("before", a.before);
    visit("after", a.after);
    visit("value", a.value);
  } else if constexpr (std::is_same_v<T, GatherAttributes>) {
    visit("axis", a.axis);
    visit("indices", a.indices);
    visit("index_shape", a.index_shape);
  } else if constexpr (std::is_same_v<T, PlaceAttributes>) {
    visit("indices", a.indices);
    visit("shape", a.shape);
  } else if constexpr (std::is_same_v<T, ScaleAttributes>) {
    visit("factor", a.factor);
  } else if constexpr (std::is_same_v<T, GemmAttributes>) {
    visit("alpha", a.alpha);
    visit("beta", a.beta);
    visit("transpose_a", a.transpose_a);
    visit("transpose_b", a.transpose_b);
  } else if constexpr (std::is_same_v<T, WindowAttributes>) {
    visit("kernel", a.kernel);
    visit("strides", a.strides);
    visit("dilations", a.dilations);
    visit("pads_begin", a.pads_begin);
    visit("pads_end", a.pads_end);
    visit("output_padding", a.output_padding);
    visit("groups", a.groups);
    visit("count_include_pad", a.count_include_pad);
    visit("ceil_mode", a.ceil_mode);
  } else if constexpr (std::is_same_v<T, BatchNormAttributes>) {
    visit("epsilon", a.epsilon);
  } else if constexpr (std::is_same_v<T, ReduceAttributes>) {
    visit("axes", a.axes);
    visit("keep_dims", a.keep_dims);
  } else if constexpr (std::is_same_v<T, LeakyReluAttributes>) {
    visit("slope", a.slope);
  } else if constexpr (std::is_same_v<T, ClipAttributes>) {
    visit("lo", a.lo);
    visit("hi", a.hi);
  } else if constexpr (std::is_same_v<T, PowAttributes>) {
    visit("exponent", a.exponent);
  } else if constexpr (std::is_same_v<T, SoftmaxAttributes> || std::is_same_v<T, ConcatAttributes>) {
    visit("axis", a.axis);
  } else if constexpr (std::is_same_v<T, ActivationAttributes>) {
    visit("alpha", a.alpha);
    visit("beta", a.beta);
  } else if constexpr (std::is_same_v<T, GeluAttributes>) {
    visit("tanh_form", a.tanh_form);
  } else if constexpr (std::is_same_v<T, IsInfAttributes>) {
    visit("positive", a.positive);
    visit("negative", a.negative);
  } else if constexpr (std::is_same_v<T, CastAttributes>) {
    visit("to", a.to);
  } else if constexpr (std::is_same_v<T, CumulativeAttributes>) {
    visit("axis", a.axis);
    visit("exclusive", a.exclusive);
    visit("reverse", a.reverse);
  } else if constexpr (std::is_same_v<T, WeightedGatherAttributes>) {
    visit("axis", a.axis);
    visit("starts", a.starts);
    visit("indices", a.indices);
    visit("weights", a.weights);
  } else if constexpr (std::is_same_v<T, SortAttributes>) {
    visit("axis", a.axis);
    visit("count", a.count);
    visit("descending", a.descending);
  } else if constexpr (std::is_same_v<T, ArgAttributes>) {
    visit("axis", a.axis);
    visit("keep_dims", a.keep_dims);
    visit("last", a.last);
  } else if constexpr (std::is_same_v<T, NormaliseAttributes>) {
    visit("axes", a.axes);
    visit("epsilon", a.epsilon);
    visit("form", a.form);
  } else if constexpr (std::is_same_v<T, LocalResponseAttributes>) {
    visit("size", a.size);
    visit("alpha", a.alpha);
    visit("beta", a.beta);
    visit("bias", a.bias);
  } else if constexpr (std::is_same_v<T, MaskedSoftmaxAttributes>) {
    visit("axis", a.axis);
    visit("empty_is_zero", a.empty_is_zero);
  } else if constexpr (std::is_same_v<T, ModAttributes>) {
    visit("truncated", a.truncated);
  } else {
    static_assert(std::is_same_v<T, NoAttributes>, "attributes without names for their fields");
  }
}

}  // namespace assay
