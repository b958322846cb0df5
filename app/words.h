// Words of numbers and lists that people read.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace assay {

// "1 case", "2 cases".
[[nodiscard]] inline std::string counted(std::size_t count, const std::string& noun, const char* plural = "s") {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : plural);
}

// "a, b, c", cut short after many.
[[nodiscard]] inline std::string listed(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kMost); ++i) text += (i == 0 ? "" : ", ") + names[i];
  return text + (names.size() > kMost ? " and " + std::to_string(names.size() - kMost) + " more" : "");
}

// "0.333"
[[nodiscard]] inline std::string rounded(double value) {
  std::array<char, 40> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3g", value))};
}

}  // namespace assay
