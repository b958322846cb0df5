// DFT and STFT as products with the matrices of cos(2 pi jk/n) and sin(2 pi jk/n).
//
// The angles are nodes, of eighths of turns, atan(1). Runtimes compute their functions, too: a sine of half a turn, or of a whole
// one, is no exact 0 there.
#include <algorithm>
#include <map>
#include <utility>

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {
namespace {

struct Circle {
  Operand cosines, sines;  // [rows, columns], of 2 pi jk/n for row j and column k
};

// cos and sin of eighths / n times pi / 4.
Circle circle_of(Call& call, const Operand& like, std::int64_t n, const Shape& shape, const std::vector<std::vector<double>>& eighths) {
  const Operand eighth = call.emit(Op::atan, {reals_like(call, like, Shape(shape.size(), 1), {1})});  // pi / 4
  Operand angles;
  for (const std::vector<double>& one : eighths) {  // the first less the others
    const Operand turns = call.emit(Op::mul, {reals_like(call, like, shape, one), eighth});
    const Operand part = call.emit(Op::div, {turns, call.make_real_like(like, static_cast<double>(n))});
    angles = angles ? call.emit(Op::sub, {angles, part}) : part;
  }
  return {call.emit(Op::cos, {angles}), call.emit(Op::sin, {angles})};
}

// Transforms by halves have the angles below a whole turn. Zeros are whole turns: a sine is no exact 0 there.
Circle by_halves(Call& call, const Operand& like, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  std::vector<double> eighths;
  for (std::int64_t m = 0; m < n; ++m) eighths.push_back(static_cast<double>(8 * (m == 0 ? n : m)));
  Ints indices;
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t k = 0; k < columns; ++k) indices.push_back(j * k % n);
  }
  const Circle circle = circle_of(call, like, n, {n}, {eighths});
  return {select_flat(call, circle.cosines, indices, {rows, columns}), select_flat(call, circle.sines, indices, {rows, columns})};
}

// Lengths that are no power of two are transformed by chirps (Bluestein): 2 jk = j^2 + k^2 - (k - j)^2, each an angle that
// rounds; a whole turn more. The angle of j and k is that of k and j, and is computed once.
Circle by_chirps(Call& call, const Operand& like, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  std::vector<double> plus, minus;
  Ints indices;
  std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> known;
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const auto [angle, is_new] = known.try_emplace(std::minmax(j, k), static_cast<std::int64_t>(known.size()));
      indices.push_back(angle->second);
      if (!is_new) continue;
      plus.push_back(static_cast<double>(4 * (j * j + k * k + 2 * n)));
      minus.push_back(static_cast<double>(4 * (k - j) * (k - j)));
    }
  }
  const Circle circle = circle_of(call, like, n, {static_cast<std::int64_t>(known.size())}, {plus, minus});
  return {select_flat(call, circle.cosines, indices, {rows, columns}), select_flat(call, circle.sines, indices, {rows, columns})};
}

struct Complex {
  Operand re, im;  // im: null for 0
};

Operand plus(Call& call, const Operand& a, const Operand& b, Op op) {
  return a && b ? call.emit(op, {a, b}) : a ? a : op == Op::sub ? call.emit(Op::neg, {b}) : b;
}

// x exp(-+ 2 pi i jk/n) summed over the last axis, j below the extent of x, k below `results`.
Complex transform(Call& call, const Complex& x, std::int64_t n, std::int64_t results, bool inverse) {
  const std::int64_t terms = x.re->shape.back();
  call.limit_fold({terms, results}, DType::int64);
  const auto [c, s] = (n & (n - 1)) == 0 ? by_halves(call, x.re, n, terms, results) : by_chirps(call, x.re, n, terms, results);
  const auto times = [&](const Operand& a, const Operand& b) { return a ? call.emit(Op::matmul, {a, b}) : nullptr; };
  // (re + i im)(c -+ i s)
  Complex y{plus(call, times(x.re, c), times(x.im, s), inverse ? Op::sub : Op::add),
            plus(call, times(x.im, c), times(x.re, s), inverse ? Op::add : Op::sub)};
  if (!inverse) return y;
  const Operand count = call.make_real_like(x.re, static_cast<double>(n));
  return {call.emit(Op::div, {y.re, count}), call.emit(Op::div, {y.im, count})};
}

// Elements 0 .. length - 1 of the last axis; zeros behind its end.
Operand of_length(Call& call, const Operand& x, std::int64_t length) {
  if (!x || x->shape.back() == length) return x;
  PadAttributes pad{Ints(x->shape.size(), 0), Ints(x->shape.size(), 0), 0};
  pad.after.back() = length - x->shape.back();
  return call.emit(Op::pad, {x}, std::move(pad));
}

