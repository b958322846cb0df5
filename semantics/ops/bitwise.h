// bitwise_and, bitwise_or, bitwise_xor: integers as strings of bits, in two's complement.
//
// Meaning.     Bit k of the result is the and, the or, or the exclusive or of the operands' bits k, where negative
//              numbers have the bits of the infinite two's complement. So the result depends only on the two numbers,
//              not on the width of their type.
// Shapes.      broadcast of the operands
// Domain.      Integers of 64 bits. The result cannot leave the range of the operands' type. Scalars without an order
//              lack these ops, and so does Rational beyond int64 ("denote.scalar").
// Side conditions. S1 the shapes broadcast, S2 the result is possible. Types: integers.
// Derivative.  0 by convention; undefined over sets of more than one number.
// Rounding.    None between two numbers. Over sets only the sizes are used. For p, q >= 0, both below 2^k:
//              and <= min(p, q); or >= max(p, q); or and xor < 2^k. For p, q in [-2^k, 2^k) all three results lie in
//              that range.
// Source.      ONNX BitwiseAnd, BitwiseOr, BitwiseXor
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <type_traits>

#include "semantics/ops/families.h"
#include "semantics/ops/indexing.h"

namespace assay::ops::bitwise {

static inline std::int64_t combined(Op op, std::int64_t a, std::int64_t b) {
  const auto p = static_cast<std::uint64_t>(a), q = static_cast<std::uint64_t>(b);
  if (op == Op::bitwise_and) return static_cast<std::int64_t>(p & q);
  return static_cast<std::int64_t>(op == Op::bitwise_or ? p | q : p ^ q);
}

// The integer that a double denotes, in the range where every integer is a double.
static inline std::optional<std::int64_t> whole(double value) {
  if (!(std::fabs(value) <= 0x1p53) || std::floor(value) != value) return std::nullopt;
  return static_cast<std::int64_t>(value);
}

// The least 2^k, found by exponents, such that both sets lie in [-2^k, 2^k).
static inline double limit_of(const Interval& a, const Interval& b) {
  const double largest = std::max({a.hi(), b.hi(), -1 - a.lo(), -1 - b.lo(), 1.0});
  return std::ldexp(1.0, std::ilogb(largest) + 1);
}

static inline Interval bits(Op op, const Interval& a, const Interval& b) {
  if (!std::isfinite(a.magnitude()) || !std::isfinite(b.magnitude())) return Interval::undefined();
  const std::optional<std::int64_t> p = whole(a.lo()), q = whole(b.lo());
  if (p && q && a.is_point() && b.is_point()) return Interval(static_cast<double>(combined(op, *p, *q)));
  const double limit = limit_of(a, b);
  if (a.lo() < 0 || b.lo() < 0) return {-limit, limit - 1};  // limit - 1 is exact, or rounds to limit
  if (op == Op::bitwise_and) return {0, std::min(a.hi(), b.hi())};
  return {op == Op::bitwise_or ? std::max(a.lo(), b.lo()) : 0, limit - 1};
}

static inline WideInterval bits(Op op, const WideInterval& a, const WideInterval& b) {
  return WideInterval(bits(op, a.to_interval(), b.to_interval()));
}

static inline Symbolic bits(Op op, const Symbolic& a, const Symbolic& b) {
  if (!a.is_constant() || !b.is_constant()) return Symbolic::nonlinear();
  return Symbolic(bits(op, a.constant(), b.constant()));
}

static inline Rational bits(Op op, const Rational& a, const Rational& b) { return Rational(combined(op, *a.to_int64(), *b.to_int64())); }

template <class S>
bool has_bits(const S&) {
  return true;
}
static inline bool has_bits(const Rational& x) { return x.to_int64().has_value(); }
static inline bool has_bits(const Dual<Rational>& x) { return has_bits(x.value()); }

template <class Float>
Float float_bits(Op op, Float a, Float b) {
  const std::optional<std::int64_t> p = whole(static_cast<double>(a)), q = whole(static_cast<double>(b));
  return p && q ? static_cast<Float>(combined(op, *p, *q)) : std::numeric_limits<Float>::quiet_NaN();
}
static inline double bits(Op op, double a, double b) { return float_bits(op, a, b); }
static inline float bits(Op op, float a, float b) { return float_bits(op, a, b); }

static inline Dual<Rational> bits(Op op, const Dual<Rational>& a, const Dual<Rational>& b) {
  return Dual<Rational>(bits(op, a.value(), b.value()));
}
static inline Dual<Interval> bits(Op op, const Dual<Interval>& a, const Dual<Interval>& b) {
  const Interval value = bits(op, a.value(), b.value());
  return {value, a.value().is_point() && b.value().is_point() ? Interval(0.0) : Interval::undefined()};
}

template <class S>
Outcome<Array<S>> denote(const Node& node, Operands<S> operands) {
  if constexpr (!ScalarTraits<S>::has_piecewise || ScalarTraits<S>::has_residues) {
    return no_function(node, ScalarTraits<S>::name);
  } else {
    Array<S> y{node.shape, {}};
    const std::size_t count = element_count(node.shape);
    y.values.reserve(count);
    Walk first = Walk::over(operands[0]->shape, node.shape);
    Walk second = Walk::over(operands[1]->shape, node.shape);
    for (std::size_t i = 0; i < count; ++i, first.next(), second.next()) {
      const S &a = operands[0]->values[first.offset()], &b = operands[1]->values[second.offset()];
      if (!has_bits(a) || !has_bits(b)) return no_function(node, ScalarTraits<S>::name);
      y.values.push_back(bits(node.op, a, b));
    }
    return y;
  }
}

}  // namespace assay::ops::bitwise
