#include "training/layers/attention.h"

#include <cmath>
#include <vector>

#include "runtime/functions.h"
#include "semantics/demand.h"
#include "training/initialise.h"
#include "training/layers/shapes.h"

namespace assay::training {

namespace {

// A mask that is true if place t sees place s: [T, S].
Value seen_before(Session& session, std::int64_t places, std::int64_t keys) {
  Array open = Array::empty(DType::boolean, {places, keys});
  const auto bits = open.data<std::uint8_t>();
  for (std::int64_t t = 0; t < places; ++t) {
    for (std::int64_t s = 0; s < keys; ++s) bits[static_cast<std::size_t>(t * keys + s)] = s <= t ? 1 : 0;
  }
  return session.input(open, "causal");
}

}  // namespace

Value rotated(const Value& x, const Rotary& how) {
  const Shape shape = x.shape();
  Session& session = x.session();
  if (shape.size() < 2 || shape.back() % 2 != 0) {
    return session.refuse({Rejection::Kind::malformed, "session.shape", "rotated", "[..., T, d] with an even d", to_string(shape),
                           "training/layers/attention.h says the shapes"});
  }
  const std::int64_t places = shape[shape.size() - 2], half = shape.back() / 2;
  std::vector<double> cosines, sines;
  for (std::int64_t t = 0; t < places; ++t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(how.first + t) * std::pow(how.base, -static_cast<double>(i) / static_cast<double>(half));
      cosines.push_back(std::cos(angle));
      sines.push_back(std::sin(angle));
    }
  }
  const Value cosine = session.input(numbers(session, {places, half}, cosines), "cos"),
              sine = session.input(numbers(session, {places, half}, sines), "sin");
  const std::size_t last = shape.size() - 1;
  Value a, b;
  if (how.interleaved) {
    Shape pairs = shape;
    pairs.back() = half;
    pairs.push_back(2);
    const Value paired = reshape(x, pairs);
    a = select(paired, last + 1, 0), b = select(paired, last + 1, 1);
  } else {
    a = slice(x, last, 0, half), b = slice(x, last, half, half);
  }
  const std::vector<Value> turned{a * cosine - b * sine, b * cosine + a * sine};
  return how.interleaved ? reshape(stack(turned, last + 1), shape) : concat(turned, static_cast<std::int64_t>(last));
}

MultiHeadAttention::MultiHeadAttention(const Scope& scope, std::int64_t width, std::int64_t heads, const std::optional<Rotary>& rotary)
    : width_(width),
      heads_(heads),
      weight_(scope.parameter("in_proj_weight", glorot_uniform(scope.session(), {3 * width, width}))),
      bias_(scope.parameter("in_proj_bias", filled(scope.session(), {3 * width}, 0))),
      out_(scope / "out_proj", width, width),
      rotary_(rotary) {
  demand(heads > 0 && width % heads == 0, "MultiHeadAttention: a width that the heads divide");
}

Value MultiHeadAttention::operator()(const Value& query, const Value& key, const Value& value, const Mask& mask) const {
  Session& session = query.session();
  const std::int64_t each = width_ / heads_;
  const auto rows = [](const Value& x) { return x.shape().size() == 3 ? reshape(x, {x.shape()[0] * x.shape()[1], x.shape()[2]}) : x; };
  const auto heads = [&](const Value& projected, const Value& x) {  // [B, heads, places, each]
    return projected.ok() && x.shape().size() == 3 ? transpose(reshape(projected, {x.shape()[0], x.shape()[1], heads_, each}), 1, 2)
                                                   : projected;
  };
  Value q, k, v;
  if (query.ref() == key.ref() && key.ref() == value.ref()) {
    // One product, and no value is computed twice: a compiled step can then claim its gradients.
    const std::vector<Value> parts = split(linear(rows(query), weight_, bias_), 1, 3);
    q = heads(parts[0], query), k = heads(parts[1], query), v = heads(parts[2], query);
  } else {
    const std::vector<Value> weights = split(weight_, 0, 3), biases = split(bias_, 0, 3);
    const Value key_rows = rows(key), value_rows = value.ref() == key.ref() ? key_rows : rows(value);
    q = heads(linear(rows(query), weights[0], biases[0]), query);
    k = heads(linear(key_rows, weights[1], biases[1]), key);
    v = heads(linear(value_rows, weights[2], biases[2]), value);
  }
  if (!q.ok() || !k.ok() || !v.ok() || q.shape().size() != 4) {
    return session.refuse({Rejection::Kind::malformed, "session.shape", "attention", "[B, T, width] three times", to_string(query.shape()),
                           "training/layers/attention.h says the shapes"});
  }
  if (rotary_) q = rotated(q, *rotary_), k = rotated(k, *rotary_);
  const Value scores = matmul(q * (1 / std::sqrt(static_cast<double>(each))), transpose(k, 2, 3));
  std::optional<Value> open = mask.open;
  if (mask.causal) {
    const Value before = seen_before(session, q.shape()[2], k.shape()[2]);
    open = open ? runtime::apply(Op::logical_and, *open, before) : before;
  }
  const Value shares = open ? runtime::apply(Op::masked_softmax, scores, *open, MaskedSoftmaxAttributes{3, false}) : softmax(scores, 3);
  const Value mixed = transpose(matmul(shares, v), 1, 2);
  return out_(reshape(mixed, {q.shape()[0], q.shape()[2], width_}));
}

}  // namespace assay::training
