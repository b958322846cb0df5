// Sums of products, from left to right. A scalar with a faster sum specialises the class.
#pragma once

#include <utility>

namespace assay::ops {

template <class S>
class ProductSum {
 public:
  void add(const S& a, const S& b) { sum_ += a * b; }
  S take() { return std::move(sum_); }

 private:
  S sum_{};
};

}  // namespace assay::ops
