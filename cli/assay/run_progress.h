// The progress of a run: on a terminal one line per worker and one for the whole, elsewhere a line a minute.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace assay::cli {

class RunProgress {
 public:
  RunProgress(bool quiet, unsigned workers, std::size_t all);
  ~RunProgress() { clear(); }
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;

  // From any thread. `all` is what is to be done; work that was known before this run is in `known`, for the rate.
  void set_worker(unsigned worker, const std::string& text);
  void set_done(std::size_t done, const std::function<std::string()>& summary);  // asked now and then
  void set_known(std::size_t known) { known_ = done_ = known; }
  void clear();
  // "12 of 300 done, 4.1/s, 70 s left, ..."
  [[nodiscard]] std::string line() const;

 private:
  void show(bool now);
  bool quiet_, terminal_;
  std::size_t all_, done_ = 0, known_ = 0;
  double start_, last_, told_ = 0;
  std::string summary_;
  struct Worker {
    std::string text;
    double since = 0;
  };
  std::vector<Worker> workers_;
  std::size_t shown_ = 0;  // lines on the terminal
  std::mutex mutex_;
};

}  // namespace assay::cli
