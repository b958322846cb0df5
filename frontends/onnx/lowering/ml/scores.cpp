// Linear models and support vector machines, and scores and labels of classifiers.
#include <algorithm>
#include <numeric>

#include "frontends/onnx/lowering/ml/ml.h"

namespace assay::onnx {
namespace {

std::string transform_of(const Call& call) { return call.attribute("post_transform", "NONE"); }

// x C^T + b with one row of coefficients and one offset for each score. Programs leave out offsets of another number.
Operand affine(Call& call, const Operand& x, const Reals& coefficients, const Reals& offsets, std::int64_t scores) {
  if (static_cast<std::int64_t>(coefficients.size()) != scores * x->shape[1])
    call.malformed("onnx.attribute", std::to_string(scores) + " rows of " + std::to_string(x->shape[1]) + " coefficients",
                   std::to_string(coefficients.size()) + " of them");
  const Operand product = call.emit(Op::matmul, {x, permute(call, reals_like(call, x, {scores, x->shape[1]}, coefficients), {1, 0})});
  if (offsets.empty()) return product;
  if (static_cast<std::int64_t>(offsets.size()) != scores)
    call.malformed("onnx.attribute", "an offset for each of " + std::to_string(scores) + " scores", std::to_string(offsets.size()));
  return call.emit(Op::add, {product, reals_like(call, x, {scores}, offsets)});
}

// The kernel of the machine between each row and each vector, [N, C] and [V, C] to [N, V].
Operand kernel(Call& call, const Operand& x, const Reals& vectors, std::int64_t count) {
  const std::string type = call.attribute("kernel_type", "LINEAR");
  Reals parameters = reals_of(call, "kernel_params");
  parameters.resize(3, 0);
  if (type != "LINEAR") call.real_only(false, "a machine whose kernel is linear", "kernel_type " + printable(type));
  const Reals gamma{parameters[0]}, offset{parameters[1]};
  if (type == "RBF") {
    const Operand apart = call.reshape(x, {x->shape[0], 1, x->shape[1]});
    const Operand away = call.emit(Op::sub, {apart, reals_like(call, x, {count, x->shape[1]}, vectors)});
    const Operand squares = call.emit(Op::pow, {away}, PowAttributes{Rational(2)});
    const Operand distance = call.emit(Op::reduce_sum, {squares}, ReduceAttributes{{2}, false});
    return call.emit(Op::exp, {scaled(call, distance, -gamma[0])});
  }
  const Operand product = affine(call, x, vectors, {}, count);
  if (type == "LINEAR") return product;
  const Operand inside = call.emit(Op::add, {scaled(call, product, gamma[0]), call.make_real_like(x, offset[0])});
  if (type == "SIGMOID") return call.emit(Op::tanh, {inside});
  const double degree = parameters[2];
  if (type != "POLY" || !(degree >= 1 && degree <= 64 && degree == static_cast<int>(degree)))
    call.unsupported("onnx.attribute", "kernel_type LINEAR, RBF, SIGMOID, or POLY of a whole degree",
                     printable(type) + " of degree " + std::to_string(degree), "write the model with standard operators");
  return call.emit(Op::pow, {inside}, PowAttributes{Rational(static_cast<int>(degree))});
}

// The score of each pair of classes, [N, pairs]: the vectors of either class with their coefficients against the other.
Operand pair_scores(Call& call, const Operand& x, const Ints& per_class, const Reals& coefficients, const Reals& rho) {
  const auto classes = static_cast<std::int64_t>(per_class.size());
  bool fits = std::ranges::all_of(per_class, [](std::int64_t one) { return one >= 0 && one <= kLargestExtent; });
  const std::int64_t vectors = fits ? std::accumulate(per_class.begin(), per_class.end(), std::int64_t{0}) : 0;
  const Reals support = reals_of(call, "support_vectors");
  const std::int64_t pairs = classes * (classes - 1) / 2;
  fits = fits && classes >= 2 && static_cast<std::int64_t>(support.size()) == vectors * x->shape[1] &&
         static_cast<std::int64_t>(coefficients.size()) == (classes - 1) * vectors && static_cast<std::int64_t>(rho.size()) == pairs;
  if (!fits) call.malformed("onnx.attribute", "vectors, coefficients and rho for the classes and their pairs", "other numbers of them");
  call.limit_fold({vectors, pairs}, DType::float64);
  Reals weights(static_cast<std::size_t>(vectors * pairs), 0);
  std::int64_t pair = 0, first = 0;
  for (std::int64_t i = 0; i < classes; first += per_class[static_cast<std::size_t>(i)], ++i) {
    std::int64_t second = first + per_class[static_cast<std::size_t>(i)];
    for (std::int64_t j = i + 1; j < classes; second += per_class[static_cast<std::size_t>(j)], ++j, ++pair) {
      const auto take = [&](std::int64_t row, std::int64_t start, std::int64_t count) {
        for (std::int64_t v = start; v < start + count; ++v)
          weights[static_cast<std::size_t>(v * pairs + pair)] = coefficients[static_cast<std::size_t>(row * vectors + v)];
      };
      take(j - 1, first, per_class[static_cast<std::size_t>(i)]);
      take(i, second, per_class[static_cast<std::size_t>(j)]);
    }
  }
  const Operand sums = call.emit(Op::matmul, {kernel(call, x, support, vectors), reals_like(call, x, {vectors, pairs}, weights)});
  return call.emit(Op::add, {sums, reals_like(call, x, {pairs}, rho)});
}

}  // namespace

Operand as_float32(Call& call, const Operand& scores) {
  if (scores->dtype == DType::float64) call.real_only(false, "a model of float32", "sums in float64");
  return call.cast(scores, DType::float32);
}

Operand transformed(Call& call, const Operand& scores, const std::string& transform) {
  if (transform == "NONE") return scores;
  if (scores->shape[1] < 2 || (transform != "SOFTMAX" && transform != "LOGISTIC"))
    call.unsupported("onnx.attribute", "post_transform NONE, or SOFTMAX or LOGISTIC of several scores",
                     printable(transform) + " of " + to_string(scores->shape), "transform the scores behind the model");
  call.real_only(false, "scores that are not transformed", "post_transform " + printable(transform));
  return transform == "SOFTMAX" ? call.emit(Op::softmax, {scores}, SoftmaxAttributes{1}) : call.emit(Op::sigmoid, {scores});
}

Operand both_scores(Call& call, const Operand& score, Second second) {
  if (second == Second::complement) return concat(call, {call.emit(Op::sub, {call.make_real_like(score, 1), score}), score}, 1);
  const Operand both = concat(call, {call.emit(Op::neg, {score}), score}, 1);
  return second == Second::opposite ? both : transformed(call, both, "LOGISTIC");
}

Operand label_of_largest(Call& call, const Operand& scores, const Ints& labels) {
  if (labels.empty()) return nullptr;
  const Operand place = call.emit(Op::arg_max, {scores}, ArgAttributes{1, false, false});
  return take_axis(call, call.make_ints(DType::int64, {static_cast<std::int64_t>(labels.size())}, labels), 0, place);
}

Operand label_above(Call& call, const Operand& score, double threshold, const Ints& labels) {
  if (labels.size() != 2) return nullptr;
  const Operand above = call.emit(Op::less, {call.make_real_like(score, threshold), call.reshape(score, {score->shape[0]})});
  return call.emit(Op::where, {above, call.make_ints(DType::int64, {}, {labels[1]}), call.make_ints(DType::int64, {}, {labels[0]})});
}

std::size_t class_count_of(const Call& call, std::string_view integers) {
  const AttributeProto* texts = call.find("classlabels_strings", AttributeKind::texts);
  const std::size_t named = texts != nullptr ? texts->texts.size() : 0, numbered = ints_of(call, integers).size();
  if ((named == 0) == (numbered == 0))
    call.malformed("onnx.attribute", "labels of the classes, as strings or as integers", "none, or both");
  return std::max(named, numbered);
}

Results lower_linear_regressor(Call& call) {
  const Operand x = rows_of(call, call.in(0));
  const std::int64_t targets = call.attribute("targets", std::int64_t{1});
  if (targets < 1 || targets > kLargestExtent) call.malformed("onnx.attribute", "targets of at least 1", std::to_string(targets));
  const Operand scores = affine(call, x, reals_of(call, "coefficients"), reals_of(call, "intercepts"), targets);
  return {as_float32(call, transformed(call, scores, transform_of(call)))};
}

Results lower_linear_classifier(Call& call) {
  const Operand x = rows_of(call, call.in(0));
  const Reals intercepts = reals_of(call, "intercepts");
  const Ints labels = ints_of(call, "classlabels_ints");
  const std::size_t classes = class_count_of(call, "classlabels_ints");
  const std::string transform = transform_of(call);
  const auto count = static_cast<std::int64_t>(intercepts.size());
  if (intercepts.empty() || (intercepts.size() != classes && (intercepts.size() != 1 || classes != 2)))
    call.unsupported("onnx.attribute", "an intercept for each class, or one for two classes",
                     std::to_string(intercepts.size()) + " for " + std::to_string(classes), "export all intercepts");
  const Operand scores = affine(call, x, reals_of(call, "coefficients"), intercepts, count);
  if (count == 1 && classes == 2) {
    if (transform != "NONE" && transform != "LOGISTIC")
      call.unsupported("onnx.attribute", "post_transform NONE or LOGISTIC of one score", printable(transform), "give both scores");
    const Operand both = both_scores(call, scores, transform == "NONE" ? Second::complement : Second::logistic);
    return {label_above(call, scores, 0, labels), as_float32(call, both)};
  }
  return {label_of_largest(call, scores, labels), as_float32(call, transformed(call, scores, transform))};
}

Results lower_svm_regressor(Call& call) {
  const Operand x = rows_of(call, call.in(0));
  const Reals coefficients = reals_of(call, "coefficients"), rho = reals_of(call, "rho");
  const std::int64_t vectors = call.attribute("n_supports", std::int64_t{0});
  if (rho.size() != 1 || vectors < 0 || vectors > kLargestExtent)
    call.malformed("onnx.attribute", "one rho, and n_supports >= 0", std::to_string(rho.size()) + " and " + std::to_string(vectors));
  Operand score;
  if (vectors == 0) {
    score = affine(call, x, coefficients, rho, 1);
  } else {
    const Operand near = kernel(call, x, reals_of(call, "support_vectors"), vectors);
    score = affine(call, near, coefficients, rho, 1);
  }
  if (call.attribute("one_class", std::int64_t{0}) == 0) return {as_float32(call, transformed(call, score, transform_of(call)))};
  const Operand inside = call.emit(Op::less, {call.make_real_like(score, 0), score});
  return {as_float32(call, call.emit(Op::where, {inside, call.make_real_like(score, 1), call.make_real_like(score, -1)}))};
}

// The label is a vote of the pairs, which is no result here.
Results lower_svm_classifier(Call& call) {
  const Operand x = rows_of(call, call.in(0));
  const Ints per_class = ints_of(call, "vectors_per_class");
  const Reals coefficients = reals_of(call, "coefficients"), rho = reals_of(call, "rho");
  const std::size_t classes = class_count_of(call, "classlabels_ints");
  const std::string transform = transform_of(call);
  if (!reals_of(call, "prob_a").empty())
    call.unsupported("onnx.attribute", "scores of pairs", "probabilities (prob_a), which an iteration computes",
                     "convert with probability=False");
  if (per_class.empty()) {
    if (rho.empty()) call.malformed("onnx.attribute", "at least one rho", "none");
    const Operand scores = affine(call, x, coefficients, Reals(classes, rho[0]), static_cast<std::int64_t>(classes));
    return {nullptr, as_float32(call, transformed(call, scores, transform))};
  }
  if (per_class.size() != classes) call.malformed("onnx.attribute", "vectors for each class", std::to_string(per_class.size()));
  const Operand scores = pair_scores(call, x, per_class, coefficients, rho);
  if (classes > 2) return {nullptr, as_float32(call, transformed(call, scores, transform))};
  if (transform != "NONE")
    call.unsupported("onnx.attribute", "post_transform NONE of one pair", printable(transform), "transform the scores behind the model");
  return {nullptr, as_float32(call, both_scores(call, scores, Second::opposite))};
}

}  // namespace assay::onnx
