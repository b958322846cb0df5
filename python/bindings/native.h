// What the parts of the module share: rejections as exceptions, names of types, work that Ctrl-C ends.
//
// Nothing of the caller's is looked at while the interpreter's lock is released.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cfenv>
#include <chrono>
#include <condition_variable>
#include <exception>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "semantics/graph/tensor.h"
#include "semantics/interrupt.h"
#include "semantics/outcome.h"

namespace assay::python {

namespace nb = nanobind;

// Becomes an exception of assay.errors.
struct Refused {
  Rejection why;
};
[[noreturn]] inline void refuse(Rejection why) { throw Refused{std::move(why)}; }
template <class T>
T taken(Outcome<T> outcome) {
  if (!outcome) refuse(outcome.rejection());
  return std::move(outcome).value();
}
// Of arguments: kind malformed, code "python.argument".
[[noreturn]] void refuse_argument(std::string place, std::string required, std::string found);

[[nodiscard]] nb::dict to_dict(const Rejection& why);
[[nodiscard]] nb::tuple to_tuple(const Shape& shape);
[[nodiscard]] nb::bytes to_bytes(const std::vector<double>& values);

// "bool" and the names of semantics/graph/tensor.h.
[[nodiscard]] const char* name_of(DType dtype);

// Long work on a thread of its own, so that Ctrl-C ends the call within a second whatever the work is doing: what does not end by itself is
// left to end on its own and its result dropped. So it has to own what it uses. `on_tick` runs with the lock, about ten times a second.
template <class T>
T on_a_thread(std::function<T(std::stop_token)> work, const std::function<void()>& on_tick = {}) {
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    bool done = false;
    std::optional<T> value;
    std::exception_ptr error;
    std::stop_source stop;
  };
  constexpr auto kTick = std::chrono::milliseconds(100), kGrace = std::chrono::milliseconds(700);
  const auto shared = std::make_shared<Shared>();
  std::thread([shared, work = std::move(work)] {
    std::fesetenv(FE_DFL_ENV);
    const std::function<bool()> stop = [&] { return shared->stop.stop_requested(); };
    const StopScope scope(stop);
    try {
      shared->value.emplace(work(shared->stop.get_token()));
    } catch (const Stopped&) {
      shared->error = std::make_exception_ptr(Refused{{Rejection::Kind::declined, "python.stopped", "", "time", "a stop", ""}});
    } catch (...) {
      shared->error = std::current_exception();
    }
    const std::lock_guard lock(shared->mutex);
    shared->done = true;
    shared->changed.notify_all();
  }).detach();
  const auto wait = [&](auto time) {
    const nb::gil_scoped_release release;
    std::unique_lock lock(shared->mutex);
    return shared->changed.wait_for(lock, time, [&] { return shared->done; });
  };
  const auto end = [&] {
    shared->stop.request_stop();
    (void)wait(kGrace);
  };
  while (!wait(kTick)) {
    if (PyErr_CheckSignals() != 0) {
      nb::python_error error;
      end();
      throw error;
    }
    try {
      if (on_tick) on_tick();
    } catch (...) {
      end();
      throw;
    }
  }
  if (shared->error) std::rethrow_exception(shared->error);
  return std::move(*shared->value);
}

void add_queries(nb::module_& module);

}  // namespace assay::python
