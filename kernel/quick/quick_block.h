// Sums of products of a block of rows with many columns, in float: Q5 of quick_sums.h, and Q1 to Q3 for the remaining
// elements. Private to this folder.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "kernel/quick/quick_sums.h"

namespace assay::quick {

// The facts about the factors of a row or column that Q5 uses. `grain` is a power of two. It is at least the grain of
// every non-zero number, of which the number is an odd multiple.
struct Profile {
  std::size_t nonzero = 0;
  float grain = 0;
};

// As many numbers as a panel has columns, with cache lines of their own.
template <class T>
struct alignas(64) Group {
  T lane[16] = {};
};

// The second factor, in panels of kPanel columns stored row by row, with zeros beyond the last column.
class Columns {
 public:
  static constexpr std::size_t kPanel = 16;
  Columns(std::size_t inner, std::size_t count);
  void set(std::size_t i, std::size_t j, float value) { panel(j / kPanel)[i * kPanel + j % kPanel] = value; }
  void finish();  // to be called after the last set()

  [[nodiscard]] std::size_t inner() const { return inner_; }
  [[nodiscard]] std::size_t count() const { return count_; }
  [[nodiscard]] std::size_t padded() const { return (count_ + kPanel - 1) / kPanel * kPanel; }
  [[nodiscard]] float at(std::size_t i, std::size_t j) const { return panel(j / kPanel)[i * kPanel + j % kPanel]; }
  [[nodiscard]] float* panel(std::size_t p) { return groups_[p * inner_].lane; }
  [[nodiscard]] const float* panel(std::size_t p) const { return groups_[p * inner_].lane; }
  [[nodiscard]] const std::vector<double>& nonzero() const { return nonzero_; }
  [[nodiscard]] const std::vector<double>& grain() const { return grain_; }

 private:
  std::size_t inner_, count_;
  std::vector<Group<float>> groups_;
  std::vector<double> nonzero_, grain_;  // per column, padded
};

class Dots {
 public:
  // One row of a block: the received and the computed values; per column the bias, a lower bound on the number of
  // non-zero products, and the grain.
  struct Row {
    const float* received;
    const double* sums;
    const float* sizes;
    const double *bias, *products, *grain;
    double roundings, own_grain, most;  // K <= most
  };
  Dots(const Columns& columns, std::span<const float> bias, double most);

  // Rows of columns.inner() numbers, `stride` apart. received(r, j) is the run's value as a float. open(r, j) is called
  // for each element that stays open.
  template <class Received, class Open>
  void judge(const float* a, std::size_t stride, std::size_t rows, const Received& received, const Open& open) {
    compute(a, stride, rows);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t j = 0; j < columns_.count(); ++j) received_[j] = received(r, j);
      if (row_passes(a + r * stride, r)) continue;
      for (const std::size_t j : left_) open(r, j);
    }
  }

 private:
  void compute(const float* a, std::size_t stride, std::size_t rows);
  // True if all elements pass; otherwise left_ receives the others.
  bool row_passes(const float* a, std::size_t r);
  void mark_present(const float* a);
  [[nodiscard]] bool passes_by_a_term(const Row& row, const float* a, std::size_t j) const;
  [[nodiscard]] bool passes_in_double(const float* a, std::size_t j) const;

  const Columns& columns_;
  std::size_t chunk_;                // number of products in a partial sum
  double most_;                      // K <= most_
  std::vector<double> bias_;         // padded; zeros if there is no bias
  std::vector<Group<double>> sums_;  // of the block's rows
  std::vector<Group<float>> sizes_;
  std::vector<float> received_;   // for one row, like the next two
  std::vector<double> products_;  // a lower bound on the number of non-zero products
  std::vector<std::int64_t> passing_;
  // Bits that say which numbers of the row, and of all columns, are not 0; computed when needed.
  std::vector<std::uint64_t> row_present_, present_;
  std::vector<std::uint32_t> index_;  // indices of these in the row
  std::vector<std::size_t> left_;
};

}  // namespace assay::quick
