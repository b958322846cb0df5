// gemm and matmul. Products of integers are in gpu/kernels/integers.h.
//
// Meaning.   y = alpha a' b' + beta c (docs/ops/gemm.md), y = a b (docs/ops/matmul.md); a and b transposed, repeated over a batch or
//            vectors by their strides alone, c repeated over y.
// Layout.    Dense row-major operands and result of any extents. A block of kTile x kTile threads computes a tile of y; tiles of a and b
//            pass through shared memory, rows of kTile + 1 words, so that neither rows nor columns share a bank. Blocks are
//            numbered batch by batch, row of tiles by row of tiles.
// Order.     Each element sums its k products from first to last, whatever the tiles: bit-reproducible, on any device and any launch.
//            nvcc fuses products and sums. A library (gpu/library_product.h) sums in an order of its own. Beyond the ragged end
//            of k products
//            0 * 0 are added, which change no sum but -0.
// Error.     That of a sum of k + 1 terms in any order, fused or not: (k + 1) u S + (k + 1) eta (docs/contracts).
//            Factors are rounded first where the device declares it (gpu/kernels/factor.h).
// NaN, inf.  As the formula: a NaN or an infinity reaches its row or column of y and nothing else.
#pragma once

#include "gpu/kernels/factor.h"
#include "gpu/kernels/integers.h"
#include "gpu/library_product.h"

namespace assay::gpu {

struct ProductKernel {
  static constexpr const char* kName = "product";
  static constexpr std::size_t kTile = 16, kPitch = kTile + 1, kShared = 2 * kTile * kPitch;

  View<const float> a, b, c;
  View<float> y;
  std::size_t rows, columns, depth;  // of one product: y [rows, columns]
  std::size_t a_row, a_step, b_step, b_column;
  Strided a_batch, b_batch;
  Strided c_at;  // of an index of y
  float alpha = 1, beta = 1;
  bool plus_c = false;
  Factors factors = Factors::none;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    const std::size_t across = (columns + kTile - 1) / kTile, down = (rows + kTile - 1) / kTile;
    const std::size_t batch = t.block() / (across * down), tile = t.block() % (across * down);
    const std::size_t row = t.index() / kTile, column = t.index() % kTile;
    const std::size_t i = tile / across * kTile + row, j = tile % across * kTile + column;
    const std::size_t a_first = a_batch.offset(batch), b_first = b_batch.offset(batch), b_words = kTile * kPitch;
    float sum = 0;
    for (std::size_t first = 0; first < depth; first += kTile) {
      const bool a_inside = i < rows && first + column < depth, b_inside = first + row < depth && j < columns;
      t.put(row * kPitch + column, a_inside ? rounded_factor(factors, a[a_first + i * a_row + (first + column) * a_step]) : 0.0F);
      t.put(b_words + row * kPitch + column, b_inside ? rounded_factor(factors, b[b_first + (first + row) * b_step + j * b_column]) : 0.0F);
      t.barrier();
      for (std::size_t q = 0; q < kTile; ++q) sum += t.get(row * kPitch + q) * t.get(b_words + q * kPitch + column);
      t.barrier();
    }
    if (i >= rows || j >= columns) return;
    const std::size_t at = (batch * rows + i) * columns + j;
    const float product = alpha == 1 ? sum : alpha * sum;
    if (!plus_c) {
      y[at] = product;
      return;
    }
    const float addend = c[c_at.offset(at)];
    y[at] = product + (beta == 1 ? addend : beta * addend);
  }
};

// Parts of a product that a library does not compute: the rounding of its factors before, and c.
struct RoundKernel {
  static constexpr const char* kName = "round_factors";
  static constexpr unsigned kThreads = 128;

  View<const float> x;
  View<float> y;
  Factors factors;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) y[i] = rounded_factor(factors, x[i]);
  }
};
struct AddendKernel {
  static constexpr const char* kName = "addend";
  static constexpr unsigned kThreads = 128;

  View<const float> c;
  View<float> y;
  Strided c_at;
  float beta;

  template <class Thread>
  ASSAY_BOTH void operator()(Thread& t) const {
    for (const std::size_t i : grid_of(t, y.size)) y[i] += beta == 1 ? c[c_at.offset(i)] : beta * c[c_at.offset(i)];
  }
};

template <class Queue>
Outcome<View<const float>> rounded(Queue& queue, View<const float> x, Factors factors) {
  if (factors == Factors::none) return x;
  const auto y = queue.template scratch<float>(x.size);
  if (!y) return y.rejection();
  const Launch launch{RoundKernel::kName, blocks_for(x.size, RoundKernel::kThreads), RoundKernel::kThreads, 0};
  if (auto done = queue.launch(launch, RoundKernel{x, y.value(), factors}); !done) return done.rejection();
  return View<const float>{y.value().data, x.size};
}

template <class Queue>
Outcome<Done> run_library_product(Queue& queue, const ProductKernel& kernel, LibraryProduct product) {
  const auto a = rounded(queue, kernel.a, kernel.factors), b = rounded(queue, kernel.b, kernel.factors);
  if (!a) return a.rejection();
  if (!b) return b.rejection();
  product.left.data = b.value().data;
  product.right.data = a.value().data;
  if (auto done = queue.product(product); !done || !kernel.plus_c) return done;
  return queue.launch({AddendKernel::kName, blocks_for(kernel.y.size, AddendKernel::kThreads), AddendKernel::kThreads, 0},
                      AddendKernel{kernel.c, kernel.y, kernel.c_at, kernel.beta});
}

