// search(): decides a property. Untrusted: the only theorems it returns are theorems that the kernel made.
//
// For each group of cases, a search goes through a table of stages (strategy/stages.h). Each decided answer is a
// theorem that the kernel made from the steps of the search. A bug in the search can lose an answer or make a
// certificate longer; it cannot produce a wrong theorem.
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
  std::uint64_t open = 0;    // subdomains that wait
  double worst_bound = 0;    // smallest margin among the open subdomains (negative: not yet proved)
};

struct Options {
  Deadline deadline;   // of the whole search
  double seconds = 0;  // the time limit behind `deadline`, quoted in the reason when it ends the search; 0: not known
  int threads = 2;
  std::uint64_t memory_limit_bytes = 0;  // 0 = none
  std::uint64_t seed = 1;
  enum class Branching : std::uint8_t { automatic, input, relu } branching = Branching::automatic;
  bool attack = true;                                // look for a witness before branch and bound
  std::function<void(const Progress&)> on_progress;  // called about ten times a second, always from the same thread
  std::stop_token stop;                              // a stop request ends the search soon, with the answer unknown
  SplitPlan split;                                   // asks the search to end with open subdomains instead of an answer
  // The cube of another proof to close; null: decide the whole statement.
  const Beginning* cube = nullptr;
};

// Time of one stage of the strategy (search/strategy/stages.h), summed over all its runs.
struct StageTime {
  const char* name = "";
  std::uint64_t runs = 0;
  double seconds = 0;
};

struct Statistics {
  double wall_seconds = 0, cpu_seconds = 0;  // of search(), model parsing excluded
  double attack_seconds = 0, root_seconds = 0, branching_seconds = 0;
  std::uint64_t nodes = 0, leaves = 0, attack_steps = 0;
  bool splits_inputs = false, splits_activations = false;  // what was split; each group splits only one of the two
  std::size_t free_inputs = 0;                             // free inputs of the branched group with the most of them
  bool can_split_activations = false;                      // whether --branching relu can split neurons where inputs were split
  std::vector<StageTime> stages;                           // the stages that ran, in the order of their first runs
};

// The reason for an unknown answer when no split is left. Checking a smaller region is then the last resort.
inline constexpr const char* kWideAtPoint = "the bounds at one point are too wide to decide";
inline constexpr const char* kNoNeuronLeft = "no neuron is left to split, and the bounds are still too wide to decide";

struct Result {
  using Answer = search::Answer;
  Answer answer = Answer::unknown;
  std::optional<logic::Theorem> theorem;  // set for unsatisfiable and satisfiable; a closed cube has no theorem
  std::string reason;                     // for unknown and timed_out: what ran out, and how far the search came
  std::optional<Unfinished> unfinished;   // for unknown and timed_out, once a bound of some case is known
  // For unknown and timed_out in a floating semantics: the point found nearest to the unsafe set, and whether some
  // executions of the network may violate the property there.
  std::optional<logic::Witness> nearest;
  bool disputed = false;
  Statistics statistics;
  std::vector<OpenBranch> open;        // for split: the open subdomains, in the order of the certificate
  std::optional<Rejection> unwritten;  // why the certificate could not be written; the theorem is valid all the same
};

// With a writer, the search also writes and finishes a certificate. For unsatisfiable this is the log of accepted
// steps; for satisfiable it is the witness; for split it is the steps so far, with the open subdomains left empty. The
// certificate of a cube holds only the splits that lead to the cube and the steps below them.
Outcome<Result> search(const std::shared_ptr<const logic::Problem>& problem, const Options& options, certificate::Writer* writer = nullptr);

}  // namespace assay::search
