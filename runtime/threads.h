// The runtime's threads: one pool, tasks that do not depend on each other.
//
// Callers cut their work into tasks by shape alone, never by the number of threads, so that a result is the same on any number.
#pragma once

#include <cstddef>

namespace assay::runtime {

// Threads that work on a call, the caller's included; 0: one per processor. The default is 0.
void set_thread_count(std::size_t count);
[[nodiscard]] std::size_t thread_count();

namespace detail {
void run_tasks(std::size_t tasks, void (*task)(const void* context, std::size_t index), const void* context);
}

// f(0), ..., f(tasks - 1), each once, in any order, on several threads; returns when all are done. f does not throw. Inside a task,
// and while another caller uses the pool, the tasks run one after the other.
template <class F>
void parallel_for(std::size_t tasks, const F& f) {
  if (tasks == 1) return f(std::size_t{0});
  detail::run_tasks(
      tasks, [](const void* context, std::size_t index) { (*static_cast<const F*>(context))(index); }, &f);
}

// f(first, last) over pieces of 0 .. count of `grain` elements (the last may be shorter).
template <class F>
void parallel_ranges(std::size_t count, std::size_t grain, const F& f) {
  if (count == 0) return;
  if (count <= grain) return f(std::size_t{0}, count);
  parallel_for((count + grain - 1) / grain, [&](std::size_t piece) {
    const std::size_t first = piece * grain;
    f(first, first + grain < count ? first + grain : count);
  });
}

}  // namespace assay::runtime
