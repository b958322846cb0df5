// Bounds the steps of a formula one after the other. On the whole box, for real numbers a, b, h and weights pi_j >= 0
// with sum 1:
//
//   a v              >= a below(v) for a >= 0, a above(v) for a < 0
//   v w              >= a v + b w + t     any a, b; t the least of (v - b) (w - a) - a b over the two ranges
//   f(v)             >= a v + t           any a; t from v's range, as in unary_line
//   log sum exp(v_j) >= sum pi_j v_j - sum pi_j log pi_j          any pi
//   log sum exp(v_j) <= sum (a_j v_j + t_j) - h - 1               any a_j, h; t_j the greatest of exp(v + h) - a_j v
//                                                                 over the ends of v_j's range
//   v                >= the range's lower end
//
// and dually above. The range of a step is that of its operands' ranges by interval arithmetic; for a sum it is also
// narrowed by the ranges of its forms.
//
// Reasons:
// - Product: v w - a v - b w = (v - b) (w - a) - a b, and interval arithmetic contains the values of both products.
// - Lower bound of log sum exp: log is concave (Jensen), applied to log sum pi_j (exp(v_j) / pi_j).
// - Upper bound of log sum exp: log s <= s - 1 at s = sum exp(v_j + h), with chords of a convex function.
// - A sum of inequalities holds, and a form may replace its number on the side that the factor's sign asks for.
//
// Choices (choices.h): slopes, weights, a_j, h and the mix of the McCormick planes. A form that is no nearer than the
// range's end at the box's centre is replaced by that end.
// Rounding: coefficients are real numbers in intervals, which contain the result of every operation on them. A factor
// whose sign is not known multiplies the number's range instead of a form.
// Source: McCormick 1976, composition of relaxations; Wei et al. 2023, "Convex bounds on the softmax function with
// applications to robustness verification", for the two bounds of log-sum-exp.

#include "kernel/relax/bounded.h"

#include <algorithm>
#include <cmath>

#include "semantics/interrupt.h"

