// Attention over sequences [B, T, width].
#pragma once

#include <cstdint>
#include <optional>

#include "training/layers/basic.h"
#include "training/model.h"

namespace assay::training {

// x [..., T, d] with pairs of elements turned by angles that grow with the place: elements i and i + d / 2, or 2 i and 2 i + 1
// where they are interleaved, by place * base^(-2 i / d). Source: Su et al. 2021 (RoPE).
struct Rotary {
  double base = 10000;
  bool interleaved = false;
  std::int64_t first = 0;  // the place of the first row
};
[[nodiscard]] Value rotated(const Value& x, const Rotary& how);

// softmax(q k^T / sqrt(d)) v over heads of width / heads, between an input and an output product. Parameters are PyTorch's in_proj_weight
// [3 width, width] (Glorot), in_proj_bias, out_proj.weight, out_proj.bias (zeros). With `rotary` queries and keys are rotated.
class MultiHeadAttention {
 public:
  MultiHeadAttention(const Scope& scope, std::int64_t width, std::int64_t heads, const std::optional<Rotary>& rotary = std::nullopt);
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
  std::optional<Rotary> rotary_;
};

}  // namespace assay::training
