// The tests of explain/ share this code.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "explain/explain.h"
#include "tests/audit/run.h"

namespace assay::test {

using Lines = std::vector<std::string>;

// Numbers without a pattern, that are no small integers.
inline std::vector<float> noise(std::size_t count, unsigned seed, float scale = 1) {
  std::vector<float> values;
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 1664525U + 1013904223U;
    values.push_back(scale * (static_cast<float>(seed >> 8) / 8388608.0F - 1));
  }
  return values;
}

inline bool mentions(const Lines& lines, const std::string& text) {
  const bool found = std::ranges::any_of(lines, [&](const std::string& line) { return line.find(text) != std::string::npos; });
  if (!found) {
    for (const std::string& line : lines) UNSCOPED_INFO(line);
  }
  return found;
}

}  // namespace assay::test
