// Steps: records a formula, one step at a time.

#include "semantics/numbers/steps.h"

#include "semantics/demand.h"

namespace assay {
namespace {

// The variable that the form is, or null.
const std::uint32_t* single(const Symbolic& form) {
  const auto& terms = form.terms();
  return terms.size() == 1 && terms[0].second == Interval(1.0) && form.constant() == Interval(0.0) ? &terms[0].first : nullptr;
}

}  // namespace

Symbolic Steps::append(const Step& step) {
  steps_.push_back(step);
  demand(middles_.size() + steps_.size() <= UINT32_MAX, "Steps: variables are numbered in 32 bits");
  return variable(middles_.size() + steps_.size() - 1);
}

std::uint32_t Steps::named(const Symbolic& form) {
  if (const std::uint32_t* variable = single(form)) return *variable;
  sums_.push_back(form);
  return append({Kind::sum, static_cast<std::uint32_t>(sums_.size() - 1), 0}).terms()[0].first;
}

Symbolic Steps::product(const Symbolic& a, const Symbolic& b) {
  const std::uint32_t first = named(a), second = named(b);
  return first == second ? power(a, Rational(2)) : append({Kind::product, first, second});
}

// (a^e)^-1 = a^-e for e > 0. Both are defined for the same a: all except 0, and only positive ones unless e is
// an integer.
Symbolic Steps::power(const Symbolic& a, const Rational& exponent) {
  std::uint32_t base = named(a);
  Rational e = exponent;
  if (base >= middles_.size() && exponent == Rational(-1)) {
    const Step& inner = steps_[base - middles_.size()];
    if (inner.kind == Kind::power && exponents_[inner.b].sign() > 0) {
      base = inner.a;
      e = -exponents_[inner.b];
    }
  }
  const auto last = last_power_.find(base);
  if (last != last_power_.end() && exponents_[steps_[last->second - middles_.size()].b] == e) return variable(last->second);
  exponents_.push_back(std::move(e));
  const Symbolic power = append({Kind::power, base, static_cast<std::uint32_t>(exponents_.size() - 1)});
  last_power_[base] = power.terms()[0].first;
  return power;
}

Symbolic Steps::log_sum_exp(std::span<const Symbolic> x) {
  std::vector<std::uint32_t> list;
  for (const Symbolic& one : x) list.push_back(named(one));
  lists_.push_back(std::move(list));
  return append({Kind::log_sum_exp, static_cast<std::uint32_t>(lists_.size() - 1), 0});
}

double Steps::middle(const Symbolic& form) const {
  double value = form.constant().midpoint();
  for (const auto& [variable, coefficient] : form.terms())
    value += variable < middles_.size() ? coefficient.midpoint() * middles_[variable] : 0.0;
  return value;
}

Symbolic log_sum_exp(std::span<const Symbolic> x) {
  for (const Symbolic& one : x) {
    if (one.steps() != nullptr) return one.steps()->log_sum_exp(x);
  }
  Symbolic sum;
  for (const Symbolic& one : x) sum += exp(one - x[0]);
  return x[0] + log(sum);
}

}  // namespace assay
