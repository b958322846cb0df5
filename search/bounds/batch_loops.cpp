// The inner loops of LaneBounds, one body for all instruction sets.

#include "search/bounds/batch_loops.h"

#include <cmath>

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define ASSAY_SEARCH_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#define ASSAY_SEARCH_INLINE inline __attribute__((always_inline))
#else
#define ASSAY_SEARCH_CLONES
#define ASSAY_SEARCH_INLINE inline
#endif

namespace assay::search {
namespace {

// Of the two planes below (c > 0) or above p q, mixed.
struct Mixed {
  double p, q, constant;
};
ASSAY_SEARCH_INLINE Mixed mixed(const LaneSlot& slot, std::size_t l, double c, double mix) {
  const double rest = 1 - mix, q_of_mix = c > 0 ? slot.q_lo[l] : slot.q_hi[l], q_of_rest = c > 0 ? slot.q_hi[l] : slot.q_lo[l];
  const double p_lo = mix * slot.p_lo[l], p_hi = rest * slot.p_hi[l];
  return {mix * q_of_mix + rest * q_of_rest, p_lo + p_hi, -(p_lo * q_of_mix + p_hi * q_of_rest)};
}

ASSAY_SEARCH_INLINE void scatter(std::span<const ScalarEntry> entries, const double* __restrict c, double* __restrict atoms) {
  for (const ScalarEntry& entry : entries) {
    double* __restrict to = atoms + entry.atom * kLanes;
    for (std::size_t l = 0; l < kLanes; ++l) to[l] += entry.value * c[l];
  }
}

ASSAY_SEARCH_INLINE void gather(std::span<const ScalarEntry> entries, const double* __restrict z, double* __restrict sum) {
  for (const ScalarEntry& entry : entries) {
    const double* __restrict from = z + entry.atom * kLanes;
    for (std::size_t l = 0; l < kLanes; ++l) sum[l] += entry.value * from[l];
  }
}

}  // namespace

ASSAY_SEARCH_CLONES void lane_back(const LaneSlot& slot, const double* __restrict c, double* __restrict atoms,
                                   double* __restrict constant) {
  double p[kLanes], q[kLanes];
  if (slot.is_product) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const Mixed plane = mixed(slot, l, c[l], c[l] > 0 ? slot.mix_low[l] : slot.mix_up[l]);
      p[l] = c[l] * plane.p;
      q[l] = c[l] * plane.q;
      constant[l] += c[l] * plane.constant + p[l] * slot.p_constant + q[l] * slot.q_constant;
    }
    scatter(slot.q, q, atoms);
  } else {
    for (std::size_t l = 0; l < kLanes; ++l) {
      p[l] = c[l] * (c[l] > 0 ? slot.low_slope[l] : slot.up_slope[l]);
      constant[l] += c[l] * (c[l] > 0 ? slot.low_icpt[l] : slot.up_icpt[l]) + p[l] * slot.p_constant;
    }
  }
  scatter(slot.p, p, atoms);
}

ASSAY_SEARCH_CLONES void lane_forward(const LaneSlot& slot, const double* __restrict c, const double* __restrict atoms,
                                      double* __restrict z, double* __restrict mix_gradient) {
  double p[kLanes], q[kLanes];
  for (std::size_t l = 0; l < kLanes; ++l) {
    p[l] = slot.p_constant;
    q[l] = slot.q_constant;
  }
  gather(slot.p, atoms, p);
  if (slot.is_product) {
    gather(slot.q, atoms, q);
    for (std::size_t l = 0; l < kLanes; ++l) {
      const Mixed all = mixed(slot, l, c[l], 1), none = mixed(slot, l, c[l], 0);
      const double at_all = all.p * p[l] + all.q * q[l] + all.constant, at_none = none.p * p[l] + none.q * q[l] + none.constant;
      const double mix = c[l] > 0 ? slot.mix_low[l] : slot.mix_up[l];
      z[l] = mix * at_all + (1 - mix) * at_none;
      mix_gradient[l] = c[l] * (at_all - at_none);
    }
  } else {
    for (std::size_t l = 0; l < kLanes; ++l)
      z[l] = c[l] > 0 ? slot.low_slope[l] * p[l] + slot.low_icpt[l] : slot.up_slope[l] * p[l] + slot.up_icpt[l];
  }
}

ASSAY_SEARCH_CLONES void lane_minimum(std::size_t inputs, const double* __restrict form, const double* __restrict lo,
                                      const double* __restrict hi, double* __restrict value, double* __restrict x) {
  for (std::size_t i = 0; i < inputs * kLanes; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      x[i + l] = form[i + l] < 0 ? hi[i + l] : lo[i + l];
      value[l] += form[i + l] * x[i + l];
    }
  }
}

ASSAY_SEARCH_CLONES void lane_evaluate(std::span<const ScalarEntry> entries, const double* __restrict z, double* __restrict sum) {
  gather(entries, z, sum);
}

ASSAY_SEARCH_CLONES void lane_range(std::span<const ScalarEntry> entries, double constant, const double* __restrict z_lo,
                                    const double* __restrict z_hi, double* __restrict lo, double* __restrict hi) {
  for (std::size_t l = 0; l < kLanes; ++l) lo[l] = hi[l] = constant;
  for (const ScalarEntry& entry : entries) {
    const double value = entry.value;
    const double* __restrict below = (value > 0 ? z_lo : z_hi) + entry.atom * kLanes;
    const double* __restrict above = (value > 0 ? z_hi : z_lo) + entry.atom * kLanes;
    for (std::size_t l = 0; l < kLanes; ++l) {
      lo[l] += value * below[l];
      hi[l] += value * above[l];
    }
  }
}

ASSAY_SEARCH_CLONES void lane_round(std::size_t count, const double* __restrict mixes, double* __restrict rounded) {
  for (std::size_t i = 0; i < count * kLanes; ++i) rounded[i] = static_cast<double>(static_cast<int>(mixes[i] * 128 + 0.5)) / 128;
}

ASSAY_SEARCH_CLONES void lane_ascend(std::size_t count, double rate, const double* __restrict gradient, const LaneMoments& moments) {
  constexpr double kFirst = 0.8, kSecond = 0.9, kTiny = 1e-12;
  double* __restrict latent = moments.latent;
  double* __restrict first = moments.first;
  double* __restrict second = moments.second;
  for (std::size_t i = 0; i < count * kLanes; ++i) {
    first[i] = kFirst * first[i] + (1 - kFirst) * gradient[i];
    second[i] = kSecond * second[i] + (1 - kSecond) * gradient[i] * gradient[i];
    const double moved = latent[i] + rate * first[i] / (std::sqrt(second[i]) + kTiny);
    latent[i] = moved > 0 ? (moved < 1 ? moved : 1) : 0;  // 0 also where infinite boxes leave no number
  }
}

}  // namespace assay::search
