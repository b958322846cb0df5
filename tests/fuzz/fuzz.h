// The fuzz tests share seeded changes of bytes, the number of cases, and the limits of each case.
//
// ASSAY_FUZZ=N multiplies the number of cases: the suite runs a short part of the long run. ASSAY_FUZZ_SEED chooses other cases,
// ASSAY_FUZZ_FIRST the first one, to repeat it.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <random>
#include <string>
#include <vector>

#include "cli/load.h"
#include "cli/units.h"
#include "tests/catch.h"
#include "tests/fuzz/records.h"

namespace assay::fuzz {

using Random = std::mt19937_64;

inline std::uint64_t from_environment(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::strtoull(text, nullptr, 10) : otherwise;
}
inline std::size_t cases(std::size_t of_the_suite) { return of_the_suite * from_environment("ASSAY_FUZZ", 1); }
inline std::uint64_t seed() { return from_environment("ASSAY_FUZZ_SEED", 1); }

// Of every case. The process may hold twice the memory, so that what is freed late does not count.
constexpr std::uint64_t kMemory = std::uint64_t{256} << 20;
constexpr double kWork = 1e8;
constexpr double kSeconds = 10;  // CPU, on a machine several times slower than ours; kWork takes about one half

inline cli::Limits limits() { return {kMemory, kWork}; }

inline std::size_t below(Random& random, std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random() % n); }

inline std::uint64_t extreme(Random& random) {
  const std::uint64_t shifted = std::uint64_t{1} << below(random, 64);
  return std::vector<std::uint64_t>{0, 1, 2, 127, 128, 255, shifted, shifted - 1, shifted + 1, random()}[below(random, 10)];
}

// One to four changes: bits, bytes, numbers of variable length; parts removed, repeated, moved, taken from `other`; the end cut off.
inline std::string bent(std::string bytes, const std::string& other, Random& random) {
  for (std::size_t changes = 1 + below(random, 4); changes > 0; --changes) {
    const std::size_t at = below(random, bytes.size()), length = 1 + below(random, 12);
    if (bytes.empty()) return other;
    switch (below(random, 10)) {
      case 0:
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(random, 8)));
        break;
      case 2:
        bytes[at] = static_cast<char>(random());
        break;
      case 3:
        bytes[at] = std::string("\x00\x01\x02\x7f\x80\xff\x40", 7)[below(random, 7)];
        break;
      case 4:
        bytes.replace(at, 1, varint(extreme(random)));
        break;
      case 5:
        bytes.erase(at, length);
        break;
      case 6:
        bytes.insert(at, bytes.substr(below(random, bytes.size()), length * 4));
        break;
      case 7:
        if (!other.empty()) bytes.insert(at, other.substr(below(random, other.size()), length * 4));
        break;
      case 8:
        if (!other.empty()) bytes.replace(at, length, other.substr(below(random, other.size()), length));
        break;
      default:
        if (below(random, 4) == 0) bytes.resize(at);
    }
  }
  return bytes;
}

inline std::uint64_t peak_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

// Runs the cases, each within its time, all within the memory; says which case it was when one is not.
template <class Case>
void run(const char* name, std::size_t count, Case one) {
  double slowest = 0;
  const std::uint64_t before = peak_bytes();
  for (std::size_t i = from_environment("ASSAY_FUZZ_FIRST", 0); i < count; ++i) {
    Random random(seed() * 1'000'003 + i);
    INFO(name << " case " << i << ": ASSAY_FUZZ_SEED=" << seed() << " ASSAY_FUZZ_FIRST=" << i << " build/release/bin/test_fuzz");
    const double start = cli::thread_cpu_seconds();
    one(random);
    const double seconds = cli::thread_cpu_seconds() - start;
    slowest = std::max(slowest, seconds);
    if (!(seconds <= kSeconds)) FAIL("the case took " << seconds << " s");
    if (!(peak_bytes() <= before + 2 * kMemory)) FAIL("the process has held " << peak_bytes() << " bytes");
  }
  std::fprintf(stderr, "%s: %zu cases, slowest %.2f s, peak %.0f MB\n", name, count, slowest, static_cast<double>(peak_bytes()) / 1e6);
}

}  // namespace assay::fuzz
