// Helpers to write down the representative set of cases. Private to this folder.
#pragma once

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "kernel/gradients/adjointness/adjointness.h"

namespace assay::gradients::adjointness {

using Cases = std::vector<AdjointCase>;

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr Domain kAny{-4, 4}, kPositive{0.25, 4}, kNegative{-4, -0.25}, kFraction{-0.875, 0.875}, kAboveOne{1.125, 4}, kTruth{0, 1};
inline const std::vector<double> kZero{0}, kTies{0, 1};

// An operand; real unless `dtype` says otherwise.
struct Operand {
  Shape shape;
  Domain domain = kAny;
  DType dtype = DType::float32;
};
inline Operand truths(Shape shape) { return {std::move(shape), kTruth, DType::boolean}; }

// The op on inputs x0, x1, ...; the case is named "<op>, <what>".
[[nodiscard]] AdjointCase one(Op op, std::string what, const std::vector<Operand>& operands, Attributes attributes = NoAttributes{},
                              std::vector<double> kinks = {});

// Cases of ops that move elements, sum products of elements, or read windows (structure_cases.cpp).
[[nodiscard]] Cases layout_cases(Op op);
[[nodiscard]] Cases product_cases(Op op);
[[nodiscard]] Cases conv_cases();
[[nodiscard]] Cases conv_transpose_cases();
[[nodiscard]] Cases pool_cases(Op op);

}  // namespace assay::gradients::adjointness
