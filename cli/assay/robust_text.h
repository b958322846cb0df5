// What `assay robust` prints of a run.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "app/runs/robust.h"

namespace assay::cli {

// Items that the network classifies as labelled, and the certified share of the first radii, for a line of progress.
[[nodiscard]] std::string short_tally(const runs::RobustTally& tally);
void print_table(const runs::RobustTally& tally);
// Of the results of --largest, a line for each item. The table of all its results says how many items are certified up to a radius.
void print_largest(const std::vector<std::pair<std::size_t, std::string>>& largest);

}  // namespace assay::cli
