#include "runtime/functions.h"

#include <numeric>

namespace assay::runtime {

namespace {

std::vector<std::int64_t> all_axes(const Value& x) {
  std::vector<std::int64_t> axes(x.shape().size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

WindowAttributes window(std::int64_t height, std::int64_t width, const Conv2d& how) {
  WindowAttributes w;
  w.kernel = {height, width};
  w.strides = {how.stride, how.stride};
  w.dilations = {how.dilation, how.dilation};
  w.pads_begin = w.pads_end = {how.padding, how.padding};
  w.groups = how.groups;
  return w;
}

WindowAttributes window_of(const Value& weight, const Conv2d& how) {
  const Shape& shape = weight.shape();
  return shape.size() == 4 ? window(shape[2], shape[3], how) : WindowAttributes{};  // another rank is refused by conv
}

Value whole(Session& session, DType dtype, const Shape& shape, const std::vector<std::int64_t>& values) {
  const Value t = session.input(Tensor::of_ints(shape, values));
  return dtype == DType::int64 ? t : cast(t, dtype);
}

Rejection mismatch(const char* what, std::string required, const Value& a, const Value& b) {
  return {Rejection::Kind::malformed,
          "session.shape",
          what,
          std::move(required),
          to_string(a.shape()) + " and " + to_string(b.shape()),
          "runtime/functions.h says the shapes"};
}

}  // namespace

Value concat(const std::vector<Value>& parts, std::int64_t axis) {
  return parts.at(0).session().apply(Op::concat, parts, ConcatAttributes{axis});
}

Value cast(const Value& x, DType dtype) { return apply(Op::cast, x, CastAttributes{static_cast<std::uint8_t>(dtype)}); }

Value sum(const Value& x) { return sum(x, all_axes(x)); }

Value mean(const Value& x) { return mean(x, all_axes(x)); }

Value linear(const Value& x, const Value& weight, const Value& bias) {
  return x.session().apply(Op::gemm, {x, weight, bias}, GemmAttributes{1, 1, false, true});
}

Value linear(const Value& x, const Value& weight) { return apply(Op::gemm, x, weight, GemmAttributes{1, 1, false, true}); }

Value conv2d(const Value& x, const Value& weight, const Value& bias, const Conv2d& how) {
  return x.session().apply(Op::conv, {x, weight, bias}, window_of(weight, how));
}

Value conv2d(const Value& x, const Value& weight, const Conv2d& how) { return apply(Op::conv, x, weight, window_of(weight, how)); }

Value max_pool2d(const Value& x, std::int64_t kernel, std::int64_t stride, std::int64_t padding) {
  return apply(Op::max_pool, x, window(kernel, kernel, {stride, padding}));
}

Value avg_pool2d(const Value& x, std::int64_t kernel, std::int64_t stride) {
  return apply(Op::avg_pool, x, window(kernel, kernel, {stride}));
}

Value layer_norm(const Value& x, const Value& weight, const Value& bias, double epsilon) {
  const std::int64_t last = static_cast<std::int64_t>(x.shape().size()) - 1;
  return apply(Op::normalise, x, NormaliseAttributes{{last}, epsilon, NormaliseAttributes::Form::centered}) * weight + bias;
}

Value dropout(const Value& x, double p) {
  if (!(p >= 0 && p < 1)) {
    return x.session().refuse(
        {Rejection::Kind::malformed, "session.probability", "dropout", "0 <= p < 1", std::to_string(p), "give another p"});
  }
  Session& session = x.session();
  const Value kept = session.input(session.bernoulli(1 - p, x.shape(), x.dtype()), "dropout");
  return x * kept * (1 / (1 - p));
}

Value embedding(const Value& index, const Value& table) {
  if (index.shape().size() != 1 || table.shape().size() != 2) {
    return table.session().refuse(mismatch("embedding", "an index [k] and a table [n, d]", index, table));
  }
  const std::int64_t count = index.shape()[0], rows = table.shape()[0];
  std::vector<std::int64_t> all(static_cast<std::size_t>(rows));
  std::iota(all.begin(), all.end(), 0);
  const Value column = reshape(index, {count, 1});
  Session& session = table.session();
  const Value places = whole(session, index.dtype(), {1, rows}, all), from_end = places - whole(session, index.dtype(), {}, {rows});
  const Value hit = apply(Op::logical_or, apply(Op::equal, column, places), apply(Op::equal, column, from_end));
  return matmul(cast(hit, table.dtype()), table);
}

Value cross_entropy(const Value& logits, const Value& target) {
  if (logits.shape().size() != 2 || target.shape() != Shape{logits.shape()[0]}) {
    return logits.session().refuse(mismatch("cross_entropy", "logits [B, C] and a target [B]", logits, target));
  }
  const Value chosen = apply(Op::take, reshape(target, {target.shape()[0], 1}), log_softmax(logits, 1), ConcatAttributes{1});
  return -mean(chosen);
}

Value mean_squared_error(const Value& x, const Value& target) { return mean(square(x - target)); }

}  // namespace assay::runtime
