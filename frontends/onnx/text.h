// Texts that name parts, of a command line and of a model.
#pragma once

#include <string>
#include <vector>

namespace assay::onnx {

// The parts between the separators: one more than there are separators.
[[nodiscard]] inline std::vector<std::string> split_at(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

}  // namespace assay::onnx
