#include "cli/assay/run_progress.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdio>

#include "cli/assay/interruption.h"
#include "cli/load.h"
#include "semantics/printable.h"

namespace assay::cli {
namespace {

constexpr double kShowSeconds = 0.2;  // between updates of a terminal
constexpr double kRunLogSeconds = 60;

std::string duration(double seconds) {
  std::array<char, 40> text{};
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 100)
    (void)std::snprintf(text.data(), text.size(), "%ld s", whole);
  else if (whole < 6000)
    (void)std::snprintf(text.data(), text.size(), "%ld min", (whole + 30) / 60);
  else
    (void)std::snprintf(text.data(), text.size(), "%.1f h", static_cast<double>(whole) / 3600);
  return text.data();
}

std::size_t terminal_width() {
  winsize size{};
  constexpr std::size_t kUsual = 80;
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : kUsual;
}

}  // namespace

RunProgress::RunProgress(bool quiet, unsigned workers, std::size_t all)
    : quiet_(quiet), terminal_(isatty(STDERR_FILENO) != 0), all_(all), start_(wall_seconds()), last_(start_), workers_(workers) {}

void RunProgress::set_worker(unsigned worker, const std::string& text) {
  const std::lock_guard lock(mutex_);
  if (worker < workers_.size()) workers_[worker] = {printable(text), wall_seconds()};
  show(false);
}

void RunProgress::set_done(std::size_t done, const std::function<std::string()>& summary) {
  const std::lock_guard lock(mutex_);
  done_ = done;
  if (wall_seconds() - told_ < kShowSeconds) return;
  told_ = wall_seconds();
  summary_ = summary();
  set_progress(line());
  show(false);
}

std::string RunProgress::line() const {
  const double passed = wall_seconds() - start_, made = static_cast<double>(done_ - known_);
  std::string text = std::to_string(done_) + " of " + std::to_string(all_) + " done";
  if (made > 0 && passed > 0) {
    std::array<char, 40> rate{};
    (void)std::snprintf(rate.data(), rate.size(), ", %.3g/s, ", made / passed);
    text += rate.data() + duration(static_cast<double>(all_ - std::min(all_, done_)) * passed / made) + " left";
  }
  return text + (summary_.empty() ? "" : "; " + summary_);
}

void RunProgress::show(bool now) {
  const double time = wall_seconds();
  if (quiet_ || (!now && time - last_ < (terminal_ ? kShowSeconds : kRunLogSeconds))) return;
  last_ = time;
  if (!terminal_) {
    std::fprintf(stderr, "%s\n", line().c_str());
    return;
  }
  const std::size_t width = terminal_width() - 1;
  std::string text = shown_ > 0 ? "\x1b[" + std::to_string(shown_) + "A" : "";
  shown_ = 0;
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    const Worker& one = workers_[i];
    const std::string row =
        "  " + std::to_string(i + 1) + ": " + (one.text.empty() ? "idle" : one.text + ", " + duration(time - one.since));
    text += "\x1b[K" + row.substr(0, width) + "\n";
    ++shown_;
  }
  text += "\x1b[K" + line().substr(0, width) + "\n";
  ++shown_;
  std::fputs(text.c_str(), stderr);
  std::fflush(stderr);
}

void RunProgress::clear() {
  const std::lock_guard lock(mutex_);
  if (shown_ > 0) std::fprintf(stderr, "\x1b[%zuA\x1b[J", shown_);
  shown_ = 0;
}

}  // namespace assay::cli
