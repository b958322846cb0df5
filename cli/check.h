// The check itself, as `assay-check` and `assay check` run it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "certificates/format/replay.h"
#include "cli/load.h"

namespace assay::cli {

struct CheckReport {
  std::string word;  // accepted, rejected or declined
  int exit = kExitInternal;
  std::shared_ptr<const kernel::Problem> problem;  // null where model or property was refused
  std::optional<kernel::Theorem> theorem;
  std::vector<std::string> notes;  // what reading the files decided
  std::optional<Rejection> why;
  certificate::ReplayStatistics statistics;
  std::uint64_t certificate_bytes = 0;
  double cpu_seconds = 0;   // of the replay, without reading model and property
  double load_seconds = 0;  // CPU seconds for those
};

// Without a property, `model` is a statement file.
[[nodiscard]] CheckReport check(const std::string& model, const std::string& property, const std::string& certificate,
                                const LoadOptions& options);

// The word, the theorem (with all of its statement) and the notes on stdout; the reason and the time on stderr.
void print_report(const char* program, const CheckReport& report, bool full);

}  // namespace assay::cli
