// Opaque: residues, guides, and functions as random oracles.

#include "kernel/gradients/numbers/opaque.h"

#include <array>
#include <bit>
#include <cmath>
#include <utility>

#include "kernel/gradients/numbers/special.h"

namespace assay {

using namespace opaque;

namespace {

__extension__ using UInt128 = unsigned __int128;
using Residues = Opaque::Residues;
constexpr std::uint64_t kP = Opaque::kPrime, kQ = Opaque::kTwinPrime;
static_assert(kP == 2 * kQ + 1);

constexpr std::uint64_t plus(std::uint64_t a, std::uint64_t b, std::uint64_t prime) { return a + b >= prime ? a + b - prime : a + b; }
constexpr std::uint64_t minus(std::uint64_t a, std::uint64_t prime) { return a == 0 ? 0 : prime - a; }
// a b for a, b < prime = 2^k - c, c < 2^17. Since 2^k = c (mod prime), high 2^k + low = high c + low; applied twice.
constexpr std::uint64_t times(std::uint64_t a, std::uint64_t b, std::uint64_t prime) {
  const int k = prime == kP ? 62 : 61;
  const std::uint64_t c = (std::uint64_t{1} << k) - prime, mask = (std::uint64_t{1} << k) - 1;
  const UInt128 product = static_cast<UInt128>(a) * b;
  // Below 2^(k + 18).
  const UInt128 folded = (product >> k) * c + (static_cast<std::uint64_t>(product) & mask);
  // Below 2^k + 2^35.
  const std::uint64_t rest = static_cast<std::uint64_t>(folded >> k) * c + (static_cast<std::uint64_t>(folded) & mask);
  return rest >= prime ? rest - prime : rest;
}
static_assert(kP == (std::uint64_t{1} << 62) - 96545 && kQ == (std::uint64_t{1} << 61) - 48273);
static_assert(times(kP - 1, kP - 1, kP) == 1 && times(kQ - 1, kQ - 1, kQ) == 1);
constexpr std::uint64_t raised(std::uint64_t base, std::uint64_t exponent, std::uint64_t prime) {
  std::uint64_t result = 1;
  for (; exponent != 0; exponent >>= 1) {
    if ((exponent & 1) != 0) result = times(result, base, prime);
    base = times(base, base, prime);
  }
  return result;
}
// By Euclid's algorithm, with the invariant rest = factor a (mod prime); 0 for 0.
constexpr std::uint64_t inverse(std::uint64_t a, std::uint64_t prime) {
  std::int64_t rest = static_cast<std::int64_t>(prime), next = static_cast<std::int64_t>(a), factor = 0, next_factor = 1;
  while (next != 0) {
    const std::int64_t quotient = rest / next;
    rest = std::exchange(next, rest - quotient * next);
    factor = std::exchange(next_factor, factor - quotient * next_factor);
  }
  return a == 0 ? 0 : static_cast<std::uint64_t>(factor < 0 ? factor + static_cast<std::int64_t>(prime) : factor);
}
static_assert(times(inverse(kP - 3, kP), kP - 3, kP) == 1 && times(inverse(kQ / 5, kQ), kQ / 5, kQ) == 1 && inverse(1, kP) == 1);

// The fixed pseudo-random values, one per name and argument: the output function of splitmix64 (Steele, Lea,
// Flood 2014).
constexpr std::uint64_t mixed(std::uint64_t name, std::uint64_t argument) {
  std::uint64_t z = argument + (name + 1) * 0x9e3779b97f4a7c15;
  for (int round = 0; round < 2; ++round) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
  }
  return z;
}
constexpr std::uint64_t kTwinName = 100, kConstantName = 101, kDrawName = 102, kDrawTwinName = 103;

constexpr std::uint64_t squared(std::uint64_t a) { return times(a, a, kP); }
// gamma^kLogTwin = 2, so that log 2 has a twin, and x / log 2 one by which exp2(x / log 2) is exp(x).
constexpr std::uint64_t kLogTwin = mixed(kConstantName, 0) % kQ, kGamma = raised(2, inverse(kLogTwin, kQ), kP);
static_assert(raised(kGamma, kLogTwin, kP) == 2);
constexpr Residues kNone{kP, 0, 0}, kAbove{kP, 0, 1}, kBelow{kP, 0, 2}, kNan{kP, 0, 3};  // the last three: no numbers
constexpr Residues kOne{1, 1, 1};
constexpr Residues kHalf{(kP + 1) / 2, (kQ + 1) / 2, 1};

// gamma^exponent from gamma^(2^k).
std::uint64_t gamma_raised(std::uint64_t exponent) {
  static constexpr auto kPowers = [] {
    std::array<std::uint64_t, 64> powers{kGamma};
    for (std::size_t k = 1; k < powers.size(); ++k) powers[k] = squared(powers[k - 1]);
    return powers;
  }();
  std::uint64_t result = 1;
  for (std::size_t k = 0; exponent != 0; ++k, exponent >>= 1) {
    if ((exponent & 1) != 0) result = times(result, kPowers[k], kP);
  }
  return result;
}

bool is_square(std::uint64_t a, std::uint64_t prime) { return raised(a, (prime - 1) / 2, prime) <= 1; }
// A number of which only the residue modulo p is known.
Residues with_fresh_twin(std::uint64_t value) { return {value, mixed(kTwinName, value) % kQ, 1}; }
Residues drawn_value(Function f, std::uint64_t argument) { return with_fresh_twin(mixed(static_cast<std::uint64_t>(f), argument) % kP); }
constexpr Residues kPi{squared(mixed(kConstantName, 1) % kP), mixed(kConstantName, 2) % kQ, 1};

std::uint64_t residue_of(const Rational& value, std::uint64_t prime) {
  const FractionResidues fraction = residues_of(value, prime);
  return times(fraction.numerator, inverse(fraction.denominator, prime), prime);
}
bool divides_denominator(const Rational& value) {
  return residues_of(value, kP).denominator == 0 || residues_of(value, kQ).denominator == 0;
}
Residues exactly(const Rational& value) {
  const auto integer = value.to_int64();
  if (integer && *integer >= 0 && *integer < (std::int64_t{1} << 60)) {
    return {static_cast<std::uint64_t>(*integer), static_cast<std::uint64_t>(*integer), 1};
  }
  return divides_denominator(value) ? kNone : Residues{residue_of(value, kP), residue_of(value, kQ), 1};
}

bool is_none(const Residues& a) { return a.value >= kP; }

Residues operator+(const Residues& a, const Residues& b) {
  if (is_none(a) || is_none(b)) return kNone;
  return {plus(a.value, b.value, kP), plus(a.twin, b.twin, kQ), a.power == 1 ? b.power : times(a.power, b.power, kP)};
}
Residues operator-(const Residues& a) { return is_none(a) ? kNone : Residues{minus(a.value, kP), minus(a.twin, kQ), inverse(a.power, kP)}; }
Residues operator-(const Residues& a, const Residues& b) { return a + (-b); }

// power^exponent, if that is defined for an exponent modulo q.
std::uint64_t power_raised(std::uint64_t power, std::uint64_t exponent) {
  if (power == 1 || exponent == 1) return power;
  return is_square(power, kP) ? raised(power, exponent, kP) : 0;
}

// exp((A + log w) c) = exp(A c) w^c
Residues operator*(const Residues& a, const Residues& b) {
  if (is_none(a) || is_none(b)) return kNone;
  const std::uint64_t value = times(a.value, b.value, kP);
  if (a.power != 1 && b.power != 1) return with_fresh_twin(value);
  return {value, times(a.twin, b.twin, kQ), a.power == 1 ? power_raised(b.power, a.twin) : power_raised(a.power, b.twin)};
}
Residues operator/(const Residues& a, const Residues& b) {
  if (is_none(a) || is_none(b) || b.value == 0) return kNone;
  const std::uint64_t value = times(a.value, inverse(b.value, kP), kP);
  if (b.power != 1 || b.twin == 0) return with_fresh_twin(value);
  const std::uint64_t over = inverse(b.twin, kQ);
  return {value, times(a.twin, over, kQ), power_raised(a.power, over)};
}

Residues exponential(const Residues& x) {
  if (is_none(x) || x.power == 0) return kNone;
  const Residues plain = with_fresh_twin(times(gamma_raised(x.twin), x.power, kP));
  return plain.value == 1 ? kOne : plain;
}
Residues logarithm(const Residues& x) {
  if (is_none(x) || x.value == 0) return kNone;
  if (std::has_single_bit(x.value) || x.value == kHalf.value) {  // log 2^k = k log 2
    const Residues count = exactly(Rational(x.value == kHalf.value ? -1 : std::countr_zero(x.value)));
    return count * Residues{drawn_value(Function::log, 2).value, kLogTwin, 1};
  }
  return {drawn_value(Function::log, x.value).value, 0, x.value};
}

// f(-x) = -f(x)
Residues odd(Function f, const Residues& x) {
  if (x.value == 0) return {};
  return x.value <= kP / 2 ? drawn_value(f, x.value) : -drawn_value(f, kP - x.value);
}
Residues arc_cosine(const Residues& x) {
  const Residues half_pi = kPi * kHalf;
  return half_pi - (x.value == 1 ? half_pi : x.value == kP - 1 ? -half_pi : odd(Function::asin, x));
}
// How often x was doubled since its size was next above 2^-40, as far as the guide shows; at most 64 times.
int doublings(const Interval& guide) {
  constexpr int kLeast = -40;
  const double size = guide.is_undefined() || guide.contains(0) ? 0 : std::fabs(guide.midpoint());
  return size >= std::ldexp(1, kLeast) && size < std::ldexp(1, kLeast + 64) ? std::ilogb(size) - kLeast : 0;
}
// The point (cos x, sin x) of the circle is ((1 - t^2) / (1 + t^2), 2t / (1 + t^2)) for a drawn odd function t(x). So that
// points of x and 2x belong together, t is drawn for a small half of a half of x, and the angle is doubled again.
Residues on_circle(Function f, const Residues& x, const Interval& guide) {
  const int count = doublings(guide);
  const Residues t = odd(Function::sin, {times(x.value, raised(kHalf.value, static_cast<std::uint64_t>(count), kP), kP), 0, 1});
  const Residues t2 = t * t, over = kOne / (kOne + t2);
  Residues cosine = (kOne - t2) * over, sine = (t + t) * over;
  for (int i = 0; i < count; ++i) {
    const Residues product = cosine * sine;
    cosine = cosine * cosine - sine * sine;
    sine = product + product;
  }
  return f == Function::sin ? sine : cosine;
}

Residues applied(Function f, const Residues& x, const Interval& guide) {
  if (is_none(x)) return kNone;
  switch (f) {
    case Function::exp:
      return exponential(x);
    case Function::log:
      return logarithm(x);
    case Function::tanh: {
      const Residues e = exponential(x), e2 = e * e;
      return (e2 - kOne) / (e2 + kOne);
    }
    case Function::sigmoid:
      return exponential(x) / (kOne + exponential(x));
    case Function::sinh:
    case Function::cosh: {
      const Residues e = exponential(x), over = kOne / e;
      return (f == Function::sinh ? e - over : e + over) * kHalf;
    }
    case Function::expm1:
      return exponential(x) - kOne;
    case Function::log1p:
      return logarithm(kOne + x);
    case Function::softplus:
      return logarithm(kOne + exponential(x));
    case Function::erf:
    case Function::atan:
    case Function::asinh:
    case Function::atanh:
      return odd(f, x);
    case Function::erfc:
      return kOne - odd(Function::erf, x);
    case Function::sin:
    case Function::cos:
      return on_circle(f, x, guide);
    case Function::tan:
      return on_circle(Function::sin, x, guide) / on_circle(Function::cos, x, guide);
    case Function::asin:
      return kPi * kHalf - arc_cosine(x);
    case Function::acos:
      return arc_cosine(x);
    case Function::acosh:
      return x.value == 1 ? Residues{} : drawn_value(f, x.value);
  }
  return kNone;
}

bool is_zero(const Interval& side) { return side.lo() == 0 && side.hi() == 0; }

// The guide and the side of f(x): f and its derivative on intervals.
template <class F>
Dual<Interval> guided(const F& f, const Interval& guide, const Interval& side) {
  if (is_zero(side)) return f(guide);
  return f(Dual<Interval>(guide, side));
}

// Whether the number is 0 (except for a coincidence modulo p), as far as its guide can show: for example x - mean(x) of
// one element.
bool is_zero(const Opaque& a) { return a.residue() == 0 && a.guide().contains(0); }

bool is_below(const Opaque& a, const Opaque& b) { return compare(a, b).may_be_less; }

}  // namespace

