// Numbers with units on the command line, and the limits on memory and work that they set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace assay::cli {

// "10", "90s", "2m", "1h" in seconds; "512MiB", "2GB", "4G" in bytes; "1e12" in multiply-adds. False when it is not one.
[[nodiscard]] bool parse_seconds(const std::string& text, double& seconds);
[[nodiscard]] bool parse_bytes(const std::string& text, std::uint64_t& bytes);
[[nodiscard]] bool parse_work(const std::string& text, double& multiply_adds);

// From now on the system gives the process no more memory for its data than this: whatever asks for more is told so (std::bad_alloc).
void limit_memory(std::uint64_t bytes);

// Suspends the memory limit while an object lives, for libraries that crash where an allocation fails. The caller has to bound
// the work otherwise.
class LiftedLimit {
 public:
  LiftedLimit();
  LiftedLimit(const LiftedLimit&) = delete;
  LiftedLimit& operator=(const LiftedLimit&) = delete;
  ~LiftedLimit();
};

}  // namespace assay::cli
