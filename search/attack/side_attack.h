// SideAttack: looks for a witness while branch and bound runs, in slices that take a share of one thread's
// time (side_share).
//
// A search with one thread calls take_turn() between nodes and batches, and a slice that is due runs then. Slices
// double, and the pauses between them grow with them, so the attack costs its share however long the search takes. A
// witness stops the search through its stop source.
#pragma once

#include <atomic>
#include <optional>
#include <stop_token>
#include <thread>

#include "search/attack/attack.h"

namespace assay::search {

// The share of one thread's time that the attack takes `seconds` after its start. A fading attack has its whole share
// for a while, then the same number of seconds in each e-fold of the time.
[[nodiscard]] double side_share(double seconds, bool fades);

class SideAttack {
 public:
  // With `own_thread`, starts a thread. The attack asks `found` to stop when it finds a witness. `network` and `found`
  // must outlive this object.
  SideAttack(const Network& network, std::uint64_t seed, Deadline deadline, std::stop_source& found, bool own_thread);

  // Without a thread of its own: runs the slice that is due, if one is. Only one thread may call this at a time.
  void take_turn();

  // From now on the share falls as time passes, because branch and bound looks for points, too.
  void fade() { fades_ = true; }

  // Ends the thread and returns the witness that it found.
  std::optional<logic::Theorem> finish(Statistics& statistics);

 private:
  void run(const std::stop_token& stop);
  void slice(const std::stop_token& stop);
  const Network& network_;
  AttackOptions options_;  // options of the next slice
  std::stop_source& found_;
  const Clock::time_point start_ = Clock::now();
  std::atomic<bool> fades_ = false;
  Clock::time_point due_;
  std::optional<logic::Theorem> theorem_;
  Statistics statistics_;
  std::jthread thread_;  // the last member, because it uses the others
};

}  // namespace assay::search
