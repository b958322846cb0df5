// demand: an invariant of our own code, checked in every build. A failure stops the program.
//
// `demand` is never applied to foreign data, which is answered with a Rejection.
#pragma once

namespace assay {

[[noreturn]] void demand_failed(const char* message);

inline void demand(bool condition, const char* message) {
  if (!condition) [[unlikely]] {
    demand_failed(message);
  }
}

}  // namespace assay
