#include "training/optimise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "runtime/threads.h"
#include "semantics/demand.h"
#include "training/pass.h"

namespace assay::training {

namespace {

template <class F>
void with_elements(DType dtype, const F& f) {
  dtype == DType::float32 ? f(float{}) : f(double{});
}

// f(i) for i < count on all threads; no place reads what another writes.
template <class F>
void for_each_place(std::size_t count, const F& f) {
  constexpr std::size_t kGrain = 1 << 15;  // elements of a task
  runtime::parallel_ranges(count, kGrain, [&](std::size_t first, std::size_t last) {
    const F own = f;
#pragma GCC ivdep
    for (std::size_t i = first; i < last; ++i) own(i);
  });
}

Array filled(DType dtype, const Shape& shape, double value) {
  Array result = Array::empty(dtype, shape);
  with_elements(dtype, [&]<class T>(T) { std::ranges::fill(result.data<T>(), static_cast<T>(value)); });
  return result;
}

// Steps write states in place: a holder of one needs elements of its own.
Array copied(const Array& array) {
  Array result = Array::empty(array.dtype(), array.shape());
  if (array.bytes() > 0) std::memcpy(result.raw(), array.raw(), array.bytes());
  return result;
}

Rejection misfit(std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "optimise.gradient", std::move(place),
          std::move(required),        std::move(found),    "give one gradient per parameter, as gradients() does"};
}

// In a session whose steps are taken over other numbers, floats are beside the point.
std::optional<Rejection> not_here(const Session& session, const char* place) {
  if (session.options().reference == runtime::Reference::none) return std::nullopt;
  return Rejection{Rejection::Kind::unsupported, "optimise.reference",          place, "floats",
                   "exact numbers or intervals", "let a Trainer take the steps"};
}

bool same_type(const Array& a, const Array& b) { return a.dtype() == b.dtype() && a.shape() == b.shape(); }

std::vector<Array> arrays_of(std::span<const Value> values) {
  std::vector<Array> arrays;
  for (const Value& value : values) arrays.push_back(value.array());
  return arrays;
}

}  // namespace

Optimiser::Optimiser(Session& session, std::vector<Value> parameters, double rate)
    : session_(session), parameters_(std::move(parameters)), rate_(rate), places_(parameters_.size()) {
  for (const Value& parameter : parameters_) demand(is_float(parameter.dtype()), "Optimiser: float parameters");
}

Outcome<Done> Optimiser::step(std::span<const Value> gradients) { return step(std::span<const Array>(arrays_of(gradients))); }

Outcome<Done> Optimiser::step(std::span<const Array> gradients) {
  if (auto why = not_here(session_, "step")) return *std::move(why);
  if (gradients.size() != parameters_.size()) {
    return misfit("step", std::to_string(parameters_.size()) + " gradients", std::to_string(gradients.size()));
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (same_type(gradients[k], parameters_[k].array())) continue;
    return misfit("step, parameter " + std::to_string(k), type_of(parameters_[k].array()), type_of(gradients[k]));
  }
  ++steps_;
  if (steps_ == 1) {
    for (const Kept& kept : states()) {
      for (std::size_t k = 0; k < parameters_.size(); ++k)
        (*kept.arrays)[k] = filled(parameters_[k].dtype(), state_shape(kept.name, k), kept.start);
    }
  }
  if (runtime::Mirror* const device = session_.mirror(); device != nullptr) {
    auto done = step_on(*device, gradients);
    if (!done) --steps_;
    return done;
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    auto made = next(k, parameters_[k].array(), gradients[k]);
    if (!made) return made.rejection();
    if (auto done = session_.assign(parameters_[k], std::move(made).value()); !done) return done;
  }
  return Done{};
}

// A holder that kept the parameter's former value by its buffer, as copies on a device are,
// finds another owner of the same memory: a new value.
Array Optimiser::place_of_next(std::size_t which, const Array& parameter) {
  Place& place = places_[which];
  const std::weak_ptr<void> present = parameter.buffer();
  const bool is_ours = !present.owner_before(place.handed_out) && !place.handed_out.owner_before(present);
  if (!is_ours || present.use_count() != 1) place.memory = Array::empty(parameter.dtype(), parameter.shape()).buffer().lock();
  const std::shared_ptr<void> owner(place.memory.get(), [memory = place.memory](void*) {});
  place.handed_out = owner;
  return Array::over(parameter.dtype(), parameter.shape(), owner);
}

