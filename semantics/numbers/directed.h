// Directed rounding of single double operations by error-free transforms.
//
// Each function returns the correctly rounded result in the stated direction: the largest double <= the exact value
// (_down) or the smallest >= it (_up). The rounding mode is never set; kernel entries demand that it is to nearest.
// Infinite operands follow the extended reals; 0 * inf = 0 (interval convention); NaN gives NaN. A finite result that
// overflows gives the largest finite double on the inner side, and an infinity on the outer side.
#pragma once

namespace assay {

[[nodiscard]] double add_down(double a, double b);
[[nodiscard]] double add_up(double a, double b);
[[nodiscard]] double sub_down(double a, double b);
[[nodiscard]] double sub_up(double a, double b);
[[nodiscard]] double mul_down(double a, double b);
[[nodiscard]] double mul_up(double a, double b);
[[nodiscard]] double div_down(double a, double b);  // b != 0
[[nodiscard]] double div_up(double a, double b);
[[nodiscard]] double sqrt_down(double a);  // a >= 0
[[nodiscard]] double sqrt_up(double a);

// The same for float32 as a storage format: the nearest float <= (>=) a.
[[nodiscard]] float float_down(double a);
[[nodiscard]] float float_up(double a);

// Whether this thread computes as the trusted layers assume: round to nearest, no flush-to-zero, no denormals-are-zero,
// FLT_EVAL_METHOD == 0. Checked at every kernel entry.
[[nodiscard]] bool floating_point_environment_is_standard();

}  // namespace assay
