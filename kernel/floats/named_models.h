// Semantics by name: what `--semantics` takes.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "semantics/graph/execution_model.h"
#include "semantics/outcome.h"

namespace assay::floats {

struct NamedModel {
  std::string_view name;
  std::string_view format;  // the element types of the graphs it speaks about
  std::string_view words;   // which executions
  ExecutionModel model;
};
[[nodiscard]] std::span<const NamedModel> named_models();

// "real"; "float32" and "float64" (any order, any library), "bfloat16", "float16" (results stored so, computed in
// float32); "float32:MODEL" with a named model or the spelling of one (execution_model.h). Malformed for any other
// text, with the names.
[[nodiscard]] Outcome<ExecutionModel> semantics_named(std::string_view text);

// The shortest of these texts that semantics_named reads as this model.
[[nodiscard]] std::string semantics_name(const ExecutionModel& model);

}  // namespace assay::floats
