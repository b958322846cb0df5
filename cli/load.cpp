#include "cli/load.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "cli/units.h"
#include "semantics/printable.h"

namespace assay::cli {

int exit_code(Rejection::Kind kind) {
  switch (kind) {
    case Rejection::Kind::rejected:
      return kExitNo;
    case Rejection::Kind::declined:
      return kExitUndecided;
    case Rejection::Kind::malformed:
    case Rejection::Kind::unsupported:
      return kExitBadInput;
  }
  return kExitInternal;
}

Outcome<Loaded> load(const std::string& model_path, const std::string& property_path, const LoadOptions& options) {
  return check::load_problem(model_path, property_path, limiting(options));
}

LoadOptions limiting(LoadOptions options) {
  options.limit_memory = limit_memory;
  return options;
}

void print_notes(std::FILE* out, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fprintf(out, "note: %s\n", note.c_str());
}

void print_rejection(std::FILE* out, const char* program, const Rejection& why, const std::string& meaning) {
  const std::string what = clause(meaning.substr(0, meaning.find(". ")));
  std::fprintf(out, "%s: %s%s%s\n", program, what.c_str(), what.empty() ? "" : ": ", printable(why.to_text(), SIZE_MAX).c_str());
}

std::string clause(std::string sentence) {
  const bool is_name = sentence.starts_with("Assay") || sentence.starts_with("Py");
  const bool is_word = sentence.size() > 1 && (sentence[1] == ' ' || (sentence[1] >= 'a' && sentence[1] <= 'z'));
  if (is_word && !is_name && sentence[0] >= 'A' && sentence[0] <= 'Z') sentence[0] = static_cast<char>(sentence[0] - 'A' + 'a');
  if (sentence.ends_with('.')) sentence.pop_back();
  return sentence;
}

double wall_seconds() {
  static const timespec start = [] {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now;
  }();
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec - start.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec - start.tv_nsec);
}

namespace {

// The exit code, or that of an output that could not be written where what was printed did not arrive.
int with_stdout_written(const char* program, int exit) {
  errno = 0;
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return exit;
  std::fprintf(stderr, "%s: cannot write to standard output%s%s\n", program, errno == 0 ? "" : ": ",
               errno == 0 ? "" : std::strerror(errno));
  return kExitUnwritten;
}

const char* guarded_program = "assay";

int internal_error(const char* what) {
  std::fprintf(stderr, "%s: internal error%s%s\n", guarded_program, *what == '\0' ? "" : ": ", what);
  std::fprintf(stderr, "This is a bug. Please report the command line, the input files and `%s --version`.\n", guarded_program);
  return kExitInternal;
}

// Of the exception that is being handled.
int explained() {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory: more than --memory allows, or than there is; nothing was decided\n", guarded_program);
    return kExitUndecided;
  } catch (const std::exception& error) {
    return internal_error(error.what());
  } catch (...) {
    return internal_error("");
  }
}

// Of a thread, or of a function that admits none.
[[noreturn]] void on_lost_exception() {
  int exit = kExitInternal;
  if (const auto error = std::current_exception()) {
    try {
      std::rethrow_exception(error);
    } catch (...) {
      exit = explained();
    }
  } else {
    internal_error("a thread was lost");
  }
  _exit(exit);
}

// Handles signals; an abort has printed its reason before. Only async-signal-safe calls are used, since the program may have
// stopped anywhere.
void on_signal(int signal) {
  const auto say = [](const char* text) { (void)!write(STDERR_FILENO, text, std::strlen(text)); };
  say(guarded_program);
  say(signal == SIGABRT  ? ": the program stopped itself"
      : signal == SIGBUS ? ": a file became shorter while it was read, or memory failed"
                         : ": the program made a wrong step");
  say("; nothing was decided. Please report the command line, the input files and the program's --version.\n");
  _exit(kExitInternal);
}

// No program ends in a signal of its own making: an exit status says that nothing was decided.
void catch_faults() {
  (void)std::set_terminate(on_lost_exception);
  struct sigaction action {};
  action.sa_handler = on_signal;
  (void)sigaction(SIGABRT, &action, nullptr);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // which report these themselves
  static std::array<char, 65536> space;                              // a stack that is full leaves none for the handler
  const stack_t stack{space.data(), 0, space.size()};
  (void)sigaltstack(&stack, nullptr);
  action.sa_flags = SA_ONSTACK;
  for (const int one : {SIGSEGV, SIGBUS, SIGFPE, SIGILL}) (void)sigaction(one, &action, nullptr);
#endif
}

}  // namespace

int guarded(const char* program, int (*body)(int, char**), int argc, char** argv) {
  guarded_program = program;
  (void)signal(SIGPIPE, SIG_IGN);  // a reader that left and a file that grew too large are failed writes, which are reported
  (void)signal(SIGXFSZ, SIG_IGN);
  catch_faults();
  try {
    (void)wall_seconds();
    return with_stdout_written(program, body(argc, argv));
  } catch (...) {
    return explained();
  }
}

}  // namespace assay::cli
