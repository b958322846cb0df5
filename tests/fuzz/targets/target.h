// The libFuzzer targets share the limits of one input, the report of a condition that does not hold, and a file that an input is
// in.
//
// A target is one function of bytes, and returns for all of them: a crash, a sanitizer's report, a failed `expect` or a limit
// that was passed ends the program, and libFuzzer keeps the input. tools/fuzz builds and runs all of them; README.md in this
// folder lists them.
#pragma once

#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "api/check/load.h"
#include "semantics/outcome.h"

namespace assay::fuzz {

// Of one input. Multiply-adds take some twenty times longer under the sanitizers; -rss_limit_mb of tools/fuzz bounds the whole process.
constexpr std::uint64_t kMemory = std::uint64_t{32} << 20;
constexpr double kWork = 2e6;
constexpr double kSeconds = 10;  // CPU

inline check::Limits limits() { return {kMemory, kWork}; }

// Our own claims about what was read. Unlike assert, it is never compiled out.
inline void expect(bool holds, const std::string& claim) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", claim.c_str());
  std::abort();
}
template <class T>
const T& expect_ok(const Outcome<T>& outcome, const std::string& claim) {
  if (!outcome) expect(false, claim + ":\n" + outcome.rejection().to_text());
  return outcome.value();
}

// The CPU time of one input is measured from here to the end of the scope.
class Bounded {
 public:
  Bounded() = default;
  Bounded(const Bounded&) = delete;
  Bounded& operator=(const Bounded&) = delete;
  ~Bounded() {
    const double seconds = check::thread_cpu_seconds() - start_;
    expect(seconds <= kSeconds, "one input takes at most " + std::to_string(kSeconds) + " CPU seconds; it took " + std::to_string(seconds));
  }

 private:
  double start_ = check::thread_cpu_seconds();
};

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) { return {reinterpret_cast<const char*>(data), size}; }
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

// A file of this process for readers that take a path, in memory where the system has such a folder; a folder of its own, so that what an
// input names beside itself belongs to this process.
class InputFile {
 public:
  InputFile() {
    const char* named = std::getenv("TMPDIR");
    const std::string base = named != nullptr ? named : std::filesystem::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    folder_ = base + "/assay_fuzz_" + std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    path_ = folder_ + "/input";
  }
  ~InputFile() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  InputFile(const InputFile&) = delete;
  InputFile& operator=(const InputFile&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const std::string& put(std::string_view bytes) const { return put_as(path_, bytes); }
  // Another file beside it.
  void put_beside(const std::string& name, std::string_view bytes) const { (void)put_as(folder_ + "/" + name, bytes); }

 private:
  static const std::string& put_as(const std::string& path, std::string_view bytes) {
    std::FILE* file = std::fopen(path.c_str(), "wb");
    expect(file != nullptr, "the file " + path + " can be written");
    const bool whole = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size();
    expect(std::fclose(file) == 0 && whole, "the file " + path + " was written");
    return path;
  }
  std::string folder_, path_;
};

}  // namespace assay::fuzz
