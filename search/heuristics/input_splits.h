// Decides whether inputs or neurons are split, counts the free inputs, and chooses where an input is cut.
//
// Source: the choice by the number of free inputs is this project's own, measured on halves of the development set
// (benchmarks/notes); alpha-beta-CROWN takes it from a configuration file for each benchmark. Floating-point inputs are
// halved, since the score of an input says how much a cut gains, but not where. Integers are cut between two values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "kernel/logic/api.h"
#include "search/bab/proof_tree.h"
#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/search.h"

namespace assay::search {

// The number of inputs that can still be split.
[[nodiscard]] std::size_t free_inputs(const logic::Problem& problem, const logic::Scope& scope);

// Whether neurons are split instead of inputs. The graph must have its input rows.
[[nodiscard]] bool splits_activations(const NeuronGraph& graph, const logic::Scope& scope, Options::Branching branching);

// The split in the middle of the input with the best score. `inputs` are pairs of node and element. None if every input
// is a single point.
[[nodiscard]] std::optional<Split> best_half(const logic::Problem& problem, const logic::Scope& scope,
                                             std::span<const std::pair<NodeId, std::uint32_t>> inputs, std::span<const double> scores);

// A split between two values that a computed integer may still take. Splits of inputs alone never separate the sides of
// a jump, because both halves are closed sets.
[[nodiscard]] std::optional<Split> open_integer(const logic::Problem& problem, const logic::Scope& scope);

}  // namespace assay::search
