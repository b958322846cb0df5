// Long computations that end on request: the inner loops of the trusted layers call poll().
//
// While a StopScope exists on the thread, its question is asked about once a millisecond of work, and the answer `true` throws Stopped: the
// one exception of the trusted layers. It leaves no value behind that could be taken for a result, and the kernel's entry points turn it
// into the Rejection "kernel.stopped" (declined). Without a StopScope nothing is asked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace assay {

class Stopped {};

class StopScope {
 public:
  explicit StopScope(const std::function<bool()>& stop);  // has to outlive this; may be empty; those of outer scopes are asked as well
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  ~StopScope();
  [[nodiscard]] bool says_stop() const;

 private:
  const std::function<bool()>& stop_;
  const StopScope* outer_;
};

namespace interrupt {
extern thread_local constinit std::int64_t left;  // nanoseconds of work until the next question
void ask();
}  // namespace interrupt

// Says that work of about so many nanoseconds follows or was done.
inline void poll(std::size_t nanoseconds) {
  interrupt::left -= static_cast<std::int64_t>(nanoseconds);
  if (interrupt::left < 0) [[unlikely]] {
    interrupt::ask();
  }
}

}  // namespace assay
