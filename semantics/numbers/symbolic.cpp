// Symbolic: arithmetic of affine forms; any other operation becomes a step.

#include "semantics/numbers/symbolic.h"

#include <algorithm>

#include "semantics/numbers/steps.h"

namespace assay {
namespace {

using Term = std::pair<std::uint32_t, Interval>;

// Whether the coefficient is exactly zero, so that the variable does not occur. (False for undefined coefficients.)
bool is_zero(const Interval& x) { return x.lo() == 0 && x.hi() == 0; }

template <class F>
Symbolic of_constant(const Symbolic& x, F f) {
  return x.is_constant() ? Symbolic(f(x.constant())) : Symbolic::nonlinear();
}

bool has_steps(const Symbolic& x) { return x.is_linear() && !x.terms().empty() && x.steps() != nullptr; }

// f of a constant, otherwise the step.
template <class F>
Symbolic of_constant(const Symbolic& x, F f, Steps::Kind kind) {
  return has_steps(x) ? x.steps()->append({kind, x.steps()->named(x), 0}) : of_constant(x, f);
}

}  // namespace

Symbolic Symbolic::variable(std::uint32_t index, Steps* steps) {
  Symbolic result;
  result.steps_ = steps;
  result.terms_.emplace_back(index, Interval(1.0));
  return result;
}

Symbolic Symbolic::nonlinear() {
  Symbolic result;
  result.linear_ = false;
  return result;
}

Symbolic Symbolic::operator-() const {
  Symbolic result(*this);
  result.constant_ = -constant_;
  for (Term& term : result.terms_) {
    term.second = -term.second;
  }
  return result;
}

// Sums usually add their variables in increasing order, so that the merge appends.
Symbolic& Symbolic::operator+=(const Symbolic& other) {
  if (!linear_ || !other.linear_) {
    return *this = nonlinear();
  }
  constant_ += other.constant_;
  if (steps_ == nullptr) steps_ = other.steps_;
  if (terms_.empty() || other.terms_.empty() || terms_.back().first < other.terms_.front().first) {
    const std::vector<Term> added(other.terms_);  // a copy: `other` may be *this
    terms_.insert(terms_.end(), added.begin(), added.end());
    return *this;
  }
  std::vector<Term> merged;
  merged.reserve(terms_.size() + other.terms_.size());
  auto a = terms_.cbegin();
  auto b = other.terms_.cbegin();
  while (a != terms_.cend() || b != other.terms_.cend()) {
    if (b == other.terms_.cend() || (a != terms_.cend() && a->first < b->first)) {
      merged.push_back(*a++);
    } else if (a == terms_.cend() || b->first < a->first) {
      merged.push_back(*b++);
    } else {
      const Interval coefficient = a->second + b->second;
      if (!is_zero(coefficient)) {
        merged.emplace_back(a->first, coefficient);
      }
      ++a;
      ++b;
    }
  }
  terms_ = std::move(merged);
  return *this;
}

Symbolic operator+(const Symbolic& a, const Symbolic& b) {
  Symbolic result(a);
  return result += b;
}

Symbolic operator-(const Symbolic& a, const Symbolic& b) { return a + -b; }

Symbolic operator*(const Symbolic& a, const Symbolic& b) {
  if (has_steps(a) && has_steps(b)) return a.steps_->product(a, b);
  if (!a.linear_ || !b.linear_ || (!a.terms_.empty() && !b.terms_.empty())) {
    return Symbolic::nonlinear();
  }
  const Symbolic& form = a.terms_.empty() ? b : a;
  const Interval& factor = a.terms_.empty() ? a.constant_ : b.constant_;
  Symbolic result(form.constant_ * factor);
  result.steps_ = form.steps_;
  if (!is_zero(factor)) {
    result.terms_.reserve(form.terms_.size());
    for (const Term& term : form.terms_) {
      const Interval coefficient = term.second * factor;
      if (!is_zero(coefficient)) {
        result.terms_.emplace_back(term.first, coefficient);
      }
    }
  }
  return result;
}

Symbolic operator/(const Symbolic& a, const Symbolic& b) {
  if (has_steps(b)) return a * b.steps()->power(b, Rational(-1));
  if (!a.linear_ || !b.is_constant()) {
    return Symbolic::nonlinear();
  }
  Symbolic result(a);
  result.constant_ = a.constant_ / b.constant_;
  for (Term& term : result.terms_) {
    term.second = term.second / b.constant_;
  }
  return result;
}

Symbolic min(const Symbolic& a, const Symbolic& b) {
  if (a.is_constant() && b.is_constant()) return min(a.constant(), b.constant());
  return b + of_constant(
                 a - b, [](const Interval& c) { return min(c, Interval(0.0)); }, Steps::Kind::negative_part);
}
Symbolic max(const Symbolic& a, const Symbolic& b) {
  return a.is_constant() && b.is_constant() ? Symbolic(max(a.constant(), b.constant())) : -min(-a, -b);
}

Symbolic square(const Symbolic& x) { return pow(x, std::int64_t{2}); }
Symbolic abs(const Symbolic& x) {
  return of_constant(
      x, [](const Interval& c) { return abs(c); }, Steps::Kind::abs);
}
Symbolic sign(const Symbolic& x) {
  return of_constant(x, [](const Interval& c) { return sign(c); });
}
Symbolic floor(const Symbolic& x) {
  return of_constant(
      x, [](const Interval& c) { return floor(c); }, Steps::Kind::floor);
}
Symbolic round(const Symbolic& x) {
  return of_constant(x, [](const Interval& c) { return round(c); });
}
Symbolic apply(Function f, const Symbolic& x) {
  const auto of = [f](const Interval& c) { return apply(f, c); };
  if (f == Function::exp) return of_constant(x, of, Steps::Kind::exp);
  return f == Function::log ? of_constant(x, of, Steps::Kind::log) : of_constant(x, of);
}
Symbolic sqrt(const Symbolic& x) {
  return has_steps(x) ? x.steps()->power(x, Rational(1, 2)) : of_constant(x, [](const Interval& c) { return sqrt(c); });
}
Symbolic exp(const Symbolic& x) { return apply(Function::exp, x); }
Symbolic log(const Symbolic& x) { return apply(Function::log, x); }
Symbolic tanh(const Symbolic& x) { return apply(Function::tanh, x); }
Symbolic sigmoid(const Symbolic& x) { return apply(Function::sigmoid, x); }
Symbolic erf(const Symbolic& x) { return apply(Function::erf, x); }
Symbolic sin(const Symbolic& x) { return apply(Function::sin, x); }
Symbolic cos(const Symbolic& x) { return apply(Function::cos, x); }

Symbolic pow(const Symbolic& x, std::int64_t n) {
  if (x.is_linear() && (n == 0 || n == 1)) {
    return n == 0 ? Symbolic(1.0) : x;
  }
  return has_steps(x) ? x.steps()->power(x, Rational(n)) : of_constant(x, [n](const Interval& c) { return pow(c, n); });
}

Symbolic pow(const Symbolic& x, const Rational& r) {
  if (const auto n = r.to_int64()) {
    return pow(x, *n);
  }
  return has_steps(x) ? x.steps()->power(x, r) : of_constant(x, [&r](const Interval& c) { return pow(c, r); });
}

}  // namespace assay
