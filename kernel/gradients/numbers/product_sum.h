// Sums of products of residues. Order and grouping do not change the result, so many products are added as integers
// before one reduction. Residues are below 2^61 and products below 2^122. So kMost products and the rest of earlier
// ones (below 2^68) stay below 2^128. An undefined operand makes the sum undefined, as in a sum product by product.
#pragma once

#include "kernel/gradients/numbers/modular.h"
#include "semantics/numbers/dual.h"
#include "semantics/ops/product_sum.h"

namespace assay::ops {

template <>
class ProductSum<Modular> {
 public:
  void add(Modular a, Modular b) {
    undefined_ = undefined_ || a.is_undefined() || b.is_undefined();
    sum_ += static_cast<UInt128>(a.value()) * b.value();
    if (++count_ == kMost) reduce();
  }
  Modular take() {
    reduce();
    reduce();  // below 2^61 + 2^7
    return undefined_ ? Modular::undefined() : Modular(static_cast<std::int64_t>(sum_));
  }

 private:
  __extension__ using UInt128 = unsigned __int128;
  static constexpr int kMost = 32;
  // 2^61 = 1 modulo p.
  void reduce() {
    sum_ = (sum_ & Modular::kPrime) + (sum_ >> 61);
    count_ = 0;
  }

  UInt128 sum_ = 0;
  int count_ = 0;
  bool undefined_ = false;
};

template <>
class ProductSum<Dual<Modular>> {
 public:
  void add(const Dual<Modular>& a, const Dual<Modular>& b) {
    value_.add(a.value(), b.value());
    tangent_.add(a.value(), b.tangent());
    tangent_.add(a.tangent(), b.value());
  }
  Dual<Modular> take() { return {value_.take(), tangent_.take()}; }

 private:
  ProductSum<Modular> value_, tangent_;
};

}  // namespace assay::ops
