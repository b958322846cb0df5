#include "frontends/vnnlib/decimal.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace assay::vnnlib {
namespace {

// The smallest subnormal double needs 1,074 decimals; nothing that denotes a double is longer or further out.
constexpr std::size_t kMaxCharacters = 1200;
constexpr std::int64_t kMaxExponent = 400;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view take_digits(std::string_view& rest) {
  const auto end = std::find_if_not(rest.begin(), rest.end(), is_digit);
  const std::string_view digits = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
  rest.remove_prefix(digits.size());
  return digits;
}

bool take_sign(std::string_view& rest) {
  const bool negative = !rest.empty() && rest.front() == '-';
  if (negative || (!rest.empty() && rest.front() == '+')) rest.remove_prefix(1);
  return negative;
}

bool take_exponent(std::string_view& rest, std::int64_t& exponent) {
  if (rest.empty() || (rest.front() != 'e' && rest.front() != 'E')) return true;
  rest.remove_prefix(1);
  const bool negative = take_sign(rest);
  const std::string_view digits = take_digits(rest);
  for (const char c : digits) exponent = std::min(exponent * 10 + (c - '0'), kMaxExponent + 1);
  exponent = negative ? -exponent : exponent;
  return !digits.empty();
}

}  // namespace

bool looks_like_number(std::string_view word) {
  std::string_view rest = word;
  take_sign(rest);
  if (rest.empty()) return false;
  if (is_digit(rest.front()) || rest.front() == '.' || rest.size() != word.size()) return true;
  std::string lower(rest.substr(0, 9));
  std::transform(lower.begin(), lower.end(), lower.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return lower == "nan" || lower == "inf" || lower == "infinity";
}

std::optional<Decimal> parse_decimal(std::string_view word, std::string& problem) {
  if (word.size() > kMaxCharacters) {
    problem = "a number of at most " + std::to_string(kMaxCharacters) + " characters";
    return std::nullopt;
  }
  std::string_view rest = word;
  take_sign(rest);
  std::size_t significant = take_digits(rest).size();
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    significant += take_digits(rest).size();
  }
  std::int64_t exponent = 0;
  if (significant == 0 || !take_exponent(rest, exponent) || !rest.empty()) {
    problem = "a finite decimal number";
    return std::nullopt;
  }
  if (std::abs(exponent) > kMaxExponent) {
    problem = "an exponent from -" + std::to_string(kMaxExponent) + " to " + std::to_string(kMaxExponent);
    return std::nullopt;
  }
  std::optional<Rational> value = Rational::parse(word);
  if (!value) {
    problem = "a finite decimal number";
    return std::nullopt;
  }
  return Decimal{std::move(*value), static_cast<std::uint32_t>(significant) + static_cast<std::uint32_t>(std::abs(exponent))};
}

}  // namespace assay::vnnlib
