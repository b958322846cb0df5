// The table of stages. Each row has its own condition and budget; GroupSearch does the work.
//
// A row holds a name, the condition in words, the budget in words, and the decision record that explains the choice;
// then come condition, budget and work as functions. stages_table() prints the words for search/README.md, and a test
// compares them.
//
// Source: none; the order and the figures were measured on the development set (constants.h).

#include "search/strategy/stages.h"

#include <algorithm>
#include <array>
#include <limits>

#include "search/strategy/constants.h"
#include "search/strategy/group_search.h"

namespace assay::search {
namespace {

using F = const Features&;

constexpr const char* kSplitsNeurons = "kFSB with pseudocosts (search/heuristics/kfsb.h)";
constexpr const char* kSplitsInputs =
    "strong branching (search/heuristics/strong_branching.h) where a small network has products, else smart branching "
    "(search/heuristics/smart_branching.h)";

constexpr double kToTheEnd = std::numeric_limits<double>::infinity();

double incomplete_seconds(F f) { return kIncompleteShare * f.planned; }
double to_the_end(F) { return kToTheEnd; }

// Seconds for the tree of a round.
double tree_seconds(F f) { return f.is_last() ? f.until_refined.value_or(kToTheEnd) : f.tree_round(); }

constexpr std::array kStages{
    Stage{"a point", "a case without rows", "the time left", "", [](F f) { return f.round == 0 && f.case_without_rows; }, to_the_end,
          &GroupSearch::try_a_point},
    Stage{"boxes", "boxes and conclusions take at most 5e7 multiply-adds, or 0.001 of the root's work", "0.1 of the plan",
          "0073-a-trim-behind-the-answer",
          [](F f) { return f.round == 0 && f.box_work <= std::max(kBoxesWork, kBoxesShare * f.root_work); }, incomplete_seconds,
          &GroupSearch::bound_boxes},
    Stage{"operands of relus", "... take at most 0.35 of the root's work", "0.1 of the plan", "0073-a-trim-behind-the-answer",
          [](F f) { return f.round == 0 && f.kinks_share <= kShareOfKinks; }, incomplete_seconds, &GroupSearch::bound_kinks},
    Stage{"tree on operands of relus", "cases are undecided on these bounds, and activations are split",
          "0.5 s or what the bounds took, the time of the whole root, 0.1 of the plan", "0087-trees-on-roots-in-part",
          [](F f) { return f.round == 0 && f.has_early_root && f.splits_activations; },
          [](F f) {
            return std::min({std::max(kKinksTree, f.early_seconds), std::max(kLeastTree, f.whole_root), kTreeShare * f.planned});
          },
          &GroupSearch::grow_early_tree, kSplitsNeurons},
    Stage{"losses of products", "cases are undecided on these bounds", "the time left", "0087-trees-on-roots-in-part",
          [](F f) { return f.round == 0 && f.has_early_root; }, to_the_end, &GroupSearch::find_product_operands},
    Stage{"operands of products", "some products lose much; with their operands it is at most 0.6 of the root's work", "0.1 of the plan",
          "0087-trees-on-roots-in-part", [](F f) { return f.round == 0 && f.has_operands && f.operands_share <= kShareOfOperands; },
          incomplete_seconds, &GroupSearch::bound_operands},
    Stage{"tree on operands of products", "cases are undecided on these bounds, and activations are split",
          "5 s, twice the time of the whole root, 0.1 of the plan", "0087-trees-on-roots-in-part",
          [](F f) { return f.round == 0 && f.has_early_root && f.splits_activations; },
          [](F f) {
            return std::min({kOperandsTree, 2 * std::max(kLeastTree, f.whole_root), kTreeShare * f.planned});
          },
          &GroupSearch::grow_early_tree, kSplitsNeurons},
    Stage{"cheap bounds of the root", "nothing has been attacked", "0.05 s, 0.1 of the plan", "",
          [](F f) { return f.attacks && !f.has_attacked && !f.compares; }, [](F f) { return f.until_cheap; },
          &GroupSearch::bound_root_until_attack},
    Stage{"first attack", "... and the root's bounds are not complete by then", "0.15 s, 0.1 of the plan", "",
          [](F f) { return f.attacks && !f.has_attacked && !f.root_is_complete; }, [](F) { return kFirstAttack; }, &GroupSearch::attack},
    Stage{"CROWN bounds of the root", "always, but for trees of thresholds, which boxes bound as well",
          "a round; at first 0.3 of the plan, 0.8 where no neuron is split and many inputs are free", "0085-what-cases-depend-on",
          [](F f) { return !f.compares && (f.round > 0 || !f.root_is_complete); }, [](F f) { return f.root_seconds(); },
          &GroupSearch::bound_root},
    Stage{"cases at the root", "... and the same", "the time left", "", [](F f) { return !f.compares; }, to_the_end,
          &GroupSearch::close_at_root},
    Stage{"cuts", "one layer of relus, in groups that read at most 64 inputs; in the first round", "0.2 of the plan", "0077-cuts",
          [](F f) { return f.round == 0; }, to_the_end, &GroupSearch::cut},
    Stage{"first attack", "nothing has been attacked", "as long as the root's bounds took, 0.01 to 0.15 s, 0.1 of the plan", "",
          [](F f) { return f.attacks && !f.has_attacked; }, [](F f) { return std::clamp(f.since_root, kLeastAttack, kFirstAttack); },
          &GroupSearch::attack},
    Stage{"side attack", "attacks are allowed; from here on, beside all that follows",
          "0.15 of a thread; less and less after 5 s where inputs are split", "", [](F f) { return f.attacks && !f.has_side_attack; },
          to_the_end, &GroupSearch::attack_beside},
    Stage{"neurons affine in the inputs", "not known yet: trees and linear programs are chosen by them", "the time left", "",
          [](F f) { return !f.has_input_rows && !f.compares; }, to_the_end, &GroupSearch::find_input_rows},
    Stage{"root by slopes, before inputs", "at most 12 inputs are free; the ascent has lines for every op, and not all of these are relus",
          "0.5 of the plan", "0064-slopes-for-bounds-and-mixes-for-products",
          [](F f) { return !f.splits_activations && f.elementwise && !f.relu_only && f.is_refinable; }, to_the_end, &GroupSearch::refine},
    Stage{"short tree over inputs",
          "at most 12 inputs are free, and more than 64 neurons are split, since every relu is affine in the inputs",
          "0.3 s, in later rounds a quarter of the round; 0.1 of the plan", "0125-a-short-tree-over-few-inputs",
          [](F f) { return f.splits_activations && f.tries_inputs; },
          [](F f) { return std::min(f.round == 0 ? kShortTree : f.round_seconds / 4, kTreeShare * f.planned); },
          &GroupSearch::grow_over_inputs, kSplitsInputs},
    Stage{"tree over inputs", "at most 12 inputs are free, and not every relu is affine in them; or no neuron can be split",
          "the round; of trees of thresholds the time left", "0069-halves-are-probed-side-by-side",
          [](F f) { return !f.splits_activations && !f.tree_has_ended; }, tree_seconds, &GroupSearch::grow_over_inputs, kSplitsInputs},
    Stage{"tree of all cases", "more inputs, and neurons that can be split; in the first round, or where leaves are to stay open",
          "the round; at first 3 s, 0.15 of the plan", "0067-a-tree-for-each-case-and-careful-splits",
          [](F f) { return f.splits_activations && !f.by_case(); }, tree_seconds, &GroupSearch::grow_over_all_cases, kSplitsNeurons},
    Stage{"a tree for each case", "... in later rounds; of the first case for both branching heuristics, the unlikelier one first",
          "the round", "0093-the-likelier-way-of-splitting-goes-on", [](F f) { return f.by_case(); }, tree_seconds,
          &GroupSearch::grow_by_case, kSplitsNeurons},
    Stage{"root by slopes or cases", "the round's tree has ended open, and the ascent may narrow the root's bounds",
          "0.5 of the plan, of relus 0.2 by slopes and 0.15 by trees", "0075-bounds-by-cases",
          [](F f) { return f.tree_has_ended && f.is_refinable; }, to_the_end, &GroupSearch::refine},
};

}  // namespace

double Features::root_seconds() const { return round > 0 ? round_seconds : planned * (branching_pays ? kRootShare : kOnlyRootShare); }

double Features::tree_round() const {
  return std::max({round_seconds, since_root, round > 0 ? 0 : std::min(kFirstTree, kFirstTreeShare * planned)});
}

bool Features::is_last() const {
  if (compares) return true;
  return root_is_complete && !(splits_activations && is_refinable) && (by_case() || !splits_activations || wants_leaves);
}

std::span<const Stage> stages() { return kStages; }

std::string stages_table() {
  std::string text = "| Stage | When | At most | Record |\n| --- | --- | --- | --- |\n";
  for (const Stage& stage : kStages) {
    for (const char* cell : {stage.name, stage.when, stage.at_most}) text += std::string("| ") + cell + " ";
    const std::string record = stage.record;
    text += record.empty() ? "| |\n" : "| [" + record.substr(0, 4) + "](../docs/decisions/" + record + ".md) |\n";
  }
  return text;
}

}  // namespace assay::search
