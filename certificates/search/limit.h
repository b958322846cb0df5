// Limit: when a search, or a part of it, has to end. Every loop of the search that may take long asks it.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <stop_token>

namespace assay::search {

using Clock = std::chrono::steady_clock;

struct Limit {
  Clock::time_point deadline = Clock::time_point::max();
  std::stop_token stop;
  // Never takes a true back.
  [[nodiscard]] bool reached() const { return stop.stop_requested() || Clock::now() >= deadline; }
  // The same question, for a StopScope: it reaches inside of the loops of semantics/ and kernel/.
  [[nodiscard]] std::function<bool()> question() const {
    return [this] { return reached(); };
  }
};

[[nodiscard]] inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

// The moment so many seconds from now; max() for more than a clock can hold.
[[nodiscard]] inline Clock::time_point after(double seconds) {
  constexpr double kFarAway = 1e8;
  if (!(seconds < kFarAway)) return Clock::time_point::max();
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
}

// Seconds until then; infinite for max().
[[nodiscard]] inline double seconds_until(Clock::time_point end) {
  return end == Clock::time_point::max() ? std::numeric_limits<double>::infinity()
                                         : std::chrono::duration<double>(end - Clock::now()).count();
}

}  // namespace assay::search
