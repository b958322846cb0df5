// SideAttack: goes on looking for a witness while branch and bound runs, in slices that take a fixed share of the time.
#pragma once

#include <optional>
#include <stop_token>
#include <thread>

#include "certificates/search/attack/attack.h"

namespace assay::search {

class SideAttack {
 public:
  // Starts a thread. When it finds a witness it asks `found` to stop. `network` and `found` outlive this object.
  SideAttack(const Network& network, std::uint64_t seed, Deadline deadline, std::stop_source& found);

  // Ends the thread and hands over what it found.
  std::optional<kernel::Theorem> finish(Statistics& statistics);

 private:
  void run(const Network& network, AttackOptions options, const std::stop_token& stop, std::stop_source& found);
  std::optional<kernel::Theorem> theorem_;
  Statistics statistics_;
  std::jthread thread_;  // last: it uses the others
};

}  // namespace assay::search
