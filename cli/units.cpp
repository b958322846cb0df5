#include <malloc.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "cli/units.h"

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

bool parse_work(const std::string& text, double& multiply_adds) {
  static constexpr std::array<Unit, 0> kUnits{};
  return parse_with_unit(text, kUnits, multiply_adds) && multiply_adds > 0;
}

namespace {

struct MemoryLimit {
  std::mutex mutex;
  std::optional<std::uint64_t> bytes;  // that were set
  std::size_t lifts = 0;
};

MemoryLimit& memory_limit() {
  static MemoryLimit limit;
  return limit;
}

// Of the data of the process; nothing: as many as the system lets it have.
void set_limit(std::optional<std::uint64_t> bytes) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  (void)bytes;  // the sanitizers' own tables are memory of the process
#else
  rlimit limit{};
  if (getrlimit(RLIMIT_DATA, &limit) != 0) return;
  limit.rlim_cur = bytes ? std::min<rlim_t>(limit.rlim_max, *bytes) : limit.rlim_max;
  (void)setrlimit(RLIMIT_DATA, &limit);
#endif
}

}  // namespace

void limit_memory(std::uint64_t bytes) {
#ifdef __GLIBC__
  // Of the C library's allocator: blocks of this size come and go with every pass through a network, and back to the system and in again
  // they cost as much as the pass.
  constexpr int kLargest = 4 << 20, kKept = 16 << 20;
  mallopt(M_MMAP_THRESHOLD, kLargest);
  mallopt(M_TRIM_THRESHOLD, kKept);
#endif
  MemoryLimit& limit = memory_limit();
  const std::lock_guard lock(limit.mutex);
  limit.bytes = bytes;
  if (limit.lifts == 0) set_limit(bytes);
}

LiftedLimit::LiftedLimit() {
  MemoryLimit& limit = memory_limit();
  const std::lock_guard lock(limit.mutex);
  if (limit.lifts++ == 0 && limit.bytes) set_limit(std::nullopt);
}

LiftedLimit::~LiftedLimit() {
  MemoryLimit& limit = memory_limit();
  const std::lock_guard lock(limit.mutex);
  if (--limit.lifts == 0 && limit.bytes) set_limit(limit.bytes);
}

}  // namespace assay::cli
