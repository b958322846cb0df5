// JSON that others wrote: parsed only where it is nested no deeper than any file of ours, for values are copied and destroyed by recursion.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string_view>

namespace assay::formats {

inline constexpr std::size_t kMostNested = 200;
inline constexpr const char* kNoJson = "no JSON, or lists and objects nested more than 200 deep";

// Whether lists and objects lie in each other more than kMostNested deep.
[[nodiscard]] inline bool is_nested_too_deep(std::string_view text) {
  std::size_t depth = 0;
  bool quoted = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      i += c == '\\' ? 1 : 0;
      quoted = c != '"';
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMostNested) return true;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return false;
}

// Discarded where there is none: kNoJson says why.
template <class Json = nlohmann::ordered_json>
[[nodiscard]] Json parse_json(std::string_view text) {
  return is_nested_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, nullptr, false);
}

}  // namespace assay::formats
