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

constexpr int kSpins = 2000;  // looks at a counter before a thread sleeps: about 100 microseconds, a few small ops

void relax() {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

thread_local bool inside_task = false;

// Workers sleep on `generation_`; a call raises it, everybody takes indices until there are none, the caller waits for those under way.
class WorkerPool {
 public:
  explicit WorkerPool(std::size_t workers) {
    for (std::size_t i = 0; i < workers; ++i) threads_.emplace_back([this] { work(); });
  }
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;
  ~WorkerPool() {
    stopping_.store(true);
    generation_.fetch_add(1);
    generation_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  [[nodiscard]] std::size_t size() const { return threads_.size() + 1; }

  void run(std::size_t tasks, void (*task)(const void*, std::size_t), const void* context) {
    task_ = task;
    context_ = context;
    tasks_ = tasks;
    next_.store(0, std::memory_order_relaxed);
    busy_.store(threads_.size(), std::memory_order_relaxed);
    generation_.fetch_add(1, std::memory_order_release);
    generation_.notify_all();
    take_tasks();
    for (int spin = 0; busy_.load(std::memory_order_acquire) != 0; ++spin) {
      if (spin < kSpins) {
        relax();
      } else {
        std::this_thread::yield();
      }
    }
  }

 private:
  void take_tasks() {
    inside_task = true;
    for (std::size_t i = next_.fetch_add(1); i < tasks_; i = next_.fetch_add(1)) task_(context_, i);
    inside_task = false;
  }
  void work() {
    std::uint32_t seen = 0;
    while (true) {
      for (int spin = 0; spin < kSpins && generation_.load(std::memory_order_acquire) == seen; ++spin) relax();
      generation_.wait(seen, std::memory_order_acquire);
      seen = generation_.load(std::memory_order_acquire);
      if (stopping_.load()) return;
      take_tasks();
      busy_.fetch_sub(1, std::memory_order_release);
    }
  }

  std::vector<std::thread> threads_;
  std::atomic<std::uint32_t> generation_ = 0;
  std::atomic<std::size_t> next_ = 0, busy_ = 0;
  std::atomic<bool> stopping_ = false;
  void (*task_)(const void*, std::size_t) = nullptr;
  const void* context_ = nullptr;
  std::size_t tasks_ = 0;
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
