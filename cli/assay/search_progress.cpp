#include "cli/assay/search_progress.h"

#include <unistd.h>

#include <cstdio>

#include "cli/load.h"

namespace assay::cli {
namespace {

constexpr double kProgressSeconds = 0.2;  // between updates of a terminal line
constexpr double kLogSeconds = 60;        // between log lines elsewhere

}  // namespace

SearchProgress::SearchProgress(bool quiet) : terminal_(isatty(STDERR_FILENO) != 0), quiet_(quiet) {}

void SearchProgress::show(const search::Progress& progress) {
  const double now = wall_seconds();
  if (quiet_ || now - last_ < (terminal_ ? kProgressSeconds : kLogSeconds)) return;
  last_ = now;
  std::fprintf(stderr, "%s%s: %.1f s, %llu branches closed, %llu open, worst bound %.3g, %.0f leaves/s%s", terminal_ ? "\r\x1b[K" : "",
               progress.phase.c_str(), progress.seconds, static_cast<unsigned long long>(progress.closed),
               static_cast<unsigned long long>(progress.open), progress.worst_bound,
               progress.seconds > 0 ? static_cast<double>(progress.closed) / progress.seconds : 0.0, terminal_ ? "" : "\n");
  std::fflush(stderr);
  shown_ = terminal_;
}

void SearchProgress::clear() {
  if (shown_) std::fputs("\r\x1b[K", stderr);
  shown_ = false;
}

}  // namespace assay::cli
