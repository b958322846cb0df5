// Decides a certificate: model, property and certificate in, a theorem of the kernel or the reason why there is none out. `assay-check`
// is this function and a command line.
//
//   const auto report = assay::check::check_certificate("model.onnx", "property.vnnlib", "holds.assay");
//   if (report.theorem) std::puts(assay::check::theorem_text(*report.theorem, true).c_str());
//
// The theorem is the answer: what it says, and which files it speaks about, stands in its text and not in the file names.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "certificates/check/replay.h"

namespace assay::check {

enum class Verdict : std::uint8_t {
  accepted,  // there is a theorem
  rejected,  // the certificate does not show it, or cannot be decoded
  declined,  // undecided, or model or property is unsupported or malformed
};
[[nodiscard]] const char* word(Verdict verdict);

struct Report {
  Verdict verdict = Verdict::declined;
  std::shared_ptr<const logic::Problem> problem;  // null where model or property was refused
  std::optional<logic::Theorem> theorem;          // if and only if accepted
  std::vector<std::string> notes;                 // notes of the readers
  std::optional<Rejection> why;                   // if and only if not accepted
  certificate::ReplayStatistics statistics;
  std::uint64_t certificate_bytes = 0;
  double cpu_seconds = 0;   // of the replay, on all threads, without reading model and property
  double load_seconds = 0;  // CPU seconds for those
};

// Memory that cannot be had is a reason to decline. Stopped (semantics/interrupt.h) passes through.
[[nodiscard]] Report check_certificate(const std::string& model, const std::string& property, const std::string& certificate,
                                       const LoadOptions& options = {});
// Decides a certificate of a statement file (`assay statement`); neither a model nor a property is read.
[[nodiscard]] Report check_statement(const std::string& statement, const std::string& certificate, const LoadOptions& options = {});

// The theorem, its statement (semantics/statement/statement_text.h) and its assumptions; shortened unless `full`.
[[nodiscard]] std::string theorem_text(const logic::Theorem& theorem, bool full);

}  // namespace assay::check
