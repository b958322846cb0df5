// Optimisers over gradients that do not depend on the parameters, so that only their own rounding differs; and schedules.
#include <functional>
#include <memory>
#include <vector>

#include "tests/training/peer_cases.h"
#include "training/adaptive.h"
#include "training/galore.h"
#include "training/muon.h"
#include "training/schedules.h"

namespace assay::test {

using namespace runtime;
using namespace training;

namespace {

constexpr int kSteps = 100;
using Make = std::function<std::unique_ptr<Optimiser>(Session&, std::vector<Value>)>;

template <class O, class Options>
Make maker(const Options& options) {
  return [=](Session& session, std::vector<Value> parameters) { return std::make_unique<O>(session, std::move(parameters), options); };
}

Make galore(const GaLoreOptions& options, const Make& inner) {
  return [=](Session& session, std::vector<Value> parameters) {
    return std::make_unique<GaLore>(session, inner(session, std::move(parameters)), options);
  };
}

Json run(const std::string& name, const Json& options, DType dtype, const Make& make, const Shape& shape) {
  Session session({.dtype = dtype, .seed = 5});
  const Value p = session.parameter("p", session.normal(shape));
  Json result{{"name", name}, {"options", options}, {"dtype", std::string(to_string(dtype))}, {"start", json_of(p)}};
  const auto optimiser = make(session, {p});
  for (int step = 0; step < kSteps; ++step) {
    // Sizes from 0.01 to 10, so that running squares fall as well as rise; every seventh is zero.
    const Array g = session.normal(shape);
    Array scaled = Array::empty(dtype, g.shape());
    const double size = step % 7 == 3 ? 0 : 0.01 * (1 << step % 11);
    for (std::size_t i = 0; i < g.size(); ++i) {
      if (dtype == DType::float32) scaled.data<float>()[i] = g.data<float>()[i] * static_cast<float>(size);
      if (dtype == DType::float64) scaled.data<double>()[i] = g.data<double>()[i] * size;
    }
    result["gradients"].push_back(scaled.to_tensor().to_doubles());
    if (!optimiser->step(std::vector<Array>{scaled}).ok()) return {};
    result["after"].push_back(p.to_doubles());
    session.clear();
  }
  return result;
}

Json rates(const std::string& name, const Json& options, const Schedule& schedule) {
  Json result{{"name", name}, {"options", options}};
  for (std::uint64_t step = 0; step < kSteps; ++step) result["rates"].push_back(schedule(step));
  return result;
}

}  // namespace

Json optimiser_cases() {
  struct Case {
    const char* name;
    Json options;  // torch's names
    Make make;
    Shape shape = {6, 4};
  };
  const std::vector<Case> cases{
      {"SGD", {{"lr", 0.1}}, maker<Sgd>(SgdOptions{.rate = 0.1})},
      {"SGD",
       {{"lr", 0.01}, {"momentum", 0.9}, {"nesterov", true}, {"weight_decay", 0.01}},
       maker<Sgd>(SgdOptions{.rate = 0.01, .momentum = 0.9, .weight_decay = 0.01, .nesterov = true})},
      {"Adam", {{"lr", 0.01}}, maker<Adam>(AdamOptions{.rate = 0.01})},
      {"AdamW", {{"lr", 0.01}, {"weight_decay", 0.1}}, maker<Adam>(AdamOptions{.rate = 0.01, .weight_decay = 0.1, .decoupled = true})},
      {"Adagrad", {{"lr", 0.05}}, maker<AdaGrad>(AdaGradOptions{.rate = 0.05})},
      {"Adagrad",
       {{"lr", 0.05}, {"lr_decay", 0.02}, {"weight_decay", 0.1}, {"initial_accumulator_value", 0.5}},
       maker<AdaGrad>(AdaGradOptions{.rate = 0.05, .rate_decay = 0.02, .weight_decay = 0.1, .start = 0.5})},
      {"RMSprop", {{"lr", 0.01}}, maker<RmsProp>(RmsPropOptions{.rate = 0.01})},
      {"RMSprop",
       {{"lr", 0.01}, {"alpha", 0.9}, {"momentum", 0.8}, {"weight_decay", 0.05}, {"eps", 0.01}},
       maker<RmsProp>(RmsPropOptions{.rate = 0.01, .smoothing = 0.9, .epsilon = 0.01, .weight_decay = 0.05, .momentum = 0.8})},
      {"RMSprop",
       {{"lr", 0.01}, {"centered", true}, {"momentum", 0.5}, {"alpha", 0.9}, {"eps", 0.01}},
       maker<RmsProp>(RmsPropOptions{.rate = 0.01, .smoothing = 0.9, .epsilon = 0.01, .momentum = 0.5, .centred = true})},
      {"Adadelta", {{"lr", 1.0}}, maker<Adadelta>(AdadeltaOptions{})},
      {"Adadelta",
       {{"lr", 0.5}, {"rho", 0.95}, {"weight_decay", 0.1}},
       maker<Adadelta>(AdadeltaOptions{.rate = 0.5, .decay = 0.95, .weight_decay = 0.1})},
      {"Muon", {{"lr", 0.01}}, maker<Muon>(MuonOptions{.rate = 0.01})},
      {"Muon",
       {{"lr", 0.01}, {"nesterov", false}, {"momentum", 0.8}, {"weight_decay", 0.0}, {"adjust_lr_fn", "match_rms_adamw"}},
       maker<Muon>(MuonOptions{.rate = 0.01, .momentum = 0.8, .weight_decay = 0, .nesterov = false, .match_adamw = true})},
      {"GaLore",
       {{"inner", "Adam"}, {"rank", 2}, {"interval", 7}, {"scale", 0.25}, {"weight_decay", 0.1}, {"lr", 0.01}},
       galore({.rank = 2, .interval = 7, .weight_decay = 0.1}, maker<Adam>(AdamOptions{.rate = 0.01}))},
      {"GaLore",
       {{"inner", "SGD"}, {"rank", 3}, {"interval", 14}, {"scale", 1.0}, {"weight_decay", 0.0}, {"lr", 0.01}, {"momentum", 0.9}},
       galore({.rank = 3, .interval = 14, .scale = 1}, maker<Sgd>(SgdOptions{.rate = 0.01, .momentum = 0.9})),
       {4, 9}},
      {"GaLore",
       {{"inner", "RMSprop"}, {"rank", 4}, {"interval", 7}, {"scale", 0.5}, {"weight_decay", 0.1}, {"lr", 0.01}, {"eps", 0.01}},
       galore({.rank = 4, .interval = 7, .scale = 0.5, .weight_decay = 0.1},
              maker<RmsProp>(RmsPropOptions{.rate = 0.01, .epsilon = 0.01}))},
  };
  Json result = Json::array();
  for (const Case& one : cases) {
    for (const DType dtype : {DType::float32, DType::float64}) result.push_back(run(one.name, one.options, dtype, one.make, one.shape));
  }
  return result;
}

Json schedule_cases() {
  constexpr double kRate = 0.1;  // of the optimiser that torch's schedules belong to
  Json result = Json::array();
  result.push_back(rates("StepLR", {{"step_size", 30}, {"gamma", 0.5}}, step_decay(kRate, 0.5, 30)));
  result.push_back(
      rates("MultiStepLR", {{"milestones", {10, 50, 51}}, {"gamma", 0.5}}, step_decay(kRate, 0.5, std::vector<std::uint64_t>{10, 50, 51})));
  result.push_back(rates("ExponentialLR", {{"gamma", 0.97}}, exponential_decay(kRate, 0.97)));
  result.push_back(
      rates("LinearLR", {{"start_factor", 1.0}, {"end_factor", 0.25}, {"total_iters", 40}}, linear_decay(kRate, kRate / 4, 40)));
  result.push_back(rates("PolynomialLR", {{"total_iters", 60}, {"power", 2.0}}, polynomial_decay(kRate, 2, 60)));
  result.push_back(rates("CosineAnnealingLR", {{"T_max", 100}, {"eta_min", 0.01}}, cosine_decay(kRate, 0.01, 100)));
  result.push_back(
      rates("CosineAnnealingWarmRestarts", {{"T_0", 10}, {"T_mult", 2}, {"eta_min", 0.01}}, cosine_restarts(kRate, 0.01, 10, 2)));
  result.push_back(rates("CosineAnnealingWarmRestarts", {{"T_0", 10}, {"T_mult", 1}, {"eta_min", 0.01}}, cosine_restarts(kRate, 0.01, 10)));
  result.push_back(rates("CyclicLR",
                         {{"base_lr", 0.01}, {"max_lr", 0.1}, {"step_size_up", 12}, {"step_size_down", 8}, {"mode", "triangular"}},
                         cyclic({.least = 0.01, .most = 0.1, .up = 12, .down = 8})));
  result.push_back(rates("CyclicLR", {{"base_lr", 0.01}, {"max_lr", 0.1}, {"step_size_up", 12}, {"mode", "triangular2"}},
                         cyclic({.least = 0.01, .most = 0.1, .up = 12, .down = 12, .height = Cyclic::Height::halved})));
  result.push_back(
      rates("CyclicLR", {{"base_lr", 0.01}, {"max_lr", 0.1}, {"step_size_up", 12}, {"mode", "exp_range"}, {"gamma", 0.99}},
            cyclic({.least = 0.01, .most = 0.1, .up = 12, .down = 12, .height = Cyclic::Height::exponential, .factor = 0.99})));
  result.push_back(rates("OneCycleLR", {{"max_lr", 0.5}, {"total_steps", 100}}, one_cycle({.most = 0.5, .steps = 100})));
  result.push_back(rates("OneCycleLR", {{"max_lr", 0.5}, {"total_steps", 100}, {"anneal_strategy", "linear"}, {"pct_start", 0.2}},
                         one_cycle({.most = 0.5, .steps = 100, .up = 0.2, .lines = true})));
  result.push_back(rates("OneCycleLR",
                         {{"max_lr", 0.5}, {"total_steps", 100}, {"three_phase", true}, {"pct_start", 0.4}, {"div_factor", 10.0}},
                         one_cycle({.most = 0.5, .steps = 100, .up = 0.4, .start_divisor = 10, .three_phases = true})));
  return result;
}

}  // namespace assay::test
