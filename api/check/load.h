// Files to a problem of the kernel: a model and a property, or a statement, are read, bound together, and held to limits.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/edits.h"
#include "frontends/vnnlib/read.h"
#include "kernel/logic/api.h"
#include "semantics/outcome.h"

namespace assay::check {

// How files are read. First the limits of a run: beyond them it is undecided, and those that are left out follow from the files (cost.h).
struct Limits {
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<double> work;           // multiply-adds
  std::size_t threads = 1;              // that replay a certificate
  onnx::Edits edits = {};               // of the model; they travel with the limits, so that nothing reads the model without them
};

struct LoadOptions {
  std::string network_name;  // the name that the property declares for the model; empty: any
  // The semantics of the statement; without it, the element types of the property decide (VNN-LIB 1 means real numbers). A statement
  // file has to say the same.
  std::optional<ExecutionModel> semantics;
  bool exact = false;  // KernelOptions::exact
  vnnlib::Polynomials polynomials = vnnlib::Polynomials::state;
  Limits limits;
  // Called with the bytes that the run may hold, each time that the sizes of more files have been read. A separate program has
  // the system enforce them; a caller inside another program may leave this empty.
  std::function<void(std::uint64_t)> limit_memory = nullptr;
};

struct Loaded {
  std::shared_ptr<const logic::Problem> problem;
  vnnlib::PropertyHeader property;  // of a property; nothing of a statement file
  std::vector<std::string> notes;   // notes of the two readers for a reader of the statement, the model's first
  std::uint64_t stored = 0;         // bytes of the files on disk
  std::uint64_t bytes = 0;          // that the network is expected to need
};

[[nodiscard]] Outcome<Loaded> load_problem(const std::string& model_path, const std::string& property_path, const LoadOptions& options);
// Loads a statement file; neither a model nor a property is read.
[[nodiscard]] Outcome<Loaded> load_statement(const std::string& path, const LoadOptions& options);
// Where a file does not exist but the same with .gz behind it does, that one is read, and a note says so.
[[nodiscard]] std::string existing(const std::string& path);

// The size on disk, without the holes of a large file; 0 if there is no such file.
[[nodiscard]] std::uint64_t file_bytes(const std::string& path);

// Puts the file into the place of the rejection, unless it stands there already.
[[nodiscard]] Rejection in_file(Rejection why, const std::string& path);

// CPU seconds of the calling thread.
[[nodiscard]] double thread_cpu_seconds();

}  // namespace assay::check
