// The constants of the strategy, each with how it was chosen: by a measurement that a decision
// record or a note of benchmarks/notes tells of, or by judgement, where no measurement is on record.
// `benchmarks/limits` compares two programs on the development set.
#pragma once

#include <cstddef>
#include <cstdint>

namespace assay::search {

// Incomplete proofs before the whole root. Multiply-adds of boxes and conclusions, at most; by
// judgement: some hundredths of a second.
constexpr double kBoxesWork = 5e7;
// Of the root's work, at most, for the operands of relus (record 0073).
constexpr double kShareOfKinks = 0.35;
// The same with the operands of products that lose much (record 0087, on vit).
constexpr double kShareOfOperands = 0.6;
// Of the planned time, at most, for one of these roots; by judgement: where none closes, little is
// lost.
constexpr double kIncompleteShare = 0.1;
// Seconds of a tree on operands of relus, or as long as their bounds took; at most what the whole
// root takes (record 0087, on vit).
constexpr double kKinksTree = 0.5;
// Seconds of a tree with the operands of products; at most twice what the whole root takes (record
// 0087: some 7 s are lost where neither closes).
constexpr double kOperandsTree = 5;
// Seconds that the whole root counts for, where it takes less; by judgement.
constexpr double kLeastTree = 0.005;
// Of the planned time, at most, for such a tree (record 0087).
constexpr double kTreeShare = 0.1;

// The root. Seconds of bounds before the first attack: easy refutations never see an attack. By
// judgement.
constexpr double kCheapBounds = 0.05;
// Of the planned time, for a root that cannot be finished; by judgement: branching gains more from
// the rest.
constexpr double kRootShare = 0.3;
// The same where branching has little to offer: no kinks, and many inputs.
constexpr double kOnlyRootShare = 0.8;
// Seconds of bounds between turns of an attack that has no thread of its own; by judgement.
constexpr double kBetweenTurns = 0.5;

// The attack. Seconds where bounds are dear; by judgement.
constexpr double kFirstAttack = 0.15;
// Seconds, at least, where bounds are cheap: an attack lasts as long as these took.
constexpr double kLeastAttack = 0.01;
// Seconds where there are no bounds: the box reaches outside an op's domain, and nothing else is
// tried.
constexpr double kOnlyAttack = 1;
// Of the planned time, at most, for cheap bounds and for an attack; by judgement.
constexpr double kOpeningShare = 0.1;

// Branch and bound. Free inputs up to which splitting them is the better tree: any number from 6 to
// 16 does as well, on either half of the set (benchmarks/notes, "A choice made on half of the
// set").
constexpr std::size_t kFewInputs = 12;
// Nodes of a tree before the root's bounds are refined, where these are bounds of curves (record
// 0064).
constexpr std::uint64_t kFewNodes = 8;
// Seconds of the tree of all cases: its nodes' minimisers find witnesses (record 0067: with 1 s a
// witness of mnist_fc was lost).
constexpr double kFirstTree = 3;
// Of the planned time, at most, for that tree.
constexpr double kFirstTreeShare = 0.15;
// Seconds of branching on an unfinished root, at least; doubled every round, so that trees which
// begin anew lose at most as much as the last one takes.
constexpr double kFirstBranching = 1;
// Seconds of a case's tree for each branching heuristic, at least (record 0067) and at most (record
// 0093); between them a share of the planned time.
constexpr double kFirstTrial = 0.5;
constexpr double kLongestTrial = 5;
constexpr double kTrialShare = 0.02;
// Times as much of the tree that the unlikelier heuristic has to close to go on: shares of a young
// tree are powers of 1/2 (record 0093).
constexpr double kMuchMore = 2;

}  // namespace assay::search
