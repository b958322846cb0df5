// The representative set of layout ops, selections and windows.

#include "kernel/gradients/adjointness/case_builder.h"
#include "semantics/demand.h"

namespace assay::gradients::adjointness {

AdjointCase one(Op op, std::string what, const std::vector<Operand>& operands, Attributes attributes, std::vector<double> kinks) {
  AdjointCase result{std::string(op_row(op).name) + (what.empty() ? "" : ", ") + std::move(what), {}, {}, std::move(kinks)};
  std::vector<NodeId> ids;
  for (const Operand& operand : operands) {
    ids.push_back(result.graph.append_input(operand.dtype, operand.shape, std::string("x").append(std::to_string(ids.size()))));
    result.domains.push_back(operand.domain);
  }
  const Outcome<NodeId> y = result.graph.append(op, ids, std::move(attributes));
  demand(y.ok(), "adjoint_cases: a case with shapes that fit");
  result.graph.mark_output(y.value(), "y");
  return result;
}

namespace {

using Extents = std::vector<std::int64_t>;
WindowAttributes window(Extents kernel, Extents strides, Extents dilations, Extents pads_begin, Extents pads_end, std::int64_t groups = 1) {
  WindowAttributes w;
  w.kernel = std::move(kernel);
  w.strides = std::move(strides);
  w.dilations = std::move(dilations);
  w.pads_begin = std::move(pads_begin);
  w.pads_end = std::move(pads_end);
  w.groups = groups;
  return w;
}
WindowAttributes counting(WindowAttributes w, bool count_include_pad, bool ceil_mode) {
  w.count_include_pad = count_include_pad;
  w.ceil_mode = ceil_mode;
  return w;
}
WindowAttributes with_output_padding(WindowAttributes w, Extents output_padding) {
  w.output_padding = std::move(output_padding);
  return w;
}

}  // namespace

Cases layout_cases(Op op) {
  switch (op) {
    case Op::reshape:
      return {one(op, "", {{{2, 6}}}, ShapeAttributes{{3, 1, 4}}), one(op, "to a scalar", {{{1, 1}}}, ShapeAttributes{{}})};
    case Op::permute:
      return {one(op, "cyclic", {{{2, 3, 4}}}, PermuteAttributes{{2, 0, 1}}),
              one(op, "reversed", {{{2, 3, 2}}}, PermuteAttributes{{2, 1, 0}}), one(op, "square", {{{3, 3}}}, PermuteAttributes{{1, 0}})};
    case Op::slice:
      return {one(op, "", {{{4, 5}}}, SliceAttributes{{1, 0}, {1, 1}, {2, 4}}),
              one(op, "with steps", {{{4, 7}}}, SliceAttributes{{1, 6}, {2, -3}, {2, 3}})};
    case Op::concat:
      return {one(op, "inner axis", {{{2, 1, 2}}, {{2, 3, 2}}, {{2, 0, 2}}}, ConcatAttributes{1}),
              one(op, "axis 0", {{{2, 3}}, {{1, 3}}}, ConcatAttributes{0})};
    case Op::pad:
      return {one(op, "", {{{2, 3}}}, PadAttributes{{1, 0}, {0, 2}, 5}),
              one(op, "that crops", {{{4, 5}}}, PadAttributes{{-1, 2}, {1, -3}, -1})};
    case Op::gather:
      return {one(op, "with repeats", {{{3, 4, 2}}}, GatherAttributes{1, {3, 0, 0, 2, 1, 3}, {2, 3}}),
              one(op, "of one", {{{3, 4}}}, GatherAttributes{0, {2}, {}})};
    case Op::expand:
      return {one(op, "", {{{3, 1}}}, ShapeAttributes{{2, 3, 4}}), one(op, "a scalar", {{{}}}, ShapeAttributes{{2, 2}})};
    default:
      demand(op == Op::place, "layout_cases: not a layout op");
      return {one(op, "with repeats", {{{2, 3}}}, PlaceAttributes{{0, 3, 3, 1, 7, 0}, {2, 4}})};
  }
}

Cases product_cases(Op op) {
  if (op == Op::gemm) {
    return {one(op, "", {{{2, 3}}, {{3, 4}}, {{4}}}, GemmAttributes{}),
            one(op, "no c", {{{2, 3}}, {{3, 4}}}, GemmAttributes{2, 3, false, false}),
            one(op, "both transposed", {{{3, 2}}, {{4, 3}}, {{2, 1}}}, GemmAttributes{0.5, -2, true, true}),
            one(op, "a transposed", {{{3, 2}}, {{3, 4}}, {{}}}, GemmAttributes{1, 1, true, false}),
            one(op, "square, b transposed", {{{3, 3}}, {{3, 3}}, {{3, 3}}}, GemmAttributes{-1, 0.5, false, true})};
  }
  return {one(op, "", {{{2, 3}}, {{3, 4}}}),
          one(op, "square", {{{3, 3}}, {{3, 3}}}),
          one(op, "batches broadcast", {{{2, 1, 2, 3}}, {{2, 3, 2}}}),
          one(op, "vector and matrices", {{{3}}, {{2, 3, 2}}}),
          one(op, "matrices and vector", {{{2, 2, 3}}, {{3}}}),
          one(op, "vectors", {{{4}}, {{4}}})};
}

Cases conv_cases() {
  const Op op = Op::conv;
  return {one(op, "bias", {{{2, 2, 4, 3}}, {{2, 2, 3, 2}}, {{2}}}, window({3, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0})),
          one(op, "asymmetric pads, stride, dilation", {{{1, 2, 6, 5}}, {{2, 2, 2, 3}}}, window({2, 3}, {2, 1}, {1, 2}, {1, 0}, {0, 3})),
          one(op, "groups", {{{1, 4, 4, 3}}, {{6, 2, 2, 2}}, {{6}}}, window({2, 2}, {1, 2}, {2, 1}, {1, 1}, {1, 0}, 2)),
          one(op, "depthwise", {{{2, 3, 3, 3}}, {{3, 1, 3, 3}}, {{3}}}, window({3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3)),
          one(op, "one axis, stride with a remainder", {{{2, 2, 8}}, {{3, 2, 3}}, {{3}}}, window({3}, {3}, {1}, {2}, {1})),
          one(op, "three axes", {{{1, 2, 3, 3, 3}}, {{2, 2, 2, 2, 2}}}, window({2, 2, 2}, {1, 1, 2}, {1, 1, 1}, {0, 1, 0}, {0, 0, 1})),
          one(op, "stride above kernel", {{{1, 1, 7}}, {{2, 1, 1}}}, window({1}, {2}, {1}, {0}, {0})),
          one(op, "large", {{{2, 4, 8, 8}}, {{6, 4, 3, 3}}, {{6}}}, window({3, 3}, {2, 1}, {1, 2}, {1, 2}, {0, 1}))};
}

Cases conv_transpose_cases() {
  const Op op = Op::conv_transpose;
  return {one(op, "bias", {{{1, 2, 3, 3}}, {{2, 3, 2, 2}}, {{3}}}, window({2, 2}, {1, 1}, {1, 1}, {0, 0}, {0, 0})),
          one(op, "all attributes", {{{2, 4, 3, 2}}, {{4, 1, 3, 2}}, {{2}}},
              with_output_padding(window({3, 2}, {2, 3}, {2, 1}, {1, 0}, {2, 1}, 2), {1, 2})),
          one(op, "one axis", {{{1, 1, 4}}, {{1, 2, 3}}}, window({3}, {2}, {1}, {1}, {0})),
          one(op, "stride above kernel", {{{1, 2, 3}}, {{2, 1, 1}}}, window({1}, {2}, {1}, {0}, {0}))};
}

Cases pool_cases(Op op) {
  const std::vector<double> kinks = op == Op::max_pool ? kTies : std::vector<double>{};
  Cases cases{one(op, "overlapping", {{{1, 2, 4, 4}}}, window({3, 2}, {1, 2}, {1, 1}, {0, 0}, {0, 0}), kinks),
              one(op, "asymmetric pads", {{{1, 2, 4, 5}}}, window({3, 3}, {1, 2}, {1, 1}, {1, 1}, {0, 1}), kinks),
              one(op, "ceil mode", {{{2, 1, 5, 4}}}, counting(window({3, 2}, {2, 2}, {1, 2}, {1, 0}, {1, 1}), false, true), kinks),
              one(op, "dilated", {{{1, 2, 7}}}, window({3}, {1}, {2}, {0}, {1}), kinks),
              one(op, "three axes", {{{1, 1, 2, 3, 2}}}, window({2, 2, 2}, {1, 1, 1}, {1, 1, 1}, {0, 1, 0}, {0, 0, 0}), kinks)};
  if (op == Op::avg_pool) {
    cases.push_back(one(op, "pads counted", {{{1, 2, 4, 5}}}, counting(window({3, 3}, {2, 2}, {1, 1}, {1, 0}, {1, 1}), true, true)));
    cases.push_back(one(op, "pads counted, dilated", {{{1, 1, 6}}}, counting(window({3}, {1}, {2}, {1}, {1}), true, false)));
  }
  return cases;
}

}  // namespace assay::gradients::adjointness
