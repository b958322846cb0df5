// One block of a transformer with normalisation in front: attention, then two products, each added to what came in.
#pragma once

#include <cstdint>
#include <optional>

#include "runtime/functions.h"
#include "training/layers/attention.h"
#include "training/layers/basic.h"
#include "training/layers/normalise.h"

struct TransformerBlock {
  assay::training::LayerNorm before, between;
  assay::training::MultiHeadAttention attention;
  assay::training::Linear up, down;
  TransformerBlock(const assay::training::Scope& at, std::int64_t width, std::int64_t heads,
                   const std::optional<assay::training::Rotary>& rotary = std::nullopt)
      : before(at / "before", assay::Shape{width}),
        between(at / "between", assay::Shape{width}),
        attention(at / "attention", width, heads, rotary),
        up(at / "up", width, 4 * width),
        down(at / "down", 4 * width, width) {}
  assay::training::Value operator()(const assay::training::Value& x, bool causal) const {
    const assay::training::Value h = x + attention(before(x), {.causal = causal});
    return h + down(gelu(up(between(h))));
  }
};
