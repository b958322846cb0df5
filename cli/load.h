// What both programs share: model and property files to a kernel problem, exit codes, printed rejections.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "frontends/onnx/import.h"
#include "frontends/vnnlib/read.h"
#include "kernel/kernel.h"
#include "semantics/outcome.h"

namespace assay::cli {

// DESIGN section 10.
enum Exit : int { kExitYes = 0, kExitNo = 1, kExitUsage = 2, kExitUndecided = 3, kExitBadInput = 4, kExitInternal = 70 };
constexpr int kExitUnwritten = kExitUndecided;  // a proof or report that was asked for could not be written
[[nodiscard]] int exit_code(Rejection::Kind kind);

// What --memory and --budget say a run may take; beyond, it is undecided (exit 3). What they do not say follows from the files (cost.h).
struct Limits {
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<double> work;           // multiply-adds
};

struct LoadOptions {
  std::string network_name;     // the name that the property declares for the model; empty: any
  bool semantics_real = false;  // read float element types as real numbers
  bool exact = false;           // KernelOptions::exact
  vnnlib::Polynomials polynomials = vnnlib::Polynomials::refuse;
  Limits limits;
};

struct Loaded {
  onnx::Model model;  // its graph has moved into the problem
  vnnlib::PropertyFile property;
  std::shared_ptr<const kernel::Problem> problem;
  std::uint64_t bytes = 0;  // that the network is expected to need

  [[nodiscard]] std::uint64_t stored() const { return model.stored + property.stored; }  // bytes of the files on disk
  // What the two readers decided and a reader of the statement should know, the model's first.
  [[nodiscard]] std::vector<std::string> notes() const;
};

[[nodiscard]] Outcome<Loaded> load(const std::string& model_path, const std::string& property_path, const LoadOptions& options);
// The same from a statement file, by which neither a model nor a property is read.
[[nodiscard]] Outcome<Loaded> load_statement(const std::string& path, const LoadOptions& options);
// Where a file does not exist but the same with .gz behind it does, that one is read, and a note says so.
[[nodiscard]] std::string existing(const std::string& path);

// On disk, without the holes of a large file; 0 for what is no file there.
[[nodiscard]] std::uint64_t file_bytes(const std::string& path);

// The rejection with the file in its place, if it is not there yet.
[[nodiscard]] Rejection in_file(Rejection why, const std::string& path);

// code, place, required, found and advice, one line each; empty fields are left out.
void print_rejection(std::FILE* out, const char* program, const Rejection& why);

// One line "note: ..." each: printed below the statement.
void print_notes(std::FILE* out, const std::vector<std::string>& notes);

// CPU seconds of the calling thread; wall seconds since the process started this clock.
[[nodiscard]] double thread_cpu_seconds();
[[nodiscard]] double wall_seconds();

// Runs `body` and turns exceptions into exit codes: out of memory is 3, anything else 70 with how to report it. 3 too where standard
// output could not be written.
int guarded(const char* program, int (*body)(int, char**), int argc, char** argv);

}  // namespace assay::cli
