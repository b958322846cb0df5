// Dual: the functions of dual_functions.h, compiled once for each scalar.

#include "semantics/numbers/dual_functions.h"

namespace assay {

template class Dual<Rational>;
template Dual<Rational> square(const Dual<Rational>&);
template Dual<Rational> pow(const Dual<Rational>&, std::int64_t);
template Dual<Rational> abs(const Dual<Rational>&);
template Dual<Rational> sign(const Dual<Rational>&);
template Dual<Rational> floor(const Dual<Rational>&);
template Dual<Rational> round(const Dual<Rational>&);
template Dual<Rational> min(const Dual<Rational>&, const Dual<Rational>&);
template Dual<Rational> max(const Dual<Rational>&, const Dual<Rational>&);

ASSAY_INSTANTIATE_DUAL(Interval);
ASSAY_INSTANTIATE_DUAL(WideInterval);

}  // namespace assay
