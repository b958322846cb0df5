#include "runtime/optimise.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <utility>

#include "runtime/functions.h"
#include "semantics/demand.h"

namespace assay::runtime {

namespace {

template <class F>
void with_elements(DType dtype, const F& f) {
  dtype == DType::float32 ? f(float{}) : f(double{});
}

Array zeros(const Array& like) {
  Array result = Array::empty(like.dtype(), like.shape());
  std::fill_n(result.raw(), result.bytes(), std::byte{0});
  return result;
}

Rejection misfit(std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "optimise.gradient", std::move(place),
          std::move(required),        std::move(found),    "give one gradient per parameter, as gradients() does"};
}

bool same_type(const Array& a, const Array& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); }

std::vector<Array> arrays_of(std::span<const Value> values) {
  std::vector<Array> arrays;
  for (const Value& value : values) arrays.push_back(value.array());
  return arrays;
}

}  // namespace

Optimiser::Optimiser(Session& session, std::vector<Value> parameters, double rate)
    : session_(session), parameters_(std::move(parameters)), rate_(rate) {
  for (const Value& parameter : parameters_) demand(is_float(parameter.dtype()), "Optimiser: float parameters");
}

Outcome<Done> Optimiser::step(std::span<const Value> gradients) { return step(std::span<const Array>(arrays_of(gradients))); }

Outcome<Done> Optimiser::step(std::span<const Array> gradients) {
  if (gradients.size() != parameters_.size()) {
    return misfit("step", std::to_string(parameters_.size()) + " gradients", std::to_string(gradients.size()));
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (same_type(gradients[k], parameters_[k].array())) continue;
    return misfit("step, parameter " + std::to_string(k), type_of(parameters_[k].array()), type_of(gradients[k]));
  }
  ++steps_;
  if (Mirror* const device = session_.mirror(); device != nullptr) {
    auto done = step_on(*device, gradients);
    if (!done) --steps_;
    return done;
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (auto done = session_.assign(parameters_[k], next(k, parameters_[k].array(), gradients[k])); !done) return done;
  }
  return Done{};
}

Outcome<Done> Optimiser::step_on(Mirror& device, std::span<const Array> gradients) {
  const std::vector<std::vector<Array>*> kept = states();
  std::vector<std::vector<Array>> made;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const Array& parameter = parameters_[k].array();
    std::vector<const Array*> operands{&parameter, &gradients[k]};
    for (std::vector<Array>* state : kept) {
      if (steps_ == 1) (*state)[k] = zeros(parameter);
      operands.push_back(&(*state)[k]);
    }
    auto results = device.run_pass(pass_over(parameter.shape()), operands);
    if (!results) return results.rejection();
    made.push_back(std::move(results).value());
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (auto done = session_.assign(parameters_[k], made[k][0]); !done) return done;
    for (std::size_t s = 0; s < kept.size(); ++s) (*kept[s])[k] = made[k][s + 1];
  }
  return Done{};
}

namespace {

// A graph of elementwise float ops, written as formulas.
class Pass {
 public:
  explicit Pass(const Shape& shape) : shape_(shape) {}
  NodeId operand() { return graph_.append_input(DType::float32, shape_, "x" + std::to_string(graph_.inputs.size())); }
  NodeId number(double value) {
    const auto narrow = static_cast<float>(value);
    return graph_.append_constant(Tensor::of_floats({}, std::span(&narrow, 1)));
  }
  NodeId of(Op op, std::vector<NodeId> operands) { return add(op, std::move(operands), NoAttributes{}); }
  NodeId times(NodeId x, double factor) { return factor == 1 ? x : add(Op::scale, {x}, ScaleAttributes{factor}); }
  Graph take(const std::vector<NodeId>& results) {
    for (const NodeId result : results) graph_.mark_output(result, "y" + std::to_string(graph_.outputs.size()));
    return std::move(graph_);
  }

 private:
  NodeId add(Op op, std::vector<NodeId> operands, Attributes attributes) {
    const auto node = graph_.append(op, std::move(operands), std::move(attributes));
    demand(node.ok(), "Optimiser: elementwise ops of one shape");
    return node.value();
  }

  Graph graph_;
  const Shape& shape_;
};

}  // namespace

std::vector<std::vector<Array>*> Sgd::states() {
  return options_.momentum == 0 ? std::vector<std::vector<Array>*>{} : std::vector<std::vector<Array>*>{&velocity_};
}

