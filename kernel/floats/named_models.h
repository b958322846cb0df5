// Named execution models: the values of the option `--semantics`.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "semantics/graph/execution_model.h"
#include "semantics/outcome.h"

namespace assay::floats {

struct NamedModel {
  std::string_view name;
  std::string_view format;  // the element type of the graphs that the model is about
  std::string_view words;   // a description of the executions
  ExecutionModel model;
};
[[nodiscard]] std::span<const NamedModel> named_models();

// Reads one of these texts:
// - "real";
// - "float32" and "float64": sums in any order, any library;
// - "bfloat16" and "float16": results stored so, computed in float32;
// - "float32:MODEL" with a named model or the spelling of one (execution_model.h).
// Any other text is malformed; the rejection lists the names.
[[nodiscard]] Outcome<ExecutionModel> semantics_named(std::string_view text);

// The shortest text that semantics_named reads as this model.
[[nodiscard]] std::string semantics_name(const ExecutionModel& model);

}  // namespace assay::floats
