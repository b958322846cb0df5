// gemm and matmul: floats by multiply(), integers (which wrap around) by plain loops.
#include <algorithm>
#include <type_traits>
#include <vector>

#include "runtime/kernels/call.h"
#include "runtime/kernels/composed.h"
#include "runtime/kernels/gemm.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

// The factors of a gemm as they are stored.
template <class T>
struct GemmFactors {
  GemmFactors(const GemmAttributes& attributes, const Array& a, const Array& b)
      : m(extent(a, attributes.transpose_a ? 1 : 0)),
        n(extent(b, attributes.transpose_b ? 0 : 1)),
        k(extent(a, attributes.transpose_a ? 0 : 1)),
        left(matrix(a, attributes.transpose_a)),
        right(matrix(b, attributes.transpose_b)) {}
  std::size_t m, n, k;
  Matrix<T> left, right;

 private:
  static std::size_t extent(const Array& array, std::size_t axis) { return static_cast<std::size_t>(array.shape()[axis]); }
  static Matrix<T> matrix(const Array& array, bool transposed) {
    const std::int64_t width = array.shape()[1];
    return transposed ? Matrix<T>{array.data<T>().data(), 1, width} : Matrix<T>{array.data<T>().data(), width, 1};
  }
};

template <class T>
void run_gemm(const Call& call) {
  const auto& attributes = call.get<GemmAttributes>();
  const auto [m, n, k, left, right] = GemmFactors<T>(attributes, call.operand(0), call.operand(1));
  T* const y = call.result.data<T>().data();
  const bool has_c = call.operands.size() == 3;
  const auto alpha = static_cast<T>(attributes.alpha), beta = static_cast<T>(attributes.beta);
  // A c that is added as it is, a matrix or one row to all, is the start of the sums.
  if (has_c && alpha == 1 && beta == 1) {
    using Kind = typename Start<T>::Kind;
    const Array& c = call.operand(2);
    const bool one_row = c.size() == n && (m == 1 || c.shape().back() == call.result.shape()[1]);
    if (one_row || c.shape() == call.result.shape())
      return multiply<T>(m, n, k, left, right, {one_row ? Kind::columns : Kind::matrix, c.data<T>().data()}, y, n);
  }
  multiply<T>(m, n, alpha == 0 ? 0 : k, left, right, {}, y, n);
  if (alpha == 1 && !has_c) return;
  const Shape strides = has_c ? repeating_strides(call.operand(2).shape(), call.result.shape()) : Shape{0, 0};
  const T* const c = has_c ? call.operand(2).data<T>().data() : nullptr;
  parallel_ranges(m, std::max<std::size_t>((1 << 14) / std::max<std::size_t>(n, 1), 1), [&, n = n](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        const T scaled = alpha * y[i * n + j];
        y[i * n + j] = c == nullptr
                           ? scaled
                           : scaled + beta * c[static_cast<std::int64_t>(i) * strides[0] + static_cast<std::int64_t>(j) * strides[1]];
      }
    }
  });
}

template <class T>
void multiply_integers(std::size_t m, std::size_t n, std::size_t k, const T* a, const T* b, T* y) {
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      std::uint64_t sum = 0;
      for (std::size_t p = 0; p < k; ++p) {
        sum += static_cast<std::uint64_t>(static_cast<std::int64_t>(a[i * k + p])) *
               static_cast<std::uint64_t>(static_cast<std::int64_t>(b[p * n + j]));
      }
      y[i * n + j] = static_cast<T>(sum);
    }
  }
}

template <class T>
void run_matmul(const Call& call) {
  Shape a = call.operand(0).shape(), b = call.operand(1).shape();
  if (a.size() == 1) a.insert(a.begin(), 1);
  if (b.size() == 1) b.push_back(1);
  const auto m = static_cast<std::size_t>(a[a.size() - 2]), k = static_cast<std::size_t>(a.back()), n = static_cast<std::size_t>(b.back());
  const Shape batch_a(a.begin(), a.end() - 2), batch_b(b.begin(), b.end() - 2);
  Shape batch;
  demand(broadcast(batch_a, batch_b, batch), "run_matmul: batch axes broadcast");
  const T *const left = call.operand(0).data<T>().data(), *const right = call.operand(1).data<T>().data();
  T* const y = call.result.data<T>().data();
  const std::size_t products = element_count(batch);
  const Loops loops{batch, {repeating_strides(batch_a, batch), repeating_strides(batch_b, batch)}};
  // A matrix that all of the batch on the left is multiplied with: one product of a taller matrix.
  if constexpr (std::is_floating_point_v<T>) {
    if (products > 1 && element_count(batch_b) == 1 && element_count(batch_a) == products) {
      return multiply<T>(products * m, n, k, {left, static_cast<std::int64_t>(k), 1}, {right, static_cast<std::int64_t>(n), 1}, {}, y, n);
    }
  }
  const auto one = [&](std::size_t p) {
    Odometer<2> at(loops, 0);
    at.seek(p);
    const T* const of_a = left + at.offset(0) * static_cast<std::int64_t>(m * k);
    const T* const of_b = right + at.offset(1) * static_cast<std::int64_t>(k * n);
    if constexpr (std::is_floating_point_v<T>) {
      multiply<T>(m, n, k, {of_a, static_cast<std::int64_t>(k), 1}, {of_b, static_cast<std::int64_t>(n), 1}, {}, y + p * m * n, n);
    } else {
      multiply_integers(m, n, k, of_a, of_b, y + p * m * n);
    }
  };
  // Products of a batch side by side, or one after the other with all threads on each.
  if (products >= 4) return parallel_for(products, one);
  for (std::size_t p = 0; p < products; ++p) one(p);
}

}  // namespace

bool can_add_products(const GemmAttributes& attributes, const Shape& a, const Shape& b) {
  const std::int64_t m = a[attributes.transpose_a ? 1 : 0], n = b[attributes.transpose_b ? 0 : 1], k = a[attributes.transpose_a ? 0 : 1];
  // A product of one row or one column adds its terms to the sum in another order than alone.
  return attributes.alpha == 1 && k > 0 && k <= static_cast<std::int64_t>(kBlock) && m != 1 && n != 1;
}

void add_products(const GemmAttributes& attributes, std::span<const Array* const> factors, bool adds, Array& sum) {
  with_float(sum.dtype(), [&](auto type) {
    using T = typename decltype(type)::type;
    const GemmFactors<T> first(attributes, *factors[0], *factors[1]);
    std::vector<Factors<T>> products;
    for (std::size_t i = 0; i < factors.size(); i += 2) {
      const GemmFactors<T> one(attributes, *factors[i], *factors[i + 1]);
      products.push_back({one.left, one.right});
    }
    const Start<T> start{adds ? Start<T>::Kind::result : Start<T>::Kind::zero};
    multiply<T>(first.m, first.n, first.k, std::span<const Factors<T>>(products), start, sum.data<T>().data(), first.n);
  });
}

Outcome<Done> run_product(const Call& call) {
  if (call.op == Op::gemm) {
    with_float(call.result.dtype(), [&](auto type) { run_gemm<typename decltype(type)::type>(call); });
  } else {
    with_real(call.result.dtype(), [&](auto type) { run_matmul<typename decltype(type)::type>(call); });
  }
  return Done{};
}

}  // namespace assay::runtime
