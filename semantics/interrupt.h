// Long computations that can be stopped: the inner loops of the trusted layers call poll().
//
// While a StopScope exists on the thread, its function is called about once per millisecond of work. If it returns
// `true`, Stopped is thrown: the one exception of the trusted layers. It leaves no value that could be taken for a
// result, and the kernel's entry points turn it into the Rejection "kernel.stopped" (declined). Without a StopScope no
// function is called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace assay {

class Stopped {};

class StopScope {
 public:
  // Has to outlive this object; may be empty; the functions of outer scopes are called as well.
  explicit StopScope(const std::function<bool()>& stop);
  StopScope(const StopScope&) = delete;
  StopScope& operator=(const StopScope&) = delete;
  ~StopScope();
  [[nodiscard]] bool says_stop() const;

 private:
  const std::function<bool()>& stop_;
  const StopScope* outer_;
};

namespace interrupt {
extern thread_local constinit std::int64_t left;  // nanoseconds of work until the next call
void ask();
}  // namespace interrupt

// Reports work of about this many nanoseconds, done or to be done.
inline void poll(std::size_t nanoseconds) {
  interrupt::left -= static_cast<std::int64_t>(nanoseconds);
  if (interrupt::left < 0) [[unlikely]] {
    interrupt::ask();
  }
}

}  // namespace assay