template <class Queue>
Outcome<Done> launch_product(Queue& queue, const ProductKernel& kernel, std::size_t batches) {
  constexpr std::size_t kTile = ProductKernel::kTile;
  const std::size_t blocks = (kernel.columns + kTile - 1) / kTile * ((kernel.rows + kTile - 1) / kTile) * batches;
  if (blocks == 0) return Done{};
  if (queue.has_library()) {
    if (const auto product = library_product(kernel, batches)) return run_library_product(queue, kernel, *product);
  }
  return queue.launch({ProductKernel::kName, blocks, kTile * kTile, ProductKernel::kShared}, kernel);
}

template <class Queue>
Outcome<Done> run_gemm(Queue& queue, const Call& call) {
  if (const auto other = other_than_floats(call)) return refused(call.op, *other);
  const auto& [alpha, beta, transpose_a, transpose_b] = call.get<GemmAttributes>();
  const Shape &a = call.shape_of(0), &b = call.shape_of(1);
  const auto width_a = static_cast<std::size_t>(a[1]), width_b = static_cast<std::size_t>(b[1]);
  ProductKernel kernel{};
  kernel.a = call.data(0);
  kernel.b = call.data(1);
  kernel.y = call.result;
  kernel.rows = static_cast<std::size_t>(call.shape[0]);
  kernel.columns = static_cast<std::size_t>(call.shape[1]);
  kernel.depth = static_cast<std::size_t>(transpose_a ? a[0] : a[1]);
  kernel.a_row = transpose_a ? 1 : width_a;
  kernel.a_step = transpose_a ? width_a : 1;
  kernel.b_step = transpose_b ? 1 : width_b;
  kernel.b_column = transpose_b ? width_b : 1;
  kernel.factors = call.factors;
  kernel.alpha = static_cast<float>(alpha);
  kernel.beta = static_cast<float>(beta);
  if (call.operands.size() == 3) {
    kernel.plus_c = true;
    kernel.c = call.data(2);
    kernel.c_at = *strided(call.shape, repeating_strides(call.shape_of(2), call.shape));
  }
  return launch_product(queue, kernel, 1);
}

// y [.., rows, columns] of integers, a [.., rows, depth].
template <class Queue>
Outcome<Done> run_integer_product(Queue& queue, const Call& call, const Shape& a, const Shape& y, const Strided& a_batch,
                                  const Strided& b_batch) {
  return with_integers(call, [&](auto type) -> Outcome<Done> {
    using T = typename decltype(type)::type;
    if (call.result.size == 0) return Done{};
    const IntegerProductKernel<T> kernel{call.operands[0].data.template as<T>(),
                                         call.operands[1].data.template as<T>(),
                                         call.result.template as<T>(),
                                         static_cast<std::size_t>(y[y.size() - 2]),
                                         static_cast<std::size_t>(y.back()),
                                         static_cast<std::size_t>(a.back()),
                                         a_batch,
                                         b_batch};
    return queue.launch({kernel.kName, blocks_for(kernel.y.size, kernel.kThreads), kernel.kThreads, 0}, kernel);
  });
}

// Vectors are a row on the left and a column on the right; leading axes count the batch.
template <class Queue>
Outcome<Done> run_matmul(Queue& queue, const Call& call) {
  Shape a = call.shape_of(0), b = call.shape_of(1), y = call.shape;
  if (b.size() == 1) b.push_back(1), y.push_back(1);
  if (a.size() == 1) a.insert(a.begin(), 1), y.insert(y.end() - 1, 1);
  const auto per_matrix = [](const Shape& shape) { return Shape(shape.begin(), shape.end() - 2); };
  const Shape batch = per_matrix(y);
  const auto batch_strides = [&](const Shape& shape) {  // in elements
    std::vector<std::size_t> strides = repeating_strides(per_matrix(shape), batch);
    for (std::size_t& stride : strides) stride *= static_cast<std::size_t>(shape[shape.size() - 1] * shape[shape.size() - 2]);
    return strided(batch, strides);
  };
  const auto a_batch = batch_strides(a), b_batch = batch_strides(b);
  if (!a_batch || !b_batch) return refused(call.op, "a batch of too many axes");
  if (call.result.dtype != DType::float32) return run_integer_product(queue, call, a, y, *a_batch, *b_batch);
  ProductKernel kernel{};
  kernel.factors = call.factors;
  kernel.a = call.data(0);
  kernel.b = call.data(1);
  kernel.y = call.result;
  kernel.rows = static_cast<std::size_t>(y[y.size() - 2]);
  kernel.columns = static_cast<std::size_t>(y.back());
  kernel.depth = static_cast<std::size_t>(a.back());
  kernel.a_row = kernel.depth;
  kernel.a_step = 1;
  kernel.b_step = kernel.columns;
  kernel.b_column = 1;
  kernel.a_batch = *a_batch;
  kernel.b_batch = *b_batch;
  return launch_product(queue, kernel, element_count(batch));
}

}  // namespace assay::gpu
