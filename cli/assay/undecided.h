// Writes the undecided items of a run as files for another tool: properties, and a list of them as `assay batch` and VNN-COMP's
// tools read it.
#pragma once

#include <string>
#include <vector>

#include "app/runs/balls.h"
#include "app/runs/batch.h"

namespace assay::cli {

// FOLDER/itemN-RADIUS.vnnlib of each undecided result, and FOLDER/instances.csv; of l1 statements, which no list names. Messages about what
// could not be written.
[[nodiscard]] std::vector<std::string> write_undecided_items(const runs::Balls& balls, const std::string& model,
                                                             const std::vector<runs::Json>& results, const std::string& folder);
// FOLDER/instances.csv of the undecided instances.
[[nodiscard]] std::vector<std::string> write_undecided_instances(const std::vector<runs::BatchInstance>& instances,
                                                                 const std::vector<runs::Json>& results, const std::string& folder);
// 3 in place of 0 where there are messages, which are printed.
[[nodiscard]] int say_unwritten(const std::vector<std::string>& messages, int exit);

}  // namespace assay::cli
