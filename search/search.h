// search(): everything that finds. Untrusted: it only ever returns theorems that the kernel made.
//
// A search goes through a table of stages for each group of cases (strategy/stages.h). Whatever it
// returns as decided is a theorem that the kernel made of its steps; a bug here costs an answer, or
// makes a certificate longer, and nothing else.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "certificates/format/writer.h"
#include "kernel/logic/api.h"
#include "search/answer.h"
#include "search/bab/cube.h"
#include "search/strategy/deadline.h"
#include "search/strategy/unfinished.h"
#include "semantics/outcome.h"

namespace assay::search {

struct Progress {
  double seconds = 0;
  std::string phase;         // "attack", "root bounds", "input splitting", "relu splitting"
  std::uint64_t closed = 0;  // leaves refuted so far
  std::uint64_t open = 0;    // branches waiting
  double worst_bound = 0;    // smallest margin among the open branches (negative: not yet proved)
};

struct Options {
  Deadline deadline;   // of the whole search
  double seconds = 0;  // that the deadline was set to, for the words of a search that it ends; 0: not known
  int threads = 2;
  std::uint64_t memory_limit_bytes = 0;  // 0 = none
  std::uint64_t seed = 1;
  enum class Branching : std::uint8_t { automatic, input, relu } branching = Branching::automatic;
  bool attack = true;                                // look for a witness first
  std::function<void(const Progress&)> on_progress;  // called about ten times a second from one thread
  std::stop_token stop;                              // a request ends the search soon, with the answer unknown
  SplitPlan split;                                   // end with open branches instead of an answer
  const Beginning* cube = nullptr;                   // the branch of another proof that is to be closed; null: the whole statement
};

// One stage of the strategy (search/strategy/stages.h), all its runs together.
struct StageTime {
  const char* name = "";
  std::uint64_t runs = 0;
  double seconds = 0;
};

struct Statistics {
  double wall_seconds = 0, cpu_seconds = 0;  // of search(), model parsing excluded
  double attack_seconds = 0, root_seconds = 0, branching_seconds = 0;
  std::uint64_t nodes = 0, leaves = 0, attack_steps = 0;
  bool splits_inputs = false, splits_activations = false;  // what branching split; a group has one kind
  std::size_t free_inputs = 0;                             // of the group with the most that was branched on
  std::vector<StageTime> stages;                           // those that ran, in the order in which they first did
};

// Why a search ends before its limit, where no split is left: the last resort is a smaller question.
inline constexpr const char* kWideAtPoint = "the bounds at one point are too wide to decide";

struct Result {
  using Answer = search::Answer;
  Answer answer = Answer::unknown;
  std::optional<logic::Theorem> theorem;  // set for the first two; a cube that is closed is no theorem
  std::string reason;                     // for unknown and timed_out: what ran out, and how far the search came
  std::optional<Unfinished> unfinished;   // for these two, once some bound of a case is known
  // In a floating semantics, for these two: the point nearest to the unsafe set, and whether some
  // executions may violate there.
  std::optional<logic::Witness> nearest;
  bool disputed = false;
  Statistics statistics;
  std::vector<OpenBranch> open;        // for split, in the order of the certificate
  std::optional<Rejection> unwritten;  // why the certificate could not be written; the theorem stands all the same
};

// With a writer: on unsatisfiable (satisfiable) the log of accepted steps (the witness) is written
// and finished; of a cube with the splits that lead to it and nothing else beside them. On split
// the steps so far, with the open branches left empty.
Outcome<Result> search(const std::shared_ptr<const logic::Problem>& problem, const Options& options, certificate::Writer* writer = nullptr);

}  // namespace assay::search