Opaque::Opaque(const Rational& value, double side) : residues_(exactly(value)), guide_(value), side_(side) {}

Opaque Opaque::drawn(double guide, std::uint64_t seed, Draw draw) {
  const bool beyond = draw == Draw::sine && std::fabs(guide) >= 1;
  std::uint64_t value = 0;
  for (std::uint64_t name = kDrawName;; name += 2) {
    const std::uint64_t t = mixed(name, seed) % kP, t2 = squared(t);
    if (draw == Draw::any)
      value = t2;
    else if (beyond)
      value = times(plus(t2, inverse(t2, kP), kP), kHalf.value, kP);
    else if (draw == Draw::sine)
      value = times(plus(t, t, kP), inverse(plus(1, t2, kP), kP), kP);
    else
      value = times(plus(t, minus(inverse(t, kP), kP), kP), kHalf.value, kP);
    const bool positive = draw == Draw::any || is_square(value, kP);
    if (positive == (guide > 0)) break;
    if (beyond) continue;  // the forms of such points are not odd
    value = minus(value, kP);
    break;
  }
  return {{value, mixed(kDrawTwinName, seed) % kQ, 1}, Interval(guide), {}};
}
Opaque Opaque::pi() { return {kPi, WideInterval::pi().to_interval(), {}}; }
Opaque Opaque::undefined() { return {kNone, Interval::whole(), Interval::whole()}; }
Opaque Opaque::infinite(int sign) { return {sign < 0 ? kBelow : kAbove, Interval::whole(), Interval::whole()}; }
int Opaque::infinity() const {
  return has_residue() || is_nan() ? 0 : residues_.power == kAbove.power ? 1 : residues_.power == kBelow.power ? -1 : 0;
}
bool Opaque::is_nan() const { return !has_residue() && residues_.power == kNan.power; }
Opaque Opaque::nan() { return {kNan, Interval::undefined(), Interval::whole()}; }

