#include "cli/assay/interruption.h"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <ctime>
#include <thread>
#include <utility>

#include "app/files/output_file.h"
#include "cli/load.h"
#include "search/strategy/deadline.h"

namespace assay::cli {
namespace {

constexpr std::array kSignals{SIGINT, SIGTERM, SIGHUP};
constexpr double kGrace = 0.7;  // seconds in which a verb may end by itself; its last words come within a second
constexpr timespec kTurn{0, 20'000'000};

struct State {
  std::stop_source source;
  std::atomic<int> signal{0};
  std::mutex mutex;  // of what follows
  std::string progress;
  std::function<void(const Rejection&)> last_words;
  std::recursive_mutex conclusion;
};

// Leaked: the waiting thread uses it while the program ends.
State& state() {
  static auto* const kState = new State;
  return *kState;
}

const char* name_of(int signal) { return signal == SIGINT ? "SIGINT (Ctrl-C)" : signal == SIGTERM ? "SIGTERM" : "SIGHUP"; }

[[noreturn]] void end_program() {
  files::remove_unfinished_files();
  _exit(kExitUndecided);
}

// Waits for the verb's own end, then ends the program; a second signal does so at once.
[[noreturn]] void see_to_the_end(const sigset_t& signals) {
  const auto deadline = search::Deadline::in(kGrace);
  while (!deadline.has_passed() || !state().conclusion.try_lock()) {
    if (sigtimedwait(&signals, nullptr, &kTurn) > 0) end_program();
  }
  for (const int one : kSignals) (void)signal(one, SIG_DFL);  // from here on a second one ends the program without further ado
  pthread_sigmask(SIG_UNBLOCK, &signals, nullptr);
  std::function<void(const Rejection&)> say;
  {
    const std::lock_guard lock(state().mutex);
    say = state().last_words;
  }
  if (say) say(interruption());
  std::fflush(stdout);
  end_program();
}

void wait_for_signals(const sigset_t& signals) {
  int received = 0;
  if (sigwait(&signals, &received) != 0) return;
  state().signal = received;
  state().source.request_stop();
  see_to_the_end(signals);
}

}  // namespace

void watch_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  bool any = false;
  for (const int one : kSignals) {
    struct sigaction now {};
    if (sigaction(one, nullptr, &now) != 0 || now.sa_handler == SIG_IGN) continue;  // nohup, background jobs of a script: as asked
    sigaddset(&signals, one);
    any = true;
  }
  if (!any || pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return;
  (void)state();
  std::thread([signals] { wait_for_signals(signals); }).detach();
}

bool is_interrupted() { return state().signal != 0; }

std::stop_token interruption_token() { return state().source.get_token(); }

void set_progress(std::string text) {
  const std::lock_guard lock(state().mutex);
  state().progress = std::move(text);
}

Rejection interruption() {
  std::array<char, 32> seconds{};
  (void)std::snprintf(seconds.data(), seconds.size(), "%.1f s", wall_seconds());
  const std::lock_guard lock(state().mutex);
  const std::string progress = state().progress.empty() ? "" : "; " + state().progress;
  return {Rejection::Kind::declined,
          "cli.interrupted",
          "command line",
          "no interruption until the verb ends",
          std::string(name_of(state().signal)) + " after " + seconds.data() + progress,
          ""};
}

void set_last_words(std::function<void(const Rejection& why)> say) {
  const std::lock_guard lock(state().mutex);
  state().last_words = std::move(say);
}

std::unique_lock<std::recursive_mutex> conclusion() { return std::unique_lock(state().conclusion); }

void conclude() { state().conclusion.lock(); }

}  // namespace assay::cli
