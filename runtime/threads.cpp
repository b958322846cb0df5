#include "runtime/threads.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace assay::runtime {

namespace {

constexpr int kSpins = 10000;  // looks at a counter before a thread sleeps: half a millisecond, as waking it costs a few small ops

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

thread_local bool inside_task = false;

// Workers sleep on `generation_`, which a call raises. Each thread has a part of the tasks, the same one in every call, so that the next op
// finds in its cache what this one left there; a thread that has finished its part helps with the others. A call waits for tasks alone,
// never for a worker that still sleeps.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t workers) : parts_(workers + 1) {
    for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this, i] { work(i + 1); });
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() {
    stopping_.store(true);
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void run(std::size_t tasks, void (*task)(const void*, std::size_t), const void* context) {
    task_.store(task, std::memory_order_relaxed);
    context_.store(context, std::memory_order_relaxed);
    tasks_.store(tasks, std::memory_order_relaxed);
    unfinished_.store(tasks, std::memory_order_relaxed);
    const std::uint64_t call = std::uint64_t{generation_.load(std::memory_order_relaxed) + 1} << 32;
    for (std::size_t part = 0; part < parts_.size(); ++part) {
      parts_[part].left.store(call | (begin(part + 1, tasks) - begin(part, tasks)), std::memory_order_release);
    }
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    take_tasks(0);
    for (int spin = 0; unfinished_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  // The number of the call in the upper half, the tasks that are still free in the lower one. A task is taken by a
  // compare-and-exchange, which fails if the call is another one by now, so that a late worker never mixes up the tasks of two
  // calls.
  struct alignas(64) Part {  // NOLINT: a cache line
    std::atomic<std::uint64_t> left = 0;
  };
  [[nodiscard]] std::size_t begin(std::size_t part, std::size_t tasks) const { return part * tasks / parts_.size(); }

  void take_tasks(std::size_t own) {
    inside_task = true;
    for (std::size_t k = 0; k < parts_.size(); ++k) take_from((own + k) % parts_.size());
    inside_task = false;
  }
  void take_from(std::size_t part) {
    std::atomic<std::uint64_t>& word = parts_[part].left;
    std::uint64_t seen = word.load(std::memory_order_acquire);
    while (static_cast<std::uint32_t>(seen) != 0) {
      const auto task = task_.load(std::memory_order_relaxed);
      const void* const context = context_.load(std::memory_order_relaxed);
      const std::size_t index = begin(part + 1, tasks_.load(std::memory_order_relaxed)) - static_cast<std::uint32_t>(seen);
      if (!word.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      task(context, index);
      unfinished_.fetch_sub(1, std::memory_order_release);
      seen = word.load(std::memory_order_acquire);
    }
  }
  void work(std::size_t own) {
    std::uint32_t seen = 0;
    while (true) {
      for (int spin = 0; spin < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spin) relax();
      generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);
      if (stopping_.load()) return;
      take_tasks(own);
    }
  }

  std::vector<Part> parts_;
  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> generation_ = 0;
  std::atomic<std::size_t> unfinished_ = 0;  // tasks of the call
  std::atomic<bool> stopping_ = false;
  std::atomic<void (*)(const void*, std::size_t)> task_ = nullptr;
  std::atomic<const void*> context_ = nullptr;
  std::atomic<std::size_t> tasks_ = 0;
};

struct Owner {
  std::mutex mutex;  // held by the caller that uses the pool
  std::size_t wanted = 0;
  std::unique_ptr<WorkerPool> pool;
};
Owner& owner() {
  static Owner one;
  return one;
}

std::size_t resolved(std::size_t wanted) { return wanted != 0 ? wanted : std::max<std::size_t>(std::thread::hardware_concurrency(), 1); }

}  // namespace

void set_thread_count(std::size_t count) {
  const std::lock_guard lock(owner().mutex);
  owner().wanted = count;
  owner().pool.reset();
}

std::size_t thread_count() {
  const std::lock_guard lock(owner().mutex);
  return resolved(owner().wanted);
}

void detail::run_tasks(std::size_t tasks, void (*task)(const void*, std::size_t), const void* context) {
  if (tasks > 1 && !inside_task) {
    Owner& one = owner();
    if (const std::unique_lock lock(one.mutex, std::try_to_lock); lock) {
      const std::size_t threads = resolved(one.wanted);
      if (threads > 1) {
        if (!one.pool) one.pool = std::make_unique<WorkerPool>(threads - 1);
        one.pool->run(tasks, task, context);
        return;
      }
    }
  }
  for (std::size_t i = 0; i < tasks; ++i) task(context, i);
}

}  // namespace assay::runtime
