#include "api/check/load.h"

#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "api/check/cost.h"
#include "certificates/format/format.h"
#include "frontends/onnx/import.h"
#include "frontends/statement/read.h"
#include "kernel/floats/named_models.h"

namespace assay::check {
namespace {

// VNN-LIB 2: a solver may answer only for the declared element type. Version 1.0 declares Real.
Outcome<ExecutionModel> declared_semantics(const vnnlib::PropertyFile& property, const std::string& path) {
  if (property.declared_real || property.version.starts_with("1")) return ExecutionModel{};
  std::string format;  // of the variables that hold floats; others hold exact values
  for (const vnnlib::TensorDeclaration& one : property.declarations) {
    if (!one.type.starts_with("float") && !one.type.starts_with("bfloat")) continue;
    format = format.empty() || format == one.type ? one.type : "several";
  }
  const bool real = std::ranges::any_of(property.declarations, [](const auto& one) { return one.type == "real" || one.type == "Real"; });
  if (auto named = floats::semantics_named(format); named && !real) return named;
  return Rejection{Rejection::Kind::unsupported,
                   "semantics.declared_type",
                   path,
                   "one element type for all variables: real, float32, float64, bfloat16, float16, an integer type or bool",
                   property.declared_type,
                   "state one: --semantics real, or --semantics float32"};
}

Outcome<std::shared_ptr<const logic::Problem>> opened(statement::Statement statement, const LoadOptions& options) {
  logic::KernelOptions kernel_options;
  kernel_options.exact = options.exact;
  kernel_options.balls = options.polynomials == vnnlib::Polynomials::state;  // bounds are those of whole boxes
  return logic::Problem::open(std::move(statement), kernel_options);
}

// Adds the notes of a reader, and names the file that it read in place of the one that was named.
void add_notes(const char* reader, const std::string& named, const std::string& path, const std::vector<std::string>& notes,
               std::vector<std::string>& all) {
  const std::string before = std::string(reader) + ": ";
  for (const std::string& note : notes) all.push_back(before + note);
  if (path != named) all.push_back(before + "there is no " + named + "; " + path + " was read");
}

// A statement file says its network and its semantics itself: whoever asks for others is not answered.
Outcome<Done> check_asked(const ExecutionModel& stated, const LoadOptions& options) {
  if (!options.limits.edits.empty())
    return Rejection{Rejection::Kind::declined,
                     "statement.options",
                     "",
                     "no options of a model, since the file holds the network that they made",
                     options.limits.edits.to_text(),
                     "leave them out, or write the statement again with assay statement and these options"};
  if (!options.semantics || *options.semantics == stated) return Done{};
  return Rejection{Rejection::Kind::declined,
                   "statement.semantics",
                   "",
                   "a statement about " + certificate::name_of(*options.semantics),
                   certificate::name_of(stated),
                   "leave --semantics out if this is what you mean, or write the statement again with assay statement --semantics"};
}

}  // namespace

Outcome<Loaded> load_problem(const std::string& named_model, const std::string& named_property, const LoadOptions& options) {
  const MemoryRule memory = memory_rule(options.limits);
  if (options.limit_memory) options.limit_memory(memory.most);
  const std::string model_path = existing(named_model), property_path = existing(named_property);
  auto imported = onnx::import_model(model_path, memory, options.limits.edits);
  if (!imported) return in_file(imported.rejection(), model_path);
  onnx::Model& model = imported.value();
  auto size = check_size(model.graph, options.limits, model.stored);
  if (!size) return in_file(size.rejection(), model_path);
  const std::array<vnnlib::NetworkShape, 1> networks{{{options.network_name, &model.graph}}};
  auto read = vnnlib::read_property(property_path, networks, options.polynomials, memory);
  if (!read) return in_file(read.rejection(), property_path);
  vnnlib::PropertyFile& property = read.value();
  auto semantics = options.semantics ? Outcome<ExecutionModel>(*options.semantics) : declared_semantics(property, property_path);
  if (!semantics) return semantics.rejection();
  if (auto obstacle = model.obstacle(semantics.value())) return in_file(*obstacle, model_path);
  if (property.graph && semantics.value().kind == ExecutionModel::Kind::floating)
    return Rejection{Rejection::Kind::unsupported,
                     "semantics.polynomial",
                     property_path,
                     "rows without products of variables",
                     "products, which the property means exactly, and values of float executions",
                     "state real arithmetic: --semantics real"};
  Loaded loaded{nullptr, property, {}, model.stored + property.stored, size.value()};
  add_notes("model", named_model, model_path, model.notes, loaded.notes);
  add_notes("property", named_property, property_path, property.notes, loaded.notes);
  model.sources.push_back(property.source);
  auto problem = opened({std::move(property.graph ? *property.graph : model.graph), std::move(property.property),
                         std::move(semantics).value(), std::move(model.sources)},
                        options);
  if (!problem) return problem.rejection();
  loaded.problem = std::move(problem).value();
  return loaded;
}

Outcome<Loaded> load_statement(const std::string& path, const LoadOptions& options) {
  if (options.limit_memory) options.limit_memory(memory_rule(options.limits).most);
  const std::uint64_t stored = file_bytes(path);
  auto statement = statement_file::read(path);
  if (!statement) return in_file(statement.rejection(), path);
  if (auto asked = check_asked(statement.value().semantics, options); !asked) return in_file(asked.rejection(), path);
  auto size = check_size(statement.value().graph, options.limits, stored);
  if (!size) return in_file(size.rejection(), path);
  auto problem = opened(std::move(statement).value(), options);
  if (!problem) return in_file(problem.rejection(), path);
  Loaded loaded;
  loaded.problem = std::move(problem).value();
  loaded.bytes = size.value();
  loaded.stored = stored;
  return loaded;
}

std::uint64_t file_bytes(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return 0;
  constexpr std::uint64_t kBlock = 512, kSmall = std::uint64_t{1} << 20;  // the unit of st_blocks; small files may be kept elsewhere
  const auto size = static_cast<std::uint64_t>(status.st_size);
  return std::min(size, std::max(kSmall, kBlock * static_cast<std::uint64_t>(status.st_blocks)));
}

std::string existing(const std::string& path) {
  const std::string packed = path + ".gz";
  return access(path.c_str(), F_OK) != 0 && access(packed.c_str(), F_OK) == 0 ? packed : path;
}

Rejection in_file(Rejection why, const std::string& path) {
  if (why.place.find(path) == std::string::npos) why.place = path + (why.place.empty() ? "" : ", ") + why.place;
  return why;
}

double thread_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace assay::check
