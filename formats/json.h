// JSON that others wrote: parsed only where it is nested no deeper than any file of ours, for values are copied and destroyed by recursion.
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay::formats {

inline constexpr std::size_t kMostNested = 200;
inline constexpr const char* kNoJson = "no JSON, or lists and objects nested more than 200 deep";

// Returns true if lists and objects are nested more than kMostNested deep.
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

// The first name that an object of valid JSON has twice: readers keep one of its values, which may be another than the writer meant.
[[nodiscard]] inline std::optional<std::string> repeated_name(std::string_view text) {
  if (is_nested_too_deep(text)) return std::nullopt;
  std::vector<std::set<std::string>> open;
  std::optional<std::string> repeated;
  const auto note = [&](int, nlohmann::json::parse_event_t event, nlohmann::json& value) {
    if (event == nlohmann::json::parse_event_t::object_start) open.emplace_back();
    if (event == nlohmann::json::parse_event_t::object_end) open.pop_back();
    if (event == nlohmann::json::parse_event_t::key && !open.back().insert(value.get<std::string>()).second && !repeated)
      repeated = value.get<std::string>();
    return true;
  };
  const nlohmann::json whole = nlohmann::json::parse(text, note, false);
  return whole.is_discarded() ? std::nullopt : repeated;
}

// Returns true if a name or a text of valid JSON has a NUL byte: a path ends there for the system, and not for the reader of the text.
template <class Json = nlohmann::ordered_json>
[[nodiscard]] bool has_nul(const Json& value) {
  if (value.is_string()) return value.template get_ref<const std::string&>().find('\0') != std::string::npos;
  for (const auto& [name, member] : value.items()) {
    if (value.is_structured() && (name.find('\0') != std::string::npos || has_nul(member))) return true;
  }
  return false;
}

}  // namespace assay::formats
