// Sums of products by rows and columns, in lanes of floats.

#include "kernel/quick/quick_block.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "kernel/rows/lanes.h"

namespace assay::quick {

namespace {

using FloatLanes = float __attribute__((vector_size(64), may_alias));
using HalfLanes = float __attribute__((vector_size(32), may_alias));
using BitLanes = std::uint32_t __attribute__((vector_size(64)));
using DoubleLanes = double __attribute__((vector_size(64), may_alias));

// 2^q for a normal number that is an odd multiple of 2^q; 0 for other numbers, whose grain is at most kLeastGrain.
constexpr float kLeastGrain = 0x1p-126F;
ASSAY_INLINE inline float grain_of(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t significand = (bits & 0x7fffff) | 0x800000;
  const auto lowest = static_cast<float>(static_cast<std::int32_t>(significand & (0U - significand)));
  return lowest * (std::bit_cast<float>(bits & 0x7f800000) * 0x1p-23F);
}

ASSAY_TARGETS Profile profile_of(const float* row, std::size_t count) {
  // Positive floats have the same order as their bits.
  std::uint32_t zeros = 0, grain = std::bit_cast<std::uint32_t>(kLeastGrain);
  for (std::size_t i = 0; i < count; ++i) {
    zeros += std::bit_cast<std::uint32_t>(row[i]) << 1 == 0 ? 1 : 0;
    const auto own = std::bit_cast<std::uint32_t>(grain_of(row[i]));
    grain = own > grain ? own : grain;
  }
  return {count - zeros, std::bit_cast<float>(grain)};
}

ASSAY_TARGETS void profile_panel(const float* panel, std::size_t inner, double* nonzero, double* grain) {
  std::uint32_t counts[Columns::kPanel] = {}, grains[Columns::kPanel] = {};
  for (std::size_t i = 0; i < inner; ++i) {
    for (std::size_t j = 0; j < Columns::kPanel; ++j) {
      const float value = panel[i * Columns::kPanel + j];
      counts[j] += std::bit_cast<std::uint32_t>(value) << 1 != 0 ? 1 : 0;
      const auto own = std::bit_cast<std::uint32_t>(grain_of(value));
      grains[j] = own > grains[j] ? own : grains[j];
    }
  }
  for (std::size_t j = 0; j < Columns::kPanel; ++j) {
    nonzero[j] = static_cast<double>(counts[j]);
    grain[j] = static_cast<double>(std::max(std::bit_cast<float>(grains[j]), kLeastGrain));
  }
}

// Adds the terms of kRows rows and one panel. `chunk` rounded products at a time are added in float, and these sums in
// double; the magnitudes of the products are added in float.
template <std::size_t kRows>
ASSAY_INLINE inline void sum_tile(const float* a, std::size_t stride, std::size_t terms, std::size_t chunk, const float* panel,
                                  double* sums, float* sizes, std::size_t out_stride) {
  DoubleLanes low[kRows], high[kRows];
  FloatLanes size[kRows];
  for (std::size_t r = 0; r < kRows; ++r) {
    low[r] = *reinterpret_cast<const DoubleLanes*>(sums + r * out_stride);
    high[r] = *reinterpret_cast<const DoubleLanes*>(sums + r * out_stride + 8);
    size[r] = *reinterpret_cast<const FloatLanes*>(sizes + r * out_stride);
  }
  for (std::size_t first = 0; first < terms; first += chunk) {
    const std::size_t last = std::min(terms, first + chunk);
    FloatLanes part[kRows] = {};
    for (std::size_t i = first; i < last; ++i) {
      const FloatLanes w = *reinterpret_cast<const FloatLanes*>(panel + i * Columns::kPanel);
      for (std::size_t r = 0; r < kRows; ++r) {
        const FloatLanes term = a[r * stride + i] * w;
        part[r] += term;
        size[r] += (FloatLanes)((BitLanes)term & 0x7fffffffU);
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      const auto* halves = reinterpret_cast<const HalfLanes*>(&part[r]);
      low[r] += __builtin_convertvector(halves[0], DoubleLanes);
      high[r] += __builtin_convertvector(halves[1], DoubleLanes);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    *reinterpret_cast<DoubleLanes*>(sums + r * out_stride) = low[r];
    *reinterpret_cast<DoubleLanes*>(sums + r * out_stride + 8) = high[r];
    *reinterpret_cast<FloatLanes*>(sizes + r * out_stride) = size[r];
  }
}

struct Block {
  const float* a;
  std::size_t stride, rows, terms, chunk;
};

ASSAY_TARGETS void sum_panel(const Block& block, const float* panel, double* sums, float* sizes, std::size_t out_stride) {
  constexpr std::size_t kTile = 4;
  std::size_t r = 0;
  for (; r + kTile <= block.rows; r += kTile) {
    sum_tile<kTile>(block.a + r * block.stride, block.stride, block.terms, block.chunk, panel, sums + r * out_stride,
                    sizes + r * out_stride, out_stride);
  }
  for (; r < block.rows; ++r) {
    sum_tile<1>(block.a + r * block.stride, block.stride, block.terms, block.chunk, panel, sums + r * out_stride, sizes + r * out_stride,
                out_stride);
  }
}

// Q5 for one element with at least `products` non-zero products and a bias that may be 0. False for NaN.
ASSAY_INLINE inline bool passes(float received, double sum, float size, double bias, double products, double roundings, double grain,
                                double most) {
  const double c = sum + bias, t = (static_cast<double>(size) + std::fabs(bias)) * kShrunkInFloat;
  const double m = products + (bias != 0 ? 1 : 0), k = m < most ? m : most;
  const bool close = std::fabs(static_cast<double>(received) - c) <= (k - roundings - 1) * kU * t;
  return static_cast<int>(close) & static_cast<int>(products >= 1) & static_cast<int>(t > grain * 0x1p25) &
         static_cast<int>(t > kLeastInFloat) & static_cast<int>(t < kMostInFloat);
}

using Row = Dots::Row;

ASSAY_TARGETS std::size_t mark_passing(const Row& row, std::size_t count, std::int64_t* passing) {
  // As wide as a double, like all other operands, so that lanes keep their width.
  std::int64_t found = 0;
  for (std::size_t j = 0; j < count; ++j) {
    const bool fine = passes(row.received[j], row.sums[j], row.sizes[j], row.bias[j], row.products[j], row.roundings,
                             row.own_grain * row.grain[j], row.most);
    passing[j] = fine ? 1 : 0;
    found += fine ? 1 : 0;
  }
  return static_cast<std::size_t>(found);
}

std::size_t words(std::size_t count) { return (count + 63) / 64; }

// For each column, the number of places where both it and the row are not 0.
ASSAY_TARGETS void count_common(const std::uint64_t* row, const std::uint64_t* columns, std::size_t length, std::size_t count,
                                double* common) {
  for (std::size_t j = 0; j < count; ++j) {
    std::size_t places = 0;
    for (std::size_t k = 0; k < length; ++k) places += static_cast<std::size_t>(std::popcount(row[k] & columns[j * length + k]));
    common[j] = static_cast<double>(places);
  }
}

constexpr std::size_t kFew = 16;    // below one in this many, remaining elements are judged one by one
constexpr std::size_t kLong = 256;  // number of terms from which on partial sums may lose more

}  // namespace

Columns::Columns(std::size_t inner, std::size_t count)
    : inner_(inner), count_(count), groups_((count + kPanel - 1) / kPanel * inner), nonzero_(padded()), grain_(padded()) {}

void Columns::finish() {
  for (std::size_t p = 0; p < padded() / kPanel; ++p)
    profile_panel(panel(p), inner_, nonzero_.data() + p * kPanel, grain_.data() + p * kPanel);
}

Dots::Dots(const Columns& columns, std::span<const float> bias, double most)
    : columns_(columns),
      chunk_(columns.inner() < kLong ? 4 : 16),
      most_(most),
      bias_(columns.padded()),
      received_(columns.padded()),
      products_(columns.padded()),
      passing_(columns.padded()) {
  std::copy(bias.begin(), bias.end(), bias_.begin());
}

void Dots::compute(const float* a, std::size_t stride, std::size_t rows) {
  // Terms; a panel's terms, and those of some rows, stay in the first-level cache.
  constexpr std::size_t kMostAtOnce = 512;
  const std::size_t padded = columns_.padded();
  sums_.assign(rows * padded / Columns::kPanel, {});
  sizes_.assign(rows * padded / Columns::kPanel, {});
  for (std::size_t first = 0; first < columns_.inner(); first += kMostAtOnce) {
    const Block block{a + first, stride, rows, std::min(kMostAtOnce, columns_.inner() - first), chunk_};
    for (std::size_t at = 0; at < padded; at += Columns::kPanel) {
      const float* panel = columns_.panel(at / Columns::kPanel) + first * Columns::kPanel;
      sum_panel(block, panel, sums_[0].lane + at, sizes_[0].lane + at, padded);
    }
  }
}

bool Dots::row_passes(const float* a, std::size_t r) {
  const std::size_t inner = columns_.inner(), count = columns_.count(), at = r * columns_.padded();
  const Profile profile = profile_of(a, inner);
  for (std::size_t j = 0; j < count; ++j)
    products_[j] = static_cast<double>(profile.nonzero) + columns_.nonzero()[j] - static_cast<double>(inner);
  const Row row{received_.data(),
                sums_[0].lane + at,
                sizes_[0].lane + at,
                bias_.data(),
                products_.data(),
                columns_.grain().data(),
                static_cast<double>(chunk_),
                static_cast<double>(profile.grain),
                most_};
  const std::size_t passing = mark_passing(row, count, passing_.data());
  if (passing == count) return true;
  if (count - passing > count / kFew) {
    mark_present(a);
    count_common(row_present_.data(), present_.data(), row_present_.size(), count, products_.data());
    if (mark_passing(row, count, passing_.data()) == count) return true;
  }
  left_.clear();
  index_.clear();
  for (std::size_t i = 0; i < inner; ++i) {
    if (a[i] != 0) index_.push_back(static_cast<std::uint32_t>(i));
  }
  for (std::size_t j = 0; j < count; ++j) {
    if (passing_[j] == 0 && !passes_by_a_term(row, a, j) && !passes_in_double(a, j)) left_.push_back(j);
  }
  return left_.empty();
}

// Marks the non-zero numbers of the row, and once those of the columns.
void Dots::mark_present(const float* a) {
  const std::size_t inner = columns_.inner(), length = words(inner);
  row_present_.assign(length, 0);
  for (std::size_t i = 0; i < inner; ++i) row_present_[i / 64] |= std::uint64_t{a[i] != 0 ? 1U : 0U} << i % 64;
  if (!present_.empty()) return;
  present_.resize(columns_.count() * length);
  for (std::size_t i = 0; i < inner; ++i) {
    for (std::size_t j = 0; j < columns_.count(); ++j)
      present_[j * length + i / 64] |= std::uint64_t{columns_.at(i, j) != 0 ? 1U : 0U} << i % 64;
  }
}

// Q5 again, if some term lies on a finer grid than the profiles show.
bool Dots::passes_by_a_term(const Row& row, const float* a, std::size_t j) const {
  constexpr std::size_t kMostTried = 64;
  int q = kNoGrid;
  for (std::size_t k = 0; k < std::min(kMostTried, index_.size()); ++k) {
    const float w = columns_.at(index_[k], j);
    if (w != 0) q = std::min(q, lowest_bit(a[index_[k]]) + lowest_bit(w));
  }
  return q < kMostGrid &&
         passes(row.received[j], row.sums[j], row.sizes[j], row.bias[j], row.products[j], row.roundings, power_of_two(q), row.most);
}

// Q1 to Q3 with every quantity counted exactly.
bool Dots::passes_in_double(const float* a, std::size_t j) const {
  double c = bias_[j], size = std::fabs(c), m = c != 0 ? 1 : 0;
  int q = kNoGrid;
  for (const std::uint32_t i : index_) {
    const float w = columns_.at(i, j);
    if (w == 0) continue;
    const double term = static_cast<double>(a[i]) * static_cast<double>(w);
    c += term;
    size += std::fabs(term);
    m += 1;
    q = std::min(q, lowest_bit(a[i]) + lowest_bit(w));
  }
  const double received = static_cast<double>(received_[j]);
  if (m == 1 && size > kTiny && size < kMostInFloat) return received == static_cast<double>(static_cast<float>(c));
  return within(received, c, size, std::fmin(m, most_), q);
}

}  // namespace assay::quick
