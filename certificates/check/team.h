// Team: the threads of a replay. They stand ready until the team ends, so that what each of them keeps for itself is filled once. Holds no
// trust: what the jobs prove are values of the kernel, and nothing about them depends on which thread ran them.
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
  // The calling thread is the first; each of the others is started by the first job that needs it.
  explicit Team(std::size_t threads);
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;
  ~Team();

  [[nodiscard]] std::size_t idle() const { return idle_; }
  [[nodiscard]] double helper_seconds();  // CPU time of the other threads so far

  // An idle thread takes the job and runs it. False where there is none, or the system has no more.
  bool give(std::packaged_task<void()>& job);
  // The calling thread runs what the others give away, until none has a job.
  void help();

  // job(0) to job(count - 1), at once as far as threads are idle. When all have ended, what one of them has thrown is thrown.
  void run(std::size_t count, const std::function<void(std::size_t)>& job);

 private:
  template <class IsOver>
  void run_jobs(std::unique_lock<std::mutex>& lock, IsOver is_over);

  std::mutex mutex_;  // of what follows
  std::condition_variable changed_;
  std::size_t threads_;
  std::atomic<std::size_t> idle_;  // threads that have no job, and threads that have not been started
  bool is_over_ = false;
  std::vector<std::packaged_task<void()>> jobs_;  // each has a thread that is going to take it
  std::vector<std::thread> helpers_;
};

}  // namespace assay::certificate
