// Products, normalisation with fixed statistics, and reductions.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {

std::optional<std::vector<std::int64_t>> axes_of(const Call& call, std::size_t i) {
  if (auto given = call.attribute_ints("axes")) return given;
  if (call.has(i)) return call.ints(i, "axes");
  return std::nullopt;
}

Results lower_gemm(Call& call) {
  GemmAttributes attributes;
  attributes.alpha = static_cast<double>(call.attribute("alpha", 1.0F));
  attributes.beta = static_cast<double>(call.attribute("beta", 1.0F));
  attributes.transpose_a = call.attribute("transA", std::int64_t{0}) != 0;
  attributes.transpose_b = call.attribute("transB", std::int64_t{0}) != 0;
  std::vector<Operand> operands = {call.in(0), call.in(1)};
  if (call.has(2)) operands.push_back(call.in(2));
  return {call.emit(Op::gemm, operands, attributes)};
}

Results lower_matmul(Call& call) { return {call.emit(Op::matmul, {call.in(0), call.in(1)})}; }

Results lower_batch_norm(Call& call) {
  const auto omitted = std::ranges::count(call.node.outputs, std::string());
  if (call.attribute("training_mode", std::int64_t{0}) != 0 || omitted + 1 < std::ssize(call.node.outputs)) {
    call.unsupported("onnx.training", "a BatchNormalization in inference mode", "training mode", "export the model after model.eval()");
  }
  if (call.opset < 9 && call.attribute("spatial", std::int64_t{1}) != 1) {
    call.unsupported("onnx.attribute", "spatial = 1", "spatial = 0", "export statistics per channel");
  }
  (void)call.attribute("momentum", 0.9F);  // concerns training only
  BatchNormAttributes attributes{static_cast<double>(call.attribute("epsilon", 1e-5F))};
  return {call.emit(Op::batch_norm, {call.in(0), call.in(1), call.in(2), call.in(3), call.in(4)}, attributes)};
}

namespace {

// ReduceX in primitives: something per element, a reduction, something per result.
Operand reduction(Call& call, const Operand& x, const ReduceAttributes& attributes) {
  const std::string& type = call.node.op_type;
  const auto sum = [&](const Operand& terms) { return call.emit(Op::reduce_sum, {terms}, attributes); };
  const auto square = [&] { return call.emit(Op::pow, {x}, PowAttributes{Rational(2)}); };
  if (type == "ReduceSum") return sum(x);
  if (type == "ReduceMean") return call.emit(Op::reduce_mean, {x}, attributes);
  if (type == "ReduceMax") return call.emit(Op::reduce_max, {x}, attributes);
  if (type == "ReduceMin") return call.emit(Op::reduce_min, {x}, attributes);
  if (type == "ReduceProd") return call.emit(Op::reduce_prod, {x}, attributes);
  if (type == "ReduceL1") return sum(call.emit(Op::abs, {x}));
  if (type == "ReduceSumSquare") return sum(square());
  if (type == "ReduceL2") return call.emit(Op::sqrt, {sum(square())});
  if (type == "ReduceLogSum") return call.emit(Op::log, {sum(x)});
  return call.emit(Op::log_sum_exp, {x}, attributes);  // ReduceLogSumExp
}

}  // namespace

