// Enclosures of functions by Taylor polynomials: 2^-43 wide, relatively, and ten to a hundred times cheaper than MPFR's.
//
// A cell is an interval of width 2^-level around a multiple of that. The polynomial's coefficients are enclosures of the derivatives at the
// centre c, and the remainder's one of the n-th derivative over the whole cell (Taylor's theorem with Lagrange's remainder):
//   f(c + t) is in a_0 + a_1 t + ... + a_(n-1) t^(n-1) + f^(n)(cell) / n! t^n
// The polynomial is computed in double, with a bound of its rounding errors that is found when the cell is made. The derivatives follow
// from f's differential equation in interval arithmetic; values come from MPFR. Cells are made when first asked for, and kept per thread;
// where none is narrow enough MPFR answers. Proof: docs/contracts/taylor.md.
#pragma once

#include "semantics/numbers/function.h"
#include "semantics/numbers/interval.h"

namespace assay {

// Contains apply(f, x) wherever f is defined on all of x; undefined() elsewhere.
[[nodiscard]] Interval enclose(Function f, const Interval& x);

}  // namespace assay
