// The strategy as data: the stages of a search for one group of cases, when each applies, and its budget.
//
// A search walks through stages() from the first row to the last, round after round, until a stage has an answer or the
// time is over. Whether a row applies depends only on features, so that a test can ask every row about features that it
// makes up. search/README.md shows the table; `assay verify -v` prints the rows that ran.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "semantics/outcome.h"

namespace assay::search {

// The features that the conditions and budgets of stages read.
struct Features {
  // Features of the network, the property and the options.
  // Some case has no rows: every point at which the network has a value violates the property.
  bool case_without_rows = false;
  bool attacks = true;        // false if options forbid attacks
  bool wants_leaves = false;  // the tree is to be left open
  bool relu_only = false;     // relu is the only op with unstable neurons
  // alpha-beta-CROWN has lines for every op that bends, and each is a function of one variable.
  bool elementwise = false;
  bool compares = false;       // little more than comparisons of inputs with constants, and choices by them (trees)
  bool branching_pays = true;  // few inputs are free, or neurons can be split
  bool tries_inputs = false;   // few inputs are free, neurons are many, and no option chooses what is split
  // Features of the root.
  double box_work = 0;          // multiply-adds of boxes and conclusions
  double root_work = 0;         // multiply-adds of all rows of the root
  double kinks_share = 1;       // share of the root's work for bounds of the operands of ReLUs
  double operands_share = 1;    // the same with the operands of products whose relaxation loses much
  bool has_operands = false;    // there are products whose relaxation loses much
  bool has_early_root = false;  // some intermediate bounds are known, and cases are open
  bool root_is_complete = false;
  bool is_refinable = false;        // alpha-CROWN may narrow the bounds of a complete root
  bool splits_activations = false;  // neurons are split instead of inputs; false until has_input_rows
  bool has_input_rows = false;      // it is known which neurons are affine in the inputs
  // Features of what has happened so far.
  std::uint32_t round = 0;
  bool has_attacked = false, has_side_attack = false;
  bool tree_has_ended = false;  // this round's tree ended without an answer, and time is left
  // Times in seconds.
  double planned = 0;                   // the planned time, of which stages get shares
  double until_cheap = 0;               // left for cheap bounds before the first attack
  double since_root = 0;                // since the root's bounds began
  double early_seconds = 0;             // what the early root took
  double whole_root = 0;                // what the whole root is likely to take
  double round_seconds = 0;             // the least time of this round's tree
  std::optional<double> until_refined;  // until the root is refined again, if it will be

  [[nodiscard]] bool by_case() const { return splits_activations && round > 0 && !wants_leaves; }
  [[nodiscard]] double root_seconds() const;
  [[nodiscard]] double tree_round() const;  // seconds of this round's tree if other rounds follow
  // Whether later rounds have nothing more to offer, so that this round's tree may take all the time.
  [[nodiscard]] bool is_last() const;
};

class GroupSearch;

// The outcome of a stage. `ended`: there is an answer, or a reason why there is none.
enum class Next : std::uint8_t { on, ended };

struct Stage {
  const char* name;
  const char* when;     // the condition, in words
  const char* at_most;  // the budget, in words
  const char* record;   // name of the file in docs/decisions that explains the choice; empty: none
  bool (*applies)(const Features& features);
  double (*seconds)(const Features& features);  // the budget; infinite: up to the deadline
  Outcome<Next> (GroupSearch::*run)(double seconds);
  const char* splits_by = "";  // of a tree: the heuristic that chooses what is split, and its file
};

[[nodiscard]] std::span<const Stage> stages();

// The rows as a Markdown table, as in search/README.md.
[[nodiscard]] std::string stages_table();

}  // namespace assay::search
