// Team: the threads of a replay. Where one is idle, the second of two jobs runs on it while the first goes on. Holds no trust: what the
// jobs prove are values of the kernel, and nothing about them depends on which thread ran them.
#pragma once

#include <atomic>
#include <exception>
#include <system_error>
#include <thread>

namespace assay::kernel {

class Team {
 public:
  explicit Team(std::size_t threads) : idle_(static_cast<std::ptrdiff_t>(threads) - 1) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::size_t idle() const { return idle_ > 0 ? static_cast<std::size_t>(idle_) : 0; }
  [[nodiscard]] double helper_seconds() const { return seconds_; }  // CPU time on other threads than the first

  // Both, at once where a thread is idle and can be had. What they throw is thrown, of both the first one's.
  template <class First, class Second>
  void both(First first, Second second) {
    if (!take()) {
      first();
      second();
      return;
    }
    std::exception_ptr thrown;
    std::jthread helper;
    try {
      helper = std::jthread([&] {
        try {
          second();
        } catch (...) {
          thrown = std::current_exception();
        }
        leave();
      });
    } catch (const std::system_error&) {
      give_back();
      first();
      second();
      return;
    }
    first();
    helper.join();
    if (thrown) std::rethrow_exception(thrown);
  }

 private:
  bool take() {
    if (idle_.fetch_sub(1) > 0) return true;
    give_back();
    return false;
  }
  void give_back() { idle_.fetch_add(1); }
  void leave();  // the end of a helper

  std::atomic<std::ptrdiff_t> idle_;
  std::atomic<double> seconds_ = 0;
};

}  // namespace assay::kernel
