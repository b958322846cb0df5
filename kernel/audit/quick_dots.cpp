// Sums of products, in double: matrices and windows. quick_sums.h has the argument.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "kernel/audit/quick_sums.h"
#include "kernel/lanes.h"
#include "kernel/product.h"
#include "semantics/demand.h"

namespace assay::kernel::quick {

namespace {

// ---- products ----

// How many numbers of a factor are not zero, and the place of one of these, best the one with the lowest bit: what Q2 and Q3 need of it.
struct Profile {
  std::size_t nonzero = 0, pivot = 0;
  int least = std::numeric_limits<int>::max();
  void add(std::size_t i, double value) {
    if (value == 0) return;
    ++nonzero;
    const int bit = lowest_bit(static_cast<float>(value));
    if (bit >= least) return;
    least = bit;
    pivot = i;
  }
};

// The second factor.
struct Columns {
  Columns(std::size_t inner, std::size_t columns) : values(inner, columns), profiles(columns) {}
  void set(std::size_t i, std::size_t j, float value) {
    values.row(i)[j] = static_cast<double>(value);
    profiles[j].add(i, static_cast<double>(value));
  }
  PaddedMatrix values;
  std::vector<Profile> profiles;
};

// The columns with f applied to each number.
template <class F>
PaddedMatrix mapped(PaddedMatrix values, const F& f) {
  for (double& value : values.values()) value = f(value);
  return values;
}
double magnitude(double value) { return std::fabs(value); }
double presence(double value) { return value != 0 ? 1 : 0; }

ASSAY_TARGETS std::size_t count_nonzero(const double* row, std::size_t count) {
  std::uint64_t zeros = 0;  // of either sign
  for (std::size_t i = 0; i < count; ++i) zeros += std::bit_cast<std::uint64_t>(row[i]) << 1 == 0 ? 1 : 0;
  return count - zeros;
}

class Dots {
 public:
  Dots(const Columns& w, std::size_t inner, std::size_t columns, std::span<const float> bias)
      : w_(w), inner_(inner), columns_(columns), bias_(bias) {}

  // Rows of `a` times the columns; y(r, j) is what was received, open(r, j) is called for what stays open. Two stages: |c| for T and a
  // lower bound of m; then S and m themselves, as products of magnitudes and of presences.
  template <class Y, class Open>
  void judge(const double* a, std::size_t rows, const Y& y, const Open& open) {
    product(a, rows, w_.values, out_);
    left_.clear();
    for (std::size_t r = 0; r < rows; ++r) {
      const double* row = a + r * inner_;
      Profile profile;
      profile.nonzero = count_nonzero(row, inner_);
      while (profile.pivot + 1 < inner_ && row[profile.pivot] == 0) ++profile.pivot;
      for (std::size_t j = 0; j < columns_; ++j) {
        const double c = out_[r * w_.values.stride() + j] + bias(j), received = y(r, j);
        if (received == c) continue;  // Q1
        const std::size_t together = profile.nonzero + w_.profiles[j].nonzero;
        const double m = static_cast<double>(together > inner_ ? together - inner_ : 0) + presence(bias(j));
        const int q = grid(row, profile, j);
        if (!within(received, c, std::fabs(c), m, q)) left_.push_back({r, j, q});
      }
    }
    if (left_.empty()) return;
    measure(a, rows);
    for (const Left& one : left_) {
      const std::size_t at = one.r * w_.values.stride() + one.j;
      const double c = out_[at] + bias(one.j), size = sizes_[at] + std::fabs(bias(one.j)), m = counts_[at] + presence(bias(one.j));
      if (!within(y(one.r, one.j), c, size, m, one.q)) open(one.r, one.j);
    }
  }

 private:
  struct Left {
    std::size_t r, j;
    int q;
  };

  [[nodiscard]] double bias(std::size_t j) const { return bias_.empty() ? 0 : static_cast<double>(bias_[j]); }

  void product(const double* a, std::size_t rows, const PaddedMatrix& w, std::vector<double>& out) const {
    out.assign(rows * w.stride(), 0);
    accumulate_product({rows, inner_, columns_, inner_, w.stride()}, a, w, 0, out.data());
  }

