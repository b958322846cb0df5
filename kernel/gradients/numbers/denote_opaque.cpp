// The denotations over Opaque numbers.

#include <limits>

#include "kernel/gradients/numbers/opaque.h"
#include "semantics/ops/denotation.h"

namespace assay {

// Functions that families of ops call on a scalar, found by the type of its argument. Numbers are already
// exact (semantics/ops/wide.h).
inline Opaque widened(const Opaque& x) { return x; }
inline Dual<Opaque> widened(const Dual<Opaque>& x) { return x; }
inline Opaque narrowed(const Opaque& x) { return x; }
inline Dual<Opaque> narrowed(const Dual<Opaque>& x) { return x; }
inline auto integers_of(const Opaque& x) { return ops::order::integers_of(x.guide()); }
inline double shift(const Opaque& x) {
  return x.infinity() != 0 ? x.infinity() * std::numeric_limits<double>::infinity() : x.guide().midpoint();
}
inline double shift(const Dual<Opaque>& x) { return shift(x.value()); }
inline Opaque raised(const Opaque& x, const Opaque& y) { return exp(y * log(x)); }
inline Dual<Opaque> raised(const Dual<Opaque>& x, const Dual<Opaque>& y) { return exp(y * log(x)); }

ASSAY_DENOTE_OVER(Opaque);
ASSAY_DENOTE_OVER(Dual<Opaque>);

}  // namespace assay
