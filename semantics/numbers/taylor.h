// Values of functions by Taylor polynomials: as tight as MPFR's, and ten to a hundred times cheaper.
// Private to semantics.
//
// A cell is an interval of width 2^-level around a multiple of that. The polynomial's coefficients are enclosures of
// the derivatives at the centre c; the coefficient of the remainder encloses the n-th derivative over the whole cell
// (Taylor's theorem with Lagrange's remainder):
//   f(c + t) is in a_0 + a_1 t + ... + a_(n-1) t^(n-1) + f^(n)(cell) / n! t^n
// The polynomial is evaluated in double, its first terms in pairs of doubles. A bound on all rounding errors is
// computed with the cell. The derivatives follow from f's differential equation in interval arithmetic, those of the
// coefficients with 257 bits. If the error leaves it open which doubles are next to the value (Ziv's test), or no cell
// is narrow enough, there is no result, and MPFR computes the value. The result is the same by either method. Cells are
// made when they are needed repeatedly, and kept per thread. Proof: docs/contracts/taylor.md.
#pragma once

#include <cstdint>
#include <optional>

#include "semantics/numbers/function.h"
#include "semantics/numbers/interval.h"

namespace assay {

// x times a sigmoidal function: the normal distribution function, sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)),
// sigmoid(x), tanh(softplus(x)).
enum class Activation : std::uint8_t { gelu, gelu_tanh_form, silu, mish };

// Two neighbouring doubles that enclose f(x).
[[nodiscard]] std::optional<Interval> tight(Function f, double x);
[[nodiscard]] std::optional<Interval> tight(Activation f, double x);
// The double nearest to f(x).
[[nodiscard]] std::optional<double> nearest_double(Function f, double x);

}  // namespace assay
