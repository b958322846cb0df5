// Planes below and above softmax in double arithmetic. The kernel derives the same planes rigorously, by its own
// choices, without hints.
//
// y_j = exp(x_j - s) with s = log sum exp(x). Below s: the concavity of log. Above s: a tangent of log and chords of
// exp. Below exp: its tangent in the middle. Above exp: the chord. Source: Wei et al. 2023, "Convex bounds on the
// softmax function with applications to robustness verification".
#pragma once

#include <cstddef>
#include <vector>

namespace assay::search {

// The planes of one row of `extent` numbers, which begins at `first` and is strided in memory. Plane j is sum over k of
// slopes[j * extent + k] x_k + intercepts[j].
class SoftmaxPlanes {
 public:
  struct Boxes {
    const double *x_lo, *x_hi, *y_lo, *y_hi;
    std::size_t stride;
  };
  // Boxes: pointers to the first element of the row.
  SoftmaxPlanes(std::size_t first, std::size_t extent, const Boxes& boxes);

  // a_x += a_j times plane j, the plane below if a_j > 0, else the plane above; returns the sum of a_j times the
  // intercepts. Both pointers are to whole tensors.
  double back(const double* a, double* a_x) const;
  // y_j = plane j at x, chosen as in back().
  void forward(const double* a, const double* x, double* y) const;

 private:
  struct Side {
    std::vector<double> slopes, intercepts;
  };
  [[nodiscard]] const Side& side(double a) const { return a > 0 ? below_ : above_; }
  std::size_t first_, extent_, stride_;
  Side below_, above_;
};

}  // namespace assay::search
