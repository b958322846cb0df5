#include "training/layers/basic.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "runtime/functions.h"
#include "training/initialise.h"
#include "training/layers/shapes.h"

namespace assay::training {

namespace {

std::int64_t rows_of(const Shape& shape, std::size_t but) {
  return std::accumulate(shape.begin(), shape.end() - static_cast<std::ptrdiff_t>(but), std::int64_t{1}, std::multiplies<>());
}

// x [..., in] through a product of rows, which gives [rows, out].
template <class F>
Value by_rows(const Value& x, const F& product) {
  if (x.shape().size() == 2 || x.shape().empty()) return product(x);
  Shape shape = x.shape();
  const Value result = product(reshape(x, {rows_of(shape, 1), shape.back()}));
  if (!result.ok()) return result;
  shape.back() = result.shape()[1];
  return reshape(result, std::move(shape));
}

}  // namespace

Linear::Linear(const Scope& scope, std::int64_t in, std::int64_t out, bool bias)
    : weight_(scope.parameter("weight", uniform_by_fan(scope.session(), {out, in}, in))) {
  if (bias) bias_ = scope.parameter("bias", uniform_by_fan(scope.session(), {out}, in));
}

Value Linear::operator()(const Value& x) const {
  return by_rows(x, [&](const Value& rows) { return bias_ ? linear(rows, weight_, *bias_) : linear(rows, weight_); });
}

LoraLinear::LoraLinear(const Scope& scope, std::int64_t in, std::int64_t out, const Options& options)
    : base_(scope, in, out),
      a_(scope.parameter("lora_A", uniform_by_fan(scope.session(), {options.rank, in}, in))),
      b_(scope.parameter("lora_B", filled(scope.session(), {out, options.rank}, 0))),
      scale_(options.scale / static_cast<double>(options.rank)) {
  scope.model->freeze((scope / "weight").name);
  scope.model->freeze((scope / "bias").name);
}

Value LoraLinear::operator()(const Value& x) const {
  return base_(x) + by_rows(x, [&](const Value& rows) { return scale_ * linear(linear(rows, a_), b_); });
}

Value LoraLinear::merged() const { return base_.weight() + scale_ * matmul(b_, a_); }

Embedding::Embedding(const Scope& scope, std::int64_t count, std::int64_t width, double deviation)
    : weight_(scope.parameter("weight", normal(scope.session(), {count, width}, deviation))) {}

Value Embedding::operator()(const Value& index) const {
  Shape shape = index.shape();
  const Value rows = embedding(reshape(index, {rows_of(shape, 0)}), weight_);
  shape.push_back(weight_.shape()[1]);
  return reshape(rows, std::move(shape));
}

Value Dropout::operator()(const Value& x) const { return model_->training() && p_ > 0 ? dropout(x, p_) : x; }

Array sinusoidal_places(const Session& session, std::int64_t places, std::int64_t width) {
  constexpr double kSlowest = 10000;  // of the frequencies, from 1 down to its inverse
  std::vector<double> values;
  for (std::int64_t place = 0; place < places; ++place) {
    for (std::int64_t k = 0; k < width; ++k) {
      const double angle = static_cast<double>(place) * std::pow(kSlowest, -static_cast<double>(k / 2 * 2) / static_cast<double>(width));
      values.push_back(k % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return numbers(session, {places, width}, values);
}

}  // namespace assay::training
