// Optimisers: new values for a session's parameters from gradients, in plain loops over their own buffers (no ops, nothing on the
// tape). Arithmetic is that of the parameter's type, in the order written here, on any number of threads. In a session on a
// device a step is one pass per parameter there, from which nothing is copied back; products and sums may fuse, and divisions by
// sqrt(1 - b2^t) are products.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/session.h"

namespace assay::training {

using runtime::Array;
using runtime::Session;
using runtime::Value;

// The state of an optimiser between steps. Arrays by parameter; none before the first step.
struct OptimiserState {
  std::string kind;  // "adam"
  std::uint64_t steps = 0;
  std::map<std::string, std::vector<Array>> kept;  // "first", "second"
};

class Optimiser {
 public:
  Optimiser(Session& session, std::vector<Value> parameters, double rate);
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;
  virtual ~Optimiser() = default;

  // One step; gradients in the order of the parameters. Nothing is changed if one does not fit, or the device fails.
  Outcome<Done> step(std::span<const Value> gradients);
  Outcome<Done> step(std::span<const Array> gradients);
  [[nodiscard]] const std::vector<Value>& parameters() const { return parameters_; }
  [[nodiscard]] double rate() const { return rate_; }
  void set_rate(double rate) { rate_ = rate; }
  [[nodiscard]] std::uint64_t steps() const { return steps_; }  // inside of a step: this one included

  // A copy of the state, and another state in its place, from which steps continue with the same bits. The schedule saves its
  // rate. Rejection optimise.state: the state of another kind of optimiser, or of other parameters; nothing is changed.
  [[nodiscard]] virtual std::string_view kind() const = 0;
  [[nodiscard]] Outcome<OptimiserState> state();
  Outcome<Done> restore(const OptimiserState& state);
  // The shape of the values kept under this name for a parameter.
  [[nodiscard]] virtual Shape state_shape(std::string_view /*list*/, std::size_t which) const { return parameters_[which].shape(); }

  // The next step as formulas, to take it over other numbers (reference_steps.h); counts as a step.
  struct Formulas {
    std::vector<Graph> passes;   // by parameter: of it, its gradient and its states; the next value and states
    std::vector<double> starts;  // of the states
  };
  // Rejection optimise.formula: a step that is no pass of elementwise ops.
  [[nodiscard]] Outcome<Formulas> formulas();

 protected:
  // The values kept for each parameter: lists by parameter, of state_shape(), which start with every element at `start`.
  struct Kept {
    const char* name;
    std::vector<Array>* arrays;
    double start = 0;
  };
  virtual std::vector<Kept> states() = 0;
  [[nodiscard]] virtual bool is_pass() const { return true; }  // whether pass_over() may be asked
  // A step as elementwise ops: of the parameter, the gradient and the states; the new parameter and states.
  [[nodiscard]] virtual Graph pass_over(const Shape& shape);
  // The parameter's next value. States are written in place.
  virtual Outcome<Array> next(std::size_t which, const Array& parameter, const Array& gradient) = 0;
  // The same on a device: the next value, then the next states.
  virtual Outcome<std::vector<Array>> next_on(runtime::Mirror& device, std::size_t which, const Array& parameter, const Array& gradient);
  // For the parameter's next value, element by element: the memory of its present one, if an earlier step made that and it has no
  // other holder.
  [[nodiscard]] Array place_of_next(std::size_t which, const Array& parameter);
  [[nodiscard]] Session& session() { return session_; }

 private:
  friend class GaLore;  // takes the steps of the optimiser that it holds
  Outcome<Done> step_on(runtime::Mirror& device, std::span<const Array> gradients);

  Session& session_;
  std::vector<Value> parameters_;
  double rate_;
  std::uint64_t steps_ = 0;
  struct Place {
    std::shared_ptr<void> memory;    // of a parameter's value
    std::weak_ptr<void> handed_out;  // the owner of that value's buffer
  };
  std::vector<Place> places_;  // by parameter
};

// g += weight_decay p; v = momentum v + g (at first g); p -= rate v, with nesterov rate (g + momentum v). As torch.optim.SGD.
struct SgdOptions {
  double rate = 0.01, momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
class Sgd final : public Optimiser {
 public:
  Sgd(Session& session, std::vector<Value> parameters, const SgdOptions& options);
  [[nodiscard]] std::string_view kind() const override { return "sgd"; }

 private:
  Outcome<Array> next(std::size_t which, const Array& parameter, const Array& gradient) override;
  std::vector<Kept> states() override;
  [[nodiscard]] Graph pass_over(const Shape& shape) override;
  SgdOptions options_;
  std::vector<Array> velocity_;
};

// m = b1 m + (1 - b1) g, v = b2 v + (1 - b2) g^2, p -= rate m / (1 - b1^t) / (sqrt(v / (1 - b2^t)) + epsilon). Adam adds weight_decay p to
// g, AdamW takes rate weight_decay p off p instead. Source: Kingma and Ba 2015; Loshchilov and Hutter 2019.
struct AdamOptions {
  double rate = 0.001, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW
};
class Adam final : public Optimiser {
 public:
  Adam(Session& session, std::vector<Value> parameters, const AdamOptions& options);
  [[nodiscard]] std::string_view kind() const override { return "adam"; }

 private:
  Outcome<Array> next(std::size_t which, const Array& parameter, const Array& gradient) override;
  std::vector<Kept> states() override;
  [[nodiscard]] Graph pass_over(const Shape& shape) override;
  AdamOptions options_;
  std::vector<Array> first_, second_;
};

// Gradients of several backward passes, added up where they are: in a session on a device, there.
class GradientSum {
 public:
  Outcome<Done> add(std::span<const Value> gradients);
  [[nodiscard]] std::span<const Array> sums() const { return sums_; }
  void clear() { sums_.clear(); }

 private:
  std::vector<Array> sums_;
};

}  // namespace assay::training
