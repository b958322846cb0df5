// Definitions shared by the quick judgements of sums. Private to this folder.
//
// Notation of docs/contracts/sums.md: s is the exact sum, m the number of its non-zero terms, S the sum of their
// magnitudes, n the number of all terms, u = 2^-24. c is s computed in double, where products of float32 numbers are
// exact: |c - s| <= d S, d = (n + 8) 2^-53 (1 + 2^-8) < 2^-38, since n <= 2^14.
//
// Q1  If y = c, the contract admits y. In the exact tier, and for m <= 1, c is s itself; otherwise |y - s| <= d S, far
//     below gamma_k S, for k >= m - 1 >= 1. For m = 1 the contract admits the float nearest to c, and that alone,
//     unless c is tiny.
// Q2  Let m >= 2 + p (p = 0 for products, 1 for sums of numbers), |y - c| <= (m - p) u T (1 - 2^-10) for some T <= S
//     (1 + d), and the element outside the exact tier. Then |y - s| <= (m - p) u S <= gamma_k S: the factor 1 - 2^-10
//     covers d, the rounding of y - c and that of T, since d <= 2^-14 u. T is |c|, or S in double. A lower bound of m
//     suffices. In a tree of height h, k is less if m is large: K = min(m, h + 1) - p replaces m - p in Q2 and Q5.
// Q3  The element is outside the exact tier if T > 2^(q + 25) for a q such that some non-zero term is an odd multiple
//     of 2^q: no larger power divides all terms.
// Q4  The element is not vacuous if 2 gamma_k <= 2^-8, which follows from n <= 2^14 or h <= 2^14. Tiny sums, where
//     underflow widens the set, are left to the contract.
// Q5  In float, which is faster: products are rounded, L of them in turn (4 or 16) are added up, these sums are added
//     up in double, then the bias. c is the result, S' the float sum of the magnitudes of the rounded products in a
//     row, and that of the bias. A term passes through at most k = L roundings to float, so with gamma_n < 2^-10
//     (1 + 2^-9) for n <= 2^14
//       |c - s| <= gamma_L S + n eta + 2^-38 S,   S' <= (1 + gamma_n) S + n eta.
//     Then T = S' (1 - 2^-9) is at most S if T > 2^-80, compared with which n eta <= 2^-135 is negligible. If
//     |y - c| <= (m - L - 1) u T, then |y - s| <= (m - 1) u S + (L^2 2^-23 + 2^-13) u S <= m u S, the conclusion of Q2,
//     and m > L. T < 2^100 shows that nothing overflowed: no partial sum is larger than that of the magnitudes, since
//     rounding is monotone. For Q3: the grain of a row times that of a column is at least 2^q for every non-zero
//     product, and there is one. A lower bound of their number: the non-zero numbers in the row, plus those in the
//     column, minus n.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "kernel/quick/quick.h"

namespace assay::quick {

inline constexpr double kU = 0x1p-24, kShrunk = 1 - 0x1p-10, kTiny = 0x1p-100;
inline constexpr double kShrunkInFloat = 1 - 0x1p-9, kLeastInFloat = 0x1p-80, kMostInFloat = 0x1p100;
inline constexpr std::size_t kMostTerms = 1 << 14;
// The most terms of a sum of numbers, for which d < 2^-30 is still below 2^-5 u.
inline constexpr std::size_t kMostSummed = 1 << 22;
inline constexpr double kSurelyVacuous = 1 << 16;  // with this many non-zero terms, in any order
inline constexpr double kSurelyNarrow = 1 << 14;   // a bound on h: Q4
// The K from which on the factor 1 - 2^-10 of Q2 covers d <= 2^-5 u.
inline constexpr double kManyRoundings = 1 << 7;
inline constexpr std::size_t kRows = 64;  // rows of one block
inline constexpr int kMostGrid = 900, kNoGrid = std::numeric_limits<int>::max() / 2;

// 2^q for -1022 <= q < 1024. The grids of float32 products lie between -298 and 256, those of sums up to 25 higher.
[[nodiscard]] double power_of_two(int q);
// Q1, or Q2 and Q3 for T = size, with `m` roundings allowed and a term on the grid 2^q.
[[nodiscard]] bool within(double y, double c, double size, double m, int q);
[[nodiscard]] bool all_finite(std::span<const float> values);
// h; infinity for sums in any order.
[[nodiscard]] double height_of(const ExecutionModel& model);

// A sum of numbers, with the quantities that Q2 needs.
struct Sum {
  double c = 0, size = 0, m = 0;
  int q = kNoGrid;
  void add(float term);
};

}  // namespace assay::quick
