// LinearMap: dense, convolution and sparse maps.

#include "kernel/proof/loops/linear_map.h"

#include <algorithm>
#include <cmath>

#include "kernel/proof/back_substitution/grid.h"
#include "kernel/proof/loops/row_pass.h"
#include "semantics/interrupt.h"

namespace assay::kernel {
namespace {

class DenseMap final : public LinearMap {
 public:
  DenseMap(std::size_t outer, std::size_t m, std::size_t n, std::size_t inner, const std::vector<double>& w)
      : LinearMap(outer * m * inner, outer * n * inner), outer_(outer), m_(m), n_(n), inner_(inner), w_(m, n) {
    fan_in_ = std::max<std::size_t>(n, 1);
    fan_out_ = std::max<std::size_t>(m, 1);
    for (std::size_t i = 0; i < m; ++i) std::copy_n(w.data() + i * n, n, w_.row(i));
  }
  void apply(std::size_t batch, const double* x, double* y) const override {
    by_slices(batch, x, y, n_, m_,
              [&](std::size_t rows, const double* from, double* to) { accumulate_dots(rows, m_, n_, from, w_, false, to); });
  }
  void apply_magnitude(const double* x, double* y) const override {
    by_slices(1, x, y, n_, m_,
              [&](std::size_t rows, const double* from, double* to) { accumulate_dots(rows, m_, n_, from, w_, true, to); });
  }
  void transpose(std::size_t batch, const double* a, double* out) const override {
    by_slices(batch, a, out, m_, n_, [&](std::size_t rows, const double* from, double* to) {
      accumulate_product({rows, m_, n_, m_, n_}, from, w_, 0, to);
    });
  }
  void apply_pattern(const double* x, double* y) const override {
    by_slices(1, x, y, n_, m_, [&](std::size_t rows, const double* from, double* to) {
      for (std::size_t r = 0; r < rows; ++r) {
        double sum = 0;
        for (std::size_t j = 0; j < n_; ++j) sum += from[r * n_ + j];
        for (std::size_t i = 0; i < m_; ++i) to[r * m_ + i] += sum;
      }
    });
  }
  IntegerEntries integer_entries(int bits) const override {
    std::vector<double> entries;
    for (std::size_t i = 0; i < m_; ++i) entries.insert(entries.end(), w_.row(i), w_.row(i) + n_);
    return integer_grid(entries, bits);
  }
  void transpose(const IntegerEntries& entries, std::size_t batch, const std::int64_t* a, Int128* out) const override {
    by_slices(batch, a, out, m_, n_, [&](std::size_t rows, const std::int64_t* from, Int128* to) {
      accumulate_product({rows, m_, n_, m_, n_}, from, entries.mantissas.data(), n_, to);
    });
  }
  std::size_t cost() const override { return outer_ * m_ * n_ * inner_; }