  // S and m of what is left: all of the block, or element by element if that is little.
  void measure(const double* a, std::size_t rows) {
    constexpr std::size_t kFew = 16;  // one in so many
    if (left_.size() * kFew < rows * columns_) {
      sizes_.resize(out_.size());
      counts_.resize(out_.size());
      for (const Left& one : left_) {
        double size = 0, count = 0;
        for (std::size_t i = 0; i < inner_; ++i) {
          const double term = a[one.r * inner_ + i] * w_.values.row(i)[one.j];
          size += std::fabs(term);
          count += presence(term);  // a product of two float32 numbers does not underflow in double
        }
        sizes_[one.r * w_.values.stride() + one.j] = size;
        counts_[one.r * w_.values.stride() + one.j] = count;
      }
      return;
    }
    if (!sizes_of_) sizes_of_ = mapped(w_.values, magnitude);
    if (!present_) present_ = mapped(w_.values, presence);
    std::vector<double> b(a, a + rows * inner_);
    for (double& value : b) value = magnitude(value);
    product(b.data(), rows, *sizes_of_, sizes_);
    for (double& value : b) value = presence(value);
    product(b.data(), rows, *present_, counts_);
  }

  // For Q3: of the terms at the two pivots the one with the lower bit, or any other; no bound if all are zero.
  [[nodiscard]] int grid(const double* row, const Profile& profile, std::size_t j) const {
    int q = kNoGrid;
    const auto look_at = [&](std::size_t i) {
      const double weight = w_.values.row(i)[j];
      if (row[i] != 0 && weight != 0) q = std::min(q, lowest_bit(static_cast<float>(row[i])) + lowest_bit(static_cast<float>(weight)));
    };
    look_at(profile.pivot);
    look_at(w_.profiles[j].pivot);
    for (std::size_t i = 0; q == kNoGrid && i < inner_; ++i) look_at(i);
    return q;
  }

  const Columns& w_;
  std::size_t inner_, columns_;
  std::span<const float> bias_;
  std::vector<double> out_, sizes_, counts_;
  std::vector<Left> left_;
  std::optional<PaddedMatrix> sizes_of_, present_;
};

// One dot product as a region.
Single dot(std::vector<float> a, std::vector<float> b, std::optional<float> bias) {
  Single single;
  const auto inner = static_cast<std::int64_t>(a.size());
  single.operands = {Tensor::of_floats({1, inner}, a), Tensor::of_floats({inner, 1}, b)};
  if (bias) single.operands.push_back(Tensor::of_floats({1}, std::span(&*bias, 1)));
  single.graph = graph_of(Op::gemm, GemmAttributes{}, single.operands);
  return single;
}

std::size_t extent(const Tensor& tensor, std::size_t axis) { return static_cast<std::size_t>(tensor.shape()[axis]); }

// ---- matrices ----

// a [M, K] and b [K, N], each perhaps transposed in memory.
struct Matrices {
  std::span<const float> a, b, bias;
  std::size_t m = 0, k = 0, n = 0;
  bool transpose_a = false, transpose_b = false;
  [[nodiscard]] float left(std::size_t i, std::size_t l) const { return transpose_a ? a[l * m + i] : a[i * k + l]; }
  [[nodiscard]] float right(std::size_t l, std::size_t j) const { return transpose_b ? b[j * k + l] : b[l * n + j]; }
};

std::optional<Matrices> matrices_of(const Problem& problem) {
  const Tensor &a = problem.operands[0], &b = problem.operands[1];
  if (a.shape().size() != 2 || b.shape().size() != 2) return std::nullopt;
  Matrices result{floats(a), floats(b), {}, extent(a, 0), extent(a, 1), extent(b, 1), false, false};
  if (problem.node.op == Op::gemm) {
    const auto& gemm = std::get<GemmAttributes>(problem.node.attributes);
    if (gemm.alpha != 1 || gemm.beta != 1) return std::nullopt;
    result.transpose_a = gemm.transpose_a;
    result.transpose_b = gemm.transpose_b;
    if (gemm.transpose_a) std::swap(result.m, result.k);
    if (gemm.transpose_b) result.n = extent(b, 0);
    if (problem.operands.size() == 3) {
      result.bias = floats(problem.operands[2]);
      if (problem.operands[2].shape() != Shape{static_cast<std::int64_t>(result.n)}) return std::nullopt;
    }
  }
  return result;
}

std::optional<Judged> judge_matrices(const Problem& problem) {
  const auto found = matrices_of(problem);
  if (!found || found->k == 0 || found->k > kMostTerms) return std::nullopt;
  const Matrices& x = *found;
  Columns columns(x.k, x.n);
  for (std::size_t l = 0; l < x.k; ++l) {
    for (std::size_t j = 0; j < x.n; ++j) columns.set(l, j, x.right(l, j));
  }
  Dots dots(columns, x.k, x.n, x.bias);
  Judged judged;
  const std::span<const float> y = floats(problem.result);
  std::vector<double> a;
  for (std::size_t first = 0; first < x.m; first += kRows) {
    const std::size_t rows = std::min(kRows, x.m - first);
    a.resize(rows * x.k);
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t l = 0; l < x.k; ++l) a[r * x.k + l] = static_cast<double>(x.left(first + r, l));
    }
    dots.judge(
        a.data(), rows, [&](std::size_t r, std::size_t j) { return static_cast<double>(y[(first + r) * x.n + j]); },
        [&](std::size_t r, std::size_t j) { judged.open.push_back((first + r) * x.n + j); });
  }
  judged.terms = x.k;
  judged.single = [x](std::size_t element) {
    const std::size_t i = element / x.n, j = element % x.n;
    std::vector<float> a_row, b_column;
    for (std::size_t l = 0; l < x.k; ++l) {
      a_row.push_back(x.left(i, l));
      b_column.push_back(x.right(l, j));
    }
    return dot(std::move(a_row), std::move(b_column), x.bias.empty() ? std::nullopt : std::optional(x.bias[j]));
  };
  return judged;
}

