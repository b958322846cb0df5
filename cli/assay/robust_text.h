// What `assay robust` prints of a run.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "app/runs/robust.h"

namespace assay::cli {

// Items that the network classifies as labelled, and the certified share of the first radii, for a line of progress.
[[nodiscard]] std::string short_tally(const runs::RobustTally& tally, bool has_labels);
// Which question was asked, and the counts of each radius.
void print_table(const runs::RobustTally& tally, bool has_labels);
// Why items are undecided, and how to decide them; nothing if none is. Whether the run is kept in a `folder`.
void print_undecided(const runs::RobustTally& tally, bool is_kept);
// Of the results of --largest, a line for each item, which says why the radius is no larger, and a line for all.
void print_largest(std::vector<runs::LargestRadius> largest, bool has_labels);

}  // namespace assay::cli
