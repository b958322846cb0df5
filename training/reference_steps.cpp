#include "training/reference_steps.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "semantics/demand.h"

namespace assay::training {

using reference::Numbers;

namespace {

// The nearest floats.
Array rounded(const Numbers& numbers, DType dtype) {
  std::vector<double> values;
  for (std::size_t i = 0; i < numbers.size(); ++i) values.push_back(numbers.nearest(i));
  if (dtype == DType::float64) return Array::from(Tensor::of_doubles(numbers.shape(), values));
  return Array::from(Tensor::of_floats(numbers.shape(), std::vector<float>(values.begin(), values.end())));
}

Rejection placed(std::string_view part, Rejection why) {
  why.place.insert(0, std::string(part) + ", ");
  return why;
}

}  // namespace

// Takes values that other code assigned since, and at first all of them, from the session.
Outcome<Done> ReferenceSteps::meet() {
  const std::vector<Value> all = model_.all();
  for (std::size_t k = 0; k < all.size(); ++k) {
    if (k < rounded_.size() && rounded_[k].shares_buffer_with(all[k].array())) continue;
    auto made = Numbers::from(kind_, all[k].array().to_tensor());
    if (!made) return made.rejection();
    if (k < numbers_.size()) {
      numbers_[k] = std::move(made).value();
      rounded_[k] = all[k].array();
    } else {
      numbers_.push_back(std::move(made).value());
      rounded_.push_back(all[k].array());
    }
  }
  return Done{};
}

Outcome<Done> ReferenceSteps::put(std::size_t which, Numbers numbers) {
  const Value value = model_.all()[which];
  numbers_[which] = std::move(numbers);
  rounded_[which] = rounded(numbers_[which], value.dtype());
  return model_.session().assign(value, rounded_[which]);
}

Outcome<double> ReferenceSteps::step(const Graph& graph, std::span<const Value> buffers) {
  if (auto done = meet(); !done) return done.rejection();
  auto results = reference::evaluate(graph, numbers_, kind_);
  if (!results) return placed("loss and gradients", results.rejection());
  const auto formulas = optimiser_.formulas();
  if (!formulas) return formulas.rejection();
  const std::vector<Value>& parameters = optimiser_.parameters();
  const std::vector<Value> all = model_.all();
  const auto place = [&](const Value& value) {
    const auto found = std::ranges::find(all, value.ref(), &Value::ref);
    demand(found != all.end(), "ReferenceSteps: an optimiser and buffers of the model");
    return static_cast<std::size_t>(found - all.begin());
  };
  for (std::size_t k = states_.size(); k < parameters.size(); ++k) {
    states_.emplace_back();
    for (const double start : formulas.value().starts) {
      const std::vector<double> same(parameters[k].array().size(), start);
      auto made = Numbers::from(kind_, Tensor::of_doubles(parameters[k].shape(), same));
      if (!made) return made.rejection();
      states_[k].push_back(std::move(made).value());
    }
  }
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    std::vector<Numbers> operands{numbers_[place(parameters[k])], results.value()[k]};
    operands.insert(operands.end(), states_[k].begin(), states_[k].end());
    auto next = reference::evaluate(formulas.value().passes[k], operands, kind_);
    if (!next) return placed(optimiser_.kind(), next.rejection());
    states_[k].assign(next.value().begin() + 1, next.value().end());
    if (auto done = put(place(parameters[k]), next.value()[0]); !done) return done.rejection();
  }
  for (std::size_t k = 0; k < buffers.size(); ++k) {
    if (auto done = put(place(buffers[k]), results.value()[parameters.size() + k]); !done) return done.rejection();
  }
  loss_.assign(1, results.value().back());
  return loss_[0].nearest(0);
}

std::string ReferenceSteps::note() const {
  if (loss_.empty()) return {};
  std::size_t longest = loss_[0].length();
  double widest = 0;
  for (const Numbers& one : numbers_) longest = std::max(longest, one.length()), widest = std::max(widest, one.width());
  if (kind_ == reference::Kind::exact) return "longest fraction " + std::to_string(longest) + " characters";
  char text[160];
  std::snprintf(text, sizeof text, "loss in [%.17g, %.17g], widest parameter %.3g", loss_[0].lo(0), loss_[0].hi(0), widest);
  return text;
}

}  // namespace assay::training