// ---- convolutions of two spatial axes ----

// conv: the operand's place for result place o and tap k is o stride + k dilation - pad. conv_transpose: (o + pad - k dilation) / stride
// where that is whole.
struct Window {
  std::span<const float> x, w, bias;
  std::size_t images = 0, in = 0, out = 0, groups = 1;  // channels of operand and result
  std::size_t size[2] = {}, place[2] = {}, kernel[2] = {};
  std::int64_t stride[2] = {}, dilation[2] = {}, pad[2] = {};
  bool transposed = false;

  [[nodiscard]] std::size_t in_group() const { return in / groups; }
  [[nodiscard]] std::size_t out_group() const { return out / groups; }
  [[nodiscard]] std::size_t terms() const { return in_group() * kernel[0] * kernel[1]; }
  [[nodiscard]] std::int64_t source(std::size_t axis, std::size_t o, std::size_t k) const {
    const auto at = static_cast<std::int64_t>(o), tap = static_cast<std::int64_t>(k) * dilation[axis];
    std::int64_t place_in = at * stride[axis] + tap - pad[axis];
    if (transposed) {
      const std::int64_t scaled = at + pad[axis] - tap;
      if (scaled < 0 || scaled % stride[axis] != 0) return -1;
      place_in = scaled / stride[axis];
    }
    return place_in >= 0 && place_in < static_cast<std::int64_t>(size[axis]) ? place_in : -1;
  }
  // Weight of result channel `o` of group g for operand channel c of that group.
  [[nodiscard]] float weight(std::size_t g, std::size_t o, std::size_t c, std::size_t tap) const {
    const std::size_t taps = kernel[0] * kernel[1];
    return transposed ? w[((g * in_group() + c) * out_group() + o) * taps + tap] : w[((g * out_group() + o) * in_group() + c) * taps + tap];
  }
  // The operand with its channels last, in double: a window is then copied in runs.
  [[nodiscard]] std::vector<double> channels_last() const {
    const std::size_t plane = size[0] * size[1];
    std::vector<double> result(x.size());
    for (std::size_t image = 0; image < x.size() / (in * plane); ++image) {
      for (std::size_t c = 0; c < in; ++c) {
        for (std::size_t p = 0; p < plane; ++p) result[(image * plane + p) * in + c] = static_cast<double>(x[(image * in + c) * plane + p]);
      }
    }
    return result;
  }
  // Its elements under the window at (i, j), zeros beside it; in the order [tap, channel].
  void patch(const std::vector<double>& last, std::size_t image, std::size_t g, std::size_t i, std::size_t j, double* to) const {
    for (std::size_t ki = 0; ki < kernel[0]; ++ki) {
      const std::int64_t row = source(0, i, ki);
      for (std::size_t kj = 0; kj < kernel[1]; ++kj) {
        const std::int64_t column = source(1, j, kj);
        if (row < 0 || column < 0) {
          std::fill_n(to, in_group(), 0.0);
        } else {
          const std::size_t place_in = (image * size[0] + static_cast<std::size_t>(row)) * size[1] + static_cast<std::size_t>(column);
          std::copy_n(last.data() + place_in * in + g * in_group(), in_group(), to);
        }
        to += in_group();
      }
    }
  }
};

