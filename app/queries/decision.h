// Decides one property between a verb's command line and its output. It runs the search, puts the certificate in its place, and
// proves a part of a property that stays undecided.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "app/queries/float_run.h"
#include "app/queries/order_runs.h"
#include "app/queries/scale.h"
#include "app/queries/trim.h"
#include "search/search.h"

namespace assay::queries {

// The last that a search told of itself; another thread may ask while it searches.
class LastProgress {
 public:
  void set(const search::Progress& progress) {
    const std::lock_guard lock(mutex_);
    progress_ = progress;
  }
  [[nodiscard]] std::optional<search::Progress> get() const {
    const std::lock_guard lock(mutex_);
    return progress_;
  }

 private:
  mutable std::mutex mutex_;
  std::optional<search::Progress> progress_;
};

struct DecisionRequest {
  search::Options search;
  std::string proof;                                                // the file of the certificate; empty: none
  double scale = 0;                                                 // seconds for the largest scale of an undecided property; 0: not asked
  search::Clock::time_point start = search::Clock::now();           // of the run, whose length the reason of an undecided answer says
  std::function<void()> on_theorem = nullptr;                       // before the certificate takes its place
  std::function<void(const search::Progress&)> on_scale = nullptr;  // the progress of the tries at smaller boxes
};

struct Decision {
  search::Result result;
  std::uint64_t proof_bytes = 0;             // of the certificate that has taken its place
  std::optional<TrimmedProof> trim;          // of a proof of unsat, where it was asked for
  std::optional<search::Progress> progress;  // of an undecided search, the last that was heard of it
  std::optional<Scaled> scaled;              // of an undecided property, where it was asked for
  std::optional<FloatRun> float_run;         // of a witness
  OrderRuns orders;                          // at the point where executions may differ
  std::optional<Rejection> why;              // a file that was asked for could not be written; the answer stands all the same

  [[nodiscard]] bool proves() const { return result.answer == search::Answer::unsatisfiable; }
};

// Rejections are those of the search, and of a certificate for which there is no place.
[[nodiscard]] Outcome<Decision> decide(const std::shared_ptr<const logic::Problem>& problem, const DecisionRequest& request,
                                       const LastProgress& last);

// Adds remarks on executions at the points that were found. At a witness they run in float32. At the nearest point they run in
// other orders for the given seconds; the point is kept only if some of them violate the property.
void add_remarks(const logic::Problem& problem, double order_seconds, Decision& decision);

// "stages: boxes 0.001 s, tree of all cases 3.012 s (2 times)", and below it the heuristic by which trees chose their splits.
[[nodiscard]] std::string stages_text(const std::vector<search::StageTime>& stages);
// "relu splitting, 12 branches closed, 3 open, worst bound -0.01": for the reason of an undecided run, whatever ended it.
[[nodiscard]] std::string progress_text(const search::Progress& progress);
// Undecided by a signal, which `why` names in its `found`.
void interrupt(search::Result& result, const Rejection& why);

// Beside the file of a proof: the certificate of the scaled statement, and that statement.
[[nodiscard]] inline std::string scaled_proof(const std::string& proof) { return proof + ".scaled"; }
[[nodiscard]] inline std::string scaled_statement(const std::string& proof) { return scaled_proof(proof) + ".statement"; }

}  // namespace assay::queries
