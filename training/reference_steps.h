// Steps of training over exact numbers or intervals: the graph that a Trainer captures of a step, and its optimiser's formula,
// evaluated by the reference semantics. Nothing is rounded (exact), or everything outwards (interval). Each interval encloses the
// exact value for the step as it is written, of parameters that start as the floats that they are drawn as. Numbers in the
// program (rates, factors) are their doubles; those that formulas of optimisers add (epsilons) are float32. The session holds the
// nearest floats beside.
#pragma once

#include <string>
#include <vector>

#include "training/model.h"
#include "training/optimise.h"
#include "training/reference/numbers.h"

namespace assay::training {

class ReferenceSteps {
 public:
  ReferenceSteps(Model& model, Optimiser& optimiser, reference::Kind kind) : model_(model), optimiser_(optimiser), kind_(kind) {}

  // One step; the loss before it, nearest or in the middle. The inputs of the graph are model.all(); its outputs the optimiser's
  // gradients, the next values of these buffers, and the loss. Rejections: those of reference::evaluate, and of
  // Optimiser::formulas.
  Outcome<double> step(const Graph& graph, std::span<const Value> buffers);
  // Of the last step: "loss in [0.25, 0.26], widest parameter 1e-12", "longest fraction 812 characters".
  [[nodiscard]] std::string note() const;

 private:
  Outcome<Done> meet();
  Outcome<Done> put(std::size_t which, reference::Numbers numbers);

  Model& model_;
  Optimiser& optimiser_;
  reference::Kind kind_;
  std::vector<reference::Numbers> numbers_;              // of model.all()
  std::vector<Array> rounded_;                           // their values in the session
  std::vector<std::vector<reference::Numbers>> states_;  // by the optimiser's parameter
  std::vector<reference::Numbers> loss_;                 // of the last step, if there was one
};

}  // namespace assay::training
