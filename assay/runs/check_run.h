// Replays every certificate of a run: what the results say is made again from model and data, and nothing of the run is believed.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "assay/check/load.h"
#include "assay/runs/store.h"
#include "semantics/outcome.h"

namespace assay::runs {

// A result whose certificate was accepted, as it is met.
struct AcceptedResult {
  std::size_t line = 0;         // of results.jsonl, from 1
  std::vector<double> witness;  // of one that falsifies, in the order of the model's input
};

struct RunCheckRequest {
  std::string model, data, labels;  // where these files are now; empty: where the run's claim says, seen from here or from the folder
  std::string
      properties;  // a folder that gets the property of every certificate of a robust run, DIGEST.vnnlib or DIGEST.statement; empty: none
  unsigned jobs = 1;
  std::function<void(const AcceptedResult&)> on_accepted = nullptr;  // one at a time
  check::LoadOptions load;                                           // the semantics have to be those that the claim names
};

enum class RunFault : std::uint8_t {
  rejected,  // the certificate does not show what the result says
  damaged,   // a file or line is not what it was
  missing,   // a certificate, or the result that another one follows from
  declined,  // undecided within the limits
};
[[nodiscard]] const char* word(RunFault fault);

struct RunFinding {
  RunFault fault = RunFault::rejected;
  std::string place;  // line of results.jsonl, what the result is about, file
  std::string why;
};

// By radius, or by category of a list.
struct CheckedCount {
  std::string name;
  std::size_t proved = 0, refuted = 0, undecided = 0;  // with accepted certificates, but for the last
};

struct RunCheck {
  std::string kind;  // of the run: robust, batch
  std::size_t results = 0, accepted = 0, follow = 0, undecided = 0;
  std::size_t items = 0, open = 0;  // items of the claim; results that it asks for and that are not there
  std::vector<RunFinding> findings;
  std::vector<CheckedCount> counts;
  std::vector<std::string> assumptions;  // of the theorems
  std::vector<std::string> notes;        // what reading model and data decided
  double cpu_seconds = 0;                // of the replays
  std::size_t certificates = 0;
  std::uint64_t certificate_bytes = 0;
  Json claim;
};

// Rejected where run, model or data cannot be read, or are others than the manifest says.
[[nodiscard]] Outcome<RunCheck> check_run(const std::string& folder, const RunCheckRequest& request, const std::stop_token& stop,
                                          const std::function<void(std::size_t done, std::size_t all)>& on_progress);

// A file of a claim: `given` if that is said, else the path as the claim has it, seen from here or, by its name, from the folder.
[[nodiscard]] std::string located(const std::string& given, const std::string& claimed, const std::string& folder);

}  // namespace assay::runs
