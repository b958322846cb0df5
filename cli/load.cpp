#include "cli/load.h"

#include <time.h>

#include <array>
#include <cerrno>
#include <csignal>
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

void print_rejection(std::FILE* out, const char* program, const Rejection& why) {
  std::fprintf(out, "%s: %s\n", program, why.code.c_str());
  const std::array<std::pair<const char*, const std::string*>, 4> fields{
      {{"place", &why.place}, {"required", &why.required}, {"found", &why.found}, {"advice", &why.advice}}};
  for (const auto& [name, text] : fields) {
    if (!text->empty()) std::fprintf(out, "  %-8s  %s\n", name, printable(*text, SIZE_MAX).c_str());
  }
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

}  // namespace

int guarded(const char* program, int (*body)(int, char**), int argc, char** argv) {
  (void)std::signal(SIGPIPE, SIG_IGN);  // a reader that left and a file that grew too large are failed writes, which are reported
  (void)std::signal(SIGXFSZ, SIG_IGN);
  try {
    (void)wall_seconds();
    return with_stdout_written(program, body(argc, argv));
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "%s: out of memory: more than --memory allows, or than there is; nothing was decided\n", program);
    return kExitUndecided;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s: internal error: %s\n", program, error.what());
  } catch (...) {
    std::fprintf(stderr, "%s: internal error\n", program);
  }
  std::fprintf(stderr, "This is a bug. Please report the command line, the input files and `%s --version`.\n", program);
  return kExitInternal;
}

}  // namespace assay::cli
