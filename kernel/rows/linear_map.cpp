// LinearMap: dense, convolution and sparse maps.

#include "kernel/rows/linear_map.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <span>
#include <utility>

#include "kernel/exact/grid.h"
#include "kernel/rows/block.h"
#include "kernel/rows/lanes.h"
#include "kernel/rows/row_pass.h"
#include "semantics/interrupt.h"

namespace assay::rows {
namespace {

// Writes the places of the elements that are not 0 to `places`; returns their number.
std::size_t list_used(std::size_t n, const double* a, std::uint32_t* places) {
  std::size_t count = 0;
  for (std::size_t group = 0; group < n; group += kLanes) {
    const std::size_t end = std::min(group + kLanes, n);
    std::uint64_t bits = 0;
    // Without the sign, since -0 counts as 0.
    for (std::size_t i = group; i < end; ++i) bits |= std::bit_cast<std::uint64_t>(a[i]) << 1;
    for (std::size_t i = group; bits != 0 && i < end; ++i) {
      places[count] = static_cast<std::uint32_t>(i);
      count += a[i] != 0 ? 1 : 0;
    }
  }
  return count;
}

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
      accumulate_product({rows, m_, m_, n_}, from, w_, n_, to);
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
    return exact::integer_grid(entries, bits);
  }
  void transpose(const IntegerEntries& entries, std::size_t batch, const std::int64_t* a, Int128* out) const override {
    by_slices(batch, a, out, m_, n_, [&](std::size_t rows, const std::int64_t* from, Int128* to) {
      accumulate_product({rows, m_, m_, n_}, from, entries.mantissas.data(), n_, {0, n_, 0}, to);
    });
  }
  std::size_t cost() const override { return outer_ * m_ * n_ * inner_; }

