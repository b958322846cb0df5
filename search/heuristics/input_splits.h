// Whether inputs or neurons are split, which inputs are left, and where an input is cut.
//
// Source: the choice by the number of free inputs is this project's own, measured on halves of the
// development set (benchmarks/notes); alpha-beta-CROWN leaves it to a configuration file for
// each benchmark. Inputs are halved, since the score of an input says how much, and not where, a
// cut gains. Integers are cut between two values.
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

// Inputs of which a split is left.
[[nodiscard]] std::size_t free_inputs(const logic::Problem& problem, const logic::Scope& scope);

// Instead of inputs; once the graph has its input rows.
[[nodiscard]] bool splits_activations(const NeuronGraph& graph, const logic::Scope& scope, Options::Branching branching);

// The middle of the input, by node and element, whose score is best. None: all of them are points.
[[nodiscard]] std::optional<Split> best_half(const logic::Problem& problem, const logic::Scope& scope,
                                             std::span<const std::pair<NodeId, std::uint32_t>> inputs, std::span<const double> scores);

// Between two values that a computed integer may still take. Splitting inputs alone never tells the
// sides of a jump apart, because both halves are closed.
[[nodiscard]] std::optional<Split> open_integer(const logic::Problem& problem, const logic::Scope& scope);

}  // namespace assay::search
