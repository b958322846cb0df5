#include "explain/text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace assay::explain {

std::string decimal(double value, contracts::Format format) {
  std::array<char, 40> digits{};
  char* const end = digits.data() + digits.size();
  const bool is_float = format == contracts::Format::binary32 && (std::fabs(value) <= contracts::largest(format) || !std::isfinite(value));
  const auto written = is_float ? std::to_chars(digits.data(), end, static_cast<float>(value)) : std::to_chars(digits.data(), end, value);
  return {digits.data(), written.ptr};
}

std::string rough(double value) {
  std::array<char, 40> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.3g", value))};
}

std::string hex(double value) {
  std::array<char, 40> text{};
  return {text.data(), static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%a", value))};
}

std::string in_decimals(std::string text) {
  static constexpr std::string_view kDigits = "0123456789";
  for (std::size_t slash = text.find('/'); slash != std::string::npos; slash = text.find('/', slash + 1)) {
    const std::size_t before = text.find_last_not_of(kDigits, slash == 0 ? slash : slash - 1);
    const std::size_t start = before == std::string::npos ? 0 : before + 1,
                      end = std::min(text.find_first_not_of(kDigits, slash + 1), text.size());
    if (start == slash || end == slash + 1) continue;  // no fraction
    const double value = std::strtod(text.c_str() + start, nullptr) / std::strtod(text.c_str() + slash + 1, nullptr);
    if (!std::isfinite(value)) continue;
    std::array<char, 40> decimal{};
    std::snprintf(decimal.data(), decimal.size(), "%.9g", value);
    text.replace(start, end - start, decimal.data());
    slash = start;
  }
  return text;
}

std::string received_text(const Tensor& tensor, std::size_t element) {
  const auto recorded = contracts::recorded_value(tensor, element);
  if (recorded && !is_float(tensor.dtype())) return std::to_string(tensor.as_int(element));
  const double value = recorded.value_or(0);
  const std::size_t width = byte_size(tensor.dtype());
  std::string bits;
  for (std::size_t i = width; i-- > 0;) {
    std::array<char, 4> byte{};
    std::snprintf(byte.data(), byte.size(), "%02x", std::to_integer<unsigned>(tensor.bytes()[element * width + i]));
    bits += byte.data();
  }
  if (!recorded) return "an integer beyond 2^53 (bits " + bits + ")";
  return decimal(value, contracts::format_of(tensor.dtype())) + " = " + hex(value) + " (bits " + bits + ")";
}

}  // namespace assay::explain
