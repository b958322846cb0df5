// Runs as jobs of Slurm: an array with a part each, and a job that joins what they found.
#pragma once

#include "cli/assay/run_verbs.h"

namespace assay::cli {

// Writes FOLDER/slurm/array.sh and join.sh, each with the words of this command line, and submits both with sbatch. Requeued
// tasks resume at their last result. The second job decides the items that lost tasks leave open. Returns the exit code of the
// verb.
[[nodiscard]] int submit(const char* verb, const RunOptions& run);

}  // namespace assay::cli
