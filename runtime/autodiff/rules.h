// The gradient rules: the cotangents of an op's operands from the cotangent of its result.
//
// They are written from the meanings of the ops (docs/ops) and share nothing with kernel/gradients/derivatives. Where a saved result is
// cheaper than the operand it is used: 1 - y^2 for tanh, y (g - sum g y) for softmax. At kinks they give what PyTorch gives
// (docs/explanation/kinks.md): written with signs and positions, so that over a set around a kink a gradient is the set of all that
// may be chosen there, and at the kink one number. Maxima of three operands and more, and along axes, have even shares (max_weight).
// Jumps and whole numbers send no cotangent.
#pragma once

#include <variant>
#include <vector>

#include "runtime/autodiff/emitter.h"
#include "runtime/autodiff/term.h"

namespace assay::runtime::autodiff {

// One op as it was applied, with the cotangent g of its result.
struct Applied {
  Emitter& emitter;
  Op op;
  const Attributes& attributes;
  std::span<const Ref> operands;
  Ref result;
  Ref cotangent;
  const std::vector<bool>& wanted;  // per operand; others get no cotangent

  [[nodiscard]] Term x(std::size_t i = 0) const { return {emitter, operands[i]}; }
  [[nodiscard]] Term y() const { return {emitter, result}; }
  [[nodiscard]] Term g() const { return {emitter, cotangent}; }
  template <class A>
  [[nodiscard]] const A& get() const {
    return std::get<A>(attributes);
  }
};

// Per operand: its cotangent, of its shape and dtype, or kNone where it is not wanted or certainly 0.
using Cotangents = std::vector<Ref>;
[[nodiscard]] Cotangents cotangents_of(const Applied& a);

}  // namespace assay::runtime::autodiff
