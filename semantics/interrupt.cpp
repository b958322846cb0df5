// The questions of the scopes on this thread, asked every millisecond of work.

#include "semantics/interrupt.h"

#include <limits>

namespace assay {
namespace {

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kBetweenQuestions = 1'000'000;
thread_local constinit const StopScope* innermost = nullptr;

}  // namespace

thread_local constinit std::int64_t interrupt::left = kNever;

StopScope::StopScope(const std::function<bool()>& stop) : stop_(stop), outer_(innermost) {
  innermost = this;
  interrupt::left = kBetweenQuestions;
}
StopScope::~StopScope() {
  innermost = outer_;
  interrupt::left = outer_ != nullptr ? kBetweenQuestions : kNever;
}

bool StopScope::says_stop() const {
  for (const StopScope* one = this; one != nullptr; one = one->outer_) {
    if (one->stop_ && one->stop_()) return true;
  }
  return false;
}

void interrupt::ask() {
  left = innermost != nullptr ? kBetweenQuestions : kNever;
  if (innermost != nullptr && innermost->says_stop()) throw Stopped{};
}

}  // namespace assay