namespace {

Outcome<std::vector<Array>> op_by_op(runtime::Mirror& device, const Graph& graph, std::span<const Array* const> inputs) {
  std::vector<Array> values(graph.nodes.size());
  std::size_t given = 0;
  for (std::size_t id = 0; id < graph.nodes.size(); ++id) {
    const Node& node = graph.nodes[id];
    if (node.op == Op::input) {
      values[id] = *inputs[given++];
    } else if (node.op == Op::constant) {
      values[id] = Array::from(node.value);
    } else {
      std::vector<const Array*> operands;
      for (const NodeId operand : node.operands) operands.push_back(&values[operand]);
      auto made = device.run(node.op, node.attributes, operands, node.dtype, node.shape);
      if (!made) return made.rejection();
      values[id] = std::move(made).value();
    }
  }
  std::vector<Array> results;
  for (const NodeId output : graph.outputs) results.push_back(values[output]);
  return results;
}

}  // namespace

Outcome<std::vector<Array>> Optimiser::next_on(runtime::Mirror& device, std::size_t which, const Array& parameter, const Array& gradient) {
  std::vector<const Array*> operands{&parameter, &gradient};
  for (const Kept& kept : states()) operands.push_back(&(*kept.arrays)[which]);
  const Graph pass = pass_over(parameter.shape());
  auto made = device.run_pass(pass, operands);
  return made.ok() || made.rejection().code != "gpu.op" ? made : op_by_op(device, pass, operands);  // longer than a pass may be
}

Outcome<Done> Optimiser::step_on(runtime::Mirror& device, std::span<const Array> gradients) {
  const std::vector<Kept> kept = states();
  std::vector<std::vector<Array>> made;
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    auto results = next_on(device, k, parameters_[k].array(), gradients[k]);
    if (!results) return results.rejection();
    made.push_back(std::move(results).value());
  }
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    if (auto done = session_.assign(parameters_[k], made[k][0]); !done) return done;
    for (std::size_t s = 0; s < kept.size(); ++s) (*kept[s].arrays)[k] = made[k][s + 1];
  }
  return Done{};
}

Graph Optimiser::pass_over(const Shape& /*shape*/) {
  demand(false, "Optimiser: a step that is no pass of elementwise ops");
  return {};
}

Outcome<Optimiser::Formulas> Optimiser::formulas() {
  if (!is_pass()) {
    return Rejection{Rejection::Kind::unsupported, "optimise.formula",     std::string(kind()), "elementwise ops",
                     "products of matrices",       "use another optimiser"};
  }
  ++steps_;
  Formulas formulas;
  for (const Value& parameter : parameters_) formulas.passes.push_back(pass_over(parameter.shape()));
  for (const Kept& kept : states()) formulas.starts.push_back(kept.start);
  return formulas;
}

Outcome<OptimiserState> Optimiser::state() {
  if (auto why = not_here(session_, "state")) return *std::move(why);
  OptimiserState result{std::string(kind()), steps_, {}};
  for (const Kept& kept : states()) {
    std::vector<Array>& copies = result.kept[kept.name];
    for (std::size_t k = 0; steps_ > 0 && k < parameters_.size(); ++k) {
      if (auto here = (*kept.arrays)[k].fetch(); !here) return here.rejection();
      copies.push_back(copied((*kept.arrays)[k]));
    }
  }
  return result;
}

Outcome<Done> Optimiser::restore(const OptimiserState& state) {
  const auto refused = [&](std::string place, std::string required, std::string found) {
    return Rejection{Rejection::Kind::malformed, "optimise.state", std::move(place),
                     std::move(required),        std::move(found), "restore the state of the same optimiser over the same parameters"};
  };
  if (state.kind != kind()) return refused("kind", std::string(kind()), state.kind);
  const std::vector<Kept> kept = states();
  if (kept.size() != state.kept.size()) return refused("state", std::to_string(kept.size()) + " lists", std::to_string(state.kept.size()));
  for (const Kept& one : kept) {
    const auto found = state.kept.find(one.name);
    if (found == state.kept.end()) return refused("state", one.name, "no such list");
    const std::size_t count = state.steps > 0 ? parameters_.size() : 0;
    if (found->second.size() != count) return refused(one.name, std::to_string(count) + " arrays", std::to_string(found->second.size()));
    for (std::size_t k = 0; k < count; ++k) {
      const Array like = Array::empty(parameters_[k].dtype(), state_shape(one.name, k));
      if (same_type(found->second[k], like)) continue;
      return refused(std::string(one.name) + " " + std::to_string(k), type_of(like), type_of(found->second[k]));
    }
  }
  for (const Kept& one : kept) {
    const std::vector<Array>& arrays = state.kept.at(one.name);
    for (std::size_t k = 0; k < arrays.size(); ++k) (*one.arrays)[k] = copied(arrays[k]);
  }
  steps_ = state.steps;
  return Done{};
}

