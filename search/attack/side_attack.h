// SideAttack: goes on looking for a witness while branch and bound runs, in slices that take a
// share of one thread's time (side_share).
//
// With one thread there is no second one to run beside: the search calls take_turn() between nodes
// and batches, and a slice that is due runs then. Slices double, and the pauses between them grow
// with them, so that an attack costs its share however long the search takes. A witness stops the
// search through its stop source.
#pragma once

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>

#include "search/attack/attack.h"

namespace assay::search {

// Of one thread's time, so many seconds after the start. An attack that fades has its whole share
// for a while, then the same number of seconds in each e-fold of the time.
[[nodiscard]] double side_share(double seconds, bool fades);

class SideAttack {
 public:
  // Starts a thread if it is to have its own. When it finds a witness it asks `found` to stop.
  // `network` and `found` outlive this object.
  SideAttack(const Network& network, std::uint64_t seed, Deadline deadline, std::stop_source& found, bool own_thread);

  // Without a thread of its own: the slice that is due, if one is. From one thread at a time.
  void take_turn();

  // Points are looked for beside it, too: from now on its share falls as time passes.
  void fade() { fades_ = true; }

  // Ends the thread and hands over what it found.
  std::optional<logic::Theorem> finish(Statistics& statistics);

 private:
  void run(const std::stop_token& stop);
  void slice(const std::stop_token& stop);
  const Network& network_;
  AttackOptions options_;  // of the next slice
  std::stop_source& found_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<bool> fades_ = false;
  Clock::time_point due_;
  std::optional<logic::Theorem> theorem_;
  Statistics statistics_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace assay::search
