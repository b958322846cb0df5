// Sums of products: matrices and windows, as blocks of rows times columns, which quick_block.h judges.
#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>

#include "kernel/quick/quick_block.h"

namespace assay::quick {

namespace {

constexpr double kGridTerms = 64;  // the number of terms whose grids are examined; for Q3 any terms serve

// One dot product as a region.
template <class Gather>
Single dot(std::size_t terms, std::size_t element, const Gather& gather) {
  Single single;
  std::vector<float> a(terms), b(terms);
  const std::optional<float> bias = gather(element, a, b);
  const auto inner = static_cast<std::int64_t>(terms);
  single.operands = {Tensor::of_floats({1, inner}, a), Tensor::of_floats({inner, 1}, b)};
  if (bias) single.operands.push_back(Tensor::of_floats({1}, std::span(&*bias, 1)));
  single.graph = graph_of(Op::gemm, GemmAttributes{}, single.operands);
  return single;
}

// Q1 to Q3 for a dot product with every term counted; K <= most.
bool dot_passes(const std::vector<float>& a, const std::vector<float>& b, std::optional<float> bias, float received, double most) {
  double c = bias ? static_cast<double>(*bias) : 0, size = std::fabs(c), m = c != 0 ? 1 : 0;
  int q = kNoGrid;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double term = static_cast<double>(a[i]) * static_cast<double>(b[i]);
    if (term == 0) continue;
    c += term;
    size += std::fabs(term);
    m += 1;
    if (q == kNoGrid || m < kGridTerms) q = std::min(q, lowest_bit(a[i]) + lowest_bit(b[i]));
  }
  return within(static_cast<double>(received), c, size, std::fmin(m, most), q);
}

// Judges the sampled elements only, if a sample is asked for. gather(element, a, b) fills in the factors and returns
// the bias.
template <class Gather>
bool judge_sample(const Problem& problem, const Gather& gather, Judged& judged) {
  constexpr std::size_t kLong = 64;  // number of terms; shorter sums are not worth sampling
  if (problem.sample.empty() || judged.terms < kLong || problem.sample.size() >= problem.result.size()) return false;
  std::vector<float> a(judged.terms), b(judged.terms);
  const double most = height_of(problem.model) + 1;
  for (const std::size_t element : problem.sample) {
    const std::optional<float> bias = gather(element, a, b);
    if (!dot_passes(a, b, bias, floats(problem.result)[element], most)) judged.open.push_back(element);
  }
  judged.unsampled = problem.result.size() - problem.sample.size();
  return true;
}

std::size_t extent(const Tensor& tensor, std::size_t axis) { return static_cast<std::size_t>(tensor.shape()[axis]); }

// ---- matrices ----

// a [M, K] and b [K, N], each possibly transposed in memory; or as many of each as there are batches, one after
// the other.
struct Matrices {
  std::span<const float> a, b, bias;
  std::size_t m = 0, k = 0, n = 0;
  bool transpose_a = false, transpose_b = false;
  std::size_t batches = 1;
  [[nodiscard]] Matrices batch(std::size_t i) const {
    return {a.subspan(i * m * k, m * k), b.subspan(i * k * n, k * n), bias, m, k, n, transpose_a, transpose_b};
  }
  [[nodiscard]] float left(std::size_t i, std::size_t l) const { return transpose_a ? a[l * m + i] : a[i * k + l]; }
  [[nodiscard]] float right(std::size_t l, std::size_t j) const { return transpose_b ? b[j * k + l] : b[l * n + j]; }
};

std::optional<Matrices> matrices_of(const Problem& problem) {
  const Tensor &a = problem.operands[0], &b = problem.operands[1];
  const std::size_t rank = a.shape().size();
  if (rank < 2 || b.shape().size() != rank || !std::equal(a.shape().begin(), a.shape().end() - 2, b.shape().begin())) return std::nullopt;
  Matrices result{floats(a), floats(b), {}, extent(a, rank - 2), extent(a, rank - 1), extent(b, rank - 1), false, false};
  for (std::size_t axis = 0; axis + 2 < rank; ++axis) result.batches *= extent(a, axis);
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

// Judges every element of one batch. y has the received values of the batch, whose elements are numbered from
// `base` on.
void judge_batch(const Matrices& x, std::span<const float> y, std::size_t base, double most, std::vector<std::size_t>& open) {
  Columns columns(x.k, x.n);
  for (std::size_t first = 0; first < x.n; first += Columns::kPanel) {
    const std::size_t last = std::min(x.n, first + Columns::kPanel);
    for (std::size_t l = 0; l < x.k; ++l) {
      for (std::size_t j = first; j < last; ++j) columns.set(l, j, x.right(l, j));
    }
  }
  columns.finish();
  Dots dots(columns, x.bias, most);
  std::vector<float> across;  // rows of a transposed factor
  for (std::size_t first = 0; first < x.m; first += kRows) {
    const std::size_t rows = std::min(kRows, x.m - first);
    if (x.transpose_a) {
      across.resize(rows * x.k);
      for (std::size_t l = 0; l < x.k; ++l) {
        for (std::size_t r = 0; r < rows; ++r) across[r * x.k + l] = x.left(first + r, l);
      }
    }
    dots.judge(
        x.transpose_a ? across.data() : x.a.data() + first * x.k, x.k, rows,
        [&](std::size_t r, std::size_t j) { return y[(first + r) * x.n + j]; },
        [&](std::size_t r, std::size_t j) { open.push_back(base + (first + r) * x.n + j); });
  }
}

std::optional<Judged> judge_matrices(const Problem& problem) {
  const auto found = matrices_of(problem);
  if (!found || found->k == 0 || found->k > kMostTerms) return std::nullopt;
  const std::size_t size = found->m * found->n;
  Judged judged;
  judged.terms = found->k;
  const auto gather = [all = *found, size](std::size_t element, std::vector<float>& a, std::vector<float>& b) {
    const Matrices x = all.batch(element / size);
    const std::size_t i = element % size / x.n, j = element % x.n;
    for (std::size_t l = 0; l < x.k; ++l) {
      a[l] = x.left(i, l);
      b[l] = x.right(l, j);
    }
    return x.bias.empty() ? std::nullopt : std::optional(x.bias[j]);
  };
  judged.single = [gather, terms = found->k](std::size_t element) { return dot(terms, element, gather); };
  if (judge_sample(problem, gather, judged)) return judged;
  for (std::size_t i = 0; i < found->batches; ++i)
    judge_batch(found->batch(i), floats(problem.result).subspan(i * size, size), i * size, height_of(problem.model) + 1, judged.open);
  return judged;
}

// ---- convolutions of two spatial axes ----

// The operand position of result position o and tap k: for conv, o stride + k dilation - pad; for conv_transpose,
// (o + pad - k dilation) / stride if that is an integer.
struct Window {
  std::span<const float> x, w, bias;
  std::size_t images = 0, in = 0, out = 0, groups = 1;  // in, out: channels of operand and result
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
  // The weight of result channel `o` of group g for operand channel c of that group.
  [[nodiscard]] float weight(std::size_t g, std::size_t o, std::size_t c, std::size_t tap) const {
    const std::size_t taps = kernel[0] * kernel[1];
    return transposed ? w[((g * in_group() + c) * out_group() + o) * taps + tap] : w[((g * out_group() + o) * in_group() + c) * taps + tap];
  }
  // The operand with its channels last, so that a window is copied in runs.
  [[nodiscard]] std::vector<float> channels_last() const {
    const std::size_t plane = size[0] * size[1];
    std::vector<float> result(x.size());
    for (std::size_t image = 0; image < x.size() / (in * plane); ++image) {
      for (std::size_t c = 0; c < in; ++c) {
        for (std::size_t p = 0; p < plane; ++p) result[(image * plane + p) * in + c] = x[(image * in + c) * plane + p];
      }
    }
    return result;
  }
  // Copies the elements under the window at (i, j), and zeros outside of the operand; in the order [tap, channel].
  void patch(const std::vector<float>& last, std::size_t image, std::size_t g, std::size_t i, std::size_t j, float* to) const {
    for (std::size_t ki = 0; ki < kernel[0]; ++ki) {
      const std::int64_t row = source(0, i, ki);
      for (std::size_t kj = 0; kj < kernel[1]; ++kj) {
        const std::int64_t column = source(1, j, kj);
        if (row < 0 || column < 0) {
          std::fill_n(to, in_group(), 0.0F);
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
  const auto last = std::make_shared<const std::vector<float>>(x.channels_last());
  const std::size_t terms = x.terms(), columns = x.out_group(), plane = x.place[0] * x.place[1];
  Judged judged;
  judged.terms = terms;
  const auto gather = [x, plane, last](std::size_t element, std::vector<float>& patch, std::vector<float>& weights) {
    const std::size_t channel = element / plane % x.out, g = channel / x.out_group(), o = channel % x.out_group(), in = x.in_group();
    x.patch(*last, element / plane / x.out, g, element % plane / x.place[1], element % x.place[1], patch.data());
    for (std::size_t c = 0; c < in; ++c) {
      for (std::size_t tap = 0; tap < weights.size() / in; ++tap) weights[tap * in + c] = x.weight(g, o, c, tap);
    }
    return x.bias.empty() ? std::nullopt : std::optional(x.bias[channel]);
  };
  judged.single = [gather, terms](std::size_t element) { return dot(terms, element, gather); };
  if (judge_sample(problem, gather, judged)) return judged;
  const std::span<const float> y = floats(problem.result);
  std::vector<float> a;
  for (std::size_t g = 0; g < x.groups; ++g) {
    Columns w(terms, columns);
    for (std::size_t o = 0; o < columns; ++o) {
      for (std::size_t c = 0; c < x.in_group(); ++c) {
        for (std::size_t tap = 0; tap < terms / x.in_group(); ++tap) w.set(tap * x.in_group() + c, o, x.weight(g, o, c, tap));
      }
    }
    w.finish();
    Dots dots(w, x.bias.empty() ? x.bias : x.bias.subspan(g * columns, columns), height_of(problem.model) + 1);
    // Row r of a block is one position of one image.
    const std::size_t places = x.images * plane;
    for (std::size_t first = 0; first < places; first += kRows) {
      const std::size_t rows = std::min(kRows, places - first);
      a.resize(rows * terms);
      for (std::size_t r = 0; r < rows; ++r) {
        const std::size_t place = (first + r) % plane;
        x.patch(*last, (first + r) / plane, g, place / x.place[1], place % x.place[1], a.data() + r * terms);
      }
      const auto place_of = [&](std::size_t r, std::size_t o) {
        return ((first + r) / plane * x.out + g * columns + o) * plane + (first + r) % plane;
      };
      dots.judge(
          a.data(), terms, rows, [&](std::size_t r, std::size_t o) { return y[place_of(r, o)]; },
          [&](std::size_t r, std::size_t o) { judged.open.push_back(place_of(r, o)); });
    }
  }
  std::sort(judged.open.begin(), judged.open.end());
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

}  // namespace assay::quick