std::optional<Window> window_of(const Problem& problem) {
  if (problem.result.shape().size() != 4) return std::nullopt;
  const auto& attributes = std::get<WindowAttributes>(problem.node.attributes);
  Window window;
  window.transposed = problem.node.op == Op::conv_transpose;
  window.x = floats(problem.operands[0]);
  window.w = floats(problem.operands[1]);
  if (problem.operands.size() == 3) window.bias = floats(problem.operands[2]);
  window.images = extent(problem.result, 0);
  window.in = extent(problem.operands[0], 1);
  window.out = extent(problem.result, 1);
  window.groups = static_cast<std::size_t>(attributes.groups);
  for (std::size_t axis = 0; axis < 2; ++axis) {
    window.size[axis] = extent(problem.operands[0], 2 + axis);
    window.place[axis] = extent(problem.result, 2 + axis);
    window.kernel[axis] = static_cast<std::size_t>(attributes.kernel[axis]);
    window.stride[axis] = attributes.strides[axis];
    window.dilation[axis] = attributes.dilations[axis];
    window.pad[axis] = attributes.pads_begin[axis];
  }
  return window;
}

std::optional<Judged> judge_windows(const Problem& problem) {
  const auto found = window_of(problem);
  if (!found || found->terms() == 0 || found->terms() > kMostTerms) return std::nullopt;
  const Window& x = *found;
  const std::vector<double> last = x.channels_last();
  const std::size_t terms = x.terms(), columns = x.out_group(), plane = x.place[0] * x.place[1];
  Judged judged;
  const std::span<const float> y = floats(problem.result);
  std::vector<double> a;
  for (std::size_t g = 0; g < x.groups; ++g) {
    Columns w(terms, columns);
    for (std::size_t o = 0; o < columns; ++o) {
      for (std::size_t t = 0; t < terms; ++t) {
        w.set(t, o, x.weight(g, o, t % x.in_group(), t / x.in_group()));
      }
    }
    Dots dots(w, terms, columns, x.bias.empty() ? x.bias : x.bias.subspan(g * columns, columns));
    // Row r of a block is one place of one image.
    const std::size_t places = x.images * plane;
    for (std::size_t first = 0; first < places; first += kRows) {
      const std::size_t rows = std::min(kRows, places - first);
      a.resize(rows * terms);
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t place = (first + r) % plane;
        x.patch(last, (first + r) / plane, g, place / x.place[1], place % x.place[1], a.data() + r * terms);
      }
      const auto place_of = [&](std::size_t r, std::size_t o) {
        return ((first + r) / plane * x.out + g * columns + o) * plane + (first + r) % plane;
      };
      dots.judge(
          a.data(), rows, [&](std::size_t r, std::size_t o) { return static_cast<double>(y[place_of(r, o)]); },
          [&](std::size_t r, std::size_t o) { judged.open.push_back(place_of(r, o)); });
    }
  }
  std::sort(judged.open.begin(), judged.open.end());
  judged.terms = terms;
  judged.single = [x, plane, last](std::size_t element) {
    const std::size_t channel = element / plane % x.out, g = channel / x.out_group();
    std::vector<double> patch(x.terms());
    x.patch(last, element / plane / x.out, g, element % plane / x.place[1], element % x.place[1], patch.data());
    std::vector<float> weights;
    for (std::size_t t = 0; t < patch.size(); ++t)
      weights.push_back(x.weight(g, channel % x.out_group(), t % x.in_group(), t / x.in_group()));
    return dot({patch.begin(), patch.end()}, std::move(weights), x.bias.empty() ? std::nullopt : std::optional(x.bias[channel]));
  };
  return judged;
}

}  // namespace

std::optional<Judged> judge_dots(const Problem& problem) {
  const Op op = problem.node.op;
  const bool matrices = op == Op::gemm || op == Op::matmul, windows = op == Op::conv || op == Op::conv_transpose;
  if (!matrices && !windows) return std::nullopt;
  for (const Tensor& operand : problem.operands) {
    if (!all_finite(floats(operand))) return std::nullopt;
  }
  return matrices ? judge_matrices(problem) : judge_windows(problem);
}

}  // namespace assay::kernel::quick
