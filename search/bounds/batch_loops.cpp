// The inner loops of BatchBounds, with one body for all instruction sets.
//
// Arrays are [index, lane], so that one instruction treats one index of eight boxes. A product is bounded by a mix of
// its two planes (McCormick 1976), a function by its lines; the sign of the lane's coefficient decides which plane or
// line is taken. The ascent is Adam (Kingma and Ba 2015) with short memories, since it runs for few iterations. Mixes
// are rounded to k / 128, as a certificate holds them.

#include "search/bounds/batch_loops.h"

#include <cmath>

#include "search/relax/instruction_sets.h"

namespace assay::search {
namespace {

// The mix of the two planes below (c > 0) or above p q.
struct Mixed {
  double p, q, constant;
};
ASSAY_SEARCH_INLINE Mixed mixed(const BatchNeuron& neuron, std::size_t l, double c, double mix) {
  const double rest = 1 - mix, q_of_mix = c > 0 ? neuron.q_lo[l] : neuron.q_hi[l], q_of_rest = c > 0 ? neuron.q_hi[l] : neuron.q_lo[l];
  const double p_lo = mix * neuron.p_lo[l], p_hi = rest * neuron.p_hi[l];
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

ASSAY_SEARCH_CLONES void lane_back(const BatchNeuron& neuron, const double* __restrict c, double* __restrict atoms,
                                   double* __restrict constant) {
  double p[kLanes], q[kLanes];
  if (neuron.is_product) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const Mixed plane = mixed(neuron, l, c[l], c[l] > 0 ? neuron.mix_low[l] : neuron.mix_up[l]);
      p[l] = c[l] * plane.p;
      q[l] = c[l] * plane.q;
      constant[l] += c[l] * plane.constant + p[l] * neuron.p_constant + q[l] * neuron.q_constant;
    }
    scatter(neuron.q, q, atoms);
  } else {
    for (std::size_t l = 0; l < kLanes; ++l) {
      p[l] = c[l] * (c[l] > 0 ? neuron.low_slope[l] : neuron.up_slope[l]);
      constant[l] += c[l] * (c[l] > 0 ? neuron.low_icpt[l] : neuron.up_icpt[l]) + p[l] * neuron.p_constant;
    }
  }
  scatter(neuron.p, p, atoms);
}

ASSAY_SEARCH_CLONES void lane_forward(const BatchNeuron& neuron, const double* __restrict c, const double* __restrict atoms,
                                      double* __restrict z, double* __restrict mix_gradient) {
  double p[kLanes], q[kLanes];
  for (std::size_t l = 0; l < kLanes; ++l) {
    p[l] = neuron.p_constant;
    q[l] = neuron.q_constant;
  }
  gather(neuron.p, atoms, p);
  if (neuron.is_product) {
    gather(neuron.q, atoms, q);
    for (std::size_t l = 0; l < kLanes; ++l) {
      const Mixed all = mixed(neuron, l, c[l], 1), none = mixed(neuron, l, c[l], 0);
      const double at_all = all.p * p[l] + all.q * q[l] + all.constant, at_none = none.p * p[l] + none.q * q[l] + none.constant;
      const double mix = c[l] > 0 ? neuron.mix_low[l] : neuron.mix_up[l];
      z[l] = mix * at_all + (1 - mix) * at_none;
      mix_gradient[l] = c[l] * (at_all - at_none);
    }
  } else {
    for (std::size_t l = 0; l < kLanes; ++l)
      z[l] = c[l] > 0 ? neuron.low_slope[l] * p[l] + neuron.low_icpt[l] : neuron.up_slope[l] * p[l] + neuron.up_icpt[l];
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
  // Mixes are between 0 and 1. lround would not become instructions on vectors.
  for (std::size_t i = 0; i < count * kLanes; ++i) {
    rounded[i] = static_cast<double>(static_cast<int>(mixes[i] * 128 + 0.5)) / 128;  // NOLINT(bugprone-incorrect-roundings)
  }
}

ASSAY_SEARCH_CLONES void lane_ascend(std::size_t count, double rate, const double* __restrict gradient, const BatchMoments& moments) {
  constexpr double kFirst = 0.8, kSecond = 0.9, kTiny = 1e-12;
  double* __restrict raw_alpha = moments.raw_alpha;
  double* __restrict first = moments.first;
  double* __restrict second = moments.second;
  for (std::size_t i = 0; i < count * kLanes; ++i) {
    first[i] = kFirst * first[i] + (1 - kFirst) * gradient[i];
    second[i] = kSecond * second[i] + (1 - kSecond) * gradient[i] * gradient[i];
    const double moved = raw_alpha[i] + rate * first[i] / (std::sqrt(second[i]) + kTiny);
    raw_alpha[i] = moved > 0 ? (moved < 1 ? moved : 1) : 0;  // 0 also for NaN, which infinite boxes give
  }
}

}  // namespace assay::search
