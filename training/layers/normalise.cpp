#include "training/layers/normalise.h"

#include <numeric>
#include <utility>

#include "runtime/functions.h"
#include "training/initialise.h"
#include "training/layers/shapes.h"

namespace assay::training {

namespace {

using Form = NormaliseAttributes::Form;

Value normalised(const Value& x, std::vector<std::int64_t> axes, double epsilon, Form form = Form::centered) {
  return runtime::apply(Op::normalise, x, NormaliseAttributes{std::move(axes), epsilon, form});
}

std::vector<std::int64_t> axes_from(std::size_t first, std::size_t rank) {
  std::vector<std::int64_t> axes(rank > first ? rank - first : 0);
  std::iota(axes.begin(), axes.end(), static_cast<std::int64_t>(first));
  return axes;
}

Value per_channel(const Value& x, const Value& weight, const Value& bias) {
  const std::size_t rank = x.shape().size();
  return weight.ok() ? x * along_channels(weight, rank) + along_channels(bias, rank) : x;
}

// Mean and unbiased variance over the axes, whose extents multiply to `count`: with 1 in place of each axis.
struct Moments {
  Value mean, variance;
};
Moments moments(const Value& x, const std::vector<std::int64_t>& axes, double count) {
  const Value mean = runtime::mean(x, axes, true);
  return {mean, sum(square(x - mean), axes, true) * (1 / (count - 1))};
}

double count_of(const Shape& shape, const std::vector<std::int64_t>& axes) {
  double count = 1;
  for (const std::int64_t axis : axes) count *= static_cast<double>(shape[static_cast<std::size_t>(axis)]);
  return count;
}

Value followed(const Value& running, const Value& now, double momentum) {
  return (1 - momentum) * running + momentum * reshape(now, running.shape());
}

Value by_running(const Value& x, const Value& weight, const Value& bias, const Value& mean, const Value& variance, double epsilon) {
  Session& session = x.session();
  const Value one = weight.ok() ? weight : expand(session.number(1), mean.shape());
  const Value zero = bias.ok() ? bias : expand(session.number(0), mean.shape());
  return session.apply(Op::batch_norm, {x, one, zero, mean, variance}, BatchNormAttributes{epsilon});
}

}  // namespace

ChannelNorm::ChannelNorm(const Scope& scope, std::int64_t channels, const NormOptions& options) : model_(scope.model), options_(options) {
  if (options.affine) {
    weight_ = scope.parameter("weight", filled(scope.session(), {channels}, 1));
    bias_ = scope.parameter("bias", filled(scope.session(), {channels}, 0));
  }
  if (options.running) {
    mean_ = scope.buffer("running_mean", filled(scope.session(), {channels}, 0));
    variance_ = scope.buffer("running_var", filled(scope.session(), {channels}, 1));
  }
}

Value ChannelNorm::normalise(const Value& x, const std::vector<std::int64_t>& axes) const {
  if (!model_->training() && options_.running) return by_running(x, weight_, bias_, mean_, variance_, options_.epsilon);
  if (model_->training() && options_.running && !axes.empty()) {
    const Moments found = moments(x, axes, count_of(x.shape(), axes));
    const auto of_all = [&](const Value& one) { return axes[0] == 0 ? one : mean(one, {0}); };
    model_->update(mean_, followed(mean_, of_all(found.mean), options_.momentum));
    model_->update(variance_, followed(variance_, of_all(found.variance), options_.momentum));
  }
  return per_channel(normalised(x, axes, options_.epsilon), weight_, bias_);
}

Value BatchNorm::operator()(const Value& x) const {
  std::vector<std::int64_t> axes = axes_from(1, x.shape().size());
  if (!axes.empty()) axes[0] = 0;  // all axes but that of the channels
  return normalise(x, axes);
}

Value InstanceNorm::operator()(const Value& x) const { return normalise(x, axes_from(2, x.shape().size())); }

GroupNorm::GroupNorm(const Scope& scope, std::int64_t groups, std::int64_t channels, double epsilon)
    : groups_(groups),
      epsilon_(epsilon),
      weight_(scope.parameter("weight", filled(scope.session(), {channels}, 1))),
      bias_(scope.parameter("bias", filled(scope.session(), {channels}, 0))) {}

Value GroupNorm::operator()(const Value& x) const {
  const Shape shape = x.shape();
  if (shape.size() < 2) return per_channel(x, weight_, bias_);
  const std::int64_t rest = std::accumulate(shape.begin() + 1, shape.end(), std::int64_t{1}, std::multiplies<>()) / groups_;
  return per_channel(reshape(normalised(reshape(x, {shape[0], groups_, rest}), {2}, epsilon_), shape), weight_, bias_);
}

LayerNorm::LayerNorm(const Scope& scope, const Shape& shape, double epsilon)
    : epsilon_(epsilon),
      weight_(scope.parameter("weight", filled(scope.session(), shape, 1))),
      bias_(scope.parameter("bias", filled(scope.session(), shape, 0))) {}

Value LayerNorm::operator()(const Value& x) const {
  const std::size_t rank = x.shape().size(), own = weight_.shape().size();
  return normalised(x, axes_from(rank > own ? rank - own : 0, rank), epsilon_) * weight_ + bias_;
}

RmsNorm::RmsNorm(const Scope& scope, const Shape& shape, double epsilon)
    : epsilon_(epsilon), weight_(scope.parameter("weight", filled(scope.session(), shape, 1))) {}

Value RmsNorm::operator()(const Value& x) const {
  const std::size_t rank = x.shape().size(), own = weight_.shape().size();
  return normalised(x, axes_from(rank > own ? rank - own : 0, rank), epsilon_, Form::root_mean) * weight_;
}

}  // namespace assay::training
