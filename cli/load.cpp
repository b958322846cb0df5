#include "cli/load.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <exception>
#include <new>
#include <utility>

#include "cli/cost.h"
#include "cli/units.h"
#include "frontends/statement/read.h"

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

namespace {

// VNN-LIB 2: a solver may answer only for the declared element type. Version 1.0 declares Real.
Outcome<Done> check_declared_type(const vnnlib::PropertyFile& property, const std::string& path, bool semantics_real) {
  if (property.declared_real || semantics_real || property.version.starts_with("1")) return Done{};
  return Rejection{Rejection::Kind::unsupported,
                   "semantics.declared_type",
                   path,
                   "element type real, an integer type or bool: Assay answers for real arithmetic",
                   property.declared_type,
                   "unsound analysis for the declared float type: write real, or pass --semantics real"};
}

Outcome<std::shared_ptr<const kernel::Problem>> opened(kernel::Statement statement, const LoadOptions& options) {
  kernel::KernelOptions kernel_options;
  kernel_options.exact = options.exact;
  return kernel::Problem::open(std::move(statement), kernel_options);
}

}  // namespace

Outcome<Loaded> load(const std::string& named_model, const std::string& named_property, const LoadOptions& options) {
  const MemoryRule memory = memory_rule(options.limits);
  limit_memory(memory.most);
  const std::string model_path = existing(named_model), property_path = existing(named_property);
  auto model = onnx::import_model(model_path, memory);
  if (!model) return in_file(model.rejection(), model_path);
  auto size = check_size(model.value().graph, options.limits, model.value().stored);
  if (!size) return in_file(size.rejection(), model_path);
  Loaded loaded{std::move(model).value(), {}, nullptr, size.value()};
  if (model_path != named_model) loaded.model.notes.push_back("there is no " + named_model + "; " + model_path + " was read");
  const std::array<vnnlib::NetworkShape, 1> networks{{{options.network_name, &loaded.model.graph}}};
  auto property = vnnlib::read_property(property_path, networks, options.polynomials, memory);
  if (!property) return in_file(property.rejection(), property_path);
  loaded.property = std::move(property).value();
  if (property_path != named_property)
    loaded.property.notes.push_back("there is no " + named_property + "; " + property_path + " was read");
  if (auto typed = check_declared_type(loaded.property, property_path, options.semantics_real); !typed) return typed.rejection();
  kernel::Statement statement{std::move(loaded.model.graph), std::move(loaded.property.property), ExecutionModel{}, loaded.model.sources};
  statement.sources.push_back(loaded.property.source);
  auto problem = opened(std::move(statement), options);
  if (!problem) return problem.rejection();
  loaded.problem = std::move(problem).value();
  return loaded;
}

Outcome<Loaded> load_statement(const std::string& path, const LoadOptions& options) {
  limit_memory(memory_rule(options.limits).most);
  const std::uint64_t stored = file_bytes(path);
  auto statement = statement_file::read(path);
  if (!statement) return in_file(statement.rejection(), path);
  auto size = check_size(statement.value().graph, options.limits, stored);
  if (!size) return in_file(size.rejection(), path);
  auto problem = opened(std::move(statement).value(), options);
  if (!problem) return in_file(problem.rejection(), path);
  Loaded loaded;
  loaded.problem = std::move(problem).value();
  loaded.bytes = size.value();
  loaded.model.stored = stored;
  return loaded;
}

std::uint64_t file_bytes(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  constexpr std::uint64_t kBlock = 512, kSmall = std::uint64_t{1} << 20;  // the unit of st_blocks; small files may be kept elsewhere
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return std::min(size, std::max(kSmall, kBlock * static_cast<std::uint64_t>(status.st_blocks)));
}

std::vector<std::string> Loaded::notes() const {
  std::vector<std::string> all;
  for (const std::string& note : model.notes) all.push_back("model: " + note);
  for (const std::string& note : property.notes) all.push_back("property: " + note);
  return all;
}

std::string existing(const std::string& path) {
  const std::string packed = path + ".gz";
  return access(path.c_str(), F_OK) != 0 && access(packed.c_str(), F_OK) == 0 ? packed : path;
}

Rejection in_file(Rejection why, const std::string& path) {
  if (why.place.find(path) == std::string::npos) why.place = path + (why.place.empty() ? "" : ", ") + why.place;
  return why;
}

void print_notes(std::FILE* out, const std::vector<std::string>& notes) {
  for (const std::string& note : notes) std::fprintf(out, "note: %s\n", note.c_str());
}

void print_rejection(std::FILE* out, const char* program, const Rejection& why) {
  std::fprintf(out, "%s: %s\n", program, why.code.c_str());
  const std::array<std::pair<const char*, const std::string*>, 4> fields{
      {{"place", &why.place}, {"required", &why.required}, {"found", &why.found}, {"advice", &why.advice}}};
  for (const auto& [name, text] : fields) {
    if (!text->empty()) std::fprintf(out, "  %-8s  %s\n", name, text->c_str());
  }
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
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
