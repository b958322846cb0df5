#include <array>
#include <charconv>
#include <cmath>
#include <string_view>
#include <utility>

#include "cli/assay/options.h"

namespace assay::cli {
namespace {

struct Unit {
  std::string_view suffix;
  double factor;
};

// A non-negative number followed by one of the suffixes (or by none: factor 1).
bool parse_with_unit(const std::string& text, const auto& units, double& value) {
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value, std::chars_format::general);
  if (parsed.ec != std::errc{} || !(value >= 0) || !std::isfinite(value)) return false;
  const std::string_view suffix(parsed.ptr, static_cast<std::size_t>(end - parsed.ptr));
  if (suffix.empty()) return true;
  for (const Unit& unit : units) {
    if (suffix != unit.suffix) continue;
    value *= unit.factor;
    return std::isfinite(value);
  }
  return false;
}

}  // namespace

std::string counted(std::size_t count, const std::string& noun, const char* plural) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : plural);
}

bool parse_seconds(const std::string& text, double& seconds) {
  static constexpr std::array<Unit, 4> kUnits{{{"s", 1}, {"ms", 1e-3}, {"m", 60}, {"h", 3600}}};
  return parse_with_unit(text, kUnits, seconds);
}

bool parse_bytes(const std::string& text, std::uint64_t& bytes) {
  static constexpr std::array<Unit, 11> kUnits{{{"B", 1},
                                                {"K", 1024},
                                                {"M", 1048576},
                                                {"G", 1073741824},
                                                {"KiB", 1024},
                                                {"MiB", 1048576},
                                                {"GiB", 1073741824},
                                                {"kB", 1e3},
                                                {"KB", 1e3},
                                                {"MB", 1e6},
                                                {"GB", 1e9}}};
  double value = 0;
  if (!parse_with_unit(text, kUnits, value) || !(value < 9e18)) return false;
  bytes = static_cast<std::uint64_t>(value);
  return true;
}

}  // namespace assay::cli
