#include "training/adaptive.h"

#include <cmath>
#include <utility>

#include "training/pass.h"

namespace assay::training {

namespace {

// Each formula is written once, over X: an element on this processor, or a node of the pass that a device runs.
struct Constant {
  double value;
};
struct Term {
  Pass* pass;
  NodeId node;
};
Term operator+(Term a, Term b) { return {a.pass, a.pass->of(Op::add, {a.node, b.node})}; }
Term operator-(Term a, Term b) { return {a.pass, a.pass->of(Op::sub, {a.node, b.node})}; }
Term operator*(Term a, Term b) { return {a.pass, a.pass->of(Op::mul, {a.node, b.node})}; }
Term operator/(Term a, Term b) { return {a.pass, a.pass->of(Op::div, {a.node, b.node})}; }
Term operator*(Constant a, Term b) { return {b.pass, b.pass->times(b.node, a.value)}; }
Term operator+(Term a, Constant b) { return a + Term{a.pass, a.pass->number(b.value)}; }
Term root(Term a) { return {a.pass, a.pass->of(Op::sqrt, {a.node})}; }
float root(float x) { return std::sqrt(x); }
double root(double x) { return std::sqrt(x); }

// formula(number, p, g, states) for each element; states are written in place.
template <class F>
Array on_elements(const Array& parameter, const Array& gradient, const std::vector<Array*>& states, const F& formula) {
  Array result = Array::empty(parameter.dtype(), parameter.shape());
  const auto loop = [&]<class T>(T) {
    const auto p = parameter.data<T>(), g = gradient.data<T>();
    const auto q = result.data<T>();
    std::vector<std::span<T>> kept;
    for (Array* state : states) kept.push_back(state->data<T>());
    std::vector<T> s(kept.size());
    for (std::size_t i = 0; i < q.size(); ++i) {
      for (std::size_t k = 0; k < s.size(); ++k) s[k] = kept[k][i];
      q[i] = p[i];
      formula([](double x) { return static_cast<T>(x); }, q[i], g[i], s);
      for (std::size_t k = 0; k < s.size(); ++k) kept[k][i] = s[k];
    }
  };
  parameter.dtype() == DType::float32 ? loop(float{}) : loop(double{});
  return result;
}

}  // namespace

template <class Own>
Outcome<Array> ByFormula<Own>::next(std::size_t which, const Array& parameter, const Array& gradient) {
  std::vector<Array*> kept;
  for (const Kept& one : this->states()) kept.push_back(&(*one.arrays)[which]);
  return on_elements(parameter, gradient, kept,
                     [this](auto number, auto& p, auto g, auto& states) { static_cast<const Own*>(this)->formula(number, p, g, states); });
}

template <class Own>
Graph ByFormula<Own>::pass_over(const Shape& shape) {
  Pass pass(shape);
  Term p{&pass, pass.operand()};
  const Term g{&pass, pass.operand()};
  std::vector<Term> states(this->states().size());
  for (Term& state : states) state = {&pass, pass.operand()};
  static_cast<const Own*>(this)->formula([](double x) { return Constant{x}; }, p, g, states);
  std::vector<NodeId> results{p.node};
  for (const Term& state : states) results.push_back(state.node);
  return pass.take(results);
}

AdaGrad::AdaGrad(Session& session, std::vector<Value> parameters, const AdaGradOptions& options)
    : ByFormula(session, std::move(parameters), options.rate), options_(options), sum_(this->parameters().size()) {}

template <class X, class Number>
void AdaGrad::formula(Number number, X& p, X g, std::vector<X>& states) const {
  const double rate = this->rate() / (1 + static_cast<double>(steps() - 1) * options_.rate_decay);
  if (options_.weight_decay != 0) g = g + number(options_.weight_decay) * p;
  states[0] = states[0] + g * g;
  p = p - number(rate) * (g / (root(states[0]) + number(options_.epsilon)));
}

std::vector<Optimiser::Kept> AdaGrad::states() { return {{"sum", &sum_, options_.start}}; }

RmsProp::RmsProp(Session& session, std::vector<Value> parameters, const RmsPropOptions& options)
    : ByFormula(session, std::move(parameters), options.rate),
      options_(options),
      square_(this->parameters().size()),
      mean_(square_.size()),
      velocity_(square_.size()) {}

// States: the squares, then the means if centred, then the velocities with momentum.
template <class X, class Number>
void RmsProp::formula(Number number, X& p, X g, std::vector<X>& states) const {
  if (options_.weight_decay != 0) g = g + number(options_.weight_decay) * p;
  const double rest = 1 - options_.smoothing;
  X& square = states[0];
  square = number(options_.smoothing) * square + number(rest) * (g * g);
  X variance = square;
  if (options_.centred) {
    X& mean = states[1];
    mean = mean + number(rest) * (g - mean);
    variance = square - mean * mean;
  }
  X change = g / (root(variance) + number(options_.epsilon));
  if (options_.momentum != 0) {
    X& velocity = states.back();
    velocity = number(options_.momentum) * velocity + change;
    change = velocity;
  }
  p = p - number(rate()) * change;
}

std::vector<Optimiser::Kept> RmsProp::states() {
  std::vector<Kept> result{{"square", &square_}};
  if (options_.centred) result.push_back({"mean", &mean_});
  if (options_.momentum != 0) result.push_back({"velocity", &velocity_});
  return result;
}

Adadelta::Adadelta(Session& session, std::vector<Value> parameters, const AdadeltaOptions& options)
    : ByFormula(session, std::move(parameters), options.rate),
      options_(options),
      square_(this->parameters().size()),
      change_(square_.size()) {}

template <class X, class Number>
void Adadelta::formula(Number number, X& p, X g, std::vector<X>& states) const {
  if (options_.weight_decay != 0) g = g + number(options_.weight_decay) * p;
  const auto kept = number(options_.decay), rest = number(1 - options_.decay), epsilon = number(options_.epsilon);
  X &square = states[0], &sum = states[1];
  square = kept * square + rest * (g * g);
  const X change = root(sum + epsilon) / root(square + epsilon) * g;
  sum = kept * sum + rest * (change * change);
  p = p - number(rate()) * change;
}

std::vector<Optimiser::Kept> Adadelta::states() { return {{"square", &square_}, {"change", &change_}}; }

template class ByFormula<AdaGrad>;
template class ByFormula<RmsProp>;
template class ByFormula<Adadelta>;

}  // namespace assay::training