Results lower_reduce(Call& call) {
  const std::size_t rank = call.shape(0).size();
  const std::optional<std::vector<std::int64_t>> given = axes_of(call, 1);
  std::vector<std::int64_t> axes = call.distinct_axes(given.value_or(std::vector<std::int64_t>{}), rank);
  const std::string& type = call.node.op_type;
  if (axes.empty()) {
    if (call.attribute("noop_with_empty_axes", std::int64_t{0}) != 0) {
      const bool is_plain =
          type == "ReduceSum" || type == "ReduceMean" || type == "ReduceMax" || type == "ReduceMin" || type == "ReduceProd";
      if (is_plain) return {call.in(0)};
      call.unsupported("onnx.axis", type + " with axes", "none, and noop_with_empty_axes, which versions of the standard read differently",
                       "give the axes, or replace the node");
    }
    axes.resize(rank);
    std::iota(axes.begin(), axes.end(), 0);
  }
  const bool keep_dims = call.attribute("keepdims", std::int64_t{1}) != 0;
  const Operand& x = call.in(0);
  bool none = false;
  for (const std::int64_t axis : axes) none = none || x->shape[static_cast<std::size_t>(axis)] == 0;
  if (none && x->dtype == DType::boolean && (type == "ReduceMax" || type == "ReduceMin")) {  // of no truth values: the unit of or, of and
    Shape shape;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      const bool reduced = std::binary_search(axes.begin(), axes.end(), static_cast<std::int64_t>(axis));
      if (!reduced || keep_dims) shape.push_back(reduced ? 1 : x->shape[axis]);
    }
    return {expand(call, call.make_ints(DType::boolean, {}, {type == "ReduceMin" ? 1 : 0}), shape)};
  }
  if (none && (type == "ReduceMax" || type == "ReduceMin" || type == "ReduceMean" || type.starts_with("ReduceLogSum")))
    call.unsupported("onnx.nonfinite", "an axis with elements, since " + type + " of none is no number", "shape " + to_string(x->shape),
                     "the result is infinite, NaN or the end of its type's range, whatever the input: begin the model behind this node");
  const bool folds = type == "ReduceSum" || type == "ReduceProd" || type == "ReduceMax" || type == "ReduceMin";
  if (folds && !is_float(x->dtype) && x->constant) return fold_integer_reduction(call, axes, keep_dims);
  return {reduction(call, x, ReduceAttributes{axes, keep_dims})};
}

Results lower_cumulative(Call& call) {
  const std::vector<std::int64_t> axis = call.ints(1, "an axis");
  if (axis.size() != 1) call.malformed("onnx.axis", "one axis", to_string(axis));
  const CumulativeAttributes attributes{call.axis(axis[0], call.shape(0).size()), call.attribute("exclusive", std::int64_t{0}) != 0,
                                        call.attribute("reverse", std::int64_t{0}) != 0};
  return {call.emit(call.node.op_type == "CumSum" ? Op::cumsum : Op::cumprod, {call.in(0)}, attributes)};
}

Results lower_position(Call& call) {
  const ArgAttributes attributes{call.axis(call.attribute("axis", std::int64_t{0}), call.shape(0).size()),
                                 call.attribute("keepdims", std::int64_t{1}) != 0,
                                 call.attribute("select_last_index", std::int64_t{0}) != 0};
  return {call.emit(call.node.op_type == "ArgMax" ? Op::arg_max : Op::arg_min, {call.in(0)}, attributes)};
}

Results lower_global_average_pool(Call& call) {
  if (call.shape(0).size() < 3) call.malformed("onnx.shape", "[N, C, spatial...]", to_string(call.shape(0)));
  std::vector<std::int64_t> axes(call.shape(0).size() - 2);
  std::iota(axes.begin(), axes.end(), 2);
  return {call.emit(Op::reduce_mean, {call.in(0)}, ReduceAttributes{axes, true})};
}

namespace {

// Of the square matrices in the last two axes, by the first row.
Operand determinant(Call& call, const Operand& x) {
  const std::size_t rows = x->shape.size() - 2, columns = rows + 1;
  const std::int64_t n = x->shape[rows];
  const Shape batch(x->shape.begin(), x->shape.end() - 2);
  if (n == 1) return call.reshape(x, batch);
  const Operand below = slice_axis(call, x, rows, 1, n - 1);
  Operand sum;
  for (std::int64_t column = 0; column < n; ++column) {
    Ints others;
    for (std::int64_t k = 0; k < n; ++k) {
      if (k != column) others.push_back(k);
    }
    const Operand entry = call.reshape(slice_axis(call, slice_axis(call, x, rows, 0, 1), columns, column, 1), batch);
    const Operand minor = determinant(call, gather_axis(call, below, static_cast<std::int64_t>(columns), others));
    const Operand term = call.emit(Op::mul, {entry, minor});
    sum = sum ? call.emit(column % 2 == 0 ? Op::add : Op::sub, {sum, term}) : term;
  }
  return sum;
}

}  // namespace

Results lower_determinant(Call& call) {
  const Shape& x = call.shape(0);
  if (x.size() < 2 || x.back() < 1 || x[x.size() - 2] != x.back()) call.malformed("onnx.shape", "square matrices", to_string(x));
  constexpr std::int64_t kMostRows = 6;  // n! terms
  if (x.back() > kMostRows) call.unsupported("onnx.limit", "matrices of at most 6 rows", to_string(x), "factorise the matrix outside");
  return {determinant(call, call.in(0))};
}

}  // namespace assay::onnx
