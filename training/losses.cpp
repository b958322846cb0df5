#include "training/losses.h"

#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "runtime/functions.h"
#include "training/layers/recurrent.h"
#include "training/layers/shapes.h"

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

// The parts of its target that a class loss needs, with axis 1 kept as 1 where it chooses.
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
  Value bit = target * softplus(-logits);
  if (how.positive) bit = *how.positive * bit;
  Value loss = bit + (1 - target) * softplus(logits);
  if (how.weights) loss = loss * *how.weights;
  return reduced(loss, how.reduction);
}

Value binary_cross_entropy(const Value& probabilities, const Value& target, const BinaryLoss& how) {
  constexpr double kLeast = -100;  // torch's: a logarithm of 0 has a gradient of 0
  Value loss = (target - 1) * at_least(log(1 - probabilities), kLeast) - target * at_least(log(probabilities), kLeast);
  if (how.weights) loss = loss * *how.weights;
  return reduced(loss, how.reduction);
}

namespace {

// A logarithm of 0 whose sums stay finite: exp gives exactly 0 beside any number.
constexpr double kImpossible = -1e30;

// [B, 2 S + 1]: `between`, what comes from [B, S], `between`, ...
Value interleaved(const Value& between, const Value& x) {
  const Shape shape = x.shape();
  const Value other = expand(between, shape), first = expand(between, {shape[0], 1});
  return concat({first, reshape(stack(std::vector{x, other}, 2), {shape[0], 2 * shape[1]})}, 1);
}

// Places 0 .. count - 1 as a row [1, count].
Value places_of(Session& session, std::int64_t count) {
  std::vector<std::int64_t> all(static_cast<std::size_t>(count));
  std::iota(all.begin(), all.end(), 0);
  return session.input(Tensor::of_ints({1, count}, all), "places");
}

}  // namespace

Value ctc(const Value& logarithms, const Value& targets, const Value& lengths, const Value& target_lengths, const CtcLoss& how) {
  const Shape shape = logarithms.shape(), labels = targets.shape();
  Session& session = logarithms.session();
  if (shape.size() != 3 || labels.size() != 2 || labels[0] != shape[1] || labels[1] < 1 || lengths.shape() != Shape{shape[1]} ||
      target_lengths.shape() != Shape{shape[1]}) {
    return refused("ctc", "[T, B, C], [B, S] with S > 0, [B] and [B]", logarithms, targets);
  }
  if (shape[0] < 1 || shape[0] > kMostSteps) {
    return session.refuse({Rejection::Kind::unsupported, "training.steps", "ctc", "T from 1 to " + std::to_string(kMostSteps),
                           to_string(shape), "cut the sequences"});
  }
  const std::int64_t batch = shape[1], classes = shape[2], count = labels[1], wide = 2 * count + 1;
  const auto whole = [&](std::int64_t value) { return session.input(Tensor::of_ints({1, 1}, std::vector<std::int64_t>{value})); };
  const Value none = session.number(kImpossible, logarithms.dtype()), zero = session.number(0, logarithms.dtype());
  // The logarithms of the target with blanks round each class, at every step: products with a 1 for each class.
  const Value padded = interleaved(whole(how.blank), targets);
  const Value hit = apply(Op::equal, reshape(padded, {batch, 1, wide}), reshape(places_of(session, classes), {1, classes, 1}));
  const Value said = matmul(permute(logarithms, {1, 0, 2}), cast(hit, logarithms.dtype()));  // [B, T, 2 S + 1]
  // A blank may be passed over between two classes that differ.
  Value skips = expand(none, {batch, 1});
  if (count > 1) {
    const Value same = apply(Op::equal, slice(targets, 1, 1, count - 1), slice(targets, 1, 0, count - 1));
    skips = concat({skips, choose(same, none, zero)}, 1);
  }
  skips = interleaved(expand(none, {1, 1}), skips);
  const Value place = places_of(session, wide);
  Value state = select(said, 1, 0) + choose(apply(Op::less, place, whole(2)), zero, none);
  for (std::int64_t t = 1; t < shape[0]; ++t) {
    const auto from = [&](std::int64_t back) { return concat({expand(none, {batch, back}), slice(state, 1, 0, wide - back)}, 1); };
    const Value before = stack(std::vector{state, from(1), from(2) + skips}, 2);
    const Value next = apply(Op::log_sum_exp, before, ReduceAttributes{{2}, false}) + select(said, 1, t);
    state = choose(apply(Op::less, whole(t), reshape(lengths, {batch, 1})), next, state);
  }
  // The paths that end in the last class or in the blank behind it.
  const Value last = reshape(target_lengths, {batch, 1}) + reshape(target_lengths, {batch, 1});
  const Value ends = apply(Op::logical_or, apply(Op::equal, place, last), apply(Op::equal, place + whole(1), last));
  Value loss = -apply(Op::log_sum_exp, choose(ends, state, none), ReduceAttributes{{1}, false});
  if (how.zero_infinity) loss = choose(apply(Op::less, loss, session.number(-kImpossible / 10, loss.dtype())), loss, zero);
  if (how.reduction != Reduction::mean) return reduced(loss, how.reduction);
  return mean(loss / cast(apply(Op::max, target_lengths, reshape(whole(1), {1})), loss.dtype()));
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