 private:
  // product(rows, from, to) for from as [rows, from_extent] and to as [rows, to_extent]: one slice of the inner axis at a time.
  template <class From, class To, class Product>
  void by_slices(std::size_t batch, const From* from, To* to, std::size_t from_extent, std::size_t to_extent,
                 const Product& product) const {
    if (inner_ == 1) return product(batch * outer_, from, to);
    std::vector<From> rows(batch * outer_ * from_extent);
    std::vector<To> result(batch * outer_ * to_extent);
    for (std::size_t i = 0; i < inner_; ++i) {
      for (std::size_t r = 0; r < rows.size(); ++r) rows[r] = from[r * inner_ + i];
      for (std::size_t r = 0; r < result.size(); ++r) result[r] = to[r * inner_ + i];
      product(batch * outer_, rows.data(), result.data());
      for (std::size_t r = 0; r < result.size(); ++r) to[r * inner_ + i] = result[r];
    }
  }
  std::size_t outer_, m_, n_, inner_;
  PaddedMatrix w_;  // [m, n]
};

class ConvMap final : public LinearMap {
 public:
  ConvMap(ConvShape shape, const std::vector<double>& w)
      : LinearMap(shape.tensor_batch * shape.result_channels * shape.result_positions,
                  shape.tensor_batch * shape.operand_channels * shape.operand_positions),
        s_(std::move(shape)),
        w_(s_.kernel_positions * s_.operand_channels, result_group()),
        transposed_(s_.kernel_positions * s_.result_channels, operand_group()) {
    const std::size_t in = operand_group(), out = result_group();
    for (std::size_t block = 0; block < s_.kernel_positions * s_.groups; ++block) {
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t o = 0; o < out; ++o)
          w_.row(block * in + i)[o] = transposed_.row(block * out + o)[i] = w[(block * in + i) * out + o];
      }
    }
    std::vector<std::size_t> per_result(s_.result_positions, 0), per_operand(s_.operand_positions, 0);
    for (const ConvTap& tap : s_.taps) {
      fan_in_ = std::max(fan_in_, ++per_result[tap.result] * in);
      fan_out_ = std::max(fan_out_, ++per_operand[tap.operand] * out);
    }
  }
  void apply(std::size_t batch, const double* x, double* y) const override { product<false>(batch, x, w_, y); }
  void transpose(std::size_t batch, const double* a, double* out) const override { product<true>(batch, a, transposed_, out); }
  void apply_magnitude(const double* x, double* y) const override {
    PaddedMatrix magnitudes = w_;
    for (double& w : magnitudes.values()) w = std::fabs(w);
    product<false>(1, x, magnitudes, y);
  }
  void apply_pattern(const double* x, double* y) const override {
    PaddedMatrix ones = w_;
    for (double& w : ones.values()) w = 1;
    product<false>(1, x, ones, y);
  }
  IntegerEntries integer_entries(int bits) const override {
    std::vector<double> entries;
    for (std::size_t i = 0; i < s_.kernel_positions * s_.result_channels; ++i) {
      entries.insert(entries.end(), transposed_.row(i), transposed_.row(i) + operand_group());
    }
    return integer_grid(entries, bits);
  }
  void transpose(const IntegerEntries& entries, std::size_t batch, const std::int64_t* a, Int128* out) const override {
    product<true>(batch, a, entries.mantissas, out);
  }
  std::size_t cost() const override { return s_.tensor_batch * s_.taps.size() * s_.groups * operand_group() * result_group(); }

 private:
  [[nodiscard]] std::size_t operand_group() const { return s_.operand_channels / s_.groups; }
  [[nodiscard]] std::size_t result_group() const { return s_.result_channels / s_.groups; }

  // [channel, position] <-> [position, channel], so that the channels of one position are contiguous.
  template <class T>
  static void swap_axes(const T* from, T* to, std::size_t major, std::size_t minor) {
    for (std::size_t i = 0; i < major; ++i) {
      for (std::size_t j = 0; j < minor; ++j) to[j * major + i] = from[i * minor + j];
    }
  }

  static void multiply(const BlockShape& s, const double* from, const PaddedMatrix& w, std::size_t first, double* to) {
    accumulate_product(s, from, w, first, to);
  }
  static void multiply(const BlockShape& s, const std::int64_t* from, const std::vector<std::int64_t>& w, std::size_t first, Int128* to) {
    accumulate_product(s, from, w.data() + first * s.columns, s.columns, to);
  }

  // Both directions: to[position', channel'] += sum over taps of from[position, channel] w[k][g][channel][channel'].
  template <bool kTransposed, class From, class To, class Weights>
  void product(std::size_t batch, const From* from, const Weights& w, To* to) const {
    const std::size_t from_channels = kTransposed ? s_.result_channels : s_.operand_channels;
    const std::size_t to_channels = kTransposed ? s_.operand_channels : s_.result_channels;
    const std::size_t from_positions = kTransposed ? s_.result_positions : s_.operand_positions;
    const std::size_t to_positions = kTransposed ? s_.operand_positions : s_.result_positions;
    const std::size_t from_group = from_channels / s_.groups, to_group = to_channels / s_.groups;
    const std::size_t from_size = from_channels * from_positions, to_size = to_channels * to_positions;
    constexpr std::size_t kTile = 8;  // rows that share one pass over the taps
    const std::size_t total = batch * s_.tensor_batch;
    std::vector<From> source(kTile * from_size);
    std::vector<To> result(kTile * to_size);
    for (std::size_t first = 0; first < total; first += kTile) {
      const std::size_t rows = std::min(kTile, total - first);
      for (std::size_t b = 0; b < rows; ++b) {
        swap_axes(from + (first + b) * from_size, source.data() + b * from_size, from_channels, from_positions);
        swap_axes(to + (first + b) * to_size, result.data() + b * to_size, to_channels, to_positions);
      }
      for (const ConvTap& tap : s_.taps) {
        const std::size_t p = kTransposed ? tap.result : tap.operand, q = kTransposed ? tap.operand : tap.result;
        for (std::size_t g = 0; g < s_.groups; ++g) {
          multiply({rows, from_group, to_group, from_size, to_size}, source.data() + p * from_channels + g * from_group, w,
                   (tap.kernel * s_.groups + g) * from_group, result.data() + q * to_channels + g * to_group);
        }
      }
      for (std::size_t b = 0; b < rows; ++b) swap_axes(result.data() + b * to_size, to + (first + b) * to_size, to_positions, to_channels);
    }
  }
  ConvShape s_;
  PaddedMatrix w_, transposed_;  // [kernel position, operand channel; result channel of the group], and the other way round
};

