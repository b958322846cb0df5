// Declarations shared by the files of rounding errors. Private to kernel/floats.
#pragma once

#include <span>
#include <vector>

#include "kernel/floats/computed.h"
#include "semantics/ops/denote.h"

namespace assay::floats {

using Values = std::vector<Computed>;

struct Call {
  const Node& node;
  const ErrorArithmetic& a;
  std::span<const Array<Interval>* const> operands;

  template <class T>
  [[nodiscard]] const T& get() const {
    return std::get<T>(node.attributes);
  }
  [[nodiscard]] const Array<Interval>& operand(std::size_t i) const { return *operands[i]; }
};

// The lists of positions whose elements agree on all other axes: one line along `axes` each.
[[nodiscard]] std::vector<std::vector<std::size_t>> lines_of(const Shape& shape, const std::vector<std::int64_t>& axes);
// The operands at these positions, as an operation reads them.
[[nodiscard]] Values line_at(const Call& call, const std::vector<std::size_t>& positions);

[[nodiscard]] Values softmaxes(const Call& call);        // softmax, log_softmax, log_sum_exp, masked_softmax
[[nodiscard]] Values normalisations(const Call& call);   // normalise
[[nodiscard]] Values local_responses(const Call& call);  // local_response
[[nodiscard]] Values products(const Call& call);         // reduce_prod, cumprod

}  // namespace assay::floats
