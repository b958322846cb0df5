// Team: the threads of a replay. Where one is idle, the second of two jobs runs on it while the first goes on. Holds no trust: what the
// jobs prove are values of the kernel, and nothing about them depends on which thread ran them.
#pragma once

#include <atomic>
#include <exception>
#include <thread>

namespace assay::kernel {

class Team {
 public:
  explicit Team(std::size_t threads) : idle_(static_cast<std::ptrdiff_t>(threads) - 1) {}
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] std::size_t idle() const { return idle_ > 0 ? static_cast<std::size_t>(idle_) : 0; }
  [[nodiscard]] double helper_seconds() const { return seconds_; }  // CPU time on other threads than the first

  // Both at once. False where no other thread is idle or can be had: then neither has run. What they throw is thrown, of both the first one's.
  template <class First, class Second>
  bool at_once(First first, Second second) {
    if (!take()) return false;
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
    } catch (const std::exception&) {  // std::system_error, std::bad_alloc
      give_back();
      return false;
    }
    first();
    give_back();  // another one may take this thread's place while it waits
    helper.join();
    idle_.fetch_sub(1);
    if (thrown) std::rethrow_exception(thrown);
    return true;
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