// Real and imaginary parts of [..., 1 or 2] with the transformed axis brought to the end.
Complex parts_of(Call& call, const Operand& x, std::size_t axis) {
  const std::size_t last = x->shape.size() - 1;
  Ints order;
  for (std::size_t i = 0; i <= last; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::swap(order[axis], order[last]);
  const auto part = [&](std::int64_t i) { return permute(call, slice_axis(call, x, last, i, 1), order); };
  return {part(0), x->shape[last] == 2 ? part(1) : nullptr};
}

Operand together(Call& call, const Complex& y, std::size_t axis, bool real_only) {
  const std::size_t last = y.re->shape.size() - 1;
  Ints order;
  for (std::size_t i = 0; i <= last; ++i) order.push_back(static_cast<std::int64_t>(i));
  std::swap(order[axis], order[last]);
  const Operand re = permute(call, y.re, order);
  return real_only ? re : concat(call, {re, permute(call, y.im, order)}, last);
}

// The other half of a spectrum of n entries, conjugated.
Complex completed(Call& call, const Complex& x, std::int64_t n) {
  const std::int64_t given = x.re->shape.back(), missing = n - given;
  const std::size_t last = x.re->shape.size() - 1;
  const auto mirrored = [&](const Operand& part) { return slice_axis(call, part, last, missing, missing, -1); };
  if (missing == 0) return x;
  return {concat(call, {x.re, mirrored(x.re)}, last), x.im ? concat(call, {x.im, call.emit(Op::neg, {mirrored(x.im)})}, last) : nullptr};
}

std::int64_t one_number(const Call& call, std::size_t i, const char* what) {
  const Ints given = call.ints(i, what);
  if (given.size() != 1 || given[0] < 1 || given[0] > kLargestExtent)
    call.malformed("onnx.input", std::string("one ") + what + " above 0", to_string(given));
  return given[0];
}

// Zeros and ones here are exact; programs round the factors of all quarters, or transform by halves.
void decline_floats(const Call& call) {
  call.real_only(false, "sums of products as written", "a transform, which programs compute in ways of their own");
}

}  // namespace

Results lower_dft(Call& call) {
  const Operand& x = call.in(0);
  decline_floats(call);
  const std::size_t rank = x->shape.size();
  const bool inverse = call.attribute("inverse", std::int64_t{0}) != 0, onesided = call.attribute("onesided", std::int64_t{0}) != 0;
  if (rank < 3 || x->shape.back() < 1 || x->shape.back() > 2)
    call.malformed("onnx.shape", "a signal [batch, ..., 1 or 2]", to_string(x->shape));
  std::int64_t given = call.opset < 20 ? call.attribute("axis", std::int64_t{1}) : -2;
  if (call.opset >= 20 && call.has(2)) {
    const Ints axis = call.ints(2, "an axis");
    if (axis.size() != 1) call.malformed("onnx.input", "one axis", to_string(axis));
    given = axis[0];
  }
  const auto axis = static_cast<std::size_t>(call.axis(given, rank));
  if (axis + 1 == rank) call.malformed("onnx.axis", "an axis before the last one", std::to_string(axis));
  const std::int64_t extent = x->shape[axis];
  const std::int64_t n = call.has(1) ? one_number(call, 1, "length") : inverse && onesided ? 2 * (extent - 1) : extent;
  if (n < 1 || (onesided && !inverse && x->shape.back() == 2))
    call.malformed("onnx.attribute", "onesided of a real signal of at least one element", to_string(x->shape));
  Complex parts = parts_of(call, x, axis);
  if (inverse && onesided) {
    parts = completed(call, {of_length(call, parts.re, n / 2 + 1), of_length(call, parts.im, n / 2 + 1)}, n);
    return {together(call, transform(call, parts, n, n, true), axis, true)};
  }
  parts = {of_length(call, parts.re, n), of_length(call, parts.im, n)};
  return {together(call, transform(call, parts, n, onesided ? n / 2 + 1 : n, inverse), axis, false)};
}

// Frames of a signal [batch, length, 1 or 2], times the window, each transformed.
Results lower_stft(Call& call) {
  const Operand& x = call.in(0);
  decline_floats(call);
  if (x->shape.size() != 3 || x->shape[2] < 1 || x->shape[2] > 2)
    call.malformed("onnx.shape", "a signal [batch, length, 1 or 2]", to_string(x->shape));
  const std::int64_t step = one_number(call, 1, "frame step");
  if (!call.has(2) && !call.has(3)) call.malformed("onnx.input", "a window or a frame length", "none of the two");
  const std::int64_t n = call.has(3) ? one_number(call, 3, "frame length") : static_cast<std::int64_t>(element_count(call.shape(2)));
  const bool onesided = call.attribute("onesided", std::int64_t{1}) != 0;
  if (n < 1 || n > x->shape[1] || (call.has(2) && call.shape(2) != Shape{n}) || (onesided && x->shape[2] == 2))
    call.malformed("onnx.shape", "a frame within the signal, a window of its length, onesided of real signals", std::to_string(n));
  const std::int64_t frames = (x->shape[1] - n) / step + 1;
  call.limit_fold({frames, n}, DType::int64);
  const auto framed = [&](std::int64_t part) {
    Ints of_signal;
    for (std::int64_t f = 0; f < frames; ++f) {
      for (std::int64_t i = 0; i < n; ++i) of_signal.push_back(f * step + i);
    }
    const Operand row = call.reshape(slice_axis(call, x, 2, part, 1), {x->shape[0], x->shape[1]});
    const Operand all = call.reshape(gather_axis(call, row, 1, std::move(of_signal)), {x->shape[0], frames, n});
    return call.has(2) ? call.emit(Op::mul, {all, call.in(2)}) : all;
  };
  const Complex y = transform(call, {framed(0), x->shape[2] == 2 ? framed(1) : nullptr}, n, onesided ? n / 2 + 1 : n, false);
  Shape wide = y.re->shape;
  wide.push_back(1);
  return {concat(call, {call.reshape(y.re, wide), call.reshape(y.im, wide)}, 3)};
}

}  // namespace assay::onnx
