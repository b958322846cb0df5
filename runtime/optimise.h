// Optimisers: new values for a session's parameters from gradients, in plain loops over their own buffers (no ops, nothing on the tape).
// Arithmetic is that of the parameter's type, in the order written here. In a session on a device a step is one pass per parameter there,
// from which nothing is copied back; products and sums may fuse, and divisions by sqrt(1 - b2^t) are products.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "runtime/session.h"

namespace assay::runtime {

class Optimiser {
 public:
  Optimiser(Session& session, std::vector<Value> parameters, double rate);
  Optimiser(const Optimiser&) = delete;
  Optimiser& operator=(const Optimiser&) = delete;
  virtual ~Optimiser() = default;

  // One step; gradients in the order of the parameters. Nothing is changed where one does not fit, or the device fails.
  Outcome<Done> step(std::span<const Value> gradients);
  Outcome<Done> step(std::span<const Array> gradients);
  [[nodiscard]] const std::vector<Value>& parameters() const { return parameters_; }
  [[nodiscard]] double rate() const { return rate_; }
  void set_rate(double rate) { rate_ = rate; }

 protected:
  [[nodiscard]] std::uint64_t steps() const { return steps_; }  // this one included
  // What is kept for each parameter from step to step: lists by parameter.
  virtual std::vector<std::vector<Array>*> states() = 0;
  // A step as elementwise ops: of the parameter, the gradient and the states; the new parameter and states.
  [[nodiscard]] virtual Graph pass_over(const Shape& shape) const = 0;
  // The parameter's next value.
  virtual Array next(std::size_t which, const Array& parameter, const Array& gradient) = 0;

 private:
  Outcome<Done> step_on(Mirror& device, std::span<const Array> gradients);

  Session& session_;
  std::vector<Value> parameters_;
  double rate_;
  std::uint64_t steps_ = 0;
};

// g += weight_decay p; v = momentum v + g (at first g); p -= rate v, with nesterov rate (g + momentum v). As torch.optim.SGD.
struct SgdOptions {
  double rate = 0.01, momentum = 0, weight_decay = 0;
  bool nesterov = false;
};
class Sgd final : public Optimiser {
 public:
  Sgd(Session& session, std::vector<Value> parameters, const SgdOptions& options);

 private:
  Array next(std::size_t which, const Array& parameter, const Array& gradient) override;
  std::vector<std::vector<Array>*> states() override;
  [[nodiscard]] Graph pass_over(const Shape& shape) const override;
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

 private:
  Array next(std::size_t which, const Array& parameter, const Array& gradient) override;
  std::vector<std::vector<Array>*> states() override;
  [[nodiscard]] Graph pass_over(const Shape& shape) const override;
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

// The Euclidean norm of all elements together, in double; on a device in another order. NaN where a device does not give it, and then the session
// has a failure.
[[nodiscard]] double norm_of(std::span<const Value> gradients);
// All gradients times most / norm where the norm is above `most`; the norm before.
double clip_by_norm(std::vector<Value>& gradients, double most);
// Each element between -most and most.
void clip_by_value(std::vector<Value>& gradients, double most);

// Learning rates by step, from 0 on.
using Schedule = std::function<double(std::uint64_t step)>;
[[nodiscard]] Schedule constant_rate(double rate);
[[nodiscard]] Schedule step_decay(double rate, double factor, std::uint64_t every);   // rate factor^floor(step / every)
[[nodiscard]] Schedule exponential_decay(double rate, double factor);                 // rate factor^step
[[nodiscard]] Schedule cosine_decay(double rate, double least, std::uint64_t steps);  // half a cosine, then `least`
[[nodiscard]] Schedule with_warmup(Schedule rate, std::uint64_t steps);               // times (step + 1) / steps at first

}  // namespace assay::runtime
