// The image of a box under local_response, at 257 bits.
//
// y = g(t, r) with t = x_c, r = bias + a O, a = alpha/size, O the sum over the others, g(t, r) = t (r + a t^2)^-beta.
// |g| decreases in r, so the upper end takes the largest r for t < 0 and the smallest for t > 0, and the lower end the
// reverse. For t > 0, g increases as long as (2 beta - 1) a t^2 < r and then decreases (g is odd). So its extrema over
// an interval on one side of 0 are at the ends, or at t^2 = r / ((2 beta - 1) a), where g is enclosed. Each variable
// enters once, so the image is exact up to rounding. The bounds are derived here.

#include "semantics/ops/local_response.h"

namespace assay::ops::local_response {
namespace {

// g over t in [lo, hi], all of one sign, with r fixed.
WideInterval over_branch(const Constants<WideInterval>& constants, const WideInterval& lo, const WideInterval& hi, const WideInterval& r) {
  WideInterval image = hull(response(constants, lo, r), response(constants, hi, r));
  const WideInterval slope = WideInterval(Rational(2) * constants.beta - Rational(1)) * constants.a;
  if (!certainly_less(WideInterval(), slope)) return image;
  const WideInterval peak = sqrt(r / slope);
  const auto holds = [&](const WideInterval& at) { return !certainly_less(at, lo) && !certainly_less(hi, at); };
  for (const WideInterval& at : {peak, -peak}) {
    if (holds(at)) image = hull(image, response(constants, intersect(at, hull(lo, hi)), r));
  }
  return image;
}

}  // namespace

// The image over the part of t at or above 0 and over the part below, with the smallest and the largest r.
WideInterval enclosure(const Constants<WideInterval>& constants, const WideInterval& t, const WideInterval& r) {
  const WideInterval zero;
  WideInterval image = WideInterval::undefined();
  const auto add = [&](const WideInterval& lo, const WideInterval& hi) {
    for (const WideInterval& end : {r.lower_end(), r.upper_end()}) {
      const WideInterval part = over_branch(constants, lo, hi, end);
      image = image.is_undefined() ? part : hull(image, part);
    }
  };
  if (!certainly_less(t.lower_end(), zero)) {
    add(t.lower_end(), t.upper_end());
  } else if (!certainly_less(zero, t.upper_end())) {
    add(t.lower_end(), t.upper_end());
  } else {
    add(t.lower_end(), zero);
    add(zero, t.upper_end());
  }
  return image;
}

}  // namespace assay::ops::local_response
