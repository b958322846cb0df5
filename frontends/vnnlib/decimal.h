// Decimal numbers as VNN-LIB files write them, exactly.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "semantics/numbers/rational.h"

namespace assay::vnnlib {

struct Decimal {
  Rational value;
  std::uint32_t digits = 1;  // bounds the decimal digits of numerator and denominator
};

// True when the word can only be meant as a number.
[[nodiscard]] bool looks_like_number(std::string_view word);

// [sign] digits [. digits] [e [sign] digits]; one side of the point may lack its digits. On failure `problem` says
// what was required instead.
[[nodiscard]] std::optional<Decimal> parse_decimal(std::string_view word, std::string& problem);

}  // namespace assay::vnnlib
