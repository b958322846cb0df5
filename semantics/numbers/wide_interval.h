// WideInterval: closed intervals whose ends have 257 bits, for reference enclosures and transcendental functions.
//
// Every operation contains the exact image (inclusion principle). The arithmetic is Boost.Interval over MPFR, with a
// rounding policy of our own that calls mpfr_* with RNDD and RNDU. The library's default policy for this type rounds
// both ends to nearest and is unsound. Names and conventions are those of Interval.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "semantics/numbers/function.h"
#include "semantics/numbers/interval.h"
#include "semantics/numbers/rational.h"

namespace assay {

class WideInterval {
 public:
  WideInterval();                                        // [0, 0]
  WideInterval(double point);                            // NOLINT(google-explicit-constructor); NaN gives undefined()
  WideInterval(const Interval& enclosed);                // NOLINT(google-explicit-constructor); exact
  WideInterval(double lo, double hi);                    // NaN or lo > hi gives undefined()
  explicit WideInterval(const Rational& value);          // tightest enclosure
  WideInterval(const Rational& lo, const Rational& hi);  // tightest enclosure; lo > hi gives undefined()
  static WideInterval whole();
  static WideInterval undefined();
  static WideInterval pi();

  WideInterval(const WideInterval& other);
  WideInterval& operator=(const WideInterval& other);
  ~WideInterval();

  [[nodiscard]] bool is_undefined() const { return undefined_; }
  [[nodiscard]] bool is_point() const;
  [[nodiscard]] bool is_bounded() const;  // both ends finite
  [[nodiscard]] bool contains(double value) const;
  [[nodiscard]] bool contains(const Rational& value) const;
  [[nodiscard]] bool contains(const WideInterval& other) const;
  // The ends, exactly; nullopt for an infinite end and for undefined().
  [[nodiscard]] std::optional<Rational> lo() const;
  [[nodiscard]] std::optional<Rational> hi() const;
  // The ends as doubles, rounded outward; NaN for undefined().
  [[nodiscard]] double lo_down() const;
  [[nodiscard]] double hi_up() const;
  [[nodiscard]] Interval to_interval() const;    // the tightest Interval around it
  [[nodiscard]] WideInterval lower_end() const;  // the end as a point; undefined() stays undefined
  [[nodiscard]] WideInterval upper_end() const;
  [[nodiscard]] double width_up() const;      // hi - lo, rounded up
  [[nodiscard]] double magnitude_up() const;  // max |x|, rounded up

  // True only if the relation holds for every pair of points; never for undefined().
  friend bool certainly_less(const WideInterval& a, const WideInterval& b);
  friend bool certainly_less_equal(const WideInterval& a, const WideInterval& b);

  WideInterval operator-() const;
  friend WideInterval operator+(const WideInterval&, const WideInterval&);
  friend WideInterval operator-(const WideInterval&, const WideInterval&);
  friend WideInterval operator*(const WideInterval&, const WideInterval&);
  friend WideInterval operator/(const WideInterval&, const WideInterval&);  // undefined() if the divisor contains 0
  WideInterval& operator+=(const WideInterval& other) { return *this = *this + other; }
  WideInterval& operator-=(const WideInterval& other) { return *this = *this - other; }
  WideInterval& operator*=(const WideInterval& other) { return *this = *this * other; }
  friend bool operator==(const WideInterval&, const WideInterval&);  // same ends

 private:
  friend struct WideAccess;
  // The .cpp file checks it against the type stored there.
  static constexpr std::size_t kBytes = 144;
  alignas(8) unsigned char storage_[kBytes];
  bool undefined_ = false;
};

bool certainly_less(const WideInterval& a, const WideInterval& b);
bool certainly_less_equal(const WideInterval& a, const WideInterval& b);
[[nodiscard]] WideInterval hull(const WideInterval&, const WideInterval&);
[[nodiscard]] WideInterval intersect(const WideInterval&, const WideInterval&);

[[nodiscard]] WideInterval square(const WideInterval&);
[[nodiscard]] WideInterval abs(const WideInterval&);
[[nodiscard]] WideInterval sign(const WideInterval&);
[[nodiscard]] WideInterval floor(const WideInterval&);
[[nodiscard]] WideInterval round(const WideInterval&);  // to the nearest integer, ties to even
[[nodiscard]] WideInterval min(const WideInterval&, const WideInterval&);
[[nodiscard]] WideInterval max(const WideInterval&, const WideInterval&);
[[nodiscard]] WideInterval sqrt(const WideInterval&);
[[nodiscard]] WideInterval exp(const WideInterval&);
[[nodiscard]] WideInterval log(const WideInterval&);
[[nodiscard]] WideInterval tanh(const WideInterval&);
[[nodiscard]] WideInterval sigmoid(const WideInterval&);
[[nodiscard]] WideInterval erf(const WideInterval&);
[[nodiscard]] WideInterval sin(const WideInterval&);
[[nodiscard]] WideInterval cos(const WideInterval&);
[[nodiscard]] WideInterval pow(const WideInterval&, std::int64_t n);
[[nodiscard]] WideInterval pow(const WideInterval&, const Rational& r);

}  // namespace assay
