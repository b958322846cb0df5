// Replays every certificate of a run. Each statement is made again from list or model and data, and nothing of the run is
// trusted. The questions of the claim are counted, each once. A line that answers none of them, or answers one again, is
// rejected.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "api/check/load.h"
#include "app/runs/robust.h"
#include "app/runs/store.h"
#include "semantics/outcome.h"

namespace assay::runs {

// A line of results.jsonl that answers what is asked, as it is met.
struct CheckedResult {
  std::size_t line = 0;         // from 1
  bool accepted = false;        // by a replayed certificate, or by one that it follows from; else it says undecided
  std::vector<double> witness;  // of one that falsifies, in the order of the model's input
  std::string category;         // of the list
};

struct RunCheckRequest {
  // Where these files are now; empty: where the run's claim says, seen from here or from the folder.
  std::string model, data, labels, list;
  // A folder that gets the property of every certificate of a robust run, DIGEST.vnnlib or DIGEST.statement, and of what is undecided,
  // itemN-RADIUS.vnnlib; empty: none. It is made.
  std::string properties;
  unsigned jobs = 1;
  bool allow_vacuous = false;                                      // an unsat of a list counts even if it holds for every network
  std::function<bool(std::int64_t item)> only = nullptr;           // lines about others are passed over; none: all are checked
  std::function<void(const CheckedResult&)> on_checked = nullptr;  // one at a time
  check::LoadOptions load;                                         // the semantics have to be those that the claim names
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
  std::size_t misclassified = 0;                       // of the refuted ones: items that the model gives another class than their label
  std::size_t unanswered = 0;                          // of the undecided ones: no result is there, or it was not accepted
};

struct RunCheck {
  std::string kind;                                     // of the run: robust, batch
  std::string question;                                 // of a run on a data set
  std::size_t results = 0;                              // lines
  std::size_t accepted = 0, follow = 0, undecided = 0;  // of what is asked: with certificates, following from those, said to be undecided
  std::size_t items = 0, of_items = 0;                  // that the claim asks about; that list or data set have
  std::size_t asked = 0, open = 0;                      // results that it asks for; those of which no line is there
  bool is_cut_off = false;                              // whether the last line of results.jsonl has no end
  std::vector<std::string> without;                     // the first questions of which no line is there
  std::vector<LargestRadius> largest;                   // of each item, by what was accepted, if the claim asks for it
  std::vector<RunFinding> findings;
  std::vector<CheckedCount> counts;
  std::vector<std::string> assumptions;  // of the theorems
  std::vector<std::string> notes;        // notes of the readers of model and data
  double cpu_seconds = 0;                // of the replays
  std::size_t certificates = 0;
  std::uint64_t certificate_bytes = 0;
  Json claim;
  std::string unwritten;  // why a property could not be written; empty: all were
};

// The worst finding: a proof that something is wrong, then an unreadable file, then an open question. `accepted`: every result
// that is asked for is there once, and its certificate was accepted, or it says undecided.
enum class RunVerdict : std::uint8_t { accepted, rejected, damaged, missing, open };
[[nodiscard]] RunVerdict verdict_of(const RunCheck& check);
// What the accepted results of a run on a data set lack of a required share of certified items.
[[nodiscard]] Unmet unmet(const RunCheck& check, double share);
[[nodiscard]] const char* word(RunVerdict verdict);  // accepted, rejected, or declined
[[nodiscard]] Json to_json(const RunCheck& check, const char* schema);

// Rejected where run, model or data cannot be read, or are others than the manifest says.
[[nodiscard]] Outcome<RunCheck> check_run(const std::string& folder, const RunCheckRequest& request, const std::stop_token& stop,
                                          const std::function<void(std::size_t done, std::size_t all)>& on_progress);

// To resume a run, keeps the lines that a check accepts or that say undecided, in their order. The others are taken out of the
// folder, to be decided again. With `retry` lines that say undecided are taken out, too.
struct KeptResults {
  std::vector<Json> results;
  std::size_t left_out = 0, retried = 0;
};
[[nodiscard]] Outcome<KeptResults> keep_accepted(Store& store, const std::string& folder, RunCheckRequest request, bool retry,
                                                 const std::stop_token& stop);

// A file of a claim: `given` if that is said, else the path as the claim has it, seen from here or, by its name, from the folder.
[[nodiscard]] std::string located(const std::string& given, const std::string& claimed, const std::string& folder);

}  // namespace assay::runs