Graph Sgd::pass_over(const Shape& shape) const {
  Pass pass(shape);
  const NodeId p = pass.operand(), g = pass.operand();
  const NodeId slope = options_.weight_decay == 0 ? g : pass.of(Op::add, {g, pass.times(p, options_.weight_decay)});
  if (options_.momentum == 0) return pass.take({pass.of(Op::sub, {p, pass.times(slope, rate())})});
  const NodeId v = pass.of(Op::add, {pass.times(pass.operand(), options_.momentum), slope});
  const NodeId direction = options_.nesterov ? pass.of(Op::add, {slope, pass.times(v, options_.momentum)}) : v;
  return pass.take({pass.of(Op::sub, {p, pass.times(direction, rate())}), v});
}

std::vector<std::vector<Array>*> Adam::states() { return {&first_, &second_}; }

Graph Adam::pass_over(const Shape& shape) const {
  const auto t = static_cast<double>(steps());
  const double correction1 = 1 - std::pow(options_.beta1, t), correction2 = 1 - std::pow(options_.beta2, t);
  const double added = options_.decoupled ? 0 : options_.weight_decay;
  const double stays = options_.decoupled ? 1 - this->rate() * options_.weight_decay : 1;
  Pass pass(shape);
  const NodeId p = pass.operand(), g = pass.operand(), m = pass.operand(), v = pass.operand();
  const NodeId slope = added == 0 ? g : pass.of(Op::add, {g, pass.times(p, added)});
  const NodeId first = pass.of(Op::add, {pass.times(m, options_.beta1), pass.times(slope, 1 - options_.beta1)});
  const NodeId second = pass.of(Op::add, {pass.times(v, options_.beta2), pass.times(pass.of(Op::mul, {slope, slope}), 1 - options_.beta2)});
  const NodeId root = pass.times(pass.of(Op::sqrt, {second}), 1 / std::sqrt(correction2));
  const NodeId size = pass.of(Op::add, {root, pass.number(options_.epsilon)});
  const NodeId change = pass.of(Op::div, {pass.times(first, rate() / correction1), size});
  return pass.take({pass.of(Op::sub, {pass.times(p, stays), change}), first, second});
}

Sgd::Sgd(Session& session, std::vector<Value> parameters, const SgdOptions& options)
    : Optimiser(session, std::move(parameters), options.rate), options_(options), velocity_(this->parameters().size()) {}

Array Sgd::next(std::size_t which, const Array& parameter, const Array& gradient) {
  Array result = Array::empty(parameter.dtype(), parameter.shape());
  with_elements(parameter.dtype(), [&]<class T>(T) {
    const auto p = parameter.data<T>(), g = gradient.data<T>();
    const auto q = result.data<T>();
    const auto rate = static_cast<T>(this->rate()), momentum = static_cast<T>(options_.momentum),
               decay = static_cast<T>(options_.weight_decay);
    if (options_.momentum == 0) {
      for (std::size_t i = 0; i < q.size(); ++i) q[i] = p[i] - rate * (g[i] + decay * p[i]);
      return;
    }
    const bool first = steps() == 1;
    if (first) velocity_[which] = zeros(parameter);
    const auto v = velocity_[which].data<T>();
    for (std::size_t i = 0; i < q.size(); ++i) {
      const T slope = g[i] + decay * p[i];
      v[i] = momentum * v[i] + slope;
      q[i] = p[i] - rate * (options_.nesterov ? slope + momentum * v[i] : v[i]);
    }
  });
  return result;
}

Adam::Adam(Session& session, std::vector<Value> parameters, const AdamOptions& options)
    : Optimiser(session, std::move(parameters), options.rate),
      options_(options),
      first_(this->parameters().size()),
      second_(first_.size()) {}

Array Adam::next(std::size_t which, const Array& parameter, const Array& gradient) {
  Array result = Array::empty(parameter.dtype(), parameter.shape());
  if (steps() == 1) {
    first_[which] = zeros(parameter);
    second_[which] = zeros(parameter);
  }
  const auto t = static_cast<double>(steps());
  const double correction1 = 1 - std::pow(options_.beta1, t), correction2 = 1 - std::pow(options_.beta2, t);
  with_elements(parameter.dtype(), [&]<class T>(T) {
    const auto p = parameter.data<T>(), g = gradient.data<T>();
    const auto q = result.data<T>(), m = first_[which].data<T>(), v = second_[which].data<T>();
    const auto b1 = static_cast<T>(options_.beta1), b2 = static_cast<T>(options_.beta2), epsilon = static_cast<T>(options_.epsilon);
    const auto rest1 = static_cast<T>(1 - options_.beta1), rest2 = static_cast<T>(1 - options_.beta2);
    const auto rate = static_cast<T>(this->rate() / correction1), root = static_cast<T>(std::sqrt(correction2));
    const auto added = static_cast<T>(options_.decoupled ? 0 : options_.weight_decay);
    const auto kept = static_cast<T>(options_.decoupled ? 1 - this->rate() * options_.weight_decay : 1);
    for (std::size_t i = 0; i < q.size(); ++i) {
      const T slope = g[i] + added * p[i];
      m[i] = b1 * m[i] + rest1 * slope;
      v[i] = b2 * v[i] + rest2 * slope * slope;
      q[i] = kept * p[i] - rate * m[i] / (std::sqrt(v[i]) / root + epsilon);
    }
  });
  return result;
}

