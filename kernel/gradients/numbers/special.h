// Operations of Opaque where an operand is infinite or no number. Private to this folder.
#pragma once

#include <cmath>

#include "kernel/gradients/numbers/opaque.h"

namespace assay::opaque {

inline bool has_value(const Opaque& a) { return !a.guide().is_undefined() && std::isfinite(a.guide().magnitude()); }
inline bool is_known(const Order& order) { return order.may_be_less || order.may_be_equal || order.may_be_greater; }
inline bool is_special(const Opaque& a) { return a.infinity() != 0 || a.is_nan(); }
inline bool is_any_nan(const Opaque& a, const Opaque& b) { return a.is_nan() || b.is_nan(); }

[[nodiscard]] Opaque special_sum(const Opaque& a, const Opaque& b);
[[nodiscard]] Opaque special_product(const Opaque& a, const Opaque& b);
[[nodiscard]] Opaque special_quotient(const Opaque& a, const Opaque& b);
[[nodiscard]] Opaque special_function(Function f, const Opaque& x);

}  // namespace assay::opaque
