// Team: the threads of a replay. They run until the team ends, so that each fills its thread-local caches only once. A
// team holds no trust: the results of jobs are values of the kernel, and do not depend on the thread that ran the job.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <vector>

namespace assay::certificate {

class Team {
 public:
  // The calling thread is the first one; each other thread starts with the first job that needs it.
  explicit Team(std::size_t threads);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  [[nodiscard]] std::size_t idle() const { return idle_; }
  [[nodiscard]] double helper_seconds();  // CPU time of the other threads so far

  // Gives the job to an idle thread. False if no thread is idle, or the system cannot start one.
  bool give(std::packaged_task<void()>& job);
  // The calling thread runs jobs that others give away, until no thread has a job.
  void help();

  // Runs job(0) to job(count - 1), in parallel as far as threads are idle. After all have ended, it rethrows an
  // exception that one of them threw.
  void run(std::size_t count, const std::function<void(std::size_t)>& job);

 private:
  template <class IsOver>
  void run_jobs(std::unique_lock<std::mutex>& lock, IsOver is_over);

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::size_t threads_;
  std::atomic<std::size_t> idle_;  // threads without a job, including those not yet started
  bool is_over_ = false;
  std::vector<std::packaged_task<void()>> jobs_;  // each one is promised to an idle thread
  std::vector<std::thread> helpers_;
};

}  // namespace assay::certificate
