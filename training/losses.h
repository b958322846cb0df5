// Losses by name, as compositions of ops: every session computes and differentiates them, and every recorded one is audited op by op.
// Names, options and values are those of torch.nn.functional. Where a loss takes no option, runtime/functions.h has it as well.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/session.h"

namespace assay::training {

using runtime::Value;

enum class Reduction : std::uint8_t { none, mean, sum };

// Classes are axis 1 of the scores [B, C, ...], targets [B, ...] (int64 or int32). Each place counts with its class's weight, and means
// divide by the sum of these; places of the ignored class count nothing. Smoothing spreads that share of a target over all classes.
struct ClassLoss {
  Reduction reduction = Reduction::mean;
  std::optional<Value> weights = std::nullopt;  // [C]
  std::optional<std::int64_t> ignore = std::nullopt;
  double smoothing = 0;
};
[[nodiscard]] Value cross_entropy(const Value& scores, const Value& target, const ClassLoss& how);
[[nodiscard]] Value negative_log_likelihood(const Value& logarithms, const Value& target, const ClassLoss& how);
// With probabilities [B, C, ...] as target; without `ignore`.
[[nodiscard]] Value cross_entropy_of_probabilities(const Value& scores, const Value& target, const ClassLoss& how = {});

// t log(1 + exp(-x)) + (1 - t) log(1 + exp(x)), element by element; `positive` multiplies the term of t, weights all of it. In this form no
// gradient of a bit is a difference.
struct BinaryLoss {
  Reduction reduction = Reduction::mean;
  std::optional<Value> weights = std::nullopt, positive = std::nullopt;  // broadcast
};
[[nodiscard]] Value binary_cross_entropy_with_logits(const Value& logits, const Value& target, const BinaryLoss& how = {});
// -t log p - (1 - t) log(1 - p), logarithms cut at -100.
[[nodiscard]] Value binary_cross_entropy(const Value& probabilities, const Value& target, const BinaryLoss& how = {});

// Connectionist temporal classification: minus the logarithm of the probability that a sequence of classes, after equal
// neighbours were joined and blanks left out, is the target. Log-probabilities [T, B, C], which are finite; targets [B, S]
// (int64) of classes that are not the blank; how many places [B] of each count, of the first from 1 on, of the second from 0 on
// (int64). The forward algorithm in logarithms, unrolled: T up to kMostSteps (layers/recurrent.h). A mean divides each loss by
// its target's length first. Where no sequence is long enough the loss is above 1e29, or 0 with `zero_infinity`. Source: Graves
// et al. 2006.
struct CtcLoss {
  Reduction reduction = Reduction::mean;
  std::int64_t blank = 0;
  bool zero_infinity = false;
};
[[nodiscard]] Value ctc(const Value& logarithms, const Value& targets, const Value& lengths, const Value& target_lengths,
                        const CtcLoss& how = {});

[[nodiscard]] Value squared_error(const Value& x, const Value& target, Reduction reduction = Reduction::mean);
[[nodiscard]] Value absolute_error(const Value& x, const Value& target, Reduction reduction = Reduction::mean);
// d^2 / 2 up to |d| = delta, then delta (|d| - delta / 2); smooth: that by delta.
[[nodiscard]] Value huber(const Value& x, const Value& target, double delta = 1, Reduction reduction = Reduction::mean);
[[nodiscard]] Value smooth_absolute_error(const Value& x, const Value& target, double delta = 1, Reduction reduction = Reduction::mean);
[[nodiscard]] Value log_cosh(const Value& x, const Value& target, Reduction reduction = Reduction::mean);

// t (log t - x) for logarithms x and probabilities t, 0 at t = 0. A mean over the batch alone: sum, then by its size.
[[nodiscard]] Value kl_divergence(const Value& logarithms, const Value& target, Reduction reduction = Reduction::mean);
// exp(x) - t x
[[nodiscard]] Value poisson(const Value& logarithms, const Value& target, Reduction reduction = Reduction::mean);

// max(0, margin - s x) with signs s of 1 and -1.
[[nodiscard]] Value hinge(const Value& x, const Value& signs, double margin = 1, Reduction reduction = Reduction::mean);
// Sum over the other classes of max(0, margin - x_target + x_class) / C; scores [B, C].
[[nodiscard]] Value multi_margin(const Value& scores, const Value& target, double margin = 1, Reduction reduction = Reduction::mean);
// Rows [B, D]: 1 - cos where the sign is 1, max(0, cos - margin) where it is -1.
[[nodiscard]] Value cosine_embedding(const Value& a, const Value& b, const Value& signs, double margin = 0,
                                     Reduction reduction = Reduction::mean);

}  // namespace assay::training
