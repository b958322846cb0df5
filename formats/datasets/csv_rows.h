// Separated values (RFC 4180), row by row.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "semantics/outcome.h"

namespace assay::formats {

// Calls `take` for each row with the number of its first line, until it rejects. Fields come without the blanks around them and without
// quotes, inside of which separators and line ends are text and "" is a quote. Empty lines, lines that begin with # and a byte order mark
// are left out. Without a separator it is the first of comma, semicolon and tab that a row's line has, or any number of blanks.
// Rejections: csv.quote (nothing ends it, or text follows it) and csv.nul, with the line.
[[nodiscard]] Outcome<Done> for_each_row(std::string_view text, std::optional<char> separator,
                                         const std::function<Outcome<Done>(std::size_t line, std::span<const std::string> fields)>& take);

}  // namespace assay::formats