Opaque Opaque::operator-() const {
  if (is_special(*this)) return is_nan() ? *this : Opaque::infinite(-infinity());
  return {-residues_, -guide(), -side_};
}
Opaque operator+(const Opaque& a, const Opaque& b) {
  if (is_special(a) || is_special(b)) return special_sum(a, b);
  return {a.residues_ + b.residues_, a.guide() + b.guide(), is_zero(a.side_) ? b.side_ : a.side_ + b.side_};
}
Opaque operator-(const Opaque& a, const Opaque& b) {
  if (is_special(a) || is_special(b)) return special_sum(a, -b);
  return {a.residues_ - b.residues_, a.guide() - b.guide(), a.side_ - b.side_};
}
Opaque operator*(const Opaque& a, const Opaque& b) {
  if (is_special(a) || is_special(b)) return special_product(a, b);
  const bool plain = is_zero(a.side_) && is_zero(b.side_);
  // 0 times a number is 0, whether or not that number has a residue. The guide remains the product of the guides.
  if (plain && (is_zero(a) ? has_value(b) : is_zero(b) && has_value(a))) return {Residues{}, a.guide() * b.guide(), {}};
  return {a.residues_ * b.residues_, a.guide() * b.guide(), plain ? Interval() : a.guide() * b.side_ + a.side_ * b.guide()};
}
Opaque operator/(const Opaque& a, const Opaque& b) {
  if (is_special(a) || is_special(b)) return special_quotient(a, b);
  if (is_zero(a) && is_zero(b) && a.guide().is_point() && b.guide().is_point()) return Opaque::nan();
  const bool plain = is_zero(a.side_) && is_zero(b.side_);
  const Interval guide = a.guide() / b.guide();
  return {a.residues_ / b.residues_, guide, plain ? Interval() : (a.side_ - guide * b.side_) / b.guide()};
}

