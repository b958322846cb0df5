#include "training/complex.h"

#include <cmath>
#include <numbers>
#include <string>
#include <utility>

#include "runtime/functions.h"
#include "training/layers/shapes.h"

namespace assay::training {

using namespace runtime;

Complex complex_parameter(const Scope& scope, std::string_view own_name, Array re, Array im) {
  const std::string name(own_name);
  const Value real = scope.parameter(name + ".real", std::move(re));
  return {real, scope.parameter(name + ".imag", std::move(im))};
}

std::vector<Value> parts_of(std::span<const Complex> values) {
  std::vector<Value> parts;
  for (const Complex& one : values) parts.insert(parts.end(), {one.re, one.im});
  return parts;
}

Complex operator+(const Complex& a, const Complex& b) { return {a.re + b.re, a.im + b.im}; }
Complex operator-(const Complex& a, const Complex& b) { return {a.re - b.re, a.im - b.im}; }
Complex operator*(const Complex& a, const Complex& b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
Complex operator/(const Complex& a, const Complex& b) {
  const Complex above = a * conj(b);
  const Value below = abs_squared(b);
  return {above.re / below, above.im / below};
}
Complex operator-(const Complex& a) { return {-a.re, -a.im}; }
Complex operator*(const Complex& a, const Value& b) { return {a.re * b, a.im * b}; }
Complex operator*(const Complex& a, double b) { return {a.re * b, a.im * b}; }

Complex matmul(const Complex& a, const Complex& b) {
  return {matmul(a.re, b.re) - matmul(a.im, b.im), matmul(a.re, b.im) + matmul(a.im, b.re)};
}

Complex linear(const Complex& x, const Complex& weight, const Complex& bias) {
  return {linear(x.re, weight.re, bias.re) - linear(x.im, weight.im), linear(x.re, weight.im, bias.im) + linear(x.im, weight.re)};
}

Complex conj(const Complex& z) { return {z.re, -z.im}; }
Value abs_squared(const Complex& z) { return square(z.re) + square(z.im); }

Value abs(const Complex& z) {
  const Value squares = abs_squared(z), zero = squares * 0.0, is_zero = apply(Op::equal, squares, zero);
  const Value elsewhere = sqrt(z.re.session().apply(Op::where, {is_zero, zero + 1, squares}));  // a root of 0 has no slope
  return z.re.session().apply(Op::where, {is_zero, zero, elsewhere});
}

Complex exp(const Complex& z) {
  const Value size = exp(z.re);
  return {size * cos(z.im), size * sin(z.im)};
}
Complex sin(const Complex& z) { return {sin(z.re) * apply(Op::cosh, z.im), cos(z.re) * apply(Op::sinh, z.im)}; }
Complex cos(const Complex& z) { return {cos(z.re) * apply(Op::cosh, z.im), -(sin(z.re) * apply(Op::sinh, z.im))}; }

Complex apart(const Complex& z, const std::function<Value(const Value&)>& f) { return {f(z.re), f(z.im)}; }

namespace {

// exp(-2 pi i j k / n) at [j, k].
Complex roots(Session& session, std::int64_t n, std::int64_t rows, std::int64_t columns) {
  std::vector<double> re, im;
  for (std::int64_t j = 0; j < rows; ++j) {
    for (std::int64_t k = 0; k < columns; ++k) {
      const double angle = 2 * std::numbers::pi * static_cast<double>(j * k % n) / static_cast<double>(n);
      re.push_back(std::cos(angle));
      im.push_back(-std::sin(angle));
    }
  }
  const Shape shape{rows, columns};
  return {session.input(numbers(session, shape, re), "roots"), session.input(numbers(session, shape, im), "roots")};
}

// With E and O the transforms of the elements at even and at odd places, y_k = E_k + w^k O_k and y_(k + n/2) = E_k - w^k O_k.
Complex transform(const Complex& z) {
  constexpr std::int64_t kMostByMatrix = 64;
  Session& session = z.re.session();
  const Shape shape = z.shape();
  const std::int64_t n = shape.back();
  if (n <= kMostByMatrix || n % 2 == 1) return matmul(z, roots(session, n, n, n));
  const std::size_t axis = shape.size() - 1;
  Shape pairs = shape;
  pairs.back() = n / 2;
  pairs.push_back(2);
  const Complex halves = transform(apart(z, [&](const Value& x) { return transpose(reshape(x, pairs), axis, axis + 1); }));
  const auto half = [&](std::int64_t which) { return apart(halves, [&](const Value& x) { return select(x, axis, which); }); };
  const Complex turns = apart(roots(session, n, 2, n / 2), [](const Value& x) { return select(x, 0, 1); });
  const Complex even = half(0), odd = half(1) * turns, first = even + odd, second = even - odd;
  return {concat({first.re, second.re}, static_cast<std::int64_t>(axis)), concat({first.im, second.im}, static_cast<std::int64_t>(axis))};
}

Complex checked(const Complex& z, Complex (*f)(const Complex&)) {
  if (!z.re.ok() || !z.im.ok()) return z;
  if (!z.shape().empty() && z.shape().back() > 0) return f(z);
  const Value failed = z.re.session().refuse({Rejection::Kind::malformed, "session.shape", "fft",
                                              "at least one element along the last axis", to_string(z.shape()), "transform something"});
  return {failed, failed};
}

}  // namespace

Complex fft(const Complex& z) { return checked(z, transform); }

// conj(fft(conj(z))) / n.
Complex inverse_fft(const Complex& z) {
  return checked(z, [](const Complex& y) { return conj(transform(conj(y))) * (1 / static_cast<double>(y.shape().back())); });
}

}  // namespace assay::training
