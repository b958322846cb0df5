// Trainer: one step of training, eager or compiled, in the order that everybody needs: loss, gradients, clipping, the rate, the
// optimiser's step, running statistics.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "runtime/compiled_function.h"
#include "semantics/graph/trace.h"
#include "training/clip.h"
#include "training/model.h"
#include "training/optimise.h"
#include "training/reference_steps.h"
#include "training/schedules.h"

namespace assay::training {

struct TrainerOptions {
  bool compiled = false;                                 // captured once per shape and replayed; so it is in a session of Backend::compiled
  Schedule rate = nullptr;                               // none: the optimiser's own
  std::optional<double> most_norm = std::nullopt;        // clip_by_norm
  std::optional<double> most_value = std::nullopt;       // clip_by_value
  std::optional<double> most_percentile = std::nullopt;  // PercentileClip
};

class Trainer {
 public:
  // A loss of one element from a batch; it also uses the model's parameters, and values that stay the same.
  using Loss = std::function<Value(std::span<const Value> batch)>;
  // The optimiser holds model.parameters().
  Trainer(Model& model, Optimiser& optimiser, Loss loss, TrainerOptions options);

  // One step; returns the loss before it. Clears the session first. `trace`, if given, gets the ops that ran
  // (docs/reference/trace-format.md). In a session with a Reference the step is captured and taken over its numbers
  // (reference_steps.h). Steps that read floats on the way are refused ("training.reference"): clipping by norms, traces, the
  // range test.
  Outcome<double> step(std::span<const Array> batch, Trace* trace = nullptr);
  [[nodiscard]] std::string note() const { return reference_ ? reference_->note() : std::string(); }
  [[nodiscard]] std::uint64_t steps() const { return optimiser_.steps(); }
  [[nodiscard]] double norm() const { return norm_; }  // of the last gradients before they were cut; NaN unless something asked for it
  [[nodiscard]] const TrainerOptions& options() const { return options_; }
  [[nodiscard]] Model& model() const { return model_; }
  [[nodiscard]] Optimiser& optimiser() const { return optimiser_; }
  [[nodiscard]] PercentileClip* percentile_clip() { return percentile_ ? &*percentile_ : nullptr; }

  // The range test on batches that `next` gives. Parameters, buffers and optimiser are what they were before, afterwards.
  Outcome<RateTrials> find_rate(const std::function<std::vector<Array>()>& next, const RateRange& range);

 private:
  struct Computed {
    Value loss;
    std::vector<Value> gradients;
    std::vector<Model::Update> updates;
  };
  Outcome<Computed> compute(std::span<const Value> batch, bool differentiable);
  Outcome<Computed> replay(std::span<const Value> batch);
  Outcome<double> finish(Computed computed);
  Outcome<double> reference_step(Computed computed);

  Model& model_;
  Optimiser& optimiser_;
  Loss loss_;
  TrainerOptions options_;
  std::optional<runtime::CompiledFunction> compiled_;
  std::optional<ReferenceSteps> reference_;
  std::vector<Value> buffers_;  // of a compiled step's updates, in the order of its results
  std::optional<PercentileClip> percentile_;
  double norm_;
};

}  // namespace assay::training
