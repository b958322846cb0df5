// Linear layers, embeddings, dropout.
#pragma once

#include <cstdint>
#include <optional>

#include "training/model.h"

namespace assay::training {

// x [..., in] to [..., out]: x weight^T + bias, with weight [out, in]. Both start uniform between +-1 / sqrt(in).
class Linear {
 public:
  Linear(const Scope& scope, std::int64_t in, std::int64_t out, bool bias = true);
  [[nodiscard]] Value operator()(const Value& x) const;
  [[nodiscard]] const Value& weight() const { return weight_; }

 private:
  Value weight_;
  std::optional<Value> bias_;
};

// A linear layer whose weight and bias stay as they are, with a product of two thin matrices beside them that is trained:
// x weight^T + bias + (scale / rank) x lora_A^T lora_B^T, with lora_A [rank, in] as a linear layer's weight and lora_B [out, rank] 0 at the
// start. Source: Hu et al. 2021 (LoRA).
class LoraLinear {
 public:
  struct Options {
    std::int64_t rank = 4;
    double scale = 8;
  };
  LoraLinear(const Scope& scope, std::int64_t in, std::int64_t out, const Options& options);
  [[nodiscard]] Value operator()(const Value& x) const;
  [[nodiscard]] Value merged() const;  // the weight of the linear layer that it has become: [out, in]

 private:
  Linear base_;
  Value a_, b_;
  double scale_;
};

// Rows of weight [count, width], which start normal, at integers of any shape: [..., width]. A product with rows of 0 and 1, so that its
// gradient is a product, too.
class Embedding {
 public:
  Embedding(const Scope& scope, std::int64_t count, std::int64_t width, double deviation = 1);
  [[nodiscard]] Value operator()(const Value& index) const;
  [[nodiscard]] const Value& weight() const { return weight_; }

 private:
  Value weight_;
};

// In training each element is kept with probability 1 - p and divided by it.
class Dropout {
 public:
  Dropout(const Scope& scope, double p) : model_(scope.model), p_(p) {}
  [[nodiscard]] Value operator()(const Value& x) const;

 private:
  Model* model_;
  double p_;
};

// sin and cos of places in falling frequencies, [places, width]. Source: Vaswani et al. 2017.
[[nodiscard]] Array sinusoidal_places(const Session& session, std::int64_t places, std::int64_t width);

}  // namespace assay::training
