// Attention over sequences [B, T, width].
#pragma once

#include <cstdint>
#include <optional>

#include "training/layers/basic.h"
#include "training/model.h"

namespace assay::training {

// softmax(q k^T / sqrt(d)) v over heads of width / heads, between an input and an output product. Parameters are PyTorch's in_proj_weight
// [3 width, width] (Glorot), in_proj_bias, out_proj.weight, out_proj.bias (zeros).
class MultiHeadAttention {
 public:
  MultiHeadAttention(const Scope& scope, std::int64_t width, std::int64_t heads);
  struct Mask {
    bool causal = false;                       // a place sees itself and those before
    std::optional<Value> open = std::nullopt;  // bool, broadcasts to [B, heads, T, S]; a place has to see one
  };
  [[nodiscard]] Value operator()(const Value& query, const Value& key, const Value& value, const Mask& mask) const;
  [[nodiscard]] Value operator()(const Value& x, const Mask& mask) const { return (*this)(x, x, x, mask); }

 private:
  std::int64_t width_, heads_;
  Value weight_, bias_;
  Linear out_;
};

}  // namespace assay::training
