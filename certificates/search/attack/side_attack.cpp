// SideAttack: the thread that attacks beside the branching.

#include "certificates/search/attack/side_attack.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <new>

namespace assay::search {
namespace {

constexpr double kShare = 0.15;       // of one thread's time, after the first slice
constexpr double kFirstPause = 0.03;  // seconds: a search that ends before is not disturbed
constexpr double kFirstSlice = 0.15;  // seconds; each slice is twice as long as the one before
constexpr double kLongestSlice = 3;   // seconds

}  // namespace

SideAttack::SideAttack(const Network& network, std::uint64_t seed, Deadline deadline, std::stop_source& found)
    : thread_([this, &network, seed, deadline, &found](const std::stop_token& stop) {
        try {
          run(network, {.seconds = kFirstSlice, .deadline = deadline, .seed = seed}, stop, found);
        } catch (const std::bad_alloc&) {  // the search goes on without it, as long as it has memory itself
        }
      }) {}

void SideAttack::run(const Network& network, AttackOptions options, const std::stop_token& stop, std::stop_source& found) {
  std::mutex mutex;
  std::condition_variable_any wake;
  double pause = kFirstPause;
  while (!stop.stop_requested() && !theorem_) {
    {
      std::unique_lock lock(mutex);
      wake.wait_for(lock, stop, std::chrono::duration<double>(pause), [] { return false; });
    }
    if (stop.stop_requested()) return;
    ++options.seed;
    const auto begin = std::chrono::steady_clock::now();
    theorem_ = attack_all(network, options, stop, statistics_);
    const double taken = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    statistics_.attack_seconds += taken;
    pause = taken * (1 - kShare) / kShare;
    options.seconds = std::min(2 * options.seconds, kLongestSlice);
    options.whole_ascent = true;  // of a large network, which would find nothing in slices that end before; a short search is not disturbed
  }
  if (theorem_) found.request_stop();
}

std::optional<kernel::Theorem> SideAttack::finish(Statistics& statistics) {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  statistics.attack_seconds += statistics_.attack_seconds;
  statistics.attack_steps += statistics_.attack_steps;
  return std::move(theorem_);
}

}  // namespace assay::search
