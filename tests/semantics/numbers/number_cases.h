// Shared by the number tests: seeded operands of every kind, and a counter that keeps the first failure.
#pragma once

#include <array>
#include <bit>
#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <random>
#include <string>

namespace assay::test {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
inline constexpr double kTiny = 0x1p-1074;

inline constexpr std::array kEdges = {0.0,
                                      -0.0,
                                      kTiny,
                                      -kTiny,
                                      3 * kTiny,
                                      0x1p-1023,
                                      DBL_MIN,
                                      -DBL_MIN,
                                      0x1.fffffffffffffp-1023,
                                      0x1p-968,
                                      0x1p-960,
                                      0x1.8p-537,
                                      0x1p-537,
                                      -0x1p-538,
                                      1.0,
                                      -1.0,
                                      0x1.0000000000001p0,
                                      0x1.fffffffffffffp-1,
                                      3.0,
                                      -7.0,
                                      0.1,
                                      1.0 / 3.0,
                                      0x1p52,
                                      0x1.fffffffffffffp52,
                                      0x1p53,
                                      0x1p511,
                                      0x1p512,
                                      0x1.fffffffffffffp511,
                                      0x1p970,
                                      0x1p971,
                                      0x1p1023,
                                      DBL_MAX,
                                      -DBL_MAX,
                                      0x1.ffffffffffffep1023,
                                      kInfinity,
                                      -kInfinity};

inline std::string hex(double value) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%a", value);
  return text.data();
}

// Same number (zeros of either sign are one number), or both NaN.
inline bool same(double a, double b) { return a == b || (a != a && b != b); }

class Operands {
 public:
  explicit Operands(std::uint64_t seed) : engine_(seed) {}

  std::uint64_t bits() { return engine_(); }
  std::int64_t integer(std::int64_t lo, std::int64_t hi) { return std::uniform_int_distribution<std::int64_t>(lo, hi)(engine_); }
  double uniform(double lo, double hi) { return std::uniform_real_distribution<double>(lo, hi)(engine_); }
  double edge() { return kEdges[bits() % kEdges.size()]; }

  // A finite double whose exponent is uniform in [lo, hi], with a full, a short or a nearly-all-ones mantissa.
  double with_exponent(int lo, int hi) {
    const std::uint64_t random = bits();
    std::uint64_t mantissa = random >> 12;
    switch (random % 4) {
      case 0:
        mantissa &= ~std::uint64_t{0} << (bits() % 52);
        break;
      case 1:
        mantissa |= (~std::uint64_t{0} >> 12) << (bits() % 52);
        mantissa &= ~std::uint64_t{0} >> 12;
        break;
      default:
        break;
    }
    const double size = std::bit_cast<double>((std::uint64_t{1023} << 52) | mantissa);
    const double value = std::ldexp(size, static_cast<int>(integer(lo, hi)));
    return (random & 16) != 0 ? value : -value;
  }

  // All kinds in turn.
  double any() {
    switch (bits() % 8) {
      case 0:
        return edge();
      case 1:
        return static_cast<double>(integer(-64, 64));
      case 2:
        return with_exponent(-1074, -1000);
      case 3:
        return with_exponent(960, 1023);
      case 4:
        return with_exponent(-560, -460);
      case 5:
        return with_exponent(-1074, 1023);
      default:
        return with_exponent(-30, 30);
    }
  }
  double finite() {
    for (;;) {
      const double value = any();
      if (std::isfinite(value)) {
        return value;
      }
    }
  }

 private:
  std::mt19937_64 engine_;
};

class Mismatches {
 public:
  void expect(bool holds, const std::string& what) {
    ++checked_;
    if (!holds && failed_++ == 0) {
      first_ = what;
    }
  }
  template <class Describe>
  void expect_lazily(bool holds, Describe describe) {
    ++checked_;
    if (!holds && failed_++ == 0) {
      first_ = describe();
    }
  }
  [[nodiscard]] std::size_t checked() const { return checked_; }
  [[nodiscard]] std::size_t failed() const { return failed_; }
  [[nodiscard]] const std::string& first() const { return first_; }

 private:
  std::size_t checked_ = 0, failed_ = 0;
  std::string first_;
};

}  // namespace assay::test
