// The scalar functions on double and float, for the reference execution: correctly rounded to nearest even (by MPFR),
// so that the same graph gives the same bits on every machine. NaN and infinities follow IEEE 754.
#pragma once

#include <cstdint>

#include "semantics/numbers/function.h"
#include "semantics/numbers/rational.h"

namespace assay {

[[nodiscard]] double square(double x);
[[nodiscard]] double abs(double x);
[[nodiscard]] double sign(double x);  // -1, 0 or 1; NaN gives NaN
[[nodiscard]] double floor(double x);
[[nodiscard]] double round(double x);          // to the nearest integer, ties to even
[[nodiscard]] double min(double a, double b);  // NaN if either is
[[nodiscard]] double max(double a, double b);
[[nodiscard]] double sqrt(double x);
[[nodiscard]] double exp(double x);
[[nodiscard]] double log(double x);
[[nodiscard]] double tanh(double x);
[[nodiscard]] double sigmoid(double x);
[[nodiscard]] double erf(double x);
[[nodiscard]] double sin(double x);
[[nodiscard]] double cos(double x);
[[nodiscard]] double pow(double x, std::int64_t n);
[[nodiscard]] double pow(double x, const Rational& r);  // NaN for x < 0 unless r is an integer

[[nodiscard]] float square(float x);
[[nodiscard]] float abs(float x);
[[nodiscard]] float sign(float x);
[[nodiscard]] float floor(float x);
[[nodiscard]] float round(float x);
[[nodiscard]] float min(float a, float b);
[[nodiscard]] float max(float a, float b);
[[nodiscard]] float sqrt(float x);
[[nodiscard]] float exp(float x);
[[nodiscard]] float log(float x);
[[nodiscard]] float tanh(float x);
[[nodiscard]] float sigmoid(float x);
[[nodiscard]] float erf(float x);
[[nodiscard]] float sin(float x);
[[nodiscard]] float cos(float x);
[[nodiscard]] float pow(float x, std::int64_t n);
[[nodiscard]] float pow(float x, const Rational& r);

}  // namespace assay
