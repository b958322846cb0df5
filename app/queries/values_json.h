// Values from JSON: numbers, or sets {"lo": a, "hi": b}, in row-major order; nested lists are read through. Integers are exact, or
// refused. JSON has no numbers for infinities and NaN: they are the words "inf", "-inf" and "nan", and null is an undefined value.
#pragma once

#include <string>

#include "app/queries/evaluate.h"
#include "semantics/outcome.h"

namespace assay::queries {

[[nodiscard]] std::string word_of(double value);  // "inf", "-inf" or "nan", what JSON has no numbers for
// Reads the values to evaluate at; NaN is an undefined value there.
[[nodiscard]] Outcome<EvaluationRequest> read_values(const std::string& text);
[[nodiscard]] Outcome<EvaluationRequest> read_values_file(const std::string& path);  // rejections name the file
[[nodiscard]] std::string to_json(const Evaluation& evaluation);

}  // namespace assay::queries
