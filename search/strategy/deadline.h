// Deadline: the moment by which something has to end. The same type serves from the command-line option to the
// innermost loop. Limit: a deadline together with a stop request.
//
// Every loop that may take long asks a deadline or a limit, so that the search ends soon after a stop request or at its
// deadline. Stages get shares of the *planned* seconds, so that the first half of a search does not depend on its time
// limit (README.md).
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
  // The deadline that lies `seconds` from now. A number of seconds that a clock cannot hold means never.
  [[nodiscard]] static Deadline in(double seconds) {
    constexpr double kFarAway = 1e8;
    Deadline result;
    if (seconds < kFarAway)
      result.end_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return result;
  }
  [[nodiscard]] bool has_passed() const { return Clock::now() >= end_; }
  // Negative once the deadline has passed; infinite if there is none.
  [[nodiscard]] double seconds_left() const {
    return end_ == Clock::time_point::max() ? std::numeric_limits<double>::infinity() : -seconds_since(end_);
  }
  [[nodiscard]] Clock::time_point moment() const { return end_; }
  friend auto operator<=>(const Deadline&, const Deadline&) = default;  // less means earlier

 private:
  Clock::time_point end_ = Clock::time_point::max();
};

struct Limit {
  Deadline deadline;
  std::stop_token stop;
  Clock::time_point begin = Clock::now();  // when the search began
  // The seconds of which stages get shares. This is the time spent so far, or what is left of half a minute if that is
  // more, but never more than the time left. So every limit of half a minute or more gives the same shares in the first
  // half of its time.
  [[nodiscard]] double planned() const {
    const double spent = seconds_since(begin);
    return std::min(deadline.seconds_left(), std::max(kPlanned - spent, spent));
  }
  // The earliest time since the beginning, in seconds, at which planned() can be this many seconds.
  [[nodiscard]] static double planned_after(double seconds) { return std::max(seconds, kPlanned / 2); }
  static constexpr double kPlanned = 30;
  // Once true, it stays true.
  [[nodiscard]] bool reached() const { return stop.stop_requested() || deadline.has_passed(); }
  // reached() as a function for a StopScope, which passes it to the loops of semantics/ and kernel/.
  [[nodiscard]] std::function<bool()> question() const {
    return [this] { return reached(); };
  }
};

}  // namespace assay::search