void Opaque::settle() const {
  guide_ = apply(*pending_, guide_);
  pending_.reset();
}

Opaque apply(Function f, const Opaque& x) {
  if (is_special(x)) return special_function(f, x);
  if (is_zero(x.side_)) {
    Opaque result(applied(f, x.residues_, x.guide()), x.guide(), {});
    result.pending_ = f;
    return result;
  }
  const auto guide = guided([f](const auto& at) { return Dual<Interval>(apply(f, at)); }, x.guide(), x.side_);
  return {applied(f, x.residues_, x.guide()), guide.value(), guide.tangent()};
}

Opaque pow(const Opaque& x, std::int64_t n) {
  if (n == 1) return x;
  const auto guide = guided([n](const auto& at) { return Dual<Interval>(pow(at, n)); }, x.guide(), x.side_);
  if (n == 0) return Opaque(Rational(1));
  const auto size = n < 0 ? std::uint64_t{0} - static_cast<std::uint64_t>(n) : static_cast<std::uint64_t>(n);
  const Residues& at = x.residues_;
  Residues positive = is_none(at) ? kNone : Residues{raised(at.value, size, kP), raised(at.twin, size, kQ), 1};
  if (!is_none(at) && at.power != 1) positive = with_fresh_twin(positive.value);
  return {n < 0 ? kOne / positive : positive, guide.value(), guide.tangent()};
}

