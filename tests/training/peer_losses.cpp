// Losses and their gradients in both number formats.
#include <functional>
#include <vector>

#include "runtime/functions.h"
#include "tests/training/peer_cases.h"
#include "training/losses.h"

namespace assay::test {

using namespace runtime;
using namespace training;

namespace {

struct Cases {
  Json result = Json::array();
  Session& session;

  // `operands`: what the loss takes, the first of which is differentiated.
  void add(const std::string& name, const Json& options, const std::vector<Value>& operands, const Value& loss) {
    Json one{{"name", name}, {"options", options}, {"dtype", std::string(to_string(session.options().dtype))}};
    for (const Value& operand : operands) one["operands"].push_back(json_of(operand));
    one["value"] = json_of(loss);
    const auto bars = session.gradients(sum(loss), {operands[0]});
    if (!bars) {
      one["failed"] = bars.rejection().to_text();
    } else {
      one["gradient"] = json_of(bars.value()[0]);
    }
    result.push_back(std::move(one));
  }
};

const std::vector<std::pair<const char*, Reduction>> kReductions{
    {"none", Reduction::none}, {"mean", Reduction::mean}, {"sum", Reduction::sum}};

Value whole(Session& session, const Shape& shape, const std::vector<std::int64_t>& values) {
  return session.input(Tensor::of_ints(shape, values));
}

Array array_like(const Value& like, const Shape& shape, const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  return Array::from(like.dtype() == DType::float32 ? Tensor::of_floats(shape, narrow) : Tensor::of_doubles(shape, values));
}

void class_losses(Cases& cases) {
  Session& session = cases.session;
  const Value scores = session.input(session.normal({5, 4})), images = session.input(session.normal({2, 4, 3}));
  const Value target = whole(session, {5}, {0, 3, 1, 1, 2}), pixels = whole(session, {2, 3}, {0, 1, 2, 3, 3, 1});
  const Value weights = session.input(session.uniform({4}, 0.25, 2));
  for (const auto& [word, reduction] : kReductions) {
    for (const double smoothing : {0.0, 0.125}) {
      for (const bool weighted : {false, true}) {
        for (const bool ignoring : {false, true}) {
          ClassLoss how{.reduction = reduction, .smoothing = smoothing};
          Json options{{"reduction", word}, {"label_smoothing", smoothing}};
          if (weighted) how.weights = weights, options["weight"] = json_of(weights);
          if (ignoring) how.ignore = 1, options["ignore_index"] = 1;
          cases.add("cross_entropy", options, {scores, target}, cross_entropy(scores, target, how));
          cases.add("cross_entropy", options, {images, pixels}, cross_entropy(images, pixels, how));
          if (smoothing == 0) {
            options.erase("label_smoothing");
            cases.add("nll_loss", options, {scores, target}, negative_log_likelihood(scores, target, how));
          }
        }
      }
    }
    cases.add("multi_margin_loss", {{"reduction", word}, {"margin", 0.75}}, {scores, target},
              multi_margin(scores, target, 0.75, reduction));
  }
  const Value shares = softmax(session.input(session.normal({5, 4})), 1);
  for (const double smoothing : {0.0, 0.125}) {
    cases.add("cross_entropy", {{"label_smoothing", smoothing}, {"weight", json_of(weights)}}, {scores, shares},
              cross_entropy_of_probabilities(scores, shares, {.weights = weights, .smoothing = smoothing}));
  }
}

void pointwise_losses(Cases& cases) {
  Session& session = cases.session;
  const Shape shape{3, 4};
  const Value x = session.input(session.normal(shape)), y = session.input(session.normal(shape));
  const Value bits = session.input(session.bernoulli(0.5, shape)), share = session.input(session.uniform(shape));
  const Value weights = session.input(session.uniform({4}, 0.25, 2)), positive = session.input(session.uniform({4}, 0.5, 3));
  const Value wide = session.input(session.uniform(shape, -60, 60));
  const Value signs = 2.0 * bits - 1, rows = softmax(y, 1), probabilities = session.input(session.uniform(shape, 0.01, 0.99));
  const Value logarithms = log_softmax(x, 1), one_hot = session.input(array_like(x, shape, {1, 0, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0}));
  const Value alike = session.input(array_like(x, {3}, {1, -1, 1}));
  for (const auto& [word, reduction] : kReductions) {
    const Json plain{{"reduction", word}};
    cases.add("mse_loss", plain, {x, y}, squared_error(x, y, reduction));
    cases.add("l1_loss", plain, {x, y}, absolute_error(x, y, reduction));
    cases.add("huber_loss", {{"reduction", word}, {"delta", 0.75}}, {x, y}, huber(x, y, 0.75, reduction));
    cases.add("smooth_l1_loss", {{"reduction", word}, {"beta", 0.75}}, {x, y}, smooth_absolute_error(x, y, 0.75, reduction));
    cases.add("binary_cross_entropy_with_logits", plain, {wide, share},
              binary_cross_entropy_with_logits(wide, share, {.reduction = reduction}));
    cases.add("binary_cross_entropy_with_logits", {{"reduction", word}, {"weight", json_of(weights)}, {"pos_weight", json_of(positive)}},
              {x, share}, binary_cross_entropy_with_logits(x, share, {.reduction = reduction, .weights = weights, .positive = positive}));
    cases.add("binary_cross_entropy", {{"reduction", word}, {"weight", json_of(weights)}}, {probabilities, share},
              binary_cross_entropy(probabilities, share, {.reduction = reduction, .weights = weights}));
    cases.add("kl_div", plain, {logarithms, rows}, kl_divergence(logarithms, rows, reduction));
    if (session.options().dtype == DType::float32)
      cases.add("kl_div", plain, {logarithms, one_hot}, kl_divergence(logarithms, one_hot, reduction));
    cases.add("poisson_nll_loss", plain, {x, share}, poisson(x, share, reduction));
    cases.add("hinge", plain, {x, signs}, hinge(x, signs, 1, reduction));
    cases.add("log_cosh", plain, {wide, y}, log_cosh(wide, y, reduction));
    cases.add("cosine_embedding_loss", {{"reduction", word}, {"margin", 0.125}}, {x, y, alike},
              cosine_embedding(x, y, alike, 0.125, reduction));
  }
}

// Scores, targets and the two lengths; repeated classes, a target of no class, sequences that are cut, and one that is too short.
void sequence_losses(Cases& cases) {
  Session& session = cases.session;
  const Value scores = session.input(session.normal({7, 4, 5}));
  const Value targets = whole(session, {4, 3}, {1, 2, 1, 3, 3, 2, 4, 1, 1, 2, 1, 4});
  const Value lengths = whole(session, {4}, {7, 6, 5, 7}), target_lengths = whole(session, {4}, {3, 3, 0, 1});
  const Value short_lengths = whole(session, {4}, {7, 3, 1, 2});
  for (const auto& [word, reduction] : kReductions) {
    for (const std::int64_t blank : {0, 3}) {
      const Value other = blank == 0 ? targets : whole(session, {4, 3}, {1, 2, 1, 0, 0, 2, 4, 1, 1, 2, 1, 4});
      cases.add("ctc", {{"reduction", word}, {"blank", blank}}, {scores, other, lengths, target_lengths},
                ctc(log_softmax(scores, 2), other, lengths, target_lengths, {.reduction = reduction, .blank = blank}));
    }
    cases.add("ctc", {{"reduction", word}, {"zero_infinity", true}}, {scores, targets, short_lengths, target_lengths},
              ctc(log_softmax(scores, 2), targets, short_lengths, target_lengths, {.reduction = reduction, .zero_infinity = true}));
  }
}

}  // namespace

Json loss_cases() {
  Json result = Json::array();
  for (const DType dtype : {DType::float32, DType::float64}) {
    Session session({.dtype = dtype, .seed = 3});
    Cases cases{.session = session};
    class_losses(cases);
    pointwise_losses(cases);
    sequence_losses(cases);
    for (Json& one : cases.result) result.push_back(std::move(one));
  }
  return result;
}

}  // namespace assay::test
