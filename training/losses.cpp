#include "training/losses.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>
#include <vector>

#include "runtime/functions.h"

namespace assay::training {

using namespace runtime;

namespace {

Value reduced(const Value& loss, Reduction reduction) {
  switch (reduction) {
    case Reduction::none:
      return loss;
    case Reduction::mean:
      return mean(loss);
    case Reduction::sum:
      return sum(loss);
  }
  return loss;
}

Value refused(const char* loss, std::string required, const Value& a, const Value& b) {
  return a.session().refuse({Rejection::Kind::malformed, "session.shape", loss, std::move(required),
                             to_string(a.shape()) + " and " + to_string(b.shape()), "training/losses.h says the shapes"});
}

Value choose(const Value& condition, const Value& yes, const Value& no) { return yes.session().apply(Op::where, {condition, yes, no}); }
Value at_least(const Value& x, double least) { return apply(Op::clip, x, ClipAttributes{least, std::numeric_limits<double>::infinity()}); }

// [1, C, 1, ...], to meet the axes of the scores.
Value along_classes(const Value& weights, std::size_t rank) {
  Shape shape(rank, 1);
  shape[1] = weights.shape().at(0);
  return reshape(weights, shape);
}

// What a class loss needs of its target, with axis 1 kept as 1 where it chooses.
struct Chosen {
  Value places;                 // [B, 1, ...], of classes that exist
  std::optional<Value> counts;  // 0 where a place is ignored
};
Chosen chosen(const Value& scores, const Value& target, const ClassLoss& how) {
  Shape shape = target.shape();
  shape.insert(shape.begin() + 1, 1);
  Value places = reshape(target, shape);
  if (!how.ignore) return {places, std::nullopt};
  const auto whole = [&](std::int64_t value) {
    const Value made = scores.session().input(Tensor::of_ints({}, std::vector<std::int64_t>{value}));
    return target.dtype() == DType::int64 ? made : cast(made, target.dtype());
  };
  const Value ignored = apply(Op::equal, places, whole(*how.ignore));
  return {choose(ignored, whole(0), places), cast(apply(Op::logical_not, ignored), scores.dtype())};
}

bool classes_fit(const Value& scores, const Value& target) {
  Shape rest = scores.shape();
  if (rest.size() < 2) return false;
  rest.erase(rest.begin() + 1);
  return rest == target.shape();
}

// `terms` and the weights by which they count, both [B, 1, ...]: none [B, ...], else one number.
Value weighted(const Value& terms, const std::optional<Value>& counts, const std::optional<Value>& by, const Shape& shape,
               Reduction reduction) {
  if (reduction == Reduction::none) return reshape(terms, shape);
  if (reduction == Reduction::sum) return sum(terms);
  if (by) return sum(terms) / sum(*by);
  return counts ? sum(terms) / sum(*counts) : mean(terms);
}

}  // namespace

Value negative_log_likelihood(const Value& logarithms, const Value& target, const ClassLoss& how) {
  if (!classes_fit(logarithms, target)) return refused("negative_log_likelihood", "[B, C, ...] and [B, ...]", logarithms, target);
  const auto [places, counts] = chosen(logarithms, target, how);
  const std::size_t rank = logarithms.shape().size();
  std::optional<Value> by = counts;
  if (how.weights) {
    Shape full = places.shape();
    full[1] = logarithms.shape()[1];
    const Value weights = expand(along_classes(*how.weights, rank), full);
    const Value own = apply(Op::take, places, weights, ConcatAttributes{1});
    by = counts ? own * *counts : own;
  }
  Value terms = -apply(Op::take, places, logarithms, ConcatAttributes{1});
  if (by) terms = terms * *by;
  const Value sharp = weighted(terms, counts, by, target.shape(), how.reduction);
  if (how.smoothing == 0) return sharp;
  // The even part: minus the mean over the classes, each with its weight; divided as the sharp part is.
  const auto classes = static_cast<double>(logarithms.shape()[1]);
  Value even = -sum(how.weights ? logarithms * along_classes(*how.weights, rank) : logarithms, {1}, true);
  if (counts) even = even * *counts;
  const Value smooth = weighted(even, counts, by, target.shape(), how.reduction);
  return (1 - how.smoothing) * sharp + how.smoothing / classes * smooth;
}

Value cross_entropy(const Value& scores, const Value& target, const ClassLoss& how) {
  if (!classes_fit(scores, target)) return refused("cross_entropy", "[B, C, ...] and [B, ...]", scores, target);
  return negative_log_likelihood(log_softmax(scores, 1), target, how);
}

Value cross_entropy_of_probabilities(const Value& scores, const Value& target, const ClassLoss& how) {
  if (scores.shape() != target.shape() || scores.shape().size() < 2) {
    return refused("cross_entropy_of_probabilities", "[B, C, ...] twice", scores, target);
  }
  const auto classes = static_cast<double>(scores.shape()[1]);
  const Value wanted = how.smoothing == 0 ? target : (1 - how.smoothing) * target + how.smoothing / classes;
  Value terms = wanted * log_softmax(scores, 1);
  if (how.weights) terms = terms * along_classes(*how.weights, scores.shape().size());
  const Value loss = -sum(terms, {1});
  return reduced(loss, how.reduction);
}

Value binary_cross_entropy_with_logits(const Value& logits, const Value& target, const BinaryLoss& how) {
  // (1 - t) x + (1 + (positive - 1) t) log(1 + exp(-x))
  const Value soft = softplus(-logits);
  Value loss = (1 - target) * logits + (how.positive ? ((*how.positive - 1) * target + 1) * soft : soft);
  if (how.weights) loss = loss * *how.weights;
  return reduced(loss, how.reduction);
}

Value binary_cross_entropy(const Value& probabilities, const Value& target, const BinaryLoss& how) {
  constexpr double kLeast = -100;  // torch's: a logarithm of 0 has a gradient of 0
  Value loss = (target - 1) * at_least(log(1 - probabilities), kLeast) - target * at_least(log(probabilities), kLeast);
  if (how.weights) loss = loss * *how.weights;
  return reduced(loss, how.reduction);
}

Value squared_error(const Value& x, const Value& target, Reduction reduction) { return reduced(square(x - target), reduction); }

Value absolute_error(const Value& x, const Value& target, Reduction reduction) { return reduced(apply(Op::abs, x - target), reduction); }

Value huber(const Value& x, const Value& target, double delta, Reduction reduction) {
  const Value d = apply(Op::abs, x - target);
  const Value near = 0.5 * square(d), far = delta * (d - 0.5 * delta);
  return reduced(choose(apply(Op::less, d, x.session().number(delta, x.dtype())), near, far), reduction);
}

Value smooth_absolute_error(const Value& x, const Value& target, double delta, Reduction reduction) {
  return huber(x, target, delta, reduction) * (1 / delta);
}

Value log_cosh(const Value& x, const Value& target, Reduction reduction) {
  const Value d = x - target;  // d + softplus(-2 d) - log 2
  return reduced(d + softplus(-2.0 * d) - std::numbers::ln2, reduction);
}

Value kl_divergence(const Value& logarithms, const Value& target, Reduction reduction) {
  Session& session = target.session();
  const Value none = session.number(0, target.dtype()), one = session.number(1, target.dtype());
  const Value positive = apply(Op::less, none, target);
  // log 1 where t = 0, so that neither the term nor its gradient is 0 times an infinity.
  const Value entropy = target * log(choose(positive, target, one));
  return reduced(entropy - target * logarithms, reduction);
}

Value poisson(const Value& logarithms, const Value& target, Reduction reduction) {
  return reduced(exp(logarithms) - target * logarithms, reduction);
}

Value hinge(const Value& x, const Value& signs, double margin, Reduction reduction) { return reduced(relu(margin - signs * x), reduction); }

Value multi_margin(const Value& scores, const Value& target, double margin, Reduction reduction) {
  if (scores.shape().size() != 2 || target.shape() != Shape{scores.shape()[0]}) {
    return refused("multi_margin", "scores [B, C] and a target [B]", scores, target);
  }
  const auto classes = static_cast<double>(scores.shape()[1]);
  const Value own = apply(Op::take, reshape(target, {target.shape()[0], 1}), scores, ConcatAttributes{1});
  // The target's own term is max(0, margin): it is taken off again.
  const Value terms = sum(relu(margin - own + scores), {1}) - margin;
  return reduced(terms * (1 / classes), reduction);
}

Value cosine_embedding(const Value& a, const Value& b, const Value& signs, double margin, Reduction reduction) {
  constexpr double kSmallest = 1e-12;  // torch's, added to both squares
  const Value squares = (sum(square(a), {1}) + kSmallest) * (sum(square(b), {1}) + kSmallest);
  const Value cosine = sum(a * b, {1}) / sqrt(squares);
  const Value alike = apply(Op::less, signs.session().number(0, signs.dtype()), signs);
  return reduced(choose(alike, 1 - cosine, relu(cosine - margin)), reduction);
}

}  // namespace assay::training
