// Deadline: the moment by which something has to end; from the option on the command line to the
// innermost loop. Limit: that, or a request.
//
// Every loop that may take long asks one of these, so that a stop request or a deadline ends a
// search soon. Shares are taken of *planned* seconds: what a search does in its first half does not
// depend on its limit (README.md).
#pragma once

#include <algorithm>
#include <chrono>
#include <compare>
#include <functional>
#include <limits>
#include <stop_token>

namespace assay::search {

using Clock = std::chrono::steady_clock;

[[nodiscard]] inline double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

class Deadline {
 public:
  Deadline() = default;  // never
  // So many seconds from now; more than a clock can hold are never.
  [[nodiscard]] static Deadline in(double seconds) {
    constexpr double kFarAway = 1e8;
    Deadline result;
    if (seconds < kFarAway)
      result.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return result;
  }
  [[nodiscard]] bool has_passed() const { return Clock::now() >= end_; }
  // Negative once it has passed; infinite for never.
  [[nodiscard]] double seconds_left() const {
    return end_ == Clock::time_point::max() ? std::numeric_limits<double>::infinity() : -seconds_since(end_);
  }
  [[nodiscard]] Clock::time_point moment() const { return end_; }
  friend auto operator<=>(const Deadline&, const Deadline&) = default;  // less: earlier

 private:
  Clock::time_point end_ = Clock::time_point::max();
};

struct Limit {
  Deadline deadline;
  std::stop_token stop;
  Clock::time_point begin = Clock::now();  // of the search
  // The seconds that stages get shares of: so many as were spent, and at first what half a minute
  // leaves, but never more than there are. So a limit of half a minute or more changes no share in
  // the first half of its time.
  [[nodiscard]] double planned() const {
    const double spent = seconds_since(begin);
    return std::min(deadline.seconds_left(), std::max(kPlanned - spent, spent));
  }
  // As many seconds behind the beginning are the earliest at which so many are planned.
  [[nodiscard]] static double planned_after(double seconds) { return std::max(seconds, kPlanned / 2); }
  static constexpr double kPlanned = 30;
  // Never takes a true back.
  [[nodiscard]] bool reached() const { return stop.stop_requested() || deadline.has_passed(); }
  // The same question, for a StopScope: it reaches inside of the loops of semantics/ and kernel/.
  [[nodiscard]] std::function<bool()> question() const {
    return [this] { return reached(); };
  }
};

}  // namespace assay::search
