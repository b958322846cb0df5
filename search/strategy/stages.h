// The strategy as data: which stages a search goes through for one group of cases, when each
// applies, and how long it may take.
//
// stages() is walked from its first row to its last, round after round, until a stage has an answer
// or the time is over. A row applies by features alone, so that a test can ask every row about
// features that it makes up. search/README.md shows the table, `assay verify -v` the rows that ran.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "semantics/outcome.h"

namespace assay::search {

// By which stages are chosen.
struct Features {
  // Of the network, the property and the options.
  bool case_without_rows = false;  // a case that every point reaches at which the network has a value
  bool attacks = true;             // unless options forbid it
  bool wants_leaves = false;       // the tree is to be left open
  bool either_kind = true;         // of splits, unless options name one
  bool relu_only = false;          // no other op bends
  bool elementwise = false;        // the ascent has lines for every op that bends, and all of these are functions of one variable
  bool splits_are_exact = false;   // splits at 0 or at jumps leave no curve
  bool branching_pays = true;      // few free inputs, or neurons to split
  // Of the root.
  double box_work = 0;          // multiply-adds of boxes and conclusions
  double kinks_share = 1;       // of the root's work, that the operands of relus take
  double operands_share = 1;    // ... and with these those of products that lose much
  bool has_operands = false;    // some product loses much
  bool has_early_root = false;  // bounded in part, with open cases
  bool root_is_complete = false;
  bool is_refinable = false;        // the ascent may narrow a complete root
  bool splits_activations = false;  // instead of inputs; false until has_input_rows
  bool has_input_rows = false;      // it is known which neurons are affine in the inputs
  // Of what has happened.
  std::uint32_t round = 0;
  bool has_attacked = false, has_side_attack = false;
  bool tree_has_ended = false;  // in this round, without an answer and with time left
  // Seconds.
  double planned = 0;                   // that shares are taken of
  double until_cheap = 0;               // left for cheap bounds before the first attack
  double since_root = 0;                // since the root's bounds began
  double early_seconds = 0;             // that the early root took
  double whole_root = 0;                // that the whole root is likely to take
  double round_seconds = 0;             // of this round's tree, at least
  std::optional<double> until_refined;  // when the root is refined again
  std::optional<double> tree_left;      // of this round's tree, once one has begun

  [[nodiscard]] bool by_case() const { return splits_activations && round > 0 && !wants_leaves; }
  [[nodiscard]] double root_seconds() const;
  [[nodiscard]] double tree_round() const;  // seconds of this round's tree, where others follow
  [[nodiscard]] bool is_last() const;       // no later round has more to offer: this round's tree may take all the time
};

class GroupSearch;

// What a stage leaves: `ended` with an answer, or with a reason why there is none.
enum class Next : std::uint8_t { on, ended };

struct Stage {
  const char* name;
  const char* when;     // in words: what is seen
  const char* at_most;  // in words: its budget
  const char* record;   // file of docs/decisions that tells how it was chosen; empty: none
  bool (*applies)(const Features& features);
  double (*seconds)(const Features& features);  // of its budget; infinite: up to the deadline
  Outcome<Next> (GroupSearch::*run)(double seconds);
};

[[nodiscard]] std::span<const Stage> stages();

// The rows as search/README.md has them, in Markdown.
[[nodiscard]] std::string stages_table();

}  // namespace assay::search