Opaque pow(const Opaque& x, const Rational& r) {
  if (const auto n = r.to_int64()) return pow(x, *n);
  const bool is_root = r == Rational(1, 2);
  const bool cheap = !is_root && is_zero(x.side_) && x.guide().lo() > 0;
  const auto guide = cheap ? Dual<Interval>(exp(Interval(r) * log(x.guide())))
                           : guided([&](const auto& at) { return Dual<Interval>(is_root ? sqrt(at) : pow(at, r)); }, x.guide(), x.side_);
  const Residues& at = x.residues_;
  const bool exists = !is_none(at) && is_square(at.value, kP) && !divides_denominator(r) && (at.value != 0 || r.sign() > 0);
  if (!exists) return {kNone, guide.value(), guide.tangent()};
  Residues root = with_fresh_twin(raised(at.value, residue_of(r, kQ), kP));
  const bool twin_has_root = is_root && at.power == 1 && is_square(at.twin, kQ);
  if (twin_has_root) root.twin = raised(at.twin, (kQ + 1) / 4, kQ);  // q = 3 (mod 4)
  return {root, guide.value(), guide.tangent()};
}

Opaque square(const Opaque& x) { return pow(x, 2); }
Opaque sqrt(const Opaque& x) { return pow(x, Rational(1, 2)); }

Opaque min(const Opaque& a, const Opaque& b) {
  if (is_any_nan(a, b)) return Opaque::nan();
  return !is_known(compare(a, b)) ? Opaque::undefined() : is_below(b, a) ? b : a;
}
Opaque max(const Opaque& a, const Opaque& b) {
  if (is_any_nan(a, b)) return Opaque::nan();
  return !is_known(compare(a, b)) ? Opaque::undefined() : is_below(a, b) ? b : a;
}
Opaque floor(const Opaque& x) {
  const Interval below = floor(x.guide());
  const auto integer = Rational::from_double(below.lo());
  if (!below.is_point() || !integer) return Opaque::undefined();
  const Opaque result(*integer);
  // For a number at an integer that is displaced downward.
  return is_below(x, result) ? Opaque(*integer - Rational(1)) : result;
}
Opaque round(const Opaque& x) {
  const Opaque shifted = x + Opaque(Rational(1, 2)), result = floor(shifted);
  return compare(shifted, result).may_be_equal ? Opaque::undefined() : result;
}

// At a tie both are the same number, by their residues. Then the sides decide; neighbouring points may be equal.
Order compare(const Opaque& a, const Opaque& b) {
  if (is_special(a) || is_special(b)) {
    const int s = a.infinity(), t = b.infinity();
    const bool are_values = (s != 0 || has_value(a)) && (t != 0 || has_value(b));
    return are_values ? Order{s<t, s == t, s> t} : Order{};
  }
  const Order guides = compare(a.guide(), b.guide());
  if (!guides.may_be_equal) return guides;
  if (!(a == b)) return {};
  const Order sides = compare(a.side(), b.side());
  const bool equal = a.side().is_point() && b.side().is_point() && sides.may_be_equal;
  return equal || !sides.may_be_equal ? sides : Order{};
}

}  // namespace assay