 private:
  // Calls product(rows, from, to) for one slice of the inner axis at a time, with from as [rows, from_extent] and to as
  // [rows, to_extent].
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
        taps_(s_.taps.size()),
        w_(s_.kernel_positions * s_.operand_channels, result_group()),
        transposed_(s_.result_channels, s_.kernel_positions * operand_group()),
        first_(s_.result_positions + 1, 0),
        results_(s_.result_positions),
        operands_(s_.operand_positions) {
    const std::size_t in = operand_group(), out = result_group();
    for (std::size_t block = 0; block < s_.kernel_positions * s_.groups; ++block) {
      const std::size_t k = block / s_.groups, g = block % s_.groups;
      for (std::size_t i = 0; i < in; ++i) {
        for (std::size_t o = 0; o < out; ++o)
          w_.row(block * in + i)[o] = transposed_.row(g * out + o)[k * in + i] = w[(block * in + i) * out + o];
      }
    }
    std::vector<std::size_t> per_result(s_.result_positions, 0), per_operand(s_.operand_positions, 0);
    std::ranges::stable_sort(s_.taps, {}, &ConvTap::result);
    for (const ConvTap& tap : std::exchange(s_.taps, {})) {
      fan_in_ = std::max(fan_in_, ++per_result[tap.result] * in);
      fan_out_ = std::max(fan_out_, ++per_operand[tap.operand] * out);
      const bool joins = s_.groups == 1 && per_result[tap.result] > 1 && strips_.back().operand + strips_.back().count == tap.operand &&
                         strips_.back().kernel + strips_.back().count == tap.kernel;
      if (!joins) strips_.push_back({tap.operand, tap.kernel, 0});
      ++strips_.back().count;
      first_[tap.result + 1] = strips_.size();
    }
    // Positions without taps.
    for (std::size_t p = 0; p < s_.result_positions; ++p) first_[p + 1] = std::max(first_[p], first_[p + 1]);
    results_.meet_all();
    operands_.meet_all();
  }
  void apply(std::size_t batch, const double* x, double* y) const override { forward(batch, x, w_, y); }
  void transpose(std::size_t batch, const double* a, double* out) const override { backward(batch, a, transposed_, out); }
  std::size_t transpose_block(std::size_t batch, const Block& a, Block& out) const override {
    if (s_.tensor_batch != 1 || (!a.elements && batch < kTile)) return LinearMap::transpose_block(batch, a, out);
    Places from(s_.result_positions), to(s_.operand_positions);
    for (std::size_t k = 0; k < a.count(rows_); ++k) from.meet(a.element(k) % static_cast<std::uint32_t>(s_.result_positions));
    const Elements order = side_by_side(from, s_.result_channels, s_.result_positions);
    const Block ordered = same_order(a.elements, order) ? Block{} : spread(batch, a, order, rows_);
    const double* source = (ordered.elements ? ordered : a).values.data();
    std::vector<bool> reached(s_.operand_positions, false);
    for (const std::uint32_t p : from.met()) {
      for (const Strip& strip : strips(p)) std::fill_n(reached.begin() + strip.operand, strip.count, true);
    }
    // Ascending, so that the positions of a strip stay side by side.
    for (std::uint32_t q = 0; q < s_.operand_positions; ++q) {
      if (reached[q]) to.meet(q);
    }
    out.elements = side_by_side(to, s_.operand_channels, s_.operand_positions);
    out.values.assign(batch * out.elements->size(), 0.0);
    for (std::size_t b = 0; b < batch; b += kTile)
      backward(std::min(kTile, batch - b), from, to, source + b * order->size(), transposed_, out.values.data() + b * out.elements->size());
    return order->size() * fan_in_ + out.elements->size();
  }
  void apply_magnitude(const double* x, double* y) const override {
    PaddedMatrix magnitudes = w_;
    for (double& w : magnitudes.values()) w = std::fabs(w);
    forward(1, x, magnitudes, y);
  }
  void apply_pattern(const double* x, double* y) const override {
    PaddedMatrix ones = w_;
    for (double& w : ones.values()) w = 1;
    forward(1, x, ones, y);
  }
  IntegerEntries integer_entries(int bits) const override {
    std::vector<double> entries;
    for (std::size_t o = 0; o < s_.result_channels; ++o)
      entries.insert(entries.end(), transposed_.row(o), transposed_.row(o) + s_.kernel_positions * operand_group());
    return exact::integer_grid(entries, bits);
  }
  void transpose(const IntegerEntries& entries, std::size_t batch, const std::int64_t* a, Int128* out) const override {
    backward(batch, a, entries.mantissas, out);
  }
  std::size_t cost() const override { return s_.tensor_batch * taps_ * s_.groups * operand_group() * result_group(); }

 private:
  static constexpr std::size_t kTile = 8;  // rows that share one pass over the taps

  // Taps of one result position whose operand and kernel positions are consecutive. With channels side by side, their
  // weights are one block.
  struct Strip {
    std::uint32_t operand, kernel, count;
  };
  [[nodiscard]] std::span<const Strip> strips(std::size_t result) const {
    return std::span(strips_).subspan(first_[result], first_[result + 1] - first_[result]);
  }
  [[nodiscard]] std::size_t operand_group() const { return s_.operand_channels / s_.groups; }
  [[nodiscard]] std::size_t result_group() const { return s_.result_channels / s_.groups; }

