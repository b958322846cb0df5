// A model's outputs, over floats by the runtime, or over fractions and intervals by the reference semantics.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/models/recorded_run.h"
#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::models {

struct OutputRequest : ModelRunRequest {
  std::string dtype;  // empty: what the model says; exact and interval: by the reference semantics
};

struct Output {
  std::string name;
  Shape shape;
  std::vector<std::string> texts;  // by element
  std::vector<nlohmann::ordered_json> values;
};

// On the numbers of request.values, or on normal ones.
[[nodiscard]] Outcome<std::vector<Output>> outputs_of(const OutputRequest& request, const Program& program);

}  // namespace assay::models
