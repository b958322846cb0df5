// Complex values as pairs of real ones: every function here is a composition of real ops, which sessions differentiate, compile
// and record, and audits judge, as any other. Pairs of float32 are complex64.
//
// Gradients of a real loss L are pairs as well, (dL/d re, dL/d im) = dL/d re + i dL/d im: the convention of PyTorch, along whose negative L
// falls fastest.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "training/model.h"

namespace assay::training {

struct Complex {
  Value re, im;  // of one type and shape
  [[nodiscard]] const Shape& shape() const { return re.shape(); }
};

// A parameter of two: "<name>.real" and "<name>.imag".
[[nodiscard]] Complex complex_parameter(const Scope& scope, std::string_view own_name, Array re, Array im);
// The real and the imaginary parameters of the list, for an optimiser or for gradients.
[[nodiscard]] std::vector<Value> parts_of(std::span<const Complex> values);

[[nodiscard]] Complex operator+(const Complex& a, const Complex& b);
[[nodiscard]] Complex operator-(const Complex& a, const Complex& b);
[[nodiscard]] Complex operator*(const Complex& a, const Complex& b);
[[nodiscard]] Complex operator/(const Complex& a, const Complex& b);  // a conj(b) / |b|^2
[[nodiscard]] Complex operator-(const Complex& a);
[[nodiscard]] Complex operator*(const Complex& a, const Value& b);  // real
[[nodiscard]] Complex operator*(const Complex& a, double b);
[[nodiscard]] Complex matmul(const Complex& a, const Complex& b);
[[nodiscard]] Complex linear(const Complex& x, const Complex& weight, const Complex& bias);  // x weight^T + bias, no conjugate

[[nodiscard]] Complex conj(const Complex& z);
[[nodiscard]] Value abs_squared(const Complex& z);
[[nodiscard]] Value abs(const Complex& z);  // its gradient at 0 is 0; the square may overflow or vanish
[[nodiscard]] Complex exp(const Complex& z);
[[nodiscard]] Complex sin(const Complex& z);
[[nodiscard]] Complex cos(const Complex& z);

// A real-linear function of tensors on both parts: layouts, sums, means.
[[nodiscard]] Complex apart(const Complex& z, const std::function<Value(const Value&)>& f);

// Along the last axis, n elements: y_k = sum over j of z_j exp(-2 pi i j k / n), and its inverse with exp(+...) / n. As products
// with matrices where n is at most 64 or odd, after halving (Cooley and Tukey 1965) while it is even and larger.
[[nodiscard]] Complex fft(const Complex& z);
[[nodiscard]] Complex inverse_fft(const Complex& z);

}  // namespace assay::training
