// Finds theorems that say nothing about the network: no input is asked about, or the assertions contradict each other.
#pragma once

#include <string>

#include "kernel/logic/api.h"

namespace assay::check {

// Returns the reason why an unsat holds for every network, as the end of a sentence. It is empty for sat, and where the theorem
// speaks about the network. The reason is found from the statement alone. Every case has one of four defects:
//   * an empty box, in the values of its types;
//   * a row that no point of its box satisfies for any outputs, such as x^2 < 0 or |y| < 0;
//   * two rows about the same sum that exclude each other;
//   * rows of at most 16 variables that have no solution as linear inequalities, unless finding that takes many steps.
// Assertions that contradict each other otherwise are not found.
[[nodiscard]] std::string vacuity(const logic::Theorem& theorem);

}  // namespace assay::check
