// Two executions at one point that differ in the order of their sums: one in the unsafe set, one outside. A remark beside
// `unknown`, never a verdict.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "kernel/logic/api.h"

namespace assay::queries {

struct OrderRun {
  std::string order;             // of the terms of all sums: "as written", "in reverse", "shuffled by seed 7"
  std::uint32_t case_index = 0;  // that holds at the outputs, where it violates
  std::vector<double> outputs;
};

struct OrderRuns {
  std::optional<OrderRun> violating, keeping;
  std::size_t tried = 0;
};

// Runs the graph in the format of the statement's model, every operation rounded to nearest, products and sums apart. No runs
// where the model stores values in a shorter format, rounds factors, or fixes the order. Ends after `seconds`, or when both are
// found.
[[nodiscard]] OrderRuns run_in_orders(const logic::Problem& problem, const logic::Witness& point, double seconds);
// One line for each that was found; empty if neither.
[[nodiscard]] std::vector<std::string> lines_of(const OrderRuns& runs);

}  // namespace assay::queries
