// Whether a theorem says nothing about the network: no input is asked about, or the assertions contradict each other.
#pragma once

#include <string>

#include "kernel/logic/api.h"

namespace assay::check {

// Why an unsat holds whatever the network computes, as the end of a sentence; empty where it speaks about the network, and of sat. Found from the
// statement alone: every case has an empty box (in the values of its types), or a row that no point of its box satisfies for any outputs, or two
// rows about the same sum that exclude each other. Assertions that contradict each other otherwise are not found.
[[nodiscard]] std::string vacuity(const logic::Theorem& theorem);

}  // namespace assay::check
