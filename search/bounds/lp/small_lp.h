// strongest_combination(): the non-negative combination of a few linear forms with the largest minimum over a box.
//
// For a handful of forms: maximises min over the box of sum of w_r form_r, with w >= 0 and summing to 1. The dual is a
// program with one column for each form, solved by a dense tableau, with Bland's rule against cycles if it stalls.
#pragma once

#include <cstddef>
#include <vector>

namespace assay::search {

// a . x + constant over the box lo <= x <= hi.
struct LinearForm {
  std::vector<double> a;
  double constant = 0;
};

struct Combination {
  std::vector<double> weights;  // >= 0, summing to 1 after division by the forms' scales
  double value = 0;             // minimum over the box of the weighted sum; > 0: not all forms can be <= 0
  std::vector<double> point;    // the point of the box at which the largest form is smallest
};

// max over weights w >= 0, sum w_i scale_i = 1, of min over the box of sum w_i form_i. This is a matrix game, solved by
// the primal simplex method on its dual form (n + 1 rows for n inputs), which starts feasible. Non-rigorous.
[[nodiscard]] Combination strongest_combination(const std::vector<LinearForm>& forms, const std::vector<double>& lo,
                                                const std::vector<double>& hi);

}  // namespace assay::search
