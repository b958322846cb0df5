// The constants of the strategy, and how each was chosen: by a measurement described in a decision record or in a note
// of benchmarks/notes, or by judgement where no measurement is on record. `benchmarks/limits` compares two programs on
// the development set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::search {

// Incomplete proofs, tried before all intermediate bounds of the root are computed. A proof on boxes alone is tried if
// boxes and conclusions take at most this many multiply-adds. By judgement: a few hundredths of a second.
constexpr double kBoxesWork = 5e7;
// ... or at most this share of the root's work, which is then that much dearer.
constexpr double kBoxesShare = 1e-3;
// Bounds of the operands of ReLUs are tried if they take at most this share of the root's work (record 0073).
constexpr double kShareOfKinks = 0.35;
// The same for bounds of these and of the operands of products whose relaxation loses much (record 0087, on vit).
constexpr double kShareOfOperands = 0.6;
// Largest share of the planned time for one incomplete proof. By judgement: if none of them closes, little is lost.
constexpr double kIncompleteShare = 0.1;
// Seconds for a tree on bounds of the operands of ReLUs. The tree may take as long as these bounds took if that is
// more, and at most as long as the whole root is likely to take (record 0087, on vit).
constexpr double kKinksTree = 0.5;
// Seconds for a tree that also has bounds of the operands of products. The tree takes at most twice as long as the
// whole root is likely to take (record 0087: about 7 s are lost if neither tree closes).
constexpr double kOperandsTree = 5;
// The whole root counts as taking at least this many seconds in the two limits above; by judgement.
constexpr double kLeastTree = 0.005;
// Largest share of the planned time for one of these trees (record 0087).
constexpr double kTreeShare = 0.1;

// The root. Seconds of bounds before the first attack, so that easy refutations need no attack. By judgement.
constexpr double kCheapBounds = 0.05;
// Share of the planned time for a root that cannot be finished. By judgement: branching gains more from the rest.
constexpr double kRootShare = 0.3;
// The same if branching has little to offer: no neuron can be split, and many inputs are free.
constexpr double kOnlyRootShare = 0.8;
// Seconds of bounds between two turns of an attack that has no thread of its own; by judgement.
constexpr double kBetweenTurns = 0.5;

// The attack. Seconds of the first attack if bounds are expensive; by judgement.
constexpr double kFirstAttack = 0.15;
// Least seconds of the first attack if bounds are cheap: it then lasts as long as the root's bounds took.
constexpr double kLeastAttack = 0.01;
// Seconds of the attack if there are no bounds. This happens when the box reaches outside the domain of an op; nothing
// else is tried then.
constexpr double kOnlyAttack = 1;
// Seconds and rounds of the last attack, where bounds are too wide at single points; by judgement.
constexpr double kLastAttack = 2;
constexpr int kLastAttackRestarts = 8;
// Largest share of the planned time for cheap bounds, and for the first attack; by judgement.
constexpr double kOpeningShare = 0.1;

// Branch and bound. Inputs are split if at most this many are free. Any number from 6 to 16 does as well, on either
// half of the set (benchmarks/notes, "A choice made on half of the set").
constexpr std::size_t kFewInputs = 12;
// Seconds of the first tree over inputs where neurons are split though few inputs are free (record 0125).
constexpr double kShortTree = 0.3;
// Neurons of which a tree over neurons closes soon, so that no short tree comes first: by judgement.
constexpr std::size_t kFewNeurons = 64;
// Nodes of a tree before the root's bounds are refined, for networks with curved activations (record 0064).
constexpr std::uint64_t kFewNodes = 8;
// Seconds of the first tree, which holds all cases. The minimisers of its nodes find witnesses (record 0067: with 1 s a
// witness of mnist_fc was lost).
constexpr double kFirstTree = 3;
// Largest share of the planned time for that tree.
constexpr double kFirstTreeShare = 0.15;
// Least seconds of branching on an unfinished root. They double every round, because trees begin anew: all earlier
// trees together then lose at most as much time as the last one takes.
constexpr double kFirstBranching = 1;
// Seconds of a trial tree of one case for each branching heuristic: at least (record 0067) and at most (record 0093).
// Between these limits it is a share of the planned time.
constexpr double kFirstTrial = 0.5;
constexpr double kLongestTrial = 5;
constexpr double kTrialShare = 0.02;
// The branching heuristic that is less likely to be good replaces the other only if it closes this many times as much
// of the tree. Closed shares of a young tree are powers of 1/2, so smaller factors say nothing (record 0093).
constexpr double kMuchMore = 2;

}  // namespace assay::search