std::vector<Optimiser::Kept> Sgd::states() {
  return options_.momentum == 0 ? std::vector<Kept>{} : std::vector<Kept>{{"velocity", &velocity_}};
}

Graph Sgd::pass_over(const Shape& shape) {
  Pass pass(shape);
  const NodeId p = pass.operand(), g = pass.operand();
  const NodeId slope = options_.weight_decay == 0 ? g : pass.of(Op::add, {g, pass.times(p, options_.weight_decay)});
  if (options_.momentum == 0) return pass.take({pass.of(Op::sub, {p, pass.times(slope, rate())})});
  const NodeId v = pass.of(Op::add, {pass.times(pass.operand(), options_.momentum), slope});
  const NodeId direction = options_.nesterov ? pass.of(Op::add, {slope, pass.times(v, options_.momentum)}) : v;
  return pass.take({pass.of(Op::sub, {p, pass.times(direction, rate())}), v});
}

std::vector<Optimiser::Kept> Adam::states() { return {{"first", &first_}, {"second", &second_}}; }

Graph Adam::pass_over(const Shape& shape) {
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

Outcome<Array> Sgd::next(std::size_t which, const Array& parameter, const Array& gradient) {
  Array result = place_of_next(which, parameter);
  with_elements(parameter.dtype(), [&]<class T>(T) {
    const auto p = parameter.data<T>(), g = gradient.data<T>();
    const auto q = result.data<T>();
    const auto rate = static_cast<T>(this->rate()), momentum = static_cast<T>(options_.momentum),
               decay = static_cast<T>(options_.weight_decay);
    if (options_.momentum == 0) return for_each_place(q.size(), [=](std::size_t i) { q[i] = p[i] - rate * (g[i] + decay * p[i]); });
    const auto v = velocity_[which].data<T>();
    for_each_place(q.size(), [=, nesterov = options_.nesterov](std::size_t i) {
      const T slope = g[i] + decay * p[i];
      v[i] = momentum * v[i] + slope;
      q[i] = p[i] - rate * (nesterov ? slope + momentum * v[i] : v[i]);
    });
  });
  return result;
}

Adam::Adam(Session& session, std::vector<Value> parameters, const AdamOptions& options)
    : Optimiser(session, std::move(parameters), options.rate),
      options_(options),
      first_(this->parameters().size()),
      second_(first_.size()) {}

Outcome<Array> Adam::next(std::size_t which, const Array& parameter, const Array& gradient) {
  Array result = place_of_next(which, parameter);
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
    for_each_place(q.size(), [=](std::size_t i) {
      const T slope = g[i] + added * p[i];
      m[i] = b1 * m[i] + rest1 * slope;
      v[i] = b2 * v[i] + rest2 * slope * slope;
      q[i] = kept * p[i] - rate * m[i] / (std::sqrt(v[i]) / root + epsilon);
    });
  });
  return result;
}

namespace {

// Null: here.
runtime::Mirror* device_of(const Value& value) { return value.ok() ? value.session().mirror() : nullptr; }

Outcome<Array> added(runtime::Mirror* device, const Array& x, const Array& y) {
  const Array* const operands[] = {&x, &y};
  if (device != nullptr) return device->run(Op::add, NoAttributes{}, operands, x.dtype(), x.shape());
  Array sum = Array::empty(x.dtype(), x.shape());
  with_elements(x.dtype(), [&]<class T>(T) {
    const auto a = x.data<T>(), b = y.data<T>();
    const auto s = sum.data<T>();
    for_each_place(s.size(), [=](std::size_t i) { s[i] = a[i] + b[i]; });
  });
  return sum;
}

}  // namespace

Outcome<Done> GradientSum::add(std::span<const Value> gradients) {
  if (sums_.empty()) {
    sums_ = arrays_of(gradients);  // shares their buffers, which no code writes
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

}  // namespace assay::training