namespace assay::relax {
namespace {

using Kind = Steps::Kind;

// The part of the range within [lo, hi]; an end that is NaN is ignored.
Interval narrowed(const Interval& range, double lo, double hi) {
  return {lo > range.lo() ? lo : range.lo(), hi < range.hi() ? hi : range.hi()};
}

bool is_finite(const Interval& range) { return std::isfinite(range.lo()) && std::isfinite(range.hi()); }

// The step as a node with one operand.
Node op_of(const Steps& steps, const Steps::Step& step) {
  Node f;
  f.operands = {0};
  f.op = step.kind == Kind::exp ? Op::exp : step.kind == Kind::log ? Op::log : step.kind == Kind::abs ? Op::abs : Op::floor;
  if (step.kind == Kind::negative_part) {
    f.op = Op::clip;
    f.attributes = ClipAttributes{-INFINITY, 0};
  }
  if (step.kind == Kind::power) {
    const Rational& r = steps.exponents()[step.b];
    f.op = r == Rational(2) ? Op::mul : r == Rational(1, 2) ? Op::sqrt : Op::pow;
    if (f.op == Op::pow) f.attributes = PowAttributes{r};
  }
  return f;
}

struct Plane {
  double a, b, t;
};

// The plane a v + b w + t below (above) v w; t is not finite if there is none. Any mix gives a plane; mixes in [0, 1]
// give those between McCormick's two planes. A factor that is a point has no slope: the plane is the product itself,
// and t is 0. Operations that are exact add no rounding error, since margins of products may be exactly 0.
Plane mccormick(const Interval& v, const Interval& w, double mix, bool lower) {
  const auto between = [mix](double first, double second) { return first == second ? first : mix * first + (1 - mix) * second; };
  const double a = v.is_point() ? 0 : lower ? between(w.lo(), w.hi()) : between(w.hi(), w.lo());
  const double b = w.is_point() ? 0 : between(v.lo(), v.hi());
  if (!std::isfinite(a) || !std::isfinite(b)) return {a, b, NAN};
  const Interval rest = (v - Interval(b)) * (w - Interval(a)) - Interval(a) * Interval(b);
  return {a, b, lower ? rest.lo() : rest.hi()};
}

// The bound below (above) that follows from the range alone.
std::shared_ptr<const Form> end_of(const Interval& range, bool lower) {
  return std::make_shared<const Form>(Form{Interval(lower ? range.lo() : range.hi()), {}});
}

}  // namespace

Interval range_over(const Form& form, std::span<const Interval> x) {
  Interval range = form.constant;
  for (const auto& [k, slope] : form.terms) range += slope * x[k];
  return range;
}

double at_centre(const Form& form, std::span<const Interval> x) {
  double value = form.constant.midpoint();
  for (const auto& [k, slope] : form.terms) value += slope.midpoint() * x[k].midpoint();
  return value;
}

BoundedSteps::BoundedSteps(const Steps& steps, const Choices& choices, std::vector<Interval> x, std::span<const Symbolic> results)
    : steps_(steps),
      choices_(choices),
      x_(std::move(x)),
      entries_(x_.size() + steps.steps().size()),
      slopes_(x_.size()),
      has_slope_(x_.size(), 0) {
  std::size_t v = x_.size();
  for (const Steps::Step& step : steps.steps()) {
    Entry& entry = entries_[v++];
    entry.has_mix = step.kind == Kind::product;
    steps.each_operand(step, [&](std::uint32_t operand) {
      ++entries_[operand].uses;
      entry.has_mix = entry.has_mix || entries_[operand].has_mix;
    });
  }
  for (const Symbolic& result : results) {
    for (const auto& term : result.terms()) ++entries_[term.first].uses;
  }
}

bool BoundedSteps::is_known(std::uint32_t v) const {
  return entries_[v].value != nullptr && (!entries_[v].has_mix || entries_[v].mix == mix_);
}

// Depth first, with a stack of its own: a step stays on the stack until its operands above it are known.
void BoundedSteps::require(std::uint32_t wanted) {
  std::vector<std::uint32_t> open{wanted};
  while (!open.empty()) {
    const std::uint32_t v = open.back();
    const std::size_t before = open.size();
    if (!is_known(v) && v >= x_.size()) {
      steps_.each_operand(steps_.steps()[v - x_.size()], [&](std::uint32_t operand) {
        if (!is_known(operand)) open.push_back(operand);
      });
    }
    if (open.size() > before) continue;
    if (!is_known(v)) {
      entries_[v].value = std::make_unique<const Bounded>(value_of(v));
      entries_[v].mix = mix_;
    }
    open.pop_back();
  }
}

// Frees the value of a step that no other step reads.
void BoundedSteps::consume(std::uint32_t v) {
  if (v >= x_.size() && entries_[v].uses == 1) entries_[v].value.reset();
}

Bounded BoundedSteps::value_of(std::uint32_t v) {
  if (v < x_.size()) {
    const auto form = std::make_shared<const Form>(Form{Interval(0.0), {{v, Interval(1.0)}}});
    return {x_[v], form, form};
  }
  const Steps::Step& step = steps_.steps()[v - x_.size()];
  Bounded y = step.kind == Kind::sum           ? sum(steps_.sums()[step.a])
              : step.kind == Kind::product     ? product(at(step.a), at(step.b))
              : step.kind == Kind::log_sum_exp ? log_sum_exp(steps_.lists()[step.a])
              : step.kind == Kind::either      ? either(at(step.a), at(step.b))
                                               : function(step, at(step.a), v == known_variable_ ? known_ : Interval::whole());
  steps_.each_operand(step, [&](std::uint32_t operand) { consume(operand); });
  return y;
}

Forms BoundedSteps::planes(const Symbolic& result, const Interval& known, const ChosenSides& mixes) {
  mix_ += mixes.below == mixes_.below && mixes.above == mixes_.above ? 0 : 1;
  mixes_ = mixes;
  const bool is_step = result.terms().size() == 1 && result.terms()[0].second == Interval(1.0) && result.constant() == Interval(0.0);
  known_variable_ = is_step ? result.terms()[0].first : UINT32_MAX;
  known_ = known;
  for (const auto& term : result.terms()) {
    if (!is_plain(term)) require(term.first);
  }
  Forms planes = is_step && !is_plain(result.terms()[0]) ? Forms{at(known_variable_).below, at(known_variable_).above} : forms(result);
  for (const auto& term : result.terms()) consume(term.first);
  return planes;
}

Forms BoundedSteps::forms(const Symbolic& sum) {
  poll(100 * sum.terms().size());
  const auto side = [&](bool lower) {
    constant_ = sum.constant();
    for (const auto& term : sum.terms()) {
      if (is_known(term.first))
        add(term.second, at(term.first), lower);
      else
        add_plain(steps_.steps()[term.first - x_.size()], lower);
    }
    return take();
  };
  const bool is_affine = std::ranges::all_of(
      sum.terms(), [&](const auto& term) { return is_known(term.first) && at(term.first).below == at(term.first).above; });
  auto below = side(true);
  return {below, is_affine ? below : side(false)};
}

Bounded BoundedSteps::sum(const Symbolic& form) {
  const auto [below, above] = forms(form);
  if (below == above) return {range_over(*below, x_), below, above};
  Interval range = form.constant();
  for (const auto& [v, coefficient] : form.terms()) range += coefficient * at(v).range;
  return {narrowed(range, range_over(*below, x_).lo(), range_over(*above, x_).hi()), below, above};
}

Bounded BoundedSteps::product(const Bounded& v, const Bounded& w) {
  poll(500);
  const Interval range = v.range * w.range;
  const auto side = [&](bool lower) {
    const Plane plane = mccormick(v.range, w.range, lower ? mixes_.below : mixes_.above, lower);
    if (!std::isfinite(plane.t)) return end_of(range, lower);
    constant_ = Interval(plane.t);
    add(Interval(plane.a), v, lower);
    add(Interval(plane.b), w, lower);
    return take();
  };
  return {range, side(true), side(false)};
}

bool BoundedSteps::is_plain(const std::pair<std::uint32_t, Interval>& term) const {
  if (term.first < x_.size() || !(term.second == Interval(1.0))) return false;
  const Steps::Step& step = steps_.steps()[term.first - x_.size()];
  return step.kind == Kind::product && step.a < x_.size() && step.b < x_.size();
}

void BoundedSteps::add_plain(const Steps::Step& step, bool lower) {
  const Plane plane = mccormick(x_[step.a], x_[step.b], lower ? mixes_.below : mixes_.above, lower);
  if (!std::isfinite(plane.t)) {
    const Interval range = x_[step.a] * x_[step.b];
    constant_ += Interval(lower ? range.lo() : range.hi());
    return;
  }
  constant_ += Interval(plane.t);
  add_slope(step.a, Interval(plane.a));
  add_slope(step.b, Interval(plane.b));
}

// A known range of exp(v) also bounds its operand: v = log(exp(v)).
Bounded BoundedSteps::function(const Steps::Step& step, Bounded v, const Interval& known) {
  if (step.kind == Kind::exp) v.range = narrowed(v.range, log(Interval(known.lo())).lo(), log(Interval(known.hi())).hi());
  const Node op = op_of(steps_, step);
  const UnaryFunction f(op);
  const Interval range = f.on(Dual<Interval>(v.range)).value();
  const auto pieces = is_finite(v.range) ? f.pieces(v.range.lo(), v.range.hi()) : std::vector<Piece>{};
  const auto side = [&](bool lower) {
    const ChosenLine line = choices_.line_of_step(f, pieces, lower);
    constant_ = Interval(unary_intercept(f, pieces, lower, line));
    add(Interval(line.slope), v, lower);
    return nearer(take(), range, lower);
  };
  return {range, side(true), side(false)};
}

// A common real number m is subtracted from the exponents and cancels: exp(v + h) = exp(m + h) exp(v - m).
Bounded BoundedSteps::log_sum_exp(std::span<const std::uint32_t> list) {
  poll(5000 * list.size());
  std::vector<Interval> ranges, at_lo, at_hi;
  for (const std::uint32_t v : list) ranges.push_back(at(v).range);
  ExponentialWeights chosen = choices_.weights(ranges);
  chosen.weights.resize(list.size());
  chosen.common = std::isfinite(chosen.common) ? chosen.common : 0;
  const Interval common(chosen.common);
  Interval low, high, total;
  for (const Interval& range : ranges) {
    low += at_lo.emplace_back(exp(Interval(range.lo()) - common));
    high += at_hi.emplace_back(exp(Interval(range.hi()) - common));
  }
  for (const double weight : chosen.weights) total += Interval(weight > 0 ? weight : 0);
  const double least = (common + log(Interval(low.lo()))).lo(), most = (common + log(Interval(high.hi()))).hi();
  Bounded y{narrowed(Interval::whole(), least, most), {}, {}};
  // If no weight is positive (ranges without a number in them), there is no form.
  if (!(total.lo() > 0)) return {y.range, end_of(y.range, true), end_of(y.range, false)};

  constant_ = Interval(0.0);
  for (std::size_t j = 0; j < list.size(); ++j) {
    if (!(chosen.weights[j] > 0)) continue;
    const Interval weight = Interval(chosen.weights[j]) / total;
    constant_ -= weight * log(weight);
    add(weight, at(list[j]), true);
  }
  y.below = nearer(take(), y.range, true);

  const Interval h(choices_.shift(chosen.common, low, high)), scale = exp(common + h);
  constant_ = -h - Interval(1.0);
  for (std::size_t j = 0; j < list.size(); ++j) {
    const Interval lo(ranges[j].lo()), hi(ranges[j].hi()), from = scale * at_lo[j], to = scale * at_hi[j];
    const Interval slope(choices_.chord(lo, from, hi, to));
    constant_ += max(from - slope * lo, to - slope * hi);
    add(slope, at(list[j]), false);
  }
  y.above = nearer(take(), y.range, false);
  return y;
}

Bounded BoundedSteps::either(const Bounded& v, const Bounded& w) const {
  const bool below = at_centre(*w.below, x_) > at_centre(*v.below, x_), above = at_centre(*w.above, x_) < at_centre(*v.above, x_);
  return {narrowed(v.range, w.range.lo(), w.range.hi()), below ? w.below : v.below, above ? w.above : v.above};
}

// Adds factor times v, bounded from below (above).
void BoundedSteps::add(const Interval& factor, const Bounded& v, bool lower) {
  if (!(factor.lo() >= 0 || factor.hi() <= 0)) {
    constant_ += factor * v.range;
    return;
  }
  const Form& form = (factor.lo() >= 0) == lower ? *v.below : *v.above;
  const bool is_one = factor == Interval(1.0);
  constant_ += is_one ? form.constant : factor * form.constant;
  for (const auto& [k, slope] : form.terms) add_slope(k, is_one ? slope : factor * slope);
}

void BoundedSteps::add_slope(std::uint32_t k, const Interval& slope) {
  slopes_[k] = has_slope_[k] ? slopes_[k] + slope : slope;
  if (!has_slope_[k]) variables_.push_back(k);
  has_slope_[k] = 1;
}

// The accumulated form; the accumulator is empty afterwards.
std::shared_ptr<const Form> BoundedSteps::take() {
  if (!std::ranges::is_sorted(variables_)) std::ranges::sort(variables_);
  Form form{constant_, {}};
  form.terms.reserve(variables_.size());
  for (const std::uint32_t k : variables_) {
    form.terms.emplace_back(k, std::exchange(slopes_[k], Interval()));
    has_slope_[k] = 0;
  }
  variables_.clear();
  return std::make_shared<const Form>(std::move(form));
}

// The form, or the range's end if that is the better bound at the box's centre.
std::shared_ptr<const Form> BoundedSteps::nearer(const std::shared_ptr<const Form>& form, const Interval& range, bool lower) const {
  const double centre = at_centre(*form, x_);
  if (lower ? centre > range.lo() : centre < range.hi()) return form;
  return end_of(range, lower);
}

}  // namespace assay::relax
