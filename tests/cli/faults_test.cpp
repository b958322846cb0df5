// A program that has a fault ends with an exit status and a sentence, never by a signal.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>

#include "cli/load.h"
#include "semantics/demand.h"
#include "tests/catch.h"

namespace assay::test {
namespace {

struct Ended {
  int status = 0;  // as wait() says it
  std::string words;
};

// A program with this body.
Ended ended(int (*body)(int, char**)) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    for (const int one : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) (void)std::signal(one, SIG_DFL);  // the handlers of the tests
    (void)dup2(pipe[1], STDERR_FILENO);
    _exit(cli::guarded("assay-test", body, 0, nullptr));
  }
  (void)close(pipe[1]);
  Ended result;
  char piece[256];
  for (ssize_t got = 0; (got = read(pipe[0], piece, sizeof piece)) > 0;) result.words.append(piece, static_cast<std::size_t>(got));
  (void)close(pipe[0]);
  REQUIRE(waitpid(child, &result.status, 0) == child);
  return result;
}

void check(int (*body)(int, char**), int exit, const std::string& words) {
  const Ended result = ended(body);
  INFO(result.words);
  CHECK(WIFEXITED(result.status));
  CHECK(WEXITSTATUS(result.status) == exit);
  CHECK(result.words.find(words) != std::string::npos);
}

int in_thread(void (*body)()) {
  std::thread(body).join();
  return 0;
}

int deep(int depth) {
  volatile char block[4096];
  block[0] = static_cast<char>(depth);
  return depth == 0 ? 0 : deep(depth + 1) + block[0];
}

}  // namespace

TEST_CASE("a failed demand is an internal error") {
  check(
      [](int, char**) {
        demand(false, "one is one");
        return 0;
      },
      70, "internal error: one is one");
  check([](int, char**) { return in_thread([] { demand(false, "one is one"); }); }, 70, "internal error: one is one");
}

TEST_CASE("exceptions that nobody catches are internal errors, or say that memory is out") {
  check([](int, char**) -> int { throw std::runtime_error("lost"); }, 70, "assay-test: internal error: lost");
  check([](int, char**) { return in_thread([] { throw std::runtime_error("lost"); }); }, 70, "assay-test: internal error: lost");
  check([](int, char**) { return in_thread([] { throw std::bad_alloc(); }); }, 3, "out of memory");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which report these themselves
TEST_CASE("faults that the processor finds are internal errors") {
  check([](int, char**) { return std::raise(SIGSEGV); }, 70, "nothing was decided");
  check([](int, char**) { return std::raise(SIGBUS); }, 70, "a file became shorter");
  check([](int, char**) { return deep(1); }, 70, "nothing was decided");  // a stack that is full
}
#endif

}  // namespace assay::test
