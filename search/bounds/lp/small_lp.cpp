// strongest_combination(): a simplex tableau of a few columns.
//
// Source: the primal simplex method (Dantzig 1951) with Bland's rule against cycles (Bland 1977) in the second half
// of its steps. How this version differs: the first basis is feasible by construction, so no first phase is needed;
// reduced costs are compared in units of their columns; and the number of pivots is limited, since any weights give
// a bound.

#include "search/bounds/lp/small_lp.h"

#include <algorithm>
#include <cmath>

namespace assay::search {
namespace {

// With x = lo + x', 0 <= x' <= h and d_i = form_i(lo), the game is
//   max  sum d_i y_i - sum h_j p_j   s.t.  sum scale_i y_i = 1,   sum_i a_ij y_i + p_j - s_j = 0,   y, p, s >= 0.
//
// Columns: y, then p, then s. Rows: one for each input, then the sum. The first basis: one y, and p_j or s_j of
// every input.
class Tableau {
 public:
  Tableau(const std::vector<LinearForm>& forms, const std::vector<double>& lo, const std::vector<double>& hi)
      : m_(forms.size()), n_(lo.size()), columns_(m_ + 2 * n_ + 1), cells_((n_ + 1) * columns_, 0.0), cost_(columns_, 0.0), basis_(n_ + 1) {
    for (std::size_t i = 0; i < m_; ++i) {
      double value = forms[i].constant, norm = 1e-300;
      for (std::size_t j = 0; j < n_; ++j) {
        cell(j, i) = forms[i].a[j];
        value += forms[i].a[j] * lo[j];
        norm = std::max(norm, std::fabs(forms[i].a[j]) * (hi[j] - lo[j]));
      }
      cell(n_, i) = std::max(norm, std::fabs(value));
      cost_[i] = value;
    }
    for (std::size_t j = 0; j < n_; ++j) {
      cell(j, m_ + j) = 1;
      cell(j, m_ + n_ + j) = -1;
      cost_[m_ + j] = -(hi[j] - lo[j]);
      basis_[j] = m_ + j;
    }
    cell(n_, columns_ - 1) = 1;
    basis_[n_] = 0;
    pivot(n_, 0);
    for (std::size_t j = 0; j < n_; ++j) {
      if (cell(j, columns_ - 1) < 0) {  // s_j instead of p_j
        for (std::size_t c = 0; c < columns_; ++c) cell(j, c) = -cell(j, c);
        basis_[j] = m_ + n_ + j;
      }
    }
    // Reduced costs: c - c_B B^-1 A.
    reduced_ = cost_;
    for (std::size_t r = 0; r <= n_; ++r) {
      const double price = cost_[basis_[r]];
      for (std::size_t c = 0; c < columns_; ++c) reduced_[c] -= price * cell(r, c);
    }
  }

  void solve() {
    const std::size_t limit = 50 * (n_ + 2);
    for (std::size_t step = 0; step < limit; ++step) {
      std::size_t enter = columns_;
      double best = 1e-12;
      for (std::size_t c = 0; c + 1 < columns_; ++c) {
        const double scale = c < m_ ? 1.0 : std::fabs(cost_[c]) + 1e-12;
        if (reduced_[c] > best * scale && (step < limit / 2 ? reduced_[c] / scale > best : enter == columns_)) {
          enter = c;
          if (step < limit / 2) best = reduced_[c] / scale;
        }
      }
      if (enter == columns_) return;
      std::size_t leave = n_ + 1;
      double ratio = INFINITY;
      for (std::size_t r = 0; r <= n_; ++r) {
        if (!(cell(r, enter) > 1e-12)) continue;
        const double candidate = cell(r, columns_ - 1) / cell(r, enter);
        if (candidate < ratio || (candidate == ratio && basis_[r] < basis_[leave])) {
          ratio = candidate;
          leave = r;
        }
      }
      if (leave > n_) return;
      pivot(leave, enter);
      const double price = reduced_[enter];
      for (std::size_t c = 0; c < columns_; ++c) reduced_[c] -= price * cell(leave, c);
      basis_[leave] = enter;
    }
  }

  [[nodiscard]] std::vector<double> weights() const {
    std::vector<double> y(m_, 0.0);
    for (std::size_t r = 0; r <= n_; ++r) {
      if (basis_[r] < m_) y[basis_[r]] = std::max(0.0, cells_[r * columns_ + columns_ - 1]);
    }
    return y;
  }
  // The multiplier of input row j is x'_j: the reduced cost of s_j.
  [[nodiscard]] double shift(std::size_t j) const { return -reduced_[m_ + n_ + j]; }

 private:
  double& cell(std::size_t r, std::size_t c) { return cells_[r * columns_ + c]; }
  void pivot(std::size_t row, std::size_t column) {
    const double inverse = 1 / cell(row, column);
    for (std::size_t c = 0; c < columns_; ++c) cell(row, c) *= inverse;
    for (std::size_t r = 0; r <= n_; ++r) {
      if (r == row) continue;
      const double factor = cell(r, column);
      if (factor == 0) continue;
      for (std::size_t c = 0; c < columns_; ++c) cell(r, c) -= factor * cell(row, c);
    }
  }
  std::size_t m_, n_, columns_;
  std::vector<double> cells_, cost_, reduced_;
  std::vector<std::size_t> basis_;
};

}  // namespace

Combination strongest_combination(const std::vector<LinearForm>& forms, const std::vector<double>& lo, const std::vector<double>& hi) {
  Tableau tableau(forms, lo, hi);
  tableau.solve();
  Combination result{tableau.weights(), 0, {}};
  std::vector<double> sum(lo.size(), 0.0);
  for (std::size_t i = 0; i < forms.size(); ++i) {
    result.value += result.weights[i] * forms[i].constant;
    for (std::size_t j = 0; j < lo.size(); ++j) sum[j] += result.weights[i] * forms[i].a[j];
  }
  for (std::size_t j = 0; j < lo.size(); ++j) {
    result.value += sum[j] * (sum[j] > 0 ? lo[j] : hi[j]);
    result.point.push_back(std::clamp(lo[j] + tableau.shift(j), lo[j], hi[j]));
  }
  return result;
}

}  // namespace assay::search
