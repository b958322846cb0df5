// softmax, log_softmax and log_sum_exp over lines of boxes, at 257 bits.
//
// Let L_i = log sum_{j != i} exp(x_j). Then softmax is sigmoid(x_i - L_i) and log_softmax is -softplus(L_i - x_i). L_i
// increases in every x_j, and x_i - L_i in x_i. So each result is least (greatest) with x_i at its lower (upper) end
// and all others at their upper (lower) ends. No element occurs at both ends, so the images are exact up to rounding. A
// logarithm of a sum subtracts the greatest of its terms, whose power is then 1, so no sum is 0, however far apart the
// terms are. Infinite ends and lines of one element are left to the formulas in softmax.h.

#include "semantics/ops/softmax.h"

#include <optional>
#include <vector>

namespace assay::ops::softmax {
namespace {

// log(sum exp(x_k)) of finite points. The greatest is subtracted first, so that its power is 1.
WideInterval log_of_powers(const std::vector<WideInterval>& x, std::optional<std::size_t> but = std::nullopt) {
  std::optional<WideInterval> m;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (k != but && (!m || certainly_less(*m, x[k]))) m = x[k];
  WideInterval sum;
  for (std::size_t k = 0; k < x.size(); ++k)
    if (k != but) sum += exp(x[k] - *m);
  return *m + log(sum);
}

// For each of two or more points, the same over all others. For the greatest point it is computed separately, because
// beside it the powers of the others may all be too small to be distinguished from 0.
std::vector<WideInterval> logs_of_others(const std::vector<WideInterval>& x) {
  const std::size_t n = x.size();
  std::size_t top = 0;
  for (std::size_t k = 1; k < n; ++k)
    if (certainly_less(x[top], x[k])) top = k;
  // Behind: the sum of the powers after each one.
  std::vector<WideInterval> powers, behind(n), logs;
  for (const WideInterval& each : x) powers.push_back(exp(each - x[top]));
  for (std::size_t k = n; k-- > 1;) behind[k - 1] = behind[k] + powers[k];
  WideInterval before;
  for (std::size_t k = 0; k < n; ++k) {
    logs.push_back(k == top ? log_of_powers(x, top) : x[top] + log(before + behind[k]));
    before += powers[k];
  }
  return logs;
}

// For each element, x_i minus the logarithm of the sum of the other powers of the line, from x_i at one end and all
// others at the other. softmax is its sigmoid, and -log_softmax the softplus of its negative. nullopt for a single
// element and for infinite ends.
std::optional<std::vector<WideInterval>> leads(const std::vector<WideInterval>& x) {
  std::vector<WideInterval> low, high, y;
  for (const WideInterval& each : x) {
    if (!each.is_bounded() || x.size() < 2) return std::nullopt;
    low.push_back(each.lower_end());
    high.push_back(each.upper_end());
  }
  const std::vector<WideInterval> least = logs_of_others(low), most = logs_of_others(high);
  for (std::size_t i = 0; i < x.size(); ++i) y.push_back(hull((low[i] - most[i]).lower_end(), (high[i] - least[i]).upper_end()));
  return y;
}

// The y_i of one line, with one exponential per end: exp(x_j - x_i) is the quotient of exp(x_j - m) and
// exp(x_i - m), and x_i enters all of them on one side. nullopt if an end is so far away that its power would be 0
// or infinite at 257 bits.
std::optional<std::vector<WideInterval>> line_by_powers(const std::vector<WideInterval>& x) {
  constexpr double kFar = 0x1p29;
  const WideInterval m = common_shift(x), one = 1.0;
  const std::size_t n = x.size();
  std::vector<WideInterval> low, high;  // powers of the ends
  for (const WideInterval& each : x) {
    if (!each.is_bounded() || !((each - m).magnitude_up() <= kFar)) return std::nullopt;
    low.push_back(exp(each.lower_end() - m));
    high.push_back(exp(each.upper_end() - m));
  }
  // Sums of the powers after each one.
  std::vector<WideInterval> low_behind(n), high_behind(n);
  for (std::size_t i = n; i-- > 1;) {
    low_behind[i - 1] = low_behind[i] + low[i];
    high_behind[i - 1] = high_behind[i] + high[i];
  }
  std::vector<WideInterval> y;
  WideInterval low_before, high_before;
  for (std::size_t i = 0; i < n; ++i) {
    const WideInterval least = one / (one + (high_before + high_behind[i]) / low[i]),
                       most = one / (one + (low_before + low_behind[i]) / high[i]);
    y.push_back(hull(least, most));
    low_before += low[i];
    high_before += high[i];
  }
  return y;
}

}  // namespace

std::optional<std::vector<WideInterval>> softmax_line(const std::vector<WideInterval>& x) {
  if (auto y = line_by_powers(x)) return y;
  auto y = leads(x);
  for (std::size_t i = 0; y && i < x.size(); ++i) (*y)[i] = apply(Function::sigmoid, (*y)[i]);
  return y;
}

std::optional<std::vector<WideInterval>> log_softmax_line(const std::vector<WideInterval>& x) {
  auto y = leads(x);
  for (std::size_t i = 0; y && i < x.size(); ++i) (*y)[i] = -apply(Function::softplus, -(*y)[i]);
  return y;
}

std::optional<WideInterval> log_sum(const std::vector<WideInterval>& x) {
  std::vector<WideInterval> low, high;
  for (const WideInterval& each : x) {
    if (!each.is_bounded()) return std::nullopt;
    low.push_back(each.lower_end());
    high.push_back(each.upper_end());
  }
  if (x.empty()) return std::nullopt;
  return hull(log_of_powers(low), log_of_powers(high));
}

}  // namespace assay::ops::softmax