class SparseMap final : public LinearMap {
 public:
  SparseMap(std::size_t rows, std::size_t columns, std::vector<SparseEntry> entries)
      : LinearMap(rows, columns), entries_(std::move(entries)) {
    std::sort(entries_.begin(), entries_.end(),
              [](const SparseEntry& a, const SparseEntry& b) { return a.row != b.row ? a.row < b.row : a.column < b.column; });
    std::vector<std::size_t> per_row(rows, 0), per_column(columns, 0);
    identity_ = rows == columns && entries_.size() == rows;
    for (std::size_t k = 0; identity_ && k < rows; ++k)
      identity_ = entries_[k].row == k && entries_[k].column == k && entries_[k].value == 1;
    for (const SparseEntry& e : entries_) {
      fan_in_ = std::max(fan_in_, ++per_row[e.row]);
      fan_out_ = std::max(fan_out_, ++per_column[e.column]);
    }
  }
  void apply(std::size_t batch, const double* x, double* y) const override {
    for (std::size_t b = 0; b < batch; ++b) {
      poll(entries_.size());
      for (const SparseEntry& e : entries_) y[b * rows_ + e.row] += e.value * x[b * columns_ + e.column];
    }
  }
  void transpose(std::size_t batch, const double* a, double* out) const override {
    for (std::size_t b = 0; b < batch; ++b) {
      poll(entries_.size());
      for (const SparseEntry& e : entries_) out[b * columns_ + e.column] += e.value * a[b * rows_ + e.row];
    }
  }
  void apply_magnitude(const double* x, double* y) const override {
    for (const SparseEntry& e : entries_) y[e.row] += std::fabs(e.value) * x[e.column];
  }
  void apply_pattern(const double* x, double* y) const override {
    for (const SparseEntry& e : entries_) y[e.row] += x[e.column];
  }
  IntegerEntries integer_entries(int bits) const override {
    std::vector<double> values;
    values.reserve(entries_.size());
    for (const SparseEntry& e : entries_) values.push_back(e.value);
    return integer_grid(values, bits);
  }
  void transpose(const IntegerEntries& entries, std::size_t batch, const std::int64_t* a, Int128* out) const override {
    for (std::size_t b = 0; b < batch; ++b) {
      poll(entries_.size());
      for (std::size_t k = 0; k < entries_.size(); ++k) {
        out[b * columns_ + entries_[k].column] += static_cast<Int128>(a[b * rows_ + entries_[k].row]) * entries.mantissas[k];
      }
    }
  }
  bool is_identity() const override { return identity_; }
  std::size_t cost() const override { return entries_.size(); }

 private:
  std::vector<SparseEntry> entries_;
  bool identity_;
};

}  // namespace

std::shared_ptr<const LinearMap> dense_map(std::size_t outer, std::size_t rows, std::size_t columns, std::size_t inner,
                                           const std::vector<double>& w) {
  return std::make_shared<DenseMap>(outer, rows, columns, inner, w);
}

std::shared_ptr<const LinearMap> conv_map(ConvShape shape, const std::vector<double>& w) {
  return std::make_shared<ConvMap>(std::move(shape), w);
}

std::shared_ptr<const LinearMap> sparse_map(std::size_t rows, std::size_t columns, std::vector<SparseEntry> entries) {
  return std::make_shared<SparseMap>(rows, columns, std::move(entries));
}

}  // namespace assay::kernel
