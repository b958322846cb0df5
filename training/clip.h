// Gradients that are cut: by their common norm, by value, by a percentile of the norms so far.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "runtime/session.h"

namespace assay::training {

using runtime::Value;

// The Euclidean norm of all elements together, in double; on a device in another order. NaN where a device does not give it, and
// then the session has a failure.
[[nodiscard]] double norm_of(std::span<const Value> gradients);
// All gradients times most / norm where the norm is above `most`; the norm before.
double clip_by_norm(std::vector<Value>& gradients, double most);
// Each element between -most and most.
void clip_by_value(std::vector<Value>& gradients, double most);

// Norms are cut at a percentile of those that were seen, this one included. Source: Seetharaman et al. 2020 (AutoClip).
class PercentileClip {
 public:
  explicit PercentileClip(double percent) : percent_(percent) {}  // 0 to 100
  double operator()(std::vector<Value>& gradients);               // the norm before
  [[nodiscard]] const std::vector<double>& seen() const { return seen_; }
  void restore(std::vector<double> seen) { seen_ = std::move(seen); }

 private:
  double percent_;
  std::vector<double> seen_;  // in order of time
};

// The percentile of the values, between neighbours by a line; NaN of none.
[[nodiscard]] double percentile(std::vector<double> values, double percent);

}  // namespace assay::training
