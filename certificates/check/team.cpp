#include "certificates/check/team.h"

#include <ctime>
#include <exception>
#include <utility>

namespace assay::certificate {

Team::Team(std::size_t threads) : threads_(threads), idle_(threads - 1) {
  jobs_.reserve(threads);  // so that push_back in give() cannot fail and lose a job
}

Team::~Team() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  for (std::thread& helper : helpers_) helper.join();
}

double Team::helper_seconds() {
  const std::lock_guard lock(mutex_);
  double seconds = 0;
  for (std::thread& helper : helpers_) {
    clockid_t clock{};
    timespec spent{};
    if (pthread_getcpuclockid(helper.native_handle(), &clock) == 0 && clock_gettime(clock, &spent) == 0)
      seconds += static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec);
  }
  return seconds;
}

bool Team::give(std::packaged_task<void()>& job) {
  const std::lock_guard lock(mutex_);
  if (idle_ == 0) return false;
  if (idle_ == threads_ - 1 - helpers_.size()) try {  // no started thread is idle
      helpers_.emplace_back([this] {
        std::unique_lock own(mutex_);
        run_jobs(own, [this] { return is_over_; });
      });
    } catch (const std::exception&) {  // std::system_error, std::bad_alloc
      --threads_;
      --idle_;
      return false;
    }
  --idle_;
  jobs_.push_back(std::move(job));
  changed_.notify_one();
  return true;
}

void Team::run(std::size_t count, const std::function<void(std::size_t)>& job) {
  std::vector<std::packaged_task<void()>> jobs;
  std::vector<std::future<void>> ended;
  for (std::size_t k = 0; k < count; ++k) {
    jobs.emplace_back([&job, k] { job(k); });
    ended.push_back(jobs[k].get_future());
  }
  for (std::size_t k = 0; k < count; ++k)
    if (k + 1 == count || !give(jobs[k])) jobs[k]();
  for (const std::future<void>& one : ended) one.wait();
  for (std::future<void>& one : ended) one.get();
}

void Team::help() {
  std::unique_lock lock(mutex_);
  ++idle_;
  run_jobs(lock, [this] { return idle_ == threads_; });
  --idle_;
}

template <class IsOver>
void Team::run_jobs(std::unique_lock<std::mutex>& lock, IsOver is_over) {
  while (true) {
    changed_.wait(lock, [&] { return !jobs_.empty() || is_over(); });
    if (jobs_.empty()) return;
    {
      std::packaged_task<void()> job = std::move(jobs_.back());
      jobs_.pop_back();
      lock.unlock();
      job();
    }
    lock.lock();
    if (++idle_ == threads_) changed_.notify_all();
  }
}

}  // namespace assay::certificate
