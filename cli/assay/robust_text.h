// What `assay robust` prints of a run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/runs/robust.h"

namespace assay::cli {

// Items that the network classifies as labelled, and the certified share of the first radii, for a line of progress.
[[nodiscard]] std::string short_tally(const runs::RobustTally& tally);
void print_table(const runs::RobustTally& tally);
// Of the results of --largest, a line for each item, which says why the radius is no larger, and a line for all.
void print_largest(std::vector<runs::LargestRadius> largest);

}  // namespace assay::cli