  // The elements of all channels at each position, position by position.
  static Elements side_by_side(const Places& at, std::size_t channels, std::size_t positions) {
    std::vector<std::uint32_t> elements;
    for (const std::uint32_t position : at.met()) {
      for (std::size_t c = 0; c < channels; ++c) elements.push_back(static_cast<std::uint32_t>(c * positions + position));
    }
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(elements));
  }
  // [channel, position] <-> [position, channel], so that the channels of one position are contiguous.
  template <class T>
  static void swap_axes(const T* from, T* to, std::size_t major, std::size_t minor) {
    for (std::size_t i = 0; i < major; ++i) {
      for (std::size_t j = 0; j < minor; ++j) to[j * major + i] = from[i * minor + j];
    }
  }
  // Calls product(rows, from, to) with the channels of each position side by side, some rows at a time. The number of
  // channels may be 0.
  template <class From, class To, class Product>
  void by_tiles(std::size_t batch, std::size_t from_channels, std::size_t from_positions, const From* from, std::size_t to_channels,
                std::size_t to_positions, To* to, const Product& product) const {
    const std::size_t total = batch * s_.tensor_batch, from_size = from_channels * from_positions, to_size = to_channels * to_positions;
    std::vector<From> source(std::min(kTile, total) * from_size);
    std::vector<To> result(std::min(kTile, total) * to_size);
    for (std::size_t first = 0; first < total; first += kTile) {
      const std::size_t rows = std::min(kTile, total - first);
      for (std::size_t b = 0; b < rows; ++b) {
        swap_axes(from + (first + b) * from_size, source.data() + b * from_size, from_channels, from_positions);
        swap_axes(to + (first + b) * to_size, result.data() + b * to_size, to_channels, to_positions);
      }
      product(rows, source.data(), result.data());
      for (std::size_t b = 0; b < rows; ++b) swap_axes(result.data() + b * to_size, to + (first + b) * to_size, to_positions, to_channels);
    }
  }

  void forward(std::size_t batch, const double* x, const PaddedMatrix& w, double* y) const {
    const std::size_t from_size = s_.operand_channels * s_.operand_positions, to_size = s_.result_channels * s_.result_positions;
    const std::size_t in = operand_group(), out = result_group();
    const auto product = [&](std::size_t rows, const double* from, double* to) {
      for (std::size_t p = 0; p < s_.result_positions; ++p) {
        for (const Strip& strip : strips(p)) {
          for (std::size_t g = 0; g < s_.groups; ++g) {
            const Run run{0, out, p * s_.result_channels + g * out};
            accumulate_product({rows, strip.count * in, from_size, to_size}, from + strip.operand * s_.operand_channels + g * in, w,
                               (strip.kernel * s_.groups + g) * in, {&run, 1}, to);
          }
        }
      }
    };
    by_tiles(batch, s_.operand_channels, s_.operand_positions, x, s_.result_channels, s_.result_positions, y, product);
  }

  template <class From, class To, class Weights>
  void backward(std::size_t batch, const From* a, const Weights& w, To* out) const {
    by_tiles(batch, s_.result_channels, s_.result_positions, a, s_.operand_channels, s_.operand_positions, out,
             [&](std::size_t rows, const From* from, To* to) { backward(rows, results_, operands_, from, w, to); });
  }
  // From rows that hold the result positions of `from` to rows that hold the operand positions of `to`.
  template <class From, class To, class Weights>
  void backward(std::size_t rows, const Places& from, const Places& to, const From* a, const Weights& w, To* out) const {
    const std::size_t from_size = from.met().size() * s_.result_channels, to_size = to.met().size() * s_.operand_channels;
    const std::size_t in = operand_group(), group = result_group();
    std::vector<Run> runs;
    for (const std::uint32_t p : from.met()) {
      for (std::size_t g = 0; g < s_.groups; ++g, a += group) {
        runs.clear();
        for (const Strip& strip : strips(p))
          runs.push_back({strip.kernel * in, strip.count * in, to[strip.operand] * s_.operand_channels + g * in});
        multiply({rows, group, from_size, to_size}, a, w, g * group, runs, out);
      }
    }
  }
  using Runs = std::span<const Run>;
  void multiply(const BlockShape& s, const double* a, const PaddedMatrix& w, std::size_t first, Runs runs, double* out) const {
    accumulate_product(s, a, w, first, runs, out);
  }
  void multiply(const BlockShape& s, const std::int64_t* a, const std::vector<std::int64_t>& w, std::size_t first, Runs runs,
                Int128* out) const {
    const std::size_t stride = s_.kernel_positions * operand_group();
    for (const Run& run : runs) accumulate_product(s, a, w.data() + first * stride, stride, run, out);
  }

  ConvShape s_;
  std::size_t taps_;
  PaddedMatrix w_;                  // [kernel position, operand channel; result channel of the group]
  PaddedMatrix transposed_;         // [result channel; kernel position, operand channel of the group]
  std::vector<Strip> strips_;       // by result position
  std::vector<std::size_t> first_;  // index of the first strip of each result position, then the number of strips
  Places results_, operands_;       // all positions, in order
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
    if (rows > kLanes * entries_.size() || entries_.size() > 0xffffffff) return;
    start_.assign(rows + 1, 0);
    for (std::size_t row = 0; row < rows; ++row) start_[row + 1] = start_[row] + static_cast<std::uint32_t>(per_row[row]);
  }
  void apply(std::size_t batch, const double* x, double* y) const override {
    for (std::size_t b = 0; b < batch; ++b) {
      poll(entries_.size());
      for (const SparseEntry& e : entries_) y[b * rows_ + e.row] += e.value * x[b * columns_ + e.column];
    }
  }
  // If the first row's coefficients are mostly 0, zero coefficients are skipped: entries are finite, so their products
  // are exactly 0.
  void transpose(std::size_t batch, const double* a, double* out) const override {
    // A list is not worth while for fewer rows.
    std::vector<std::uint32_t> used(batch > 0 && rows_ >= 4 * kLanes && !start_.empty() ? rows_ : 0);
    std::size_t count = used.empty() ? rows_ : list_used(rows_, a, used.data());
    const bool all = used.empty() || 4 * count > rows_;
    for (std::size_t b = 0; b < batch; ++b, a += rows_, out += columns_) {
      poll(entries_.size() + rows_ / kLanes);
      if (all) {
        for (const SparseEntry& e : entries_) out[e.column] += e.value * a[e.row];
        continue;
      }
      if (b > 0) count = list_used(rows_, a, used.data());
      for (const std::uint32_t row : std::span(used.data(), count))
        for (std::size_t k = first(row); k < last(row); ++k) out[entries_[k].column] += entries_[k].value * a[row];
    }
  }
  std::size_t transpose_block(std::size_t batch, const Block& a, Block& out) const override {
    return a.elements ? carry(batch, a, rows_, *this, columns_, out) : LinearMap::transpose_block(batch, a, out);
  }
  // The interface that carry() expects. A map with few entries for its rows searches them instead of storing an index,
  // because each of many maps into one node has to stay as small as its entries.
  [[nodiscard]] std::size_t first(std::size_t row) const {
    if (!start_.empty()) return start_[row];
    return static_cast<std::size_t>(std::ranges::lower_bound(entries_, row, {}, &SparseEntry::row) - entries_.begin());
  }
  [[nodiscard]] std::size_t last(std::size_t row) const { return first(row + 1); }
  [[nodiscard]] std::size_t element(std::size_t k) const { return entries_[k].column; }
  [[nodiscard]] double factor(std::size_t k, bool) const { return entries_[k].value; }
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
    return exact::integer_grid(values, bits);
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
  // Includes writing and reading a row's zeros.
  std::size_t cost() const override { return entries_.size() + (rows_ + columns_) / kLanes; }

 private:
  std::vector<SparseEntry> entries_;
  std::vector<std::uint32_t> start_;  // of the first entry of each row, then the number of entries; empty: few entries
  bool identity_;
};

}  // namespace

std::size_t LinearMap::transpose_block(std::size_t batch, const Block& a, Block& out) const {
  out.elements = nullptr;
  out.values.assign(batch * columns_, 0.0);
  const Block all = a.elements ? spread(batch, a, nullptr, rows_) : Block{};
  transpose(batch, (a.elements ? all : a).values.data(), out.values.data());
  return cost() + (a.elements ? rows_ : 0);
}

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

}  // namespace assay::rows
