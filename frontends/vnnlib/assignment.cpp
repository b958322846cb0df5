// Witnesses as text, in the forms of VNN-LIB 1.0 and 2.0.
#include <array>
#include <charconv>
#include <string>

#include "frontends/vnnlib/read.h"

namespace assay::vnnlib {
namespace {

// The shortest digits that read back as the same double, without exponent (the grammar of 2.0 has none).
std::string shortest(double value) {
  constexpr std::size_t kLongest = 400;  // -2.2250738585072014e-308 spelled out takes 327 characters
  std::array<char, kLongest> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  return error == std::errc() ? std::string(text.data(), end) : std::to_string(value);
}

std::string exact(const Rational& value) {
  std::string text = value.to_decimal();
  return text.find('/') == std::string::npos ? text : shortest(value.double_down());
}

std::string scalar_line(char letter, std::size_t index, const std::string& value) {
  return std::string("(") + letter + "_" + std::to_string(index) + " " + value + ")";
}

// "[2,2]": the interface of version 2 separates name, type and dimensions by spaces, so there are none inside.
std::string dimensions(const Shape& shape) {
  std::string text = to_string(shape);
  std::erase(text, ' ');
  return text;
}

}  // namespace

std::string write_assignment_v1(std::span<const Rational> inputs, std::span<const double> outputs) {
  std::string text = "(";
  const char* separator = "";
  for (std::size_t i = 0; i < inputs.size(); ++i, separator = "\n ") text += separator + scalar_line('X', i, exact(inputs[i]));
  for (std::size_t i = 0; i < outputs.size(); ++i, separator = "\n ") text += separator + scalar_line('Y', i, shortest(outputs[i]));
  return text + ")\n";
}

std::string write_assignment_v2(const PropertyHeader& header, std::span<const Rational> inputs, std::span<const double> outputs) {
  using Side = statement::Variable::Side;
  std::string text;
  for (const TensorDeclaration& declared : header.declarations) {
    std::size_t first = 0;
    for (const TensorDeclaration& other : header.declarations)
      first += other.side == declared.side && other.tensor < declared.tensor ? element_count(other.shape) : 0;
    text += declared.name + " " + declared.type + " " + dimensions(declared.shape) + "\n";
    for (std::size_t i = first; i < first + element_count(declared.shape); ++i) {
      const bool known = i < (declared.side == Side::input ? inputs.size() : outputs.size());
      text += !known ? "?" : declared.side == Side::input ? exact(inputs[i]) : shortest(outputs[i]);
      text += "\n";
    }
  }
  return text;
}

}  // namespace assay::vnnlib
