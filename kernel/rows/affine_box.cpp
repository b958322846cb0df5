// The box of an affine node: each map is applied to midpoints and radii.
//
// Rounding:
// - half: the difference of two doubles is off by at most u times itself, which kOut covers. The same holds for width,
//   with two sums.
// - The error bound (rows.h) covers the sums of products.
// - The ends c -+ w are off by at most u |c -+ w|. One step of 2 u |c -+ w| covers that down to the subnormals, where
//   sums are exact.

#include <algorithm>
#include <cmath>

#include "kernel/rows/lanes.h"
#include "kernel/rows/rows.h"
#include "semantics/numbers/directed.h"

namespace assay::rows {
namespace {

constexpr double kOut = 1 + 0x1p-50;  // more than two roundings of non-negative numbers
constexpr double kStep = 0x1p-52;     // 2 u

ASSAY_TARGETS void middle(std::size_t n, const double* lo, const double* hi, double* mid, double* half) {
  for (std::size_t j = 0; j < n; ++j) {
    const double m = lo[j] / 2 + hi[j] / 2, up = hi[j] - m, down = m - lo[j];
    mid[j] = m;
    half[j] = (up > down ? up : down) * kOut;
  }
}

// Turns centres (in lo) and radii (in hi) into ends; an element that is not finite becomes the whole line.
ASSAY_TARGETS void ends(std::size_t n, const double* error, double absolute, double* lo, double* hi) {
  for (std::size_t i = 0; i < n; ++i) {
    const double c = lo[i], width = (hi[i] + (error[i] + absolute)) * kOut;
    const bool finite = (std::fabs(c) < INFINITY) & (width < INFINITY);
    const double l = c - width, h = c + width;
    lo[i] = finite ? l - std::fabs(l) * kStep : -INFINITY;
    hi[i] = finite ? h + std::fabs(h) * kStep : INFINITY;
  }
}

}  // namespace

relax::Box affine_box(const AffineForm& form, const Boxes& boxes, const ErrorBound& error_bound) {
  const std::size_t size = form.bias.size();
  relax::Box box{form.bias, std::vector<double>(size, 0.0)};
  thread_local std::vector<double> mid, half;
  for (const AffineForm::Part& part : form.parts) {
    const relax::Box& x = *boxes[part.operand];
    mid.resize(x.lo.size());
    half.resize(x.lo.size());
    middle(mid.size(), x.lo.data(), x.hi.data(), mid.data(), half.data());
    part.map->apply(1, mid.data(), box.lo.data());
    part.map->apply_magnitude(half.data(), box.hi.data());
  }
  ends(size, error_bound.per_element.data(), error_bound.absolute, box.lo.data(), box.hi.data());
  return box;
}

// Each row is one entry with coefficient 1 and bias 0, or a bias alone, because for integers and truth values only
// layout ops are affine (affine_form). So both ends are exact sums with 0.
relax::Box copied_box(const AffineForm& form, const Boxes& boxes) {
  relax::Box box{form.bias, form.bias};
  for (std::size_t i = 0; i < form.bias_error.size(); ++i) {
    box.lo[i] = sub_down(box.lo[i], form.bias_error[i]);
    box.hi[i] = add_up(box.hi[i], form.bias_error[i]);
  }
  for (const AffineForm::Part& part : form.parts) {
    part.map->apply(1, boxes[part.operand]->lo.data(), box.lo.data());
    part.map->apply(1, boxes[part.operand]->hi.data(), box.hi.data());
  }
  return box;
}

}  // namespace assay::rows