namespace {

// Null: here.
Mirror* device_of(const Value& value) { return value.ok() ? value.session().mirror() : nullptr; }

Outcome<Array> added(Mirror* device, const Array& x, const Array& y) {
  const Array* const operands[] = {&x, &y};
  if (device != nullptr) return device->run(Op::add, NoAttributes{}, operands, x.dtype(), x.shape());
  Array sum = Array::empty(x.dtype(), x.shape());
  with_elements(x.dtype(), [&]<class T>(T) {
    const auto a = x.data<T>(), b = y.data<T>();
    const auto s = sum.data<T>();
    for (std::size_t i = 0; i < s.size(); ++i) s[i] = a[i] + b[i];
  });
  return sum;
}

}  // namespace

Outcome<Done> GradientSum::add(std::span<const Value> gradients) {
  if (sums_.empty()) {
    sums_ = arrays_of(gradients);  // shares their buffers, which nobody writes
    return Done{};
  }
  if (gradients.size() != sums_.size()) return misfit("add", std::to_string(sums_.size()) + " gradients", std::to_string(gradients.size()));
  std::vector<Array> sums;
  for (std::size_t k = 0; k < sums_.size(); ++k) {
    const Array& more = gradients[k].array();
    if (!same_type(more, sums_[k])) return misfit("add, gradient " + std::to_string(k), type_of(sums_[k]), type_of(more));
    auto sum = added(device_of(gradients[k]), sums_[k], more);
    if (!sum) return sum.rejection();
    sums.push_back(std::move(sum).value());
  }
  sums_ = std::move(sums);
  return Done{};
}

namespace {

double norm_on(Mirror& device, std::span<const Value> gradients) {
  std::vector<const Array*> arrays;
  for (const Value& gradient : gradients) arrays.push_back(&gradient.array());
  const auto sum = device.sum_of_squares(arrays);
  if (sum) return std::sqrt(sum.value());
  (void)gradients[0].session().refuse(sum.rejection());
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace

double norm_of(std::span<const Value> gradients) {
  Mirror* const device = gradients.empty() ? nullptr : device_of(gradients[0]);
  if (device != nullptr) return norm_on(*device, gradients);
  double sum = 0;
  for (const Value& gradient : gradients) {
    with_elements(gradient.dtype(), [&]<class T>(T) {
      for (const T x : gradient.array().data<T>()) sum += static_cast<double>(x) * static_cast<double>(x);
    });
  }
  return std::sqrt(sum);
}

double clip_by_norm(std::vector<Value>& gradients, double most) {
  const double norm = norm_of(gradients);
  if (norm <= most) return norm;
  for (Value& gradient : gradients) gradient = gradient * (most / norm);
  return norm;
}

void clip_by_value(std::vector<Value>& gradients, double most) {
  for (Value& gradient : gradients) gradient = apply(Op::clip, gradient, ClipAttributes{-most, most});
}

Schedule constant_rate(double rate) {
  return [=](std::uint64_t) { return rate; };
}
Schedule step_decay(double rate, double factor, std::uint64_t every) {
  demand(every > 0, "step_decay: a positive number of steps");
  return [=](std::uint64_t step) { return rate * std::pow(factor, static_cast<double>(step / every)); };
}
Schedule exponential_decay(double rate, double factor) {
  return [=](std::uint64_t step) { return rate * std::pow(factor, static_cast<double>(step)); };
}
Schedule cosine_decay(double rate, double least, std::uint64_t steps) {
  return [=](std::uint64_t step) {
    if (step >= steps) return least;
    const double part = static_cast<double>(step) / static_cast<double>(steps);
    return least + (rate - least) * (1 + std::cos(std::numbers::pi * part)) / 2;
  };
}
Schedule with_warmup(Schedule rate, std::uint64_t steps) {
  return [rate = std::move(rate), steps](std::uint64_t step) {
    const double share = step < steps ? static_cast<double>(step + 1) / static_cast<double>(steps) : 1;
    return rate(step) * share;
  };
}

}  // namespace assay::runtime
