// The parts of peer_cases share this code.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/session.h"

namespace assay::test {

using Json = nlohmann::ordered_json;

Json optimiser_cases();
Json schedule_cases();
Json loss_cases();
Json layer_cases();
Json complex_cases();
Json transform_cases();

// {"dtype", "shape", "data"}, floats with all their digits.
inline Json json_of(const runtime::Array& array) {
  return {{"dtype", std::string(to_string(array.dtype()))}, {"shape", array.shape()}, {"data", array.to_tensor().to_doubles()}};
}
inline Json json_of(const runtime::Value& value) { return json_of(value.array()); }

}  // namespace assay::test
