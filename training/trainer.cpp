#include "training/trainer.h"

#include <limits>
#include <utility>

#include "runtime/recorder.h"
#include "semantics/demand.h"

namespace assay::training {

namespace {

Rejection reads_floats(const char* what) {
  return {Rejection::Kind::unsupported,       "training.reference",      what, "a step of ops alone",
          "one that reads floats on the way", "run it with a float type"};
}

}  // namespace

Trainer::Trainer(Model& model, Optimiser& optimiser, Loss loss, TrainerOptions options)
    : model_(model),
      optimiser_(optimiser),
      loss_(std::move(loss)),
      options_(std::move(options)),
      norm_(std::numeric_limits<double>::quiet_NaN()) {
  if (options_.most_percentile) percentile_.emplace(*options_.most_percentile);
  const runtime::SessionOptions& how = model_.session().options();
  if (how.reference != runtime::Reference::none) {
    reference_.emplace(model_, optimiser_, how.reference == runtime::Reference::exact ? reference::Kind::exact : reference::Kind::interval);
    return;
  }
  if (!options_.compiled && how.backend == runtime::Backend::eager) return;
  // Results: gradients, next values of buffers, the loss.
  const auto function = [this](std::span<const Value> batch) -> Outcome<std::vector<Value>> {
    auto computed = compute(batch, true);
    if (!computed) return computed.rejection();
    std::vector<Value> results = std::move(computed.value().gradients);
    buffers_.clear();
    for (const Model::Update& update : computed.value().updates) {
      results.push_back(update.next);
      buffers_.push_back(update.buffer);
    }
    results.push_back(computed.value().loss);
    return results;
  };
  compiled_.emplace(model_.session(), function, model_.all());
}

Outcome<Trainer::Computed> Trainer::compute(std::span<const Value> batch, bool differentiable) {
  Session& session = model_.session();
  (void)model_.take_updates();
  const Value loss = loss_(batch);
  std::vector<Model::Update> updates = model_.take_updates();
  if (auto fine = session.check(); !fine) return fine.rejection();
  auto gradients = session.gradients(loss, optimiser_.parameters(), {std::nullopt, differentiable});
  if (!gradients) return gradients.rejection();
  return Computed{loss, std::move(gradients).value(), std::move(updates)};
}

Outcome<Trainer::Computed> Trainer::replay(std::span<const Value> batch) {
  auto results = (*compiled_)(batch);
  if (!results) return results.rejection();
  std::vector<Value>& values = results.value();
  const std::size_t count = optimiser_.parameters().size();
  Computed computed{values.back(), {values.begin(), values.begin() + static_cast<std::ptrdiff_t>(count)}, {}};
  for (std::size_t k = 0; k < buffers_.size(); ++k) computed.updates.push_back({buffers_[k], values[count + k]});
  return computed;
}

// The step as a graph of all that the model has.
Outcome<double> Trainer::reference_step(Computed computed) {
  if (options_.most_norm || percentile_) return reads_floats("gradients that are cut by their norm");
  if (options_.most_value) clip_by_value(computed.gradients, *options_.most_value);
  std::vector<Value> results = std::move(computed.gradients), buffers;
  for (const Model::Update& update : computed.updates) {
    results.push_back(update.next);
    buffers.push_back(update.buffer);
  }
  results.push_back(computed.loss);
  const auto graph = model_.session().capture(model_.all(), results);
  if (!graph) return graph.rejection();
  if (options_.rate) optimiser_.set_rate(options_.rate(optimiser_.steps()));
  return reference_->step(graph.value(), buffers);
}

Outcome<double> Trainer::finish(Computed computed) {
  if (options_.most_value) clip_by_value(computed.gradients, *options_.most_value);
  if (options_.most_norm) norm_ = clip_by_norm(computed.gradients, *options_.most_norm);
  if (percentile_) norm_ = (*percentile_)(computed.gradients);
  if (auto fine = model_.session().check(); !fine) return fine.rejection();
  if (options_.rate) optimiser_.set_rate(options_.rate(optimiser_.steps()));
  const double loss = computed.loss.item();
  if (auto done = optimiser_.step(computed.gradients); !done) return done.rejection();
  if (auto done = model_.assign(computed.updates); !done) return done.rejection();
  return loss;
}

Outcome<double> Trainer::step(std::span<const Array> batch, Trace* trace) {
  if (reference_ && trace != nullptr) return reads_floats("a trace");
  Session& session = model_.session();
  session.clear();
  std::optional<runtime::Recorder> recorder;
  if (trace != nullptr) recorder.emplace(session);
  std::vector<Value> values;
  for (const Array& array : batch) values.push_back(session.input(array, "batch " + std::to_string(values.size())));
  auto computed = compiled_ ? replay(values) : compute(values, trace != nullptr || reference_);
  if (!computed) return computed.rejection();
  if (recorder) recorder->output(computed.value().loss);
  if (recorder) *trace = recorder->take();
  recorder.reset();  // later ops are the optimiser's
  if (reference_) return reference_step(std::move(computed).value());
  return finish(std::move(computed).value());
}

Outcome<RateTrials> Trainer::find_rate(const std::function<std::vector<Array>()>& next, const RateRange& range) {
  if (reference_) return reads_floats("the range test");
  const auto state = optimiser_.state();
  if (!state) return state.rejection();
  std::vector<std::pair<Value, Array>> before;
  for (const Value& value : model_.all()) before.emplace_back(value, value.array());  // assigning leaves these alone
  const Schedule schedule = std::exchange(options_.rate, nullptr);
  const double rate = optimiser_.rate();
  auto trials = training::find_rate(
      [&](double one) {
        optimiser_.set_rate(one);
        return step(next());
      },
      range);
  options_.rate = schedule;
  optimiser_.set_rate(rate);
  model_.session().clear();
  for (const auto& [value, array] : before) {
    if (auto done = model_.session().assign(value, array); !done) return done.rejection();
  }
  if (auto done = optimiser_.restore(state.value()); !done) return done.rejection();
  return trials;
}

}  // namespace assay::training
