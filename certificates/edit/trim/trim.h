// Trim: a certificate that is cheaper to check, made of one that the kernel accepts.
//
// Four things are tried, and the kernel judges each: what it does not accept stays as it was.
//   * Slopes that a conclusion holds without are left out, and its other hints are written in fewer bits.
//   * A split goes where its branch closes with the steps of one of its halves, or with those behind it.
//   * A sweep above a split takes the place of those in its halves, where they close on the boxes that it leaves.
//   * Bounds at the root of a group that the branches do not need are left out, before the others and again behind them (root.h).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "certificates/edit/trim/proof.h"
#include "kernel/logic/api.h"

namespace assay::certificate {

struct TrimStatistics {
  std::uint64_t refined = 0, kept = 0;  // elements whose bounds the roots derive, before and after (root.h)
  std::uint64_t slopes_dropped = 0;     // arrays of slopes
  std::uint64_t splits_dropped = 0, sweeps_joined = 0;
};

// Changes `groups`, every change judged on the facts before it; a check of what is written is the judge of the whole. Rejections are the
// kernel's, where it does not accept the groups as they are, or `is_over` says so before that is known ("kernel.stopped"). Where it says so
// later, the trimming ends, and what was found until then counts.
[[nodiscard]] Outcome<TrimStatistics> trim(const std::shared_ptr<const logic::Problem>& problem, std::vector<ProofGroup>& groups,
                                           const std::function<bool()>& is_over);

}  // namespace assay::certificate
