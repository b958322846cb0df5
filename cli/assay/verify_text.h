// The findings of `assay verify`, and their output as text and as JSON.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/queries/decision.h"
#include "cli/assay/options.h"
#include "cli/assay/report.h"

namespace assay::cli {

struct VerifyReport {
  queries::Decision decision;
  bool is_refused = false;  // the input: there is no answer
  int exit = kExitInternal;
  std::string model, property, proof;
  double load_seconds = 0, total_seconds = 0;     // wall
  std::shared_ptr<const logic::Problem> problem;  // null when the input was refused
  std::vector<std::string> notes;                 // notes of the readers
  std::optional<Rejection> why;                   // the input was refused, or a file of the answer could not be written
  const VerifyOptions* options = nullptr;
};

// The answer on stdout; the text of print_summary goes to stderr.
void print_answer(const VerifyReport& report, const Loaded& loaded);
void print_summary(const VerifyReport& report, const VerifyOptions& options);

[[nodiscard]] std::string to_json(const VerifyReport& report);

// The exit code under --expect W. Another decided word is 1, an undecided one is 3. The word itself is 1, with a sentence, if it
// says nothing about the network.
[[nodiscard]] int exit_for(const VerifyReport& report, const VerifyOptions& options);

}  // namespace assay::cli
