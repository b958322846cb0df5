// Dual numbers over Modular and Opaque, the fields of the gradient proofs.
#include "kernel/gradients/numbers/modular.h"
#include "kernel/gradients/numbers/opaque.h"
#include "semantics/numbers/dual_functions.h"

namespace assay {

inline bool surely_below(const Opaque& a, const Opaque& b) { return compare(a, b).may_be_less; }
inline Opaque joined(const Opaque& a, const Opaque& b) { return (a + b) * half<Opaque>(); }
inline bool is_infinite(const Opaque& v) { return v.infinity() != 0; }
inline Opaque at_jump(const Opaque&) { return Opaque::undefined(); }
inline bool may_be_integer(const Opaque& v, const Opaque& floor_of_v) { return !surely_below(floor_of_v, v); }
template <>
inline Opaque two_over_root_pi() {
  static const Opaque value = number<Opaque>(2) / sqrt(Opaque::pi());
  return value;
}

template class Dual<Modular>;
template Dual<Modular> square(const Dual<Modular>&);
template Dual<Modular> pow(const Dual<Modular>&, std::int64_t);

ASSAY_INSTANTIATE_DUAL(Opaque);

}  // namespace assay
