// Optimisers that divide by a running size of the gradient. Formulas, defaults and order of operations are those of torch.optim, whose
// steps they follow to rounding (tests/training/peer.py).
#pragma once

#include <vector>

#include "training/optimise.h"

namespace assay::training {

// An optimiser whose formula, of each element by itself, Own::formula is: once for elements on this processor, once for a device's pass.
template <class Own>
class ByFormula : public Optimiser {
 protected:
  using Optimiser::Optimiser;

 private:
  Outcome<Array> next(std::size_t which, const Array& parameter, const Array& gradient) final;
  [[nodiscard]] Graph pass_over(const Shape& shape) final;
};

// s += g^2; p -= rate / (1 + (t - 1) rate_decay) g / (sqrt(s) + epsilon). Source: Duchi, Hazan and Singer 2011.
struct AdaGradOptions {
  double rate = 0.01, rate_decay = 0, weight_decay = 0, start = 0, epsilon = 1e-10;
};
class AdaGrad final : public ByFormula<AdaGrad> {
 public:
  AdaGrad(Session& session, std::vector<Value> parameters, const AdaGradOptions& options);
  [[nodiscard]] std::string_view kind() const override { return "adagrad"; }

 private:
  friend ByFormula;
  template <class X, class Number>
  void formula(Number number, X& p, X g, std::vector<X>& states) const;
  std::vector<Kept> states() override;
  AdaGradOptions options_;
  std::vector<Array> sum_;
};

// s = a s + (1 - a) g^2; d = sqrt(s) + epsilon, centred sqrt(s - m^2) + epsilon with m = a m + (1 - a) g; p -= rate g / d, with momentum
// v = momentum v + g / d and p -= rate v. Source: Hinton's lecture 6e 2012; centred: Graves 2013.
struct RmsPropOptions {
  double rate = 0.01, smoothing = 0.99, epsilon = 1e-8, weight_decay = 0, momentum = 0;
  bool centred = false;
};
class RmsProp final : public ByFormula<RmsProp> {
 public:
  RmsProp(Session& session, std::vector<Value> parameters, const RmsPropOptions& options);
  [[nodiscard]] std::string_view kind() const override { return "rmsprop"; }

 private:
  friend ByFormula;
  template <class X, class Number>
  void formula(Number number, X& p, X g, std::vector<X>& states) const;
  std::vector<Kept> states() override;
  RmsPropOptions options_;
  std::vector<Array> square_, mean_, velocity_;
};

// s = r s + (1 - r) g^2; d = sqrt(a + epsilon) / sqrt(s + epsilon) g; a = r a + (1 - r) d^2; p -= rate d. Source: Zeiler 2012.
struct AdadeltaOptions {
  double rate = 1, decay = 0.9, epsilon = 1e-6, weight_decay = 0;
};
class Adadelta final : public ByFormula<Adadelta> {
 public:
  Adadelta(Session& session, std::vector<Value> parameters, const AdadeltaOptions& options);
  [[nodiscard]] std::string_view kind() const override { return "adadelta"; }

 private:
  friend ByFormula;
  template <class X, class Number>
  void formula(Number number, X& p, X g, std::vector<X>& states) const;
  std::vector<Kept> states() override;
  AdadeltaOptions options_;
  std::vector<Array> square_, change_;
};

}  // namespace assay::training
