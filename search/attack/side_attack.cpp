// SideAttack: the thread that attacks while branch and bound runs.
//
// The attack runs in slices; each is twice as long as the one before, up to 3 s. After a slice it pauses until its
// share of a thread is 0.15 again. If inputs are split, the share falls as 1 / t after 5 s, since branch and bound then
// tries the minimisers of its subdomains as points.
//
// Source: none; other verifiers attack once, before branch and bound. This attack goes on during branch and bound.

#include "search/attack/side_attack.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <new>

namespace assay::search {
namespace {

constexpr double kShare = 0.15;       // share of one thread's time, after the first slice
constexpr double kWholeShare = 5;     // seconds after which the share of a fading attack begins to fall, as 1 / t
constexpr double kFirstPause = 0.03;  // seconds: shorter searches are not disturbed
constexpr double kFirstSlice = 0.15;  // seconds; each slice is twice as long as the one before
constexpr double kLongestSlice = 3;   // seconds

Clock::time_point after(double seconds) { return Deadline::in(seconds).moment(); }

}  // namespace

double side_share(double seconds, bool fades) { return fades && seconds > kWholeShare ? kShare * kWholeShare / seconds : kShare; }

SideAttack::SideAttack(const Network& network, std::uint64_t seed, Deadline deadline, std::stop_source& found, bool own_thread)
    : network_(network), options_{.seconds = kFirstSlice, .deadline = deadline, .seed = seed}, found_(found), due_(after(kFirstPause)) {
  if (own_thread) thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
}

void SideAttack::run(const std::stop_token& stop) {
  std::mutex mutex;
  std::condition_variable_any wake;
  while (!stop.stop_requested() && !theorem_) {
    std::unique_lock lock(mutex);
    wake.wait_until(lock, stop, due_, [] { return false; });
    if (!stop.stop_requested()) slice(stop);
  }
}

void SideAttack::take_turn() {
  if (!thread_.joinable() && !theorem_ && Clock::now() >= due_) slice(found_.get_token());
}

void SideAttack::slice(const std::stop_token& stop) {
  ++options_.seed;
  const auto begin = Clock::now();
  try {
    theorem_ = attack_all(network_, options_, stop, statistics_);
  } catch (const std::bad_alloc&) {  // the search goes on without the attack
    due_ = Clock::time_point::max();
    return;
  }
  const double taken = seconds_since(begin);
  statistics_.attack_seconds += taken;
  const double share = side_share(seconds_since(start_), fades_);
  due_ = after(taken * (1 - share) / share);
  options_.seconds = std::min(2 * options_.seconds, kLongestSlice);
  // Slices that end early would find nothing in a large network; the first slice may end early, for short searches.
  options_.whole_ascent = true;
  if (theorem_) found_.request_stop();
}

std::optional<logic::Theorem> SideAttack::finish(Statistics& statistics) {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  statistics.attack_seconds += statistics_.attack_seconds;
  statistics.attack_steps += statistics_.attack_steps;
  return std::move(theorem_);
}

}  // namespace assay::search
